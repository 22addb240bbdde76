// Functions of raw columns, for many rows of one column. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::ColumnTerm;

// f of eight numbers: a product that is rounded, or the value at NaN.
inline Pack<double> numbers(const Pack<double>& x, const Pack<double>& products, const Pack<double>& at_nan) {
    Pack<double> found;
    for (int i = 0; i < Pack<double>::kRegisters; ++i) found.r[i] = x.r[i] == x.r[i] ? products.r[i] : at_nan.r[i];
    return found;
}

// Calls use(at, eight cells) for whole panels, and then for the cells that are left, padded with zeros.
template <class S, class Use>
inline void each_panel(const S* x, int n, const Use& use) {
    constexpr int L = Pack<double>::kSize;
    int i = 0;
    for (; i + L <= n; i += L) use(i, Pack<double>::load_as(x + i));
    if (i == n) return;
    S last[L] = {};
    for (int j = 0; i + j < n; ++j) last[j] = x[i + j];
    use(i, Pack<double>::load_as(last));
}

template <class S>
inline void add_numbers(const ColumnTerm& term, const S* x, int n, const std::byte* ahead, std::int64_t step,
                        double* scores, double* sizes) {
    using P = Pack<double>;
    const P weight = P::set(term.table[0]), at_nan = P::set(term.table[1]);
    const P size = P::set(term.sizes[0]), nan_size = P::set(term.sizes[1]);
    each_panel(x, n, [&](int i, const P& v) {
        __builtin_prefetch(ahead + i * step, 0, 2);
        (P::load(scores + i) + numbers(v, v * weight, at_nan)).store(scores + i);
        (P::load(sizes + i) + numbers(v, v.abs() * size, nan_size)).store(sizes + i);
    });
}

template <class S>
void add_term(const ColumnTerm& term, const S* x, int n, const std::byte* ahead, std::int64_t step, double* scores,
              double* sizes) {
    if (term.n_states == 0) return add_numbers(term, x, n, ahead, step, scores, sizes);
    const double* __restrict table = term.table;
    const double* __restrict bounds = term.sizes;
    double* __restrict sums = scores;
    double* __restrict totals = sizes;
    const std::int32_t n_states = term.n_states;
    const auto add = [&](int i) {
        std::int32_t s;
        if constexpr (sizeof(S) == 1) s = x[i];  // the table has a row for each byte
        else s = wald::state_of(x[i], n_states);
        sums[i] += table[s];
        totals[i] += bounds[s];
    };
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __builtin_prefetch(ahead + i * step, 0, 2);
        for (int j = 0; j < 8; ++j) add(i + j);
    }
    for (; i < n; ++i) add(i);
}

// sums += factor * row, for whole panels; the sum of one row of scores.
template <int kPanels>
inline void add_row(double factor, const double* row, int width, double* sums) {
    using P = Pack<double>;
    const P all = P::set(factor);
    const int end = kPanels > 0 ? kPanels * P::kSize : width;
    for (int o = 0; o < end; o += P::kSize) (P::load(sums + o) + all * P::load(row + o)).store(sums + o);
}

// A product with 1 is exact, so that all cells are added in the same way.
template <class S, int kPanels>
inline void add_rows(const ColumnTerm& term, int width, const S* x, int n, const std::byte* ahead, std::int64_t step,
                     double* scores, double* sizes) {
    if (term.n_states > 0) {
        for (int i = 0; i < n; ++i, scores += width) {
            __builtin_prefetch(ahead + i * step, 0, 2);
            const std::int32_t s = wald::state_of(x[i], term.n_states);
            add_row<kPanels>(1.0, term.table + static_cast<std::int64_t>(s) * width, width, scores);
            sizes[i] += term.sizes[s];
        }
        return;
    }
    for (int i = 0; i < n; ++i, scores += width) {
        __builtin_prefetch(ahead + i * step, 0, 2);
        const double v = static_cast<double>(x[i]);
        const bool known = v == v;
        add_row<kPanels>(known ? v : 1.0, known ? term.table : term.table + width, width, scores);
        sizes[i] += known ? (v < 0 ? -v : v) * term.sizes[0] : term.sizes[1];
    }
}

template <class S>
void add_term_wide(const ColumnTerm& term, int width, const S* x, int n, const std::byte* ahead, std::int64_t step,
                   double* scores, double* sizes) {
    switch (width / Pack<double>::kSize) {
        case 1: return add_rows<S, 1>(term, width, x, n, ahead, step, scores, sizes);
        case 2: return add_rows<S, 2>(term, width, x, n, ahead, step, scores, sizes);
        default: return add_rows<S, 0>(term, width, x, n, ahead, step, scores, sizes);
    }
}

template <class S>
void term_values(const ColumnTerm& term, const S* x, int n, double* values) {
    using P = Pack<double>;
    if (term.n_states > 0) {
        for (int i = 0; i < n; ++i) values[i] = term.table[wald::state_of(x[i], term.n_states)];
        return;
    }
    const P weight = P::set(term.table[0]), at_nan = P::set(term.table[1]);
    each_panel(x, n, [&](int i, const P& v) { numbers(v, v * weight, at_nan).store(values + i); });
}

// sizes[i] becomes the bound of the error of a row whose magnitudes add up to it; whole panels are read and written.
inline void column_errors(const wald::ColumnErrors& of, int n, double* sizes) {
    using P = Pack<double>;
    using R = P::R;
    const R bias = P::set(of.bias).r[0], share = P::set(of.share).r[0], most = P::set(of.most).r[0];
    const R least = P::set(of.least).r[0], infinity = P::set(std::numeric_limits<double>::infinity()).r[0], zero{};
    for (int i = 0; i < n; i += P::kSize) {
        P all = P::load(sizes + i);
        for (int p = 0; p < P::kRegisters; ++p) {
            const R size = all.r[p] + bias, product = size * share + least;
            all.r[p] = size == zero ? zero : size <= most ? product : infinity;
        }
        all.store(sizes + i);
    }
}

template <class S>
inline constexpr wald::ColumnTermKernels<S> column_term_table{
    .add = &add_term<S>, .add_wide = &add_term_wide<S>, .values = &term_values<S>};

}  // namespace WALD_ISA
