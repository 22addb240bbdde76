// The order in which blocks are read that are spread over a text.
#pragma once

#include <bit>
#include <cstddef>

namespace wald {

// Calls f(block) for the numbers from 0 to n - 1, each once, so that the first ones lie about as far from each other as
// they can: 0, the middle, the quarters, the eighths, ... An f that returns false ends the calls. Returns whether none
// did.
template <class F>
bool each_spread(std::size_t n, const F& f) {
    const std::size_t top = std::bit_ceil(n) / 2;
    for (std::size_t block = 0, left = n; left > 0;) {
        if (block < n) {
            if (!f(block)) return false;
            --left;
        }
        std::size_t bit = top;  // adds 1 to the number whose bits are those of the block, backwards
        for (; block & bit; bit >>= 1) block ^= bit;
        block |= bit;
    }
    return true;
}

}  // namespace wald
