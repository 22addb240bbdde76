// Python's view of the engine. Everything that comes in is checked in this folder: the core trusts its arguments.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings/boosting.hpp"
#include "bindings/chain_learners.hpp"
#include "bindings/chain_names.hpp"
#include "bindings/engine.hpp"
#include "bindings/forest.hpp"
#include "bindings/online.hpp"
#include "bindings/parser.hpp"
#include "bindings/parser_session.hpp"
#include "bindings/policies.hpp"
#include "isa/dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace wald;
using namespace wald::bindings;

extern "C" {
#if defined(_WIN32)
#define WALD_EXPORT __declspec(dllexport)
#else
#define WALD_EXPORT __attribute__((visibility("default")))
#endif
WALD_EXPORT int wald_get_num_threads() { return thread_limit(); }
WALD_EXPORT void wald_set_num_threads(int n) { set_thread_limit(n); }
}

NB_MODULE(_core, m) {
#ifdef NDEBUG
    nb::set_leak_warnings(false);  // an interpreter may end while objects are still in use; debug builds tell
#endif
    pass_interruptions_on();
    simd_level();  // refuses a wrong WALD_SIMD now, not at the first prediction
    m.attr("HAND_OVER") = kHandOver;
    m.attr("NOT_FINITE") = kNotFinite;
    m.attr("PENDING") = kPending;
    nb::dict limits;
    limits["classes"] = kMaxClasses;
    limits["degree"] = kMaxDegree;
    limits["linear_features"] = kMaxFeatures;
    limits["kernel_features"] = kMaxKernelFeatures;
    limits["lanes_float32"] = kLanes<float>;
    limits["lanes_float64"] = kLanes<double>;
    limits["sparse_share"] = kSparseShare;
    m.attr("LIMITS") = limits;
    m.def("simd_levels", &simd_levels);
    m.def("simd_level", &simd_level);
    m.def("get_num_threads", &thread_limit);
    m.def("set_num_threads", &set_thread_limit, "n"_a);

    nb::class_<BoundRows>(m, "Rows")
        .def_static("dense", &dense_rows, "x"_a)
        .def_static("columns", &column_rows, "n_rows"_a, "columns"_a)
        .def_static("csr", &csr_rows, "values"_a, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_columns"_a,
                    "ascending"_a = true)
        .def("take", &take, "ids"_a.noconvert())
        .def("largest_magnitude", &largest, "n_threads"_a)
        .def("__len__", &BoundRows::size);

    nb::class_<Model>(m, "Model")
        .def_static("kernel", &kernel_model, nb::kw_only(), "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "vectors"_a,
                    "landmarks"_a.none(), "order"_a.noconvert(), "linear"_a, "coef"_a, "intercept"_a, "n_features"_a,
                    "kept"_a.none().noconvert(), "scale"_a.none(), "shift"_a.none(), "scaling_magnitude"_a,
                    "fill"_a.none(), "single"_a)
        .def_static("linear", &linear_model, nb::kw_only(), "order"_a.noconvert(), "coef"_a, "intercept"_a,
                    "fill"_a.none(), "magnitude"_a, "bias_magnitude"_a, "depth"_a)
        .def("scores", &full_scores, "rows"_a, "working"_a, "n_threads"_a, "single"_a = false)
        .def("values", &term_values, "rows"_a, "n_threads"_a)
        .def_prop_ro("n_features", &Model::n_features)
        .def_prop_ro("n_terms", &Model::n_terms)
        .def_prop_ro("n_outputs", &Model::n_outputs);

    nb::class_<BoundEngine>(m, "Engine")
        .def(nb::init<const Model&, const std::string&, int, double, bool, bool, double, Longs,
                      const std::vector<Matrix>&, const std::vector<Doubles>&, Doubles, Doubles>(),
             "model"_a, nb::kw_only(), "decision"_a, "n_classes"_a, "threshold"_a, "tie_positive"_a, "break_ties"_a,
             "tie_margin"_a, "terms"_a, "weights"_a, "bias"_a, "low"_a, "high"_a)
        .def("predict", &BoundEngine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a)
        .def("predict_one", &BoundEngine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a)
        .def("trace", &BoundEngine::trace, "rows"_a, "n_threads"_a)
        .def("decide", &BoundEngine::decide<float>, nb::arg("scores").noconvert(), "error"_a)
        .def("decide", &BoundEngine::decide<double>, nb::arg("scores").noconvert(), "error"_a)
        .def_prop_ro("n_stages", &BoundEngine::n_stages)
        .def_prop_ro("single", &BoundEngine::single);

    bind_chain(m);
    bind_chain_learners(m);
    bind_chain_names(m);
    bind_forest(m);
    bind_parser(m);
    bind_parser_session(m);
    bind_policies(m);
    bind_online(m);
    bind_boosting(m);
}
