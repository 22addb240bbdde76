// Weighted sums of term values: readouts, several outputs, and estimates from columns. Every function adds in one fixed
// order. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::kSumPanels;

// Four chains, chain = panel modulo 4; ((0 + 1) + (2 + 3)), then the tree over lanes.
template <class T, bool Absolute>
inline T weighted_sum(const T* slot, const T* weights, int n_panels) {
    using P = Pack<T>;
    P chain[4] = {P::zero(), P::zero(), P::zero(), P::zero()};
    int p = 0;
    auto step = [&](P& acc, int at) {
        const P v = P::load(slot + at * P::kSize), w = P::load(weights + at * P::kSize);
        acc.fma(Absolute ? v.abs() : v, w);
    };
    for (; p + 4 <= n_panels; p += 4)
        for (int c = 0; c < 4; ++c) step(chain[c], p + c);
    for (int c = 0; p < n_panels; ++p, ++c) step(chain[c], p);
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])).sum();
}

template <class T>
T readout(const T* slot, const T* weights, int n_panels) {
    return weighted_sum<T, false>(slot, weights, n_panels);
}

template <class T>
T absolute(const T* slot, const T* weights, int n_panels) {
    return weighted_sum<T, true>(slot, weights, n_panels);
}

// A row as T, with zeros up to a whole panel, and `absolute` of it.
template <class T, class S>
T widen(const S* x, std::int64_t n, const T* weights, T* values) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    P chain[kSumPanels] = {P::zero(), P::zero(), P::zero(), P::zero()};
    const auto step = [&](P& acc, const P& v, std::int64_t at) {
        __builtin_prefetch(a_page_ahead(x + at));
        v.store(values + at);
        acc.fma(v.abs(), P::load(weights + at));
    };
    std::int64_t at = 0;
    for (; at + kSumPanels * L <= n; at += kSumPanels * L)
        for (int c = 0; c < kSumPanels; ++c) step(chain[c], P::load_as(x + at + c * L), at + c * L);
    for (int c = 0; at < n; at += L, ++c)
        step(chain[c], at + L <= n ? P::load_as(x + at) : P::load_first(x + at, static_cast<int>(n - at)), at);
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])).sum();
}

// Writes the sums of packs one after the other, each as `Pack::sum` does, but several at once.
template <class T>
class Sums {
public:
    explicit Sums(T* to) : to_(to) {}
    void add(const Pack<T>& pack) {
        waiting_[n_++] = pack;
        if (n_ == kAtOnce) write();
    }
    void write() {
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 8)
            if (n_ == kAtOnce) return write_all();
#endif
        for (int i = 0; i < n_; ++i) *to_++ = waiting_[i].sum();
        n_ = 0;
    }

private:
    static constexpr int kAtOnce = 8;
#if defined(__AVX512F__)
    void write_all() {
        const auto at = [&](int i) { return (__m512d)waiting_[i].r[0]; };
        const auto halves = [](__m512d a, __m512d b) {
            return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xee));
        };
        const auto quarters = [](__m512d a, __m512d b) {
            return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
        };
        const __m512d even = quarters(halves(at(0), at(2)), halves(at(4), at(6)));
        const __m512d odd = quarters(halves(at(1), at(3)), halves(at(5), at(7)));
        _mm512_storeu_pd(to_, _mm512_add_pd(_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd)));
        to_ += kAtOnce, n_ = 0;
    }
#endif
    Pack<T> waiting_[kAtOnce];
    int n_ = 0;
    T* to_;
};

// The sum of the chains of `readout`; those beyond Chains are zero.
template <class P, int Chains>
inline P together(const P* chain) {
    if constexpr (Chains == 1) return chain[0];
    else if constexpr (Chains == 2) return chain[0] + chain[1];
    else if constexpr (Chains == 3) return (chain[0] + chain[1]) + chain[2];
    else return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

// `widen` and `readout` of rows of which no values are kept. Each of their Panels is one of the chains.
template <class T, class S, int Panels>
void score_narrow_rows(const void* const* rows, int n_rows, std::int64_t n, const T* weights, std::int64_t step,
                       int n_outputs, const T* magnitude, T* scores, T* sizes) {
    using P = Pack<T>;
    constexpr int L = P::kSize, last = Panels - 1;
    Sums<T> score(scores), size(sizes);
    for (int r = 0; r < n_rows; ++r) {
        const S* const x = static_cast<const S*>(rows[r]);
        P v[Panels], chain[Panels];
        for (int c = 0; c < last; ++c) v[c] = P::load_as(x + c * L);
        v[last] = P::load_first(x + last * L, static_cast<int>(n - last * L));
        for (int c = 0; c < Panels; ++c) chain[c] = P::zero(), chain[c].fma(v[c].abs(), P::load(magnitude + c * L));
        size.add(together<P, Panels>(chain));
        for (int o = 0; o < n_outputs; ++o) {
            const T* const w = weights + o * step;
            for (int c = 0; c < Panels; ++c) chain[c] = P::zero(), chain[c].fma(v[c], P::load(w + c * L));
            score.add(together<P, Panels>(chain));
        }
    }
    size.write(), score.write();
}

// The same for rows of any width and one output.
template <class T, class S>
void score_wide_rows(const void* const* rows, int n_rows, std::int64_t n, const T* weights, std::int64_t, int,
                     const T* magnitude, T* scores, T* sizes) {
    using P = Pack<T>;
    constexpr int L = P::kSize, chains = kSumPanels;
    Sums<T> all_scores(scores), all_sizes(sizes);
    for (int r = 0; r < n_rows; ++r) {
        const S* const x = static_cast<const S*>(rows[r]);
        P score[chains], size[chains];
        for (int c = 0; c < chains; ++c) score[c] = size[c] = P::zero();
        const auto add = [&](int c, std::int64_t at, const P& v) {
            score[c].fma(v, P::load(weights + at));
            size[c].fma(v.abs(), P::load(magnitude + at));
        };
        std::int64_t at = 0;
        for (; at + chains * L <= n; at += chains * L)
            for (int c = 0; c < chains; ++c) {
                __builtin_prefetch(a_page_ahead(x + at + c * L));
                add(c, at + c * L, P::load_as(x + at + c * L));
            }
        for (int c = 0; c < chains && at < n; at += L, ++c)
            add(c, at, at + L <= n ? P::load_as(x + at) : P::load_first(x + at, static_cast<int>(n - at)));
        all_scores.add(together<P, chains>(score)), all_sizes.add(together<P, chains>(size));
    }
    all_scores.write(), all_sizes.write();
}

template <class T, class S>
void score_rows(const void* const* rows, int n_rows, std::int64_t n, const T* weights, std::int64_t step, int n_outputs,
                const T* magnitude, T* scores, T* sizes) {
    constexpr int L = Pack<T>::kSize;
    const auto run = n <= L       ? &score_narrow_rows<T, S, 1>
                     : n <= 2 * L ? &score_narrow_rows<T, S, 2>
                     : n <= 3 * L ? &score_narrow_rows<T, S, 3>
                     : n <= 4 * L ? &score_narrow_rows<T, S, 4>
                                  : &score_wide_rows<T, S>;
    run(rows, n_rows, n, weights, step, n_outputs, magnitude, scores, sizes);
}

// All four chains of `readout` for some rows and one output fill the registers, which is faster up to so many panels.
inline constexpr int kFewPanels = 48;
#if defined(__AVX512F__)
inline constexpr int kFewRows = 6;
#else
inline constexpr int kFewRows = 1;
#endif

template <class T, int MR>
inline void tile_of_few(const T* x, std::int64_t row_step, const T* weights, std::int64_t step, int n_panels,
                        int n_outputs, T* out) {
    using P = Pack<T>;
    constexpr int L = P::kSize, chains = kSumPanels;
    for (int o = 0; o < n_outputs; ++o, weights += step) {
        P acc[MR][chains];
        for (int r = 0; r < MR; ++r)
            for (int c = 0; c < chains; ++c) acc[r][c] = P::zero();
        const auto add = [&](int c, int p) {
            const P w = P::load(weights + p * L);
            for (int r = 0; r < MR; ++r) acc[r][c].fma(P::load(x + r * row_step + p * L), w);
        };
        int p = 0;
        for (; p + chains <= n_panels; p += chains)
            for (int c = 0; c < chains; ++c) add(c, p + c);
        for (int c = 0; c < chains - 1; ++c)
            if (p + c < n_panels) add(c, p + c);
        for (int r = 0; r < MR; ++r) out[r * n_outputs + o] = together<P, chains>(acc[r]).sum();
    }
}

template <class T>
void products_of_few(const T* x, std::int64_t row_step, int n_rows, const T* weights, std::int64_t step, int n_panels,
                     int n_outputs, T* out) {
    const auto run = [&](auto tile, int r) {
        tile(x + r * row_step, row_step, weights, step, n_panels, n_outputs, out + std::int64_t{r} * n_outputs);
    };
    int r = 0;
    for (; r + kFewRows <= n_rows; r += kFewRows) run(&tile_of_few<T, kFewRows>, r);
    for (; r < n_rows; ++r) run(&tile_of_few<T, 1>, r);
}

// Rows x outputs whose sums fill the registers without spilling.
#if defined(__AVX512F__)
inline constexpr int kProductRows = 4, kProductOutputs = 5;
#elif defined(__AVX2__) || defined(__aarch64__)
inline constexpr int kProductRows = 2, kProductOutputs = 2;
#else
inline constexpr int kProductRows = 1, kProductOutputs = 2;
#endif

// One of the four chains of `readout` for kProductRows rows and NO outputs. Sums are stored as whole panels, those of a
// row and an output `stride` panels after those of the row before; a second chain is added to the first one. Missing
// rows are replaced by the first one and not stored.
template <class T, int NO>
inline void product_tile(const T* x, std::int64_t row_step, int n_rows, const T* weights, std::int64_t step, int chain,
                         int n_panels, T* sums, std::int64_t stride) {
    using P = Pack<T>;
    constexpr int L = P::kSize, MR = kProductRows;
    const T* from[MR];
    for (int r = 0; r < MR; ++r) from[r] = x + (r < n_rows ? r : 0) * row_step;
    P acc[MR][NO];
    for (int r = 0; r < MR; ++r)
        for (int o = 0; o < NO; ++o) acc[r][o] = P::zero();
    for (std::int64_t at = std::int64_t{chain} * L; at < std::int64_t{n_panels} * L; at += kSumPanels * L) {
        P v[MR];
        for (int r = 0; r < MR; ++r) v[r] = P::load(from[r] + at);
        for (int o = 0; o < NO; ++o) {
            const P w = P::load(weights + o * step + at);
            for (int r = 0; r < MR; ++r) acc[r][o].fma(v[r], w);
        }
    }
    for (int r = 0; r < MR && r < n_rows; ++r)
        for (int o = 0; o < NO; ++o) {
            T* const to = sums + (r * stride + o) * L;
            if (chain % 2 == 0) acc[r][o].store(to);
            else (P::load(to) + acc[r][o]).store(to);
        }
}

// Chain by chain, so that the weights of one chain stay in the nearest cache while all rows pass.
template <class T>
void products(const T* x, std::int64_t row_step, int n_rows, const T* weights, std::int64_t step, int n_panels,
              int n_outputs, T* sums, T* out) {
    using P = Pack<T>;
    if (n_panels <= kFewPanels) return products_of_few<T>(x, row_step, n_rows, weights, step, n_panels, n_outputs, out);
    using Tile = void (*)(const T*, std::int64_t, int, const T*, std::int64_t, int, int, T*, std::int64_t);
    static constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
        struct {
            Tile run[kProductOutputs];
        } table{{&product_tile<T, I + 1>...}};
        return table;
    }(std::make_integer_sequence<int, kProductOutputs>{});
    const std::int64_t half = std::int64_t{n_rows} * n_outputs * P::kSize;
    for (int chain = 0; chain < kSumPanels; ++chain)
        for (int r = 0; r < n_rows; r += kProductRows)
            for (int o = 0; o < n_outputs; o += kProductOutputs)
                tiles.run[(n_outputs - o < kProductOutputs ? n_outputs - o : kProductOutputs) - 1](
                    x + r * row_step, row_step, n_rows - r, weights + o * step, step, chain, n_panels,
                    sums + chain / 2 * half + (std::int64_t{r} * n_outputs + o) * P::kSize, n_outputs);
    Sums<T> totals(out);
    for (std::int64_t i = 0; i < std::int64_t{n_rows} * n_outputs; ++i)
        totals.add(P::load(sums + i * P::kSize) + P::load(sums + half + i * P::kSize));
    totals.write();
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
