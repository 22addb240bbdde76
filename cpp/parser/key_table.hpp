// Numbers of 64-bit keys, found by the upper bits of a key: tags, words and features by their hashes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace wald::parser {

class KeyTable {
public:
    KeyTable() = default;
    explicit KeyTable(std::size_t n) {
        bits_ = std::bit_width(std::max<std::size_t>(2 * n, 8) - 1);
        slots_.assign(std::size_t{1} << bits_, Slot{0, -1});
    }
    // Raises for keys that crowd as hashes do not: a table of them would take the square of their number of steps.
    void add(std::uint64_t key, std::int32_t number) {
        std::size_t at = place(key);
        for (int steps = 0; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1))
            if (++steps > kMostSteps) throw std::invalid_argument("the keys of words or features are no hashes");
        slots_[at] = {static_cast<std::uint32_t>(key), number};
    }
    void prefetch(std::uint64_t key) const { __builtin_prefetch(slots_.data() + place(key)); }
    // -1 if there is none. Another key of the same 32 lower bits may be taken for this one.
    std::int32_t number(std::uint64_t key) const {
        for (std::size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& s = slots_[at];
            if (s.number < 0 || s.key == static_cast<std::uint32_t>(key)) return s.number;
        }
    }

private:
    // Hashes that fill at most half of the table need less than a hundred steps, whatever its size.
    static constexpr int kMostSteps = 1000;
    struct Slot {
        std::uint32_t key;
        std::int32_t number;  // -1: empty
    };
    std::size_t place(std::uint64_t key) const { return static_cast<std::size_t>(key >> (64 - bits_)); }
    int bits_ = 3;
    std::vector<Slot> slots_ = std::vector<Slot>(8, Slot{0, -1});
};

}  // namespace wald::parser
