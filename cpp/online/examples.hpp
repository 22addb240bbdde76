// Inputs of a learner (labels, weights, blocks of rows), and counts of what its audits found.
#pragma once

#include <stdexcept>

#include "online/sparse_boundary.hpp"

namespace wald::online {

struct Labels {
    const std::uint8_t* positive;       // per row: 0 or 1
    const double* weights;              // per row, or null
    double class_weight[2];             // for the negative and the positive class
    std::uint8_t* unchanged = nullptr;  // per row: 1 if it needed no update when last read; or null
    bool skips_unchanged = false;
    bool is_positive(std::int64_t r) const { return positive[r] != 0; }
    // A row of weight 0 is skipped.
    double weight(std::int64_t r) const {
        if (skips_unchanged && unchanged[r]) return 0;
        return (weights != nullptr ? weights[r] : 1.0) * class_weight[is_positive(r)];
    }
    void note(std::int64_t r, bool needed) const {
        if (unchanged != nullptr) unchanged[r] = !needed;
    }
};

template <class T>
struct DenseBlock {
    const T* data;
    std::int64_t n_rows, stride;  // in elements
};

template <class T>
struct SparseBlock {
    const T* values;
    const std::int32_t* features;
    const std::int64_t* indptr;
    std::int64_t n_rows;
    SparseRow<T> row(std::int64_t r) const {
        return {features + indptr[r], values + indptr[r], indptr[r + 1] - indptr[r]};
    }
};

// Counts of audited rows: all, rows that the boundary would have stopped, rows that needed an update, and both (wrong
// stops).
struct Counts {
    std::int64_t rows = 0, stopped = 0, needed = 0, wrong = 0;
    void add(bool stop, bool need) {
        ++rows;
        stopped += stop;
        needed += need;
        wrong += stop && need;
    }
};

struct NotFinite : std::runtime_error {
    std::int64_t row;
    explicit NotFinite(std::int64_t r) : std::runtime_error("not finite"), row(r) {}
};

}  // namespace wald::online
