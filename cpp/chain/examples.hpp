// Labelled sequences to learn from, and the states (which groups each part has) in which they are scored.
#pragma once

#include <span>

#include "chain/decode.hpp"
#include "core/interruption.hpp"
#include "core/mix.hpp"

namespace wald::chain {

// A counter-based random number: it depends on the seed and the counters only, not on earlier draws.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t h = seed;
    for (const std::uint64_t v : {a, b, c}) h = mix(h + 0x9e3779b97f4a7c15ull * v);
    return h;
}

using States = std::vector<std::uint8_t>;

struct Examples {
    Features features;
    const std::int32_t* labels = nullptr;
    std::span<const std::int64_t> offsets;  // first part of every sequence, and the number of parts
    int n_groups = 1;
    bool random = false;  // random states; otherwise every part has all groups
    std::uint64_t seed = 0;

    std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::int64_t length(std::int64_t sequence) const { return offsets[sequence + 1] - offsets[sequence]; }
    std::uint8_t everything() const { return static_cast<std::uint8_t>((1 << (n_groups - 1)) - 1); }

    // Draws the states of a sequence's parts in an epoch. If `random`, one sequence in ten has no costly group and one
    // in ten has all; in the others, each part has each group with a probability drawn uniformly for the sequence.
    void draw(std::int64_t sequence, std::uint64_t epoch, States& out) const {
        const std::int64_t n = length(sequence);
        out.assign(static_cast<std::size_t>(n), everything());
        if (!random || n_groups == 1) return;
        const auto at = static_cast<std::uint64_t>(sequence);
        const double kind = uniform(mixed(seed, epoch, at, ~0ull));
        const double p = kind < 0.1 ? 0 : kind < 0.2 ? 1 : uniform(mixed(seed, epoch, at, ~1ull));
        for (std::int64_t t = 0; t < n; ++t)
            for (int g = 1; g < n_groups; ++g)
                if (uniform(mixed(seed, epoch, at, static_cast<std::uint64_t>(t * n_groups + g))) >= p)
                    out[t] &= static_cast<std::uint8_t>(~(1 << (g - 1)));
    }
};

// A sequence that is scored, with a margin added to every wrong label, and decoded.
class Guess {
public:
    void make(const Weights& w, const Examples& data, std::int64_t sequence, const States& states, float margin) {
        const std::int64_t first = data.offsets[sequence], length = data.length(sequence);
        const std::size_t n = static_cast<std::size_t>(length) * w.padded();
        if (node_.size() < n) node_ = Aligned<float>(n);
        w.score(data.features, first, length, states.data(), node_.data());
        truth_ = data.labels + first;
        for (std::int64_t t = 0; t < length; ++t) {
            float* at = node_.data() + t * w.padded();
            const float right = at[truth_[t]];
            for (int k = 0; k < w.n_labels(); ++k) at[k] += margin;
            at[truth_[t]] = right;
        }
        lattice_ = {node_.data(), w.steps(), length, w.n_labels(), w.padded()};
        labels_.resize(static_cast<std::size_t>(length));
        decoder_.best(lattice_, labels_.data());
    }
    std::int64_t length() const { return lattice_.length; }
    const std::vector<std::int32_t>& labels() const { return labels_; }
    const std::int32_t* truth() const { return truth_; }
    // Score of a path minus that of the truth, margins included.
    double excess(const std::int32_t* path) const {
        double sum = 0;
        for (std::int64_t t = 0; t < length(); ++t) {
            sum += static_cast<double>(lattice_.at(t, path[t])) - lattice_.at(t, truth_[t]);
            if (t > 0)
                sum +=
                    static_cast<double>(lattice_.step(path[t - 1], path[t])) - lattice_.step(truth_[t - 1], truth_[t]);
        }
        return sum;
    }

private:
    Aligned<float> node_;
    Lattice lattice_{};
    Decoder decoder_;
    std::vector<std::int32_t> labels_;
    const std::int32_t* truth_ = nullptr;
};

}  // namespace wald::chain
