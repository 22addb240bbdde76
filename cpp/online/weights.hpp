// The weights of a linear model, their average over time, and the update rules.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "online/config.hpp"
#include "online/kernels.hpp"

namespace wald::online {

// A margin below `at` (perceptron: not above it) requires an update. Pegasos keeps u = sum of y x over the margin
// violations. Its weights are u / (lambda t), so that u need not shrink in steps without an update.
struct Target {
    double threshold;  // for margins
    double scale;      // the margins of w grow in proportion to this between updates
};

inline Target target(const Config& c, std::int64_t step) {
    switch (c.rule) {
        case Rule::perceptron: return {0, 1};
        case Rule::pegasos: {
            const double s = c.rate * static_cast<double>(step);
            return {s, s};
        }
        case Rule::logistic: return {std::log((1 - c.negligible) / c.negligible), 1};
        case Rule::exponential: return {-std::log(c.negligible), 1};
        default: return {1, 1};
    }
}

// True if a full margin requires an update.
inline bool needed(const Config& c, double margin, std::int64_t step) {
    const double threshold = target(c, step).threshold;
    if (c.rule == Rule::perceptron) return margin <= threshold;
    return margin < threshold || (c.rule == Rule::pegasos && step == 0);
}

// The factor of y x in a required update. Row weights multiply it.
inline double length(const Config& c, double margin, double squared_norm) {
    switch (c.rule) {
        case Rule::perceptron: return c.rate;
        case Rule::pegasos: return 1;
        case Rule::logistic: return c.rate / (1 + std::exp(margin));
        case Rule::exponential: return c.rate * std::exp(-std::max(margin, 0.0));
        case Rule::pa2: return (1 - margin) / (squared_norm + 0.5 / c.rate);
        default: break;
    }
    if (!(squared_norm > 0)) return 0;
    const double exact = (1 - margin) / squared_norm;
    return c.rule == Rule::pa1 && exact > c.rate ? c.rate : exact;
}

inline double loss(const Config& c, double margin, std::int64_t step) {
    const Target t = target(c, step);
    const double short_of = t.threshold - margin;
    if (!(short_of > 0)) return 0;
    if (c.rule == Rule::logistic) return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    if (c.rule == Rule::exponential) return margin > 0 ? std::exp(-margin) : 1 - margin;
    return c.rule == Rule::pegasos ? (t.scale > 0 ? short_of / t.scale : 1) : short_of;
}

template <class T>
struct Weights {
    LineVector<T> w;          // padded to whole registers
    LineVector<double> late;  // sum of (clock at the update) * (update); the average is w - late / clock
    double b = 0, late_b = 0;
    double clock = 0;  // number of steps in the average

    Weights(std::int64_t n_features, bool average)
        : w(static_cast<std::size_t>(round_up(n_features, kLanes<T>))), late(average ? w.size() : 0) {}

    // Ends a step, counted from 0.
    void tick(const Config& c, std::int64_t step) { clock += step + 1 >= c.average_from; }
    void add(const Config& c, double a, const T* x) {
        const OnlineKernels<T>& k = online_kernels<T>();
        k.add(w.data(), static_cast<T>(a), x, c.n_features);
        if (!late.empty() && clock > 0) k.add_f64(late.data(), clock * a, x, c.n_features);
        add_intercept(c, a);
    }
    void add(const Config& c, double a, const std::int32_t* features, const T* values, std::int64_t n) {
        const T factor = static_cast<T>(a);
        const double late_factor = clock * a;
        T* const to = w.data();
        double* const late_to = late.data();
        if (late.empty() || clock == 0) {
            for (std::int64_t k = 0; k < n; ++k) to[features[k]] += factor * values[k];
        } else {
            // One loop for both arrays, so that their cache misses overlap.
            for (std::int64_t k = 0; k < n; ++k) {
                const std::int32_t j = features[k];
                const T value = values[k];
                to[j] += factor * value;
                late_to[j] += late_factor * static_cast<double>(value);
            }
        }
        add_intercept(c, a);
    }
    // The weights after `steps` rows, or their average over time; the plain weights before the average begins. Pegasos
    // weighs step t by t, which makes the average a plain sum of u: early steps are long.
    void answer(const Config& c, std::int64_t steps, bool average, double* coef, double* intercept) const {
        const double n = static_cast<double>(steps);
        const double now = c.rule == Rule::pegasos ? 1 / (c.rate * n) : 1;
        const double mean = c.rule == Rule::pegasos ? 2 / (c.rate * clock * (2 * n - clock + 1)) : 1 / clock;
        average = average && clock > 0;
        auto value = [&](double at, double before) {
            return steps == 0 ? 0 : average ? (clock * at - before) * mean : at * now;
        };
        for (std::int64_t j = 0; j < c.n_features; ++j) coef[j] = value(w[j], average ? late[j] : 0);
        *intercept = value(b, late_b);
    }

private:
    void add_intercept(const Config& c, double a) {
        if (!c.intercept) return;
        b += a;
        late_b += clock * a;
    }
};

}  // namespace wald::online
