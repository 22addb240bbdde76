// The stopping boundary for CSR rows of one class. Non-zeros are read in the order in which they are stored;
// checkpoints are at quarters of the row.
#pragma once

#include "online/boundary.hpp"

namespace wald::online {

inline constexpr int kShares = 4;
inline constexpr std::int64_t kShortest = 16;      // shorter rows are not worth a checkpoint
inline constexpr std::int64_t kLongest = 1 << 14;  // longer rows are not kept for fits

template <class T>
struct SparseRow {
    const std::int32_t* features;
    const T* values;
    std::int64_t n;
    std::int64_t end(int checkpoint) const { return n * (checkpoint + 1) / kShares; }
};

template <class T>
class SparseBoundary {
public:
    // The ring buffer: row i has length[i] non-zeros, from position i * slot on.
    std::vector<std::int32_t> features;
    std::vector<T> values;
    std::vector<std::int64_t> length;  // number of non-zeros of each kept row, at most `slot`
    std::int64_t slot = 0, seen = 0;
    double width = 0;
    // The expected full margin is start + factor * (sum so far), with standard deviation `spread`; for the centred
    // boundary, -start is the expected sum so far.
    std::vector<double> start, factor, spread;
    double middle = 0, sigma = 0, scale = 1, intercept = 0;

    bool ready() const { return !start.empty(); }

    void add(const Config& c, const SparseRow<T>& row) {
        if (row.n < kShortest || row.n > kLongest) return;
        if (row.n > slot) widen(row.n);
        const std::int64_t at = seen++ % c.ring;
        if (at >= static_cast<std::int64_t>(length.size())) {
            length.push_back(0);
            features.resize(length.size() * static_cast<std::size_t>(slot));
            values.resize(features.size());
        }
        length[static_cast<std::size_t>(at)] = row.n;
        std::memcpy(&features[static_cast<std::size_t>(at * slot)], row.features,
                    static_cast<std::size_t>(row.n) * sizeof(std::int32_t));
        std::memcpy(&values[static_cast<std::size_t>(at * slot)], row.values,
                    static_cast<std::size_t>(row.n) * sizeof(T));
    }
    SparseRow<T> kept(std::size_t i) const {
        return {&features[i * static_cast<std::size_t>(slot)], &values[i * static_cast<std::size_t>(slot)], length[i]};
    }

    void fit(const Config& c, const Weights<T>& model, double sign, double scale_now) {
        const std::size_t n = length.size();
        constexpr int checkpoints = kShares - 1;
        std::vector<double> sums(n * kShares);
        double mean_sum[kShares] = {};
        start.clear();
        factor.clear();
        spread.clear();
        for (std::size_t i = 0; i < n; ++i) {
            const SparseRow<T> row = kept(i);
            double s = sign * model.b;
            for (int e = 0; e < kShares; ++e) {
                const std::int64_t from = e == 0 ? 0 : row.end(e - 1);
                s += sign * static_cast<double>(online_kernels<T>().dot_sparse(model.w.data(), row.features + from,
                                                                               row.values + from, row.end(e) - from));
                sums[i * kShares + static_cast<std::size_t>(e)] = s;
                mean_sum[e] += s / static_cast<double>(n);
            }
        }
        double square[kShares] = {}, product[kShares] = {};
        for (std::size_t i = 0; i < n; ++i) {
            const double full = sums[i * kShares + kShares - 1] - mean_sum[kShares - 1];
            for (int e = 0; e < kShares; ++e) {
                const double v = sums[i * kShares + static_cast<std::size_t>(e)] - mean_sum[e];
                square[e] += v * v;
                product[e] += v * full;
            }
        }
        const double full = square[kShares - 1], freedom = static_cast<double>(n) - 2;
        if (!(full > 0) || freedom < 8 || !std::isfinite(full)) return;
        scale = scale_now;
        middle = mean_sum[kShares - 1];
        sigma = std::sqrt(full / (freedom + 1));
        for (int e = 0; e < checkpoints; ++e) {
            const bool regressed = c.attention == Attention::conditional;
            const double b = regressed ? (square[e] > 0 ? product[e] / square[e] : 0) : 1;
            factor.push_back(b);
            start.push_back(regressed || c.attention == Attention::budgeted ? middle - b * mean_sum[e] : -mean_sum[e]);
            const double left = regressed && square[e] > 0 ? full - product[e] * b : full;
            spread.push_back(
                std::sqrt(std::max(0.0, left) / freedom * (1 + 2 / static_cast<double>(n)) * (1 + 2.5 / freedom)));
        }
        intercept = sign * model.b;
    }

    // True if a row stops at a checkpoint with the label-signed sum `sum`, which includes the intercept.
    bool stops(const Config& c, int checkpoint, double sum, const Target& t) const {
        const std::size_t e = static_cast<std::size_t>(checkpoint);
        const double grown = t.scale / scale;
        if (c.attention == Attention::conditional) {
            // The less the full margin depends on what was read, the larger the spread at this checkpoint.
            return start[e] * grown + factor[e] * sum - t.threshold > width * spread[e] * grown;
        }
        const double deviation = sigma * grown, centre = middle * grown;
        if (c.attention == Attention::bridge) {
            const double half = 0.5 * (t.threshold - intercept), square = deviation * deviation * width * width;
            const double root = std::sqrt(half * half + square);
            return sum > intercept + (half >= 0 ? half + root : square / (root - half));
        }
        const double tau = 0.5 * (t.threshold - centre + width * deviation);
        if (c.attention == Attention::centred)
            return sum + start[e] * grown > std::max(tau, std::max(0.0, t.threshold - centre));
        return sum > std::max(tau, std::max(0.0, t.threshold));
    }
    // A hard cap: the expected margin for a sum over seen_here of n non-zeros. The expected rest is interpolated
    // between checkpoints.
    double capped(double sum, std::int64_t seen_here, std::int64_t n, const Target& t) const {
        const double at = static_cast<double>(seen_here) * kShares / static_cast<double>(n) - 1;
        const int e = std::clamp(static_cast<int>(at), 0, kShares - 3);
        const double share = std::clamp(at - e, 0.0, 1.0);
        return sum +
               (start[static_cast<std::size_t>(e)] * (1 - share) + start[static_cast<std::size_t>(e) + 1] * share) *
                   (t.scale / scale);
    }

private:
    void widen(std::int64_t n) {
        const std::int64_t wider = std::min(kLongest, std::max<std::int64_t>(2 * slot, round_up(n, 64)));
        std::vector<std::int32_t> f(length.size() * static_cast<std::size_t>(wider));
        std::vector<T> v(f.size());
        for (std::size_t i = 0; i < length.size(); ++i) {
            std::memcpy(&f[i * static_cast<std::size_t>(wider)], &features[i * static_cast<std::size_t>(slot)],
                        static_cast<std::size_t>(length[i]) * sizeof(std::int32_t));
            std::memcpy(&v[i * static_cast<std::size_t>(wider)], &values[i * static_cast<std::size_t>(slot)],
                        static_cast<std::size_t>(length[i]) * sizeof(T));
        }
        features = std::move(f);
        values = std::move(v);
        slot = wider;
    }
};

}  // namespace wald::online
