// Parameters of an online learner.
#pragma once

#include <cstdint>

#include "core/common.hpp"

namespace wald::online {

enum class Rule : std::uint8_t { perceptron, pa, pa1, pa2, pegasos, logistic, exponential };
enum class Attention : std::uint8_t { full, budgeted, centred, as_published, bridge, conditional };
enum class Order : std::uint8_t { random, weight, selected, cost };
enum class Variance : std::uint8_t { independent, empirical };
// The probability that `delta` bounds: stopped and wrong, among all rows (joint), among stopped rows (posterior), or
// among rows that need an update (conditional).
enum class Error : std::uint8_t { joint, posterior, conditional };

struct Config {
    std::int64_t n_features = 0;
    std::int64_t n_columns = 0;  // columns of dense rows: n_features, at least a register; padded with zeros
    Rule rule = Rule::perceptron;
    double rate = 1;  // eta0 (perceptron), C (passive-aggressive), lambda (Pegasos), length of updates (boosting)
    double negligible = 0.1;  // boosting: examples of a smaller importance do not count
    bool intercept = true;
    bool average = false;
    std::int64_t average_from = 0;  // first example of the average, counted from 1

    Attention attention = Attention::full;
    Order order = Order::selected;
    Variance variance = Variance::independent;
    Error error = Error::posterior;
    double width = 0;   // width of the boundary in standard deviations
    double target = 0;  // error rate that feedback aims at; 0: the width is constant
    double audit_rate = 0;
    std::int64_t budget = 0;
    std::int64_t warm_up = 64;     // rows of each class that are read in full before any is stopped
    std::int64_t ring = 160;       // audited rows kept per class
    std::int64_t unit = 0;         // features that are read together; 0: a cache line's worth or more
    std::int64_t line_offset = 0;  // bytes from the start of a line to the start of a row
    std::uint64_t seed = 0;
};

// Dense rows fill at least a register.
inline std::int64_t dense_columns(std::int64_t n_features, bool f32) {
    const std::int64_t lanes = f32 ? kLanes<float> : kLanes<double>;
    return n_features < lanes ? lanes : n_features;
}
inline bool is_passive(Rule rule) { return rule == Rule::pa || rule == Rule::pa1 || rule == Rule::pa2; }
inline double sign(bool positive) { return positive ? 1 : -1; }
// True if boundaries need the variance of every feature.
inline bool keeps_squares(const Config& c) {
    return c.order == Order::weight || (c.variance == Variance::independent && c.attention >= Attention::centred &&
                                        c.attention <= Attention::bridge);
}

}  // namespace wald::online
