// Hashes of strings, the same on every machine and in every build.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/mix.hpp"

namespace wald::parser {

// Hashes eight bytes at a time, read as little-endian.
inline std::uint64_t hash_bytes(std::string_view text, std::uint64_t salt) {
    const char* p = text.data();
    auto n = static_cast<std::int64_t>(text.size());
    constexpr std::uint64_t odd = 0x9fb21c651e98df25u;
    std::uint64_t h = salt ^ (static_cast<std::uint64_t>(n) * odd);
    for (; n > 0; n -= 8, p += 8) {
        unsigned char chunk[8] = {};
        std::memcpy(chunk, p, static_cast<std::size_t>(n < 8 ? n : 8));
        std::uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(chunk[i]) << (8 * i);
        h = (h ^ word) * odd;
        h ^= h >> 29;
    }
    return mix(h);
}

}  // namespace wald::parser
