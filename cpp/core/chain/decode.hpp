// Exact inference in a chain from node scores (length, padded) and steps (labels, padded): best paths and what they beat.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weights.hpp"

namespace wald::chain {

// A view of what inference needs; padding lanes of `steps` may hold anything.
struct Lattice {
    const float* node;   // (length, padded)
    const float* steps;  // (n_labels, padded), [from][to]
    std::int64_t length;
    int n_labels, padded;
    int n_panels() const { return padded / kLanes<float>; }
};

class Decoder {
public:
    // The best path; of equal ones the one whose labels come first, counted from the end. Returns its score.
    float best(const Lattice& x, std::int32_t* labels) {
        forward(x);
        const float* last = alpha_.data() + (x.length - 1) * x.padded;
        int k = static_cast<int>(std::max_element(last, last + x.n_labels) - last);
        const float score = last[k];
        for (std::int64_t t = x.length; t-- > 0;) {
            labels[t] = k;
            if (t > 0) k = from_[t * x.padded + k];
        }
        return score;
    }

    // out (length, n_labels): the score of the best path through every label at every place.
    void max_marginals(const Lattice& x, float* out) {
        forward(x);
        std::vector<float> beta(x.padded, 0.0f), next(x.padded);
        for (std::int64_t t = x.length; t-- > 0;) {
            for (int k = 0; k < x.n_labels; ++k) out[t * x.n_labels + k] = alpha_[t * x.padded + k] + beta[k];
            if (t == 0) break;
            for (int k = 0; k < x.n_labels; ++k) beta[k] += x.node[t * x.padded + k];
            for (int p = 0; p < x.n_labels; ++p) {
                float best = -std::numeric_limits<float>::infinity();
                for (int k = 0; k < x.n_labels; ++k) best = std::max(best, x.steps[static_cast<std::int64_t>(p) * x.padded + k] + beta[k]);
                next[p] = best;
            }
            std::swap(beta, next);
        }
    }

    // out (length, n_labels): probabilities of labels under exp(score * scale).
    void marginals(const Lattice& x, float scale, float* out) {
        const int K = x.n_labels;
        const std::size_t n = static_cast<std::size_t>(x.length) * K;
        if (sums_.size() < 2 * n) sums_.resize(2 * n);
        double* ahead = sums_.data();
        double* behind = sums_.data() + n;
        std::vector<double> gain(static_cast<std::size_t>(K) * K), weighted(K);
        double top = -HUGE_VAL;
        for (int p = 0; p < K; ++p)
            for (int k = 0; k < K; ++k) top = std::max<double>(top, x.steps[static_cast<std::int64_t>(p) * x.padded + k]);
        for (int p = 0; p < K; ++p)
            for (int k = 0; k < K; ++k) gain[p * K + k] = std::exp(scale * (x.steps[static_cast<std::int64_t>(p) * x.padded + k] - top));
        const auto local = [&](std::int64_t t, int k) { return x.node[t * x.padded + k]; };
        const auto normalized = [&](double* v) {
            double total = 0;
            for (int k = 0; k < K; ++k) total += v[k];
            for (int k = 0; k < K; ++k) v[k] /= total;
        };
        for (std::int64_t t = 0; t < x.length; ++t) {
            double* at = ahead + t * K;
            float most = local(t, 0);
            for (int k = 1; k < K; ++k) most = std::max(most, local(t, k));
            for (int k = 0; k < K; ++k) {
                double in = 1;
                if (t > 0) {
                    in = 0;
                    for (int p = 0; p < K; ++p) in += at[p - K] * gain[p * K + k];
                }
                at[k] = in * std::exp(static_cast<double>(scale) * (local(t, k) - most)) + std::numeric_limits<double>::min();
            }
            normalized(at);
        }
        std::fill_n(behind + (x.length - 1) * K, K, 1.0 / K);
        for (std::int64_t t = x.length - 1; t > 0; --t) {
            float most = local(t, 0);
            for (int k = 1; k < K; ++k) most = std::max(most, local(t, k));
            for (int k = 0; k < K; ++k) weighted[k] = behind[t * K + k] * std::exp(static_cast<double>(scale) * (local(t, k) - most));
            for (int p = 0; p < K; ++p) {
                double sum = std::numeric_limits<double>::min();
                for (int k = 0; k < K; ++k) sum += gain[p * K + k] * weighted[k];
                behind[(t - 1) * K + p] = sum;
            }
            normalized(behind + (t - 1) * K);
        }
        for (std::int64_t t = 0; t < x.length; ++t) {
            double total = 0;
            for (int k = 0; k < K; ++k) total += ahead[t * K + k] * behind[t * K + k];
            for (int k = 0; k < K; ++k) out[t * K + k] = static_cast<float>(ahead[t * K + k] * behind[t * K + k] / total);
        }
    }

    // The `most` best paths, best first: scores (most,), labels (most, length). Paths that do not exist score -infinity.
    void best_paths(const Lattice& x, int most, float* scores, std::int32_t* labels) {
        struct Step { float score; std::int32_t from, rank; };
        const int K = x.n_labels;
        std::vector<Step> table(static_cast<std::size_t>(x.length) * K * most);
        const auto at = [&](std::int64_t t, int k) { return table.data() + (t * K + k) * most; };
        std::vector<Step> found;
        const auto better = [](const Step& a, const Step& b) {
            return a.score != b.score ? a.score > b.score : a.from != b.from ? a.from < b.from : a.rank < b.rank;
        };
        const auto keep = [&](Step* to) {
            const std::size_t n = std::min<std::size_t>(found.size(), static_cast<std::size_t>(most));
            std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n), found.end(), better);
            for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i)
                to[i] = i < n ? found[i] : Step{-std::numeric_limits<float>::infinity(), 0, 0};
        };
        for (std::int64_t t = 0; t < x.length; ++t)
            for (int k = 0; k < K; ++k) {
                found.clear();
                const float node = x.node[t * x.padded + k];
                if (t == 0) found.push_back({node, 0, 0});
                else
                    for (int p = 0; p < K; ++p)
                        for (int r = 0; r < most && std::isfinite(at(t - 1, p)[r].score); ++r)
                            found.push_back({at(t - 1, p)[r].score + x.steps[static_cast<std::int64_t>(p) * x.padded + k] + node, p, r});
                keep(at(t, k));
            }
        found.clear();
        for (int k = 0; k < K; ++k)
            for (int r = 0; r < most && std::isfinite(at(x.length - 1, k)[r].score); ++r) found.push_back({at(x.length - 1, k)[r].score, k, r});
        std::vector<Step> ends(static_cast<std::size_t>(most));
        keep(ends.data());
        for (int i = 0; i < most; ++i) {
            scores[i] = ends[i].score;
            Step step = ends[i];
            for (std::int64_t t = x.length; t-- > 0;) {
                labels[i * x.length + t] = step.from;
                step = at(t, step.from)[step.rank];
            }
        }
    }

private:
    void forward(const Lattice& x) {
        const std::size_t n = static_cast<std::size_t>(x.length) * x.padded;
        if (alpha_.size() < n) {
            alpha_ = Aligned<float>(n);
            from_.resize(n);
        }
        std::memcpy(alpha_.data(), x.node, sizeof(float) * static_cast<std::size_t>(x.padded));
        for (std::int64_t t = 1; t < x.length; ++t) {
            float* now = alpha_.data() + t * x.padded;
            kernels<float>().max_plus(now - x.padded, x.steps, x.n_labels, x.n_panels(), now, from_.data() + t * x.padded);
            for (int k = 0; k < x.padded; ++k) now[k] += x.node[t * x.padded + k];
        }
    }

    Aligned<float> alpha_;
    std::vector<std::int32_t> from_;
    std::vector<double> sums_;
};

}  // namespace wald::chain
