// Races of groups of rows for the first places of rankings. The arguments are checked here.
#pragma once

#include "bindings/stages.hpp"
#include "core/ranking/group_race.hpp"

namespace wald::bindings {

class BoundRace {
public:
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

    nb::tuple rank(BoundRows& b, const Longs& ends, std::int64_t k, double q, int n_threads) const {
        check_call(b, ends, k, q);
        auto scores = new_array<double>({static_cast<std::size_t>(b.size())});
        auto stages = new_array<std::int32_t>({static_cast<std::size_t>(b.size())});
        {
            const Unlocked unlocked;
            const Rows rows = b.view();
            const RowSet set = b.set(rows, n_threads);
            race_->rank(set, {span_of(ends)}, {k, q, set.n_threads}, {scores.data(), stages.data()});
        }
        return nb::make_tuple(scores, stages);
    }

    nb::tuple rank_within(BoundRows& b, const Longs& ends, std::int64_t k, double q, double trees, double seconds,
                          int n_threads) const {
        check_call(b, ends, k, q);
        require(trees >= 0 && seconds >= 0, "trees and seconds must not be negative, nor NaN");
        const std::size_t n = static_cast<std::size_t>(b.size());
        auto scores = new_array<double>({n});
        auto stages = new_array<std::int32_t>({n});
        auto undecided = new_array<std::uint8_t>({n});
        std::fill_n(undecided.data(), n, std::uint8_t{0});
        {
            const Unlocked unlocked;
            const Rows rows = b.view();
            const RowSet set = b.set(rows, n_threads);
            race_->rank_within(set, {span_of(ends)}, {k, q, set.n_threads}, {trees, seconds},
                               {scores.data(), stages.data(), undecided.data()});
        }
        return nb::make_tuple(scores, stages, undecided);
    }

    nb::tuple trace(BoundRows& b, int n_threads) const {
        check(b);
        const std::size_t n = static_cast<std::size_t>(b.size()), n_stages = static_cast<std::size_t>(this->n_stages());
        auto estimates = new_array<float>({n, n_stages}), errors = new_array<float>({n, n_stages});
        {
            const Unlocked unlocked;
            const Rows rows = b.view();
            race_->trace(b.set(rows, n_threads), estimates.data(), errors.data());
        }
        return nb::make_tuple(estimates, errors);
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
        for (const Column& c : b.columns) require(c.data != nullptr || b.size() == 0, "a race needs every column");
    }

    std::shared_ptr<const GroupRace> race_;
    ModelShape shape_;
};

inline void bind_ranking(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundRace>(m, "GroupRace",
                          R"doc(Early exit for the first places of groups of rows. Never changes; threads may share it.

Parameters
----------
model : Model
    A tree ensemble with one output, packed in the order of the stages.
stages : object
    The attributes of `wald.engine.Stages`, with running sums. Each stage is a pass.
usual : float64 ndarray of shape (n_stages,)
    Usual error of each stage's estimates. That of a row is this times the root of its variance, at least
    `least_variance`, if the readouts have a spread.)doc")
        .def(nb::init<const Model&, nb::handle, const Doubles&>(), "model"_a, "stages"_a, "usual"_a)
        .def("rank", &BoundRace::rank, "rows"_a, "ends"_a.noconvert(), "k"_a, "q"_a, "n_threads"_a,
             nb::sig("def rank(self, rows: Rows, ends: numpy.typing.NDArray[numpy.int64], k: int, q: float, n_threads: "
                     "int) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32]]"),
             R"doc(Find the first rows of each group.

Parameters
----------
rows : Rows
    Group after group; `Rows.take` brings them into this order.
ends : int64 ndarray of shape (n_groups,)
    Number of rows up to the end of each group.
k : int
q : float
    A row leaves when its estimate lies more than q of its usual errors below the k-th best of its group.
n_threads : int

Returns
-------
scores : float64 ndarray of shape (n_rows,)
    Full scores of rows that stay (NaN for refused values); for the others estimates, below those of their group.
stages : int32 ndarray of shape (n_rows,)
    Where a row left; `n_stages` if it stayed.)doc")
        .def("rank_within", &BoundRace::rank_within, "rows"_a, "ends"_a.noconvert(), "k"_a, "q"_a, "trees"_a,
             "seconds"_a, "n_threads"_a,
             nb::sig("def rank_within(self, rows: Rows, ends: numpy.typing.NDArray[numpy.int64], k: int, q: float, "
                     "trees: float, seconds: float, n_threads: int) -> tuple[numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(The same within limits, which may end a race before all is decided.

Parameters
----------
rows, ends, k, q, n_threads
    As for `rank`.
trees : float
    Trees that a row of a group may take, on average over the rows of the group. The first stage is always taken.
seconds : float
    That a group may take.

Returns
-------
scores, stages
    As from `rank`; the best undecided rows are evaluated in full while the limits allow it.
undecided : uint8 ndarray of shape (n_rows,)
    1 for rows that neither left nor were evaluated in full: they have the last stage that they took, and scores between
    those of the rows that stayed and of those that left.)doc")
        .def("trace", &BoundRace::trace, "rows"_a, "n_threads"_a,
             nb::sig("def trace(self, rows: Rows, n_threads: int) -> tuple[numpy.typing.NDArray[numpy.float32], "
                     "numpy.typing.NDArray[numpy.float32]]"),
             "Estimates of every stage, and their usual errors, (n_rows, n_stages); NaN for rows with refused values.")
        .def_prop_ro("n_stages", &BoundRace::n_stages, "Number of early stages.");
}

}  // namespace wald::bindings
