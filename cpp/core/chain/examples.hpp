// Labelled sequences to learn from, and the states (which groups each part has) under which they are seen.
#pragma once

#include <span>
#include <vector>

#include "decode.hpp"

namespace wald::chain {

// A number that depends on its coordinates alone: the same draws whatever was drawn before.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t h = seed;
    for (std::uint64_t v : {a, b, c}) {
        h += 0x9e3779b97f4a7c15ull * (v + 1);
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
        h ^= h >> 31;
    }
    return h;
}
inline double uniform(std::uint64_t h) { return static_cast<double>(h >> 11) * 0x1.0p-53; }

enum class States : std::uint8_t { full, random };

struct Examples {
    std::vector<Group> groups;
    const std::int32_t* labels = nullptr;
    std::span<const std::int64_t> offsets;  // of the first part of every sequence, and the end
    States states = States::full;
    std::uint64_t seed = 0;

    std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }

    // The states of a sequence's parts at a turn. Random: one sequence in ten has nothing costly, one everything, and the others
    // each part with a probability that is itself uniform.
    void draw(std::int64_t sequence, std::uint64_t turn, int n_groups, std::vector<int>& out) const {
        const std::int64_t first = offsets[sequence], n = offsets[sequence + 1] - first;
        const int everything = (1 << (n_groups - 1)) - 1;
        out.assign(static_cast<std::size_t>(n), everything);
        if (states == States::full || n_groups == 1) return;
        const auto at = static_cast<std::uint64_t>(sequence);
        const double kind = uniform(mixed(seed, turn, at, ~0ull));
        const double p = kind < 0.1 ? 0 : kind < 0.2 ? 1 : uniform(mixed(seed, turn, at, ~1ull));
        for (std::int64_t t = 0; t < n; ++t)
            for (int g = 1; g < n_groups; ++g)
                if (uniform(mixed(seed, turn, at, static_cast<std::uint64_t>(t * n_groups + g))) >= p) out[t] &= ~(1 << (g - 1));
    }
};

// One sequence, scored: what learners decode.
class Scored {
public:
    // `margin` is added to every label but the true one.
    void read(const Weights& w, const Examples& data, std::int64_t sequence, const std::vector<int>& states, float margin) {
        first_ = data.offsets[sequence];
        length_ = data.offsets[sequence + 1] - first_;
        const std::size_t n = static_cast<std::size_t>(length_) * w.padded();
        if (node_.size() < n) node_ = Aligned<float>(n);
        for (std::int64_t t = 0; t < length_; ++t) {
            float* at = node_.data() + t * w.padded();
            w.score(data.groups, first_ + t, states[t], at);
            if (margin == 0) continue;
            for (int k = 0; k < w.n_labels(); ++k) at[k] += margin;
            at[data.labels[first_ + t]] -= margin;
        }
        lattice_ = {node_.data(), w.steps(), length_, w.n_labels(), w.padded()};
    }
    const Lattice& lattice() const { return lattice_; }
    std::int64_t length() const { return length_; }
    float node(std::int64_t t, int k) const { return node_[t * lattice_.padded + k]; }
    float step(int from, int to) const { return lattice_.steps[static_cast<std::int64_t>(from) * lattice_.padded + to]; }

private:
    Aligned<float> node_;
    std::int64_t first_ = 0, length_ = 0;
    Lattice lattice_{};
};

}  // namespace wald::chain
