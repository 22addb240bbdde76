// Buying policies on NumPy arrays. The arguments are checked here.
#pragma once

#include <numeric>

#include "bindings/models.hpp"
#include "core/trees/policies.hpp"

namespace wald::bindings {

using Flags = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline ChosenSequences chosen_examples(const Longs& offsets, const Longs& examples) {
    return {checked_offsets(offsets), examples, "examples must be indices of examples"};
}

// The parts of some examples, and the bounds of each example's parts among them.
inline auto parts_of(const Longs& offsets, const Longs& examples) {
    const ChosenSequences chosen = chosen_examples(offsets, examples);
    auto parts = new_array<std::int64_t>({static_cast<std::size_t>(chosen.ends.back())});
    for (std::size_t i = 0; i < chosen.ids.size(); ++i)
        std::iota(parts.data() + chosen.ends[i], parts.data() + chosen.ends[i + 1], chosen.first[i]);
    return std::make_pair(parts, copied(chosen.ends.data(), chosen.ends.size()));
}

// What is known of parts, and the state and `alone` of all parts, checked; see PartRows.
inline policies::PartRows part_inputs(const FloatMatrix& known, const Flags& state,
                                      const std::optional<FloatMatrix>& alone, const ChosenSequences& chosen,
                                      bool simple = false) {
    require(static_cast<std::int64_t>(state.shape(0)) == chosen.n_parts, "a state must have a row for each part");
    require(static_cast<std::int64_t>(known.shape(0)) == (simple ? chosen.n_parts : chosen.ends.back()),
            "evidence must have a row for each part of the examples");
    require(!alone || static_cast<std::int64_t>(alone->shape(0)) == chosen.n_parts,
            "features of parts must have a row for each of them");
    return {known.data(),
            static_cast<std::int64_t>(known.shape(1)),
            state.data(),
            static_cast<std::int64_t>(state.shape(1)),
            alone ? alone->data() : nullptr,
            alone ? static_cast<std::int64_t>(alone->shape(1)) : 0,
            {chosen.first, chosen.ends},
            simple};
}

inline auto part_rows(const FloatMatrix& known, const Flags& state, const std::optional<FloatMatrix>& alone,
                      const Longs& offsets, const Longs& examples, bool simple) {
    const ChosenSequences chosen = chosen_examples(offsets, examples);
    const policies::PartRows rows = part_inputs(known, state, alone, chosen, simple);
    auto out = new_array<float>({static_cast<std::size_t>(chosen.ends.back()), static_cast<std::size_t>(rows.width())});
    rows.write(out.data());
    return out;
}

// The logarithm of the probability that log odds give each of these rows; -infinity for parts that lack no group.
inline Made<double> part_chances(const Model& odds, const FloatMatrix& known, const Flags& state,
                                 const std::optional<FloatMatrix>& alone, const Longs& offsets, const Longs& examples) {
    const ChosenSequences chosen = chosen_examples(offsets, examples);
    const policies::PartRows rows = part_inputs(known, state, alone, chosen);
    require(rows.width() == odds.n_features() && odds.n_outputs() == 1, "rows and log odds do not fit");
    auto out = new_array<double>({static_cast<std::size_t>(chosen.ends.back())});
    const Unlocked unlocked;
    require(rows.chances(*odds.packed, out.data()), "rows must be finite");
    return out;
}

// An example may spend `per_part` for each of its parts.
inline auto choose(const Matrix& priority, const Flags& lacks, const Longs& ends, double threshold, double pace,
                   double per_part, const Doubles& costs) {
    require(priority.shape(0) == lacks.shape(0) && priority.shape(1) == lacks.shape(1),
            "priority and lacks must have the same shape");
    require(pace >= 0 && pace <= 1, "pace must lie in [0, 1]");
    require(costs.size() == priority.shape(1), "there must be a cost for each group");
    const auto all = checked_offsets(ends, static_cast<std::int64_t>(priority.shape(0)));
    auto out = new_array<bool>({priority.shape(0), priority.shape(1)});
    auto buys = new_array<bool>({all.size() - 1}), lacks_more = new_array<bool>({all.size() - 1});
    policies::choose_each(priority.data(), lacks.data(), all, threshold, pace, costs.data(),
                          static_cast<std::int64_t>(priority.shape(1)), per_part, out.data(), buys.data(),
                          lacks_more.data());
    return std::make_tuple(out, buys, lacks_more);
}

inline void bind_policies(nb::module_& m) {
    using namespace nb::literals;
    m.def("parts_of", &parts_of, "offsets"_a.noconvert(), "examples"_a.noconvert(),
          "The parts of some examples, and the bounds of each example's parts among them.");
    m.def("part_rows", &part_rows, "known"_a.noconvert(), "state"_a.noconvert(), "alone"_a.noconvert().none(),
          "offsets"_a.noconvert(), "examples"_a.noconvert(), "simple"_a = false,
          "Features of each part: evidence and state, also of its neighbours and on average, places, and ``alone``.");
    m.def("part_chances", &part_chances, "odds"_a, "known"_a.noconvert(), "state"_a.noconvert(),
          "alone"_a.noconvert().none(), "offsets"_a.noconvert(), "examples"_a.noconvert(),
          "Logarithms of the probabilities that log odds give for these rows; -inf for parts that lack no group.");
    m.def("choose", &choose, "priority"_a.noconvert(), "lacks"_a.noconvert(), "ends"_a.noconvert(), "threshold"_a,
          "pace"_a, "per_part"_a, "costs"_a.noconvert(),
          "Choose items above the threshold to buy (n_parts, K), and say who buys something, and who still lacks "
          "something.");
}

}  // namespace wald::bindings
