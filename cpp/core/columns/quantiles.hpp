// The share of a sample that lies below a number, by its quantiles: between two of them on a line, as NumPy computes
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace wald::columns {

// .5 * (interp(x, q, r) - interp(-x, -q reversed, -r reversed)) with the operations of NumPy's `interp`: where
// quantiles are repeated, the mean of the first and the last of them.
class Quantiles {
public:
    static constexpr std::size_t kLeast = 3;  // with fewer, NumPy interpolates in another way

    // quantiles: finite and ascending. references: as many finite numbers.
    Quantiles(std::span<const double> quantiles, std::span<const double> references)
        : q_(quantiles), r_(references), slopes_(q_.size()), first_(q_.size()), begin_(2 * q_.size() + 2) {
        const std::size_t n = q_.size();
        for (std::size_t j = 0; j + 1 < n; ++j) slopes_[j] = (r_[j + 1] - r_[j]) / (q_[j + 1] - q_[j]);
        for (std::size_t j = 1; j < n; ++j)
            first_[j] = q_[j] == q_[j - 1] ? first_[j - 1] : static_cast<std::int32_t>(j);
        const double range = q_[n - 1] - q_[0];
        scale_ = static_cast<double>(2 * n) / range;
        if (!std::isfinite(scale_)) scale_ = 0;  // one bucket holds all
        std::size_t j = 0;
        for (std::size_t b = 0; b < begin_.size(); ++b) {
            while (j < n && bucket(q_[j]) < b) ++j;
            begin_[b] = static_cast<std::int32_t>(j);
        }
    }

    // NaN where the slope has no finite value, and for NaN.
    double of(double x) const {
        const std::size_t n = q_.size();
        if (!(x >= q_[0])) return x < q_[0] ? mean(r_[0], -r_[0]) : std::numeric_limits<double>::quiet_NaN();
        if (x > q_[n - 1]) return mean(r_[n - 1], -r_[n - 1]);
        // the last quantile that is not above x
        const std::size_t b = bucket(x);
        std::size_t low = static_cast<std::size_t>(begin_[b]), some = static_cast<std::size_t>(begin_[b + 1]) - low;
        while (some > 0) {
            const std::size_t half = some / 2;
            const bool above = q_[low + half] <= x;
            low = above ? low + half + 1 : low;
            some = above ? some - half - 1 : half;
        }
        const std::size_t j = low - 1;
        if (q_[j] == x) return mean(r_[j], -r_[static_cast<std::size_t>(first_[j])]);
        return mean(slopes_[j] * (x - q_[j]) + r_[j], slopes_[j] * (q_[j + 1] - x) - r_[j + 1]);
    }

private:
    // Quantiles of a smaller bucket are below a number of this one, since this never falls as x rises.
    std::size_t bucket(double x) const {
        return std::min(static_cast<std::size_t>((x - q_[0]) * scale_), 2 * q_.size());
    }
    static double mean(double up, double down) { return 0.5 * (up - down); }

    std::span<const double> q_, r_;
    std::vector<double> slopes_;       // from each quantile to the next
    std::vector<std::int32_t> first_;  // of the quantiles that equal each
    std::vector<std::int32_t> begin_;  // number of quantiles in smaller buckets
    double scale_ = 0;
};

}  // namespace wald::columns
