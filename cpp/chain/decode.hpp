// Best paths through a chain, exactly, by dynamic programming.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "chain/weights.hpp"

namespace wald::chain {

// The scores of a sequence. Padding lanes may hold any value. What is ruled out scores -infinity, and some path does
// not.
struct Lattice {
    const float* node;   // (length, padded)
    const float* steps;  // (n_labels, padded), [from][to]
    std::int64_t length;
    int n_labels, padded;

    int n_panels() const { return padded / kLanes<float>; }
    float at(std::int64_t t, int k) const { return node[t * padded + k]; }
    float step(int from, int to) const { return steps[static_cast<std::int64_t>(from) * padded + to]; }
};

// The steps (n_labels, padded) from label to label as [to][from].
inline Aligned<float> transposed(const float* steps, int n_labels, int padded) {
    Aligned<float> back(static_cast<std::size_t>(n_labels) * padded);
    for (std::size_t p = 0; p < static_cast<std::size_t>(n_labels); ++p)
        for (int k = 0; k < n_labels; ++k) back[static_cast<std::size_t>(k) * padded + p] = steps[p * padded + k];
    return back;
}

class Decoder {
public:
    // Finds the best path and returns its score. Ties go to the smallest label, compared from the last part backwards.
    float best(const Lattice& x, std::int32_t* labels) {
        forward(x);
        const float* last = alpha_.data() + (x.length - 1) * x.padded;
        int k = static_cast<int>(std::max_element(last, last + x.n_labels) - last);
        const float score = last[k];
        for (std::int64_t t = x.length; t-- > 0;) {
            labels[t] = k;
            if (t > 0) k = before(x, t, k);
        }
        return score;
    }

    // out (length, n_labels): the score of the best path through each label of each part. `back`: the steps,
    // transposed.
    void max_marginals(const Lattice& x, const float* back, float* out) {
        forward(x);
        Aligned<float> beta(static_cast<std::size_t>(x.padded)), ahead(static_cast<std::size_t>(x.padded));
        for (std::int64_t t = x.length; t-- > 0;) {
            for (int k = 0; k < x.n_labels; ++k) out[t * x.n_labels + k] = alpha_[t * x.padded + k] + beta[k];
            if (t == 0) break;
            for (int k = 0; k < x.padded; ++k) ahead[k] = beta[k] + x.at(t, k);
            chain_kernels().max_plus(ahead.data(), back, x.n_labels, x.n_panels(), beta.data());
        }
    }

    // Finds the `most` best paths, best first: scores (most,), labels (most, length). If there are fewer paths, the
    // rest score -infinity.
    void best_paths(const Lattice& x, int most, float* scores, std::int32_t* labels) {
        const int K = x.n_labels;
        table_.resize(static_cast<std::size_t>(x.length) * K * most);
        const auto at = [&](std::int64_t t, int k) { return table_.data() + (t * K + k) * most; };
        for (int k = 0; k < K; ++k) {
            found_.assign(1, {0, 0, 0});
            keep(at(0, k), most, x.at(0, k));
        }
        for (std::int64_t t = 1; t < x.length; ++t)
            for (int k = 0; k < K; ++k) {
                found_.clear();
                for (int p = 0; p < K; ++p) extend(at(t - 1, p), most, x.step(p, k), p);
                keep(at(t, k), most, x.at(t, k));
            }
        found_.clear();
        for (int k = 0; k < K; ++k) extend(at(x.length - 1, k), most, 0, k);
        ends_.resize(static_cast<std::size_t>(most));
        keep(ends_.data(), most, 0);
        for (int i = 0; i < most; ++i) {
            Hop hop = ends_[i];
            scores[i] = hop.score;
            for (std::int64_t t = x.length; t-- > 0;) {
                labels[i * x.length + t] = hop.from;
                hop = at(t, hop.from)[hop.rank];
            }
        }
    }

private:
    // The best path of some rank up to a label: its score, and the previous part's label and rank.
    struct Hop {
        float score;
        std::int32_t from, rank;
    };
    static constexpr float kNever = -std::numeric_limits<float>::infinity();

    void extend(const Hop* paths, int most, float step, int from) {
        if (step == kNever) return;
        for (int r = 0; r < most && paths[r].score > kNever; ++r) found_.push_back({paths[r].score + step, from, r});
    }
    // Writes the best hops found, in order, with `node` added to their scores.
    void keep(Hop* to, int most, float node) {
        const auto n = std::min(found_.size(), static_cast<std::size_t>(most));
        const auto better = [](const Hop& a, const Hop& b) {
            return a.score != b.score ? a.score > b.score : a.from != b.from ? a.from < b.from : a.rank < b.rank;
        };
        std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(n), found_.end(), better);
        for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i)
            to[i] = i < n ? Hop{found_[i].score + node, found_[i].from, found_[i].rank} : Hop{kNever, 0, 0};
    }

    void forward(const Lattice& x) {
        const std::size_t n = static_cast<std::size_t>(x.length) * x.padded;
        if (alpha_.size() < n) alpha_ = Aligned<float>(n);
        std::memcpy(alpha_.data(), x.node, sizeof(float) * static_cast<std::size_t>(x.padded));
        for (std::int64_t t = 1; t < x.length; ++t) {
            float* now = alpha_.data() + t * x.padded;
            chain_kernels().max_plus(now - x.padded, x.steps, x.n_labels, x.n_panels(), now);
            for (int k = 0; k < x.padded; ++k) now[k] += x.node[t * x.padded + k];
        }
    }

    // The label of part t - 1 on the best path to label k of part t: the first that reaches the maximum.
    int before(const Lattice& x, std::int64_t t, int k) const {
        const float* const alpha = alpha_.data() + (t - 1) * x.padded;
        int best = 0;
        float most = alpha[0] + x.step(0, k);
        for (int p = 1; p < x.n_labels; ++p) {
            const float score = alpha[p] + x.step(p, k);
            best = score > most ? p : best;
            most = score > most ? score : most;
        }
        return best;
    }

    Aligned<float> alpha_;  // score of the best path to each label of each part
    std::vector<Hop> table_, found_, ends_;
};

}  // namespace wald::chain
