// Takes panels of rows down to the leaves of decision trees. Included by tables.inl, once per instruction set.
//
// Every row carries the number of a leaf, a byte: the first leaf below the node where the row is. A node moves rows
// that go to the right from the first leaf below it to the first one below its right child. Neither branches nor paths
// depend on rows, and a register holds up to 64 of them.
namespace WALD_ISA {

// ---- steps from leaf to leaf ---------------------------------------------------------------------------------------

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

// Panels that are evaluated together: as many as registers suffice for.
inline constexpr int kTogether = std::min(wald::kMaxPanels, 8 / kByteRegisters);

// Takes the rows of kPanels panels through the steps of kTrees trees, which keep each other's latency hidden.
template <int kPanels, int kTrees>
inline void take_steps(const wald::TreesView& trees, const wald::Tree* tree, const std::int8_t* bins,
                       std::int64_t panel_bytes, PanelBytes (&leaf)[kTrees][kPanels]) {
    for (auto& panels : leaf)
        for (PanelBytes& bytes : panels) bytes = PanelBytes{};
    const auto take = [&](int k, const wald::Step& step) {
        const ByteRegister bin = everywhere(step.bin), from = everywhere(step.leaf), to = everywhere(step.right);
        for (int p = 0; p < kPanels; ++p) {
            const std::int8_t* const x = bins + p * panel_bytes + step.column;
            for (int i = 0; i < kByteRegisters; ++i) {
                ByteRegister& at = leaf[k][p].r[i];
                const auto value = *reinterpret_cast<const ByteRegister*>(x + i * WALD_REGISTER_BYTES);
#if defined(__AVX512F__)
                const __mmask64 above = _mm512_cmpgt_epi8_mask((__m512i)value, (__m512i)bin);  // ahead of `at`
                const __mmask64 moves = _mm512_mask_cmpeq_epi8_mask(above, (__m512i)at, (__m512i)from);
                at = (ByteRegister)_mm512_mask_mov_epi8((__m512i)at, moves, (__m512i)to);
#else
                const ByteRegister moves = (ByteRegister)(at == from) & (ByteRegister)(value > bin);
                at ^= moves & (from ^ to);
#endif
            }
        }
    };
    int n = tree[0].last_step - tree[0].first_step;
    for (int k = 1; k < kTrees; ++k) n = std::min(n, tree[k].last_step - tree[k].first_step);
    for (int s = 0; s < n; ++s)
        for (int k = 0; k < kTrees; ++k) take(k, trees.steps[tree[k].first_step + s]);
    for (int k = 0; k < kTrees; ++k)
        for (int s = tree[k].first_step + n; s < tree[k].last_step; ++s) take(k, trees.steps[s]);
}

// The leaves of a tree whose steps are levels.
template <int kPanels>
inline void take_levels(const wald::TreesView& trees, const wald::Tree& tree, const std::int8_t* bins,
                        std::int64_t panel_bytes, PanelBytes (&leaf)[kPanels]) {
    for (PanelBytes& bytes : leaf) bytes = PanelBytes{};
    for (int s = tree.first_step; s < tree.last_step; ++s) {
        const wald::Step& step = trees.steps[s];
        const ByteRegister bin = everywhere(step.bin), bit = everywhere(step.right);
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

// ---- leaves of trees -----------------------------------------------------------------------------------------------

// The leaves of a tile's rows: bytes or, of a tree that is cut, numbers.
struct Leaves {
    alignas(64) std::uint8_t bytes[wald::kTileRows];
    alignas(64) std::int32_t numbers[wald::kTileRows];
    bool wide;

    std::int32_t operator[](int row) const { return wide ? numbers[row] : bytes[row]; }
};

template <int kPanels>
inline void store_bytes(const PanelBytes (&leaf)[kPanels], Leaves& leaves) {
    std::memcpy(leaves.bytes, leaf, sizeof leaf);
    leaves.wide = false;
}

// Takes the rows of a tile from row `first` on from the exits of a tree that is cut to its leaves. Of a panel with
// fewer rows, the others have leaf 0.
inline void walk_down(const wald::TreesView& trees, const wald::Tree& tree, const wald::Tile& tile, int first,
                      int n_rows, Leaves& leaves) {
    const std::int32_t* const exits = trees.exits + tree.first_exit;
    const int n = std::min(n_rows, tile.n - first);
    for (int i = 0; i < n; ++i) leaves.numbers[i] = exits[leaves.bytes[i]];
    tile.walks.walk(tile.walks.rows, first, n, leaves.numbers);
    for (int i = 0; i < n; ++i) leaves.numbers[i] = ~leaves.numbers[i];
    std::fill(leaves.numbers + n, leaves.numbers + n_rows, 0);
    leaves.wide = true;
}

// Calls use(tree's number, leaves of the rows) for trees [first, last), one after the other, and the kPanels panels of
// a tile from panel `panel` on.
template <int kPanels, int kTrees, class Use>
inline void each_tree(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, int panel,
                      const Use& use) {
    Leaves leaves;
    const std::int8_t* const bins = tile.bins + panel * tile.panel_bytes;
    const auto plain = [&](int t) { return !trees.trees[t].oblivious && trees.trees[t].first_exit < 0; };
    for (int t = first; t < last;) {
        const wald::Tree& tree = trees.trees[t];
        if (tree.oblivious) {
            PanelBytes leaf[kPanels];
            take_levels<kPanels>(trees, tree, bins, tile.panel_bytes, leaf);
            store_bytes(leaf, leaves);
            use(t++, leaves);
            continue;
        }
        if (kTrees > 1 && t + kTrees <= last) {
            bool all = true;
            for (int k = 0; k < kTrees; ++k) all = all && plain(t + k);
            if (all) {
                PanelBytes leaf[kTrees][kPanels];
                take_steps<kPanels, kTrees>(trees, &tree, bins, tile.panel_bytes, leaf);
                for (int k = 0; k < kTrees; ++k) {
                    store_bytes(leaf[k], leaves);
                    use(t++, leaves);
                }
                continue;
            }
        }
        PanelBytes leaf[1][kPanels];
        take_steps<kPanels, 1>(trees, &tree, bins, tile.panel_bytes, leaf);
        store_bytes(leaf[0], leaves);
        if (tree.first_exit >= 0)
            walk_down(trees, tree, tile, panel * wald::kPanelRows, kPanels * wald::kPanelRows, leaves);
        use(t++, leaves);
    }
}

// The same for all panels of a tile; use(tree's number, leaves, first row, number of rows).
template <class Use>
inline void each_tree(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, const Use& use) {
    constexpr int kPair = kByteRegisters == 1 ? 2 : 1;  // where registers suffice for two trees
    const int n_panels = (tile.n + wald::kPanelRows - 1) / wald::kPanelRows;
    for (int p = 0; p < n_panels; p += kTogether) {
        const int n = std::min(kTogether, n_panels - p);
        const int row = p * wald::kPanelRows, rows = n * wald::kPanelRows;
        const auto use_rows = [&](int t, const Leaves& found) { use(t, found, row, rows); };
        if (n == 1) each_tree<1, (kTogether > 1 ? 4 : 1)>(trees, first, last, tile, p, use_rows);
        if constexpr (kTogether > 1)
            if (n == 2) each_tree<2, (kTogether > 2 ? 2 : 1)>(trees, first, last, tile, p, use_rows);
        if constexpr (kTogether > 2)
            if (n == 3) each_tree<3, kPair>(trees, first, last, tile, p, use_rows);
        if constexpr (kTogether > 3)
            if (n == 4) each_tree<4, kPair>(trees, first, last, tile, p, use_rows);
    }
}

}  // namespace WALD_ISA
