// Validates UTF-8: eight ASCII characters at a time, the rest by the table of the Unicode Standard (16.0, table 3-7).
#pragma once

#include <cstdint>
#include <cstring>

namespace wald::parser {

// Position of the first invalid byte, or n.
inline std::size_t invalid_utf8(const char* text, std::size_t n) {
    const unsigned char* p = reinterpret_cast<const unsigned char*>(text);
    for (std::size_t i = 0; i < n;) {
        std::uint64_t eight;
        if (i + 8 <= n && (std::memcpy(&eight, p + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        const unsigned char c = p[i];
        if (c < 0x80) {
            ++i;
            continue;
        }
        const std::size_t length = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        if (length == 0 || i + length > n) return i;
        const unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;  // of the second byte
        const unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        if (p[i + 1] < low || p[i + 1] > high) return i;
        for (std::size_t k = 2; k < length; ++k)
            if ((p[i + k] & 0xc0) != 0x80) return i;
        i += length;
    }
    return n;
}

}  // namespace wald::parser
