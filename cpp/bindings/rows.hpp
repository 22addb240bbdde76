// Rows as Python has them: dense, by column, or CSR. They are checked here, and kept alive while the engine reads them.
#pragma once

#include "bindings/arrays.hpp"
#include "core/models/magnitude.hpp"

namespace wald::bindings {

// Rows and the Python objects that own their memory.
struct BoundRows {
    Rows rows;
    std::vector<Any> owners;
    std::vector<Column> columns;
    std::vector<std::int64_t> ids;
    bool subset = false;
    bool ascending = true;  // CSR: features ascend within a row

    Rows view() const {  // a copy: several threads may read the same rows
        Rows seen = rows;
        seen.columns = columns;
        return seen;
    }
    std::int64_t size() const { return subset ? static_cast<std::int64_t>(ids.size()) : rows.n_rows; }
    const std::int64_t* id_data() const { return subset ? ids.data() : nullptr; }
};

inline std::int64_t byte_stride(const Any& a, int axis) {
    return a.stride(axis) * static_cast<std::int64_t>(a.itemsize());
}

inline void check_aligned(const Any& a) {
    if (a.size() > 0 && reinterpret_cast<std::uintptr_t>(a.data()) % a.itemsize() != 0)
        throw nb::type_error("rows must be aligned; copy them first");
}

inline BoundRows dense_rows(Any x) {
    require(x.ndim() == 2, "dense rows must be a 2-D array");
    BoundRows b;
    b.rows.layout = Rows::Layout::dense;
    b.rows.dtype = dtype_of(x.dtype());
    b.rows.n_rows = static_cast<std::int64_t>(x.shape(0));
    b.rows.n_columns = static_cast<std::int64_t>(x.shape(1));
    check_aligned(x);
    b.rows.data = static_cast<const std::byte*>(x.data());
    b.rows.row_stride = byte_stride(x, 0);
    b.rows.column_stride = byte_stride(x, 1);
    b.owners.push_back(std::move(x));
    return b;
}

inline BoundRows column_rows(std::int64_t n_rows, const std::vector<std::optional<Any>>& columns) {
    require(n_rows >= 0, "n_rows must not be negative");
    BoundRows b;
    b.rows.layout = Rows::Layout::columns;
    b.rows.n_rows = n_rows;
    b.rows.n_columns = static_cast<std::int64_t>(columns.size());
    for (const std::optional<Any>& c : columns) {
        Column column;
        if (c) {
            require(c->ndim() == 1 && static_cast<std::int64_t>(c->shape(0)) == n_rows,
                    "every column must be 1-D, n_rows long");
            check_aligned(*c);
            column = {static_cast<const std::byte*>(c->data()), byte_stride(*c, 0), dtype_of(c->dtype())};
            b.owners.push_back(*c);
        }
        b.columns.push_back(column);
    }
    return b;
}

inline BoundRows csr_rows(Any values, Indices indices, Longs indptr, std::int64_t n_columns, bool ascending) {
    require(values.ndim() == 1 && indptr.size() >= 1, "CSR rows need 1-D values and an indptr of n_rows + 1");
    require(values.size() == 0 || byte_stride(values, 0) == static_cast<std::int64_t>(values.itemsize()),
            "CSR values must be contiguous");
    require(n_columns >= 0, "n_columns must not be negative");
    const std::int64_t n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    const std::int64_t n_values = static_cast<std::int64_t>(std::min(values.size(), indices.size()));
    require(indptr.data()[0] >= 0, "CSR indptr must not start below 0");
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const std::int64_t begin = indptr.data()[r], end = indptr.data()[r + 1];
        require(begin <= end && end <= n_values, "CSR indptr must not fall, nor point behind the values");
        if (!ascending) continue;
        std::int64_t previous = -1;
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t c = indices.data()[k];
            require(c > previous && c < n_columns, "CSR indices must ascend within a row, below n_columns");
            previous = c;
        }
    }
    if (!ascending) {
        // Branch-free: the sign bit is set in an index below 0, or in the difference of n_columns - 1 and a larger one.
        const std::uint32_t last = static_cast<std::uint32_t>(std::min(n_columns, std::int64_t{1} << 31)) - 1;
        const std::int32_t* const all = indices.data();
        std::uint32_t wrong = 0;
        for (std::int64_t k = indptr.data()[0]; k < indptr.data()[n_rows]; ++k) {
            const std::uint32_t c = static_cast<std::uint32_t>(all[k]);
            wrong |= c | (last - c);
        }
        require(wrong >> 31 == 0, "CSR indices must lie in [0, n_columns)");
    }
    BoundRows b;
    b.ascending = ascending;
    b.rows.layout = Rows::Layout::csr;
    b.rows.dtype = dtype_of(values.dtype());
    b.rows.n_rows = n_rows;
    b.rows.n_columns = n_columns;
    check_aligned(values);
    b.rows.data = static_cast<const std::byte*>(values.data());
    b.rows.indices = indices.data();
    b.rows.indptr = indptr.data();
    b.owners = {std::move(values), Any(indices), Any(indptr)};
    return b;
}

inline void take(BoundRows& b, const Longs& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        require(ids.data()[i] >= 0 && ids.data()[i] < b.rows.n_rows, "row ids must lie within the rows");
    b.ids.assign(ids.data(), ids.data() + ids.size());
    b.subset = true;
}

inline double largest(BoundRows& b, int n_threads) {
    require(!b.subset, "the largest magnitude is that of all rows: take none before");
    for (const Column& c : b.columns)
        require(c.data != nullptr || b.rows.n_rows == 0, "the largest magnitude needs every column");
    nb::gil_scoped_release release;
    return largest_magnitude(b.view(), std::clamp(n_threads, 1, thread_limit()));
}

inline void bind_rows(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundRows>(
        m, "Rows", "Rows in the caller's memory, which is kept alive and not copied. Do not write into it meanwhile.")
        .def_static("dense", &dense_rows, "x"_a, "View a 2-D array of float32, float64 or uint8, with any strides.")
        .def_static(
            "columns", &column_rows, "n_rows"_a, "columns"_a,
            "View columns that lie apart, each float32, float64 or uint8; None for a column that no call reads.")
        .def_static("csr", &csr_rows, "values"_a, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_columns"_a,
                    "ascending"_a = true,
                    "View a CSR matrix. Its indices must ascend within every row, unless only online learners read it.")
        .def("take", &take, "ids"_a.noconvert(), "Let calls see the rows ``ids`` only, in that order.")
        .def("largest_magnitude", &largest, "n_threads"_a,
             "Largest absolute value of all rows; infinity or NaN if one is there. Bytes count as 255.")
        .def("__len__", &BoundRows::size);
}

}  // namespace wald::bindings
