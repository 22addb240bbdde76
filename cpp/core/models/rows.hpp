// Views of rows in the caller's memory: strided arrays, separate columns, or CSR. Nothing is copied here.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "core/common.hpp"

namespace wald {

template <class S>
inline S loaded(const std::byte* p) {
    S v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
// Loads one element of any dtype.
template <class T>
inline T load_element(const std::byte* p, Dtype dtype) {
    switch (dtype) {
        case Dtype::f32: return static_cast<T>(loaded<float>(p));
        case Dtype::f64: return static_cast<T>(loaded<double>(p));
        default: return static_cast<T>(loaded<std::uint8_t>(p));
    }
}

// Calls use(value of the type of a dtype).
template <class Use>
inline auto with_type(Dtype dtype, const Use& use) {
    switch (dtype) {
        case Dtype::f32: return use(float{});
        case Dtype::f64: return use(double{});
        default: return use(std::uint8_t{});
    }
}

// Reads cells that lie in no array of such a dtype, when they are needed. Threads may share it.
class CellReader {
public:
    virtual ~CellReader() = default;
    // out[i] = the number in cell cells[i]
    virtual void read(const std::int64_t* cells, int n, double* out) const = 0;
    // out[i] = the number in cell first + i
    virtual void read_run(std::int64_t first, int n, double* out) const {
        constexpr int kSome = 256;
        std::int64_t cells[kSome];
        for (int i = 0; i < n; i += kSome) {
            const int some = std::min(kSome, n - i);
            for (int k = 0; k < some; ++k) cells[k] = first + i + k;
            read(cells, some, out + i);
        }
    }
};

struct Column {
    const std::byte* data = nullptr;
    std::int64_t stride = 0;  // bytes between rows
    Dtype dtype = Dtype::f32;
    const CellReader* cells = nullptr;  // in place of data: the column is read as one of float64
};

struct Rows {
    enum class Layout : std::uint8_t { dense, columns, csr };

    Layout layout = Layout::dense;
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    Dtype dtype = Dtype::f32;

    // dense
    const std::byte* data = nullptr;
    std::int64_t row_stride = 0, column_stride = 0;  // bytes, possibly negative
    // columns: one entry per column; a column that was not requested has null data
    std::span<const Column> columns;
    // csr; indices ascend within a row, below n_columns
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;

    const std::byte* row(std::int64_t r) const { return data + r * row_stride; }
    // Not for CSR rows.
    Column column(std::int64_t f) const {
        return layout == Layout::columns ? columns[f] : Column{data + f * column_stride, row_stride, dtype};
    }
    bool contiguous() const { return layout == Layout::dense && (column_stride == element_bytes() || n_columns == 1); }
    // Whether neighbours in memory are values of one column.
    bool in_columns() const {
        return layout == Layout::columns || (layout == Layout::dense && std::abs(row_stride) < std::abs(column_stride));
    }
    std::int64_t element_bytes() const { return bytes_of(dtype); }
    // The bytes that a row takes on average, at least 1.
    std::int64_t bytes_per_row() const {
        std::int64_t bytes = 0;
        if (layout == Layout::dense) bytes = n_columns * element_bytes();
        else if (layout == Layout::columns)
            for (const Column& c : columns) bytes += c.data == nullptr ? 0 : bytes_of(c.dtype);
        else if (n_rows > 0) bytes = indptr[n_rows] / n_rows * (element_bytes() + std::int64_t{sizeof(std::int32_t)});
        return std::max<std::int64_t>(bytes, 1);
    }
};

// The rows of a call, and how many threads may work on them.
struct RowSet {
    const Rows& rows;
    const std::int64_t* ids = nullptr;  // null: all rows
    std::int64_t n = 0;
    int n_threads = 1;

    std::int64_t row(std::int64_t position) const { return ids == nullptr ? position : ids[position]; }
};

// Full scores of neighbouring rows, those of a row `stride` apart from those of the next one, and bounds of their
// errors.
struct ScoredTile {
    const double* scores;
    const double* errors;
    std::int64_t stride;
};

}  // namespace wald
