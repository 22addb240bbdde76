// An engine whose arguments are fixed once, all but the rows. A call looks at one NumPy array, and at nothing else.
#pragma once

#include <array>

#include "bindings/engine.hpp"

namespace wald::bindings {

// Immutable, so threads may share it. It returns None for rows that it does not answer: `BoundEngine` then answers
// them, or raises if they are wrong.
class FixedCalls {
public:
    using Labels = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

    FixedCalls(const BoundEngine& engine, int n_stages, const std::string& at_end, const std::array<double, 3>& working,
               Labels labels)
        : engine_(engine), n_stages_(n_stages), end_(BoundEngine::end_of(at_end)), working_(working),
          labels_(std::move(labels)), array_type_(nb::module_::import_("numpy").attr("ndarray")) {
        engine.check_stages(n_stages, end_);
        for (const double w : working_) check_working(w);
    }

    // Returns the label of a row (or its score, where scores are answers), or this and its cost; None if the engine
    // does not read the row in place, or leaves it without a label.
    nb::any label(nb::handle x, bool with_cost) const { return label_of(decide(x, 1), with_cost); }
    // The same for a row of as many numbers as the model has columns.
    nb::any label_of(const double* row, bool with_cost) const { return label_of(decide(row), with_cost); }
    std::int64_t n_features() const { return engine_.n_features(); }
    // Answers the only row of a 2-D array as `BoundEngine::predict_one` does; None in the same cases.
    std::optional<BoundEngine::OneAnswer> decided(nb::handle X) const { return settled(decide(X, 2)); }
    // The same for a row of as many numbers as the model has columns.
    std::optional<BoundEngine::OneAnswer> decided_row(const double* row) const { return settled(decide(row)); }
    // The codes of all rows of a 2-D array, without a ledger, and the numbers of the rows that are handed over; None if
    // the engine does not read the array in place, or if a row is refused.
    std::optional<Tuple<Made<std::int32_t>, Made<std::int64_t>>> codes(nb::handle X, int n_threads) const {
        if (!X.type().is(array_type_)) return {};
        const Buffer array(X);
        const std::optional<Rows> rows = read(array, 2);
        if (!rows || rows->n_rows == 0) return {};
        return engine_.codes(*rows, n_threads, n_stages_, end_, working_[static_cast<std::size_t>(rows->dtype)]);
    }

private:
    static std::optional<BoundEngine::OneAnswer> settled(const BoundEngine::Found& found) {
        if (found.status >= Status::handed_over) return {};
        return found.tuple();
    }
    BoundEngine::Found decide(const double* row) const {
        constexpr Dtype dtype = Dtype::f64;
        return engine_.answer_one(reinterpret_cast<const std::byte*>(row), sizeof(double), dtype, n_stages_, end_,
                                  working_[static_cast<std::size_t>(dtype)]);
    }
    nb::any label_of(const BoundEngine::Found& found, bool with_cost) const {
        if (found.status >= Status::handed_over || (!found.score && found.code >= std::ssize(labels_)))
            return as_any(nb::none());
        const nb::object label = found.score ? nb::cast(*found.score) : nb::borrow(labels_[found.code]);
        return as_any(with_cost ? nb::make_tuple(label, found.paid) : label);
    }
    // The status is pending if the engine does not read this object in place, or if it is not one row of the model's
    // columns.
    BoundEngine::Found decide(nb::handle given, std::size_t ndim) const {
        if (!given.type().is(array_type_)) return {};  // a subclass may hold more than its buffer, such as a mask
        const Buffer array(given);
        const std::optional<Rows> rows = read(array, ndim);
        if (!rows || rows->n_rows != 1) return {};
        return engine_.answer_one(rows->data, rows->column_stride, rows->dtype, n_stages_, end_,
                                  working_[static_cast<std::size_t>(rows->dtype)]);
    }
    // The rows of an array: one of a 1-D array, or all of a 2-D array; none if the engine does not read them in place,
    // or if they have not the model's columns.
    std::optional<Rows> read(const Buffer& array, std::size_t ndim) const {
        const std::optional<Dtype> dtype = array.native_dtype();
        if (!dtype || array.ndim() != ndim || array.shape(ndim - 1) != engine_.n_features()) return std::nullopt;
        Rows rows;
        rows.dtype = *dtype;
        rows.n_rows = ndim == 1 ? 1 : array.shape(0);
        rows.n_columns = engine_.n_features();
        rows.data = array.data();
        rows.row_stride = ndim == 1 ? 0 : array.stride(0);
        rows.column_stride = array.stride(ndim - 1);
        return rows;
    }

    BoundEngine engine_;
    int n_stages_;
    AtEnd end_;
    std::array<double, 3> working_;  // by dtype
    Labels labels_;
    nb::object array_type_;
};

inline void bind_fixed_calls(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<FixedCalls>(m, "FixedCalls",
                           "An engine whose calls are always the same, for rows in arrays. Threads may share it.")
        .def(nb::init<const BoundEngine&, int, const std::string&, const std::array<double, 3>&, FixedCalls::Labels>(),
             "engine"_a, "n_stages"_a, "at_end"_a, "working"_a, "labels"_a)
        .def("label", &FixedCalls::label, "x"_a.none(), "with_cost"_a,
             "Return the label or score of a row in a 1-D array, or this and its cost; None for what is not answered "
             "here.")
        .def("decided", &FixedCalls::decided, "X"_a.none(),
             "Code, stage, cost and status of the only row of a 2-D array, or None in the same cases.")
        .def("codes", &FixedCalls::codes, "X"_a.none(), "n_threads"_a,
             "Codes of all rows of a 2-D array, and the numbers of those that are handed over, whose code is 0; None "
             "if it does "
             "not read the array in place, or refuses a row.");
}

}  // namespace wald::bindings
