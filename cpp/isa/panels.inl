// Panels of rows: columns of values, read from rows or columns of any dtype; and sums of such columns. Included by
// tables.inl, once per instruction set.
namespace WALD_ISA {

// Rows that are transposed together, or 1 if this instruction set has no transposition.
#if defined(__AVX512F__)
inline constexpr int kTile = 16;
#elif defined(__AVX2__)
inline constexpr int kTile = 8;
#else
inline constexpr int kTile = 1;
#endif

// Copies `width` columns of kTile rows to a panel. Returns whether every value is a float32 number, or NaN.
#if defined(__AVX512F__)
inline __m512 load_16(const float* from, __mmask16 columns, __mmask16&) { return _mm512_maskz_loadu_ps(columns, from); }
inline __m512 load_16(const double* from, __mmask16 columns, __mmask16& inexact) {
    const __m512d low = _mm512_maskz_loadu_pd(static_cast<__mmask8>(columns), from);
    const __m512d high = _mm512_maskz_loadu_pd(static_cast<__mmask8>(columns >> 8), from + 8);
    const __m256 low_f32 = _mm512_cvtpd_ps(low), high_f32 = _mm512_cvtpd_ps(high);
    inexact = static_cast<__mmask16>(inexact | _mm512_cmp_pd_mask(_mm512_cvtps_pd(low_f32), low, _CMP_NEQ_OQ) |
                                     _mm512_cmp_pd_mask(_mm512_cvtps_pd(high_f32), high, _CMP_NEQ_OQ));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low_f32), high_f32, 1);
}
inline __m512 load_16(const std::uint8_t* from, __mmask16 columns, __mmask16&) {
    const __m128i bytes = columns == 0xffff ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                                            : _mm_maskz_loadu_epi8(columns, from);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

template <class S>
inline bool transpose_tile(const std::byte* const* rows, std::int64_t column, int width, float* panel) {
    __m512 r[16], t[16];
    const auto columns = static_cast<__mmask16>((1u << width) - 1);
    __mmask16 inexact = 0;
    for (int i = 0; i < 16; ++i) r[i] = load_16(reinterpret_cast<const S*>(rows[i]) + column, columns, inexact);
    for (int i = 0; i < 8; ++i) {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    const auto low = [](__m512 a, __m512 b) {
        return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    };
    const auto high = [](__m512 a, __m512 b) {
        return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    };
    for (int i = 0; i < 4; ++i) {
        r[4 * i] = low(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = high(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = low(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = high(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
        _mm512_storeu_ps(panel + i * wald::kPanelRows, _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88));
        _mm512_storeu_ps(panel + (i + 8) * wald::kPanelRows, _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd));
        _mm512_storeu_ps(panel + (i + 4) * wald::kPanelRows, _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88));
        _mm512_storeu_ps(panel + (i + 12) * wald::kPanelRows, _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd));
    }
    return inexact == 0;
}

inline void transpose_tile_f64(const std::byte* const* rows, std::int64_t column, int width, double* panel) {
    for (int part = 0; part < 4; ++part) {
        const int first_row = part % 2 * 8, first_column = part / 2 * 8;
        const auto columns = static_cast<__mmask8>(((1u << width) - 1) >> first_column);
        __m512d r[8], t[8];
        for (int i = 0; i < 8; ++i)
            r[i] = _mm512_maskz_loadu_pd(columns,
                                         reinterpret_cast<const double*>(rows[first_row + i]) + column + first_column);
        for (int i = 0; i < 4; ++i) {
            t[2 * i] = _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 2; ++i) {
            r[i] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
            r[i + 2] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
            r[i + 4] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
            r[i + 6] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
        }
        double* const to = panel + std::int64_t{first_column} * wald::kPanelRows + first_row;
        for (int i = 0; i < 4; ++i) {
            _mm512_storeu_pd(to + i * wald::kPanelRows, _mm512_shuffle_f64x2(r[i], r[i + 4], 0x88));
            _mm512_storeu_pd(to + (i + 4) * wald::kPanelRows, _mm512_shuffle_f64x2(r[i], r[i + 4], 0xdd));
        }
    }
}
#elif defined(__AVX2__)
inline __m256 load_8(const float* from, bool&) { return _mm256_loadu_ps(from); }
inline __m256 load_8(const double* from, bool& exact) {
    const __m256d low = _mm256_loadu_pd(from), high = _mm256_loadu_pd(from + 4);
    const __m128 low_f32 = _mm256_cvtpd_ps(low), high_f32 = _mm256_cvtpd_ps(high);
    const __m256d changed = _mm256_or_pd(_mm256_cmp_pd(_mm256_cvtps_pd(low_f32), low, _CMP_NEQ_OQ),
                                         _mm256_cmp_pd(_mm256_cvtps_pd(high_f32), high, _CMP_NEQ_OQ));
    exact &= _mm256_movemask_pd(changed) == 0;
    return _mm256_set_m128(high_f32, low_f32);
}
inline __m256 load_8(const std::uint8_t* from, bool&) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

template <class S>
inline bool transpose_tile(const std::byte* const* rows, std::int64_t column, int width, float* panel) {
    bool exact = true;
    for (int first = 0; first < width; first += 8) {
        __m256 r[8], t[8];
        for (int i = 0; i < 8; ++i) {
            const S* const from = reinterpret_cast<const S*>(rows[i]) + column + first;
            S few[8] = {};
            if (width < first + 8) std::copy_n(from, width - first, few);
            r[i] = load_8(width < first + 8 ? few : from, exact);
        }
        for (int i = 0; i < 4; ++i) {
            t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 2; ++i) {
            r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
            r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
            r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
            r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
        }
        float* const to = panel + std::int64_t{first} * wald::kPanelRows;
        for (int i = 0; i < 4; ++i) {
            _mm256_storeu_ps(to + i * wald::kPanelRows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
            _mm256_storeu_ps(to + (i + 4) * wald::kPanelRows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
        }
    }
    return exact;
}
#endif

template <class S, class X>
inline bool copy_row(const std::byte* row, const wald::PanelBlock& block, X* to) {
    bool exact = true;
    for (int c = 0; c < block.width; ++c) {
        const S v = reinterpret_cast<const S*>(row)[block.first + c];
        to[c * wald::kPanelRows] = static_cast<X>(v);
        if constexpr (sizeof(S) > sizeof(X)) exact &= static_cast<S>(to[c * wald::kPanelRows]) == v || v != v;
    }
    return exact;
}

// While a tile is transposed, the lines of later rows are requested: row by row, since neighbouring lines come faster,
// and into the second cache, since rows at equal distances share few sets of the first.
template <class S, class X>
inline bool read_panel(const std::byte* const* rows, int n, int n_known, const wald::PanelBlock* blocks, int n_blocks,
                       X* panel) {
    constexpr bool same = std::is_same_v<X, float> || std::is_same_v<S, double>;
    constexpr int kLines = kTile * std::max(1, static_cast<int>(sizeof(S)) * 16 / 64);  // of a block
    bool exact = true;
    int r = 0;
    if constexpr (kTile > 1 && same && (kTile == 16 || std::is_same_v<X, float>)) {
        for (; r + kTile <= n; r += kTile) {
            int ahead = r + wald::kRowsAhead, block = 0;
            std::int64_t offset = 0;
            for (int b = 0; b < n_blocks; ++b) {
                for (int i = 0; i < kLines && ahead < n_known; ++i) {
                    __builtin_prefetch(reinterpret_cast<const S*>(rows[ahead]) + blocks[block].first + offset, 0, 2);
                    offset += 64 / sizeof(S);
                    if (offset >= 16) {
                        offset = 0;
                        if (++block == n_blocks) block = 0, ++ahead;
                    }
                }
                X* const to = panel + std::int64_t{blocks[b].column} * wald::kPanelRows + r;
                if constexpr (std::is_same_v<X, float>)
                    exact &= transpose_tile<S>(rows + r, blocks[b].first, blocks[b].width, to);
#if defined(__AVX512F__)
                else transpose_tile_f64(rows + r, blocks[b].first, blocks[b].width, to);
#endif
            }
        }
    }
    for (; r < n; ++r)
        for (int b = 0; b < n_blocks; ++b)
            exact &= copy_row<S>(rows[r], blocks[b], panel + std::int64_t{blocks[b].column} * wald::kPanelRows + r);
    return exact;
}

template <class X>
inline bool read_rows(wald::Dtype dtype, const std::byte* const* rows, int n, int n_known,
                      const wald::PanelBlock* blocks, int n_blocks, X* panel) {
    switch (dtype) {
        case wald::Dtype::f32: return read_panel<float>(rows, n, n_known, blocks, n_blocks, panel);
        case wald::Dtype::f64: return read_panel<double>(rows, n, n_known, blocks, n_blocks, panel);
        default: return read_panel<std::uint8_t>(rows, n, n_known, blocks, n_blocks, panel);
    }
}

template <class S, class X>
inline bool copy_column(const std::byte* from, std::int64_t stride, const std::int64_t* ids, int n, int n_known,
                        bool neighbours, X* to) {
    bool exact = true;
    const auto put = [&](int r, S v) {
        to[r] = static_cast<X>(v);
        if constexpr (sizeof(S) > sizeof(X)) exact &= (static_cast<S>(to[r]) == v) | (v != v);
    };
    if (neighbours && stride == sizeof(S)) {
        const S* const values = reinterpret_cast<const S*>(from) + ids[0];
        if (n_known > n)
            for (int i = 0; i < wald::kPanelRows; i += 64 / sizeof(S)) __builtin_prefetch(values + n + i, 0, 2);
        for (int r = 0; r < n; ++r) put(r, values[r]);
    } else {
        for (int r = 0; r < n; ++r) put(r, *reinterpret_cast<const S*>(from + ids[r] * stride));
    }
    return exact;
}

template <class X>
inline bool read_column(wald::Dtype dtype, const std::byte* from, std::int64_t stride, const std::int64_t* ids, int n,
                        int n_known, bool neighbours, X* to) {
    switch (dtype) {
        case wald::Dtype::f32: return copy_column<float>(from, stride, ids, n, n_known, neighbours, to);
        case wald::Dtype::f64: return copy_column<double>(from, stride, ids, n, n_known, neighbours, to);
        default: return copy_column<std::uint8_t>(from, stride, ids, n, n_known, neighbours, to);
    }
}

// Adds weighted columns, column j at at(j), to the sums of rows. Chains of four registers of rows run side by side.
template <class At>
inline void accumulate_columns(const At& at, const float* weights, int m, int n, float* sums) {
    using P = Pack<float>;
    int row = 0;
    for (; row + 3 * P::kSize < n; row += 4 * P::kSize) {
        P sum[4];
        for (int i = 0; i < 4; ++i) sum[i] = P::load(sums + row + i * P::kSize);
        for (int j = 0; j < m; ++j) {
            const float* const column = at(j) + row;
            const P weight = P::set(weights[j]);
            for (int i = 0; i < 4; ++i) sum[i].fma(P::load(column + i * P::kSize), weight);
        }
        for (int i = 0; i < 4; ++i) sum[i].store(sums + row + i * P::kSize);
    }
    for (; row < n; row += P::kSize) {
        P sum = P::load(sums + row);
        for (int j = 0; j < m; ++j) sum.fma(P::load(at(j) + row), P::set(weights[j]));
        sum.store(sums + row);
    }
}

inline void accumulate_panel(const float* values, std::int64_t stride, const float* weights, int m, int n,
                             float* sums) {
    accumulate_columns([&](int j) { return values + j * stride; }, weights, m, n, sums);
}

inline void accumulate_some_of_panel(const float* values, const std::int32_t* which, const float* weights, int m, int n,
                                     float* sums) {
    accumulate_columns([&](int j) { return values + std::int64_t{which[j]} * wald::kPanelRows; }, weights, m, n, sums);
}

inline void best_of_panel(const float* scores, int n_classes, int n, std::int32_t* codes, float* gaps) {
    using P = Pack<float>;
    for (int row = 0; row < n; row += P::kSize) {
        P best = P::load(scores + row), second = P::set(-std::numeric_limits<float>::infinity());
        P::I code[P::kRegisters] = {};
        for (int k = 1; k < n_classes; ++k) {
            const P score = P::load(scores + std::int64_t{k} * wald::kPanelRows + row);
            for (int r = 0; r < P::kRegisters; ++r) {
                const P::I better = score.r[r] > best.r[r];
                const P::R lower = better ? best.r[r] : score.r[r];
                code[r] = better ? k - P::I{} : code[r];
                best.r[r] = better ? score.r[r] : best.r[r];
                second.r[r] = (P::I)(lower > second.r[r]) | (P::I)(lower != lower) ? lower : second.r[r];
            }
        }
        (best - second).store(gaps + row);
        std::memcpy(codes + row, code, sizeof code);
    }
}

template <class X>
inline void mark_refused(const std::int32_t* columns, int n_columns, wald::Refused refuses, const X* panel,
                         std::uint8_t* refused) {
    using P = Pack<X>;
    using I = typename P::I;
    const I infinity = I{} - refuses.infinity, nan = I{} - refuses.nan;
    for (int row = 0; row < wald::kPanelRows; row += P::kSize) {
        I bad[P::kRegisters] = {};
        for (int c = 0; c < n_columns; ++c) {
            const P x = P::load(panel + std::int64_t{columns[c]} * wald::kPanelRows + row);
            for (int i = 0; i < P::kRegisters; ++i) {
                const typename P::R zero = x.r[i] - x.r[i];  // NaN for NaN and infinity
                const I is_nan = (I)(x.r[i] != x.r[i]);
                bad[i] |= (is_nan & nan) | ((I)(zero != zero) & ~is_nan & infinity);
            }
        }
        for (int i = 0; i < P::kRegisters; ++i)
            for (int j = 0; j < P::kPerRegister; ++j) refused[row + i * P::kPerRegister + j] |= bad[i][j] != 0;
    }
}

inline constexpr wald::PanelKernels panel_table{.read = &read_rows<float>,
                                                .read_f64 = &read_rows<double>,
                                                .read_column = &read_column<float>,
                                                .read_column_f64 = &read_column<double>,
                                                .accumulate = &accumulate_panel,
                                                .accumulate_some = &accumulate_some_of_panel,
                                                .best_of = &best_of_panel,
                                                .mark_refused = &mark_refused<float>,
                                                .mark_refused_f64 = &mark_refused<double>};

}  // namespace WALD_ISA
