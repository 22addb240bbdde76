// Random numbers as functions of a counter. They have no state, so results do not depend on how rows are split into
// chunks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/mix.hpp"

namespace wald::online {

// A coin with a given probability of heads; returns true for heads at a step.
class Coin {
public:
    Coin(double probability, std::uint64_t seed)
        : always_(probability >= 1), limit_(always_ ? 0 : static_cast<std::uint64_t>(std::ldexp(probability, 64))),
          key_(mix(~seed)) {}
    bool operator()(std::int64_t step) const {
        return always_ || mix(key_ + static_cast<std::uint64_t>(step)) < limit_;
    }

private:
    bool always_;
    std::uint64_t limit_, key_;
};

// A permutation of 0 .. n-1 in constant memory: a Feistel network on the next power of two, iterated until the value is
// below n.
class Permutation {
public:
    Permutation(std::int64_t n, std::uint64_t seed) : n_(static_cast<std::uint64_t>(n)) {
        int bits = 2;
        while ((std::uint64_t{1} << bits) < n_) ++bits;
        low_bits_ = bits - bits / 2;
        high_ = (std::uint64_t{1} << (bits / 2)) - 1;
        low_ = (std::uint64_t{1} << low_bits_) - 1;
        for (int i = 0; i < kRounds; ++i) keys_[i] = mix(seed + static_cast<std::uint64_t>(i));
    }
    std::int64_t operator()(std::int64_t at) const {
        std::uint64_t i = static_cast<std::uint64_t>(at);
        do {
            std::uint64_t high = i >> low_bits_, low = i & low_;
            for (int r = 0; r < kRounds; r += 2) {
                high = (high ^ scramble(low + keys_[r])) & high_;
                low = (low ^ scramble(high + keys_[r + 1])) & low_;
            }
            i = (high << low_bits_) | low;
        } while (i >= n_);
        return static_cast<std::int64_t>(i);
    }

private:
    static constexpr int kRounds = 4;
    static std::uint64_t scramble(std::uint64_t z) {
        z *= 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
        return z >> 32;
    }
    std::uint64_t n_, high_, low_, keys_[kRounds];
    int low_bits_;
};

// The numbers 0 .. n-1 in order, or in runs of neighbours in random order, so that memory is read in longer stretches.
// Learning is as fast with runs of eight rows as with single ones, even if a run has one class; small data sets use
// single rows.
class Runs {
public:
    Runs(std::int64_t n, std::optional<std::uint64_t> seed) : n_(n), length_(n < 1024 ? 1 : 8) {
        if (seed) order_.emplace((n + length_ - 1) / length_, *seed);
    }
    std::int64_t next() {
        if (at_ == end_) {
            at_ = length_ * (order_ ? (*order_)(run_) : run_);
            end_ = std::min(at_ + length_, n_);
            ++run_;
        }
        return at_++;
    }

private:
    std::optional<Permutation> order_;
    std::int64_t n_, length_, at_ = 0, end_ = 0, run_ = 0;
};

}  // namespace wald::online
