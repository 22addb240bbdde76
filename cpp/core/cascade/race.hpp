// Which classes a row can still be answered with: those that no stage has found too far behind the best one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/arena.hpp"

namespace wald {

// The candidates of a chunk of rows, and their estimates. A class that is out of the race keeps its last estimate.
class Race {
public:
    static constexpr int kMaxClasses = 64;

    Race() = default;
    Race(int n_classes, std::int64_t capacity) : n_classes_(n_classes), capacity_(capacity) {}

    static std::size_t bytes(int n_classes, std::int64_t capacity) {
        return Arena::bytes<std::uint64_t>(capacity) + Arena::bytes<std::int32_t>(capacity) +
               Arena::bytes<float>(n_classes * capacity);
    }
    void take(Arena& arena) {
        candidates_ = arena.take<std::uint64_t>(capacity_);
        skipped_ = arena.take<std::int32_t>(capacity_);
        estimates_ = arena.take<float>(n_classes_ * capacity_);
    }
    void start(int n) {
        std::fill_n(candidates_, n, everybody());
        std::fill_n(skipped_, n, 0);
    }

    bool runs(int i, int k) const { return (candidates_[i] >> k & 1) != 0; }
    int count_of(int i) const { return std::popcount(candidates_[i]); }
    // Number of candidates of n rows.
    std::int64_t count(int n) const {
        std::int64_t sum = 0;
        for (int i = 0; i < n; ++i) sum += count_of(i);
        return sum;
    }
    // Estimates of all rows for a class.
    float* estimates(int k) const { return estimates_ + k * capacity_; }
    std::int64_t stride() const { return capacity_; }
    std::int32_t skipped(int i) const { return skipped_[i]; }

    // Counts the trees of a stage that row i skips; n_trees(k) is their number for a class.
    template <class Count>
    void skip(int i, const Count& n_trees) {
        for (std::uint64_t out = everybody() & ~candidates_[i]; out != 0; out &= out - 1)
            skipped_[i] += n_trees(std::countr_zero(out));
    }
    // Takes the classes out whose estimate lies further than `distance` behind that of the best one.
    void drop(int i, int best, float distance) {
        const float least = estimates(best)[i] - distance;
        for (std::uint64_t left = candidates_[i]; left != 0; left &= left - 1) {
            const int k = std::countr_zero(left);
            if (estimates(k)[i] < least) candidates_[i] &= ~(std::uint64_t{1} << k);
        }
    }
    // Row `to` becomes what row `from` is.
    void move(int from, int to) {
        candidates_[to] = candidates_[from];
        skipped_[to] = skipped_[from];
        for (int k = 0; k < n_classes_; ++k) estimates(k)[to] = estimates(k)[from];
    }

private:
    std::uint64_t everybody() const { return ~std::uint64_t{0} >> (64 - n_classes_); }

    int n_classes_ = 0;
    std::int64_t capacity_ = 0;
    std::uint64_t* candidates_ = nullptr;
    std::int32_t* skipped_ = nullptr;
    float* estimates_ = nullptr;
};

}  // namespace wald
