// What Python sees of engines.
#pragma once

#include "bindings/engine.hpp"

namespace wald::bindings {

inline void bind_engine(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundEngine>(
        m, "Engine", R"doc(A packed model with stages, readouts and thresholds. Never changes; threads may share it.

Parameters
----------
model : Model
decided : object
    What `wald.engine.Decided` says: `tie_margin`, and `decision` with the attributes of `wald.outputs.Labels`.
stages : object
    The attributes of `wald.engine.Stages`. Its `passes` and `race` are read where there are `sums`.
low, high : float64 ndarray of shape (n_stages,)
    The decision ``"sign"``: a row leaves when its score is below `low` or above `high`. All others: when its
    confidence is above `high`.
costs : float64 ndarray of shape (n_stages + 1,), default=None
    What a row pays that leaves at each stage, and last one that does not; None: nothing.)doc")
        .def(nb::init<const Model&, nb::handle, nb::handle, const Doubles&, const Doubles&,
                      const std::optional<Doubles>&>(),
             "model"_a, "decided"_a, "stages"_a, "low"_a, "high"_a, "costs"_a = nb::none())
        .def(
            "columns_read", &BoundEngine::columns_read, "n_stages"_a.none(),
            nb::sig("def columns_read(self, n_stages: int | None) -> list[int] | None"),
            R"doc(Return the columns that the first stages read, or full evaluation for None; None stands for all columns.)doc")
        .def("predict", &BoundEngine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             nb::sig("def predict(self, rows: Rows, n_stages: int, at_end: typing.Literal['full', 'answer', "
                     "'pending'], working: float, n_threads: int) -> tuple[numpy.typing.NDArray[typing.Any], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Answer rows.

Parameters
----------
rows : Rows
n_stages : int
    Early stages that may be used.
at_end : {"full", "answer", "pending"}
    The answer to rows that no stage decides: the full model's, the last stage's own, or
    the status `PENDING`.
working : float
    Unit roundoff of the arithmetic in which the wrapped model computes.
n_threads : int

Returns
-------
answers : int32 or float64 ndarray of shape (n_rows,), or (n_rows, n_outputs)
    Indices of labels; 0 for rows without one. Where values have a tolerance, scores: estimates of the rows that
    leave early; NaN for rows without one.
stages : int32 ndarray of shape (n_rows,)
    Where a row left; the number of all early stages when it did not.
paid : float64 ndarray of shape (n_rows,)
    The cost of this stage, less 1 for each of its terms that the row did without.
status : uint8 ndarray of shape (n_rows,)
    `EARLY`, `FULL` or `OUT_OF_BUDGET`; or for rows without a label, `HANDED_OVER`, `PENDING` or `NOT_FINITE`.)doc")
        .def("predict", &BoundEngine::predict_late, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             nb::sig("def predict(self, rows: LateRows, n_stages: int, at_end: typing.Literal['full', 'answer', "
                     "'pending'], working: float, n_threads: int) -> tuple[numpy.typing.NDArray[typing.Any], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Answer rows in the same way, reading the cells of those that need them.

Raises
------
ValueError
    If the memory of a column is not what its container says, or holds an object of an unusual type.)doc")
        .def("predict_one", &BoundEngine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a,
             nb::sig(
                 "def predict_one(self, x: numpy.typing.NDArray[typing.Any], n_stages: int, at_end: "
                 "typing.Literal['full', 'answer', 'pending'], working: float) -> tuple[typing.Any, int, float, int]"),
             "Answer one row, a 1-D array, as `predict` does: code or score, stage, cost and status.")
        .def("trace", &BoundEngine::trace, "rows"_a, "n_threads"_a,
             nb::sig("def trace(self, rows: Rows, n_threads: int) -> typing.Any"),
             R"doc(Evaluate every row at every early stage; no row leaves.

Returns
-------
ndarray of shape (n_rows, n_stages) or (n_rows, n_stages, n_outputs), or a tuple of two
    One output, or several with a tolerance: scores. Several others: codes (int32) and confidence. Scores and confidence are float32 if
    `single`, otherwise float64.)doc")
        .def("decide", &BoundEngine::decide<float>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float32], error: float) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Turn the wrapped model's own full scores into codes.

Parameters
----------
scores : float32 or float64 ndarray of shape (n_rows, n_outputs)
error : float
    How far each score may be off.

Returns
-------
codes : int32 ndarray of shape (n_rows,)
status : uint8 ndarray of shape (n_rows,)
    `FULL`; `HANDED_OVER` where scores within the error, or within the engine's tie margin, give another label.)doc")
        .def("decide", &BoundEngine::decide<double>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float64], error: float) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.uint8]]"))
        .def_prop_ro("n_stages", &BoundEngine::n_stages, "Number of early stages.")
        .def_prop_ro("single", &BoundEngine::single, "Whether early stages compute in float32.");
}

}  // namespace wald::bindings
