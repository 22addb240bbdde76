// Margins of estimates of one score, a panel of rows at a time. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

// log(1 + x) for finite x >= 0, within 2 units in the last place: 1 + x = 2^k m, with the odd powers of
// (m - 1) / (m + 1) for m in [sqrt(1/2), sqrt(2)).
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
    const R u = one + x, lost = x > one ? one - (u - x) : x - (u - one);  // what rounding took from u
    const I exponent = ((I)u - (I)root_half) >> mantissa;
    const R k = (R)((I)origin + exponent) - origin, m = (R)((I)u - (exponent << mantissa));
    const R f = m - one, s = f / (m + one), z = s * s;
    R series = T(1.0 / (2 * terms - 1)) - zero;
    for (int j = terms - 2; j >= 0; --j) series = series * z + (T(1.0 / (2 * j + 1)) - zero);
    return k * ln2_high + ((s + s) * series + (k * ln2_low + lost / u));
}

template <class T>
inline typename Register<T>::type root(typename Register<T>::type x) {
    if constexpr (sizeof(T) == 4) return square_root(x);
    else return x;  // only trees, whose estimates are single, know variances
}

// Codes of the bands in which estimates lie, as numbers, and their distances to the nearest threshold.
template <class T>
inline Pack<T> band_margins(const wald::MarginView<T>& rule, const Pack<T>& z, Pack<T>& codes) {
    using P = Pack<T>;
    using R = typename P::R;
    const R zero{}, one = T(1) - zero;
    P nearest = P::set(std::numeric_limits<T>::infinity());
    for (int j = 0; j < rule.n_thresholds; ++j) {
        const R threshold = rule.thresholds[j] - zero, edge = rule.edges[j] - zero;
        for (int i = 0; i < P::kRegisters; ++i) {
            const R d = z.r[i] - threshold, distance = d < zero ? -d : d;
            nearest.r[i] = distance < nearest.r[i] ? distance : nearest.r[i];
            codes.r[i] += z.r[i] > edge ? one : zero;
        }
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
    const P e = exponential<T>(P::zero() - z.abs().where_greater(most, P::set(most)));
    for (int i = 0; i < P::kRegisters; ++i) {
        const R zero{}, one = T(1) - zero, share = (one + e.r[i]) * tolerance, rest = one - share;
        const R x = share * (one + e.r[i]) / (e.r[i] * rest), largest = std::numeric_limits<T>::max() / 4 - zero;
        found.r[i] = log_of_one_plus<T>(x < largest ? x : largest);
        found.r[i] = rest > zero ? found.r[i] : largest;
    }
    return found;
}

template <class T>
inline void margins_of_panel(const wald::MarginView<T>& rule, const T* z, const T* variances, T least, T* codes,
                             T* margins) {
    using P = Pack<T>;
    using R = typename P::R;
    const R zero{}, largest = std::numeric_limits<T>::max() - zero, nan = std::numeric_limits<T>::quiet_NaN() - zero;
    const P estimates = P::load(z);
    P code = P::zero();
    P margin =
        rule.kind == wald::MarginKind::bands ? band_margins(rule, estimates, code) : value_margins(rule, estimates);
    const P variance = variances == nullptr ? P::set(T(1)) : P::load(variances);
    for (int i = 0; i < P::kRegisters; ++i) {
        const R floor = least - zero, v = variance.r[i] > floor ? variance.r[i] : floor;
        R m = variances == nullptr ? margin.r[i] : margin.r[i] / root<T>(v);
        m = m < largest ? m : largest;
        const R finite = estimates.r[i] - estimates.r[i];
        margin.r[i] = finite == zero ? m : nan;
        code.r[i] = finite == zero ? code.r[i] : zero;
    }
    code.store(codes);
    margin.store(margins);
}

template <class T>
void margins(const wald::MarginView<T>& rule, const T* z, const T* variances, T least, int n, std::int32_t* codes,
             T* found) {
    constexpr int L = Pack<T>::kSize;
    T code[L];
    int i = 0;
    for (; i + L <= n; i += L) {
        margins_of_panel(rule, z + i, variances == nullptr ? nullptr : variances + i, least, code, found + i);
        for (int j = 0; j < L; ++j) codes[i + j] = static_cast<std::int32_t>(code[j]);
    }
    if (i == n) return;
    T some[L] = {}, spread[L] = {}, last[L];
    for (int j = 0; i + j < n; ++j) {
        some[j] = z[i + j];
        spread[j] = variances == nullptr ? T(1) : variances[i + j];
    }
    margins_of_panel(rule, some, variances == nullptr ? nullptr : spread, least, code, last);
    for (int j = 0; i + j < n; ++j) {
        codes[i + j] = static_cast<std::int32_t>(code[j]);
        found[i + j] = last[j];
    }
}

}  // namespace WALD_ISA
