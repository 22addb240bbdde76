// Which classes a row can still be answered with: those that no stage has found too far behind the best one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/arena.hpp"

namespace wald {

// The candidates of a chunk of rows, and their estimates. A class that was dropped keeps its last estimate.
class Race {
public:
    static constexpr int kMaxClasses = 64;

    Race(int n_classes, std::int64_t capacity) : n_classes_(n_classes), capacity_(capacity) {}

    static std::size_t bytes(int n_classes, std::int64_t capacity) {
        return Arena::bytes<std::uint64_t>(capacity) + Arena::bytes<std::int32_t>(capacity) +
               Arena::bytes<float>(n_classes * capacity);
    }
    void take(Arena& arena) {
        candidates_ = arena.take<std::uint64_t>(capacity_);
        seen_ = arena.take<std::int32_t>(capacity_);
        estimates_ = arena.take<float>(n_classes_ * capacity_);
    }
    void start(int n) {
        std::fill_n(candidates_, n, everybody());
        std::fill_n(seen_, n, 0);
    }

    bool runs(int i, int k) const { return (candidates_[i] >> k & 1) != 0; }
    std::uint64_t candidates(int i) const { return candidates_[i]; }
    std::uint64_t everybody() const { return ~std::uint64_t{0} >> (64 - n_classes_); }
    // Estimates of all rows for a class.
    float* estimates(int k) const { return estimates_ + k * capacity_; }
    std::int64_t stride() const { return capacity_; }

    // New estimates of class k for rows [first, first + n). Rows that have dropped the class keep their last one.
    void update(int k, int first, int n, const float* found) {
        float* const to = estimates(k) + first;
        for (int i = 0; i < n; ++i) to[i] = runs(first + i, k) ? found[i] : to[i];
    }
    // Drops the classes of row i whose estimate lies further than `distance` behind that of the best one. n_seen[k] is
    // the number of terms of class k up to now.
    void drop(int i, int best, float distance, const std::int32_t* n_seen) {
        const float least = estimates(best)[i] - distance;
        for (std::uint64_t left = candidates_[i]; left != 0; left &= left - 1) {
            const int k = std::countr_zero(left);
            if (!(estimates(k)[i] < least)) continue;
            candidates_[i] &= ~(std::uint64_t{1} << k);
            seen_[i] += n_seen[k];
        }
    }
    // Number of terms that row i has skipped; n_seen[k] is the number of terms of class k up to now.
    std::int32_t skipped(int i, const std::int32_t* n_seen) const {
        std::int32_t n = -seen_[i];
        for (std::uint64_t out = everybody() & ~candidates_[i]; out != 0; out &= out - 1)
            n += n_seen[std::countr_zero(out)];
        return n;
    }
    // Row `to` becomes what row `from` is.
    void move(int from, int to) {
        candidates_[to] = candidates_[from];
        seen_[to] = seen_[from];
        for (int k = 0; k < n_classes_; ++k) estimates(k)[to] = estimates(k)[from];
    }

private:
    int n_classes_ = 0;
    std::int64_t capacity_ = 0;
    std::uint64_t* candidates_ = nullptr;
    std::int32_t* seen_ = nullptr;  // terms of the dropped classes, up to where they were dropped
    float* estimates_ = nullptr;
};

}  // namespace wald
