// Values of a column as bins. Included by tables.inl, once per instruction set.
namespace WALD_ISA {

// ---- values of a column --------------------------------------------------------------------------------------------

// Neighbouring panels of values, and where the bins of the first one go.
template <class X>
struct ColumnPanels {
    const X* values;
    int n;
    std::int64_t panel_bytes;
    std::int8_t* bins;

    // Calls use(values, bins) for each panel.
    template <class Use>
    void each(const Use& use) const {
        for (int p = 0; p < n; ++p) use(values + std::int64_t{p} * wald::kPanelRows, bins + p * panel_bytes);
    }
};

#if defined(__AVX512F__)
// The instructions of a search, for float and double.
template <class X>
struct Search;
template <>
struct Search<float> {
    using R = __m512;
    static R load(const float* x) { return _mm512_loadu_ps(x); }
    static __m512i numbers(int i) { return _mm512_set1_epi32(i); }
    static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
    static __m512i scaled(__m512i a, int power) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(power)); }
    static R look_up(R low, __m512i at, R high) { return _mm512_permutex2var_ps(low, at, high); }
    static R gather(const float* from, __m512i at) { return _mm512_i32gather_ps(at, from, 4); }
    // The values of x above t, to which NaN belongs unless kNanLeft.
    template <bool kNanLeft>
    static __mmask16 above(R x, R t) {
        return _mm512_cmp_ps_mask(x, t, kNanLeft ? _CMP_GT_OQ : _CMP_NLE_UQ);
    }
    static __m512i add(__m512i a, __mmask16 where, __m512i b) { return _mm512_mask_add_epi32(a, where, a, b); }
    // Stores the bins of the numbers in four registers.
    static void store(const __m512i (&at)[4], std::int8_t* bins) {
        const __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(at[0], at[1]), _mm512_packs_epi32(at[2], at[3]));
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_storeu_si512(bins, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(-128)));
    }
};
template <>
struct Search<double> {
    using R = __m512d;
    static R load(const double* x) { return _mm512_loadu_pd(x); }
    static __m512i numbers(int i) { return _mm512_set1_epi64(i); }
    static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
    static __m512i scaled(__m512i a, int power) { return _mm512_sll_epi64(a, _mm_cvtsi32_si128(power)); }
    static R look_up(R low, __m512i at, R high) { return _mm512_permutex2var_pd(low, at, high); }
    static R gather(const double* from, __m512i at) { return _mm512_i64gather_pd(at, from, 8); }
    template <bool kNanLeft>
    static __mmask8 above(R x, R t) {
        return _mm512_cmp_pd_mask(x, t, kNanLeft ? _CMP_GT_OQ : _CMP_NLE_UQ);
    }
    static __m512i add(__m512i a, __mmask8 where, __m512i b) { return _mm512_mask_add_epi64(a, where, a, b); }
    static void store(const __m512i (&at)[4], std::int8_t* bins) {
        for (int i = 0; i < 4; ++i)
            _mm_storel_epi64(reinterpret_cast<__m128i*>(bins + 8 * i),
                             _mm_xor_si128(_mm512_cvtepi64_epi8(at[i]), _mm_set1_epi8(-128)));
    }
};

// Looks up numbers [0, 32 * kTables) of a table.
template <int kTables>
inline __m512 look_up(const float* table, __m512i at) {
    __m512 found[kTables];
    for (int i = 0; i < kTables; ++i)
        found[i] = _mm512_permutex2var_ps(_mm512_loadu_ps(table + 32 * i), at, _mm512_loadu_ps(table + 32 * i + 16));
    for (int n = kTables / 2, bit = 32; n > 0; n /= 2, bit *= 2) {
        const __mmask16 second = _mm512_test_epi32_mask(at, _mm512_set1_epi32(bit));
        for (int i = 0; i < n; ++i) found[i] = _mm512_mask_mov_ps(found[2 * i], second, found[2 * i + 1]);
    }
    return found[0];
}

// A binary search for each value. The first steps look thresholds up in two registers; those that follow in the tables
// of floats or, for doubles, in memory. Values are loaded for each step: compilers would move copies of them through
// memory.
template <int kSteps, bool kNanLeft, class X>
inline void search(const X* thresholds, int steps, const ColumnPanels<X>& panels) {
    using S = Search<X>;
    constexpr int kPer = 64 / static_cast<int>(sizeof(X)), kFirst = std::min(kSteps, wald::kRegisterSteps<X>);
    const typename S::R low = S::load(thresholds), high = S::load(thresholds + kPer);
    const auto four_registers = [&](const X* x, std::int8_t* bins) {  // four chains
        __m512i at[4] = {};
        const auto step = [&](int i, int size, typename S::R t) {
            at[i] = S::add(at[i], S::template above<kNanLeft>(S::load(x + i * kPer), t), S::numbers(size));
        };
#pragma GCC unroll 8
        for (int size = 1 << kFirst >> 1; size > 0; size /= 2)
            for (int i = 0; i < 4; ++i) step(i, size, S::look_up(low, S::add(at[i], S::numbers(size - 1)), high));
        if constexpr (kSteps > kFirst && sizeof(X) == sizeof(float)) {
            const X* table = thresholds + 32 + (1 << kSteps);
            const auto next = [&](auto n_tables) {
                for (int i = 0; i < 4; ++i) {
                    const __m512 t = look_up<n_tables>(table, at[i]);
                    at[i] = S::add(at[i], at[i]);
                    step(i, 1, t);
                }
                table += 32 * n_tables;
            };
            next(std::integral_constant<int, 1>{});
            if constexpr (kSteps > 6) next(std::integral_constant<int, 2>{});
            if constexpr (kSteps > 7) next(std::integral_constant<int, 4>{});
        } else if constexpr (kSteps > kFirst) {
            const X* const sorted = thresholds + (1 << kFirst);
            for (int i = 0; i < 4; ++i) at[i] = S::scaled(at[i], steps - kFirst);
            for (int size = 1 << (steps - kFirst) >> 1; size > 0; size /= 2)
                for (int i = 0; i < 4; ++i) step(i, size, S::gather(sorted, S::add(at[i], S::numbers(size - 1))));
        }
        S::store(at, bins);
    };
    panels.each([&](const X* x, std::int8_t* bins) {
        for (int first = 0; first < wald::kPanelRows; first += 4 * kPer) four_registers(x + first, bins + first);
    });
}

template <bool kNanLeft, class X>
inline void find_bins(const X* thresholds, int steps, const ColumnPanels<X>& panels) {
    switch (steps) {
        case 1: return search<1, kNanLeft>(thresholds, steps, panels);
        case 2: return search<2, kNanLeft>(thresholds, steps, panels);
        case 3: return search<3, kNanLeft>(thresholds, steps, panels);
        case 4: return search<4, kNanLeft>(thresholds, steps, panels);
        case 5: return search<5, kNanLeft>(thresholds, steps, panels);
        case 6: return search<6, kNanLeft>(thresholds, steps, panels);
        case 7: return search<7, kNanLeft>(thresholds, steps, panels);
        default: return search<8, kNanLeft>(thresholds, steps, panels);
    }
}

// Finds the bins of float64 values by those of values and thresholds that are rounded down to float32, of which a
// register holds more. A value is above the thresholds that are below it when both are rounded, and only if it was
// rounded may it be above one more: the one that is equal to it then.
template <bool kNanLeft>
inline void search_rounded(const wald::BinsView<double>& view, int column, const ColumnPanels<double>& panels) {
    const wald::BinColumn &c = view.columns[column], &rounded = view.rounded_columns[column];
    const double* const sorted = view.thresholds + c.first + (1 << wald::kRegisterSteps<double>);
    panels.each([&](const double* x, std::int8_t* bins) {
        alignas(64) float floats[wald::kPanelRows];
        __mmask8 inexact = 0;
        for (int r = 0; r < wald::kPanelRows; r += 8) {
            const __m512d v = _mm512_loadu_pd(x + r);
            const __m256 f = _mm512_cvt_roundpd_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
            inexact |= _mm512_cmp_pd_mask(_mm512_cvtps_pd(f), v, _CMP_NEQ_OQ);
            _mm256_store_ps(floats + r, f);
        }
        find_bins<kNanLeft>(view.rounded_thresholds + rounded.first, rounded.steps,
                            ColumnPanels<float>{floats, 1, 0, bins});
        if (inexact == 0) return;
        for (int r = 0; r < wald::kPanelRows; r += 8) {
            const __m128i found = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bins + r));
            const __m512i at = _mm512_cvtepu8_epi64(_mm_xor_si128(found, _mm_set1_epi8(-128)));
            const __mmask8 above = _mm512_cmp_pd_mask(_mm512_loadu_pd(x + r), _mm512_i64gather_pd(at, sorted, 8),
                                                      _CMP_GT_OQ);  // NaN has its bin
            _mm_storel_epi64(reinterpret_cast<__m128i*>(bins + r),
                             _mm_mask_add_epi8(found, above, found, _mm_set1_epi8(1)));
        }
    });
}

template <bool kNanLeft, class X>
inline void bin_thresholds(const wald::BinsView<X>& view, int column, const ColumnPanels<X>& panels) {
    const wald::BinColumn& c = view.columns[column];
    if constexpr (std::is_same_v<X, double>)
        if (c.apart && c.steps > wald::kRegisterSteps<double>) return search_rounded<kNanLeft>(view, column, panels);
    find_bins<kNanLeft>(view.thresholds + c.first, c.steps, panels);
}
#else
// Whether values are above t, to which NaN belongs unless kNanLeft; all bits are set where they are.
template <bool kNanLeft, class V>
inline auto above(V x, V t) {
    if constexpr (kNanLeft) return x > t;
    else return ~(x <= t);
}

// Stores the bins of the numbers in some registers.
template <class I, int kRegisters>
inline void store_bins(const I (&numbers)[kRegisters], std::int8_t* bins) {
#if defined(__AVX2__)
    if constexpr (kRegisters == 4 && sizeof numbers[0][0] == 4) {
        const auto pack = [](I a, I b) { return _mm256_packs_epi32((__m256i)a, (__m256i)b); };
        const __m256i bytes = _mm256_packus_epi16(pack(numbers[0], numbers[1]), pack(numbers[2], numbers[3]));
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(bins),
                            _mm256_xor_si256(_mm256_permutevar8x32_epi32(bytes, order), _mm256_set1_epi8(-128)));
        return;
    }
#endif
    constexpr int kPer = sizeof(I) / sizeof numbers[0][0];
    for (int i = 0; i < kRegisters; ++i)
        for (int j = 0; j < kPer; ++j) bins[i * kPer + j] = static_cast<std::int8_t>(numbers[i][j] - 128);
}

// Counts the thresholds below each value. Where there are many, those at equal distances are counted, and a binary
// search among the thresholds between two of them follows. Values are loaded for each threshold: compilers would move
// copies of them through memory.
template <bool kNanLeft, class X>
inline void bins_of(const X* thresholds, int steps, const X* x, std::int8_t* bins) {
    using P = Pack<X>;
    constexpr int kCountedSteps = 5, kRegisters = std::min(4, wald::kPanelRows / P::kPerRegister);
    const X* const sorted = thresholds + (steps > wald::kRegisterSteps<X> ? 1 << wald::kRegisterSteps<X> : 0);
    const int distance = 1 << std::max(0, steps - kCountedSteps), counted = (1 << std::min(steps, kCountedSteps)) - 1;
    std::int32_t at[wald::kPanelRows];
    for (int first = 0; first < wald::kPanelRows; first += kRegisters * P::kPerRegister) {
        typename P::I counts[kRegisters] = {};
        for (int j = 0; j < counted; ++j) {
            const typename P::R t = sorted[(j + 1) * distance - 1] - typename P::R{};
            for (int i = 0; i < kRegisters; ++i) {
                const auto* const from = x + first + i * P::kPerRegister;
                const typename P::R v = *reinterpret_cast<const typename Register<X>::unaligned*>(from);
                counts[i] -= (typename P::I)above<kNanLeft>(v, t);  // true is -1
            }
        }
        if (distance == 1) store_bins(counts, bins + first);
        else
            for (int i = 0; i < kRegisters; ++i)
                for (int j = 0; j < P::kPerRegister; ++j)
                    at[first + i * P::kPerRegister + j] = static_cast<std::int32_t>(counts[i][j]) * distance;
    }
    if (distance == 1) return;
    const auto beyond = [](X value, X t) { return kNanLeft ? value > t : !(value <= t); };
    for (int size = distance / 2; size > 0; size /= 2)
        for (int r = 0; r < wald::kPanelRows; ++r) at[r] += beyond(x[r], sorted[at[r] + size - 1]) ? size : 0;
    for (int r = 0; r < wald::kPanelRows; ++r) bins[r] = static_cast<std::int8_t>(at[r] - 128);
}

template <bool kNanLeft, class X>
inline void bin_thresholds(const wald::BinsView<X>& view, int column, const ColumnPanels<X>& panels) {
    const wald::BinColumn& c = view.columns[column];
    panels.each([&](const X* x, std::int8_t* bins) { bins_of<kNanLeft>(view.thresholds + c.first, c.steps, x, bins); });
}
#endif

// Finds the bins of a column where NaN are highest, and of the next one, where they are lowest.
template <class X>
inline void bin_both(const wald::BinsView<X>& view, int column, const ColumnPanels<X>& panels) {
    bin_thresholds<false>(view, column, panels);
    panels.each([&](const X* x, std::int8_t* bins) {
        for (int r = 0; r < wald::kPanelRows; ++r)
            bins[wald::kPanelRows + r] = x[r] == x[r] ? bins[r] : static_cast<std::int8_t>(-128);
    });
}

// Whether some of 64 values are NaN or infinite.
template <class X>
inline bool any_not_finite(const X* x) {
    using P = Pack<X>;
    typename P::I found{};
    for (int r = 0; r < wald::kPanelRows; r += P::kPerRegister) {
        const typename P::R v = *reinterpret_cast<const typename Register<X>::unaligned*>(x + r);
        found |= (typename P::I)(v - v != v - v);  // inf - inf is NaN
    }
    std::uint64_t words[sizeof found / 8], any = 0;
    std::memcpy(words, &found, sizeof found);
    for (const std::uint64_t word : words) any |= word;
    return any != 0;
}

template <class X>
inline void bin_column(const wald::BinsView<X>& view, int column, const ColumnPanels<X>& panels) {
    const wald::BinColumn& c = view.columns[column];
    switch (c.kind) {
        case wald::BinKind::nan_right: return bin_thresholds<false>(view, column, panels);
        case wald::BinKind::nan_left: return bin_thresholds<true>(view, column, panels);
        case wald::BinKind::nan_both: return bin_both(view, column, panels);
        case wald::BinKind::category_split:
            return panels.each([&](const X* x, std::int8_t* bins) {
                bin_split(view.category_splits[c.first], view.category_bits, x, bins);
            });
        case wald::BinKind::category_group:
            return panels.each(
                [&](const X* x, std::int8_t* bins) { bin_group(view, view.category_groups[c.first], x, bins); });
        case wald::BinKind::computed: return;
    }
}

template <class X>
inline void bin_panels(const wald::BinsView<X>& view, int first, int last, const X* values, int n,
                       std::int64_t panel_bytes, std::int8_t* bins) {
    for (int c = first; c < last; ++c)
        bin_column(view, c, ColumnPanels<X>{values, n, panel_bytes, bins + std::int64_t{c} * wald::kPanelRows});
}

// ---- values that count as NaN, or are refused ----------------------------------------------------------------------

template <class X>
inline void mark_missing(const wald::MissingRule& rule, std::int32_t feature, X* x) {
    constexpr X nan = std::numeric_limits<X>::quiet_NaN();
    const X missing = static_cast<X>(rule.missing);
    if (static_cast<double>(missing) == rule.missing)
        for (int r = 0; r < wald::kPanelRows; ++r) x[r] = x[r] == missing ? nan : x[r];
    if (rule.zero_is_missing == nullptr || rule.zero_is_missing[feature] == 0) return;
    for (int r = 0; r < wald::kPanelRows; ++r)
        x[r] = static_cast<double>(x[r] < 0 ? -x[r] : x[r]) <= wald::MissingRule::kTiny ? nan : x[r];
}

template <class X>
inline void mark_refused(wald::Refused refuses, const X* x, int n, std::uint8_t* refused) {
    if (!any_not_finite(x)) return;
    for (int r = 0; r < n; ++r) {
        const bool nan = x[r] != x[r];
        refused[r] |= nan ? refuses.nan : x[r] - x[r] != 0 && refuses.infinity;
    }
}

template <class X>
inline void bin_values(const wald::BinsView<X>& view, int first, int last, X* values, std::int32_t base,
                       const wald::ValueRules& rules, int n, std::uint8_t* refused, std::int8_t* bins) {
    std::int32_t before = -1;
    for (int c = first; c < last; ++c) {
        const std::int32_t feature = view.columns[c].feature;
        X* const x = values + std::int64_t{feature - base} * wald::kPanelRows;
        if (feature != before && rules.missing) mark_missing(rules.missing, feature, x);
        if (feature != before && rules.refused) mark_refused(rules.refused, x, n, refused);
        before = feature;
        bin_column(view, c, ColumnPanels<X>{x, 1, 0, bins + std::int64_t{c} * wald::kPanelRows});
    }
}

}  // namespace WALD_ISA
