// Validity of the formulas of constant boundaries, and their clamping outside of it.
#pragma once

#include <algorithm>

#include "online/config.hpp"

namespace wald::online {

// Level of equation (4) for a label-signed sum that ends at `middle` on average, with standard deviation `sigma`: by
// the formula, and the least level for which the formula holds. A lower level would stop rows before the first
// checkpoint.
struct Reflection {
    double formula, least;

    Reflection(const Config& c, double at, double middle, double sigma, double width)
        : formula(0.5 * (at - middle + width * sigma)),
          least(std::max(0.0, c.attention == Attention::centred ? at - middle : at)) {}
    double level() const { return std::max(formula, least); }
    bool moved() const { return formula < least; }
};

// State of a constant boundary: its formula holds; there is no level, because the spread is 0; or the level was clamped
// to where the formula holds, so that most rows of the class stop at once (at_once) or hardly any row stops (seldom).
enum class Range : std::uint8_t { holds, no_spread, at_once, seldom };
inline Range range_of(const Config& c, double at, double middle, double sigma, double width) {
    if (!(sigma > 0)) return Range::no_spread;
    if (c.attention == Attention::bridge || !Reflection(c, at, middle, sigma, width).moved()) return Range::holds;
    return c.attention == Attention::centred && middle < at ? Range::seldom : Range::at_once;
}

}  // namespace wald::online
