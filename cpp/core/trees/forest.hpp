// Sums of regression trees, as buying policies use them: finite rows in float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/models/tree_ensemble.hpp"
#include "core/trees/check.hpp"

namespace wald {

// Trees as arrays: tree t has the nodes ends[t] to ends[t + 1], the root first. Children are indices within the tree,
// larger than their parent's; both are 0 at a leaf.
struct ForestNodes {
    double base;
    std::span<const std::int64_t> ends;
    std::span<const std::int32_t> feature, left, right;
    std::span<const double> threshold, value;
    std::int64_t n_features;
};

class Forest {
public:
    // Throws std::invalid_argument if the nodes form no trees.
    explicit Forest(const ForestNodes& nodes) : trees_(built(nodes)) {}

    std::int64_t n_features() const { return trees_.n_features(); }

    // Collects rows and evaluates them once a panel is full, or when the batch is destroyed.
    class Batch {
    public:
        explicit Batch(const Forest& forest)
            : trees_(forest.trees_), rows_(static_cast<std::size_t>(kPanelRows * trees_.n_features())),
              view_(view_of(rows_, trees_.n_features())), full_(trees_, view_) {
            arena_.reset(full_.bytes());
            full_.take(arena_);
        }
        Batch(const Batch&) = delete;
        Batch& operator=(const Batch&) = delete;
        ~Batch() { flush(); }

        // Stores base + the values of the trees, added in their order, in `to`, for a row of shape (n_features,).
        void add(const float* row, double* to) {
            std::copy_n(row, view_.n_columns, rows_.data() + n_ * view_.n_columns);
            to_[n_] = to;
            if (++n_ == kPanelRows) flush();
        }

    private:
        static Rows view_of(const Aligned<float>& rows, std::int64_t n_features) {
            Rows view;
            view.n_columns = n_features;
            view.data = reinterpret_cast<const std::byte*>(rows.data());
            view.column_stride = sizeof(float);
            view.row_stride = static_cast<std::int64_t>(sizeof(float)) * n_features;
            return view;
        }
        void flush() {
            std::int64_t ids[kPanelRows];
            std::iota(ids, ids + n_, 0);
            const double* const scores = full_.of({ids, n_, n_, false});
            for (int r = 0; r < n_; ++r) *to_[r] = scores[r];
            n_ = 0;
        }

        const TreeEnsemble& trees_;
        Aligned<float> rows_;
        Rows view_;
        TreeEnsemble::FullScores full_;
        Arena arena_;
        double* to_[kPanelRows];
        int n_ = 0;
    };

    // Log-probability for given log odds.
    static double log_probability(double odds) {
        return odds > 0 ? -std::log1p(std::exp(-odds)) : odds - std::log1p(std::exp(odds));
    }

private:
    static TreeEnsemble built(const ForestNodes& a) {
        const auto n = static_cast<std::int64_t>(a.feature.size());
        std::vector<std::int64_t> first_node{0}, first_leaf{0};
        std::vector<std::int32_t> feature, left, right, place(static_cast<std::size_t>(n));
        std::vector<double> threshold, leaves;
        for (std::size_t t = 0; t + 1 < a.ends.size(); ++t) {
            const std::int64_t begin = a.ends[t], end = a.ends[t + 1];
            if (begin < 0 || end <= begin || end > n) throw std::invalid_argument("every tree needs a node");
            const std::int64_t size = end - begin;
            const auto is_leaf = [&](std::int64_t i) { return a.left[begin + i] == 0 && a.right[begin + i] == 0; };
            std::int32_t n_inner = 0, n_leaves = 0;
            for (std::int64_t i = 0; i < size; ++i) place[begin + i] = is_leaf(i) ? ~n_leaves++ : n_inner++;
            for (std::int64_t i = 0; i < size; ++i) {
                if (is_leaf(i)) {
                    leaves.push_back(a.value[begin + i]);
                    continue;
                }
                for (const std::int64_t child : {a.left[begin + i], a.right[begin + i]})
                    if (child <= i || child >= size)
                        throw std::invalid_argument("children must lie behind their parent, in the same tree");
                feature.push_back(a.feature[begin + i]);
                threshold.push_back(a.threshold[begin + i]);
                left.push_back(place[begin + a.left[begin + i]]);
                right.push_back(place[begin + a.right[begin + i]]);
            }
            first_node.push_back(std::ssize(feature));
            first_leaf.push_back(std::ssize(leaves));
        }
        if (a.ends.size() == 1) {  // no tree: one that adds nothing
            leaves.push_back(0.0);
            first_node.push_back(0);
            first_leaf.push_back(1);
        }
        const std::size_t n_trees = first_leaf.size() - 1;
        std::vector<std::int32_t> output(n_trees, 0), structure(n_trees), categories(feature.size(), -1);
        std::iota(structure.begin(), structure.end(), 0);
        const std::vector<std::uint8_t> nan_left(feature.size(), 0);
        const double bias = 0.0;
        TreesSpec spec;
        spec.n_features = a.n_features;
        spec.first_node = first_node;
        spec.first_leaf = first_leaf;
        spec.feature = feature;
        spec.left = left;
        spec.right = right;
        spec.threshold = threshold;
        spec.nan_left = nan_left;
        spec.categories = categories;
        spec.leaves = leaves;
        spec.output = output;
        spec.structure = structure;
        spec.base = {&a.base, 1};
        spec.bias = {&bias, 1};
        spec.f32_rows = true;
        check_trees(spec);
        return TreeEnsemble(spec);
    }

    TreeEnsemble trees_;
};

}  // namespace wald
