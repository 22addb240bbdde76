// A. Appleby's MurmurHash3_x86_32 with seed 0, the hash of names in scikit-learn's FeatureHasher.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace wald {

// The hash of the first `n` bytes of a text, a multiple of four, from which it can go on.
struct MurmurStart {
    std::uint32_t hash = 0;
    std::size_t n = 0;

    static std::uint32_t mixed(std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; }
    static std::uint32_t four(const char* bytes) {
        const auto* p = reinterpret_cast<const unsigned char*>(bytes);
        return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
    }
    // Goes on to the last whole four bytes of a text that begins with those already read.
    void read(const char* bytes, std::size_t size) {
        for (; n + 4 <= size; n += 4) hash = std::rotl(hash ^ mixed(four(bytes + n)), 13) * 5 + 0xe6546b64u;
    }
};

// With `padded`, three bytes after the end may be read, which saves branches.
template <bool padded = false>
inline std::uint32_t murmur(const char* bytes, std::size_t n, MurmurStart start = {}) {
    start.read(bytes, n);
    std::uint32_t h = start.hash;
    const std::size_t i = start.n;
    if constexpr (padded) {
        h ^= MurmurStart::mixed(MurmurStart::four(bytes + i) & ((1u << 8 * (n - i)) - 1));
    } else if (i < n) {
        std::uint32_t k = 0;
        for (std::size_t j = n; j > i; --j) k = k << 8 | static_cast<unsigned char>(bytes[j - 1]);
        h ^= MurmurStart::mixed(k);
    }
    h ^= static_cast<std::uint32_t>(n);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

}  // namespace wald
