// A panel (64 bytes) of lanes on the registers of this translation unit. Include it from isa/*.cpp only: everything is
// in the namespace WALD_ISA, so that two instruction sets never share a symbol.
#pragma once

#include <cstdint>
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
    // Sums the lanes by a fixed tree: halves are added until one lane is left.
    T sum() const {
        T lane[kSize];
        store(lane);
        for (int half = kSize / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
        return lane[0];
    }
};

// exp for x <= 88 (709): Cody-Waite reduction and a Taylor polynomial on [-ln2/2, ln2/2], within 2 units in the last
// place; below the smallest normal number the result is 0. NaN stays NaN.
template <class T>
inline Pack<T> exponential(Pack<T> x) {
    using P = Pack<T>;
    constexpr bool is_f32 = sizeof(T) == 4;
    constexpr T magic = is_f32 ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^(mantissa bits)
    constexpr T log2e = T(1.4426950408889634074);
    constexpr T ln2_high = is_f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
    constexpr T ln2_low = is_f32 ? T(-2.12194440054690582e-4) : T(1.90821492927058770002e-10);
    constexpr int terms = is_f32 ? 7 : 13;
    constexpr T inverse_factorial[14] = {T(1),
                                         T(1),
                                         T(1.0 / 2),
                                         T(1.0 / 6),
                                         T(1.0 / 24),
                                         T(1.0 / 120),
                                         T(1.0 / 720),
                                         T(1.0 / 5040),
                                         T(1.0 / 40320),
                                         T(1.0 / 362880),
                                         T(1.0 / 3628800),
                                         T(1.0 / 39916800),
                                         T(1.0 / 479001600),
                                         T(1.0 / 6227020800.0)};
    P shifted = P::set(magic);
    shifted.fma(x, P::set(log2e));
    P n = shifted - P::set(magic);
    P rest = x;
    rest.fma(n, P::set(-ln2_high));
    rest.fma(n, P::set(-ln2_low));
    P p = P::set(inverse_factorial[terms]);
    for (int k = terms - 1; k >= 0; --k) {
        P next = P::set(inverse_factorial[k]);
        next.fma(p, rest);
        p = next;
    }
    P result;
    for (int i = 0; i < P::kRegisters; ++i) {
        using I = typename Register<T>::unsigned_integer;
        typename P::R magic_register = magic - typename P::R{};
        I power = (I)shifted.r[i] - (I)magic_register;
        I bits = is_f32 ? (power + 127) << 23 : (power + 1023) << 52;
        typename P::R scaled = p.r[i] * (typename P::R)bits;
        typename P::R zero{};
        result.r[i] = x.r[i] < ((is_f32 ? T(-87.3) : T(-708.3)) - zero) ? zero : scaled;
    }
    return result;
}

}  // namespace WALD_ISA
