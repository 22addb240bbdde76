// Blocks of rows as bins: neighbouring values of some rows are turned into columns, whose bins are then found. Included
// by tables.inl, once per instruction set.
namespace WALD_ISA {

// Copies `width` columns of 16 rows to a panel of columns.
#if defined(__AVX512F__)
inline __m512 load_16(const float* from, __mmask16 columns) { return _mm512_maskz_loadu_ps(columns, from); }
inline __m512 load_16(const double* from, __mmask16 columns) {
    const __m512d low = _mm512_maskz_loadu_pd(static_cast<__mmask8>(columns), from);
    const __m512d high = _mm512_maskz_loadu_pd(static_cast<__mmask8>(columns >> 8), from + 8);
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}
inline __m512 load_16(const std::uint8_t* from, __mmask16 columns) {
    const __m128i bytes = columns == 0xffff ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                                            : _mm_maskz_loadu_epi8(columns, from);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

template <class S>
inline void transpose(const std::byte* const* rows, std::int64_t column, int width, float* panel) {
    __m512 r[16], t[16];
    const auto columns = static_cast<__mmask16>((1u << width) - 1);
    for (int i = 0; i < 16; ++i) r[i] = load_16(reinterpret_cast<const S*>(rows[i]) + column, columns);
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
}
template <class S>
inline void transpose(const std::byte* const* rows, std::int64_t column, int width, double* panel) {
    static_assert(std::is_same_v<S, double>);
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
#else
#if defined(__AVX2__)
inline __m256 load_8(const float* from) { return _mm256_loadu_ps(from); }
inline __m256 load_8(const double* from) {
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(from + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(from)));
}
inline __m256 load_8(const std::uint8_t* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
template <class S>
inline void transpose_8(const std::byte* const* rows, std::int64_t column, float* to) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; ++i) r[i] = load_8(reinterpret_cast<const S*>(rows[i]) + column);
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
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(to + i * wald::kPanelRows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * wald::kPanelRows, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}
#endif
template <class S, class X>
inline void transpose(const std::byte* const* rows, std::int64_t column, int width, X* panel) {
    int first = 0;
#if defined(__AVX2__)
    if constexpr (std::is_same_v<X, float>)
        for (; first + 8 <= width; first += 8)
            for (int part = 0; part < 2; ++part)
                transpose_8<S>(rows + 8 * part, column + first, panel + first * wald::kPanelRows + 8 * part);
#endif
    for (; first < width; ++first)
        for (int i = 0; i < 16; ++i)
            panel[first * wald::kPanelRows + i] = static_cast<X>(reinterpret_cast<const S*>(rows[i])[column + first]);
}
#endif

// Prefetches the cache lines of blocks of some rows: row by row, since neighbouring lines come fastest, and into the
// second cache, since rows at equal distances compete for few sets of the first.
class LinesAhead {
public:
    LinesAhead(const wald::PanelRows& rows, const wald::BinBlock* blocks, int n_blocks, int element_bytes)
        : rows_(rows), blocks_(blocks), n_blocks_(rows.whole ? 1 : n_blocks), bytes_(element_bytes) {
        const wald::BinBlock &first = blocks[0], &last = blocks[n_blocks - 1];
        const std::int64_t width =
            rows.whole ? last.first_feature + last.width - first.first_feature : std::int64_t{wald::kBlock};
        lines_ = (width * bytes_ + 63) / 64 + 1;
    }
    // From now on, `request` takes the lines of rows [first, last).
    void begin(int first, int last) {
        row_ = first, last_ = last;
        block_ = 0, line_ = 0;
    }
    void request(std::int64_t n) {
        for (; n > 0 && row_ < last_; --n) {
            __builtin_prefetch(rows_.rows[row_] + std::int64_t{blocks_[block_].first_feature} * bytes_ + 64 * line_, 0,
                               2);
            if (++line_ < lines_) continue;
            line_ = 0;
            if (++block_ == n_blocks_) block_ = 0, ++row_;
        }
    }
    std::int64_t lines() const { return lines_ * n_blocks_ * (last_ - row_); }

private:
    const wald::PanelRows& rows_;
    const wald::BinBlock* blocks_;
    int n_blocks_, bytes_, row_ = 0, last_ = 0, block_ = 0;
    std::int64_t lines_, line_ = 0;
};

template <class S, class X>
inline void bin_blocks(const wald::BinsView<X>& view, const wald::BinBlock* blocks, int n_blocks,
                       const wald::PanelRows& rows, const wald::ValueRules& rules, std::uint8_t* refused,
                       std::int8_t* bins) {
    if (n_blocks == 0) return;
    alignas(64) X values[wald::kBlock * wald::kPanelRows];
    LinesAhead ahead(rows, blocks, n_blocks, sizeof(S));
    if (rows.is_first) {
        ahead.begin(0, rows.n);
        ahead.request(ahead.lines());
    }
    ahead.begin(rows.n, rows.n_known);
    const std::int64_t per_block = (ahead.lines() + n_blocks - 1) / n_blocks;
    for (int b = 0; b < n_blocks; ++b) {
        for (int r = 0; r < rows.n; r += 16)
            transpose<S>(rows.rows + r, blocks[b].first_feature, blocks[b].width, values + r);
        ahead.request(per_block);
        bin_values(view, blocks[b].first_column, blocks[b].last_column, values, blocks[b].first_feature, rules, rows.n,
                   refused, bins);
    }
}

template <class X>
inline void bin_rows(const wald::BinsView<X>& view, const wald::BinBlock* blocks, int n_blocks,
                     const wald::PanelRows& rows, const wald::ValueRules& rules, std::uint8_t* refused,
                     std::int8_t* bins) {
    if constexpr (std::is_same_v<X, double>)
        return bin_blocks<double>(view, blocks, n_blocks, rows, rules, refused, bins);
    else if (rows.dtype == wald::Dtype::f32)
        return bin_blocks<float>(view, blocks, n_blocks, rows, rules, refused, bins);
    else if (rows.dtype == wald::Dtype::f64)
        return bin_blocks<double>(view, blocks, n_blocks, rows, rules, refused, bins);
    else return bin_blocks<std::uint8_t>(view, blocks, n_blocks, rows, rules, refused, bins);
}

template <class X>
inline constexpr wald::BinKernels<X> bin_table{
    .bin = &bin_values<X>, .bin_panels = &bin_panels<X>, .bin_rows = &bin_rows<X>};

}  // namespace WALD_ISA
