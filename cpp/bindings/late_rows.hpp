// Rows whose columns are read when a row needs them, where Python's libraries hold them.
#pragma once

#include "bindings/lookup.hpp"

namespace wald::bindings {

// Columns that lie apart: arrays of numbers of any type, and lookups. They are kept alive.
class LateRows {
public:
    LateRows(std::int64_t n_rows, const Objects& columns) : kept_(columns) {
        require(n_rows >= 0, "n_rows must not be negative");
        rows_.rows.layout = Rows::Layout::columns;
        rows_.rows.n_rows = n_rows;
        rows_.rows.n_columns = static_cast<std::int64_t>(kept_.size());
        for (const nb::handle each : kept_) rows_.columns.push_back(each.is_none() ? Column() : column(each));
    }

    LateRows(const LateRows&) = delete;
    LateRows& operator=(const LateRows&) = delete;

    const BoundRows& rows() const { return rows_; }
    // Whether Python's lock must be held while they are read, by one thread alone.
    bool needs_lock() const { return !locked_.empty(); }
    // Before each call, under the lock if it is needed.
    void begin() const {
        for (const Lookup* each : locked_) each->begin();
    }

private:
    Column column(nb::handle given) {
        const std::int64_t n_rows = rows_.rows.n_rows;
        if (const Lookup* lookup = nullptr; nb::try_cast(given, lookup)) {
            lookup->require_complete();
            require(lookup->n_rows() == n_rows, "every lookup must have n_rows cells");
            if (lookup->needs_lock()) {
                require(Met::kAlone, "without a global lock, objects are not read late");
                locked_.push_back(lookup);
            }
            return {nullptr, 0, Dtype::f64, lookup};
        }
        Any values;
        if (!nb::try_cast(given, values)) throw nb::type_error("columns are arrays of numbers, or lookups");
        require(values.ndim() == 1 && static_cast<std::int64_t>(values.shape(0)) == n_rows,
                "every column must be 1-D, n_rows long");
        check_aligned(values);
        rows_.owners.push_back(values);
        const auto* const data = static_cast<const std::byte*>(values.data());
        const std::int64_t stride = byte_stride(values, 0);
        const auto d = values.dtype();
        if (d == nb::dtype<float>() || d == nb::dtype<double>() || d == nb::dtype<std::uint8_t>())
            return {data, stride, dtype_of(d)};
        each_dtype(values, true, [&](auto zero) {
            using T = decltype(zero);
            readers_.push_back(std::make_unique<NumberReader<T>>(columns::NumberCells<T>{data, stride, {}}));
        });
        return {nullptr, 0, Dtype::f64, readers_.back().get()};
    }

    nb::tuple kept_;
    BoundRows rows_;
    std::vector<std::unique_ptr<CellReader>> readers_;
    std::vector<const Lookup*> locked_;
};

inline void bind_late_rows(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<LateRows>(m, "LateRows",
                         "Columns, arrays of numbers or `Lookup`s, whose cells are read when a row needs them.")
        .def(nb::init<std::int64_t, const Objects&>(), "n_rows"_a, "columns"_a)
        .def("__len__", [](const LateRows& rows) { return rows.rows().size(); });
}

}  // namespace wald::bindings
