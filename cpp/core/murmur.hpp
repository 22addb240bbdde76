// A. Appleby's MurmurHash3_x86_32 with seed 0, the hash of names in scikit-learn's FeatureHasher.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace wald {

inline std::uint32_t murmur_mixed(std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; }
inline std::uint32_t murmur_four(const char* bytes) {
    const auto* p = reinterpret_cast<const unsigned char*>(bytes);
    return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}
inline std::uint32_t murmur_finished(std::uint32_t h) {
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

inline std::uint32_t murmur_next(std::uint32_t h, std::uint32_t k) {
    return std::rotl(h ^ murmur_mixed(k), 13) * 5 + 0xe6546b64u;
}
// The last `left` < 4 of n bytes.
inline std::uint32_t murmur_last(const char* bytes, std::size_t n, std::size_t left) {
    if (left == 0) return 0;
    if (n >= 4) return murmur_four(bytes + n - 4) >> 8 * (4 - left);
    const auto at = [bytes](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])} << 8 * i; };
    return at(0) | at(n / 2) | at(n - 1);  // without branches on n
}

inline std::uint32_t murmur(const char* bytes, std::size_t n) {
    std::uint32_t h = 0;
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) h = murmur_next(h, murmur_four(bytes + i));
    return murmur_finished(h ^ murmur_mixed(murmur_last(bytes, n, n - i)) ^ static_cast<std::uint32_t>(n));
}

// The beginning of a text, of which the rest is elsewhere.
class MurmurPrefix {
public:
    MurmurPrefix() = default;
    MurmurPrefix(const char* bytes, std::size_t n) : n_(n) {
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4) hash_ = murmur_next(hash_, murmur_four(bytes + i));
        for (; i < n; ++i) rest_ |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << 8 * n_rest_++;
    }

    // The hash of the whole text, which ends in these n bytes.
    std::uint32_t hash(const char* bytes, std::size_t n) const {
        std::uint32_t h = hash_;
        std::uint64_t read = rest_;  // and not yet in h: at most three bytes, then seven
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            read |= std::uint64_t{murmur_four(bytes + i)} << 8 * n_rest_;
            h = murmur_next(h, static_cast<std::uint32_t>(read));
            read >>= 32;
        }
        read |= std::uint64_t{murmur_last(bytes, n, n - i)} << 8 * n_rest_;
        if (n_rest_ + n - i >= 4) {
            h = murmur_next(h, static_cast<std::uint32_t>(read));
            read >>= 32;
        }
        return murmur_finished(h ^ murmur_mixed(static_cast<std::uint32_t>(read)) ^ static_cast<std::uint32_t>(n_ + n));
    }

private:
    std::uint32_t hash_ = 0, rest_ = 0;  // of whole fours of bytes, and the bytes after them
    std::size_t n_rest_ = 0, n_ = 0;
};

}  // namespace wald
