// A. Appleby's MurmurHash3_x86_32 with seed 0, the hash of names in scikit-learn's FeatureHasher.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace wald {

// With `padded`, three bytes after the end may be read, which saves branches.
template <bool padded = false>
inline std::uint32_t murmur(const char* bytes, std::size_t n) {
    std::uint32_t h = 0;
    const auto mixed_in = [](std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    const auto four = [bytes](std::size_t at) {
        const auto* p = reinterpret_cast<const unsigned char*>(bytes + at);
        return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
    };
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) h = std::rotl(h ^ mixed_in(four(i)), 13) * 5 + 0xe6546b64u;
    if constexpr (padded) {
        h ^= mixed_in(four(i) & ((1u << 8 * (n - i)) - 1));
    } else if (i < n) {
        std::uint32_t k = 0;
        for (std::size_t j = n; j > i; --j) k = k << 8 | static_cast<unsigned char>(bytes[j - 1]);
        h ^= mixed_in(k);
    }
    h ^= static_cast<std::uint32_t>(n);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

}  // namespace wald
