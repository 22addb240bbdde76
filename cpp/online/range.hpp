// The range of the formulas of constant boundaries: what becomes of one that is asked outside it.
#pragma once

#include <algorithm>

#include "online/config.hpp"

namespace wald::online {

// Level of equation (4) for a label-signed walk that ends at `middle` on average, with spread `sigma`: as the formula
// has it, and the least for which the formula holds. Below that it says to stop before looking.
struct Reflection {
    double formula, least;

    Reflection(const Config& c, double at, double middle, double sigma, double width)
        : formula(0.5 * (at - middle + width * sigma)),
          least(std::max(0.0, c.attention == Attention::centred ? at - middle : at)) {}
    double level() const { return std::max(formula, least); }
    bool moved() const { return formula < least; }
};

// What becomes of a constant boundary's formula: it holds; it knows no level for lack of spread; its level was moved to
// where it holds, which most walks of the class pass at once, or hardly any.
enum class Range : std::uint8_t { holds, no_spread, at_once, seldom };
inline Range range_of(const Config& c, double at, double middle, double sigma, double width) {
    if (!(sigma > 0)) return Range::no_spread;
    if (c.attention == Attention::bridge || !Reflection(c, at, middle, sigma, width).moved()) return Range::holds;
    return c.attention == Attention::centred && middle < at ? Range::seldom : Range::at_once;
}

}  // namespace wald::online
