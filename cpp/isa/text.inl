// Kernels of texts. Included by tables.inl, once per instruction set.

namespace WALD_ISA {

typedef std::uint8_t Characters __attribute__((vector_size(WALD_REGISTER_BYTES)));
typedef std::uint8_t UnalignedCharacters __attribute__((vector_size(WALD_REGISTER_BYTES), aligned(1), may_alias));

// One bit for each byte, from its highest bit.
inline std::uint64_t highest_bits(Characters x) {
#if defined(__AVX512F__)
    return _mm512_movepi8_mask((__m512i)x);
#elif defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)x));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)x));
#else
    std::uint64_t halves[2];
    std::memcpy(halves, &x, sizeof halves);
    std::uint64_t bits = 0;
    for (int i = 0; i < 2; ++i) bits |= ((halves[i] >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * i;
    return bits;
#endif
}

template <wald::Token token>
inline bool scan_tokens(const std::uint8_t* text, std::size_t n, bool lower, std::uint8_t* out, std::uint64_t* in_token,
                        std::uint64_t* high) {
    using u8 = std::uint8_t;
    constexpr int kSteps = 64 / WALD_REGISTER_BYTES;
    Characters to_lower = Characters{};
    if (lower) to_lower |= u8(0x20);
    std::uint64_t any = 0;
    alignas(64) u8 last[64] = {};
    for (std::size_t i = 0; i < n; i += 64) {
        const u8* from = text + i;
        if (n - i < 64) {
            std::memcpy(last, from, n - i);
            from = last;
        }
        std::uint64_t tokens = 0, highs = 0;
        for (int s = 0; s < kSteps; ++s) {
#if defined(__AVX512F__)
            const __m512i x = _mm512_loadu_si512(from);
            const auto below = [](__m512i v, char first, char width) {
                return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(first)), _mm512_set1_epi8(width));
            };
            const __mmask64 upper = lower ? below(x, 'A', 26) : 0;
            _mm512_storeu_si512(out + i, _mm512_mask_add_epi8(x, upper, x, _mm512_set1_epi8(0x20)));
            highs = _mm512_movepi8_mask(x);
            if constexpr (token == wald::Token::word)
                tokens = below(_mm512_or_si512(x, _mm512_set1_epi8(0x20)), 'a', 26) | below(x, '0', 10) |
                         _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('_'));
            else tokens = ~(below(x, 9, 5) | below(x, 28, 5) | highs);
#else
            const auto x = (Characters) * reinterpret_cast<const UnalignedCharacters*>(from + s * WALD_REGISTER_BYTES);
            const Characters upper = (Characters)(x - u8('A') < u8(26));
            Characters inside;
            if constexpr (token == wald::Token::word)
                inside = (Characters)((x | u8(0x20)) - u8('a') < u8(26)) | (Characters)(x - u8('0') < u8(10)) |
                         (Characters)(x == u8('_'));
            else  // the white space of ASCII: 9 to 13, 28 to 32
                inside = (Characters)((x - u8(9) >= u8(5)) & (x - u8(28) >= u8(5)) & (x < u8(128)));
            *reinterpret_cast<UnalignedCharacters*>(out + i + s * WALD_REGISTER_BYTES) = x + (upper & to_lower);
            tokens |= highest_bits(inside) << s * WALD_REGISTER_BYTES % 64;
            highs |= highest_bits(x) << s * WALD_REGISTER_BYTES % 64;
#endif
        }
        if (token == wald::Token::not_space && n - i < 64) tokens &= (std::uint64_t{1} << (n - i)) - 1;
        in_token[i / 64] = tokens;
        high[i / 64] = highs;
        any |= highs;
    }
    return any != 0;
}

inline bool scan_text(const std::uint8_t* text, std::size_t n, bool lower, wald::Token token, std::uint8_t* out,
                      std::uint64_t* in_token, std::uint64_t* high) {
    return token == wald::Token::word ? scan_tokens<wald::Token::word>(text, n, lower, out, in_token, high)
                                      : scan_tokens<wald::Token::not_space>(text, n, lower, out, in_token, high);
}

// Adds dot products to `panels` panels of outputs.
template <int panels>
inline void dots_of_panels(const double* values, const std::int32_t* columns, std::int64_t n, const double* records,
                           std::int64_t stride, double* out) {
    using P = Pack<double>;
    P sums[panels];
    for (int p = 0; p < panels; ++p) sums[p] = P::load(out + p * P::kSize);
    for (std::int64_t i = 0; i < n; ++i) {
        const double* record = records + columns[i] * stride;
        const P value = P::set(values[i]);
        for (int p = 0; p < panels; ++p) sums[p] = sums[p] + value * P::load(record + p * P::kSize);
    }
    for (int p = 0; p < panels; ++p) sums[p].store(out + p * P::kSize);
}

inline void text_dots(const double* values, const std::int32_t* columns, std::int64_t n, const double* records,
                      std::int64_t stride, std::int64_t n_outputs, double* out) {
    constexpr int L = Pack<double>::kSize;
    if (n_outputs == 1) {
        double sum = out[0];
        for (std::int64_t i = 0; i < n; ++i) sum += values[i] * records[columns[i] * stride];
        out[0] = sum;
        return;
    }
    for (std::int64_t k = 0; k < n_outputs;) {
        const std::int64_t left = n_outputs - k;
        alignas(64) double sums[4 * L] = {};
        const int panels = left > 3 * L ? 4 : static_cast<int>((left + L - 1) / L);
        const auto add = panels == 4   ? &dots_of_panels<4>
                         : panels == 3 ? &dots_of_panels<3>
                         : panels == 2 ? &dots_of_panels<2>
                                       : &dots_of_panels<1>;
        const std::int64_t taken = left < panels * L ? left : panels * L;
        const std::size_t bytes = static_cast<std::size_t>(taken) * sizeof(double);
        std::memcpy(sums, out + k, bytes);
        add(values, columns, n, records + k, stride, sums);
        std::memcpy(out + k, sums, bytes);
        k += taken;
    }
}

inline constexpr wald::TextKernels text_table{.scan = &scan_text, .dots = &text_dots};

}  // namespace WALD_ISA
