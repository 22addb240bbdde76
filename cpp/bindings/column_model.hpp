// Sums of functions of raw columns, checked and packed.
#pragma once

#include "bindings/models.hpp"
#include "core/models/column_model.hpp"

namespace wald::bindings {

inline Model column_model(const nb::dict& described) {
    Fields f(described);
    ColumnModelSpec s;
    const auto order = f.get<Longs>("order", false), n_states = f.get<Longs>("n_states", false);
    const auto weight = f.get<Matrix>("weight"), at_nan = f.get<Matrix>("at_nan"), table = f.get<Matrix>("table");
    const auto intercept = f.get<Doubles>("intercept"), magnitude = f.get<Doubles>("magnitude");
    const auto nan_magnitude = f.get<Doubles>("nan_magnitude"), table_magnitude = f.get<Doubles>("table_magnitude");
    f.read("bias_magnitude", s.bias_magnitude), f.read("depth", s.depth);
    f.done();
    s.order = span_of(order);
    s.n_states = span_of(n_states);
    s.weight = span_of(weight);
    s.at_nan = span_of(at_nan);
    s.table = span_of(table);
    s.intercept = span_of(intercept);
    s.magnitude = span_of(magnitude);
    s.nan_magnitude = span_of(nan_magnitude);
    s.table_magnitude = span_of(table_magnitude);
    const std::size_t n_outputs = intercept.size(), n_columns = n_states.size();
    require(n_outputs >= 1 && n_columns >= 1, "there must be at least one output and one column");
    require(n_columns <= static_cast<std::size_t>(kMaxFeatures) / n_outputs, "there are too many terms");
    s.n_columns = static_cast<std::int64_t>(n_columns);
    require(weight.shape(0) == n_outputs && weight.shape(1) == n_columns && at_nan.shape(0) == n_outputs &&
                at_nan.shape(1) == n_columns,
            "weight and at_nan need a row for each output and a column for each column");
    std::int64_t n_all = 0;
    for (const std::int64_t n : s.n_states) {
        require(n >= 0 && n <= kMaxStates && n_all <= static_cast<std::int64_t>(table.shape(0)),
                "n_states must lie in [0, 2^30], and add up to the rows of the table");
        n_all += n;
    }
    require(n_all == static_cast<std::int64_t>(table.shape(0)) && table.shape(1) == n_outputs,
            "table needs a row for each state and a column for each output");
    require(
        magnitude.size() == n_columns && nan_magnitude.size() == n_columns && table_magnitude.size() == table.shape(0),
        "magnitudes need an entry for each column, or for each state");
    const auto n_terms = static_cast<std::int64_t>(n_outputs * n_columns);
    std::vector<bool> seen(static_cast<std::size_t>(n_terms));
    for (const std::int64_t term : s.order) {
        require(term >= 0 && term < n_terms && !seen[static_cast<std::size_t>(term)],
                "order must name terms, each once");
        seen[static_cast<std::size_t>(term)] = true;
    }
    for (const double v : s.weight) require(std::isfinite(v), "weight must be finite");
    for (const double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    for (const std::span<const double> some : {s.magnitude, s.nan_magnitude, s.table_magnitude})
        for (const double v : some) require(v >= 0, "magnitudes must not be negative");
    require(s.bias_magnitude >= 0 && s.depth >= 0, "bias_magnitude and depth must not be negative");
    const Unlocked unlocked;
    return {pack(s)};
}

inline void bind_column_model(nb::class_<Model>& model) {
    using namespace nb::literals;
    model.def_static("columns", &column_model, "described"_a,
                     nb::sig("def columns(described: dict[str, typing.Any]) -> Model"),
                     R"doc(Pack a sum of functions of raw columns, which is always evaluated in float64.

Parameters
----------
described : dict
    With the following entries:

    order : int64 ndarray
        The terms that early stages read, in the plan's order: ``column * n_outputs + output``.
    intercept : float64 ndarray of shape (n_outputs,)
    weight, at_nan : float64 ndarray of shape (n_outputs, n_columns)
        A number x adds ``weight * x``, a NaN `at_nan`; a row is refused where `at_nan` is not finite.
    n_states : int64 ndarray of shape (n_columns,)
        Number of states of each column; 0: it holds numbers.
    table : float64 ndarray of shape (n_states.sum(), n_outputs)
        What each state adds; a row is refused where this is not finite.
    magnitude, nan_magnitude : float64 ndarray of shape (n_columns,)
        ``magnitude * |x|``, or `nan_magnitude` at NaN, bounds what the wrapped model adds up for a number.
    table_magnitude : float64 ndarray of shape (n_states.sum(),)
        The same for each state.
    bias_magnitude : float
        The same for what does not depend on the row.
    depth : float
        Largest number of roundings that a value goes through in the wrapped model.)doc");
}

}  // namespace wald::bindings
