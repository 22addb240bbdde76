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

    // What a row adds to its exponents.
    P of_row(T norm2) const { return P::set(-gamma_ * norm2); }
    P operator()(const Panels<T>& panels, int panel, const P& dot, const P& of_row) const {
        P value = activated(panels.offset + panel * P::kSize, dot, of_row);
        if (panels.has_linear[panel]) {
            const P linear = P::load(panels.linear + panel * P::kSize);
            for (int i = 0; i < P::kRegisters; ++i) value.r[i] = linear.r[i] > T(0) ? dot.r[i] : value.r[i];
        }
        return value;
    }

private:
    P activated(const T* offset, const P& dot, const P& of_row) const {
        if constexpr (A == Activation::rbf) {
            P exponent = P::load(offset);
            exponent.fma(P::set(2 * gamma_), dot);
            return power_of_two<T>((exponent + of_row).where_greater(T(0), P::zero()));
        } else {
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

template <class T>
void activate(const KernelParams& params, const Panels<T>& panels, int first, int last, T norm2, T* slot) {
    with_kernel_value<T>(params, [&](const auto& kernel_value) {
        const Pack<T> of_row = kernel_value.of_row(norm2);
        for (int p = first; p < last; ++p) {
            T* out = slot + p * Pack<T>::kSize;
            kernel_value(panels, p, Pack<T>::load(out), of_row).store(out);
        }
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
            panel_groups(first, last, m, [&](int p, auto np) {
                T* to[kRows];
                for (int i = 0; i < m; ++i) to[i] = dots + i * np * L;
                if constexpr (np > kPanels) dense_tile<T, S, 1, np>(panels, p, rows + r, to, 0);
                else dense_rows<T, S, np>(panels, p, rows + r, m, to, 0);
                for (int i = 0; i < m; ++i) {
                    const P of_row = kernel_value.of_row(rows[r + i]->norm2);
                    T* const sum = sums + (r + i) * (2 * kSumPanels * L);
                    for (int j = 0; j < np; ++j) {
                        const P value = kernel_value(panels, p + j, P::load(to[i] + j * L), of_row);
                        T* const chain = sum + (p + j) % kSumPanels * L;
                        P scores = P::load(chain), sizes = P::load(chain + kSumPanels * L);
                        scores.fma(value, P::load(weights + (p + j) * L));
                        sizes.fma(value.abs(), P::load(largest + (p + j) * L));
                        scores.store(chain);
                        sizes.store(chain + kSumPanels * L);
                    }
                }
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
