// Kernels of label chains (Viterbi recursion). Included by tables.inl, once per instruction set.

namespace WALD_ISA {

template <class T>
void max_plus(const T* alpha, const T* steps, int n, int n_panels, T* out) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    const std::int64_t step = static_cast<std::int64_t>(n_panels) * L;
    for (int k = 0; k < n_panels; ++k) {
        P best = P::set(alpha[0]) + P::load(steps + k * L);
        for (int p = 1; p < n; ++p) {
            const P score = P::set(alpha[p]) + P::load(steps + p * step + k * L);
            for (int i = 0; i < P::kRegisters; ++i) best.r[i] = score.r[i] > best.r[i] ? score.r[i] : best.r[i];
        }
        best.store(out + k * L);
    }
}

// NP panels of sums stay in registers.
template <class T, int NP>
inline void accumulate_chosen_panels(T* sums, const T* weights, std::int64_t step, const T* values,
                                     const std::int32_t* rows, int n) {
    using P = Pack<T>;
    P acc[NP];
    for (int p = 0; p < NP; ++p) acc[p] = P::load(sums + p * P::kSize);
    for (int k = 0; k < n; ++k) {
        const P v = P::set(values[k]);
        const T* const row = weights + rows[k] * step;
        for (int p = 0; p < NP; ++p) acc[p].fma(v, P::load(row + p * P::kSize));
    }
    for (int p = 0; p < NP; ++p) acc[p].store(sums + p * P::kSize);
}

template <class T>
void accumulate_chosen(T* sums, const T* weights, int n_panels, const T* values, const std::int32_t* rows, int n) {
    constexpr int L = Pack<T>::kSize;
    const std::int64_t step = static_cast<std::int64_t>(n_panels) * L;
    int p = 0;
    for (; p + 4 <= n_panels; p += 4)
        accumulate_chosen_panels<T, 4>(sums + p * L, weights + p * L, step, values, rows, n);
    for (; p + 2 <= n_panels; p += 2)
        accumulate_chosen_panels<T, 2>(sums + p * L, weights + p * L, step, values, rows, n);
    for (; p < n_panels; ++p) accumulate_chosen_panels<T, 1>(sums + p * L, weights + p * L, step, values, rows, n);
}

inline constexpr wald::ChainKernels chain_table{
    .max_plus = &max_plus<float>,
    .accumulate = &accumulate<float>,
    .accumulate_chosen = &accumulate_chosen<float>,
    .accumulate_rows = &accumulate_rows<float>,
};

}  // namespace WALD_ISA
