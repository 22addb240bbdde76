// The hot loops, as a table of functions that each instruction set fills in. Plain arrays and pointers only: a template
// of the standard library that is instantiated here could be compiled for AVX-512 and then linked for everybody.
//
// Sums have one fixed order per instruction set. A dot product is kChains chains of multiply-adds, added from left to
// right: of a row of few non-zeros, each an equal part of the list of these; of any other row, each a contiguous
// segment of features, whose zeros may be skipped, since fma(0, s, acc) = acc.
#pragma once

#include "core/common.hpp"

namespace wald {

inline constexpr int kChains = 4;

enum class Activation : std::uint8_t { rbf, poly, sigmoid };

struct KernelParams {
    Activation activation = Activation::rbf;
    double gamma = 1.0, coef0 = 0.0;
    int degree = 3;
};

// Where each chain of a list of n non-zeros ends. Always in line: a copy of its own could be compiled for AVX-512 and
// then linked for everybody.
[[gnu::always_inline]] inline void cut_evenly(std::int32_t n, std::int32_t* ends) {
    for (int s = 0; s <= kChains; ++s) ends[s] = static_cast<std::int32_t>(std::int64_t{n} * s / kChains);
}

// A row ready for dot products: dense, or as a list of its non-zeros.
template <class T>
struct PreparedRow {
    const T* dense = nullptr;  // null: use the list
    const T* values = nullptr;
    const std::int32_t* features = nullptr;     // of the non-zeros, ascending
    std::int32_t chain_ends[kChains + 1] = {};  // in the list; [0] = 0
    T norm2 = 0;
};

// Vectors to compare rows with, interleaved: [panel][feature][lane].
template <class T>
struct Panels {
    const T* data = nullptr;
    const float* narrow = nullptr;  // instead of data: the same numbers in panels of float
    std::int64_t n_features = 0;
    int n_panels = 0;
    std::int64_t segments[kChains + 1] = {};
    const std::int32_t* frequent = nullptr;  // features that many of the vectors have, ascending
    int n_frequent = 0;
    const T* offset = nullptr;                 // [panel][lane]: -gamma |s|^2 (rbf)
    const T* linear = nullptr;                 // [panel][lane]: 1 where the lane is the plain dot product
    const std::uint8_t* has_linear = nullptr;  // [panel]
};

// Columns of S that lie in memory one value behind the other; `first` is the row at which all of them are entered.
template <class T, class S>
struct ColumnKernels {
    // One output for n_rows neighbouring rows, the same chain of operations for each row:
    // out[r] = bias, then += columns[k][first + r] * weights[k * step] for k < n_columns. The first n_asked columns
    // were asked for by the look before; memory is asked for the others a little ahead, and for the same rows of the
    // columns from there to n_known.
    void (*scores)(const S* const* columns, std::int64_t first, const T* weights, std::int64_t step, int n_asked,
                   int n_columns, int n_known, T bias, int n_rows, T* out);
    // out[k * stride + i] = columns[k][first + rows[i]] for k < m; the last panel is filled up with zeros. Memory is
    // asked a little ahead, in the first n_known columns.
    void (*gather)(const S* const* columns, std::int64_t first, int m, int n_known, const std::int32_t* rows, int n,
                   T* out, std::int64_t stride);
};

// A first look at rows one by one: n_panels panels of kernel values, read out.
template <class T>
struct Glance {
    const KernelParams* params;
    const Panels<T>* panels;
    int n_panels;
    const T* weights;  // of n_panels panels
    T bias;
    std::int64_t n_features;
    std::int32_t most_listed;  // non-zeros of a row that is looked at
    T* values;                 // scratch: a row and a panel
    std::int32_t* features;    // the same
    T* slot;                   // scratch: n_panels panels
};

// Rows of S that lie in memory one value behind the other.
template <class T, class S>
struct RowKernels {
    // Lists the non-zeros, how many they are, and returns the squared norm, as `scan` does. `values` and `features`
    // have room for one panel more than the row. Memory is asked on the way for the n values at `ahead`.
    T (*list)(const S* x, std::int64_t n, const S* ahead, T* values, std::int32_t* features, std::int32_t* listed);
    // The estimates of n rows, exactly as a batch comes to them; NaN for rows that have too many non-zeros or are not
    // finite.
    void (*glance)(const Glance<T>& g, const void* const* rows, int n, T* z);
};

template <class T>
struct Kernels {
    // Squared norm of n contiguous values, and the number of non-zeros.
    T (*scan)(const T* x, std::int64_t n, std::int64_t* nonzeros);
    // The largest absolute value of n contiguous values; infinity or NaN if one is there.
    T (*largest)(const T* x, std::int64_t n);
    RowKernels<T, float> rows_f32;
    RowKernels<T, double> rows_f64;
    RowKernels<T, std::uint8_t> rows_u8;
    // Kernel values of panels [first, last) for rows that are all dense, or each a list, into slots[r] + panel * lanes.
    void (*dots_dense)(const Panels<T>&, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                       int n);
    void (*dots_sparse)(const Panels<T>&, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                        int n);
    void (*activate)(const KernelParams&, const Panels<T>&, int first, int last, T norm2, T* slot);
    // sum over n_panels of slot * weights, one output
    T (*readout)(const T* slot, const T* weights, int n_panels);
    // sum over |slot * weights|
    T (*absolute)(const T* slot, const T* weights, int n_panels);
    // sums[i] += values[k] * weights[k * n_panels * lanes + i] for k < n, in that order, over n_panels panels of sums
    void (*accumulate)(T* sums, const T* weights, int n_panels, const T* values, int n);
    ColumnKernels<T, float> columns_f32;
    ColumnKernels<T, double> columns_f64;
    // Adds m gathered columns to n_looks sums of n rows, the chain of `accumulate` for each:
    // sums[t * stride + r] += values[k * stride + r] * weights[k * step + t] for k < m, in that order. Whole panels of
    // rows.
    void (*add_columns)(const T* values, std::int64_t stride, int m, int n, const T* weights, std::int64_t step,
                        int n_looks, T* sums);
    // What n estimates settle, of rows whose code is kPending: those above `high` get the code 1, those below `low` 0,
    // those that are not finite kNotFinite, all of them `look` as their stage. The numbers of the rows that stay
    // pending go to `left`, ascending; how many they are is returned.
    int (*settle)(const T* z, int n, T low, T high, std::int32_t look, std::int32_t* codes, std::int32_t* stages,
                  std::int32_t* left);
    // n_outputs (a multiple of lanes) outputs: out = bias + sum_j slot[j] * weights[j * n_outputs]
    void (*readouts)(const T* const* slots, int n, const T* weights, const T* bias, int n_terms, int n_outputs,
                     T* const* out);
    // The same for several rows at once, each with sums and values of its own.
    void (*accumulate_rows)(T* const* sums, const T* weights, int n_panels, const T* const* values, int n, int n_rows);
    bool fused;  // products are not rounded before they are added
};

template <class T>
const Kernels<T>& kernels();  // of the instruction set in use; see isa/dispatch.cpp

}  // namespace wald
