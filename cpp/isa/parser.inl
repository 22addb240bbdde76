// Kernels of the dependency parser: feature keys, hashed weight lookups and Eisner's chart. Included by tables.inl,
// once per instruction set.

namespace WALD_ISA {

using wald::parser::ArcList;
using wald::parser::kContexts;
using wald::parser::KeyTemplates;
using wald::parser::PairTask;

// Sixteen 32-bit integers.
struct Keys {
    typedef std::uint32_t type __attribute__((vector_size(WALD_REGISTER_BYTES)));
    typedef std::uint32_t unaligned __attribute__((vector_size(WALD_REGISTER_BYTES), aligned(4), may_alias));
    static constexpr int kRegisters = 64 / WALD_REGISTER_BYTES, kPerRegister = WALD_REGISTER_BYTES / 4;
    type r[kRegisters];

    static Keys load(const std::uint32_t* x) {
        Keys k;
        for (int i = 0; i < kRegisters; ++i) k.r[i] = *reinterpret_cast<const unaligned*>(x + i * kPerRegister);
        return k;
    }
    void store(std::uint32_t* x) const {
        for (int i = 0; i < kRegisters; ++i) *reinterpret_cast<unaligned*>(x + i * kPerRegister) = r[i];
    }
    void add(const Keys& o) {
        for (int i = 0; i < kRegisters; ++i) r[i] += o.r[i];
    }
    void add_product(const Keys& a, std::uint32_t b) {
        for (int i = 0; i < kRegisters; ++i) r[i] += a.r[i] * b;
    }
    // Converts keys to the places of slot 0: the cache line, and the permutation within it in the lowest bits.
    void to_places(int shift) {
        for (int i = 0; i < kRegisters; ++i) r[i] = (r[i] >> shift << 4) | (r[i] & 15u);
    }
    Keys slot(std::uint32_t b) const {
        Keys k;
        for (int i = 0; i < kRegisters; ++i) k.r[i] = r[i] ^ b;
        return k;
    }
};

inline void word_keys(const KeyTemplates& t, const std::uint32_t* const* x, const std::uint16_t* positions, int n,
                      int first, int last, int vectors, std::uint32_t* out) {
    for (int i = 0; i < n; ++i) {
        const int at = positions == nullptr ? i : positions[i];
        for (int v = first; v < last; ++v) {
            Keys key = Keys::load(t.salts + v * 16);
            for (std::int32_t e = t.first[v]; e < t.first[v + 1]; ++e)
                key.add_product(Keys::load(t.coefficients + e * 16), x[t.atoms[e]][at]);
            key.store(out + (static_cast<std::int64_t>(at) * vectors + v) * 16);
        }
    }
}

// Uses the masked forms of two AVX-512 instructions with all lanes on, because GCC 12 warns about the plain ones.
inline Pack<float> gather(const float* weights, const Keys& at) {
    Pack<float> p;
#if defined(__AVX512F__)
    p.r[0] = (Pack<float>::R)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, (__m512i)at.r[0], weights, 4);
#elif defined(__AVX2__)
    for (int i = 0; i < 2; ++i) p.r[i] = (Pack<float>::R)_mm256_i32gather_ps(weights, (__m256i)at.r[i], 4);
#else
    for (int i = 0; i < Keys::kRegisters; ++i)
        for (int j = 0; j < Keys::kPerRegister; ++j) p.r[i][j] = weights[at.r[i][j]];
#endif
    return p;
}

// line[j ^ s] for every j
inline Pack<float> permuted(const float* line, std::uint32_t s) {
    Pack<float> p;
#if defined(__AVX512F__)
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    p.r[0] = (Pack<float>::R)_mm512_maskz_permutexvar_ps(
        0xffff, _mm512_xor_si512(lanes, _mm512_set1_epi32(static_cast<int>(s))), _mm512_loadu_ps(line));
#elif defined(__AVX2__)
    const __m256i lanes =
        _mm256_xor_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(s & 7)));
    p.r[0] = (Pack<float>::R)_mm256_permutevar8x32_ps(_mm256_loadu_ps(line + (s & 8)), lanes);
    p.r[1] = (Pack<float>::R)_mm256_permutevar8x32_ps(_mm256_loadu_ps(line + 8 - (s & 8)), lanes);
#else
    float x[16];
    for (std::uint32_t j = 0; j < 16; ++j) x[j] = line[j ^ s];
    p = Pack<float>::load(x);
#endif
    return p;
}

inline void prefetch_lines(const float* weights, const std::uint32_t* places) {
    for (int l = 0; l < 16; ++l) __builtin_prefetch(weights + places[l]);
}

inline void word_unigrams(const float* weights, int shift, const std::uint32_t* keys, const std::uint16_t* which, int n,
                          int first, int last, int vectors, float* out) {
    constexpr int kMaxVectors = 4;  // vectors of unigrams in one call
    std::uint32_t places[2][kMaxVectors][16];
    auto locate = [&](int i) {
        for (int v = first; v < last; ++v) {
            Keys k = Keys::load(keys + (static_cast<std::int64_t>(which[i]) * vectors + v) * 16);
            k.to_places(shift);
            k.store(places[i & 1][v - first]);
            prefetch_lines(weights, places[i & 1][v - first]);
        }
    };
    if (n > 0) locate(0);
    for (int i = 0; i < n; ++i) {
        if (i + 1 < n) locate(i + 1);
        Pack<float> sum = Pack<float>::zero();
        for (int v = 0; v < last - first; ++v)
            for (int l = 0; l < 16; ++l) {
                const std::uint32_t at = places[i & 1][v][l];
                sum = sum + permuted(weights + (at & ~15u), at & 15u);
            }
        float x[16], *o = out + static_cast<std::int64_t>(which[i]) * 16;
        sum.store(x);
        for (int b = 0; b < 16; ++b) o[b] = x[b] + x[b & 1];
    }
}

// Weights are prefetched this many arcs ahead.
inline constexpr int kAhead = 4;

inline const float* between_row(const PairTask& t, const ArcList& arcs, int i) {
    return t.rows + ((static_cast<std::int64_t>(t.tags[arcs.head[i]]) * t.n_tags + t.tags[arcs.modifier[i]]) * 16 +
                     arcs.bin[i]) *
                        64;
}
// Sum of the weights of the tags between head and modifier: by tag modulo 16, from the lowest tag to the highest.
inline Pack<float> between_sums(const PairTask& t, const ArcList& arcs, int i) {
    const float* row = between_row(t, arcs, i);
    const std::uint64_t tags = arcs.between[i] | t.always;
#if defined(__AVX512F__)
    Pack<float> p = Pack<float>::zero();
    for (std::uint64_t rest = tags; rest != 0; rest >>= 16, row += 16) {
        const __mmask16 there = static_cast<__mmask16>(rest);
        p.r[0] = (Pack<float>::R)_mm512_mask_add_ps((__m512)p.r[0], there, (__m512)p.r[0],
                                                    _mm512_maskz_loadu_ps(there, row));
    }
    return p;
#else
    float lanes[16] = {};
    for (std::uint64_t rest = tags; rest != 0; rest &= rest - 1) {
        const int tag = __builtin_ctzll(rest);
        lanes[tag & 15] += row[tag];
    }
    return Pack<float>::load(lanes);
#endif
}

inline void between_scores(const PairTask& t, const ArcList& arcs, float* out) {
    if (t.rows == nullptr) return std::fill(out, out + arcs.n, 0.0f);
    constexpr int kRowsAhead = 8;
    auto prefetch_row = [&](int i) {
        const float* row = between_row(t, arcs, i);
        for (std::uint64_t rest = arcs.between[i] | t.always; rest != 0; rest >>= 16, row += 16)
            __builtin_prefetch(row);
    };
    for (int i = 0; i < kRowsAhead && i < arcs.n; ++i) prefetch_row(i);
    for (int i = 0; i < arcs.n; ++i) {
        if (i + kRowsAhead < arcs.n) prefetch_row(i + kRowsAhead);
        out[i] = between_sums(t, arcs, i).sum();
    }
}

template <int V>
inline void pair_scores(const PairTask& t, const ArcList& arcs, float* out) {
    std::uint32_t places[kAhead][V][16];
    auto locate = [&](int i) {
        const std::uint32_t* h = t.head_keys + (static_cast<std::int64_t>(arcs.head[i]) * t.vectors + t.first) * 16;
        const std::uint32_t* m =
            t.modifier_keys + (static_cast<std::int64_t>(arcs.modifier[i]) * t.vectors + t.first) * 16;
        const std::uint32_t* contexts = arcs.contexts + static_cast<std::int64_t>(i) * kContexts;
        for (int v = 0; v < V; ++v) {
            Keys k = Keys::load(h + v * 16);
            k.add(Keys::load(m + v * 16));
            if (t.has_context[t.first + v] != 0)
                for (int c = 0; c < kContexts; ++c)
                    k.add_product(Keys::load(t.context + ((t.first + v) * kContexts + c) * 16), contexts[c]);
            k.to_places(t.shift);
            k.store(places[i % kAhead][v]);
            prefetch_lines(t.weights, places[i % kAhead][v]);
        }
    };
    for (int i = 0; i < kAhead && i < arcs.n; ++i) locate(i);
    for (int i = 0; i < arcs.n; ++i) {
        const std::uint32_t bin = arcs.bin[i];
        Pack<float> sum = t.rows != nullptr ? between_sums(t, arcs, i) : Pack<float>::zero();
        for (int v = 0; v < V; ++v) {
            const Keys k = Keys::load(places[i % kAhead][v]);
            sum = sum + gather(t.weights, k.slot(bin & 1));
            sum = sum + gather(t.weights, k.slot(bin));
        }
        out[i] = sum.sum();
        if (i + kAhead < arcs.n) locate(i + kAhead);
    }
}

inline void arc_pairs(const PairTask& t, const ArcList& arcs, float* out) {
    switch (t.last - t.first) {
        case 0: return between_scores(t, arcs, out);
        case 1: return pair_scores<1>(t, arcs, out);
        case 2: return pair_scores<2>(t, arcs, out);
        case 3: return pair_scores<3>(t, arcs, out);
        case 4: return pair_scores<4>(t, arcs, out);
    }
}

inline void sum_rows(const float* table, int width, const std::uint32_t* places, int n, float* sums) {
    for (int l = 0; l < width; l += 16) {
        Pack<float> sum = Pack<float>::zero();
        for (int i = 0; i < 16 * n; ++i)
            sum = sum + Pack<float>::load(table + static_cast<std::int64_t>(places[i]) * width + l);
        sum.store(sums + l);
    }
}

// max_k a[k] + b[k]. Both arrays are padded with minus infinity to whole panels after n.
inline float best_split(const float* a, const float* b, int n) {
    Pack<float> best = Pack<float>::load(a) + Pack<float>::load(b);
    for (int k = 16; k < n; k += 16) {
        const Pack<float> next = Pack<float>::load(a + k) + Pack<float>::load(b + k);
        for (int i = 0; i < Pack<float>::kRegisters; ++i) best.r[i] = next.r[i] > best.r[i] ? next.r[i] : best.r[i];
    }
    float lane[16];
    best.store(lane);
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) lane[j] = lane[j + half] > lane[j] ? lane[j + half] : lane[j];
    return lane[0];
}

inline void eisner_chart(const float* scores, int n, bool single_root, float* chart) {
    const wald::parser::Chart c(chart, n);
    const std::int64_t N = n + 1;
    for (int j = 0; j <= n; ++j) c.right(j)[j] = c.right_to(j)[j] = c.left(j)[j] = c.left_from(j)[j] = 0;
    for (int j = 1; j <= n; ++j) {
        for (int i = j - 1; i >= (single_root ? 1 : 0); --i) {
            const float inner = best_split(c.right(i) + i, c.left(j) + i + 1, j - i);
            c.open_right(i)[j] = inner + scores[i * N + j];
            c.open_left(j)[i] = inner + scores[j * N + i];
            const float right = best_split(c.open_right(i) + i + 1, c.right_to(j) + i + 1, j - i);
            const float left = best_split(c.open_left(j) + i, c.left_from(i) + i, j - i);
            c.right(i)[j] = c.right_to(j)[i] = right;
            c.left(j)[i] = c.left_from(i)[j] = left;
        }
    }
}

inline constexpr wald::parser::ParserKernels parser_table{
    .keys = &word_keys,
    .unigrams = &word_unigrams,
    .pairs = &arc_pairs,
    .sum_rows = &sum_rows,
    .eisner = &eisner_chart,
};

}  // namespace WALD_ISA
