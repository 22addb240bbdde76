// The largest absolute value in some rows, computed in one scan of memory. Rounding error bounds need it.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/cascade/kernels.hpp"
#include "core/models/rows.hpp"
#include "core/thread_pool.hpp"

namespace wald {

namespace magnitude {

// The maximum of two numbers; propagates NaN.
inline double larger(double one, double other) { return other > one || std::isnan(other) ? other : one; }

template <class T>
double largest(const std::byte* data, std::int64_t n, std::int64_t stride) {
    if (stride == static_cast<std::int64_t>(sizeof(T)))
        return kernels<T>().largest(reinterpret_cast<const T*>(data), n);
    double most = 0;
    for (std::int64_t i = 0; i < n; ++i)
        most = larger(most, std::fabs(static_cast<double>(loaded<T>(data + i * stride))));
    return most;
}

inline double largest(const std::byte* data, std::int64_t n, std::int64_t stride, Dtype dtype) {
    switch (dtype) {
        case Dtype::f32: return largest<float>(data, n, stride);
        case Dtype::f64: return largest<double>(data, n, stride);
        default: return n > 0 ? 255.0 : 0.0;  // a closer bound is not worth a scan of memory
    }
}

}  // namespace magnitude

// The largest absolute value; infinity or NaN if one is there. Bytes count as 255. The rows must be complete: no subset
// of ids, no missing columns.
inline double largest_magnitude(const Rows& rows, int n_threads) {
    constexpr std::int64_t kPiece = 1 << 18;  // values per piece
    const std::int64_t bytes = rows.element_bytes();
    std::int64_t n_lines = rows.n_columns, length = rows.n_rows;
    std::function<Column(std::int64_t)> line = [&](std::int64_t f) { return rows.column(f); };
    if (rows.layout == Rows::Layout::csr) {
        n_lines = 1;
        length = rows.indptr[rows.n_rows] - rows.indptr[0];
        line = [&](std::int64_t) { return Column{rows.data + rows.indptr[0] * bytes, bytes, rows.dtype}; };
    } else if (rows.layout == Rows::Layout::dense) {
        const bool by_rows = rows.column_stride == bytes, by_columns = rows.row_stride == bytes;
        if ((by_rows && rows.row_stride == rows.n_columns * bytes) ||
            (by_columns && rows.column_stride == rows.n_rows * bytes)) {
            n_lines = 1;
            length = rows.n_rows * rows.n_columns;
            line = [&](std::int64_t) { return Column{rows.data, bytes, rows.dtype}; };
        } else if (!by_columns) {
            n_lines = rows.n_rows;
            length = rows.n_columns;
            line = [&](std::int64_t r) { return Column{rows.row(r), rows.column_stride, rows.dtype}; };
        }
    }
    if (n_lines == 0 || length == 0) return 0;
    // A piece is a part of one long line, or several short lines.
    const std::int64_t parts = (length + kPiece - 1) / kPiece;
    const std::int64_t together = parts > 1 ? 1 : std::max<std::int64_t>(1, kPiece / length);
    const std::int64_t n_pieces = parts > 1 ? n_lines * parts : (n_lines + together - 1) / together;
    std::vector<double> most(std::max(1, n_threads), 0.0);
    parallel_for(n_pieces, n_threads, [&](std::int64_t i, int worker) {
        const std::int64_t first = parts > 1 ? i / parts : i * together;
        const std::int64_t begin = parts > 1 ? i % parts * kPiece : 0;
        for (std::int64_t l = first; l < std::min(n_lines, first + together); ++l) {
            const Column c = line(l);
            const std::int64_t n = std::min(kPiece, length - begin);
            most[worker] =
                magnitude::larger(most[worker], magnitude::largest(c.data + begin * c.stride, n, c.stride, c.dtype));
        }
    });
    double all = 0;
    for (double m : most) all = magnitude::larger(all, m);
    return all;
}

}  // namespace wald
