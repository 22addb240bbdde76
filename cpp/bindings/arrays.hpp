// NumPy arrays as arguments and results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/unlocked.hpp"
#include "core/models/rows.hpp"

namespace nb = nanobind;

namespace wald::bindings {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Any = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Made = nb::ndarray<nb::numpy, T>;
using Objects = nb::typed<nb::list, nb::any>;
using Described = nb::typed<nb::dict, nb::str, nb::any>;

// Python's tuple, with the types of its items. A std::tuple would do, but nanobind copies the arrays in it.
template <class... T>
using Tuple = nb::typed<nb::tuple, T...>;
template <class... T>
Tuple<std::decay_t<T>...> tuple_of(T&&... items) {
    return nb::steal<Tuple<std::decay_t<T>...>>(nb::make_tuple(std::forward<T>(items)...).release());
}
inline nb::any as_any(nb::object o) { return nb::steal<nb::any>(o.release()); }

[[noreturn]] inline void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }
inline void require(bool holds, const char* message) {
    if (!holds) refuse(message);
}

template <class Array>
inline auto span_of(const Array& a) {
    return std::span<const std::remove_const_t<typename Array::Scalar>>(a.data(), a.size());
}
template <class Array>
inline auto span_of(const std::optional<Array>& a) {
    using S = std::span<const std::remove_const_t<typename Array::Scalar>>;
    return a ? S(a->data(), a->size()) : S();
}

inline Dtype dtype_of(const nb::dlpack::dtype& d) {
    if (d == nb::dtype<float>()) return Dtype::f32;
    if (d == nb::dtype<double>()) return Dtype::f64;
    if (d == nb::dtype<std::uint8_t>()) return Dtype::u8;
    throw nb::type_error("rows must be float32, float64 or uint8");
}

// NumPy's name of a dtype.
inline const char* name_of(Dtype dtype) {
    return dtype == Dtype::f32 ? "float32" : dtype == Dtype::f64 ? "float64" : "uint8";
}

template <class T>
Made<T> new_array(std::vector<std::size_t> shape) {
    std::size_t n = 1;
    for (std::size_t s : shape) n *= s;
    T* data = new T[n > 0 ? n : 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Made<T>(data, shape.size(), shape.data(), owner);
}

// An array in the memory of `owner`.
template <class T>
Made<T> array_in(T* data, std::size_t n, const nb::capsule& owner) {
    return Made<T>(data, {n}, owner);
}

template <class T>
Made<T> copied(const T* data, std::size_t n) {
    auto a = new_array<T>({n});
    std::copy_n(data, n, a.data());
    return a;
}

// Offsets of sequences of at least one part each: they ascend from 0 to the number of all parts.
inline std::span<const std::int64_t> checked_offsets(const Longs& offsets) {
    require(offsets.size() >= 1 && offsets.data()[0] == 0, "offsets start at 0");
    for (std::size_t i = 1; i < offsets.size(); ++i)
        require(offsets.data()[i] > offsets.data()[i - 1], "sequences have at least one part each");
    return span_of(offsets);
}
inline std::span<const std::int64_t> checked_offsets(const Longs& offsets, std::int64_t n_parts) {
    const auto all = checked_offsets(offsets);
    require(all.back() == n_parts, "the last offset is the number of parts");
    return all;
}

// Some of the sequences with these offsets, or all: the first part of each, and the rows of its parts in the output.
struct ChosenSequences {
    static constexpr std::int64_t kMaxParts = std::int64_t{1} << 40;  // offsets alone do not bound the memory

    std::int64_t n_parts;  // of all sequences
    std::vector<std::int64_t> ids, first, ends{0};

    // `misfit` is the message about ids that are out of range.
    ChosenSequences(std::span<const std::int64_t> offsets, const std::optional<Longs>& chosen, const char* misfit)
        : n_parts(offsets.back()) {
        const std::int64_t n = std::ssize(offsets) - 1, n_chosen = chosen ? std::ssize(span_of(*chosen)) : n;
        for (std::int64_t k = 0; k < n_chosen; ++k) {
            const std::int64_t i = chosen ? chosen->data()[k] : k;
            require(i >= 0 && i < n, misfit);
            const std::int64_t length = offsets[i + 1] - offsets[i];
            require(length <= kMaxParts - ends.back(), "examples of 2^40 parts at most");
            ids.push_back(i);
            first.push_back(offsets[i]);
            ends.push_back(ends.back() + length);
        }
    }
};

}  // namespace wald::bindings
