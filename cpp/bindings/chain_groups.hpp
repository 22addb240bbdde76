// Features of sequences by group, as NumPy arrays give them.
#pragma once

#include <cmath>

#include "bindings/arrays.hpp"
#include "chain/weights.hpp"

namespace wald::bindings {

// The features of one group for all parts; parts without features are possible. The arrays are kept alive, are not
// copied, and must not be changed.
class ChainGroup {
public:
    ChainGroup(std::int64_t n_parts, std::int64_t n_features) : n_features_(n_features) {
        require(n_parts >= 0 && n_parts <= PTRDIFF_MAX / static_cast<std::int64_t>(sizeof(chain::Row)),
                "n_parts must not be negative");
        require(n_features >= 0 && n_features < (std::int64_t{1} << 31), "a group has fewer than 2^31 features");
        rows_.resize(static_cast<std::size_t>(n_parts));
    }

    // Both methods return -1; or, without adding anything, the first row that is not finite.
    std::int64_t add_dense(FloatMatrix values, Longs parts) {
        check_parts(parts, values.shape(0));
        require(static_cast<std::int64_t>(values.shape(1)) == n_features_, "features of another number of columns");
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (!all_finite(values.data() + i * values.shape(1), values.shape(1))) return static_cast<std::int64_t>(i);
        for (std::size_t i = 0; i < parts.size(); ++i)
            row(parts, i) = {values.data() + i * values.shape(1), nullptr, n_features_};
        dense_.push_back(std::move(values));
        return -1;
    }
    std::int64_t add_csr(Floats values, Indices indices, Longs indptr, Longs parts) {
        require(indptr.size() >= 1, "CSR features need an indptr");
        check_parts(parts, indptr.size() - 1);
        const auto n = static_cast<std::int64_t>(std::min(values.size(), indices.size()));
        std::int64_t bad = -1;
        for (std::size_t r = 0; r < parts.size(); ++r) {
            const std::int64_t begin = indptr.data()[r], end = indptr.data()[r + 1];
            require(begin >= 0 && begin <= end && end <= n, "CSR indptr must not fall, nor point behind the values");
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int32_t at = indices.data()[i];
                require(at >= 0 && at < n_features_ && (i == begin || at > indices.data()[i - 1]),
                        "CSR indices must ascend within a row, below n_features");
                if (bad < 0 && !std::isfinite(values.data()[i])) bad = static_cast<std::int64_t>(r);
            }
        }
        if (bad >= 0) return bad;
        for (std::size_t r = 0; r < parts.size(); ++r) {
            const std::int64_t begin = indptr.data()[r];
            row(parts, r) = {values.data() + begin, indices.data() + begin, indptr.data()[r + 1] - begin};
        }
        sparse_.emplace_back(std::move(values), std::move(indices));
        return -1;
    }

    std::int64_t n_features() const { return n_features_; }
    const std::vector<chain::Row>& rows() const { return rows_; }

private:
    void check_parts(const Longs& parts, std::size_t n) const {
        require(parts.size() == n, "parts need one entry per row of the features");
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t p = parts.data()[i];
            require(p >= 0 && p < static_cast<std::int64_t>(rows_.size()) && (i == 0 || p > parts.data()[i - 1]),
                    "parts must ascend, below n_parts");
            require(!rows_[static_cast<std::size_t>(p)].known(), "a part has its features already");
        }
    }
    chain::Row& row(const Longs& parts, std::size_t i) { return rows_[static_cast<std::size_t>(parts.data()[i])]; }

    std::int64_t n_features_;
    std::vector<chain::Row> rows_;
    std::vector<FloatMatrix> dense_;
    std::vector<std::pair<Floats, Indices>> sparse_;
};

using ChainGroups = std::vector<ChainGroup*>;
// Groups as Python gives them, kept alive here: a sequence may make its items when it is asked.
using GivenGroups = std::vector<nb::typed<nb::object, ChainGroup>>;

inline ChainGroups pointers(const GivenGroups& given) {
    ChainGroups groups;
    for (const nb::object& group : given) {
        if (!nb::isinstance<ChainGroup>(group)) throw nb::type_error("groups must be ChainGroups");
        groups.push_back(nb::cast<ChainGroup*>(group));
    }
    return groups;
}

inline void bind_chain_groups(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ChainGroup>(m, "ChainGroup",
                           "Features of one group, added part by part. Arrays are not copied and must not be changed.")
        .def(nb::init<std::int64_t, std::int64_t>(), "n_parts"_a, "n_features"_a)
        .def("add_dense", &ChainGroup::add_dense, "values"_a.noconvert(), "parts"_a.noconvert(),
             "Add rows (n, n_features) in C order for n ascending parts that have none; returns -1 or, without adding "
             "any, the first row that is not finite.")
        .def("add_csr", &ChainGroup::add_csr, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
             "parts"_a.noconvert(), "Add CSR rows whose indices ascend within a row; returns the same as `add_dense`.")
        .def_prop_ro("n_features", &ChainGroup::n_features, "Number of features.");
}

}  // namespace wald::bindings
