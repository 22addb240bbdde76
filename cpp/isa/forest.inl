// Evaluates boosted trees for some panels of rows at once. Included by tables.inl, once per instruction set.
namespace WALD_ISA {

// The remaining leaves of a tree as a bit mask, for every lane of some panels of rows.
struct Leaves {
    using P = Pack<float>;
    using N = Register<float>::unsigned_integer;
    static constexpr int kRegisters = wald::kForestRows / P::kPerRegister;
    N left[kRegisters];

    Leaves() {
        for (N& l : left) l = ~N{};
    }
    // Applies a split; x holds its feature for all rows.
    void apply(const wald::ForestView::Split& split, const float* x) {
        const P::R threshold = split.threshold - P::R{};
        const N excluded = split.left - N{};
        for (int i = 0; i < kRegisters; ++i) {
            const P::R value = *reinterpret_cast<const Register<float>::unaligned*>(x + i * P::kPerRegister);
#if defined(__AVX512F__)
            const __mmask16 above = _mm512_cmp_ps_mask((__m512)value, (__m512)threshold, _CMP_GT_OQ);
            left[i] = (N)_mm512_mask_andnot_epi32((__m512i)left[i], above, (__m512i)excluded, (__m512i)left[i]);
#else
            left[i] &= ~((N)(value > threshold) & excluded);
#endif
        }
    }
    // sums[lane] += the value of the first remaining leaf. Its index is the exponent of its bit converted to float (a
    // negative number for the highest bit).
    void add(const double* values, double* sums) const {
        for (int i = 0; i < kRegisters; ++i) {
            const P::R lowest = __builtin_convertvector((P::I)(left[i] & -left[i]), P::R);
            const P::I place = (P::I)(((N)lowest >> 23 & 255) - 127);
            double* to = sums + i * P::kPerRegister;
#if defined(__AVX512F__)
            const __m256i halves[] = {_mm512_castsi512_si256((__m512i)place),
                                      _mm512_extracti64x4_epi64((__m512i)place, 1)};
            for (int h = 0; h < 2; ++h)
                _mm512_storeu_pd(to + 8 * h,
                                 _mm512_add_pd(_mm512_loadu_pd(to + 8 * h), _mm512_i32gather_pd(halves[h], values, 8)));
#else
            std::int32_t at[P::kPerRegister];
            std::memcpy(at, &place, sizeof place);
            for (int l = 0; l < P::kPerRegister; ++l) to[l] += values[at[l]];
#endif
        }
    }
};

inline void add_trees(const wald::ForestView& forest, const float* x, double* sums) {
    for (std::int32_t t = 0; t < forest.n_trees; ++t) {
        const wald::ForestView::Tree tree = forest.trees[t];
        Leaves leaves;
        for (std::int32_t q = tree.first_split; q < tree.last_split; ++q)
            leaves.apply(forest.splits[q], x + std::int64_t{forest.splits[q].feature} * wald::kForestRows);
        leaves.add(forest.values + tree.first_leaf, sums);
    }
}

inline constexpr wald::ForestKernels forest_table{.add = &add_trees};

}  // namespace WALD_ISA
