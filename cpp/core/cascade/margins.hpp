// One score whose estimates leave by their margin: how far the score may move before the answer is another one.
#pragma once

#include <cstdint>

namespace wald {

// What the margin of an estimate z is: the distance to the nearest threshold, or how far the score may move until its
// value is off by more than a tolerance. The value is the score itself, with a tolerance that is `constant` or
// `relative` to it, or exp(z), or 1 / (1 + exp(-slope * z - offset)); of the two sides of z, the narrower one counts.
// `softmax` is for several scores, each of which has a value.
enum class MarginKind : std::uint8_t { bands, none, constant, relative, exp, logistic, softmax };

// Plain pointers: kernels read it. A score above `edges[j]`, and no other one, lies beyond threshold j.
template <class T>
struct MarginView {
    MarginKind kind;
    T tolerance, slope, offset;
    const T *thresholds, *edges;
    int n_thresholds;
};

}  // namespace wald
