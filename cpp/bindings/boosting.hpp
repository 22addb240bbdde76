// Online boosting from rows and stumps, or from tables of votes that are filled in on request.
#pragma once

#include "bindings/online.hpp"

namespace wald::bindings {

// Stumps for rows of either type.
class BoundStumps {
public:
    BoundStumps(Indices features, Doubles thresholds, std::int64_t n_features) {
        require(features.size() == thresholds.size() && features.size() > 0,
                "there must be stumps, each with a feature and a threshold");
        for (std::size_t j = 0; j < features.size(); ++j)
            require(features.data()[j] >= 0 && features.data()[j] < n_features && std::isfinite(thresholds.data()[j]),
                    "stumps' features must lie in [0, n_features), their thresholds must be finite");
        fill(single_, features, thresholds, n_features);
        fill(double_, features, thresholds, n_features);
    }
    template <class T>
    const online::Stumps<T>& of() const {
        if constexpr (sizeof(T) == 4) return single_;
        else return double_;
    }

private:
    template <class T>
    static void fill(online::Stumps<T>& s, const Indices& features, const Doubles& thresholds,
                     std::int64_t n_features) {
        s.n_features = n_features;
        s.features.assign(features.data(), features.data() + features.size());
        for (std::size_t j = 0; j < thresholds.size(); ++j)
            s.thresholds.push_back(static_cast<T>(thresholds.data()[j]));
    }
    online::Stumps<float> single_;
    online::Stumps<double> double_;
};

// (rows, units): whether the votes of a unit are available.
using Votes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class BoostingLearner : public BoundLearner<online::Boosting> {
    void check_width(bool average, std::optional<double> width) const {
        require(!width || (*width >= 0 && std::isfinite(*width)), "width must be finite and not negative");
        require(!average || with([](const auto& l) { return l.config.average; }), "this learner keeps no average");
    }

    template <class L, class F>
    static auto with_features(L& l, const BoundRows& b, const BoundStumps& stumps, F f) {
        using T = typename std::remove_const_t<L>::Value;
        const online::Stumps<T>& those = stumps.of<T>();
        require(!b.subset, "whole rows are taken, not some of them");
        require(static_cast<std::int64_t>(those.features.size()) == l.config.n_features,
                "there must be as many stumps as the learner has weights");
        return checked([&] {
            if (b.rows.layout == Rows::Layout::csr) {
                const online::SparseBlock<T> block = sparse_block<T>(b.rows, those.n_features);
                const Unlocked unlocked;
                return f(online::SparseFeatures<T>(block, those.n_features), those);
            }
            const online::DenseBlock<T> block = dense_block<T>(b.rows, those.n_features);
            const Unlocked unlocked;
            return f(online::DenseFeatures<T>{block}, those);
        });
    }

    template <class T>
    static online::Table<T> table_of(const online::Boosting<T>& l, const Rows& votes, const Votes& available,
                                     std::uint8_t* requested) {
        const online::DenseBlock<T> block = dense_block<T>(votes, l.config.n_columns);
        require(block.stride == l.config.n_columns, "votes must lie together, row after row");
        require(static_cast<std::int64_t>(available.shape(0)) == block.n_rows &&
                    static_cast<int>(available.shape(1)) == l.units.count(),
                "available must have one entry for every row and unit");
        std::fill(requested, requested + available.size(), std::uint8_t{0});
        return {block.data, available.data(), requested, block.n_rows, l.config.n_columns, l.units.count()};
    }

public:
    using BoundLearner::BoundLearner;

    // Runs one epoch; returns the sum of the losses of the rows that were read.
    double train(const BoundRows& b, const BoundStumps& stumps, Bytes positive, std::optional<Doubles> weights,
                 double negative_weight, double positive_weight, std::optional<std::uint64_t> shuffle,
                 std::optional<MutableBytes> unchanged, bool skips_unchanged) {
        const online::Labels labels =
            labels_of(b.rows.n_rows, positive, weights, negative_weight, positive_weight, unchanged, skips_unchanged);
        return std::visit(
            [&](auto& l) {
                return with_features(*l, b, stumps, [&](const auto& features, const auto& those) {
                    return l->run_epoch(features, those, labels, shuffle);
                });
            },
            learner_);
    }

    // Margins of rows of unknown class, and the number of hypotheses requested for each.
    Tuple<Made<double>, Made<std::int64_t>> judge(const BoundRows& b, const BoundStumps& stumps, bool average,
                                                  std::optional<double> width) const {
        check_width(average, width);
        auto margins = new_array<double>({static_cast<std::size_t>(b.rows.n_rows)});
        auto seen = new_array<std::int64_t>({static_cast<std::size_t>(b.rows.n_rows)});
        std::visit(
            [&](const auto& l) {
                with_features(*l, b, stumps, [&](const auto& features, const auto& those) {
                    l->judge(features, those, average, width, margins.data(), seen.data());
                });
            },
            learner_);
        return tuple_of(margins, seen);
    }

    // Continues from row `done` on; returns (rows done, the sum of their losses, the units that the others need).
    Tuple<std::int64_t, double, Made<std::uint8_t>> advance(const BoundRows& votes, Votes available, Bytes positive,
                                                            std::optional<Doubles> weights, double negative_weight,
                                                            double positive_weight, std::int64_t done,
                                                            std::optional<MutableBytes> unchanged,
                                                            bool skips_unchanged) {
        const online::Labels labels = labels_of(votes.rows.n_rows, positive, weights, negative_weight, positive_weight,
                                                unchanged, skips_unchanged);
        require(done >= 0 && done <= votes.rows.n_rows, "done must lie within the rows");
        auto requested = new_array<std::uint8_t>({available.shape(0), available.shape(1)});
        double total = 0;
        std::visit(
            [&](auto& l) {
                const auto table = table_of(*l, votes.rows, available, requested.data());
                done = checked([&] {
                    const Unlocked unlocked;
                    return l->advance(table, labels, done, total);
                });
            },
            learner_);
        return tuple_of(done, total, requested);
    }

    // Returns whether all votes that the rows need are available, margins, numbers of hypotheses, requested units.
    Tuple<bool, Made<double>, Made<std::int64_t>, Made<std::uint8_t>> judge_votes(const BoundRows& votes,
                                                                                  Votes available, bool average,
                                                                                  std::optional<double> width) const {
        check_width(average, width);
        auto margins = new_array<double>({static_cast<std::size_t>(votes.rows.n_rows)});
        auto seen = new_array<std::int64_t>({static_cast<std::size_t>(votes.rows.n_rows)});
        auto requested = new_array<std::uint8_t>({available.shape(0), available.shape(1)});
        bool all = false;
        std::visit(
            [&](const auto& l) {
                const auto table = table_of(*l, votes.rows, available, requested.data());
                checked([&] {
                    const Unlocked unlocked;
                    all = l->judge(table, average, width, margins.data(), seen.data());
                });
            },
            learner_);
        return tuple_of(all, margins, seen, requested);
    }

    // Bounds of the units of hypotheses that are evaluated together.
    std::vector<std::int32_t> units() const {
        return with([](const auto& l) { return online::beginnings(l.units); });
    }
};

inline void bind_boosting(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundStumps>(m, "Stumps", "Checked stumps: a feature and a threshold each.")
        .def(nb::init<Indices, Doubles, std::int64_t>(), "features"_a.noconvert(), "thresholds"_a.noconvert(),
             "n_features"_a);
    bind_learner<BoostingLearner>(m, "BoostingLearner",
                                  "A binary online learner of the votes of weak hypotheses, with its boundaries.")
        .def("train", &BoostingLearner::train, "rows"_a, "stumps"_a, "positive"_a.noconvert(), "weights"_a.none(),
             "negative_weight"_a, "positive_weight"_a, "shuffle"_a.none(),
             "unchanged"_a.noconvert().none() = nb::none(), "skips_unchanged"_a = false,
             "Run one epoch, in the rows' order or shuffled by a seed; return the losses' sum. See `online::Labels`.")
        .def("judge", &BoostingLearner::judge, "rows"_a, "stumps"_a, "average"_a, "width"_a.none(),
             "Margins of rows of unknown class and the numbers of stumps evaluated; without a width, all stumps.")
        .def("advance", &BoostingLearner::advance, "votes"_a, "available"_a.noconvert(), "positive"_a.noconvert(),
             "weights"_a.none(), "negative_weight"_a, "positive_weight"_a, "done"_a,
             "unchanged"_a.noconvert().none() = nb::none(), "skips_unchanged"_a = false,
             "Continue with a table's rows while their votes are available. Return the number of rows done, the sum of "
             "their losses, and the units that the other rows need.")
        .def("judge_votes", &BoostingLearner::judge_votes, "votes"_a, "available"_a.noconvert(), "average"_a,
             "width"_a.none(),
             "Return whether all votes that the rows need are available, margins, numbers of hypotheses requested, and "
             "requested units.")
        .def_prop_ro("units", &BoostingLearner::units,
                     "Bounds of the units of hypotheses that are evaluated together.");
    m.def(
        "shuffled",
        [](std::int64_t n, std::uint64_t seed) {
            require(n >= 0, "n must not be negative");
            auto order = new_array<std::int64_t>({static_cast<std::size_t>(n)});
            const online::Permutation at(n, seed);
            for (std::int64_t i = 0; i < n; ++i) order.data()[i] = at(i);
            return order;
        },
        "n"_a, "seed"_a, "Return the order in which an epoch that is shuffled by the seed takes n rows.");
}

}  // namespace wald::bindings
