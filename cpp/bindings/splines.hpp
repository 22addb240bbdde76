// Columns of numbers as B-splines.
#pragma once

#include <cmath>
#include <cstring>

#include "bindings/lookup.hpp"
#include "core/columns/splines.hpp"

namespace wald::bindings {

template <std::size_t K, class T>
nb::any splines_of(const Any& values, const Matrix& knots) {
    const std::size_t n = values.shape(0), n_columns = values.shape(1), n_knots = knots.shape(1);
    require(n_knots >= columns::Splines<K>::kLeast, "there must be at least 2 * degree + 2 knots in each column");
    std::vector<columns::Splines<K>> splines;
    splines.reserve(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j)
        splines.emplace_back(std::span<const double>(knots.data() + j * n_knots, n_knots));
    const std::size_t each = n_knots - K - 1;
    auto found = new_array<T>({n, n_columns * each});
    T* out = found.data();
    const auto* const from = static_cast<const std::byte*>(values.data());
    const std::int64_t by_row = byte_stride(values, 0), by_column = byte_stride(values, 1);
    {
        const Unlocked unlocked;
        for (std::size_t i = 0; i < n; ++i) {
            const std::byte* cell = from + static_cast<std::int64_t>(i) * by_row;
            for (std::size_t j = 0; j < n_columns; ++j, cell += by_column, out += each) {
                T value;
                std::memcpy(&value, cell, sizeof(T));
                splines[j].write(static_cast<double>(value), out);
            }
        }
    }
    return as_any(nb::cast(found));
}

template <class T>
nb::any splines_of(const Any& values, const Matrix& knots, int degree) {
    switch (degree) {
        case 1: return splines_of<1, T>(values, knots);
        case 2: return splines_of<2, T>(values, knots);
        case 3: return splines_of<3, T>(values, knots);
        case 4: return splines_of<4, T>(values, knots);
        case 5: return splines_of<5, T>(values, knots);
        default: refuse("degree must be 1 to 5");
    }
}

inline nb::any splines(const Any& values, const Matrix& knots, int degree) {
    require(values.ndim() == 2 && values.shape(1) == knots.shape(0),
            "values must be 2-D, with a row of knots for each of its columns");
    for (std::size_t j = 0; j < knots.shape(0); ++j) {
        const std::span<const double> own(knots.data() + j * knots.shape(1), knots.shape(1));
        for (std::size_t k = 0; k < own.size(); ++k)
            require(std::isfinite(own[k]) && (k == 0 || own[k] >= own[k - 1]), "knots must be finite, and ascend");
    }
    if (values.dtype() == nb::dtype<double>()) return splines_of<double>(values, knots, degree);
    if (values.dtype() == nb::dtype<float>()) return splines_of<float>(values, knots, degree);
    throw nb::type_error("values must be float32 or float64");
}

inline void bind_splines(nb::module_& m) {
    using namespace nb::literals;
    m.def("splines", &splines, "values"_a, "knots"_a, "degree"_a,
          "B-splines (n_rows, n_columns * (n_knots - degree - 1)) of each column, with the bits of SciPy's `BSpline`.");
}

}  // namespace wald::bindings
