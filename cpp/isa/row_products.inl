// Products of whole rows with the weights of one or more outputs: full scores of linear models, with the bits of
// `readout`. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

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
    return sum_of_chains<P, kSumPanels>(chain).sum();
}

// Writes the sums of packs one after the other. Each has the bits of `Pack::sum`, but several are added at once.
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

// Does what `widen` and `readout` do, but keeps no values. A row has Panels panels, each of which is one of the chains.
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
        size.add(sum_of_chains<P, Panels>(chain));
        for (int o = 0; o < n_outputs; ++o) {
            const T* const w = weights + o * step;
            for (int c = 0; c < Panels; ++c) chain[c] = P::zero(), chain[c].fma(v[c], P::load(w + c * L));
            score.add(sum_of_chains<P, Panels>(chain));
        }
    }
    size.write(), score.write();
}

// Does the same for one output, and rows of any width.
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
        all_scores.add(sum_of_chains<P, chains>(score)), all_sizes.add(sum_of_chains<P, chains>(size));
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

// Up to so many panels, it is faster to add all four chains of `readout` at once, for some rows and one output: they
// fill the registers.
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
        for (int r = 0; r < MR; ++r) out[r * n_outputs + o] = sum_of_chains<P, chains>(acc[r]).sum();
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

}  // namespace WALD_ISA
