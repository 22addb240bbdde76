// Evidence for the labels of a chain: margins, probabilities and labels for every part.
#pragma once

#include <array>

#include "chain/decode.hpp"

namespace wald::chain {

// The three largest of n values, with repetitions; -infinity where there are fewer. Branch-free, because comparisons
// are hard to predict.
inline std::array<float, 3> three_largest(const float* v, int n) {
    constexpr float never = -std::numeric_limits<float>::infinity();
    float first = never, second = never, third = never;
    for (int k = 0; k < n; ++k) {
        const float behind = std::min(first, v[k]), further = std::min(second, behind);
        first = std::max(first, v[k]);
        second = std::max(second, behind);
        third = std::max(third, further);
    }
    return {first, second, third};
}
// The first index other than `but` at which v equals `value`.
inline int index_of(const float* v, int n, float value, int but = -1) {
    int k = 0;
    while (k + 1 < n && (v[k] != value || k == but)) ++k;
    return k;
}
// Margin of the largest of n values over top[over]; 0 if there are fewer values, and `most` over a label that is ruled
// out.
inline float margin_over(const std::array<float, 3>& top, int n, int over, float most) {
    if (over >= n) return 0.0f;
    return std::isinf(top[over]) ? most : top[0] - top[over];
}

// Evidence from a part's own scores: the margins of the best score over the second and the third and, with `every`,
// each score minus the best.
inline void own_evidence(const float* own, int n_labels, bool every, float* out) {
    const auto top = three_largest(own, n_labels);
    for (int i = 1; i < 3; ++i) *out++ = i < n_labels ? -(top[i] - top[0]) : 0.0f;
    for (int k = 0; k < n_labels && every; ++k) *out++ = own[k] - top[0];
}

// The same for n parts with own scores (n, n_labels).
inline void own_evidence_each(const float* own, std::size_t n, int n_labels, bool every, float* out) {
    const int width = every ? 2 + n_labels : 2;
    for (std::size_t i = 0; i < n; ++i)
        own_evidence(own + i * static_cast<std::size_t>(n_labels), n_labels, every,
                     out + i * static_cast<std::size_t>(width));
}

class Evidence {
public:
    // 0-1: margins of the best path over the best ones through the second and the third label; 2-3: the first two
    // labels; 4-7: the three largest probabilities, and that of the best path's label; 8: margin of a part's best own
    // score over its second; 9: the label of the best own score; 10: its margin over the best path's label.
    static constexpr int kColumns = 11;

    // For chains with these steps, (n_labels, padded), whose paths have probability proportional to exp(scale * score).
    Evidence(const float* steps, int n_labels, int padded, float scale)
        : scale_(scale), most_(kMostLog / scale), ahead_(static_cast<std::size_t>(n_labels) * padded),
          back_steps_(transposed(steps, n_labels, padded)) {
        float largest = steps[0];
        const auto each = [&](const auto& visit) {
            for (std::int64_t p = 0; p < n_labels; ++p)
                for (int k = 0; k < n_labels; ++k) visit(p * padded + k);
        };
        each([&](std::int64_t i) { largest = std::max(largest, steps[i]); });
        each([&](std::int64_t i) { ahead_[i] = gain(steps[i] - largest); });
        back_ = transposed(ahead_.data(), n_labels, padded);
    }

    struct Scratch {
        std::vector<float> best;
        Aligned<float> own, alpha, beta;
    };

    // out (length, kColumns).
    void operator()(Decoder& decoder, const Lattice& x, Scratch& scratch, float* out) const {
        const auto n = static_cast<std::size_t>(x.length) * x.padded;
        if (scratch.own.size() < n) scratch.own = Aligned<float>(n), scratch.alpha = Aligned<float>(n);
        if (scratch.beta.size() < static_cast<std::size_t>(x.padded))
            scratch.beta = Aligned<float>(static_cast<std::size_t>(x.padded));
        scratch.best.resize(static_cast<std::size_t>(x.length) * x.n_labels);
        decoder.max_marginals(x, back_steps_.data(), scratch.best.data());
        for (std::int64_t t = 0; t < x.length; ++t) {
            float* row = out + t * kColumns;
            const float *best = scratch.best.data() + t * x.n_labels, *own = x.node + t * x.padded;
            const auto by_path = three_largest(best, x.n_labels), by_own = three_largest(own, x.n_labels);
            const int first = index_of(best, x.n_labels, by_path[0]);
            row[0] = margin_over(by_path, x.n_labels, 1, most_);
            row[1] = margin_over(by_path, x.n_labels, 2, most_);
            row[2] = static_cast<float>(first);
            row[3] = x.n_labels > 1 ? static_cast<float>(index_of(best, x.n_labels, by_path[1], first)) : 0.0f;
            row[8] = margin_over(by_own, x.n_labels, 1, most_);
            row[9] = static_cast<float>(index_of(own, x.n_labels, by_own[0]));
            row[10] = by_own[0] - own[first];  // finite: the best path's label is not ruled out
            for (int k = 0; k < x.n_labels; ++k)
                scratch.own[static_cast<std::size_t>(t) * x.padded + k] = gain(own[k] - by_own[0]);
        }
        probabilities(x, scratch, out);
    }

private:
    static constexpr float kMostLog = 40.0f;

    // exp(scale * difference), bounded below so that the product of two cannot underflow; also for what is ruled out.
    float gain(float difference) const { return std::exp(std::max(scale_ * difference, -kMostLog)); }

    // The forward-backward algorithm, normalized at every part against overflow.
    void probabilities(const Lattice& x, Scratch& scratch, float* out) const {
        for (std::int64_t t = 0; t < x.length; ++t) {
            float* alpha = scratch.alpha.data() + t * x.padded;
            const float* own = scratch.own.data() + t * x.padded;
            if (t == 0) std::fill_n(alpha, x.n_labels, 1.0f);
            else step(alpha - x.padded, ahead_, x, alpha);
            normalize(alpha, own, x.n_labels);
        }
        float* beta = scratch.beta.data();
        std::fill_n(beta, x.n_labels, 1.0f);
        for (std::int64_t t = x.length; t-- > 0;) {
            float *alpha = scratch.alpha.data() + t * x.padded, *row = out + t * kColumns;
            normalize(alpha, beta, x.n_labels);  // now the probabilities of this part
            const auto top = three_largest(alpha, x.n_labels);
            for (int i = 0; i < 3; ++i) row[4 + i] = i < x.n_labels ? top[i] : 0.0f;
            row[7] = alpha[static_cast<int>(row[2])];
            if (t == 0) break;
            normalize(beta, scratch.own.data() + t * x.padded, x.n_labels);
            step(beta, back_, x, alpha);  // this part's row is no longer needed
            std::copy_n(alpha, x.n_labels, beta);
        }
    }
    static void step(const float* from, const Aligned<float>& gains, const Lattice& x, float* to) {
        std::fill_n(to, x.padded, 0.0f);
        chain_kernels().accumulate(to, gains.data(), x.n_panels(), from, x.n_labels);
    }
    static void normalize(float* values, const float* factors, int n) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += values[k] *= factors[k];
        const float share = 1 / sum;
        for (int k = 0; k < n; ++k) values[k] *= share;
    }

    float scale_, most_;
    Aligned<float> ahead_, back_;  // exp of scaled steps, [from][to] and [to][from]
    Aligned<float> back_steps_;    // steps, [to][from]
};

}  // namespace wald::chain
