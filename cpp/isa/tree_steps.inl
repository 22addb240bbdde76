// Takes panels of rows through the steps of trees. Included by tables.inl, once per instruction set.
//
// Every row carries the number of a leaf, a byte: the first leaf below the node where the row is. A node moves rows
// that leave for its second child from the first leaf below it to the first one below that child. Neither branches nor
// paths depend on rows, and a register holds up to 64 of them.
namespace WALD_ISA {

// The bytes of a panel.
typedef std::int8_t ByteRegister __attribute__((vector_size(WALD_REGISTER_BYTES), may_alias));
inline constexpr int kByteRegisters = wald::kPanelRows / WALD_REGISTER_BYTES;
struct PanelBytes {
    ByteRegister r[kByteRegisters];
};

// A number that stands in all four bytes, in all bytes of a register.
inline ByteRegister everywhere(std::uint32_t bytes) {
    typedef std::uint32_t Words __attribute__((vector_size(WALD_REGISTER_BYTES)));
    return (ByteRegister)(bytes - Words{});
}

// Nodes of the longest chain. With smaller registers, which hold no masks, chains save no time.
#if defined(__AVX512F__)
inline constexpr int kChain = wald::kLongestChain;
#else
inline constexpr int kChain = 1;
#endif

// Panels that are evaluated together: as many as registers suffice for.
inline constexpr int kTogether = std::min(wald::kMaxPanels, 8 / kByteRegisters);

// Takes the rows of kPanels panels through a chain of kNodes steps. Leaves stay in registers only where it is inlined.
template <int kNodes, int kPanels>
[[gnu::always_inline]] inline void take_chain(const wald::Step* steps, const std::int8_t* bins,
                                              std::int64_t panel_bytes, PanelBytes (&leaf)[kPanels]) {
    const ByteRegister from = everywhere(steps[0].leaf);
    ByteRegister bin[kNodes], to[kNodes], flip[kNodes];
    const std::int8_t* x[kNodes];
    for (int j = 0; j < kNodes; ++j) {
        x[j] = bins + steps[j].column;
        bin[j] = everywhere(steps[j].bin), to[j] = everywhere(steps[j].to), flip[j] = everywhere(steps[j].flip);
    }
    for (int p = 0; p < kPanels; ++p)
        for (int i = 0; i < kByteRegisters; ++i) {
            const auto value = [&](int j) {
                const std::int8_t* const first = x[j] + p * panel_bytes + i * WALD_REGISTER_BYTES;
                const auto loaded = *reinterpret_cast<const ByteRegister*>(first);
                return j == 0 ? loaded : loaded ^ flip[j];
            };
            ByteRegister at = leaf[p].r[i];
#if defined(__AVX512F__)
            if constexpr (kNodes == 1) {
                const __mmask64 above = _mm512_cmpgt_epi8_mask((__m512i)value(0), (__m512i)bin[0]);  // ahead of `at`
                const __mmask64 moves = _mm512_mask_cmpeq_epi8_mask(above, (__m512i)at, (__m512i)from);
                at = (ByteRegister)_mm512_mask_mov_epi8((__m512i)at, moves, (__m512i)to[0]);
            } else {
                const __mmask64 here = _mm512_cmpeq_epi8_mask((__m512i)at, (__m512i)from);
                for (int j = 0; j < kNodes; ++j) {
                    const __mmask64 moves = _mm512_mask_cmpgt_epi8_mask(here, (__m512i)value(j), (__m512i)bin[j]);
                    at = (ByteRegister)_mm512_mask_mov_epi8((__m512i)at, moves, (__m512i)to[j]);
                }
            }
#else
            static_assert(kNodes == 1);
            const ByteRegister moves = (ByteRegister)(at == from) & (ByteRegister)(value(0) > bin[0]);
            at ^= moves & (from ^ to[0]);
#endif
            leaf[p].r[i] = at;
        }
}

struct Nothing {
    void operator()(int) const {}
};

// Takes the rows of kPanels panels through the chains of kNodes steps of kTrees trees, which keep each other's latency
// hidden: those of tree k are [begin[k], end[k]). Calls also(kNodes) after each chain.
template <int kNodes, int kPanels, int kTrees, class Also>
[[gnu::always_inline]] inline void take_chains(const wald::Step* steps, const std::int32_t (&begin)[kTrees],
                                               const std::int32_t (&end)[kTrees], const std::int8_t* bins,
                                               std::int64_t panel_bytes, PanelBytes (&leaf)[kTrees][kPanels],
                                               const Also& also) {
    int n = end[0] - begin[0];
    for (int k = 1; k < kTrees; ++k) n = std::min(n, end[k] - begin[k]);
    const auto take = [&](int k, int s) __attribute__((always_inline)) {
        take_chain<kNodes>(steps + s, bins, panel_bytes, leaf[k]);
        also(kNodes);
    };
    for (int s = 0; s < n; s += kNodes)
        for (int k = 0; k < kTrees; ++k) take(k, begin[k] + s);
    for (int k = 0; k < kTrees; ++k)
        for (int s = begin[k] + n; s < end[k]; s += kNodes) take(k, s);
}

// Takes the rows of kPanels panels through the steps of kTrees trees.
template <int kPanels, int kTrees, class Also = Nothing>
[[gnu::always_inline]] inline void take_steps(const wald::TreesView& trees, const wald::Tree* tree,
                                              const std::int8_t* bins, std::int64_t panel_bytes,
                                              PanelBytes (&leaf)[kTrees][kPanels], const Also& also = {}) {
    std::int32_t three[kTrees], two[kTrees], one[kTrees], end[kTrees];
    for (int k = 0; k < kTrees; ++k) {
        for (PanelBytes& bytes : leaf[k]) bytes = PanelBytes{};
        three[k] = tree[k].first_step, two[k] = tree[k].first_pair, one[k] = tree[k].first_alone;
        end[k] = tree[k].last_step;
    }
    if constexpr (kChain > 1) {
        take_chains<3>(trees.steps, three, two, bins, panel_bytes, leaf, also);
        take_chains<2>(trees.steps, two, one, bins, panel_bytes, leaf, also);
    }
    take_chains<1>(trees.steps, one, end, bins, panel_bytes, leaf, also);
}

// The leaves of a tree whose steps are levels.
template <int kPanels>
inline void take_levels(const wald::TreesView& trees, const wald::Tree& tree, const std::int8_t* bins,
                        std::int64_t panel_bytes, PanelBytes (&leaf)[kPanels]) {
    for (PanelBytes& bytes : leaf) bytes = PanelBytes{};
    for (int s = tree.first_step; s < tree.last_step; ++s) {
        const wald::Step& step = trees.steps[s];
        const ByteRegister bin = everywhere(step.bin), bit = everywhere(step.to);
        for (int p = 0; p < kPanels; ++p)
            for (int i = 0; i < kByteRegisters; ++i) {
                const auto value = *reinterpret_cast<const ByteRegister*>(bins + p * panel_bytes + step.column +
                                                                          i * WALD_REGISTER_BYTES);
                ByteRegister& at = leaf[p].r[i];
#if defined(__AVX512F__)
                const __mmask64 right = _mm512_cmpgt_epi8_mask((__m512i)value, (__m512i)bin);
                at = (ByteRegister)_mm512_mask_add_epi8((__m512i)at, right, (__m512i)at, (__m512i)bit);
#else
                at |= (ByteRegister)(value > bin) & bit;
#endif
            }
    }
}

}  // namespace WALD_ISA
