// How often each column was met in a text.
#pragma once

#include <algorithm>
#include <bit>

#include "core/large_array.hpp"

namespace wald {

// Counts by column, and in two levels of bits which columns were met: this lists them in ascending order, without
// sorting and without a look at the others.
class Counts {
public:
    explicit Counts(std::int64_t n_columns = 0)
        : counts_(static_cast<std::size_t>(n_columns)), met_(words(n_columns)), blocks_(words(n_columns >> 6)) {}

    void prefetch(std::int32_t column) const {
        __builtin_prefetch(counts_.data() + column, 1);
        __builtin_prefetch(met_.data() + (column >> 6), 1);
    }
    // Returns the count before. A count may come back to 0: the column was met all the same.
    std::int32_t add(std::int32_t column, std::int32_t by) {
        const auto c = static_cast<std::size_t>(column);
        met_[c >> 6] |= std::uint64_t{1} << (c & 63);
        blocks_[c >> 12] |= std::uint64_t{1} << (c >> 6 & 63);
        ++added_;
        const std::int32_t before = counts_[c];
        counts_[c] = before + by;
        return before;
    }
    bool met(std::int32_t column) const {
        const auto c = static_cast<std::size_t>(column);
        return met_[c >> 6] >> (c & 63) & 1;
    }
    // Largest number of columns that have been met.
    std::int64_t most_met() const { return std::min(added_, static_cast<std::int64_t>(counts_.size())); }
    // Calls f(column, count) for the columns that were met, ascending, and forgets them.
    template <class F>
    void drain(const F& f) {
        for (std::size_t block = 0; block < blocks_.size(); ++block)
            each_bit(blocks_[block], [&](std::size_t in_block) {
                const std::size_t word = block * 64 + in_block;
                each_bit(met_[word], [&](std::size_t in_word) {
                    const std::size_t c = word * 64 + in_word;
                    f(static_cast<std::int32_t>(c), counts_[c]);
                    counts_[c] = 0;
                });
            });
        added_ = 0;
    }

private:
    static std::size_t words(std::int64_t n) { return static_cast<std::size_t>(n / 64 + 1); }
    template <class F>
    static void each_bit(std::uint64_t& bits, const F& f) {
        for (std::uint64_t left = bits; left != 0; left &= left - 1)
            f(static_cast<std::size_t>(std::countr_zero(left)));
        bits = 0;
    }

    std::int64_t added_ = 0;
    LargeArray<std::int32_t> counts_;
    Aligned<std::uint64_t> met_, blocks_;
};

}  // namespace wald
