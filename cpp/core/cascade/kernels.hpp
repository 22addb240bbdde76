// The hot loops of the cascade, as a table of functions that each instruction set fills in. The interface uses plain
// arrays and pointers only: a template of the standard library instantiated in a kernel file could be compiled for
// AVX-512 and then linked for every machine.
// Sums have one fixed order per instruction set. A dot product is kChains chains of multiply-adds, added from left to
// right. In a sparse row, each chain is an equal part of the list of non-zeros. In any other row, each chain is a
// contiguous segment of features; its zeros may be skipped, since fma(0, s, acc) = acc.
#pragma once

#include "core/cascade/ledger.hpp"
#include "core/cascade/margins.hpp"
#include "core/common.hpp"

namespace wald {

inline constexpr int kChains = 4;
inline constexpr int kSumPanels = 4;  // chains of panels in which weighted values are summed
inline constexpr double kLog2E = 1.4426950408889634074;

enum class Activation : std::uint8_t { rbf, poly, sigmoid };

struct KernelParams {
    Activation activation = Activation::rbf;
    double gamma = 1.0, coef0 = 0.0;
    int degree = 3;
};

// Ends of the chains of a list of n non-zeros. Always inlined: an out-of-line copy could be compiled for AVX-512 and
// then linked for every machine.
[[gnu::always_inline]] inline void cut_evenly(std::int32_t n, std::int32_t* ends) {
    for (int s = 0; s <= kChains; ++s) ends[s] = static_cast<std::int32_t>(std::int64_t{n} * s / kChains);
}

// A row ready for dot products: dense, or as a list of its non-zeros.
template <class T>
struct PreparedRow {
    const T* dense = nullptr;  // null: use the list
    const T* values = nullptr;
    const std::int32_t* features = nullptr;     // columns of the non-zeros, ascending
    std::int32_t chain_ends[kChains + 1] = {};  // positions in the list; [0] = 0
    T norm2 = 0;
};

// Support vectors, interleaved: [panel][feature][lane].
template <class T>
struct Panels {
    const T* data = nullptr;
    const float* narrow = nullptr;  // if not null, replaces data: the same numbers in panels of float
    std::int64_t n_features = 0;
    int n_panels = 0;
    std::int64_t segments[kChains + 1] = {};  // the features between two entries are a chain of dense rows
    const std::int32_t* frequent = nullptr;   // features that are non-zero in many vectors, ascending
    int n_frequent = 0;
    const T* offset = nullptr;                 // [panel][lane]: -gamma log2(e) |s|^2 (rbf)
    const T* linear = nullptr;                 // [panel][lane]: 1 where the lane is the plain dot product
    const std::uint8_t* has_linear = nullptr;  // [panel]
};

// Kernels for contiguous columns of type S; `first` is the row at which all of them start.
template <class T, class S>
struct ColumnKernels {
    // One output for n_rows neighbouring rows, with the same chain of operations for each row:
    // out[r] = bias, then += columns[k][first + r] * weights[k * step] for k < n_columns. The previous stage has
    // prefetched the first n_prefetched columns; the others are prefetched a little ahead. For the next stage, the same
    // rows of columns [n_columns, prefetch_end) are prefetched.
    void (*scores)(const S* const* columns, std::int64_t first, const T* weights, std::int64_t step, int n_prefetched,
                   int n_columns, int prefetch_end, T bias, int n_rows, T* out);
    // out[k * stride + i] = columns[k][first + rows[i]] for k < m; the last panel is padded with zeros. Prefetches a
    // little ahead, up to column prefetch_end.
    void (*gather)(const S* const* columns, std::int64_t first, int m, int prefetch_end, const std::int32_t* rows,
                   int n, T* out, std::int64_t stride);
};

// Arguments of the sparse-row path of the first stage: n_panels panels of kernel values and their readout.
template <class T>
struct SparseFirstStage {
    const KernelParams* params;
    const Panels<T>* panels;
    int n_panels;
    const T* weights;  // n_panels panels
    T bias;
    std::int64_t n_features;
    std::int32_t max_listed;  // rows with more non-zeros get NaN
    T* values;                // scratch: a row and a panel
    std::int32_t* features;   // scratch: a row and a panel
    T* slot;                  // scratch: n_panels panels
};

// Kernels for contiguous rows of type S.
template <class T, class S>
struct RowKernels {
    // Writes the non-zeros and their number, and returns the squared norm, with the same sum as `scan`. `values` and
    // `features` have room for one panel more than the row. Prefetches the n values at `ahead` on the way.
    T (*list)(const S* x, std::int64_t n, const S* ahead, T* values, std::int32_t* features, std::int32_t* listed);
    // Estimates of n rows, bit-identical to those of a batch; NaN for rows that have too many non-zeros or are not
    // finite.
    void (*sparse_first_stage)(const SparseFirstStage<T>& task, const void* const* rows, int n, T* z);
    // Writes n values as T, with zeros up to a whole panel, and returns `absolute` of them.
    T (*widen)(const S* x, std::int64_t n, const T* weights, T* values);
    // `widen` of rows of n values, whose results are `sizes`, and `readout` of their values for each output, whose
    // weights are `step` apart. Rows of more than kSumPanels panels have one output.
    void (*score_rows)(const void* const* rows, int n_rows, std::int64_t n, const T* weights, std::int64_t step,
                       int n_outputs, const T* magnitude, T* scores, T* sizes);
};

template <class T>
struct Kernels {
    // Squared norm of n contiguous values, and the number of non-zeros.
    T (*scan)(const T* x, std::int64_t n, std::int64_t* nonzeros);
    // The largest absolute value of n contiguous values; infinity or NaN if one is there.
    T (*largest)(const T* x, std::int64_t n);
    // Whether one of n contiguous values lies outside of its range, or of the one range of all of them. NaN does,
    // unless it is allowed; the bounds are numbers.
    bool (*any_outside)(const T* x, std::int64_t n, const T* low, const T* high, bool allow_nan);
    bool (*any_outside_one)(const T* x, std::int64_t n, T low, T high, bool allow_nan);
    RowKernels<T, float> rows_f32;
    RowKernels<T, double> rows_f64;
    RowKernels<T, std::uint8_t> rows_u8;
    // Dot products of panels [first, last) with n rows, into slots[r] + panel * lanes. All rows are dense, or all are
    // lists.
    void (*dots_dense)(const Panels<T>&, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                       int n);
    void (*dots_sparse)(const Panels<T>&, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                        int n);
    // Turns the dot products of a row, whose squared norm is `norm2`, into kernel values.
    void (*activate)(const KernelParams&, const Panels<T>&, int first, int last, T norm2, T* slot);
    // The same for n dense rows, with one output, whose weighted values are added at once: to the kSumPanels chains of
    // panels that begin at sums[r * 2 * kSumPanels * lanes], and |values| * largest to the kSumPanels that follow.
    void (*add_values)(const KernelParams&, const Panels<T>&, int first, int last, const PreparedRow<T>* const* rows,
                       int n, const T* weights, const T* largest, T* sums);
    // The sum of kSumPanels chains. Of those of all panels it is `readout`, and `absolute`.
    T (*chains_sum)(const T* chains);
    // sum of slot * weights over n_panels panels, one output
    T (*readout)(const T* slot, const T* weights, int n_panels);
    // sum of |slot| * weights
    T (*absolute)(const T* slot, const T* weights, int n_panels);
    // sums[i] += values[k] * weights[k * n_panels * lanes + i] for k < n, in that order, over n_panels panels of sums
    void (*accumulate)(T* sums, const T* weights, int n_panels, const T* values, int n);
    ColumnKernels<T, float> columns_f32;
    ColumnKernels<T, double> columns_f64;
    // Adds m gathered columns to n_stages sums of n rows, with the chain of `accumulate` for each sum:
    // sums[t * stride + r] += values[k * stride + r] * weights[k * step + t] for k < m, in that order, for whole panels
    // of rows.
    void (*add_columns)(const T* values, std::int64_t stride, int m, int n, const T* weights, std::int64_t step,
                        int n_stages, T* sums);
    // Decides the pending ones of n rows: an estimate above `high` gives the code 1, below `low` the code 0, and one
    // that is not finite gives none. Writes the indices of the rows that stay pending to `left`, ascending, and returns
    // their number. Where z is the margin of an estimate, `last` receives the estimates with which rows leave; else
    // both are null.
    int (*decide)(const T* z, int n, T low, T high, std::int32_t stage, const Ledger& ledger, std::int32_t* left,
                  const T* estimates, T* last);
    // Margins of n estimates of one score: finite, or NaN where an estimate is not finite. `variances` is null, or each
    // margin is divided by the square root of the row's variance, which is at least `least`, and 0 where that is NaN.
    void (*margins)(const MarginView<T>& rule, const T* z, const T* variances, T least, int n, T* margins);
    // The bands in which n estimates lie; 0 for values.
    void (*bands)(const MarginView<T>& rule, const T* z, int n, std::int32_t* codes);
    // What `Decision::decide_sign` says of n full scores, each within errors[i] + margin of the wrapped model's own:
    // codes and statuses. Whole panels of scores and errors are read.
    void (*decide_signs)(const T* scores, const T* errors, int n, T margin, T threshold, bool tie_positive,
                         std::int32_t* codes, Status* status);
    // `readout` of n_rows rows, row_step apart, with the weights of each output, step apart: out[row][output], with the
    // same bits. `sums` has room for two panels for each of them.
    void (*products)(const T* x, std::int64_t row_step, int n_rows, const T* weights, std::int64_t step, int n_panels,
                     int n_outputs, T* sums, T* out);
    // n_outputs (a multiple of lanes) outputs: out = bias + sum_j slot[j] * weights[j * n_outputs], in the order of j
    void (*readouts)(const T* const* slots, int n, const T* weights, const T* bias, int n_terms, int n_outputs,
                     T* const* out);
    // `accumulate` for several rows at once, each with sums and values of its own
    void (*accumulate_rows)(T* const* sums, const T* weights, int n_panels, const T* const* values, int n, int n_rows);
    bool fused;  // true if multiply-adds are fused: products are not rounded before they are added
};

template <class T>
const Kernels<T>& kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald
