// The hot loops. Included by one translation unit per instruction set, each with its own WALD_ISA and compiler flags.
#include <cstring>
#include <utility>

#include "../core/kernels.hpp"
#include "vector.hpp"

namespace WALD_ISA {

using wald::Activation;
using wald::KernelParams;
using wald::kSegments;
using wald::Panels;
using wald::PreparedRow;

// ---- reading a row ------------------------------------------------------------------------------------------------

// Rows mostly lie one behind the other. The hardware's own prefetching stops at every page, so a line is asked for a page ahead.
inline void prefetch_ahead(const void* p) {
    __builtin_prefetch(static_cast<const char*>(p) + 4096);
}

// Sums squares lane by lane: lane = feature index modulo the panel width, whatever the layout the row came from.
template <class T>
T scan(const T* x, std::int64_t n, std::int64_t* nonzeros) {
    constexpr int L = Pack<T>::kSize;
    Pack<T> squares = Pack<T>::zero();
    typename Pack<T>::I zeros[Pack<T>::kRegisters] = {};
    std::int64_t i = 0;
    for (; i + L <= n; i += L) {
        prefetch_ahead(x + i);
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

// Appends the non-zeros of one whole panel of features; returns the new count. Values behind the count may be overwritten.
template <class T>
inline std::int64_t append_nonzeros(const T* x, const Pack<T>& v, std::int32_t first, T* values, std::int32_t* features,
                                    std::int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __mmask16 keep = _mm512_cmp_ps_mask((__m512)v.r[0], _mm512_setzero_ps(), _CMP_NEQ_UQ);
        const __m512i at = _mm512_add_epi32(_mm512_set1_epi32(first),
                                            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        // compressed in the register and stored whole, which is faster than a compressing store
        _mm512_storeu_ps(values + count, _mm512_maskz_compress_ps(keep, (__m512)v.r[0]));
        _mm512_storeu_si512(features + count, _mm512_maskz_compress_epi32(keep, at));
        return count + __builtin_popcount(keep);
    }
#endif
    std::int64_t lit = 0;
    for (int k = 0; k < Pack<T>::kRegisters; ++k) {
        const typename Pack<T>::I different = v.r[k] != T(0);
        for (int j = 0; j < Pack<T>::kPerRegister; ++j) lit |= different[j];
    }
    if (lit == 0) return count;
    for (int j = 0; j < Pack<T>::kSize; ++j) {
        values[count] = x[j];
        features[count] = first + j;
        count += x[j] != T(0);
    }
    return count;
}

template <class T>
T list_nonzeros(const T* x, const std::int64_t* segments, T* values, std::int32_t* features, std::int32_t* segment_ends) {
    constexpr int L = Pack<T>::kSize;
    Pack<T> squares = Pack<T>::zero();
    std::int64_t count = 0, i = 0;
    segment_ends[0] = 0;
    for (int s = 0; s < kSegments; ++s) {
        for (; i + L <= segments[s + 1]; i += L) {
            prefetch_ahead(x + i);
            const Pack<T> v = Pack<T>::load(x + i);
            squares.fma(v, v);
            count = append_nonzeros<T>(x + i, v, static_cast<std::int32_t>(i), values, features, count);
        }
        if (i < segments[s + 1]) {  // only the last segment may end within a panel
            T rest[L] = {};
            for (std::int64_t j = i; j < segments[s + 1]; ++j) rest[j - i] = x[j];
            const Pack<T> v = Pack<T>::load(rest);
            squares.fma(v, v);
            count = append_nonzeros<T>(rest, v, static_cast<std::int32_t>(i), values, features, count);
            i = segments[s + 1];
        }
        segment_ends[s + 1] = static_cast<std::int32_t>(count);
    }
    return squares.sum();
}

// ---- dot products -------------------------------------------------------------------------------------------------

template <class T, int MR, int NP>
inline void dense_tile(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots) {
    constexpr int L = Pack<T>::kSize;
    const std::int64_t panel_size = panels.n_features * L;
    const T* base = panels.data + panel * panel_size;
    const T* x[MR];
    for (int r = 0; r < MR; ++r) x[r] = rows[r]->dense;
    for (int s = 0; s < kSegments; ++s) {
        Pack<T> acc[MR][NP];
        for (int r = 0; r < MR; ++r)
            for (int p = 0; p < NP; ++p) acc[r][p] = Pack<T>::zero();
        const T* at = base + panels.segments[s] * L;
        for (std::int64_t f = panels.segments[s]; f < panels.segments[s + 1]; ++f, at += L) {
            Pack<T> v[NP];
            for (int p = 0; p < NP; ++p) v[p] = Pack<T>::load(at + p * panel_size);
            for (int r = 0; r < MR; ++r) {
                const Pack<T> b = Pack<T>::set(x[r][f]);
                for (int p = 0; p < NP; ++p) acc[r][p].fma(b, v[p]);
            }
        }
        for (int r = 0; r < MR; ++r)
            for (int p = 0; p < NP; ++p) {
                T* out = slots[r] + (panel + p) * L;
                if (s == 0) acc[r][p].store(out);
                else (Pack<T>::load(out) + acc[r][p]).store(out);
            }
    }
}

// Rows x panels that fill the registers without spilling: 12 x 2 of 32, 6 x 1 of 16 (two registers a panel), 2 x 1.
#if defined(__AVX512F__)
inline constexpr int kRows = 12, kPanels = 2;
#elif defined(__AVX2__)
inline constexpr int kRows = 6, kPanels = 1;
#else
inline constexpr int kRows = 2, kPanels = 1;
#endif

template <class T, int NP>
void dense_rows(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    using Tile = void (*)(const Panels<T>&, int, const PreparedRow<T>* const*, T* const*);
    static constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
        struct { Tile of[kRows]; } table{{&dense_tile<T, I + 1, NP>...}};
        return table;
    }(std::make_integer_sequence<int, kRows>{});
    for (int r = 0; r < n;) {
        const int m = n - r < kRows ? n - r : kRows;
        tiles.of[m - 1](panels, panel, rows + r, slots + r);
        r += m;
    }
}

template <class T>
void dots_dense(const Panels<T>& panels, int first, int last, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    int p = first;
    for (; p + kPanels <= last; p += kPanels) dense_rows<T, kPanels>(panels, p, rows, slots, n);
    for (; p < last; ++p) dense_rows<T, 1>(panels, p, rows, slots, n);
}

// One segment of NR rows, side by side as far as the shortest list goes: with few panels a lone row would wait for its own
// sums. The caller goes through all rows before the next segment, so that a segment of NP panels stays in the first-level cache.
template <class T, int NP, int NR>
inline void sparse_segment(const Panels<T>& panels, int panel, int segment, const PreparedRow<T>* const* rows, T* const* slots) {
    constexpr int L = Pack<T>::kSize;
    const std::int64_t panel_size = panels.n_features * L;
    const T* base = panels.data + panel * panel_size;
    Pack<T> acc[NR][NP];
    const T* values[NR];
    const std::int32_t* features[NR];
    std::int32_t count[NR];
    std::int32_t common = 0;
    for (int r = 0; r < NR; ++r) {
        const std::int32_t first = rows[r]->segment_ends[segment];
        count[r] = rows[r]->segment_ends[segment + 1] - first;
        values[r] = rows[r]->values + first;
        features[r] = rows[r]->features + first;
        common = r == 0 || count[r] < common ? count[r] : common;
        for (int p = 0; p < NP; ++p) acc[r][p] = Pack<T>::zero();
    }
    auto step = [&](int r, std::int32_t k) {
        const Pack<T> b = Pack<T>::set(values[r][k]);
        const T* at = base + static_cast<std::int64_t>(features[r][k]) * L;
        for (int p = 0; p < NP; ++p) acc[r][p].fma(b, Pack<T>::load(at + p * panel_size));
    };
    for (std::int32_t k = 0; k < common; ++k)
        for (int r = 0; r < NR; ++r) step(r, k);
    for (int r = 0; r < NR; ++r) {
        for (std::int32_t k = common; k < count[r]; ++k) step(r, k);
        for (int p = 0; p < NP; ++p) {
            T* out = slots[r] + (panel + p) * L;
            if (segment == 0) acc[r][p].store(out);
            else (Pack<T>::load(out) + acc[r][p]).store(out);
        }
    }
}

// Three panels x a quarter of the features: 784 features of float32 make 37 KiB, of which the often lit ones fit.
inline constexpr int kSparsePanels = 3;

template <class T, int NP>
void sparse_rows(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    constexpr int NR = NP == 1 ? 4 : NP == 2 ? 2 : 1;
    for (int s = 0; s < kSegments; ++s) {
        int r = 0;
        for (; r + NR <= n; r += NR) sparse_segment<T, NP, NR>(panels, panel, s, rows + r, slots + r);
        for (; r < n; ++r) sparse_segment<T, NP, 1>(panels, panel, s, rows + r, slots + r);
    }
}

template <class T>
void dots_sparse(const Panels<T>& panels, int first, int last, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    int p = first;
    for (; p + kSparsePanels <= last; p += kSparsePanels) sparse_rows<T, kSparsePanels>(panels, p, rows, slots, n);
    if (last - p == 2) sparse_rows<T, 2>(panels, p, rows, slots, n);
    else if (last - p == 1) sparse_rows<T, 1>(panels, p, rows, slots, n);
}

// ---- dot products to kernel values --------------------------------------------------------------------------------

template <class T>
void activate(const KernelParams& params, const Panels<T>& panels, int first, int last, T norm2, T* slot) {
    using P = Pack<T>;
    const T gamma = static_cast<T>(params.gamma), coef0 = static_cast<T>(params.coef0);
    const P row_offset = P::set(-gamma * norm2);
    for (int p = first; p < last; ++p) {
        T* out = slot + p * P::kSize;
        const P dot = P::load(out);
        P value;
        if (params.activation == Activation::rbf) {
            P exponent = P::load(panels.offset + p * P::kSize);
            exponent.fma(P::set(2 * gamma), dot);
            value = exponential<T>((exponent + row_offset).where_greater(T(0), P::zero()));
        } else {
            P base = P::set(coef0);
            base.fma(P::set(gamma), dot);
            if (params.activation == Activation::poly) {
                value = P::set(T(1));
                P power = base;
                for (int e = params.degree; e > 0; e /= 2) {
                    if (e % 2) value = value * power;
                    power = power * power;
                }
            } else {  // tanh(v) = sign(v) (1 - e) / (1 + e), e = exp(-2 |v|)
                const P e = exponential<T>(base.abs() * P::set(T(-2)));
                const P magnitude = (P::set(T(1)) - e) / (P::set(T(1)) + e);
                value = P::zero() - magnitude;
                for (int i = 0; i < P::kRegisters; ++i) value.r[i] = base.r[i] < T(0) ? value.r[i] : magnitude.r[i];
            }
        }
        if (panels.has_linear[p]) {
            const P linear = P::load(panels.linear + p * P::kSize);
            for (int i = 0; i < P::kRegisters; ++i) value.r[i] = linear.r[i] > T(0) ? dot.r[i] : value.r[i];
        }
        value.store(out);
    }
}

// ---- chains --------------------------------------------------------------------------------------------------------

// The best predecessor of every lane. Indices are kept as lanes of the score's own width, so that one comparison serves both.
template <class T>
void max_plus(const T* alpha, const T* steps, int n, int n_panels, T* out, std::int32_t* from) {
    using P = Pack<T>;
    using I = typename P::I;
    constexpr int L = P::kSize;
    const std::int64_t step = static_cast<std::int64_t>(n_panels) * L;
    for (int k = 0; k < n_panels; ++k) {
        P best = P::set(alpha[0]) + P::load(steps + k * L);
        I at[P::kRegisters] = {};
        for (int p = 1; p < n; ++p) {
            const P score = P::set(alpha[p]) + P::load(steps + p * step + k * L);
            for (int i = 0; i < P::kRegisters; ++i) {
                const I larger = score.r[i] > best.r[i];
                best.r[i] = larger ? score.r[i] : best.r[i];
                at[i] = larger ? (p - I{}) : at[i];
            }
        }
        best.store(out + k * L);
        for (int i = 0; i < P::kRegisters; ++i)
            for (int j = 0; j < P::kPerRegister; ++j) from[k * L + i * P::kPerRegister + j] = static_cast<std::int32_t>(at[i][j]);
    }
}

}  // namespace WALD_ISA

#include "forest.inl"
#include "online.inl"
#include "readouts.inl"

namespace WALD_ISA {

template <class T>
inline constexpr wald::Kernels<T> table{&scan<T>,     &list_nonzeros<T>, &dots_dense<T>, &dots_sparse<T>,
                                        &activate<T>, &readout<T>,       &absolute<T>,   &accumulate<T>,
                                        {&column_scores<T, float>, &gather_columns<T, float>},
                                        {&column_scores<T, double>, &gather_columns<T, double>}, &add_columns<T>, &readouts<T>,
                                        &accumulate_rows<T>, &max_plus<T>, &forest, online_table<T>, kFused};

}  // namespace WALD_ISA
