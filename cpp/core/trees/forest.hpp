// Sums of regression trees, as in gradient boosting.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/trees/kernels.hpp"

namespace wald {

// Evaluates trees without following paths. Every split of a tree masks out the leaves that its outcome excludes, for
// many rows at once; the first remaining leaf is the leaf of the row (Lucchese et al., "QuickScorer", SIGIR 2015;
// "Exploiting CPU SIMD extensions to speed-up document scoring with tree ensembles", SIGIR 2016).
class Forest {
public:
    static constexpr int kMaxLeaves = 32;  // per tree

    explicit Forest(double base) : base_(base) {}

    // Begins a tree. Its leaves are added from left to right.
    void add_tree() {
        const auto first = static_cast<std::int32_t>(splits_.size());
        trees_.push_back({first, first, static_cast<std::int32_t>(values_.size())});
    }
    // Adds a split: rows with feature <= threshold go left, to the leaves with these bits.
    void add_split(double threshold, std::int32_t feature, std::uint32_t left) {
        splits_.push_back({below(threshold), feature, left});
        ++trees_.back().last_split;
    }
    // Adds a leaf and returns its bit.
    std::uint32_t add_leaf(double value) {
        const auto place = values_.size() - static_cast<std::size_t>(trees_.back().first_leaf);
        values_.push_back(value);
        return std::uint32_t{1} << place;
    }

    // Collects rows and evaluates them once a panel is full, or when the batch is destroyed.
    class Batch {
    public:
        Batch(const Forest& forest, std::int64_t n_features)
            : forest_(forest), n_features_(n_features), panel_(static_cast<std::size_t>(n_features) * kForestRows) {}
        Batch(const Batch&) = delete;
        Batch& operator=(const Batch&) = delete;
        ~Batch() { flush(); }

        // Stores base + the values of the trees, added in their order, in `to`, for a row of shape (n_features,).
        void add(const float* row, double* to) {
            for (std::int64_t f = 0; f < n_features_; ++f)
                panel_[static_cast<std::size_t>(f * kForestRows + n_)] = row[f];
            to_[n_] = to;
            if (++n_ == kForestRows) flush();
        }

    private:
        void flush() {
            if (n_ == 0) return;
            double sums[kForestRows];
            std::fill_n(sums, kForestRows, forest_.base_);
            const ForestView view{forest_.splits_.data(), forest_.trees_.data(), forest_.values_.data(),
                                  static_cast<std::int32_t>(forest_.trees_.size())};
            forest_kernels().add(view, panel_.data(), sums);
            for (int r = 0; r < n_; ++r) *to_[r] = sums[r];
            n_ = 0;
        }

        const Forest& forest_;
        std::int64_t n_features_;
        Aligned<float> panel_;  // [feature][row]
        double* to_[kForestRows];
        int n_ = 0;
    };

    // Log-probability for given log odds.
    static double log_probability(double odds) {
        return odds > 0 ? -std::log1p(std::exp(-odds)) : odds - std::log1p(std::exp(odds));
    }

private:
    // The largest float that is at most x: the same floats are at most x and at most this one.
    static float below(double x) {
        if (x >= static_cast<double>(std::numeric_limits<float>::max())) return std::numeric_limits<float>::max();
        if (x < -static_cast<double>(std::numeric_limits<float>::max())) return -std::numeric_limits<float>::infinity();
        const float near = static_cast<float>(x);
        return static_cast<double>(near) <= x ? near : std::nextafter(near, -std::numeric_limits<float>::infinity());
    }

    double base_;
    std::vector<ForestView::Split> splits_;
    std::vector<double> values_;
    std::vector<ForestView::Tree> trees_;
};

}  // namespace wald
