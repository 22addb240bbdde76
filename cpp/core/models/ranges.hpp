// Which rows hold a value outside of given ranges of the features, in one scan of memory. Lossless exits rely on
// ranges.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/cascade/kernels.hpp"
#include "core/models/rows.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// Bounds of the features as numbers of type T, rounded inwards: a value of type T lies between them if and only if it
// lies between the bounds given. All of them are finite, so that infinity lies outside.
template <class T>
struct Bounds {
    std::vector<T> low, high;

    Bounds(std::span<const double> lows, std::span<const double> highs) {
        using Limits = std::numeric_limits<T>;
        for (std::size_t f = 0; f < lows.size(); ++f) {
            if constexpr (std::is_integral_v<T>) {
                const bool none = lows[f] > Limits::max() || highs[f] < 0;
                low.push_back(none ? Limits::max() : static_cast<T>(std::ceil(std::max(lows[f], 0.0))));
                high.push_back(none ? T(0) : static_cast<T>(std::floor(std::min(highs[f], double{Limits::max()}))));
            } else {
                T least = static_cast<T>(lows[f]), most = static_cast<T>(highs[f]);
                if (double{least} < lows[f]) least = std::nextafter(least, Limits::infinity());
                if (double{most} > highs[f]) most = std::nextafter(most, -Limits::infinity());
                low.push_back(std::max(least, Limits::lowest()));
                high.push_back(std::min(most, Limits::max()));
            }
        }
    }
};

class Ranges {
public:
    Ranges(std::span<const double> low, std::span<const double> high, bool allow_nan)
        : f32_(low, high), f64_(low, high), u8_(low, high), allow_nan_(allow_nan) {
        for (std::size_t f = 0; f < low.size(); ++f) {
            excludes_zero_.push_back(low[f] > 0 || high[f] < 0);
            n_without_zero_ += excludes_zero_.back();
            any_byte_ = any_byte_ && u8_.low[f] == 0 && u8_.high[f] == 255;
        }
    }

    std::int64_t n_features() const { return static_cast<std::int64_t>(excludes_zero_.size()); }

    // outside[i] = 1 if row ids[i] holds a value outside, and else 0. The rows must have all columns.
    void outside(const Rows& rows, std::span<const std::int64_t> ids, int n_threads, std::uint8_t* outside) const {
        constexpr std::int64_t kBlock = 8192;  // rows of one task
        std::fill_n(outside, ids.size(), std::uint8_t{0});
        const bool by_columns = rows.layout == Rows::Layout::columns ||
                                (rows.layout == Rows::Layout::dense && rows.row_stride == rows.element_bytes());
        if (rows.layout == Rows::Layout::dense && rows.dtype == Dtype::u8 && any_byte_) return;
        const std::int64_t n = static_cast<std::int64_t>(ids.size());
        parallel_for(divided_up(n, kBlock), n_threads, [&](std::int64_t block, int) {
            const std::int64_t begin = block * kBlock, length = std::min(kBlock, n - begin);
            const std::span<const std::int64_t> some = ids.subspan(begin, length);
            if (by_columns) {
                for (std::int64_t f = 0; f < rows.n_columns; ++f) column(rows.column(f), f, some, outside + begin);
                return;
            }
            for (std::int64_t i = 0; i < length; ++i)
                outside[begin + i] = rows.layout == Rows::Layout::csr ? sparse(rows, some[i]) : dense(rows, some[i]);
        });
    }

private:
    template <class T>
    const Bounds<T>& bounds() const {
        if constexpr (std::is_same_v<T, float>) return f32_;
        else if constexpr (std::is_same_v<T, double>) return f64_;
        else return u8_;
    }

    // Whether one of n values lies outside: those of a row from its first feature on, or of column f.
    template <class T>
    bool any_in_row(const std::byte* data, std::int64_t n, std::int64_t stride) const {
        if (stride == static_cast<std::int64_t>(sizeof(T))) {
            const T *low = bounds<T>().low.data(), *high = bounds<T>().high.data();
            const T* const x = reinterpret_cast<const T*>(data);
            if constexpr (std::is_integral_v<T>) {
                std::uint8_t wrong = 0;  // branch-free, so that compilers vectorize it
                for (std::int64_t f = 0; f < n; ++f) wrong |= (x[f] < low[f]) | (x[f] > high[f]);
                return wrong != 0;
            } else {
                return kernels<T>().any_outside(x, n, low, high, allow_nan_);
            }
        }
        for (std::int64_t f = 0; f < n; ++f)
            if (one<T>(data + f * stride, f)) return true;
        return false;
    }

    template <class T>
    bool any_in_column(const std::byte* data, std::int64_t n, std::int64_t stride, std::int64_t f) const {
        if constexpr (!std::is_integral_v<T>) {
            if (stride == static_cast<std::int64_t>(sizeof(T)))
                return kernels<T>().any_outside_one(reinterpret_cast<const T*>(data), n, bounds<T>().low[f],
                                                    bounds<T>().high[f], allow_nan_);
        }
        for (std::int64_t i = 0; i < n; ++i)
            if (one<T>(data + i * stride, f)) return true;
        return false;
    }

    template <class T>
    bool one(const std::byte* data, std::int64_t f) const {
        const T value = loaded<T>(data);
        if (allow_nan_ && value != value) return false;
        return !(value >= bounds<T>().low[f] && value <= bounds<T>().high[f]);
    }

    bool dense(const Rows& rows, std::int64_t r) const {
        return with_type(rows.dtype, [&](auto type) {
            return any_in_row<decltype(type)>(rows.row(r), rows.n_columns, rows.column_stride);
        });
    }

    bool sparse(const Rows& rows, std::int64_t r) const {
        return with_type(rows.dtype, [&](auto type) {
            std::int64_t without_zero = 0;
            bool wrong = false;
            for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k) {
                wrong |= one<decltype(type)>(rows.data + k * rows.element_bytes(), rows.indices[k]);
                without_zero += excludes_zero_[static_cast<std::size_t>(rows.indices[k])];
            }
            return wrong || without_zero != n_without_zero_;
        });
    }

    // Notes which of some rows lie outside in one column. Mostly none does, which a scan of the rows between the first
    // and the last of them shows, unless they are far apart.
    void column(const Column& c, std::int64_t f, std::span<const std::int64_t> ids, std::uint8_t* outside) const {
        if (c.dtype == Dtype::u8 && any_byte_) return;
        with_type(c.dtype, [&](auto type) {
            using T = decltype(type);
            const std::int64_t n = static_cast<std::int64_t>(ids.size()), first = ids[0], span = ids[n - 1] - first + 1;
            if (span <= 2 * n && !any_in_column<T>(c.data + first * c.stride, span, c.stride, f)) return;
            for (std::int64_t i = 0; i < n; ++i) outside[i] |= one<T>(c.data + ids[i] * c.stride, f);
        });
    }

    Bounds<float> f32_;
    Bounds<double> f64_;
    Bounds<std::uint8_t> u8_;
    std::vector<std::uint8_t> excludes_zero_;
    std::int64_t n_without_zero_ = 0;
    bool allow_nan_, any_byte_ = true;
};

}  // namespace wald
