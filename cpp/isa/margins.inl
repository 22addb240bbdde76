// Margins of estimates of one score, a panel of rows at a time. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

// log(1 + x) for finite x >= 0, within 4 units in the last place: 1 + x = 2^k m, with the odd powers of
// (m - 1) / (m + 1) for m in [sqrt(1/2), sqrt(2)). Where k = 0, m - 1 is x itself, which 1 + x has rounded.
template <class T>
inline typename Register<T>::type log_of_one_plus(typename Register<T>::type x) {
    using R = typename Register<T>::type;
    using I = typename Register<T>::unsigned_integer;
    constexpr bool is_f32 = sizeof(T) == 4;
    constexpr int mantissa = is_f32 ? 23 : 52, terms = is_f32 ? 5 : 11;
    constexpr T magic = is_f32 ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^mantissa
    constexpr T ln2_high = is_f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
    constexpr T ln2_low = is_f32 ? T(-2.12194440054690582e-4) : T(1.90821492927058770002e-10);
    const R zero{}, one = T(1) - zero, root_half = T(0.70710678118654752440) - zero, origin = magic - zero;
    const R u = one + x;
    const I exponent = ((I)u - (I)root_half) >> mantissa;
    const R k = (R)((I)origin + exponent) - origin, m = (R)((I)u - (exponent << mantissa));
    const R f = k > zero ? m - one : x, s = f / (f + (T(2) - zero)), z = s * s;
    R series = T(1.0 / (2 * terms - 1)) - zero;
    for (int j = terms - 2; j >= 0; --j) series = fused(series, z, T(1.0 / (2 * j + 1)) - zero);
    return fused(k, ln2_high - zero, fused(s + s, series, k * ln2_low));
}

// Distances to the nearest threshold.
template <class T>
inline Pack<T> distances(const wald::MarginView<T>& rule, const Pack<T>& z) {
    using P = Pack<T>;
    P nearest = P::set(std::numeric_limits<T>::infinity());
    for (int j = 0; j < rule.n_thresholds; ++j) {
        const P distance = (z - P::set(rule.thresholds[j])).abs();
        for (int i = 0; i < P::kRegisters; ++i)
            nearest.r[i] = distance.r[i] < nearest.r[i] ? distance.r[i] : nearest.r[i];
    }
    return nearest;
}

// How far estimates may move until their values are off by more than the tolerance.
template <class T>
inline Pack<T> value_margins(const wald::MarginView<T>& rule, const Pack<T>& z) {
    using P = Pack<T>;
    using R = typename P::R;
    // Beyond this size exp(z) overflows, or is 0; margins that are computed with it are too narrow, never too wide.
    constexpr T most = sizeof(T) == 4 ? T(87) : T(708);
    const T tolerance = rule.tolerance;
    const P tol = P::set(tolerance);
    if (rule.kind == wald::MarginKind::none) return P::zero();
    if (rule.kind == wald::MarginKind::constant) return tol;
    if (rule.kind == wald::MarginKind::relative) return z.abs() * tol;
    P found;
    if (rule.kind == wald::MarginKind::exp) {  // log(1 + tolerance * exp(-z))
        const P e = exponential<T>((P::zero() - z).where_greater(most, P::set(most)));
        for (int i = 0; i < P::kRegisters; ++i) found.r[i] = log_of_one_plus<T>(e.r[i] * tolerance);
        return found;
    }
    // The side towards 0 is the narrower one. With e = exp(-|z|), the margin is
    // log(1 + tolerance (1 + e)^2 / e / (1 - tolerance (1 + e))): anything, if the denominator is not positive.
    const P moved = z * P::set(rule.slope) + P::set(rule.offset);
    const P e = exponential<T>(P::zero() - moved.abs().where_greater(most, P::set(most)));
    for (int i = 0; i < P::kRegisters; ++i) {
        const R zero{}, one = T(1) - zero, share = (one + e.r[i]) * tolerance, rest = one - share;
        const R x = share * (one + e.r[i]) / (e.r[i] * rest), largest = std::numeric_limits<T>::max() / 4 - zero;
        found.r[i] = log_of_one_plus<T>(x < largest ? x : largest) / rule.slope;
        found.r[i] = rest > zero ? found.r[i] : largest;
    }
    return found;
}

template <class T>
inline Pack<T> margins_of_panel(const wald::MarginView<T>& rule, const Pack<T>& z, const T* variances, T least) {
    using P = Pack<T>;
    using R = typename P::R;
    const R zero{}, largest = std::numeric_limits<T>::max() - zero, nan = std::numeric_limits<T>::quiet_NaN() - zero;
    P found = rule.kind == wald::MarginKind::bands ? distances(rule, z) : value_margins(rule, z);
    if (variances != nullptr) {
        const P variance = P::load(variances);
        for (int i = 0; i < P::kRegisters; ++i) {
            const R floor = least - zero, v = variance.r[i] < floor ? floor : variance.r[i];
            found.r[i] = v == v ? found.r[i] / square_root(v) : zero;  // sums of huge values can be NaN
        }
    }
    for (int i = 0; i < P::kRegisters; ++i) {
        const R margin = found.r[i] < largest ? found.r[i] : largest;
        found.r[i] = z.r[i] - z.r[i] == zero ? margin : nan;
    }
    return found;
}

template <class T>
void margins(const wald::MarginView<T>& rule, const T* z, const T* variances, T least, int n, T* found) {
    using P = Pack<T>;
    constexpr int L = P::kSize;
    int i = 0;
    for (; i + L <= n; i += L)
        margins_of_panel(rule, P::load(z + i), variances == nullptr ? nullptr : variances + i, least).store(found + i);
    if (i == n) return;
    T some[L] = {}, spread[L] = {}, last[L];
    for (int j = 0; i + j < n; ++j) {
        some[j] = z[i + j];
        spread[j] = variances == nullptr ? T(0) : variances[i + j];
    }
    margins_of_panel(rule, P::load(some), variances == nullptr ? nullptr : spread, least).store(last);
    for (int j = 0; i + j < n; ++j) found[i + j] = last[j];
}

template <class T>
void bands(const wald::MarginView<T>& rule, const T* z, int n, std::int32_t* codes) {
    for (int i = 0; i < n; ++i) codes[i] = 0;
    for (int j = 0; j < rule.n_thresholds; ++j) {
        const T edge = rule.edges[j];
        for (int i = 0; i < n; ++i) codes[i] += z[i] > edge;
    }
}

}  // namespace WALD_ISA
