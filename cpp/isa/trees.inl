// Evaluates decision trees for panels of rows. Included by tables.inl, once per instruction set.
namespace WALD_ISA {

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

// The same for the panels of a tile from panel p on, kPanels at a time; use(tree's number, leaves, first row, number of
// rows).
template <int kPanels, class Use>
inline void each_tree(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, int p,
                      const Use& use) {
    const int n_panels = (tile.n + wald::kPanelRows - 1) / wald::kPanelRows;
    for (; p + kPanels <= n_panels; p += kPanels) {
        const int row = p * wald::kPanelRows;
        each_tree<kPanels, std::min(4, kTogether / kPanels)>(  // more trees, where registers suffice
            trees, first, last, tile, p,
            [&](int t, const Leaves& found) { use(t, found, row, kPanels * wald::kPanelRows); });
    }
    if constexpr (kPanels > 1) each_tree<kPanels / 2>(trees, first, last, tile, p, use);
}
template <class Use>
inline void each_tree(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, const Use& use) {
    each_tree<kTogether>(trees, first, last, tile, 0, use);
}

// ---- values of leaves ----------------------------------------------------------------------------------------------

#if defined(__AVX512F__)
// 32 doubles, the lower and the higher halves of their bits apart.
struct DoubleTable {
    __m512i low[2], high[2];

    explicit DoubleTable(const double* leaves) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        for (int i = 0; i < 2; ++i) {
            const __m512i a = _mm512_loadu_si512(leaves + 16 * i), b = _mm512_loadu_si512(leaves + 16 * i + 8);
            low[i] = _mm512_permutex2var_epi32(a, even, b);
            high[i] = _mm512_permutex2var_epi32(a, odd, b);
        }
    }
    __m512i lower(__m512i at) const { return _mm512_permutex2var_epi32(low[0], at, low[1]); }
    __m512i higher(__m512i at) const { return _mm512_permutex2var_epi32(high[0], at, high[1]); }
};

inline void add_doubles(__m512i lower, __m512i higher, double* sums) {
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const auto add = [](double* to, __m512i bits) {
        _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), _mm512_castsi512_pd(bits)));
    };
    add(sums, _mm512_permutex2var_epi32(lower, first, higher));
    add(sums + 8, _mm512_permutex2var_epi32(lower, second, higher));
}

inline __m512i load_leaves(const std::uint8_t* leaves) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(leaves)));
}
#endif

// Adds the values of leaves, one for each leaf, to the sums of `rows` rows.
inline void add_single(const double* leaves, [[maybe_unused]] int n_leaves, const Leaves& found, int rows,
                       double* sums) {
#if defined(__AVX512F__)
    if (!found.wide && n_leaves <= 32) {
        const DoubleTable table(leaves);
        for (int i = 0; i < rows; i += 16) {
            const __m512i at = load_leaves(found.bytes + i);
            add_doubles(table.lower(at), table.higher(at), sums + i);
        }
        return;
    }
    if (!found.wide && n_leaves <= 64) {
        const DoubleTable a(leaves), b(leaves + 32);
        for (int i = 0; i < rows; i += 16) {
            const __m512i at = load_leaves(found.bytes + i);
            const __mmask16 in_b = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
            add_doubles(_mm512_mask_mov_epi32(a.lower(at), in_b, b.lower(at)),
                        _mm512_mask_mov_epi32(a.higher(at), in_b, b.higher(at)), sums + i);
        }
        return;
    }
    for (int i = 0; i < rows; i += 8) {
        const __m256i at =
            found.wide ? _mm256_load_si256(reinterpret_cast<const __m256i*>(found.numbers + i))
                       : _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(found.bytes + i)));
        _mm512_storeu_pd(sums + i, _mm512_add_pd(_mm512_loadu_pd(sums + i), _mm512_i32gather_pd(at, leaves, 8)));
    }
#else
    if (found.wide)
        for (int i = 0; i < rows; ++i) sums[i] += leaves[found.numbers[i]];
    else
        for (int i = 0; i < rows; ++i) sums[i] += leaves[found.bytes[i]];
#endif
}
inline void add_single(const float* leaves, [[maybe_unused]] int n_leaves, const Leaves& found, int rows, float* sums) {
#if defined(__AVX512F__)
    const auto add = [&](int i, __m512 values) {
        _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), values));
    };
    if (!found.wide && n_leaves <= 64) {
        const __m512 a = _mm512_loadu_ps(leaves), b = _mm512_loadu_ps(leaves + 16);
        const bool more = n_leaves > 32;
        const __m512 c = more ? _mm512_loadu_ps(leaves + 32) : a, d = more ? _mm512_loadu_ps(leaves + 48) : b;
        for (int i = 0; i < rows; i += 16) {
            const __m512i at = load_leaves(found.bytes + i);
            const __m512 first = _mm512_permutex2var_ps(a, at, b);
            if (!more) {
                add(i, first);
                continue;
            }
            const __mmask16 beyond = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
            add(i, _mm512_mask_mov_ps(first, beyond, _mm512_permutex2var_ps(c, at, d)));
        }
        return;
    }
    for (int i = 0; i < rows; i += 16)
        add(i, _mm512_i32gather_ps(found.wide ? _mm512_load_si512(found.numbers + i) : load_leaves(found.bytes + i),
                                   leaves, 4));
#else
#if defined(__AVX2__)
    if (!found.wide && n_leaves <= 32) {
        __m256 table[4];
        for (int k = 0; k < 4; ++k) table[k] = _mm256_loadu_ps(leaves + 8 * k);
        for (int i = 0; i < rows; i += 8) {
            const __m256i at = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(found.bytes + i)));
            const __m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));   // bit 3 becomes the sign
            const __m256 high = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));  // bit 4 becomes the sign
            const auto pair = [&](int k) {
                return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table[k], at),
                                        _mm256_permutevar8x32_ps(table[k + 1], at), odd);
            };
            const __m256 values = _mm256_blendv_ps(pair(0), pair(2), high);
            _mm256_storeu_ps(sums + i, _mm256_add_ps(_mm256_loadu_ps(sums + i), values));
        }
        return;
    }
#endif
    if (found.wide)
        for (int i = 0; i < rows; ++i) sums[i] += leaves[found.numbers[i]];
    else
        for (int i = 0; i < rows; ++i) sums[i] += leaves[found.bytes[i]];
#endif
}

#if defined(__AVX512F__)
// The order of a panel's leaves in which a load from byte k on has those of rows 16 k to 16 k + 15 in the lowest bytes
// of its 32-bit numbers, as the halves of their values are to be looked up so that unpacking sorts them: row
// 16 k + 8 h + 2 l + e is byte 16 l + 4 (2 h + e) + k.
struct LeafOrder {
    std::int16_t words[32];
    std::int8_t bytes[64];

    constexpr LeafOrder() : words{}, bytes{} {
        for (int l = 0; l < 4; ++l)
            for (int k = 0; k < 4; ++k) {
                for (int h = 0; h < 2; ++h) words[8 * l + 2 * k + h] = static_cast<std::int16_t>(8 * k + 4 * h + l);
                for (int m = 0; m < 4; ++m) bytes[16 * l + 4 * m + k] = static_cast<std::int8_t>(4 * k + m);
            }
    }
    __m512i apply(__m512i leaves) const {
        return _mm512_shuffle_epi8(_mm512_permutexvar_epi16(_mm512_loadu_si512(words), leaves),
                                   _mm512_loadu_si512(bytes));
    }
};
inline constexpr LeafOrder leaf_order;

// Trees of one value a leaf and at most 32 leaves, for kTogether panels. The values of a tree are added while the rows
// take the steps of the next one, which keeps other units of the processor busy.
inline void add_small_trees(const wald::TreesView& trees, const wald::SumTables<double>& tables, int first, int last,
                            const wald::Tile& tile, int panel, double* const* sums) {
    if (first == last) return;
    constexpr int kGroups = kTogether * wald::kPanelRows / 16;
    const std::int8_t* const bins = tile.bins + panel * tile.panel_bytes;
    alignas(64) std::uint8_t leaves[kTogether * wald::kPanelRows + 64];  // loads reach beyond the last panel
    PanelBytes leaf[1][kTogether];
    take_steps<kTogether, 1>(trees, trees.trees + first, bins, tile.panel_bytes, leaf);
    for (int t = first; t < last; ++t) {
        const wald::Tree& tree = trees.trees[t];
        for (int p = 0; p < kTogether; ++p)
            _mm512_store_si512(leaves + p * wald::kPanelRows, leaf_order.apply((__m512i)leaf[0][p].r[0]));
        const DoubleTable table(tables.values + tree.first_leaf);
        double* const to = sums[trees.outputs[tree.first_output]] + panel * wald::kPanelRows;
        int group = 0;
        const auto add = [&](int n) __attribute__((always_inline)) {
            for (int i = 0; i < n; ++i, ++group) {
                const __m512i at = _mm512_loadu_si512(leaves + group / 4 * wald::kPanelRows + group % 4);
                const __m512i lower = table.lower(at), higher = table.higher(at);
                const auto add_8 = [](double* sum, __m512i bits) {
                    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), _mm512_castsi512_pd(bits)));
                };
                add_8(to + 16 * group, _mm512_unpacklo_epi32(lower, higher));
                add_8(to + 16 * group + 8, _mm512_unpackhi_epi32(lower, higher));
            }
        };
        if (t + 1 < last)  // a group for each step: there are at most 31
            take_steps<kTogether, 1>(trees, trees.trees + t + 1, bins, tile.panel_bytes, leaf, add);
        add(kGroups - group);
    }
}

// The end of the trees from `first` on that add_small_trees can add or, if not `small`, that it cannot.
inline int end_of(const wald::TreesView& trees, int first, int last, bool small) {
    const auto is_small = [](const wald::Tree& tree) {
        return tree.kind == wald::LeafKind::single && !tree.oblivious && tree.first_exit < 0 && tree.n_leaves <= 32;
    };
    while (first < last && is_small(trees.trees[first]) == small) ++first;
    return first;
}
#endif

// kSums: number of sums of each output; 0 for what the tables say.
template <class V, int kSums>
inline void add_tables(const wald::TreesView& trees, const wald::SumTables<V>& tables, int first, int last,
                       const wald::Tile& tile, V* const* sums) {
    const int n_sums = kSums > 0 ? kSums : tables.n_sums;
    const auto add = [&](int t, const Leaves& found, int row, int rows) {
        const wald::Tree& tree = trees.trees[t];
        const std::int32_t* const outputs = trees.outputs + tree.first_output;
        const V* const values =
            (tree.kind == wald::LeafKind::hot ? tables.hot : tables.values) + std::int64_t{tree.first_leaf} * n_sums;
        const auto sum = [&](int output, int s) { return sums[output * n_sums + s] + row; };
        switch (tree.kind) {
            case wald::LeafKind::single:
                for (int s = 0; s < n_sums; ++s)
                    add_single(values + std::int64_t{s} * tree.n_leaves, tree.n_leaves, found, rows,
                               sum(outputs[0], s));
                return;
            case wald::LeafKind::vector:
                for (int o = 0; o < tree.n_outputs; ++o)
                    for (int s = 0; s < n_sums; ++s) {
                        V* const to = sum(outputs[o], s);
                        for (int i = 0; i < rows; ++i)
                            to[i] += values[(std::int64_t{found[i]} * tree.n_outputs + o) * n_sums + s];
                    }
                return;
            case wald::LeafKind::hot:
                for (int i = 0; i < rows; ++i) {
                    const std::int64_t leaf = found[i];
                    const std::int32_t output = tables.hot_outputs[tree.first_leaf + leaf];
                    for (int s = 0; s < n_sums; ++s) sum(output, s)[i] += values[leaf * n_sums + s];
                }
                return;
        }
    };
    int panel = 0;
#if defined(__AVX512F__)
    if constexpr (kSums == 1 && std::is_same_v<V, double>) {
        const int n_panels = (tile.n + wald::kPanelRows - 1) / wald::kPanelRows;
        for (; panel + kTogether <= n_panels; panel += kTogether)
            for (int t = first, end = first; t < last; t = end) {
                end = end_of(trees, t, last, true);
                add_small_trees(trees, tables, t, end, tile, panel, sums);
                const int small = end;
                end = end_of(trees, small, last, false);
                each_tree<kTogether, 1>(trees, small, end, tile, panel, [&](int number, const Leaves& found) {
                    add(number, found, panel * wald::kPanelRows, kTogether * wald::kPanelRows);
                });
            }
    }
#endif
    each_tree<kTogether>(trees, first, last, tile, panel, add);
}

inline void store_leaves(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, std::int32_t* to) {
    each_tree(trees, first, last, tile, [&](int t, const Leaves& found, int row, int rows) {
        for (int i = 0; i < rows; ++i) to[std::int64_t{t - first} * wald::kTileRows + row + i] = found[i];
    });
}

inline constexpr wald::TreeKernels tree_table{.longest_chain = kChain,
                                              .add_tables = &add_tables<float, 0>,
                                              .add = &add_tables<double, 1>,
                                              .add_f32 = &add_tables<float, 1>,
                                              .leaves = &store_leaves};

// ---- estimates -----------------------------------------------------------------------------------------------------

inline void mix_rows(float bias, const float* const* values, const float* weights, int m, int n, float* to) {
    using P = Pack<float>;
    for (int row = 0; row < n; row += P::kSize) {
        P sum = P::set(bias);
        for (int j = 0; j < m; ++j) sum.fma(P::load(values[j] + row), P::set(weights[j]));
        sum.store(to + row);
    }
}

inline void standardize_rows(const float* variances, float least, float origin, int n, float* values) {
    using P = Pack<float>;
    for (int row = 0; row < n; row += P::kSize) {
        const P variance = P::load(variances + row);
        P value = P::load(values + row);
        for (int i = 0; i < P::kRegisters; ++i) {
            const P::R floor = least - P::R{}, start = origin - P::R{};
            const P::R v = variance.r[i] > floor ? variance.r[i] : floor;
            value.r[i] = start + (value.r[i] - start) / square_root(v);
        }
        value.store(values + row);
    }
}

inline void best_of_rows(const float* scores, std::int64_t stride, int n_classes, int n, std::int32_t* codes,
                         float* gaps) {
    using P = Pack<float>;
    for (int row = 0; row < n; row += P::kSize) {
        P best = P::load(scores + row), second = P::set(-std::numeric_limits<float>::infinity());
        P::I code[P::kRegisters] = {};
        for (int k = 1; k < n_classes; ++k) {
            const P score = P::load(scores + k * stride + row);
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

inline constexpr wald::EstimateKernels estimate_table{
    .mix = &mix_rows, .standardize = &standardize_rows, .best_of = &best_of_rows};

}  // namespace WALD_ISA
