// Sums of regression trees: what boosted trees answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace wald {

// No path is walked: every question of a tree strikes out the leaves that its answer rules out, for many rows at once, and the
// first leaf that is left is where a row arrives (Lucchese et al., "QuickScorer", SIGIR 2015; "Exploiting CPU SIMD extensions
// to speed-up document scoring with tree ensembles", SIGIR 2016).
class Forest {
public:
    static constexpr int kMostLeaves = 32;  // of a tree

    explicit Forest(double base) : base_(base) {}

    // Begins a tree, whose leaves come from left to right.
    void add_tree() {
        const auto first = static_cast<std::int32_t>(questions_.size());
        trees_.push_back({first, first, static_cast<std::int32_t>(values_.size())});
    }
    void add_question(const ForestView::Question& question) {
        questions_.push_back(question);
        ++trees_.back().last_question;
    }
    // Returns the leaf, as a bit.
    std::uint32_t add_leaf(double value) {
        const auto place = values_.size() - static_cast<std::size_t>(trees_.back().first_leaf);
        values_.push_back(value);
        return std::uint32_t{1} << place;
    }

    // out[i] = base + the trees' values, added up in their order, for rows (n, n_features) that are finite.
    void operator()(const float* rows, std::int64_t n, std::int64_t n_features, double* out) const {
        constexpr int L = kForestRows;
        Aligned<float> panel(static_cast<std::size_t>(n_features) * L);  // [feature][row]
        const ForestView view{questions_.data(), trees_.data(), values_.data(), static_cast<std::int32_t>(trees_.size())};
        for (std::int64_t first = 0; first < n; first += L) {
            const auto many = static_cast<int>(std::min<std::int64_t>(L, n - first));
            for (int r = 0; r < many; ++r) {
                const float* row = rows + (first + r) * n_features;
                for (std::int64_t f = 0; f < n_features; ++f) panel[static_cast<std::size_t>(f * L + r)] = row[f];
            }
            double sums[L];
            std::fill_n(sums, L, base_);
            kernels<float>().forest(view, panel.data(), sums);
            std::copy_n(sums, many, out + first);
        }
    }

    // The logarithm of the probability that has these log odds.
    static double log_probability(double odds) { return odds > 0 ? -std::log1p(std::exp(-odds)) : odds - std::log1p(std::exp(odds)); }

private:
    double base_;
    std::vector<ForestView::Question> questions_;
    std::vector<double> values_;
    std::vector<ForestView::Tree> trees_;
};

}  // namespace wald
