// What Python sees of engines.
#pragma once

#include "bindings/engine.hpp"

namespace wald::bindings {

inline void bind_engine(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundEngine>(
        m, "Engine",
        "A packed model with stages and thresholds, as `wald.engine` describes them. Threads may share it.")
        .def(nb::init<const Model&, nb::handle, nb::handle, const Doubles&, const Doubles&,
                      const std::optional<Doubles>&>(),
             "model"_a, "decided"_a, "stages"_a, "low"_a, "high"_a, "costs"_a = nb::none())
        .def("columns_read", &BoundEngine::columns_read, "n_stages"_a.none(),
             "Return the columns that the first stages read, or full evaluation for None; None stands for all columns.")
        .def("predict", &BoundEngine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             "Answer rows by at most n_stages: codes or scores, stages, costs and statuses, as `wald.engine.Ledger` "
             "has them.")
        .def("predict", &BoundEngine::predict_late, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             "Answer rows in the same way, reading the cells of those that need them.")
        .def("predict_one", &BoundEngine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a,
             "Answer one row, a 1-D array, as `predict` does: code or score, stage, cost and status.")
        .def("trace", &BoundEngine::trace, "rows"_a, "n_threads"_a,
             "Scores of all rows at every early stage, (n_rows, n_stages[, n_outputs]), or codes and confidence; none "
             "leaves.")
        .def("decide", &BoundEngine::decide<float>, nb::arg("scores").noconvert(), "error"_a,
             "Codes and statuses of the wrapped model's own full scores, each of which may be off by ``error``.")
        .def("decide", &BoundEngine::decide<double>, nb::arg("scores").noconvert(), "error"_a)
        .def_prop_ro("n_stages", &BoundEngine::n_stages, "Number of early stages.")
        .def_prop_ro("single", &BoundEngine::single, "Whether early stages compute in float32.");
}

}  // namespace wald::bindings
