// Dot products to kernel values, and sums of these. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

using wald::Activation;
using wald::KernelParams;
using wald::kSumPanels;

// Turns dot products into kernel values.
template <class T, Activation A>
class KernelValue {
public:
    using P = Pack<T>;

    explicit KernelValue(const KernelParams& params)
        : gamma_(static_cast<T>(A == Activation::rbf ? params.gamma * wald::kLog2E : params.gamma)),
          coef0_(static_cast<T>(params.coef0)), degree_(params.degree) {}

    // Absolute values of values; those of rbf kernels are not negative.
    static P size(const P& value) { return A == Activation::rbf ? value : value.abs(); }
    // What a row adds to its exponents.
    P of_row(T norm2) const { return P::set(-gamma_ * norm2); }
    // Turns products with N panels into values; each comes with the value `of_row` of its row.
    template <int N>
    void operator()(const Panels<T>& panels, const int (&panel)[N], const P (&of_row)[N], P (&x)[N]) const {
        P dot[N];
        for (int j = 0; j < N; ++j) dot[j] = x[j];
        if constexpr (A == Activation::rbf) {
            for (int j = 0; j < N; ++j) {
                P exponent = P::load(panels.offset + panel[j] * P::kSize);
                exponent.fma(P::set(2 * gamma_), dot[j]);
                x[j] = (exponent + of_row[j]).at_most(T(0));
            }
            powers_of_two<T, N>(x);
        } else {
            for (int j = 0; j < N; ++j) x[j] = activated(dot[j]);
        }
        for (int j = 0; j < N; ++j) {
            if (!panels.has_linear[panel[j]]) continue;
            const P linear = P::load(panels.linear + panel[j] * P::kSize);
            for (int i = 0; i < P::kRegisters; ++i) x[j].r[i] = linear.r[i] > T(0) ? dot[j].r[i] : x[j].r[i];
        }
    }

private:
    P activated(const P& dot) const {
        P base = P::set(coef0_);
        base.fma(P::set(gamma_), dot);
        P value;
        if constexpr (A == Activation::poly) {
            value = P::set(T(1));
            P power = base;
            for (int e = degree_; e > 0; e /= 2) {
                if (e % 2) value = value * power;
                power = power * power;
            }
        } else {  // tanh(v) = sign(v) (1 - e) / (1 + e), e = exp(-2 |v|)
            const P e = exponential<T>(base.abs() * P::set(T(-2)));
            const P magnitude = (P::set(T(1)) - e) / (P::set(T(1)) + e);
            value = P::zero() - magnitude;
            for (int i = 0; i < P::kRegisters; ++i) value.r[i] = base.r[i] < T(0) ? value.r[i] : magnitude.r[i];
        }
        return value;
    }

    T gamma_, coef0_;
    int degree_;
};

// Calls use(KernelValue) of the parameters.
template <class T, class Use>
inline void with_kernel_value(const KernelParams& params, const Use& use) {
    switch (params.activation) {
        case Activation::rbf: return use(KernelValue<T, Activation::rbf>(params));
        case Activation::poly: return use(KernelValue<T, Activation::poly>(params));
        case Activation::sigmoid: return use(KernelValue<T, Activation::sigmoid>(params));
    }
}

// Calls use(k, their number N as a constant) for packs k, ..., k + N - 1 of n: enough of them to hide latencies.
template <class Use>
inline void packs_together(int n, const Use& use) {
    constexpr int N = WALD_REGISTER_BYTES / 16;
    int k = 0;
    for (; k + N <= n; k += N) use(k, std::integral_constant<int, N>{});
    for (; k < n; ++k) use(k, std::integral_constant<int, 1>{});
}

template <class T>
void activate(const KernelParams& params, const Panels<T>& panels, int first, int last, T norm2, T* slot) {
    using P = Pack<T>;
    with_kernel_value<T>(params, [&](const auto& kernel_value) {
        const P row = kernel_value.of_row(norm2);
        packs_together(last - first, [&](int k, auto n) {
            constexpr int N = n;
            int panel[N];
            P x[N], of_row[N];
            for (int j = 0; j < N; ++j) {
                panel[j] = first + k + j;
                x[j] = P::load(slot + panel[j] * P::kSize);
                of_row[j] = row;
            }
            kernel_value(panels, panel, of_row, x);
            for (int j = 0; j < N; ++j) x[j].store(slot + panel[j] * P::kSize);
        });
    });
}

// The products of a tile stay in the nearest cache until they are added: the order of each sum is that of `readout`.
template <class T, class S = T>
void add_values(const KernelParams& params, const Panels<T>& panels, int first, int last,
                const PreparedRow<T>* const* rows, int n, const T* weights, const T* largest, T* sums) {
    if constexpr (sizeof(S) > sizeof(float))
        if (panels.narrow != nullptr)
            return add_values<T, float>(params, panels, first, last, rows, n, weights, largest, sums);
    using P = Pack<T>;
    constexpr int L = P::kSize, kMost = kAlonePanels > kPanels * kRows ? kAlonePanels : kPanels * kRows;
    alignas(64) T dots[kMost * L];
    with_kernel_value<T>(params, [&](const auto& kernel_value) {
        for (int r = 0; r < n; r += kRows) {
            const int m = n - r < kRows ? n - r : kRows;
            P offset[kRows];
            for (int i = 0; i < m; ++i) offset[i] = kernel_value.of_row(rows[r + i]->norm2);
            panel_groups(first, last, m, [&](int p, auto np) {
                T* to[kRows];
                for (int i = 0; i < m; ++i) to[i] = dots + i * np * L;
                if constexpr (np > kPanels) dense_tile<T, S, 1, np>(panels, p, rows + r, to, 0);
                else dense_rows<T, S, np>(panels, p, rows + r, m, to, 0);
                packs_together(m * np, [&](int k, auto together) {
                    constexpr int N = together;
                    int panel[N];
                    P x[N], of_row[N];
                    for (int j = 0; j < N; ++j) {
                        panel[j] = p + (k + j) % np;
                        x[j] = P::load(dots + (k + j) * L);
                        of_row[j] = offset[(k + j) / np];
                    }
                    kernel_value(panels, panel, of_row, x);
                    for (int j = 0; j < N; ++j) {
                        T* const chain =
                            sums + ((r + (k + j) / np) * 2 * kSumPanels + panel[j] % kSumPanels) * std::int64_t{L};
                        P scores = P::load(chain), sizes = P::load(chain + kSumPanels * L);
                        scores.fma(x[j], P::load(weights + panel[j] * L));
                        sizes.fma(kernel_value.size(x[j]), P::load(largest + panel[j] * L));
                        scores.store(chain);
                        sizes.store(chain + kSumPanels * L);
                    }
                });
            });
        }
    });
}

template <class T>
T chains_sum(const T* chains) {
    constexpr int L = Pack<T>::kSize;
    const auto chain = [chains](int c) { return Pack<T>::load(chains + c * L); };
    return ((chain(0) + chain(1)) + (chain(2) + chain(3))).sum();
}

}  // namespace WALD_ISA
