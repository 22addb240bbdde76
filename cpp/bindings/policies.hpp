// What policies do with numpy arrays. Everything is checked here.
#pragma once

#include <numeric>

#include "bindings/forest.hpp"
#include "core/trees/policies.hpp"

namespace wald::bindings {

using Flags = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Some examples among all: where their parts begin, and where their rows do.
struct ChosenExamples {
    static constexpr std::int64_t kMostParts = std::int64_t{1}
                                               << 40;  // chosen; offsets alone promise nothing about memory

    std::int64_t n_parts;  // of all examples
    std::vector<std::int64_t> first, ends{0};

    ChosenExamples(const Longs& offsets, const Longs& examples) {
        require(offsets.size() >= 1, "offsets start at 0");
        const auto all = checked_offsets(offsets, offsets.data()[offsets.size() - 1]);
        n_parts = all.back();
        const auto n = static_cast<std::int64_t>(all.size()) - 1;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            const std::int64_t e = examples.data()[i];
            require(e >= 0 && e < n, "examples must be indices of examples");
            require(all[e + 1] - all[e] <= kMostParts - ends.back(), "examples of 2^40 parts at most");
            first.push_back(all[e]);
            ends.push_back(ends.back() + all[e + 1] - all[e]);
        }
    }
    std::size_t size() const { return first.size(); }
    std::int64_t length(std::size_t i) const { return ends[i + 1] - ends[i]; }
};

// The parts that some examples have, and where each example's begin and end among them.
inline nb::tuple parts_of(const Longs& offsets, const Longs& examples) {
    const ChosenExamples chosen(offsets, examples);
    auto parts = new_array<std::int64_t>({static_cast<std::size_t>(chosen.ends.back())}),
         ends = new_array<std::int64_t>({chosen.ends.size()});
    std::copy(chosen.ends.begin(), chosen.ends.end(), ends.data());
    for (std::size_t i = 0; i < chosen.size(); ++i)
        std::iota(parts.data() + chosen.ends[i], parts.data() + chosen.ends[i + 1], chosen.first[i]);
    return nb::make_tuple(parts, ends);
}

inline nb::ndarray<nb::numpy, float> simple_rows(const FloatMatrix& alone, const Longs& offsets,
                                                 const Longs& examples) {
    const ChosenExamples chosen(offsets, examples);
    require(static_cast<std::int64_t>(alone.shape(0)) == chosen.n_parts,
            "features of parts must have a row for each of them");
    const auto c = static_cast<std::int64_t>(alone.shape(1)), width = policies::Example::width(c, false, 0);
    auto out = new_array<float>({static_cast<std::size_t>(chosen.ends.back()), static_cast<std::size_t>(width)});
    float* to = out.data();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const policies::Example x{alone.data() + chosen.first[i] * c, c, nullptr, nullptr, 0, chosen.length(i)};
        for (std::int64_t t = 0; t < x.length; ++t) to = x.row(t, to);
    }
    return out;
}

// What there is to know of the parts of some examples: `known` of these parts, the state and `alone` of all parts.
struct Known {
    const FloatMatrix& known;
    const Flags& state;
    const std::optional<FloatMatrix>& alone;
    ChosenExamples chosen;
    std::int64_t e, K, n_alone, longest = 0;

    Known(const FloatMatrix& known, const Flags& state, const std::optional<FloatMatrix>& alone, const Longs& offsets,
          const Longs& examples)
        : known(known), state(state), alone(alone), chosen(offsets, examples),
          e(static_cast<std::int64_t>(known.shape(1))), K(static_cast<std::int64_t>(state.shape(1))),
          n_alone(alone ? static_cast<std::int64_t>(alone->shape(1)) : 0) {
        require(static_cast<std::int64_t>(state.shape(0)) == chosen.n_parts, "a state must have a row for each part");
        require(static_cast<std::int64_t>(known.shape(0)) == chosen.ends.back(),
                "evidence must have a row for each part of the examples");
        require(!alone || static_cast<std::int64_t>(alone->shape(0)) == chosen.n_parts,
                "features of parts must have a row for each of them");
        for (std::size_t i = 0; i < chosen.size(); ++i) longest = std::max(longest, chosen.length(i));
    }
    std::int64_t width() const { return policies::Example::width(e + K, true, n_alone); }
    std::size_t n_rows() const { return static_cast<std::size_t>(chosen.ends.back()); }

    // Calls visit(example, t, row, whether the part lacks a group) for every part.
    template <class Visit>
    void each(Visit&& visit) const {
        const std::int64_t c = e + K;
        std::vector<float> near(static_cast<std::size_t>(longest * c)), mean(static_cast<std::size_t>(c));
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            give_way();
            const std::int64_t length = chosen.length(i);
            const bool* bought = state.data() + chosen.first[i] * K;
            for (std::int64_t t = 0; t < length; ++t)
                std::copy_n(bought + t * K, K,
                            std::copy_n(known.data() + (chosen.ends[i] + t) * e, e, near.data() + t * c));
            policies::means(near.data(), length, c, mean.data());
            const policies::Example x{near.data(), c,
                                      mean.data(), alone ? alone->data() + chosen.first[i] * n_alone : nullptr,
                                      n_alone,     length};
            for (std::int64_t t = 0; t < length; ++t)
                visit(x, t, static_cast<std::size_t>(chosen.ends[i] + t),
                      !std::all_of(bought + t * K, bought + (t + 1) * K, [](bool b) { return b; }));
        }
    }
};

inline nb::ndarray<nb::numpy, float> complex_rows(const FloatMatrix& known, const Flags& state,
                                                  const std::optional<FloatMatrix>& alone, const Longs& offsets,
                                                  const Longs& examples) {
    const Known all(known, state, alone, offsets, examples);
    const auto width = static_cast<std::size_t>(all.width());
    auto out = new_array<float>({all.n_rows(), width});
    all.each(
        [&](const policies::Example& x, std::int64_t t, std::size_t row, bool) { x.row(t, out.data() + row * width); });
    return out;
}

// The logarithm of the probability that a forest gives each of these rows; -infinity for parts that lack no group.
inline nb::ndarray<nb::numpy, double> part_chances(const BoundForest& forest, const FloatMatrix& known,
                                                   const Flags& state, const std::optional<FloatMatrix>& alone,
                                                   const Longs& offsets, const Longs& examples) {
    const Known all(known, state, alone, offsets, examples);
    require(all.width() == forest.n_features(), "rows with another number of features than the forest's");
    auto out = new_array<double>({all.n_rows()});
    const Unlocked unlocked;
    std::fill_n(out.data(), all.n_rows(),
                -std::numeric_limits<double>::infinity());  // of which the logarithm below is the same
    {
        Forest::Batch batch(forest.forest(), forest.n_features());
        std::vector<float> row(static_cast<std::size_t>(all.width()));
        all.each([&](const policies::Example& x, std::int64_t t, std::size_t at, bool lacks) {
            if (!lacks) return;
            x.row(t, row.data());
            require(all_finite(row.data(), row.size()), "rows must be finite");
            batch.add(row.data(), out.data() + at);
        });
    }
    std::transform(out.data(), out.data() + all.n_rows(), out.data(), Forest::log_probability);
    return out;
}

inline nb::ndarray<nb::numpy, bool> choose(const Matrix& priority, const Flags& lacks, const Longs& ends,
                                           double threshold, double pace) {
    require(priority.shape(0) == lacks.shape(0) && priority.shape(1) == lacks.shape(1),
            "priorities and what parts lack must have the same shape");
    require(pace >= 0 && pace <= 1, "pace must lie in [0, 1]");
    const auto all = checked_offsets(ends, static_cast<std::int64_t>(priority.shape(0)));
    const auto K = static_cast<std::int64_t>(priority.shape(1));
    auto out = new_array<bool>({priority.shape(0), priority.shape(1)});
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
        policies::choose(priority.data() + all[i] * K, lacks.data() + all[i] * K, (all[i + 1] - all[i]) * K, threshold,
                         pace, found, out.data() + all[i] * K);
    return out;
}

// Of what was chosen, the best that examples can afford, `per_part` for each of their parts.
inline nb::ndarray<nb::numpy, bool> afford(const Flags& chosen, const Matrix& priority, const Flags& lacks,
                                           const Longs& ends, double per_part, const Doubles& costs) {
    const auto n = static_cast<std::int64_t>(priority.shape(0)), K = static_cast<std::int64_t>(priority.shape(1));
    for (const Flags* flags : {&chosen, &lacks})
        require(flags->shape(0) == priority.shape(0) && flags->shape(1) == priority.shape(1),
                "priorities, what is chosen and what parts lack must have the same shape");
    require(costs.size() == priority.shape(1), "there must be a cost for each group");
    for (std::int64_t i = 0; i < n * K; ++i)
        require(!chosen.data()[i] || !std::isnan(priority.data()[i]), "what is chosen must have a priority");
    const auto all = checked_offsets(ends, n);
    auto out = new_array<bool>({priority.shape(0), priority.shape(1)});
    std::copy_n(chosen.data(), n * K, out.data());
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        const std::int64_t first = all[i] * K, length = all[i + 1] - all[i];
        policies::afford(priority.data() + first, lacks.data() + first, length * K, costs.data(), K,
                         per_part * static_cast<double>(length), found, out.data() + first);
    }
    return out;
}

// Whether any flag of an example's is set: (examples,).
inline nb::ndarray<nb::numpy, bool> any_of_each(const Flags& flags, const Longs& ends) {
    const auto all = checked_offsets(ends, static_cast<std::int64_t>(flags.shape(0)));
    const auto K = static_cast<std::int64_t>(flags.shape(1));
    auto out = new_array<bool>({all.size() - 1});
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
        out.data()[i] = std::any_of(flags.data() + all[i] * K, flags.data() + all[i + 1] * K, [](bool b) { return b; });
    return out;
}

inline void bind_policies(nb::module_& m) {
    using namespace nb::literals;
    m.def(
        "parts_of", &parts_of, "offsets"_a.noconvert(), "examples"_a.noconvert(),
        nb::sig("def parts_of(offsets: numpy.typing.NDArray[numpy.int64], examples: numpy.typing.NDArray[numpy.int64]) "
                "-> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]"),
        "The parts that some examples have, and where each example's begin and end among them.");
    m.def("any_of_each", &any_of_each, "flags"_a.noconvert(), "ends"_a.noconvert(),
          "Of each example, whether any of its flags (n_parts, K) is set.");
    m.def("simple_rows", &simple_rows, "alone"_a.noconvert(), "offsets"_a.noconvert(), "examples"_a.noconvert(),
          "What is known of each part alone, of its neighbours; its place from both ends; its example's length.");
    m.def(
        "complex_rows", &complex_rows, "known"_a.noconvert(), "state"_a.noconvert(), "alone"_a.noconvert().none(),
        "offsets"_a.noconvert(), "examples"_a.noconvert(),
        R"doc(What is known and bought of each part of the examples, beside its neighbours' and the means; places; ``alone``.

``known`` has rows for the parts of these examples, the others for all parts.)doc");
    m.def("part_chances", &part_chances, "forest"_a, "known"_a.noconvert(), "state"_a.noconvert(),
          "alone"_a.noconvert().none(), "offsets"_a.noconvert(), "examples"_a.noconvert(),
          "Logarithms of the probabilities that a forest gives for these rows; -inf for parts that lack no group.");
    m.def("choose", &choose, "priority"_a.noconvert(), "lacks"_a.noconvert(), "ends"_a.noconvert(), "threshold"_a,
          "pace"_a,
          "Of each example's items above the threshold, the best share ``pace``, rounded up, at least one: (n_parts, "
          "K).");
    m.def(
        "afford", &afford, "chosen"_a.noconvert(), "priority"_a.noconvert(), "lacks"_a.noconvert(),
        "ends"_a.noconvert(), "per_part"_a, "costs"_a.noconvert(),
        "Of what is chosen, the best that each example can afford, ``per_part`` for each of its parts: (n_parts, K).");
}

}  // namespace wald::bindings
