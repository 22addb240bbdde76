// Kernels of online learning. Every function adds in one fixed order. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::OnlineKernels;
using wald::WeightedPieces;

// Loads the last n lanes of a row, which are no whole panel; the others are 0.
template <class T>
inline Pack<T> load_some(const T* x, std::int64_t n) {
    T rest[Pack<T>::kSize] = {};
    for (std::int64_t i = 0; i < n; ++i) rest[i] = x[i];
    return Pack<T>::load(rest);
}

// Adds pairs of registers; repeated calls reduce until lane r holds the sum of row r.
template <class T, int Half, int... I>
inline typename Register<T>::type add_pairs(typename Register<T>::type a, typename Register<T>::type b,
                                            std::integer_sequence<int, I...>) {
    constexpr int n = Pack<T>::kPerRegister;
    constexpr auto from = [](int i) { return i / (2 * Half) * 2 * Half + i % Half + (i % (2 * Half) < Half ? 0 : n); };
    return __builtin_shufflevector(a, b, from(I)...) + __builtin_shufflevector(a, b, (from(I) + Half)...);
}

template <class T, int Half>
inline void reduce(typename Register<T>::type* rows) {
    if constexpr (Half > 0) {
        constexpr int n = Pack<T>::kPerRegister;
        constexpr int left = 2 * Half;  // registers that remain to be merged
        for (int i = 0; i < left / 2; ++i)
            rows[i] = add_pairs<T, Half>(rows[i], rows[i + left / 2], std::make_integer_sequence<int, n>{});
        static_assert(left <= n);
        reduce<T, Half / 2>(rows);
    }
}

// Adds the registers of a panel, by the same tree as Pack::sum.
template <class T>
inline typename Register<T>::type add_registers(const Pack<T>& p) {
    typename Register<T>::type sum = p.r[0];
    static_assert(Pack<T>::kRegisters <= 4);
    if constexpr (Pack<T>::kRegisters == 2) sum = p.r[0] + p.r[1];
    if constexpr (Pack<T>::kRegisters == 4) sum = (p.r[0] + p.r[2]) + (p.r[1] + p.r[3]);
    return sum;
}
template <class T, int Half = Pack<T>::kPerRegister / 2>
inline T sum_lanes(typename Register<T>::type sum) {
    if constexpr (Half == 0) return sum[0];
    else
        return sum_lanes<T, Half / 2>(
            add_pairs<T, Half>(sum, sum, std::make_integer_sequence<int, Pack<T>::kPerRegister>{}));
}
template <class T>
inline T total(const Pack<T>& p) {
    return sum_lanes<T>(add_registers(p));
}

// Dot product in four chains, lane = feature modulo the panel; ((0 + 1) + (2 + 3)), then the tree over lanes. With
// Ahead, each panel first prefetches its place in `next`.
template <class T, bool Ahead>
inline T dot_chains(const T* w, const T* x, std::int64_t n, [[maybe_unused]] const T* next) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    // Into L2, because few misses of L1 can be outstanding.
    const auto fetch = [&]([[maybe_unused]] std::int64_t at) {
        if constexpr (Ahead) __builtin_prefetch(next + at, 0, 2);
    };
    P chain[4] = {P::zero(), P::zero(), P::zero(), P::zero()};
    std::int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L)
        for (int c = 0; c < 4; ++c) {
            fetch(i + c * L);
            chain[c].fma(P::load(w + i + c * L), P::load(x + i + c * L));
        }
    int c = 0;
    for (; i + L <= n; i += L, ++c) {
        fetch(i);
        chain[c].fma(P::load(w + i), P::load(x + i));
    }
    fetch(n - 1);
    if (i < n) chain[c].fma(load_some(w + i, n - i), load_some(x + i, n - i));
    return total((chain[0] + chain[1]) + (chain[2] + chain[3]));
}
template <class T>
T dot(const T* w, const T* x, std::int64_t n) {
    return dot_chains<T, false>(w, x, n, nullptr);
}
template <class T>
T dot_ahead(const T* w, const T* x, std::int64_t n, const T* next) {
    return dot_chains<T, true>(w, x, n, next);
}

template <class T>
void add(T* w, T a, const T* x, std::int64_t n) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    const P factor = P::set(a);
    std::int64_t i = 0;
    for (; i + L <= n; i += L) {
        P sum = P::load(w + i);
        sum.fma(factor, P::load(x + i));
        sum.store(w + i);
    }
    if (i < n) {
        P sum = load_some(w + i, n - i);
        sum.fma(factor, load_some(x + i, n - i));
        T rest[L];
        sum.store(rest);
        for (int k = 0; i + k < n; ++k) w[i + k] = rest[k];
    }
}

// w += a x in float64, for x of either type.
template <class T>
void add_f64(double* w, double a, const T* x, std::int64_t n) {
    using P = Pack<double>;
    constexpr int L = P::kSize;
    const P factor = P::set(a);
    for (std::int64_t i = 0; i < n; i += L) {
        const int lanes = n - i < L ? static_cast<int>(n - i) : L;
        double wide[L] = {};
        if (lanes == L)
            for (int k = 0; k < L; ++k) wide[k] = static_cast<double>(x[i + k]);
        else
            for (int k = 0; k < lanes; ++k) wide[k] = static_cast<double>(x[i + k]);
        P sum = lanes == L ? P::load(w + i) : load_some(w + i, lanes);
        sum.fma(factor, P::load(wide));
        if (lanes == L) {
            sum.store(w + i);
        } else {
            sum.store(wide);
            for (int k = 0; k < lanes; ++k) w[i + k] = wide[k];
        }
    }
}

// Two chains, even and odd pieces; then the registers, then the tree over lanes.
template <class T>
void scores(const WeightedPieces<T>* const* checkpoints, const T* const* rows, int n, T* z) {
    using P = Pack<T>;
    constexpr int L = P::kSize, N = P::kPerRegister;
    for (int r = 0; r < n; r += N) {
        typename P::R sums[N] = {};
        const int some = n - r < N ? n - r : N;
        for (int i = 0; i < some; ++i) {
            const WeightedPieces<T>& pieces = *checkpoints[r + i];
            const T* x = rows[r + i];
            P even = P::zero(), odd = P::zero();
            int p = 0;
            for (; p + 2 <= pieces.n_pieces; p += 2) {
                even.fma(P::load(pieces.weights + p * L), P::load(x + pieces.offsets[p]));
                odd.fma(P::load(pieces.weights + (p + 1) * L), P::load(x + pieces.offsets[p + 1]));
            }
            if (p < pieces.n_pieces) even.fma(P::load(pieces.weights + p * L), P::load(x + pieces.offsets[p]));
            sums[i] = add_registers(even + odd);
        }
        if (some > N / 4) {
            reduce<T, N / 2>(sums);
            for (int i = 0; i < some; ++i) z[r + i] = sums[0][i] + checkpoints[r + i]->start;
        } else {
            // the same tree as reduce
            for (int i = 0; i < some; ++i) z[r + i] = sum_lanes<T>(sums[i]) + checkpoints[r + i]->start;
        }
    }
}

// Each unit is one chain over its pieces, then the tree; units are added one after the other.
template <class T>
int walk(const WeightedPieces<T>& pieces, const std::int32_t* ends, int n_units, const T* centre, T limit, const T* x,
         T* sum) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    T sum_so_far = pieces.start;
    int u = 0;
    for (std::int32_t p = 0; u < n_units; ++u) {
        P unit = P::zero();
        for (; p < ends[u]; ++p)
            unit.fma(P::load(pieces.weights + static_cast<std::int64_t>(p) * L), P::load(x + pieces.offsets[p]));
        sum_so_far += total(unit);
        if (u == n_units - 1 || sum_so_far - centre[u] > limit) break;
    }
    *sum = sum_so_far;
    return u;
}

template <class T>
void piece_sums(const WeightedPieces<T>& pieces, const T* const* rows, int n_rows, T* out, std::int64_t stride) {
    using P = Pack<T>;
    constexpr int L = P::kSize, N = P::kPerRegister;
    for (int r = 0; r < n_rows; ++r)
        for (int p = 0; p < pieces.n_pieces; p += N) {
            const int some = pieces.n_pieces - p < N ? pieces.n_pieces - p : N;
            typename P::R sums[N] = {};
            for (int k = 0; k < some; ++k)
                sums[k] = add_registers(P::load(pieces.weights + static_cast<std::int64_t>(p + k) * L) *
                                        P::load(rows[r] + pieces.offsets[p + k]));
            reduce<T, N / 2>(sums);
            for (int k = 0; k < some; ++k) out[r * stride + p + k] = sums[0][k];
        }
}

// Each element is one chain, in the order of the rows.
template <class T>
void gram(const T* g, int n, int width, T* out) {
    using P = Pack<T>;
    constexpr int L = P::kSize, side = 4;
    for (int a = 0; a < width; a += side)
        for (int b = a / L * L; b < width; b += L) {
            P sums[side] = {P::zero(), P::zero(), P::zero(), P::zero()};
            for (int i = 0; i < n; ++i) {
                const T* row = g + static_cast<std::int64_t>(i) * width;
                const P v = P::load(row + b);
                for (int k = 0; k < side; ++k) sums[k].fma(P::set(row[a + k]), v);
            }
            for (int k = 0; k < side; ++k) sums[k].store(out + static_cast<std::int64_t>(a + k) * width + b);
        }
}

// The same order as in `scores`.
template <class T>
void fold(const T* weights, const T* row, const T* factors, const WeightedPieces<T>* checkpoints, int n_checkpoints,
          T* out, T* sums) {
    using P = Pack<T>;
    constexpr int L = P::kSize, N = P::kPerRegister;
    for (int from = 0; from < n_checkpoints; from += N) {
        typename P::R chains[N] = {};
        const int some = n_checkpoints - from < N ? n_checkpoints - from : N;
        for (int i = 0; i < some; ++i) {
            P even = P::zero(), odd = P::zero();
            for (int p = 0; p < checkpoints[from + i].n_pieces; ++p, out += L) {
                const P folded = P::set(*factors++) * P::load(weights + static_cast<std::int64_t>(p) * L);
                folded.store(out);
                (p % 2 == 0 ? even : odd).fma(folded, P::load(row + static_cast<std::int64_t>(p) * L));
            }
            chains[i] = add_registers(even + odd);
        }
        reduce<T, N / 2>(chains);
        for (int i = 0; i < some; ++i) sums[from + i] = chains[0][i];
    }
}

// Non-zero k belongs to chain k modulo the number of chains. AVX-512 gathers; elsewhere gathers are no faster than
// loads.
template <class T>
T dot_sparse(const T* w, const std::int32_t* features, const T* values, std::int64_t n) {
    std::int64_t k = 0;
#if defined(__AVX512F__)
    using P = Pack<T>;
    constexpr int L = P::kSize;
    P even = P::zero(), odd = P::zero();
    auto gathered = [&](std::int64_t at) {
        P p;
        if constexpr (sizeof(T) == 4)
            p.r[0] = (typename P::R)_mm512_i32gather_ps(_mm512_loadu_si512(features + at), w, 4);
        else
            p.r[0] = (typename P::R)_mm512_i32gather_pd(
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(features + at)), w, 8);
        return p;
    };
    for (; k + 2 * L <= n; k += 2 * L) {
        even.fma(gathered(k), P::load(values + k));
        odd.fma(gathered(k + L), P::load(values + k + L));
    }
    if (k + L <= n) {
        even.fma(gathered(k), P::load(values + k));
        k += L;
    }
    P rest = P::zero();
    if (k < n) {
        const unsigned some = (1u << (n - k)) - 1;
        if constexpr (sizeof(T) == 4) {
            const __mmask16 m = static_cast<__mmask16>(some);
            const __m512 x =
                _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, _mm512_maskz_loadu_epi32(m, features + k), w, 4);
            rest.r[0] = (typename P::R)_mm512_mul_ps(x, _mm512_maskz_loadu_ps(m, values + k));
        } else {
            const __mmask8 m = static_cast<__mmask8>(some);
            const __m256i at = _mm512_castsi512_si256(_mm512_maskz_loadu_epi32(m, features + k));
            const __m512d x = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, at, w, 8);
            rest.r[0] = (typename P::R)_mm512_mul_pd(x, _mm512_maskz_loadu_pd(m, values + k));
        }
    }
    return total((even + odd) + rest);
#else
    T chain[8] = {};
    for (; k + 8 <= n; k += 8)
        for (int c = 0; c < 8; ++c) chain[c] += w[features[k + c]] * values[k + c];
    for (int c = 0; k < n; ++k, ++c) chain[c] += w[features[k]] * values[k];
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])) + ((chain[4] + chain[5]) + (chain[6] + chain[7]));
#endif
}

template <class T>
bool stumps(const std::int32_t* features, const T* thresholds, int n, const T* x, T* votes) {
    int bad = 0;
    for (int j = 0; j < n; ++j) {
        const T value = x[features[j]];
        votes[j] = value > thresholds[j] ? T(1) : T(-1);
        bad |= !(value - value == T(0));
    }
    return bad == 0;
}

template <class T>
inline constexpr OnlineKernels<T> online_table{
    .dot = &dot<T>,
    .dot_ahead = &dot_ahead<T>,
    .add = &add<T>,
    .add_f64 = &add_f64<T>,
    .scores = &scores<T>,
    .walk = &walk<T>,
    .piece_sums = &piece_sums<T>,
    .gram = &gram<T>,
    .fold = &fold<T>,
    .dot_sparse = &dot_sparse<T>,
    .stumps = &stumps<T>,
};

}  // namespace WALD_ISA
