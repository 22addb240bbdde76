// The B-splines of a column at a number, as SciPy computes them, and constant beyond the outer knots.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace wald::columns {

// All of `size()` splines of degree K at a number, by de Boor's recurrence in the operations and the order of SciPy's
// `BSpline`, whose coefficients are the unit vectors.
template <std::size_t K>
class Splines {
public:
    static_assert(K >= 1);
    static constexpr std::size_t kLeast = 2 * K + 2;  // knots

    // knots: at least kLeast finite ones that ascend.
    explicit Splines(std::span<const double> knots)
        : t_(knots), n_(knots.size() - K - 1), low_(t_[K]), high_(t_[n_]), at_low_(n_), at_high_(n_) {
        within(low_, at_low_.data());
        within(high_, at_high_.data());
    }
    std::size_t size() const { return n_; }

    // Writes size() numbers; zeros for NaN.
    template <class T>
    void write(double x, T* out) const {
        std::fill_n(out, n_, T{0});
        if (low_ <= x && x <= high_) within(x, out);
        else if (x < low_) std::copy_n(at_low_.begin(), K, out);
        else if (x > high_) std::copy_n(at_high_.end() - K, K, out + (n_ - K));
    }

private:
    // Adds to zeros the K + 1 splines that are not zero between the knots around x.
    template <class T>
    void within(double x, T* out) const {
        const std::size_t from = interval(x);
        const double* const t = t_.data() + from;
        std::array<double, K + 1> h{};
        h[0] = 1;
        raise<1>(t, x, h);
        T* const to = out + (from - K);
        for (std::size_t i = 0; i <= K; ++i) to[i] = static_cast<T>(0.0 + h[i]);
    }
    // From the splines of degree J - 1 to those of degree J, and on to K. SciPy's `h[i - 1] += ...` is here added to
    // what it has written to `h[i - 1]` just before.
    template <std::size_t J>
    static void raise(const double* t, double x, std::array<double, K + 1>& h) {
        double last = 0;
        for (std::size_t i = 1; i <= J; ++i) {
            const double above = t[i], below = *(t + i - J), width = above - below;
            if (width == 0) {
                h[i - 1] = last;
                last = 0;
                continue;
            }
            const double w = h[i - 1] / width;
            h[i - 1] = last + w * (above - x);
            last = w * (x - below);
        }
        h[J] = last;
        if constexpr (J < K) raise<J + 1>(t, x, h);
    }
    // The last knot from K to n - 1 that x reaches.
    std::size_t interval(double x) const {
        constexpr std::size_t kFew = 16;
        const std::size_t inner = n_ - 1 - K;
        const double* const first = t_.data() + K + 1;
        if (inner > kFew) return K + static_cast<std::size_t>(std::upper_bound(first, first + inner, x) - first);
        std::size_t found = K;
        for (std::size_t j = 0; j < inner; ++j) found += first[j] <= x;
        return found;
    }

    std::span<const double> t_;
    std::size_t n_;
    double low_, high_;
    std::vector<double> at_low_, at_high_;
};

}  // namespace wald::columns
