// Kernels that compare estimates with the thresholds of a stage: eight rows at a time in float64, the type of estimates
// from columns, and with AVX-512 sixteen in float32, the type of estimates from trees. Included by tables.inl, once per
// instruction set.

namespace WALD_ISA {

#if defined(__AVX2__)
// Appends those of the eight numbers first .. first + 7 that the mask keeps; always writes eight.
inline int append_kept(unsigned mask, int first, std::int32_t* numbers) {
    const __m256i all = _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#if defined(__AVX512F__)
    const __m256i kept = _mm256_maskz_compress_epi32(static_cast<__mmask8>(mask), all);
#else
    const __m256i lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kKeptLanes.lanes[mask])));
    const __m256i kept = _mm256_permutevar8x32_epi32(all, lanes);
#endif
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers), kept);
    return __builtin_popcount(mask);
}

// Masks of eight estimates: above `high`, below `low`, finite.
struct Sides {
    unsigned above, below, finite;
};
inline Sides sides(const double* z, double low, double high) {
#if defined(__AVX512F__)
    const __m512d v = _mm512_loadu_pd(z);
    return {_mm512_cmp_pd_mask(v, _mm512_set1_pd(high), _CMP_GT_OQ),
            _mm512_cmp_pd_mask(v, _mm512_set1_pd(low), _CMP_LT_OQ),
            _mm512_cmp_pd_mask(_mm512_sub_pd(v, v), _mm512_setzero_pd(), _CMP_EQ_OQ)};
#else
    Sides both{0, 0, 0};
    for (int half = 0; half < 2; ++half) {
        const __m256d v = _mm256_loadu_pd(z + 4 * half);
        const auto mask = [&](__m256d met) { return static_cast<unsigned>(_mm256_movemask_pd(met)) << (4 * half); };
        both.above |= mask(_mm256_cmp_pd(v, _mm256_set1_pd(high), _CMP_GT_OQ));
        both.below |= mask(_mm256_cmp_pd(v, _mm256_set1_pd(low), _CMP_LT_OQ));
        both.finite |= mask(_mm256_cmp_pd(_mm256_sub_pd(v, v), _mm256_setzero_pd(), _CMP_EQ_OQ));
    }
    return both;
#endif
}

// Answers those of eight rows whose bits are set in `leaves`.
inline void answer_eight(unsigned leaves, unsigned above, unsigned finite, std::int32_t stage, std::int32_t* codes,
                         std::int32_t* stages, wald::Status* status) {
    // Eight bytes are written, no more: a masked store of sixteen would delay the next load.
    constexpr auto not_finite = static_cast<char>(wald::Status::not_finite);
    auto* const to = reinterpret_cast<__m128i*>(status);
#if defined(__AVX512F__)
    const auto mask = static_cast<__mmask8>(leaves);
    _mm256_mask_storeu_epi32(codes, mask, _mm256_maskz_set1_epi32(static_cast<__mmask8>(above & finite), 1));
    _mm256_mask_storeu_epi32(stages, mask, _mm256_set1_epi32(stage));
    const __m128i found = _mm_maskz_set1_epi8(static_cast<__mmask16>(~finite), not_finite);  // Status::early is 0
    _mm_storel_epi64(to, _mm_mask_blend_epi8(static_cast<__mmask16>(leaves), _mm_loadl_epi64(to), found));
#else
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const auto lanes = [&](unsigned mask) {
        return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit), bit);
    };
    const auto bytes = [](unsigned mask) {
        const __m128i bits = _mm_cvtsi64_si128(static_cast<long long>(0x8040201008040201u));
        return _mm_cmpeq_epi8(_mm_and_si128(_mm_set1_epi8(static_cast<char>(mask)), bits), bits);
    };
    _mm256_maskstore_epi32(codes, lanes(leaves), _mm256_srli_epi32(lanes(above & finite), 31));
    _mm256_maskstore_epi32(stages, lanes(leaves), _mm256_set1_epi32(stage));
    const __m128i found = _mm_andnot_si128(bytes(finite), _mm_set1_epi8(not_finite));
    _mm_storel_epi64(to, _mm_blendv_epi8(_mm_loadl_epi64(to), found, bytes(leaves)));
#endif
}

// Stores those of eight estimates whose bits are set in `leaves`.
inline void keep_eight(unsigned leaves, const double* estimates, double* last) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(last, static_cast<__mmask8>(leaves), _mm512_loadu_pd(estimates));
#else
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    for (int half = 0; half < 2; ++half) {
        const __m256i some = _mm256_set1_epi64x(leaves >> (4 * half));
        _mm256_maskstore_pd(last + 4 * half, _mm256_cmpeq_epi64(_mm256_and_si256(some, bit), bit),
                            _mm256_loadu_pd(estimates + 4 * half));
    }
#endif
}

inline unsigned pending_eight(const wald::Status* status) {
    const __m128i same = _mm_cmpeq_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(status)),
                                        _mm_set1_epi8(static_cast<char>(wald::Status::pending)));
    return static_cast<unsigned>(_mm_movemask_epi8(same)) & 255u;
}
#endif

template <class T>
int decide(const T* z, int n, T low, T high, std::int32_t stage, const wald::Ledger& ledger, std::int32_t* left,
           const T* estimates, T* last) {
    std::int32_t *const codes = ledger.codes, *const stages = ledger.stages;
    wald::Status* const status = ledger.status;
    int kept = 0, i = 0;
#if defined(__AVX2__)
    if constexpr (sizeof(T) == 8) {
        for (; i + 8 <= n; i += 8) {
            const unsigned pending = pending_eight(status + i);
            const Sides s = sides(z + i, low, high);
            const unsigned leaves = pending & (s.above | s.below | (s.finite ^ 255u));
            answer_eight(leaves, s.above, s.finite, stage, codes + i, stages + i, status + i);
            if (last != nullptr) keep_eight(leaves, estimates + i, last + i);
            kept += append_kept(pending & ~leaves, i, left + kept);
        }
    }
#endif
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m128i waits = _mm_set1_epi8(static_cast<char>(wald::Status::pending));
        constexpr auto not_finite = static_cast<char>(wald::Status::not_finite);
        for (; i + 16 <= n; i += 16) {
            const __m512 v = _mm512_loadu_ps(z + i);
            const __mmask16 pending =
                _mm_cmpeq_epi8_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(status + i)), waits);
            const __mmask16 above = _mm512_cmp_ps_mask(v, _mm512_set1_ps(high), _CMP_GT_OQ);
            const __mmask16 below = _mm512_cmp_ps_mask(v, _mm512_set1_ps(low), _CMP_LT_OQ);
            const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_sub_ps(v, v), _mm512_setzero_ps(), _CMP_EQ_OQ);
            const auto leaves = static_cast<__mmask16>(pending & (above | below | ~finite));
            const auto keeps = static_cast<__mmask16>(pending & ~leaves);
            const auto positive = static_cast<__mmask16>(above & finite);
            _mm512_mask_storeu_epi32(codes + i, leaves, _mm512_maskz_set1_epi32(positive, 1));
            _mm512_mask_storeu_epi32(stages + i, leaves, _mm512_set1_epi32(stage));
            _mm_mask_storeu_epi8(status + i, leaves, _mm_maskz_set1_epi8(static_cast<__mmask16>(~finite), not_finite));
            if (last != nullptr) _mm512_mask_storeu_ps(last + i, leaves, _mm512_loadu_ps(estimates + i));
            _mm512_storeu_si512(left + kept,
                                _mm512_maskz_compress_epi32(keeps, _mm512_add_epi32(lanes, _mm512_set1_epi32(i))));
            kept += __builtin_popcount(keeps);
        }
    }
#endif
    for (; i < n; ++i) {
        const bool pending = status[i] == wald::Status::pending, finite = z[i] - z[i] == T(0), above = z[i] > high,
                   below = z[i] < low;
        const bool leaves = pending & (above | below | !finite);
        codes[i] = leaves ? above & finite : codes[i];
        stages[i] = leaves ? stage : stages[i];
        status[i] = leaves ? (finite ? wald::Status::early : wald::Status::not_finite) : status[i];
        if (last != nullptr) last[i] = leaves ? estimates[i] : last[i];
        left[kept] = i;
        kept += pending & !leaves;
    }
    return kept;
}

template <class T>
void decide_signs(const T* scores, const T* errors, int n, T margin, T threshold, bool tie_positive,
                  std::int32_t* codes, wald::Status* status) {
    using P = Pack<T>;
    using R = typename P::R;
    constexpr int L = P::kSize;
    const R zero{}, one = P::set(T(1)).r[0], infinity = P::set(std::numeric_limits<T>::infinity()).r[0];
    const R full = P::set(T(static_cast<int>(wald::Status::full))).r[0];
    const R handed_over = P::set(T(static_cast<int>(wald::Status::handed_over))).r[0];
    const R at_tie = tie_positive ? one : zero, middle = P::set(threshold).r[0], more = P::set(margin).r[0];
    for (int i = 0; i < n; i += L) {
        const P f = P::load(scores + i), e = P::load(errors + i);
        P code, state;
        for (int p = 0; p < P::kRegisters; ++p) {
            const R d = f.r[p] - middle, size = d < zero ? -d : d, error = e.r[p] + more;
            // A comparison with NaN is false.
            const R known = error < infinity ? (size > error ? one : size == zero && error == zero ? one : zero) : zero;
            code.r[p] = known == zero ? zero : d > zero ? one : d == zero ? at_tie : zero;
            state.r[p] = known == zero ? handed_over : full;
        }
        T c[L], s[L];
        code.store(c);
        state.store(s);
        const int m = n - i < L ? n - i : L;
        if (m == L) {
            for (int j = 0; j < L; ++j) codes[i + j] = static_cast<std::int32_t>(c[j]);
            for (int j = 0; j < L; ++j)
                status[i + j] = static_cast<wald::Status>(static_cast<std::uint8_t>(static_cast<std::int32_t>(s[j])));
        } else {
            for (int j = 0; j < m; ++j) {
                codes[i + j] = static_cast<std::int32_t>(c[j]);
                status[i + j] = static_cast<wald::Status>(static_cast<std::uint8_t>(static_cast<std::int32_t>(s[j])));
            }
        }
    }
}

}  // namespace WALD_ISA
