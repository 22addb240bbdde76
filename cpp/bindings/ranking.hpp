// Races of groups of rows for the first places of rankings. The arguments are checked here.
#pragma once

#include "bindings/stages.hpp"
#include "core/ranking/group_race.hpp"

namespace wald::bindings {

class BoundRace {
public:
    using Ranks = Tuple<Made<double>, Made<std::int32_t>>;

    BoundRace(const Model& model, nb::handle described, const Doubles& usual) {
        require(model.trees != nullptr && model.n_outputs() == 1, "rows race by tree ensembles with one output");
        const ModelShape& shape = model.packed->shape();
        StagesReader reader(described, shape);
        const std::size_t n = reader.size();
        require(reader.n_readouts() == n && usual.size() == n, "every stage needs a readout and a usual error");
        for (std::size_t t = 0; t < n; ++t) {
            reader.check_terms(t, 1, "terms must be positive, and must not fall, nor pass the last term");
            require(usual.data()[t] >= 0 && fits_single(usual.data()[t]), "usual errors must be finite, not negative");
        }
        reader.read_least_variance();
        Fields sums = reader.sums();
        require(n == 0 || !sums.none(), "the stages of a race need running sums");
        if (n > 0) reader.read_sums(std::move(sums));
        reader.read_weights("weights need one number for each sum; bias, one");
        try {
            race_ = group_race(*model.trees, reader.spec, span_of(usual));
        } catch (const std::invalid_argument& error) {
            throw nb::value_error(error.what());
        }
        shape_ = shape;
    }

    Ranks rank(BoundRows& b, const Longs& ends, std::int64_t k, double q, int n_threads) const {
        check_call(b, ends, k, q);
        auto scores = new_array<double>({static_cast<std::size_t>(b.size())});
        auto stages = new_array<std::int32_t>({static_cast<std::size_t>(b.size())});
        b.unlocked(n_threads, [&](const RowSet& set) {
            race_->rank(set, {span_of(ends)}, {k, q, set.n_threads}, {scores.data(), stages.data()});
        });
        return tuple_of(scores, stages);
    }

    Tuple<Made<double>, Made<std::int32_t>, Made<std::uint8_t>> rank_within(BoundRows& b, const Longs& ends,
                                                                            std::int64_t k, double q, double trees,
                                                                            double seconds, int n_threads) const {
        check_call(b, ends, k, q);
        require(trees >= 0 && seconds >= 0, "trees and seconds must not be negative, nor NaN");
        const std::size_t n = static_cast<std::size_t>(b.size());
        auto scores = new_array<double>({n});
        auto stages = new_array<std::int32_t>({n});
        auto undecided = new_array<std::uint8_t>({n});
        std::fill_n(undecided.data(), n, std::uint8_t{0});
        b.unlocked(n_threads, [&](const RowSet& set) {
            race_->rank_within(set, {span_of(ends)}, {k, q, set.n_threads}, {trees, seconds},
                               {scores.data(), stages.data(), undecided.data()});
        });
        return tuple_of(scores, stages, undecided);
    }

    Tuple<Made<float>, Made<float>> trace(BoundRows& b, int n_threads) const {
        check(b);
        const std::size_t n = static_cast<std::size_t>(b.size()), n_stages = static_cast<std::size_t>(this->n_stages());
        auto estimates = new_array<float>({n, n_stages}), errors = new_array<float>({n, n_stages});
        b.unlocked(n_threads, [&](const RowSet& set) { race_->trace(set, estimates.data(), errors.data()); });
        return tuple_of(estimates, errors);
    }

    int n_stages() const { return race_->n_stages(); }

private:
    void check_call(const BoundRows& b, const Longs& ends, std::int64_t k, double q) const {
        check(b);
        require(k >= 1, "k must be at least 1");
        require(q >= 0, "q must not be negative, nor NaN");
        std::int64_t before = 0;
        for (const std::int64_t end : span_of(ends)) {
            require(end > before, "groups must have at least one row each, one group after the other");
            before = end;
        }
        require(before == b.size(), "the last group must end with the last row");
    }
    void check(const BoundRows& b) const {
        check_rows(b, shape_);
        b.require_columns("a race needs every column");
    }

    std::shared_ptr<const GroupRace> race_;
    ModelShape shape_;
};

inline void bind_ranking(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundRace>(
        m, "GroupRace",
        "Early exit for the first places of groups of rows; see GroupRace in the core. Threads may share it.")
        .def(nb::init<const Model&, nb::handle, const Doubles&>(), "model"_a, "stages"_a, "usual"_a)
        .def("rank", &BoundRace::rank, "rows"_a, "ends"_a.noconvert(), "k"_a, "q"_a, "n_threads"_a,
             "Scores and stages of rows, group after group, where the first k of each group are wanted.")
        .def("rank_within", &BoundRace::rank_within, "rows"_a, "ends"_a.noconvert(), "k"_a, "q"_a, "trees"_a,
             "seconds"_a, "n_threads"_a,
             "The same, and 1 for undecided rows, within trees for each row on average, and seconds for each group.")
        .def("trace", &BoundRace::trace, "rows"_a, "n_threads"_a,
             "Estimates of every stage, and their usual errors, (n_rows, n_stages); NaN for rows with refused values.")
        .def_prop_ro("n_stages", &BoundRace::n_stages, "Number of early stages.");
}

}  // namespace wald::bindings
