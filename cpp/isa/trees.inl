// Evaluates decision trees for a panel of rows at once. Included by tables.inl, once per instruction set.
//
// No path is followed: every split of a tree excludes leaves for the rows that go to the right, and the first leaf that
// is left is the row's (Lucchese et al., "QuickScorer", SIGIR 2015; with rows in lanes: "Exploiting CPU SIMD extensions
// to speed-up document scoring with tree ensembles", SIGIR 2016). Splits need no order, so that nothing is sorted or
// searched, and masks stay in registers.
namespace WALD_ISA {

// The leaves of some rows: 32 of them as a mask, or the index of one, in every lane of four registers.
struct LeafLanes {
    using N = Register<float>::unsigned_integer;
    static constexpr int kPerRegister = WALD_REGISTER_BYTES / 4;
    static constexpr int kRegisters = 4;
    static constexpr int kRows = kRegisters * kPerRegister;
    N r[kRegisters];
};

// 1 bits in the lanes that go to the right.
template <bool NanRight>
inline LeafLanes::N goes_right(const float* x, float threshold) {
    using P = Pack<float>;
    const P::R value = *reinterpret_cast<const Register<float>::unaligned*>(x), t = threshold - P::R{};
    return NanRight ? ~(LeafLanes::N)(value <= t) : (LeafLanes::N)(value > t);
}
template <bool NanRight>
inline LeafLanes::N goes_right(const double* x, double threshold) {
    using P = Pack<double>;
    using Half = Register<double>::unaligned;
    const P::R t = threshold - P::R{};
    const P::R a = *reinterpret_cast<const Half*>(x), b = *reinterpret_cast<const Half*>(x + P::kPerRegister);
    const P::I left = NanRight ? (P::I) ~(a <= t) : (P::I)(a > t), right = NanRight ? (P::I) ~(b <= t) : (P::I)(b > t);
    std::int32_t lanes[2 * P::kPerRegister];
    for (int i = 0; i < P::kPerRegister; ++i) {
        lanes[i] = static_cast<std::int32_t>(left[i]);
        lanes[P::kPerRegister + i] = static_cast<std::int32_t>(right[i]);
    }
    LeafLanes::N n;
    std::memcpy(&n, lanes, sizeof n);
    return n;
}

#if defined(__AVX512F__)
template <bool NanRight>
inline __mmask16 right_mask(const float* x, float threshold) {
    const __m512 value = _mm512_loadu_ps(x), t = _mm512_set1_ps(threshold);
    return NanRight ? _mm512_cmp_ps_mask(value, t, _CMP_NLE_UQ) : _mm512_cmp_ps_mask(value, t, _CMP_GT_OQ);
}
template <bool NanRight>
inline __mmask16 right_mask(const double* x, double threshold) {
    const __m512d t = _mm512_set1_pd(threshold), a = _mm512_loadu_pd(x), b = _mm512_loadu_pd(x + 8);
    const __mmask8 l = NanRight ? _mm512_cmp_pd_mask(a, t, _CMP_NLE_UQ) : _mm512_cmp_pd_mask(a, t, _CMP_GT_OQ);
    const __mmask8 r = NanRight ? _mm512_cmp_pd_mask(b, t, _CMP_NLE_UQ) : _mm512_cmp_pd_mask(b, t, _CMP_GT_OQ);
    return _mm512_kunpackb(r, l);
}
#endif

template <bool NanRight, class X>
inline void exclude(const wald::Split<X>* split, const wald::Split<X>* last, const X* panel, LeafLanes& left) {
    for (; split != last; ++split) {
        const X* const x = panel + std::int64_t{split->column} * wald::kPanelRows;
#if defined(__AVX512F__)
        const __m512i kept = _mm512_set1_epi32(static_cast<int>(~split->left));
        for (int i = 0; i < LeafLanes::kRegisters; ++i)
            left.r[i] = (LeafLanes::N)_mm512_mask_and_epi32(
                (__m512i)left.r[i], right_mask<NanRight>(x + i * LeafLanes::kPerRegister, split->threshold),
                (__m512i)left.r[i], kept);
#else
        const LeafLanes::N excluded = split->left - LeafLanes::N{};
        for (int i = 0; i < LeafLanes::kRegisters; ++i)
            left.r[i] &= ~(goes_right<NanRight>(x + i * LeafLanes::kPerRegister, split->threshold) & excluded);
#endif
    }
}

template <class X>
inline bool category_goes_left(const wald::CategorySplit& split, const std::uint32_t* bits, X x) {
    if (x != x) return split.nan_left;
    const X number = x > X(0) ? x : X(0);  // numbers in (-1, 0) truncate to category 0, which an empty set lacks
    if ((split.truncates ? x <= X(-1) : x < X(0)) || number >= static_cast<X>(split.n_categories))
        return split.other_left;
    const auto category = static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
    return bits[split.first_bit_word + (category >> 5)] >> (category & 31) & 1;
}

template <class X>
inline void exclude_categories(const wald::TreesView<X>& trees, const wald::LeafWord& word, const X* panel,
                               LeafLanes& left) {
    for (std::int32_t c = word.first_category; c < word.last_category; ++c) {
        const wald::CategorySplit& split = trees.category_splits[c];
        const X* const x = panel + std::int64_t{split.column} * wald::kPanelRows;
        std::uint32_t kept[LeafLanes::kRows];
        for (int i = 0; i < LeafLanes::kRows; ++i)
            kept[i] = category_goes_left(split, trees.category_bits, x[i]) ? ~std::uint32_t{0} : ~split.left;
        for (int i = 0; i < LeafLanes::kRegisters; ++i) {
            LeafLanes::N k;
            std::memcpy(&k, kept + i * LeafLanes::kPerRegister, sizeof k);
            left.r[i] &= k;
        }
    }
}

template <class X>
inline LeafLanes remaining_leaves(const wald::TreesView<X>& trees, const wald::LeafWord& word, const X* panel) {
    LeafLanes left;
    for (LeafLanes::N& r : left.r) r = ~LeafLanes::N{};
    exclude<false>(trees.splits + word.first, trees.splits + word.nan_right, panel, left);
    exclude<true>(trees.splits + word.nan_right, trees.splits + word.last, panel, left);
    if (word.first_category < word.last_category) exclude_categories(trees, word, panel, left);
    return left;
}

// The index of the lowest bit: the exponent of this bit as a float (a negative number for the highest bit).
inline LeafLanes::N lowest_bit(LeafLanes::N mask) {
    using P = Pack<float>;
    const P::R lowest = __builtin_convertvector((P::I)(mask & -mask), P::R);
    return ((LeafLanes::N)lowest >> 23 & 255) - 127;
}

// The node below a node for a value x.
template <class X>
inline std::int32_t next_node(const wald::TreesView<X>& trees, const wald::WalkNode<X>& node, X x) {
    if (node.column < 0)
        return node.left() + !category_goes_left(trees.category_splits[~node.column], trees.category_bits, x);
    return node.left() + (!(x <= node.threshold) & !((x != x) & node.nan_left()));
}

// Where the values of a tree's leaves are: `bytes` from one leaf to the next.
struct LeafPlaces {
    const void* first;
    std::size_t bytes;

    const void* operator[](std::int32_t place) const {
        return static_cast<const char*>(first) + static_cast<std::size_t>(place) * bytes;
    }
};

// Follows the part of a tree below its top for the rows of a panel, step by step. What the next step of a row reads is
// prefetched while the other rows take theirs. at[i] is the node of row i, and becomes the place of its leaf.
template <bool kCategories, class X>
inline void walk_down(const wald::TreesView<X>& trees, const LeafPlaces& leaves, const X* panel, std::uint32_t* at) {
    std::uint8_t rows[LeafLanes::kRows];
    for (int i = 0; i < LeafLanes::kRows; ++i) {
        rows[i] = static_cast<std::uint8_t>(i);
        __builtin_prefetch(trees.nodes + at[i]);
    }
    for (int n = LeafLanes::kRows; n > 0;) {
        int left = 0;
        for (int k = 0; k < n; ++k) {
            const int i = rows[k];
            const wald::WalkNode<X>& node = trees.nodes[at[i]];
            std::int32_t column = node.column;
            if (kCategories && column < 0) column = trees.category_splits[~column].column;
            const X x = panel[std::int64_t{column} * wald::kPanelRows + i];
            const std::int32_t next = kCategories
                                          ? next_node(trees, node, x)
                                          : node.left() + (!(x <= node.threshold) & !((x != x) & node.nan_left()));
            const bool arrived = node.is_leaf();
            const std::int32_t place = arrived ? node.place() : next;
            __builtin_prefetch(arrived ? leaves[place] : static_cast<const void*>(trees.nodes + place));
            at[i] = static_cast<std::uint32_t>(place);
            rows[left] = static_cast<std::uint8_t>(i);
            left += !arrived;
        }
        n = left;
    }
}

// The leaf of each row, as its place in the tree.
template <class X>
inline LeafLanes find_leaves(const wald::TreesView<X>& trees, const wald::Tree& tree, const LeafPlaces& leaves,
                             const X* panel) {
    LeafLanes found;
    if (tree.n_words == 0) {  // one leaf
        for (LeafLanes::N& r : found.r) r = LeafLanes::N{};
        return found;
    }
    const LeafLanes first = remaining_leaves(trees, trees.words[tree.first_word], panel);
    if (tree.n_words == 1) {
        for (int i = 0; i < LeafLanes::kRegisters; ++i) found.r[i] = lowest_bit(first.r[i]);
    } else {
        for (int i = 0; i < LeafLanes::kRegisters; ++i)
            found.r[i] = first.r[i] != 0 ? lowest_bit(first.r[i]) : ~LeafLanes::N{};
        for (std::int32_t w = 1; w < tree.n_words; ++w) {
            const LeafLanes next = remaining_leaves(trees, trees.words[tree.first_word + w], panel);
            for (int i = 0; i < LeafLanes::kRegisters; ++i) {
                const LeafLanes::N place = lowest_bit(next.r[i]) + static_cast<std::uint32_t>(32 * w);
                const LeafLanes::N here = (LeafLanes::N)((found.r[i] == ~LeafLanes::N{}) & (next.r[i] != 0));
                found.r[i] = (here & place) | (~here & found.r[i]);
            }
        }
    }
    if (tree.first_exit >= 0) {
        std::uint32_t at[LeafLanes::kRows];
        std::memcpy(at, found.r, sizeof at);
        for (int i = 0; i < LeafLanes::kRows; ++i)
            at[i] = static_cast<std::uint32_t>(trees.exits[tree.first_exit + at[i]]);
        if (trees.category_splits == nullptr) walk_down<false>(trees, leaves, panel, at);
        else walk_down<true>(trees, leaves, panel, at);
        std::memcpy(found.r, at, sizeof at);
    }
    return found;
}

#if defined(__AVX512F__)
// 32 doubles, the lower and the higher halves of their bits apart.
struct LeafTable {
    __m512i low[2], high[2];

    explicit LeafTable(const double* leaves) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        for (int i = 0; i < 2; ++i) {
            const __m512i a = _mm512_loadu_si512(leaves + 16 * i), b = _mm512_loadu_si512(leaves + 16 * i + 8);
            low[i] = _mm512_permutex2var_epi32(a, even, b);
            high[i] = _mm512_permutex2var_epi32(a, odd, b);
        }
    }
    // Calls use(first lane, 8 values) for both halves of a register.
    template <class Use>
    void each(LeafLanes::N places, const Use& use) const {
        const __m512i at = (__m512i)places;
        const __m512i l = _mm512_permutex2var_epi32(low[0], at, low[1]);
        const __m512i h = _mm512_permutex2var_epi32(high[0], at, high[1]);
        const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        use(0, _mm512_castsi512_pd(_mm512_permutex2var_epi32(l, first, h)));
        use(8, _mm512_castsi512_pd(_mm512_permutex2var_epi32(l, _mm512_add_epi32(first, _mm512_set1_epi32(8)), h)));
    }
};
#endif

// Values of the leaves of all lanes. `few`: the tree has at most 32 leaves side by side, so that its table fits
// registers.
inline void look_up(const double* leaves, std::int32_t stride, [[maybe_unused]] bool few, const LeafLanes& found,
                    double* to) {
#if defined(__AVX512F__)
    if (few) {
        const LeafTable table(leaves);
        for (int i = 0; i < LeafLanes::kRegisters; ++i)
            table.each(found.r[i], [&](int lane, __m512d v) { _mm512_storeu_pd(to + i * 16 + lane, v); });
        return;
    }
#endif
    std::int32_t at[LeafLanes::kRows];
    std::memcpy(at, found.r, sizeof at);
    for (int i = 0; i < LeafLanes::kRows; ++i) to[i] = leaves[std::int64_t{at[i]} * stride];
}
inline void look_up(const float* leaves, std::int32_t stride, [[maybe_unused]] bool few, const LeafLanes& found,
                    float* to) {
#if defined(__AVX512F__)
    if (few) {
        const __m512 low = _mm512_loadu_ps(leaves), high = _mm512_loadu_ps(leaves + 16);
        for (int i = 0; i < LeafLanes::kRegisters; ++i)
            _mm512_storeu_ps(to + i * 16, _mm512_permutex2var_ps(low, (__m512i)found.r[i], high));
        return;
    }
#endif
    std::int32_t at[LeafLanes::kRows];
    std::memcpy(at, found.r, sizeof at);
    for (int i = 0; i < LeafLanes::kRows; ++i) to[i] = leaves[std::int64_t{at[i]} * stride];
}

inline const double* leaf_values(const auto& trees, double) { return trees.leaves; }
inline const float* leaf_values(const auto& trees, float) { return trees.leaves_f32; }

template <class V>
inline LeafPlaces leaf_places(const auto& trees, const wald::Tree& tree, const V* leaves) {
    if (tree.one_hot) return {trees.hot_leaves + tree.first_leaf, sizeof(wald::HotLeaf)};
    return {leaves + tree.first_leaf, static_cast<std::size_t>(tree.stride) * sizeof(V)};
}

inline bool has_small_table(const wald::Tree& tree) {
    return tree.n_words == 1 && tree.first_exit < 0 && tree.stride == 1;
}

template <class V>
inline void add_hot_leaves(const wald::HotLeaf* leaves, const LeafLanes& found, V* sums) {
    std::int32_t at[LeafLanes::kRows];
    std::memcpy(at, found.r, sizeof at);
    for (int i = 0; i < LeafLanes::kRows; ++i) {
        const wald::HotLeaf& leaf = leaves[at[i]];
        sums[std::int64_t{leaf.output} * wald::kPanelRows + i] += static_cast<V>(leaf.value);
    }
}

template <class V>
inline void add_values(const V* leaves, std::int32_t stride, bool few, const LeafLanes& found, V* to) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, double>) {
        if (few) {
            const LeafTable table(leaves);
            for (int i = 0; i < LeafLanes::kRegisters; ++i)
                table.each(found.r[i], [&](int lane, __m512d v) {
                    double* const sum = to + i * 16 + lane;
                    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), v));
                });
            return;
        }
    }
#endif
    alignas(64) V values[LeafLanes::kRows];
    look_up(leaves, stride, few, found, values);
    for (int i = 0; i < LeafLanes::kRows; ++i) to[i] += values[i];
}

template <class X, class V>
inline void add_leaves(const wald::TreesView<X>& trees, int first, int last, const X* panel, int n, V* sums) {
    const V* const leaves = leaf_values(trees, V{});
    for (int row = 0; row < n; row += LeafLanes::kRows) {
        LeafLanes found{};
        for (int t = first; t < last; ++t) {
            const wald::Tree tree = trees.trees[t];
            if (tree.one_hot && tree.repeated) continue;  // its leaves were added with those of the group's first tree
            if (!tree.repeated || t == first)
                found = find_leaves(trees, tree, leaf_places(trees, tree, leaves), panel + row);
            if (tree.one_hot) {
                add_hot_leaves(trees.hot_leaves + tree.first_leaf, found, sums + row);
                continue;
            }
            V* const to = sums + std::int64_t{tree.output} * wald::kPanelRows + row;
            add_values(leaves + tree.first_leaf, tree.stride, has_small_table(tree), found, to);
        }
    }
}

template <class X, class V>
inline void store_leaves(const wald::TreesView<X>& trees, int first, int last, const X* panel, int n, V* to) {
    const V* const leaves = leaf_values(trees, V{});
    for (int row = 0; row < n; row += LeafLanes::kRows) {
        LeafLanes found{};
        for (int t = first; t < last; ++t) {
            const wald::Tree tree = trees.trees[t];
            if (!tree.repeated || t == first)
                found = find_leaves(trees, tree, leaf_places(trees, tree, leaves), panel + row);
            look_up(leaves + tree.first_leaf, tree.stride, has_small_table(tree), found,
                    to + std::int64_t{t - first} * wald::kPanelRows + row);
        }
    }
}

// ---- one row
// ---------------------------------------------------------------------------------------------------------

// Several trees at a time: a walk waits for memory most of the time.
inline constexpr int kWalks = 8;

// Follows a row down kWalks trees, from their roots to their leaves.
template <bool kCategories, class X>
inline void walk_row(const wald::TreesView<X>& trees, const X* x, std::int32_t* at) {
    bool going = true;
    while (going) {
        going = false;
        for (int i = 0; i < kWalks; ++i) {
            const wald::WalkNode<X>& node = trees.nodes[at[i]];
            const X value = x[node.feature];
            const bool right = !(value <= node.threshold) & !((value != value) & node.nan_left());
            const std::int32_t next =
                kCategories && node.column < 0 ? next_node(trees, node, value) : node.left() + right;
            going |= !node.is_leaf();
            at[i] = node.is_leaf() ? at[i] : next;
        }
    }
}

// Calls use(tree index, tree, place of the row's leaf) in the order of the trees.
template <class X, class Use>
inline void each_walk(const wald::TreesView<X>& trees, int first, int last, const X* x, const Use& use) {
    for (int t = first; t < last;) {
        std::int32_t at[kWalks];
        int n = 0, begin[kWalks + 1];
        for (; t < last; ++t) {
            if (trees.trees[t].repeated && n > 0) continue;
            if (n == kWalks) break;
            begin[n] = t;
            at[n++] = trees.trees[t].root;
        }
        begin[n] = t;
        for (int i = n; i < kWalks; ++i) at[i] = at[n - 1];
        if (trees.category_splits == nullptr) walk_row<false>(trees, x, at);
        else walk_row<true>(trees, x, at);
        for (int i = 0; i < n; ++i)
            for (int tree = begin[i]; tree < begin[i + 1]; ++tree)
                use(tree, trees.trees[tree], trees.nodes[at[i]].place());
    }
}

template <class X>
inline void accumulate_row(const wald::TreesView<X>& trees, int first, int last, const X* x, const float* weights,
                           int n_sums, int output_stride, float* sums) {
    using P = Pack<float>;
    each_walk(trees, first, last, x, [&](int t, const wald::Tree& tree, std::int32_t place) {
        const P leaf = P::set(trees.leaves_f32[tree.first_leaf + place * tree.stride]);
        float* const to = sums + std::int64_t{tree.output} * output_stride;
        for (int s = 0; s < n_sums; s += P::kSize) {
            P sum = P::load(to + s);
            sum.fma(leaf, P::load(weights + std::int64_t{t} * n_sums + s));
            sum.store(to + s);
        }
    });
}
template <class X, class V>
inline void add_row(const wald::TreesView<X>& trees, int first, int last, const X* x, V* sums) {
    each_walk(trees, first, last, x, [&](int, const wald::Tree& tree, std::int32_t place) {
        if (tree.one_hot) {
            const wald::HotLeaf& leaf = trees.hot_leaves[tree.first_leaf + place];
            if (!tree.repeated) sums[leaf.output] += static_cast<V>(leaf.value);
            return;
        }
        sums[tree.output] += leaf_values(trees, V{})[tree.first_leaf + place * tree.stride];
    });
}

template <class X>
inline constexpr wald::TreeKernels<X> tree_table{.add = &add_leaves<X, double>,
                                                 .add_f32 = &add_leaves<X, float>,
                                                 .values = &store_leaves<X, float>,
                                                 .values_f64 = &store_leaves<X, double>,
                                                 .row_add = &add_row<X, double>,
                                                 .row_add_f32 = &add_row<X, float>,
                                                 .row_accumulate = &accumulate_row<X>};

}  // namespace WALD_ISA
