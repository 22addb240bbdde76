// A panel (64 bytes) of lanes on the registers of this translation unit. Include it from isa/*.cpp only: everything is
// in the namespace WALD_ISA, so that two instruction sets never share a symbol.
#pragma once

#include <cstdint>
#include <type_traits>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define WALD_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define WALD_REGISTER_BYTES 32
#else
#define WALD_REGISTER_BYTES 16
#endif

namespace WALD_ISA {

template <class T>
struct Register;
template <>
struct Register<float> {
    typedef float type __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef std::int32_t integer __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef std::uint32_t unsigned_integer __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef float unaligned __attribute__((vector_size(WALD_REGISTER_BYTES), aligned(4), may_alias));
};
template <>
struct Register<double> {
    typedef double type __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef std::int64_t integer __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef std::uint64_t unsigned_integer __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef double unaligned __attribute__((vector_size(WALD_REGISTER_BYTES), aligned(8), may_alias));
};

// a * b + c with explicit instructions, because the compiler must not contract: the same row must round the same way in
// every loop.
inline Register<float>::type fused(Register<float>::type a, Register<float>::type b, Register<float>::type c) {
#if defined(__AVX512F__)
    return (Register<float>::type)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (Register<float>::type)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (Register<float>::type)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}
inline Register<double>::type fused(Register<double>::type a, Register<double>::type b, Register<double>::type c) {
#if defined(__AVX512F__)
    return (Register<double>::type)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (Register<double>::type)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    return (Register<double>::type)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

inline Register<float>::type square_root(Register<float>::type x) {
#if defined(__AVX512F__)
    return (Register<float>::type)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
    return (Register<float>::type)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (Register<float>::type)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
    return (Register<float>::type)vsqrtq_f32((float32x4_t)x);
#else
    for (int i = 0; i < WALD_REGISTER_BYTES / 4; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}
inline Register<double>::type square_root(Register<double>::type x) {
#if defined(__AVX512F__)
    return (Register<double>::type)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
    return (Register<double>::type)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
    return (Register<double>::type)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__)
    return (Register<double>::type)vsqrtq_f64((float64x2_t)x);
#else
    for (int i = 0; i < WALD_REGISTER_BYTES / 8; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
#endif
}

#if defined(__AVX2__) || defined(__AVX512F__) || defined(__aarch64__)
inline constexpr bool kFused = true;
#else
inline constexpr bool kFused = false;
#endif

template <class T>
struct Pack {
    using R = typename Register<T>::type;
    using I = typename Register<T>::integer;
    static constexpr int kRegisters = 64 / WALD_REGISTER_BYTES;
    static constexpr int kPerRegister = WALD_REGISTER_BYTES / static_cast<int>(sizeof(T));
    static constexpr int kSize = 64 / static_cast<int>(sizeof(T));
    R r[kRegisters];

    static Pack zero() { return set(T(0)); }
    static Pack set(T v) {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = v - R{};
        return p;
    }
    static Pack load(const T* x) {
        Pack p;
        for (int i = 0; i < kRegisters; ++i)
            p.r[i] = *reinterpret_cast<const typename Register<T>::unaligned*>(x + i * kPerRegister);
        return p;
    }
    // Loads values of another type and converts them.
    template <class S>
    static Pack load_as(const S* x) {
        if constexpr (sizeof(S) == sizeof(T)) return load(x);
#if defined(__AVX2__)
        if constexpr (sizeof(T) == 4 && sizeof(S) == 8) {  // compilers would go through memory
            Pack p;
#if defined(__AVX512F__)
            const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(x)), high = _mm512_cvtpd_ps(_mm512_loadu_pd(x + 8));
            p.r[0] = (R)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
            for (int i = 0; i < kRegisters; ++i) {
                const double* from = x + i * kPerRegister;
                p.r[i] = (R)_mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(from + 4)),
                                            _mm256_cvtpd_ps(_mm256_loadu_pd(from)));
            }
#endif
            return p;
        }
        if constexpr (sizeof(T) == 4 && sizeof(S) == 1) {  // compilers would convert byte by byte
            Pack p;
#if defined(__AVX512F__)
            p.r[0] = (R)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#else
            for (int i = 0; i < kRegisters; ++i)
                p.r[i] = (R)_mm256_cvtepi32_ps(
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i * kPerRegister))));
#endif
            return p;
        }
#endif
        T v[kSize];
        for (int j = 0; j < kSize; ++j) v[j] = static_cast<T>(x[j]);
        return load(v);
    }
    // Loads the first n values of another type, fewer than a whole panel, and zeros.
    template <class S>
    static Pack load_first(const S* x, int n) {
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 8 && sizeof(S) > 1) {
            const auto lanes = static_cast<__mmask8>((1u << n) - 1);
            Pack p;
            if constexpr (sizeof(S) == 8) p.r[0] = (R)_mm512_maskz_loadu_pd(lanes, x);
            else p.r[0] = (R)_mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, x));
            return p;
        }
#endif
        S rest[kSize] = {};
        for (int i = 0; i < n; ++i) rest[i] = x[i];
        return load_as(rest);
    }
    void store(T* x) const {
        for (int i = 0; i < kRegisters; ++i)
            *reinterpret_cast<typename Register<T>::unaligned*>(x + i * kPerRegister) = r[i];
    }
    Pack operator+(const Pack& o) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] + o.r[i];
        return p;
    }
    Pack operator-(const Pack& o) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] - o.r[i];
        return p;
    }
    Pack operator*(const Pack& o) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] * o.r[i];
        return p;
    }
    Pack operator/(const Pack& o) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] / o.r[i];
        return p;
    }
    void fma(const Pack& a, const Pack& b) {
        for (int i = 0; i < kRegisters; ++i) r[i] = fused(a.r[i], b.r[i], r[i]);
    }
    Pack abs() const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] < T(0) ? -r[i] : r[i];
        return p;
    }
    // Lane by lane: this value, or `other` where the condition holds. NaN never satisfies a condition.
    Pack where_greater(T limit, const Pack& other) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] > (limit - R{}) ? other.r[i] : r[i];
        return p;
    }
    // Lane by lane: the smaller one of this value and the limit. NaN stays NaN.
    Pack at_most(T limit) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) {
            const R most = limit - R{};
#if defined(__AVX512F__)
            if constexpr (sizeof(T) == 4) p.r[i] = (R)_mm512_min_ps((__m512)most, (__m512)r[i]);
            else p.r[i] = (R)_mm512_min_pd((__m512d)most, (__m512d)r[i]);
#else
            p.r[i] = r[i] > most ? most : r[i];
#endif
        }
        return p;
    }
    // Lane by lane: `other`, or zero where this value is less than the limit.
    Pack zero_below(T limit, const Pack& other) const {
        Pack p;
        for (int i = 0; i < kRegisters; ++i) p.r[i] = r[i] < (limit - R{}) ? R{} : other.r[i];
        return p;
    }
    // Sums the lanes by a fixed tree: halves are added until one lane is left.
    T sum() const {
#if defined(__AVX2__)
#if defined(__AVX512F__)
        const auto both = halves(r[0]);
#else
        const auto both = r[0] + r[1];
#endif
        if constexpr (sizeof(T) == 8) {
            const __m128d two =
                _mm_add_pd(_mm256_castpd256_pd128((__m256d)both), _mm256_extractf128_pd((__m256d)both, 1));
            return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
        } else {
            __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)both), _mm256_extractf128_ps((__m256)both, 1));
            four = _mm_add_ps(four, _mm_movehl_ps(four, four));
            return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
        }
#else
        T lane[kSize];
        store(lane);
        for (int half = kSize / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
        return lane[0];
#endif
    }

private:
#if defined(__AVX512F__)
    static auto halves(R x) {
        if constexpr (sizeof(T) == 8)
            return _mm256_add_pd(_mm512_castpd512_pd256((__m512d)x), _mm512_extractf64x4_pd((__m512d)x, 1));
        else return _mm256_add_ps(_mm512_castps512_ps256((__m512)x), _mm512_extractf32x8_ps((__m512)x, 1));
    }
#endif
};

// Powers of two are multiples of 2^(1 / kPowerSteps), times a polynomial of what is left of the exponent.
#if defined(__AVX512F__)
inline constexpr int kPowerBits = 4;
#else
inline constexpr int kPowerBits = 0;
#endif
inline constexpr int kPowerSteps = 1 << kPowerBits;

// Coefficients of (2^x - 1) / x for |x| <= 1 / (2 kPowerSteps), from x^0 on; 2^x is within .07 units in the last place.
template <class T>
struct PowerSeries;
#if defined(__AVX512F__)
template <>
struct PowerSeries<double> {
    static constexpr double coefficients[] = {0.04332169878499668 * 16,        0.0009383847928089807 * 0x1p8,
                                              1.3550807776399796e-05 * 0x1p12, 1.4676100329882918e-07 * 0x1p16,
                                              1.2716120268329257e-09 * 0x1p20, 9.181111026621392e-12 * 0x1p24};
};
template <>
struct PowerSeries<float> {
    static constexpr float coefficients[] = {static_cast<float>(0.043321698916664354 * 16),
                                             static_cast<float>(0.0009384151875544778 * 0x1p8),
                                             static_cast<float>(1.3550326294563067e-05 * 0x1p12)};
};
// 2^(i / 16), less the bits that i takes at the top of the mantissa.
template <class T>
struct Powers {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
    Bits less[kPowerSteps] = {};
    constexpr Powers() {
        constexpr double powers[kPowerSteps] = {1.0,
                                                1.0442737824274138,
                                                1.0905077326652577,
                                                1.1387886347566916,
                                                1.189207115002721,
                                                1.241857812073484,
                                                1.2968395546510096,
                                                1.3542555469368927,
                                                1.4142135623730951,
                                                1.4768261459394993,
                                                1.5422108254079407,
                                                1.6104903319492543,
                                                1.681792830507429,
                                                1.7562521603732995,
                                                1.8340080864093424,
                                                1.9152065613971474};
        for (int i = 0; i < kPowerSteps; ++i)
            less[i] = __builtin_bit_cast(Bits, static_cast<T>(powers[i])) -
                      (static_cast<Bits>(i) << (kMantissa - kPowerBits));
    }
};
template <class T>
inline constexpr Powers<T> kPowers;
inline __m512i power_of(__m512i step, double) {
    const std::uint64_t* less = kPowers<double>.less;
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(less), step, _mm512_loadu_si512(less + 8));
}
inline __m512i power_of(__m512i step, float) {
    return _mm512_permutexvar_epi32(step, _mm512_loadu_si512(kPowers<float>.less));
}
#else
template <>
struct PowerSeries<double> {
    static constexpr double coefficients[] = {0.6931471805599453,     0.2402265069591013,     0.055504108664820084,
                                              0.00961812910759412,    0.001333355814677462,   0.0001540353045711209,
                                              1.5252733493127489e-05, 1.3215435282308488e-06, 1.0178199571842138e-07,
                                              7.073783248503134e-09,  4.434771298200377e-10};
};
template <>
struct PowerSeries<float> {
    static constexpr float coefficients[] = {0.6931472028550316F,  0.24022647913636852F,  0.055503324711908573F,
                                             0.00961843735695742F, 0.001339887439398139F, 0.0001535336206885849F};
};
#endif

// Added to a number, it rounds this to a multiple of 1 / kPowerSteps, whose last bits then are the number of steps.
template <class T>
inline constexpr T kRounding = sizeof(T) == 4 ? T(12582912.0 / kPowerSteps) : T(6755399441055744.0 / kPowerSteps);

// 2^(n + rest) for N packs at once, where `shifted` is n + kRounding, and |rest| <= 1 / (2 kPowerSteps); n is no less
// than the smallest exponent of a normal number.
template <class T, int N>
inline void powers_of_two(const Pack<T> (&shifted)[N], const Pack<T> (&rest)[N], Pack<T> (&found)[N]) {
    using P = Pack<T>;
    using I = typename Register<T>::unsigned_integer;
    constexpr int last = sizeof(PowerSeries<T>::coefficients) / sizeof(T) - 1, mantissa = sizeof(T) == 4 ? 23 : 52;
    P q[N], step[N];
    for (int j = 0; j < N; ++j) q[j] = P::set(PowerSeries<T>::coefficients[last]);
    for (int k = last - 1; k >= 0; --k)
        for (int j = 0; j < N; ++j) {
            P next = P::set(PowerSeries<T>::coefficients[k]);
            next.fma(q[j], rest[j]);
            q[j] = next;
        }
    for (int j = 0; j < N; ++j)
        for (int i = 0; i < P::kRegisters; ++i) {
            const I bits = (I)shifted[j].r[i];
#if defined(__AVX512F__)
            const I power = (I)power_of((__m512i)bits, T{});
#else
            const I power = (I)(T(1) - typename P::R{});
#endif
            step[j].r[i] = (typename P::R)(power + (bits << (mantissa - kPowerBits)));
        }
    for (int j = 0; j < N; ++j) q[j] = q[j] * rest[j];
    for (int j = 0; j < N; ++j) {
        found[j] = step[j];
        found[j].fma(step[j], q[j]);
    }
}

// 2^x for N packs of x < 128 (1024), within 1.2 units in the last place; below the smallest normal number the result is
// 0. NaN stays NaN.
template <class T, int N>
inline void powers_of_two(Pack<T> (&x)[N]) {
    using P = Pack<T>;
    constexpr T least = sizeof(T) == 4 ? T(-126) : T(-1022);
    const P rounding = P::set(kRounding<T>);
    P shifted[N], rest[N], found[N];
    for (int j = 0; j < N; ++j) shifted[j] = x[j] + rounding;
    for (int j = 0; j < N; ++j) rest[j] = x[j] - (shifted[j] - rounding);
    powers_of_two<T, N>(shifted, rest, found);
    for (int j = 0; j < N; ++j) x[j] = x[j].zero_below(least, found[j]);
}

// exp for x <= 88 (709), by a Cody-Waite reduction, within 2 units in the last place; below the smallest normal number
// the result is 0. NaN stays NaN.
template <class T>
inline Pack<T> exponential(const Pack<T>& x) {
    using P = Pack<T>;
    constexpr bool is_f32 = sizeof(T) == 4;
    constexpr T log2e = T(1.4426950408889634074);
    constexpr T ln2_high = is_f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
    constexpr T ln2_low = is_f32 ? T(-2.12194440054690582e-4) : T(1.90821492927058770002e-10);
    P shifted = P::set(kRounding<T>);
    shifted.fma(x, P::set(log2e));
    const P n = shifted - P::set(kRounding<T>);
    P rest = x;
    rest.fma(n, P::set(-ln2_high));
    rest.fma(n, P::set(-ln2_low));
    const P shifts[1] = {shifted}, rests[1] = {rest * P::set(log2e)};
    P found[1];
    powers_of_two<T, 1>(shifts, rests, found);
    return x.zero_below(is_f32 ? T(-87.3) : T(-708.3), found[0]);
}

}  // namespace WALD_ISA
