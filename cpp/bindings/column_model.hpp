// Sums of functions of raw columns, checked and packed.
#pragma once

#include "bindings/models.hpp"
#include "core/models/column_model.hpp"

namespace wald::bindings {

inline Model column_model(const Described& described) {
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
    require_order(s.order, static_cast<std::int64_t>(n_outputs * n_columns), "order must name terms, each once");
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
    model.def_static(
        "columns", &column_model, "described"_a,
        "Pack a sum of functions of raw columns; the entries are the fields of ColumnModelSpec in the core.");
}

}  // namespace wald::bindings
