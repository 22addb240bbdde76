// What linear models of texts and of named values have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wald {

struct LinearSpec {
    std::int64_t n_columns = 0, n_outputs = 0;
    bool hashing = false, alternate_sign = true;
    bool single_sums = false;       // products and their sums are float32
    bool single_intercept = false;  // and so is the intercept
    std::span<const double> coef;   // [output][column]
    std::vector<double> intercept;
    // Unless the scores have the bits of the wrapped model, each is within roundings * (|values| * bound + bias) of it.
    bool same_bits = true;
    std::span<const double> bound;  // [output][column], or empty: the absolute values of coef
    double bias = 0;
};

}  // namespace wald
