// Weighted sums of term values: readouts, several outputs, and estimates from columns. Every function adds in one fixed
// order. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::kSumPanels;

// The sum of the chains of `readout`; those beyond Chains are zero.
template <class P, int Chains>
inline P sum_of_chains(const P* chain) {
    if constexpr (Chains == 1) return chain[0];
    else if constexpr (Chains == 2) return chain[0] + chain[1];
    else if constexpr (Chains == 3) return (chain[0] + chain[1]) + chain[2];
    else return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

// Four chains, chain = panel modulo 4; ((0 + 1) + (2 + 3)), then the tree over lanes.
template <class T, bool Absolute>
inline T weighted_sum(const T* slot, const T* weights, int n_panels) {
    using P = Pack<T>;
    P chain[kSumPanels] = {P::zero(), P::zero(), P::zero(), P::zero()};
    int p = 0;
    auto step = [&](P& acc, int at) {
        const P v = P::load(slot + at * P::kSize), w = P::load(weights + at * P::kSize);
        acc.fma(Absolute ? v.abs() : v, w);
    };
    for (; p + kSumPanels <= n_panels; p += kSumPanels)
        for (int c = 0; c < kSumPanels; ++c) step(chain[c], p + c);
    for (int c = 0; p < n_panels; ++p, ++c) step(chain[c], p);
    return sum_of_chains<P, kSumPanels>(chain).sum();
}

template <class T>
T readout(const T* slot, const T* weights, int n_panels) {
    return weighted_sum<T, false>(slot, weights, n_panels);
}

template <class T>
T absolute(const T* slot, const T* weights, int n_panels) {
    return weighted_sum<T, true>(slot, weights, n_panels);
}

// Each output is one chain that starts from the bias, in the order of the terms.
template <class T, int MR>
inline void readout_tile(const T* const* slots, const T* weights, const T* bias, int n_terms, int n_outputs,
                         T* const* out) {
    using P = Pack<T>;
    for (int o = 0; o < n_outputs; o += P::kSize) {
        P acc[MR];
        for (int r = 0; r < MR; ++r) acc[r] = P::load(bias + o);
        const T* w = weights + o;
        for (int j = 0; j < n_terms; ++j, w += n_outputs) {
            const P v = P::load(w);
            for (int r = 0; r < MR; ++r) acc[r].fma(P::set(slots[r][j]), v);
        }
        for (int r = 0; r < MR; ++r) acc[r].store(out[r] + o);
    }
}

template <class T>
void readouts(const T* const* slots, int n, const T* weights, const T* bias, int n_terms, int n_outputs,
              T* const* out) {
    constexpr int MR = 64 / WALD_REGISTER_BYTES == 1 ? 8 : 4;
    int r = 0;
    for (; r + MR <= n; r += MR) readout_tile<T, MR>(slots + r, weights, bias, n_terms, n_outputs, out + r);
    for (; r < n; ++r) readout_tile<T, 1>(slots + r, weights, bias, n_terms, n_outputs, out + r);
}

// Each sum is one chain, in the order of the values.
template <class T, int NP>
inline void accumulate_panels(T* sums, const T* weights, std::int64_t step, const T* values, int n) {
    using P = Pack<T>;
    P acc[NP];
    for (int p = 0; p < NP; ++p) acc[p] = P::load(sums + p * P::kSize);
    for (int k = 0; k < n; ++k, weights += step) {
        const P v = P::set(values[k]);
        for (int p = 0; p < NP; ++p) acc[p].fma(v, P::load(weights + p * P::kSize));
    }
    for (int p = 0; p < NP; ++p) acc[p].store(sums + p * P::kSize);
}

template <class T>
void accumulate(T* sums, const T* weights, int n_panels, const T* values, int n) {
    constexpr int L = Pack<T>::kSize;
    const std::int64_t step = static_cast<std::int64_t>(n_panels) * L;
    int p = 0;
    for (; p + 4 <= n_panels; p += 4) accumulate_panels<T, 4>(sums + p * L, weights + p * L, step, values, n);
    for (; p + 2 <= n_panels; p += 2) accumulate_panels<T, 2>(sums + p * L, weights + p * L, step, values, n);
    for (; p < n_panels; ++p) accumulate_panels<T, 1>(sums + p * L, weights + p * L, step, values, n);
}

// Enough rows to fill the multiply-add pipelines. Missing rows are replaced by the first one and not stored.
template <class T, int MR>
inline void accumulate_tile(T* const* sums, const T* weights, int n_panels, const T* const* values, int n, int n_rows) {
    using P = Pack<T>;
    const T* from[MR];
    for (int r = 0; r < MR; ++r) from[r] = values[r < n_rows ? r : 0];
    for (int p = 0; p < n_panels; ++p) {
        P acc[MR];
        for (int r = 0; r < MR; ++r) acc[r] = P::load(sums[r < n_rows ? r : 0] + p * P::kSize);
        const T* w = weights + p * P::kSize;
        for (int k = 0; k < n; ++k, w += static_cast<std::int64_t>(n_panels) * P::kSize) {
            const P v = P::load(w);
            for (int r = 0; r < MR; ++r) acc[r].fma(P::set(from[r][k]), v);
        }
        for (int r = 0; r < MR; ++r)
            if (r < n_rows) acc[r].store(sums[r] + p * P::kSize);
    }
}

template <class T>
void accumulate_rows(T* const* sums, const T* weights, int n_panels, const T* const* values, int n, int n_rows) {
    constexpr int MR = 64 / WALD_REGISTER_BYTES == 1 ? 8 : 4;
    for (int r = 0; r < n_rows; r += MR) {
        const int left = n_rows - r < MR ? n_rows - r : MR;
        if (left == 1) accumulate<T>(sums[r], weights, n_panels, values[r], n);
        else if (left <= MR / 2) accumulate_tile<T, MR / 2>(sums + r, weights, n_panels, values + r, n, left);
        else accumulate_tile<T, MR>(sums + r, weights, n_panels, values + r, n, left);
    }
}

// Lanes are rows. Four panels of rows at once hide the latency of their chains, and prefetches overlap with them. Each
// row has one chain, in the order of the columns.
template <class T, class S>
void column_scores(const S* const* columns, std::int64_t first, const T* weights, std::int64_t step, int n_prefetched,
                   int n_columns, int prefetch_end, T bias, int n_rows, T* out) {
    using P = Pack<T>;
    constexpr int L = P::kSize, side = 4;
    constexpr int line = 64 / sizeof(S), ahead = 4 * line;
    int r = 0;
    for (; r + side * L <= n_rows; r += side * L) {
        for (int k = n_prefetched; k < n_columns; ++k)
            for (int i = 0; i < side * L; i += line) __builtin_prefetch(columns[k] + first + r + ahead + i);
        for (int k = n_columns; k < prefetch_end; ++k)
            for (int i = 0; i < side * L; i += line) __builtin_prefetch(columns[k] + first + r + i, 0, 1);
        P acc[side];
        for (int i = 0; i < side; ++i) acc[i] = P::set(bias);
        for (int k = 0; k < n_columns; ++k) {
            const P w = P::set(weights[k * step]);
            for (int i = 0; i < side; ++i) {
                T x[L];
                for (int j = 0; j < L; ++j) x[j] = static_cast<T>(columns[k][first + r + i * L + j]);
                acc[i].fma(P::load(x), w);
            }
        }
        for (int i = 0; i < side; ++i) acc[i].store(out + r + i * L);
    }
    for (; r < n_rows; r += L) {
        const int lanes = n_rows - r < L ? n_rows - r : L;
        P acc = P::set(bias);
        T x[L] = {};
        for (int k = 0; k < n_columns; ++k) {
            for (int j = 0; j < lanes; ++j) x[j] = static_cast<T>(columns[k][first + r + j]);
            acc.fma(P::load(x), P::set(weights[k * step]));
        }
        acc.store(x);
        for (int j = 0; j < lanes; ++j) out[r + j] = x[j];
    }
}

// Every value may be in a cache line of its own. The same rows of later columns are prefetched, enough of them to keep
// memory busy however few rows are left.
template <class T, class S>
void gather_columns(const S* const* columns, std::int64_t first, int m, int prefetch_end, const std::int32_t* rows,
                    int n, T* out, std::int64_t stride) {
    constexpr int L = Pack<T>::kSize, busy = 160;
    const int ahead = n < busy ? (busy + n - 1) / n : 2;
    const int padded = (n + L - 1) / L * L;
    for (int k = 0; k < m; ++k, out += stride) {
        const S* column = columns[k] + first;
        if (k + ahead < prefetch_end) {
            const S* later = columns[k + ahead] + first;
            for (int i = 0; i < n; ++i) {
                __builtin_prefetch(later + rows[i]);
                out[i] = static_cast<T>(column[rows[i]]);
            }
        } else {
            for (int i = 0; i < n; ++i) out[i] = static_cast<T>(column[rows[i]]);
        }
        for (int i = n; i < padded; ++i) out[i] = T(0);
    }
}

// NP panels of rows and TL stages share each loaded value and weight. Each sum has one chain, in the order of k.
template <class T, int NP, int TL>
inline void add_tile(const T* values, std::int64_t stride, int m, const T* weights, std::int64_t step, T* sums) {
    using P = Pack<T>;
    P acc[TL][NP];
    for (int t = 0; t < TL; ++t)
        for (int p = 0; p < NP; ++p) acc[t][p] = P::load(sums + t * stride + p * P::kSize);
    for (int k = 0; k < m; ++k) {
        P x[NP];
        for (int p = 0; p < NP; ++p) x[p] = P::load(values + k * stride + p * P::kSize);
        for (int t = 0; t < TL; ++t) {
            const P w = P::set(weights[k * step + t]);
            for (int p = 0; p < NP; ++p) acc[t][p].fma(x[p], w);
        }
    }
    for (int t = 0; t < TL; ++t)
        for (int p = 0; p < NP; ++p) acc[t][p].store(sums + t * stride + p * P::kSize);
}

template <class T, int NP>
inline void add_panels(const T* values, std::int64_t stride, int m, const T* weights, std::int64_t step, int n_stages,
                       T* sums) {
    constexpr int most = Pack<T>::kRegisters == 1 ? 8 : 4 / Pack<T>::kRegisters;  // as many as fit the registers
    int t = 0;
    for (; t + most <= n_stages; t += most)
        add_tile<T, NP, most>(values, stride, m, weights + t, step, sums + t * stride);
    if constexpr (most > 4)
        for (; t + 4 <= n_stages; t += 4) add_tile<T, NP, 4>(values, stride, m, weights + t, step, sums + t * stride);
    if constexpr (most > 2)
        for (; t + 2 <= n_stages; t += 2) add_tile<T, NP, 2>(values, stride, m, weights + t, step, sums + t * stride);
    for (; t < n_stages; ++t) add_tile<T, NP, 1>(values, stride, m, weights + t, step, sums + t * stride);
}

template <class T>
void add_columns(const T* values, std::int64_t stride, int m, int n, const T* weights, std::int64_t step, int n_stages,
                 T* sums) {
    constexpr int L = Pack<T>::kSize;
    int r = 0;
    for (; r + L < n; r += 2 * L) add_panels<T, 2>(values + r, stride, m, weights, step, n_stages, sums + r);
    for (; r < n; r += L) add_panels<T, 1>(values + r, stride, m, weights, step, n_stages, sums + r);
}

}  // namespace WALD_ISA
