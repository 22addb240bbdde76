// Evaluates decision trees for panels of rows. Included by tables.inl, once per instruction set.
namespace WALD_ISA {

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
// ---- many small trees ----------------------------------------------------------------------------------------------

inline constexpr int kAddedTogether = 4;  // trees, for which sums are loaded and stored once

// The end of the trees from `first` on that add one of at most 32 doubles to the same output, in whole groups.
inline int end_of_small_trees(const wald::TreesView& trees, int first, int last) {
    const wald::Tree& start = trees.trees[first];
    int t = first;
    for (; t < last; ++t) {
        const wald::Tree& tree = trees.trees[t];
        if (tree.kind != wald::LeafKind::single || tree.oblivious || tree.first_exit >= 0 || tree.n_leaves > 32 ||
            trees.outputs[tree.first_output] != trees.outputs[start.first_output])
            break;
    }
    return t - (t - first) % kAddedTogether;
}

// While trees are added, sums stand in the order in which the doubles of a panel are made. A word of 32 bits holds the
// leaves of four rows; a look-up reads its lowest five bits, so that shifts bring the leaves to their places. The
// halves of doubles are then joined within the quarters of registers.
inline int row_of_sum(int i) {
    const int shift = i / 16, word = i % 8 / 2 * 4 + i % 16 / 8 * 2 + i % 2;
    return 4 * word + shift;
}

// Adds such trees to the sums of a tile's rows, from panel `panel` on.
template <int kPanels>
inline void add_small_trees(const wald::TreesView& trees, const double* values, int first, int last,
                            const wald::Tile& tile, int panel, double* to) {
    constexpr int kSteppedTogether = kPanels == 1 ? 4 : 2;
    const std::int8_t* const bins = tile.bins + panel * tile.panel_bytes;
    alignas(64) double sums[kPanels * wald::kPanelRows];
    for (int i = 0; i < kPanels * wald::kPanelRows; ++i)
        sums[i] = to[i / wald::kPanelRows * wald::kPanelRows + row_of_sum(i % wald::kPanelRows)];
    for (int t = first; t < last; t += kAddedTogether) {
        const wald::Tree* const tree = trees.trees + t;
        alignas(64) PanelBytes leaf[kAddedTogether / kSteppedTogether][kSteppedTogether][kPanels];
        for (int k = 0; k < kAddedTogether; k += kSteppedTogether)
            take_steps<kPanels, kSteppedTogether>(trees, tree + k, bins, tile.panel_bytes, leaf[k / kSteppedTogether]);
        const DoubleTable table[kAddedTogether] = {
            DoubleTable(values + tree[0].first_leaf), DoubleTable(values + tree[1].first_leaf),
            DoubleTable(values + tree[2].first_leaf), DoubleTable(values + tree[3].first_leaf)};
        for (int p = 0; p < kPanels; ++p) {
            __m512i at[kAddedTogether];
            for (int k = 0; k < kAddedTogether; ++k)
                at[k] = (__m512i)leaf[k / kSteppedTogether][k % kSteppedTogether][p].r[0];
            for (int i = p * wald::kPanelRows; i < (p + 1) * wald::kPanelRows; i += 16) {
                __m512d low = _mm512_load_pd(sums + i), high = _mm512_load_pd(sums + i + 8);
                for (int k = 0; k < kAddedTogether; ++k) {
                    const __m512i lower = table[k].lower(at[k]), higher = table[k].higher(at[k]);
                    low = _mm512_add_pd(low, _mm512_castsi512_pd(_mm512_unpacklo_epi32(lower, higher)));
                    high = _mm512_add_pd(high, _mm512_castsi512_pd(_mm512_unpackhi_epi32(lower, higher)));
                    at[k] = _mm512_srli_epi32(at[k], 8);
                }
                _mm512_store_pd(sums + i, low);
                _mm512_store_pd(sums + i + 8, high);
            }
        }
    }
    for (int i = 0; i < kPanels * wald::kPanelRows; ++i)
        to[i / wald::kPanelRows * wald::kPanelRows + row_of_sum(i % wald::kPanelRows)] = sums[i];
}
#endif

// Adds as many of the trees [first, last) as can be added together. Returns the first one that is left.
inline int add_together([[maybe_unused]] const wald::TreesView& trees,
                        [[maybe_unused]] const wald::SumTables<double>& tables, int first, [[maybe_unused]] int last,
                        [[maybe_unused]] const wald::Tile& tile, [[maybe_unused]] double* const* sums) {
#if defined(__AVX512F__)
    const int end = first < last ? end_of_small_trees(trees, first, last) : first;
    if (end == first) return first;
    double* const to = sums[trees.outputs[trees.trees[first].first_output]];
    const int n_panels = (tile.n + wald::kPanelRows - 1) / wald::kPanelRows;
    for (int p = 0; p < n_panels; p += 4) {
        double* const sum = to + p * wald::kPanelRows;
        switch (std::min(4, n_panels - p)) {
            case 1: add_small_trees<1>(trees, tables.values, first, end, tile, p, sum); break;
            case 2: add_small_trees<2>(trees, tables.values, first, end, tile, p, sum); break;
            case 3: add_small_trees<3>(trees, tables.values, first, end, tile, p, sum); break;
            default: add_small_trees<4>(trees, tables.values, first, end, tile, p, sum);
        }
    }
    return end;
#else
    return first;
#endif
}

// kSums: number of sums of each output; 0 for what the tables say.
template <class V, int kSums>
inline void add_tables(const wald::TreesView& trees, const wald::SumTables<V>& tables, int first, int last,
                       const wald::Tile& tile, V* const* sums) {
    const int n_sums = kSums > 0 ? kSums : tables.n_sums;
    if constexpr (std::is_same_v<V, double>) first = add_together(trees, tables, first, last, tile, sums);
    each_tree(trees, first, last, tile, [&](int t, const Leaves& found, int row, int rows) {
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
    });
}

inline void store_leaves(const wald::TreesView& trees, int first, int last, const wald::Tile& tile, std::int32_t* to) {
    each_tree(trees, first, last, tile, [&](int t, const Leaves& found, int row, int rows) {
        for (int i = 0; i < rows; ++i) to[std::int64_t{t - first} * wald::kTileRows + row + i] = found[i];
    });
}

inline constexpr wald::TreeKernels tree_table{.add_tables = &add_tables<float, 0>,
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
