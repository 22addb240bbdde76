// Dot products of prepared rows. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::kChains;
using wald::Panels;
using wald::PreparedRow;

// NP neighbouring panels of support vectors, stored as S: each panel as T, or a part of a panel of narrower numbers.
template <class T, class S, int NP>
struct Vectors {
    static constexpr int L = Pack<T>::kSize, kParts = sizeof(T) / sizeof(S);
    const S* base[NP];

    Vectors(const Panels<T>& panels, int panel) {
        for (int p = 0; p < NP; ++p, ++panel) {
            if constexpr (kParts == 1) base[p] = panels.data + panel * panels.n_features * L;
            else base[p] = panels.narrow + (panel / kParts * panels.n_features * kParts + panel % kParts) * L;
        }
    }
    Pack<T> load(int p, std::int64_t feature) const { return Pack<T>::load_as(base[p] + feature * (L * kParts)); }
    void prefetch(int p, std::int64_t feature) const { __builtin_prefetch(base[p] + feature * (L * kParts)); }
};

// Each segment of features is one chain of multiply-adds; the chains are added from left to right. The products of row
// r are stored from to[r] + at on.
template <class T, class S, int MR, int NP>
inline void dense_tile(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* to,
                       std::int64_t at) {
    constexpr int L = Pack<T>::kSize;
    const Vectors<T, S, NP> vectors(panels, panel);
    const T* x[MR];
    for (int r = 0; r < MR; ++r) x[r] = rows[r]->dense;
    for (int s = 0; s < kChains; ++s) {
        if (s > 0 && panels.segments[s] == panels.segments[s + 1]) continue;
        Pack<T> acc[MR][NP];
        for (int r = 0; r < MR; ++r)
            for (int p = 0; p < NP; ++p) acc[r][p] = Pack<T>::zero();
        for (std::int64_t f = panels.segments[s]; f < panels.segments[s + 1]; ++f) {
            Pack<T> v[NP];
            for (int p = 0; p < NP; ++p) v[p] = vectors.load(p, f);
            for (int r = 0; r < MR; ++r) {
                const Pack<T> b = Pack<T>::set(x[r][f]);
                for (int p = 0; p < NP; ++p) acc[r][p].fma(b, v[p]);
            }
        }
        for (int r = 0; r < MR; ++r)
            for (int p = 0; p < NP; ++p) {
                T* out = to[r] + at + p * L;
                if (s == 0) acc[r][p].store(out);
                else (Pack<T>::load(out) + acc[r][p]).store(out);
            }
    }
}

// Rows x panels that fill the registers without spilling: 12 x 2 of 32, 6 x 1 of 16 (two registers a panel), 2 x 1. A
// row alone takes more panels at a time, since its chains would stall on their own additions.
#if defined(__AVX512F__)
inline constexpr int kRows = 12, kPanels = 2, kAlonePanels = 8;
#elif defined(__AVX2__)
inline constexpr int kRows = 6, kPanels = 1, kAlonePanels = 4;
#else
inline constexpr int kRows = 2, kPanels = 1, kAlonePanels = 2;
#endif

template <class T, class S, int NP>
void dense_rows(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, int n, T* const* to,
                std::int64_t at) {
    using Tile = void (*)(const Panels<T>&, int, const PreparedRow<T>* const*, T* const*, std::int64_t);
    static constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
        struct {
            Tile run[kRows];
        } table{{&dense_tile<T, S, I + 1, NP>...}};
        return table;
    }(std::make_integer_sequence<int, kRows>{});
    for (int r = 0; r < n;) {
        const int m = n - r < kRows ? n - r : kRows;
        tiles.run[m - 1](panels, panel, rows + r, to + r, at);
        r += m;
    }
}

// Calls run(first panel, their number as a constant) for groups of panels from `first` up to `last`.
template <class Run>
inline void panel_groups(int first, int last, int n_rows, const Run& run) {
    int p = first;
    if (n_rows == 1)
        for (; p + kAlonePanels <= last; p += kAlonePanels) run(p, std::integral_constant<int, kAlonePanels>{});
    for (; p + kPanels <= last; p += kPanels) run(p, std::integral_constant<int, kPanels>{});
    for (; p < last; ++p) run(p, std::integral_constant<int, 1>{});
}

template <class T, class S = T>
void dots_dense(const Panels<T>& panels, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                int n) {
    if constexpr (sizeof(S) > sizeof(float))
        if (panels.narrow != nullptr) return dots_dense<T, float>(panels, first, last, rows, slots, n);
    panel_groups(first, last, n, [&](int p, auto np) {
        if constexpr (np > kPanels) dense_tile<T, S, 1, np>(panels, p, rows, slots, p * Pack<T>::kSize);
        else dense_rows<T, S, np>(panels, p, rows, n, slots, p * Pack<T>::kSize);
    });
}

// Three panels x two chains: half of 784 features of float32 take 74 KiB, of which the frequent ones fit the L1 cache.
// All rows go through these chains, which cover nearly the same features in each row, before the next chains.
inline constexpr int kSparsePanels = 3;
#if defined(__AVX2__) || defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kSparseChains = 2;
#else
inline constexpr int kSparseChains = 1;  // two would spill
#endif
static_assert(kChains % kSparseChains == 0);
inline constexpr int kPrefetchRows = 12;  // with fewer rows there is no computation to overlap with

// Sums NC consecutive chains of a sparse row at once, because a single chain would stall on its own additions. The
// chains of a sparse row have equal lengths. They are added in order, after the chains before first_chain. Values come
// from the list, or in place from the dense row.
template <class T, class S, int NP, int NC, bool InPlace = false>
inline void row_chains(const Panels<T>& panels, int panel, int first_chain, const PreparedRow<T>& row, T* slot) {
    constexpr int L = Pack<T>::kSize;
    const Vectors<T, S, NP> vectors(panels, panel);
    const T* values = InPlace ? row.dense : row.values;
    Pack<T> acc[NC][NP];
    const std::int32_t* ends = row.chain_ends + first_chain;
    const std::int32_t* features[NC];
    std::int32_t common = ends[1] - ends[0];
    for (int c = 0; c < NC; ++c) {
        features[c] = row.features + ends[c];
        if (ends[c + 1] - ends[c] < common) common = ends[c + 1] - ends[c];
        for (int p = 0; p < NP; ++p) acc[c][p] = Pack<T>::zero();
    }
    auto step = [&](int c, std::int32_t k) {
        const std::int64_t f = features[c][k];
        const Pack<T> b = Pack<T>::set(values[InPlace ? f : ends[c] + k]);
        for (int p = 0; p < NP; ++p) acc[c][p].fma(b, vectors.load(p, f));
    };
    for (std::int32_t k = 0; k < common; ++k)
        for (int c = 0; c < NC; ++c) step(c, k);
    for (int c = 0; c < NC; ++c)
        for (std::int32_t k = common; k < ends[c + 1] - ends[c]; ++k) step(c, k);
    for (int p = 0; p < NP; ++p) {
        T* out = slot + (panel + p) * L;
        Pack<T> sum = acc[0][p];
        if (first_chain > 0) sum = Pack<T>::load(out) + sum;
        for (int c = 1; c < NC; ++c) sum = sum + acc[c][p];
        sum.store(out);
    }
}

// With many rows, the next panels are prefetched on the way, at the features that are frequent in the vectors.
template <class T, class S>
void sparse_rows(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    constexpr int NP = kSparsePanels;
    const bool prefetches = n >= kPrefetchRows && panel + 2 * NP <= panels.n_panels;
    const Vectors<T, S, NP> next(panels, prefetches ? panel + NP : panel);
    const int visits = n * (kChains / kSparseChains),
              share = prefetches ? (panels.n_frequent + visits - 1) / visits : 0;
    int prefetched = 0;
    for (int s = 0; s < kChains; s += kSparseChains)
        for (int r = 0; r < n; ++r) {
            for (const int until = prefetched + share < panels.n_frequent ? prefetched + share : panels.n_frequent;
                 prefetched < until; ++prefetched)
                for (int p = 0; p < NP; ++p) next.prefetch(p, panels.frequent[prefetched]);
            row_chains<T, S, NP, kSparseChains>(panels, panel, s, *rows[r], slots[r]);
        }
}

template <class T, class S = T>
void dots_sparse(const Panels<T>& panels, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                 int n) {
    if constexpr (sizeof(S) > sizeof(float))
        if (panels.narrow != nullptr) return dots_sparse<T, float>(panels, first, last, rows, slots, n);
    int p = first;
    for (; n > 1 && p + kSparsePanels <= last; p += kSparsePanels) sparse_rows<T, S>(panels, p, rows, slots, n);
    for (; p + kPanels <= last; p += kPanels)
        for (int r = 0; r < n; ++r) row_chains<T, S, kPanels, kChains>(panels, p, 0, *rows[r], slots[r]);
    for (; p < last; ++p)
        for (int r = 0; r < n; ++r) row_chains<T, S, 1, kChains>(panels, p, 0, *rows[r], slots[r]);
}

}  // namespace WALD_ISA
