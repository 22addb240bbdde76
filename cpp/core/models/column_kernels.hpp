// The function of one raw column, and the loops over columns that each instruction set fills in. Products are rounded
// before they are added, so that a sum has the same bits with every instruction set.
#pragma once

#include <cmath>
#include <type_traits>

#include "core/common.hpp"

namespace wald {

// A column of states has a table with a row for each state, and one more row of NaN for what is no state. A column of
// numbers has a table of two rows: the weights, and the values at NaN. A row has an entry for each output, and is
// padded to `width` entries. NaN stands for what the wrapped model refuses.
struct ColumnTerm {
    std::int32_t n_states = 0;      // 0: numbers
    const double* table = nullptr;  // with one output, the table of states has at least 256 rows
    const double* sizes = nullptr;  // for each row of the table, the bound of what the wrapped model adds up
};

// The state in a cell, or n for what is no state. Always inlined: see cut_evenly.
template <class S>
[[gnu::always_inline]] inline std::int32_t state_of(S x, std::int32_t n) {
    if constexpr (std::is_integral_v<S>) {
        return x < n ? x : n;
    } else {
        const bool inside = x >= S(0) && x < static_cast<S>(n);
        const auto state = static_cast<std::int32_t>(inside ? x : S(0));
        return inside && static_cast<S>(state) == x ? state : n;
    }
}

// Kernels for contiguous cells of type S. Whole panels of scores, sizes and values are read and written.
template <class S>
struct ColumnTermKernels {
    // One output: scores[i] += f(x[i]) and sizes[i] += its bound, for n rows. Prefetches, from `ahead` on, `step` bytes
    // for each row.
    void (*add)(const ColumnTerm& term, const S* x, int n, const std::byte* ahead, std::int64_t step, double* scores,
                double* sizes);
    // Several outputs: the scores of a row are `width` apart, whole panels.
    void (*add_wide)(const ColumnTerm& term, int width, const S* x, int n, const std::byte* ahead, std::int64_t step,
                     double* scores, double* sizes);
    // One output: values[i] = f(x[i]).
    void (*values)(const ColumnTerm& term, const S* x, int n, double* values);
};

template <class S>
const ColumnTermKernels<S>& column_term_kernels();

// The bound of a row's error: `share` of the magnitudes that are added up, and at least `least`, which is near the
// smallest number; unbounded where these exceed `most`.
struct ColumnErrors {
    double bias, share, most, least;

    double of(double magnitude) const {
        const double size = magnitude + bias;
        const double product = size * share + least;
        return size == 0 ? 0 : size <= most ? product : HUGE_VAL;
    }
};
// sizes[i] = errors.of(sizes[i]) for n rows; whole panels are read and written.
using ColumnErrorsKernel = void (*)(const ColumnErrors& errors, int n, double* sizes);
ColumnErrorsKernel column_errors_kernel();

}  // namespace wald
