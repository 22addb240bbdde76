// The hot loops of chains of labels, as a table of functions that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

struct ChainKernels {
    // One step of a max-plus product: out[k] = max over p < n of alpha[p] + steps[p * n_panels * lanes + k].
    void (*max_plus)(const float* alpha, const float* steps, int n, int n_panels, float* out);
    // sums[i] += values[k] * weights[k * n_panels * lanes + i] for k < n, in that order, over n_panels panels of sums
    void (*accumulate)(float* sums, const float* weights, int n_panels, const float* values, int n);
    // sums[i] += values[k] * weights[rows[k] * n_panels * lanes + i] for k < n, in that order
    void (*accumulate_chosen)(float* sums, const float* weights, int n_panels, const float* values,
                              const std::int32_t* rows, int n);
    // As `accumulate`, for several rows at once, each with sums and values of its own.
    void (*accumulate_rows)(float* const* sums, const float* weights, int n_panels, const float* const* values, int n,
                            int n_rows);
};

const ChainKernels& chain_kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald
