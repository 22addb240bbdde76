// What a learner is given, and what its audits found.
#pragma once

#include <stdexcept>

#include "online/sparse_boundary.hpp"

namespace wald::online {

struct Labels {
    const std::uint8_t* positive;     // of rows: 0 or 1
    const double* weights;            // of rows, or null
    double class_weight[2];           // of the negative and the positive class
    std::uint8_t* settled = nullptr;  // of rows: no update when they were last read; or null
    bool skips_settled = false;
    bool of(std::int64_t r) const { return positive[r] != 0; }
    // A row of weight 0 is passed over.
    double weight(std::int64_t r) const {
        if (skips_settled && settled[r]) return 0;
        return (weights != nullptr ? weights[r] : 1.0) * class_weight[of(r)];
    }
    void note(std::int64_t r, bool needed) const {
        if (settled != nullptr) settled[r] = !needed;
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

// What audits found: rows that called for an update, that the boundary would have stopped, both, and all.
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
