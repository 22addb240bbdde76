// Python's view of the engine. Everything that comes in is checked in this folder: the core trusts its arguments.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings/bind_engine.hpp"
#include "bindings/boosting.hpp"
#include "bindings/chain_learners.hpp"
#include "bindings/chain_tagger.hpp"
#include "bindings/column_model.hpp"
#include "bindings/fixed_calls.hpp"
#include "bindings/keys.hpp"
#include "bindings/late_rows.hpp"
#include "bindings/lookup.hpp"
#include "bindings/named_values.hpp"
#include "bindings/online.hpp"
#include "bindings/parser.hpp"
#include "bindings/parser_session.hpp"
#include "bindings/policies.hpp"
#include "bindings/quantiles.hpp"
#include "bindings/ranking.hpp"
#include "bindings/record.hpp"
#include "bindings/relations.hpp"
#include "bindings/splines.hpp"
#include "bindings/text.hpp"
#include "bindings/text_plan.hpp"
#include "bindings/text_union.hpp"
#include "bindings/trees.hpp"
#include "bindings/word_features.hpp"
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
    for (const auto& [name, status] : {std::pair{"EARLY", Status::early},
                                       {"FULL", Status::full},
                                       {"OUT_OF_BUDGET", Status::out_of_budget},
                                       {"HANDED_OVER", Status::handed_over},
                                       {"PENDING", Status::pending},
                                       {"NOT_FINITE", Status::not_finite}})
        m.attr(name) = static_cast<int>(status);
    nb::dict limits;
    limits["classes"] = kMaxClasses;
    limits["race_classes"] = Race::kMaxClasses;
    limits["degree"] = kMaxDegree;
    limits["linear_features"] = kMaxFeatures;
    limits["kernel_features"] = kMaxKernelFeatures;
    limits["lanes_float32"] = kLanes<float>;
    limits["lanes_float64"] = kLanes<double>;
    limits["sparse_share"] = kSparseShare;
    m.attr("LIMITS") = limits;
    m.def("simd_levels", &simd_levels,
          "Instruction sets that this build and this machine both have, ``\"baseline\"`` first.");
    m.def("simd_level", &simd_level,
          "Return the instruction set in use: the last of `simd_levels`, or what ``WALD_SIMD`` names.");
    m.def("get_num_threads", &thread_limit, "Return how many threads a call uses at most.");
    m.def("set_num_threads", &set_thread_limit, "n"_a,
          "Set the largest number of threads that a call uses; less than 1 means 1.");

    bind_rows(m);
    bind_keys(m);
    bind_lookup(m);
    bind_late_rows(m);
    bind_quantiles(m);
    bind_splines(m);
    nb::class_<Model> model = bind_model(m);
    bind_trees(model);
    bind_column_model(model);
    bind_engine(m);
    bind_fixed_calls(m);
    bind_record(m);
    bind_chain(m);
    bind_chain_learners(m);
    bind_chain_tagger(m);
    bind_parser(m);
    bind_parser_session(m);
    bind_relations(m);
    bind_word_features(m);
    bind_policies(m);
    bind_ranking(m);
    bind_online(m);
    bind_boosting(m);
    bind_text(m);
    bind_text_plan(m);
    bind_text_union(m);
    bind_named_values(m);
}
