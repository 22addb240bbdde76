// Columns of numbers of any type.
#pragma once

#include "bindings/rows.hpp"
#include "core/columns/cells.hpp"

namespace wald::bindings {

// A column of numbers of any type.
template <class T>
class NumberReader final : public CellReader {
public:
    explicit NumberReader(const columns::NumberCells<T>& numbers) : numbers_(numbers) {}
    void read(const std::int64_t* cells, int n, double* out) const override {
        const bool apart = columns::lie_apart(cells, n);
        for (int i = 0; i < n; ++i) {
            if (apart && i + columns::kFar < n) numbers_.prefetch(cells[i + columns::kFar]);
            out[i] = static_cast<double>(numbers_.at(cells[i]));
        }
    }
    void read_run(std::int64_t first, int n, double* out) const override {
        if (numbers_.stride == static_cast<std::int64_t>(sizeof(T)))  // a constant, so that this becomes vectors
            for (int i = 0; i < n; ++i)
                out[i] = static_cast<double>(columns::loaded_from<T>(numbers_.first(first) + i * sizeof(T)));
        else
            for (int i = 0; i < n; ++i) out[i] = static_cast<double>(numbers_.at(first + i));
    }

private:
    columns::NumberCells<T> numbers_;
};

// Calls function(zero) with a zero of the type of an array's numbers.
template <class Function>
void each_dtype(const Any& values, bool also_real, Function&& function) {
    const auto d = values.dtype();
    if (d == nb::dtype<std::int8_t>()) function(std::int8_t{});
    else if (d == nb::dtype<std::int16_t>()) function(std::int16_t{});
    else if (d == nb::dtype<std::int32_t>()) function(std::int32_t{});
    else if (d == nb::dtype<std::int64_t>()) function(std::int64_t{});
    else if (d == nb::dtype<std::uint8_t>()) function(std::uint8_t{});
    else if (d == nb::dtype<std::uint16_t>()) function(std::uint16_t{});
    else if (d == nb::dtype<std::uint32_t>()) function(std::uint32_t{});
    else if (d == nb::dtype<std::uint64_t>()) function(std::uint64_t{});
    else if (also_real && d == nb::dtype<bool>()) function(std::uint8_t{});
    else if (also_real && d == nb::dtype<float>()) function(float{});
    else if (also_real && d == nb::dtype<double>()) function(double{});
    else
        throw nb::type_error(also_real ? "numbers must be bool, integers, float32 or float64"
                                       : "codes must be integers");
}

}  // namespace wald::bindings
