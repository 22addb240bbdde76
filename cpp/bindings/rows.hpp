// Rows as Python has them: dense, by column, or CSR. They are checked here, and kept alive while the engine reads them.
#pragma once

#include <bit>
#include <set>
#include <string_view>

#include "bindings/arrays.hpp"
#include "core/models/magnitude.hpp"
#include "core/models/ranges.hpp"

namespace wald::bindings {

// Rows and the Python objects that own their memory.
struct BoundRows {
    Rows rows;
    std::vector<Any> owners;
    std::vector<nb::object> arrays;
    std::vector<Column> columns;
    std::vector<std::int64_t> ids;
    bool subset = false;
    bool ascending = true;  // CSR: features ascend within a row

    Rows view() const {  // a copy: several threads may read the same rows
        Rows seen = rows;
        seen.columns = columns;
        return seen;
    }
    // All rows, or those that were taken, for the core. The view must outlive them.
    RowSet set(const Rows& seen, int n_threads) const {
        return {seen, subset ? ids.data() : nullptr, size(), threads_for(size(), n_threads)};
    }
    // Calls work(the rows) without Python's lock.
    template <class Work>
    void unlocked(int n_threads, const Work& work) const {
        const Unlocked unlocked;
        const Rows seen = view();
        work(set(seen, n_threads));
    }
    void require_columns(const char* message) const {
        for (const Column& c : columns) require(c.data != nullptr || size() == 0, message);
    }
    std::int64_t size() const { return subset ? static_cast<std::int64_t>(ids.size()) : rows.n_rows; }
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

// A NumPy array as the buffer protocol has it. For read-only arrays this is four times as fast as nanobind's
// conversion.
class Buffer {
public:
    explicit Buffer(nb::handle array) {
        const nb::ft_object_guard guard(array);  // free-threaded: old NumPys note what they find without a lock
        held_ = PyObject_GetBuffer(array.ptr(), &view_, PyBUF_RECORDS_RO) == 0;
        if (!held_) PyErr_Clear();
    }
    ~Buffer() {
        if (held_) PyBuffer_Release(&view_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // The dtype, if the engine reads these values in place.
    std::optional<Dtype> native_dtype() const {
        if (!held_ || view_.format == nullptr) return std::nullopt;
        constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
        std::string_view format = view_.format;
        if (format.size() == 2 && (format[0] == '=' || format[0] == native_order)) format.remove_prefix(1);
        if (format != "f" && format != "d" && format != "B") return std::nullopt;
        if (!is_aligned()) return std::nullopt;
        return format == "f" ? Dtype::f32 : format == "d" ? Dtype::f64 : Dtype::u8;
    }
    std::size_t ndim() const { return static_cast<std::size_t>(view_.ndim); }
    std::int64_t shape(std::size_t axis) const { return view_.shape[axis]; }
    std::int64_t stride(std::size_t axis) const { return view_.strides[axis]; }
    const std::byte* data() const { return static_cast<const std::byte*>(view_.buf); }

private:
    bool is_aligned() const {
        bool aligned = reinterpret_cast<std::uintptr_t>(view_.buf) % view_.itemsize == 0;
        for (int axis = 0; axis < view_.ndim; ++axis) aligned &= view_.strides[axis] % view_.itemsize == 0;
        return aligned || view_.len == 0;
    }

    Py_buffer view_{};
    bool held_ = false;
};

// Adds column numbers[i] from arrays[i]: a 1-D array, or, if `lines` is given, row lines[i] of a 2-D array. Returns the
// dtypes of what was added, and the places i of what the engine cannot read in place.
inline std::pair<std::vector<std::string>, std::vector<std::size_t>> add_columns(
    BoundRows& b, const std::vector<std::int64_t>& numbers, const Objects& arrays, const std::optional<Longs>& lines) {
    require(b.rows.layout == Rows::Layout::columns, "columns are added to rows that lie in columns");
    require(arrays.size() == numbers.size() && (!lines || lines->size() == numbers.size()),
            "every number needs an array, and a line if these are given");
    const nb::tuple kept(arrays);  // a list may change
    b.arrays.push_back(kept);
    const nb::object array_type = nb::module_::import_("numpy").attr("ndarray");
    const std::size_t ndim = lines ? 2 : 1;
    std::set<Dtype> dtypes;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        require(numbers[i] >= 0 && numbers[i] < b.rows.n_columns, "numbers of columns must lie in [0, n_columns)");
        if (!nb::isinstance(kept[i], array_type)) {
            others.push_back(i);
            continue;
        }
        const Buffer a(kept[i]);
        const std::optional<Dtype> dtype = a.native_dtype();
        if (!dtype) {
            others.push_back(i);
            continue;
        }
        require(a.ndim() == ndim && a.shape(ndim - 1) == b.rows.n_rows,
                "every column must be n_rows long: a 1-D array, or a row of a 2-D array");
        Column column{a.data(), a.stride(ndim - 1), *dtype};
        if (lines) {
            const std::int64_t line = lines->data()[i];
            require(line >= 0 && line < a.shape(0), "lines must lie within their arrays");
            column.data += line * a.stride(0);
        }
        b.columns[static_cast<std::size_t>(numbers[i])] = column;
        dtypes.insert(*dtype);
    }
    std::vector<std::string> names;
    for (const Dtype d : dtypes) names.emplace_back(name_of(d));
    return {names, others};
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
    b.require_columns("the largest magnitude needs every column");
    nb::gil_scoped_release release;
    return largest_magnitude(b.view(), std::clamp(n_threads, 1, thread_limit()));
}

inline auto rows_outside(const Ranges& ranges, BoundRows& b, const Longs& ids, int n_threads) {
    require(!b.subset && b.rows.n_columns == ranges.n_features(), "rows need a column for every range");
    b.require_columns("a comparison with ranges needs every column");
    std::int64_t previous = -1;
    for (const std::int64_t id : span_of(ids)) {
        require(id > previous && id < b.rows.n_rows, "row ids must ascend, and lie within the rows");
        previous = id;
    }
    auto outside = new_array<bool>({ids.size()});
    {
        nb::gil_scoped_release release;
        ranges.outside(b.view(), span_of(ids), std::clamp(n_threads, 1, thread_limit()),
                       reinterpret_cast<std::uint8_t*>(outside.data()));
    }
    return outside;
}

inline void bind_rows(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundRows>(
        m, "Rows", "Rows in the caller's memory, which is kept alive and not copied. Do not write into it meanwhile.")
        .def_static("dense", &dense_rows, "x"_a, "View a 2-D array of float32, float64 or uint8, with any strides.")
        .def_static(
            "columns", &column_rows, "n_rows"_a, "columns"_a,
            "View columns that lie apart, each float32, float64 or uint8; None for a column that no call reads.")
        .def("add", &add_columns, "numbers"_a, "arrays"_a, "lines"_a.noconvert() = nb::none(),
             "Add columns, 1-D arrays or lines of 2-D arrays: dtypes of what was added, and places of what is not read "
             "in place.")
        .def_static("csr", &csr_rows, "values"_a, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_columns"_a,
                    "ascending"_a = true,
                    "View a CSR matrix. Its indices must ascend within every row, unless only online learners read it.")
        .def("take", &take, "ids"_a.noconvert(), "Let calls see the rows ``ids`` only, in that order.")
        .def("largest_magnitude", &largest, "n_threads"_a,
             "Largest absolute value of all rows; infinity or NaN if one is there. Bytes count as 255.")
        .def("__len__", &BoundRows::size);
    nb::class_<Ranges>(m, "Ranges", "Ranges of the features, with which rows are compared. Never changes.")
        .def(
            "__init__",
            [](Ranges* self, const Doubles& low, const Doubles& high, bool allow_nan) {
                require(low.size() == high.size(), "every feature needs a lower and an upper bound");
                new (self) Ranges(span_of(low), span_of(high), allow_nan);
            },
            "low"_a.noconvert(), "high"_a.noconvert(), "allow_nan"_a,
            "Infinity is always outside, and NaN unless ``allow_nan``.")
        .def("outside", &rows_outside, "rows"_a, "ids"_a.noconvert(), "n_threads"_a,
             "Whether each of the rows ``ids``, which ascend, holds a value outside.");
}

}  // namespace wald::bindings
