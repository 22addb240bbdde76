// Reads a row: its squared norm and its non-zeros. Squares are summed lane by lane, lane = feature index modulo the
// panel width, whatever the layout and dtype of the row. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

// Consecutive rows are usually contiguous. The hardware prefetcher stops at page boundaries, so lines are prefetched
// one page ahead, and into the second cache four pages ahead, since memory takes longer than a row of some pages.
template <class S>
const S* a_page_ahead(const S* x) {
    return x + 4096 / sizeof(S);
}

template <class S>
const S* four_pages_ahead(const S* x) {
    return x + 4 * 4096 / sizeof(S);
}

template <class T>
T scan(const T* x, std::int64_t n, std::int64_t* nonzeros) {
    constexpr int L = Pack<T>::kSize;
    Pack<T> squares = Pack<T>::zero();
    typename Pack<T>::I zeros[Pack<T>::kRegisters] = {};
    std::int64_t i = 0;
    for (; i + L <= n; i += L) {
        __builtin_prefetch(a_page_ahead(x + i));
        const Pack<T> v = Pack<T>::load(x + i);
        squares.fma(v, v);
        for (int k = 0; k < Pack<T>::kRegisters; ++k) zeros[k] += (v.r[k] == T(0));  // -1 where true
    }
    std::int64_t count = i;
    for (int k = 0; k < Pack<T>::kRegisters; ++k)
        for (int j = 0; j < Pack<T>::kPerRegister; ++j) count += zeros[k][j];
    if (i < n) {
        T rest[L] = {};
        for (std::int64_t j = i; j < n; ++j) {
            rest[j - i] = x[j];
            count += x[j] != T(0);
        }
        const Pack<T> v = Pack<T>::load(rest);
        squares.fma(v, v);
    }
    *nonzeros = count;
    return squares.sum();
}

#if defined(__AVX2__) && !defined(__AVX512F__)
// For every mask of eight lanes: the indices of the kept lanes, a byte each, from the lowest byte on.
struct KeptLanes {
    std::uint64_t lanes[256] = {};
    constexpr KeptLanes() {
        for (int mask = 0; mask < 256; ++mask) {
            int kept = 0;
            for (std::uint64_t lane = 0; lane < 8; ++lane)
                if (mask >> lane & 1) lanes[mask] |= lane << (8 * kept++);
        }
    }
};
inline constexpr KeptLanes kKeptLanes;
#endif

// Appends the non-zeros of one whole panel of features and returns the new count. Entries past the count may be
// overwritten. Without Values only the features are written.
template <class T, bool Values>
inline std::int64_t append_nonzeros(const Pack<T>& v, std::int32_t first, T* values, std::int32_t* features,
                                    std::int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __mmask16 keep = _mm512_cmp_ps_mask((__m512)v.r[0], _mm512_setzero_ps(), _CMP_NEQ_UQ);
        const __m512i at = _mm512_add_epi32(_mm512_set1_epi32(first),
                                            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        // compressed in the register and stored whole, which is faster than a compressing store
        if constexpr (Values) _mm512_storeu_ps(values + count, _mm512_maskz_compress_ps(keep, (__m512)v.r[0]));
        _mm512_storeu_si512(features + count, _mm512_maskz_compress_epi32(keep, at));
        return count + __builtin_popcount(keep);
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        for (int k = 0; k < Pack<T>::kRegisters; ++k) {
            const int keep = _mm256_movemask_ps(_mm256_cmp_ps((__m256)v.r[k], _mm256_setzero_ps(), _CMP_NEQ_UQ));
            const __m256i lanes =
                _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kKeptLanes.lanes[keep])));
            if constexpr (Values) _mm256_storeu_ps(values + count, _mm256_permutevar8x32_ps((__m256)v.r[k], lanes));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(features + count),
                                _mm256_add_epi32(lanes, _mm256_set1_epi32(first + 8 * k)));
            count += __builtin_popcount(static_cast<unsigned>(keep));
        }
        return count;
    }
#endif
    std::int64_t lit = 0;
    for (int k = 0; k < Pack<T>::kRegisters; ++k) {
        const typename Pack<T>::I different = v.r[k] != T(0);
        for (int j = 0; j < Pack<T>::kPerRegister; ++j) lit |= different[j];
    }
    if (lit == 0) return count;
    T x[Pack<T>::kSize];
    v.store(x);
    for (int j = 0; j < Pack<T>::kSize; ++j) {
        if constexpr (Values) values[count] = x[j];
        features[count] = first + j;
        count += x[j] != T(0);
    }
    return count;
}

// Prefetches the values at `ahead` on the way, and with Far those at `far` into the second cache.
template <class T, class S, bool Values = true, bool Far = false>
T list_nonzeros(const S* x, std::int64_t n, const S* ahead, T* values, std::int32_t* features, std::int32_t* listed,
                [[maybe_unused]] const S* far) {
    constexpr int L = Pack<T>::kSize;
    Pack<T> squares = Pack<T>::zero();
    std::int64_t count = 0, i = 0;
    for (; i + L <= n; i += L) {
        for (int j = 0; j < L; j += 64 / static_cast<int>(sizeof(S))) {
            __builtin_prefetch(ahead + i + j);
            if constexpr (Far) __builtin_prefetch(far + i + j, 0, 2);
        }
        const Pack<T> v = Pack<T>::load_as(x + i);
        squares.fma(v, v);
        count = append_nonzeros<T, Values>(v, static_cast<std::int32_t>(i), values, features, count);
    }
    if (i < n) {
        T rest[L] = {};
        for (std::int64_t j = i; j < n; ++j) rest[j - i] = static_cast<T>(x[j]);
        const Pack<T> v = Pack<T>::load(rest);
        squares.fma(v, v);
        count = append_nonzeros<T, Values>(v, static_cast<std::int32_t>(i), values, features, count);
    }
    *listed = static_cast<std::int32_t>(count);
    return squares.sum();
}

template <class T, class S>
T list_row(const S* x, std::int64_t n, const S* ahead, T* values, std::int32_t* features, std::int32_t* listed) {
    return list_nonzeros<T, S>(x, n, ahead, values, features, listed, nullptr);
}

// Absolute values of floats are ordered like their bits; infinity is above all numbers, and NaN above infinity.
template <class T>
T largest(const T* x, std::int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kSize = static_cast<Bits>(~Bits{0}) >> 1;
    constexpr int kStep = 4 * Pack<T>::kSize;  // several chains, because one alone would stall on its own comparisons
    Bits most[kStep] = {};
    const auto size = [&](std::int64_t i) {
        Bits bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        return bits & kSize;
    };
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        __builtin_prefetch(a_page_ahead(x + i));
        for (int k = 0; k < kStep; ++k) {
            const Bits bits = size(i + k);
            most[k] = bits > most[k] ? bits : most[k];
        }
    }
    for (; i < n; ++i) most[0] = size(i) > most[0] ? size(i) : most[0];
    for (int k = 1; k < kStep; ++k) most[0] = most[k] > most[0] ? most[k] : most[0];
    T out;
    __builtin_memcpy(&out, most, sizeof out);
    return out;
}

// bound(b, i) is the panel of bounds that begins at value i, from b: an array, or one number for all values.
template <class T>
Pack<T> bound(const T* bounds, std::int64_t i) {
    return Pack<T>::load(bounds + i);
}
template <class T>
Pack<T> bound(T one, std::int64_t) {
    return Pack<T>::set(one);
}

template <bool Nan, class T, class B>
bool outside(const T* x, std::int64_t n, B low, B high) {
    using P = Pack<T>;
    typename P::I wrong[P::kRegisters] = {};
    const auto compare = [&](const P& v, const P& least, const P& most) {
        for (int k = 0; k < P::kRegisters; ++k)
            wrong[k] |=
                Nan ? (v.r[k] < least.r[k]) | (v.r[k] > most.r[k]) : ~((v.r[k] >= least.r[k]) & (v.r[k] <= most.r[k]));
    };
    std::int64_t i = 0;
    for (; i + P::kSize <= n; i += P::kSize) {
        __builtin_prefetch(a_page_ahead(x + i));
        compare(P::load(x + i), bound(low, i), bound(high, i));
    }
    if (i < n && n >= P::kSize) {  // the last panel overlaps the one before
        compare(P::load(x + n - P::kSize), bound(low, n - P::kSize), bound(high, n - P::kSize));
        i = n;
    }
    bool any = false;
    for (int k = 0; k < P::kRegisters; ++k)
        for (int j = 0; j < P::kPerRegister; ++j) any |= wrong[k][j] != 0;
    for (; i < n; ++i) {
        T least, most;
        if constexpr (std::is_pointer_v<B>) least = low[i], most = high[i];
        else least = low, most = high;
        any |= Nan ? (x[i] < least) | (x[i] > most) : !((x[i] >= least) & (x[i] <= most));
    }
    return any;
}

template <class T>
bool any_outside(const T* x, std::int64_t n, const T* low, const T* high, bool allow_nan) {
    return allow_nan ? outside<true>(x, n, low, high) : outside<false>(x, n, low, high);
}

template <class T>
bool any_outside_one(const T* x, std::int64_t n, T low, T high, bool allow_nan) {
    return allow_nan ? outside<true>(x, n, low, high) : outside<false>(x, n, low, high);
}

}  // namespace WALD_ISA
