// What policies do with numpy arrays. Everything is checked here.
#pragma once

#include "../core/policies.hpp"
#include "chain.hpp"

namespace wald::bindings {

using Flags = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Some examples among all: where their parts begin, and where their rows do.
struct ChosenExamples {
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
            first.push_back(all[e]);
            ends.push_back(ends.back() + all[e + 1] - all[e]);
        }
    }
    std::size_t size() const { return first.size(); }
    std::int64_t length(std::size_t i) const { return ends[i + 1] - ends[i]; }
};

inline nb::ndarray<nb::numpy, float> simple_rows(const FloatMatrix& alone, const Longs& offsets, const Longs& examples) {
    const ChosenExamples chosen(offsets, examples);
    require(static_cast<std::int64_t>(alone.shape(0)) == chosen.n_parts, "features of parts must have a row for each of them");
    const auto c = static_cast<std::int64_t>(alone.shape(1)), width = policies::Example::width(c, false, 0);
    auto out = new_array<float>({static_cast<std::size_t>(chosen.ends.back()), static_cast<std::size_t>(width)});
    float* to = out.data();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const policies::Example x{alone.data() + chosen.first[i] * c, c, nullptr, nullptr, 0, chosen.length(i)};
        for (std::int64_t t = 0; t < x.length; ++t) to = x.row(t, to);
    }
    return out;
}

inline nb::ndarray<nb::numpy, float> complex_rows(const FloatMatrix& known, const Flags& state, const std::optional<FloatMatrix>& alone, const Longs& offsets,
                                                  const Longs& examples, bool lacking) {
    const ChosenExamples chosen(offsets, examples);
    require(static_cast<std::int64_t>(state.shape(0)) == chosen.n_parts, "a state must have a row for each part");
    require(static_cast<std::int64_t>(known.shape(0)) == chosen.ends.back(), "evidence must have a row for each part of the examples");
    require(!alone || static_cast<std::int64_t>(alone->shape(0)) == chosen.n_parts, "features of parts must have a row for each of them");
    const auto e = static_cast<std::int64_t>(known.shape(1)), K = static_cast<std::int64_t>(state.shape(1)), c = e + K;
    const std::int64_t n_alone = alone ? static_cast<std::int64_t>(alone->shape(1)) : 0, width = policies::Example::width(c, true, n_alone);
    const auto asked = [&](std::int64_t part) { return !lacking || !std::all_of(state.data() + part * K, state.data() + (part + 1) * K, [](bool b) { return b; }); };
    std::int64_t n = 0, longest = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        longest = std::max(longest, chosen.length(i));
        for (std::int64_t t = 0; t < chosen.length(i); ++t) n += asked(chosen.first[i] + t);
    }
    auto out = new_array<float>({static_cast<std::size_t>(n), static_cast<std::size_t>(width)});
    std::vector<float> near(static_cast<std::size_t>(longest * c)), mean(static_cast<std::size_t>(c));
    float* to = out.data();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const std::int64_t first = chosen.first[i], length = chosen.length(i);
        for (std::int64_t t = 0; t < length; ++t) {
            float* both = std::copy_n(known.data() + (chosen.ends[i] + t) * e, e, near.data() + t * c);
            std::copy_n(state.data() + (first + t) * K, K, both);
        }
        policies::means(near.data(), length, c, mean.data());
        const policies::Example x{near.data(), c, mean.data(), alone ? alone->data() + first * n_alone : nullptr, n_alone, length};
        for (std::int64_t t = 0; t < length; ++t)
            if (asked(first + t)) to = x.row(t, to);
    }
    return out;
}

inline nb::ndarray<nb::numpy, bool> choose(const Matrix& priority, const Flags& lacks, const Longs& ends, double threshold, double pace) {
    require(priority.shape(0) == lacks.shape(0) && priority.shape(1) == lacks.shape(1), "priorities and what parts lack must have the same shape");
    require(pace >= 0 && pace <= 1, "pace must lie in [0, 1]");
    const auto all = checked_offsets(ends, static_cast<std::int64_t>(priority.shape(0)));
    const auto K = static_cast<std::int64_t>(priority.shape(1));
    auto out = new_array<bool>({priority.shape(0), priority.shape(1)});
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
        policies::choose(priority.data() + all[i] * K, lacks.data() + all[i] * K, (all[i + 1] - all[i]) * K, threshold, pace, found, out.data() + all[i] * K);
    return out;
}

inline void bind_policies(nb::module_& m) {
    using namespace nb::literals;
    m.def("simple_rows", &simple_rows, "alone"_a.noconvert(), "offsets"_a.noconvert(), "examples"_a.noconvert());
    m.def("complex_rows", &complex_rows, "known"_a.noconvert(), "state"_a.noconvert(), "alone"_a.noconvert().none(), "offsets"_a.noconvert(), "examples"_a.noconvert(),
          "lacking"_a);
    m.def("choose", &choose, "priority"_a.noconvert(), "lacks"_a.noconvert(), "ends"_a.noconvert(), "threshold"_a, "pace"_a);
}

}  // namespace wald::bindings
