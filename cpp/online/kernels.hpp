// The hot loops of online learning, as a table of functions that each instruction set fills in. Sums have one fixed
// order.
#pragma once

#include "core/common.hpp"

namespace wald {

// A weighted sum of some features of a row, in pieces of kLanes features, each read at its own offset in the row. Lanes
// that do not count have weight 0.
template <class T>
struct WeightedPieces {
    const T* weights = nullptr;             // [piece][lane]
    const std::int32_t* offsets = nullptr;  // [piece]
    int n_pieces = 0;
    T start = 0;
};

template <class T>
struct OnlineKernels {
    T (*dot)(const T* w, const T* x, std::int64_t n);
    // `dot` that also prefetches the n values at `next`, a little at a time.
    T (*dot_ahead)(const T* w, const T* x, std::int64_t n, const T* next);
    // w += a x, with w in T and in float64
    void (*add)(T* w, T a, const T* x, std::int64_t n);
    void (*add_f64)(double* w, double a, const T* x, std::int64_t n);
    // z[i] = checkpoints[i]->start + checkpoints[i]->weights . rows[i]
    void (*scores)(const WeightedPieces<T>* const* checkpoints, const T* const* rows, int n, T* z);
    // Adds the sums of units one by one, where unit u ends at piece ends[u]. Returns the first u < n_units - 1 with
    // start + sum - centre[u] > limit, or n_units - 1. Writes start + sum to `sum`.
    int (*walk)(const WeightedPieces<T>& pieces, const std::int32_t* ends, int n_units, const T* centre, T limit,
                const T* x, T* sum);
    // out[r * stride + p] = weights[p] . (row r at offsets[p]), for every piece p
    void (*piece_sums)(const WeightedPieces<T>& pieces, const T* const* rows, int n_rows, T* out, std::int64_t stride);
    // Upper triangle of G'G by blocks, for G of n rows and `width` columns (a multiple of lanes)
    void (*gram)(const T* g, int n, int width, T* out);
    // Checkpoints that share pieces: checkpoint i consists of the pieces 0 .. checkpoints[i].n_pieces - 1 of `weights`,
    // each multiplied by the next element of `factors`. Writes their weights to `out`, one checkpoint after the other,
    // and their weighted sums of `row`, whose pieces are contiguous, to `sums`.
    void (*fold)(const T* weights, const T* row, const T* factors, const WeightedPieces<T>* checkpoints,
                 int n_checkpoints, T* out, T* sums);
    T (*dot_sparse)(const T* w, const std::int32_t* features, const T* values, std::int64_t n);
    // votes[j] = 1 if x[features[j]] > thresholds[j], else -1; returns whether all these x are finite
    bool (*stumps)(const std::int32_t* features, const T* thresholds, int n, const T* x, T* votes);
};

template <class T>
const OnlineKernels<T>& online_kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald
