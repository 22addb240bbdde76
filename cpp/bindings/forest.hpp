// Boosted trees of buying policies. The arguments are checked here.
#pragma once

#include "bindings/arrays.hpp"
#include "core/interruption.hpp"
#include "core/trees/forest.hpp"

namespace wald::bindings {

class BoundForest {
public:
    BoundForest(double base, const Longs& ends, const Indices& feature, const Doubles& threshold, const Indices& left,
                const Indices& right, const Doubles& value, std::int64_t n_features) {
        const std::size_t n = feature.size();
        require(left.size() == n && right.size() == n && threshold.size() == n && value.size() == n,
                "a forest's arrays must have one entry per node");
        require(ends.size() >= 1 && ends.data()[0] == 0 && ends.data()[ends.size() - 1] == static_cast<std::int64_t>(n),
                "ends must lead from 0 to the number of nodes");
        require(n < (std::size_t{1} << 27) && n_features >= 1 && n_features < (std::int64_t{1} << 20),
                "a forest this large");
        try {
            forest_ = std::make_shared<const Forest>(ForestNodes{base, span_of(ends), span_of(feature), span_of(left),
                                                                 span_of(right), span_of(threshold), span_of(value),
                                                                 n_features});
        } catch (const std::invalid_argument& error) {
            throw nb::value_error(error.what());
        }
    }

    nb::ndarray<nb::numpy, double> operator()(const FloatMatrix& rows) const {
        require(static_cast<std::int64_t>(rows.shape(1)) == n_features(),
                "rows with another number of features than the forest's");
        require(all_finite(rows.data(), rows.size()), "rows must be finite");
        auto out = new_array<double>({rows.shape(0)});
        const Unlocked unlocked;
        {
            Forest::Batch batch(*forest_);
            for (std::size_t i = 0; i < rows.shape(0); ++i) {
                if (i % kPanelRows == 0) give_way();
                batch.add(rows.data() + i * rows.shape(1), out.data() + i);
            }
        }
        return out;
    }
    std::int64_t n_features() const { return forest_->n_features(); }
    const Forest& forest() const { return *forest_; }

private:
    std::shared_ptr<const Forest> forest_;
};

inline void bind_forest(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundForest>(m, "Forest", R"doc(Sums of regression trees, for finite rows.

Parameters
----------
base : float
    The number to which the trees' values are added.
ends : int64 ndarray of shape (n_trees + 1,)
    Tree t has the nodes ``ends[t]`` to ``ends[t + 1]``, the root first.
feature, left, right : int32 ndarray of shape (n_nodes,)
    Children are indices within the tree; both are 0 at a leaf.
threshold, value : float64 ndarray of shape (n_nodes,)
    A row goes left where its feature is at most the threshold.
n_features : int)doc")
        .def(nb::init<double, const Longs&, const Indices&, const Doubles&, const Indices&, const Indices&,
                      const Doubles&, std::int64_t>(),
             nb::kw_only(), "base"_a, "ends"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(),
             "left"_a.noconvert(), "right"_a.noconvert(), "value"_a.noconvert(), "n_features"_a)
        .def("__call__", &BoundForest::operator(), "rows"_a.noconvert(),
             "Sums (n,) for rows (n, n_features) in C order; the values of the trees are added in their order.");
}

}  // namespace wald::bindings
