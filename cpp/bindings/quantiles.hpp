// Columns of numbers as shares of a sample.
#pragma once

#include "bindings/lookup.hpp"
#include "core/columns/quantiles.hpp"

namespace wald::bindings {

inline Made<double> interpolated(const Any& values, const Doubles& quantiles, const Doubles& references) {
    require(values.ndim() == 1, "values must be 1-D");
    const auto q = span_of(quantiles), r = span_of(references);
    require(q.size() >= columns::Quantiles::kLeast && q.size() == r.size() &&
                q.size() < static_cast<std::size_t>(kMaxStates),
            "there must be at least three quantiles, and a reference for each");
    for (std::size_t j = 0; j < q.size(); ++j)
        require(std::isfinite(q[j]) && std::isfinite(r[j]) && (j == 0 || q[j] >= q[j - 1]),
                "quantiles must ascend, and all numbers must be finite");
    auto found = new_array<double>({values.size()});
    double* const out = found.data();
    const auto* const from = static_cast<const std::byte*>(values.data());
    const std::int64_t stride = byte_stride(values, 0), n = static_cast<std::int64_t>(values.size());
    const columns::Quantiles shares(q, r);
    const auto all = [&](auto zero) {
        const Unlocked unlocked;
        const columns::NumberCells<decltype(zero)> cells{from, stride, {}};
        for (std::int64_t i = 0; i < n; ++i) out[i] = shares.of(static_cast<double>(cells.at(i)));
    };
    if (values.dtype() == nb::dtype<double>()) all(double{});
    else if (values.dtype() == nb::dtype<float>()) all(float{});
    else throw nb::type_error("values must be float32 or float64");
    return found;
}

inline void bind_quantiles(nb::module_& m) {
    using namespace nb::literals;
    m.def("interpolated", &interpolated, "values"_a, "quantiles"_a, "references"_a,
          "References of numbers among quantiles: the mean of NumPy's `interp` upwards and downwards.");
}

}  // namespace wald::bindings
