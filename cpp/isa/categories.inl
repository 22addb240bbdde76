// Values of columns of categories as bins. Included by tables.inl, once per instruction set.
//
// A group has up to 64 splits of one feature. Each of 64 rows finds the word of its category, whose bits say which
// splits send it to the left. These words are the rows of a matrix of bits; its columns are the rows that each split
// sends to the left.
namespace WALD_ISA {

// Transposes a matrix of 64 x 64 bits: blocks of half the size change places, then those inside each of them.
inline void transpose_bits(std::uint64_t* rows) {
    std::uint64_t mask = ~std::uint64_t{0} >> 32;
    for (int size = 32; size > 0; size /= 2, mask ^= mask << size)
        for (int first = 0; first < 64; first += 2 * size)
            for (int r = first; r < first + size; ++r) {
                const std::uint64_t differs = (rows[r] >> size ^ rows[r + size]) & mask;
                rows[r + size] ^= differs;
                rows[r] ^= differs << size;
            }
}

// Stores 64 bytes: -1 where a bit is set, else 0.
inline void store_bits(std::uint64_t bits, std::int8_t* to) {
#if defined(__AVX512F__)
    _mm512_storeu_si512(to, _mm512_movm_epi8(bits));
#else
    constexpr std::uint64_t each = 0x0101010101010101u, one_of_each = 0x8040201008040201u, highest = 0x80 * each;
    for (int byte = 0; byte < 8; ++byte) {
        const std::uint64_t bit = (bits >> 8 * byte & 255) * each & one_of_each;  // byte i keeps bit i
        const std::uint64_t is_set = (((bit & ~highest) + ~highest) | bit) & highest;
        const std::uint64_t bytes = (is_set >> 7) * 255;
        std::memcpy(to + 8 * byte, &bytes, sizeof bytes);
    }
#endif
}

// Stores the bins of all splits of a group.
template <class X>
inline void bin_group(const wald::BinsView<X>& view, const wald::CategoryGroup& group, const X* x, std::int8_t* bins) {
    static_assert(wald::kPanelRows == 64 && wald::CategoryGroup::kMaxSplits == 64);
    const std::int32_t n = group.n_categories;
    const X end = static_cast<X>(n);
    std::int32_t word[64];
    for (int r = 0; r < 64; ++r) {
        const X v = x[r];
        const bool is_category = v >= X(0) && v < end;
        const std::int32_t other = n + (v != v ? 2 : v > X(-1) && v < X(0) ? 1 : 0);
        word[r] = is_category ? static_cast<std::int32_t>(v) : other;
    }
    const std::uint64_t* const words = view.group_words + group.first_word;
    std::uint64_t bits[64];
    for (int r = 0; r < 64; ++r) bits[r] = words[word[r]];
    transpose_bits(bits);
    for (int j = 0; j < group.n_splits; ++j) store_bits(bits[j], bins + std::int64_t{j} * wald::kPanelRows);
}

// Stores the bins of a split that is in no group.
template <class X>
inline void bin_split(const wald::CategorySplit& split, const std::uint32_t* bits, const X* x, std::int8_t* bins) {
    for (int r = 0; r < wald::kPanelRows; ++r) bins[r] = wald::category_goes_left(split, bits, x[r]) ? -1 : 0;
}

}  // namespace WALD_ISA
