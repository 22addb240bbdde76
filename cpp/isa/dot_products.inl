// Dot products and kernel values of prepared rows. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::Activation;
using wald::kChains;
using wald::KernelParams;
using wald::Panels;
using wald::PreparedRow;

// ---- dot products -------------------------------------------------------------------------------------------------

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

// Each segment of features is one chain of multiply-adds; the chains are added from left to right.
template <class T, class S, int MR, int NP>
inline void dense_tile(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots) {
    constexpr int L = Pack<T>::kSize;
    const Vectors<T, S, NP> vectors(panels, panel);
    const T* x[MR];
    for (int r = 0; r < MR; ++r) x[r] = rows[r]->dense;
    for (int s = 0; s < kChains; ++s) {
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
                T* out = slots[r] + (panel + p) * L;
                if (s == 0) acc[r][p].store(out);
                else (Pack<T>::load(out) + acc[r][p]).store(out);
            }
    }
}

// Rows x panels that fill the registers without spilling: 12 x 2 of 32, 6 x 1 of 16 (two registers a panel), 2 x 1.
#if defined(__AVX512F__)
inline constexpr int kRows = 12, kPanels = 2;
#elif defined(__AVX2__)
inline constexpr int kRows = 6, kPanels = 1;
#else
inline constexpr int kRows = 2, kPanels = 1;
#endif

template <class T, class S, int NP>
void dense_rows(const Panels<T>& panels, int panel, const PreparedRow<T>* const* rows, T* const* slots, int n) {
    using Tile = void (*)(const Panels<T>&, int, const PreparedRow<T>* const*, T* const*);
    static constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
        struct {
            Tile run[kRows];
        } table{{&dense_tile<T, S, I + 1, NP>...}};
        return table;
    }(std::make_integer_sequence<int, kRows>{});
    for (int r = 0; r < n;) {
        const int m = n - r < kRows ? n - r : kRows;
        tiles.run[m - 1](panels, panel, rows + r, slots + r);
        r += m;
    }
}

template <class T, class S = T>
void dots_dense(const Panels<T>& panels, int first, int last, const PreparedRow<T>* const* rows, T* const* slots,
                int n) {
    if constexpr (sizeof(S) > sizeof(float))
        if (panels.narrow != nullptr) return dots_dense<T, float>(panels, first, last, rows, slots, n);
    int p = first;
    for (; p + kPanels <= last; p += kPanels) dense_rows<T, S, kPanels>(panels, p, rows, slots, n);
    for (; p < last; ++p) dense_rows<T, S, 1>(panels, p, rows, slots, n);
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

// ---- dot products to kernel values --------------------------------------------------------------------------------

template <class T>
void activate(const KernelParams& params, const Panels<T>& panels, int first, int last, T norm2, T* slot) {
    using P = Pack<T>;
    const T gamma = static_cast<T>(params.gamma), coef0 = static_cast<T>(params.coef0);
    const P row_offset = P::set(-gamma * norm2);
    for (int p = first; p < last; ++p) {
        T* out = slot + p * P::kSize;
        const P dot = P::load(out);
        P value;
        if (params.activation == Activation::rbf) {
            P exponent = P::load(panels.offset + p * P::kSize);
            exponent.fma(P::set(2 * gamma), dot);
            value = exponential<T>((exponent + row_offset).where_greater(T(0), P::zero()));
        } else {
            P base = P::set(coef0);
            base.fma(P::set(gamma), dot);
            if (params.activation == Activation::poly) {
                value = P::set(T(1));
                P power = base;
                for (int e = params.degree; e > 0; e /= 2) {
                    if (e % 2) value = value * power;
                    power = power * power;
                }
            } else {  // tanh(v) = sign(v) (1 - e) / (1 + e), e = exp(-2 |v|)
                const P e = exponential<T>(base.abs() * P::set(T(-2)));
                const P magnitude = (P::set(T(1)) - e) / (P::set(T(1)) + e);
                value = P::zero() - magnitude;
                for (int i = 0; i < P::kRegisters; ++i) value.r[i] = base.r[i] < T(0) ? value.r[i] : magnitude.r[i];
            }
        }
        if (panels.has_linear[p]) {
            const P linear = P::load(panels.linear + p * P::kSize);
            for (int i = 0; i < P::kRegisters; ++i) value.r[i] = linear.r[i] > T(0) ? dot.r[i] : value.r[i];
        }
        value.store(out);
    }
}

}  // namespace WALD_ISA
