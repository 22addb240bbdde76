// Kernels of label chains (Viterbi recursion). Included by tables.inl, once per instruction set.

namespace WALD_ISA {

// The best predecessor for every lane. Indices are lanes of the same width as the scores, so that one comparison mask
// serves both.
template <class T>
void max_plus(const T* alpha, const T* steps, int n, int n_panels, T* out, std::int32_t* from) {
    using P = Pack<T>;
    using I = typename P::I;
    constexpr int L = P::kSize;
    const std::int64_t step = static_cast<std::int64_t>(n_panels) * L;
    for (int k = 0; k < n_panels; ++k) {
        P best = P::set(alpha[0]) + P::load(steps + k * L);
        I at[P::kRegisters] = {};
        for (int p = 1; p < n; ++p) {
            const P score = P::set(alpha[p]) + P::load(steps + p * step + k * L);
            for (int i = 0; i < P::kRegisters; ++i) {
                const I larger = score.r[i] > best.r[i];
                best.r[i] = larger ? score.r[i] : best.r[i];
                at[i] = larger ? (p - I{}) : at[i];
            }
        }
        best.store(out + k * L);
        for (int i = 0; i < P::kRegisters; ++i)
            for (int j = 0; j < P::kPerRegister; ++j)
                from[k * L + i * P::kPerRegister + j] = static_cast<std::int32_t>(at[i][j]);
    }
}

inline constexpr wald::ChainKernels chain_table{
    .max_plus = &max_plus<float>,
    .accumulate = &accumulate<float>,
    .accumulate_rows = &accumulate_rows<float>,
};

}  // namespace WALD_ISA
