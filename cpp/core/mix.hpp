// Random numbers as functions of a counter, the same on every machine.
#pragma once

#include <cstdint>

namespace wald {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A number in [0, 1) from a mixed one.
inline double uniform(std::uint64_t mixed) { return static_cast<double>(mixed >> 11) * 0x1p-53; }

}  // namespace wald
