// Sums of regression trees: what boosted trees answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace wald {

class Forest {
public:
    // A node sends a row left where its feature is at most the threshold; its children lie side by side. A leaf sends every row to
    // itself, so that rows can walk down a tree in step.
    struct Node {
        float threshold;
        std::int32_t feature, left;
    };
    struct Tree {
        std::int32_t root, depth;
    };

    explicit Forest(double base) : base_(base) {}

    // Adds a node; returns its number.
    std::int32_t add() {
        nodes_.push_back({std::numeric_limits<float>::infinity(), 0, static_cast<std::int32_t>(nodes_.size())});
        values_.push_back(0);
        return static_cast<std::int32_t>(nodes_.size()) - 1;
    }
    Node& node(std::int32_t i) { return nodes_[static_cast<std::size_t>(i)]; }
    double& value(std::int32_t i) { return values_[static_cast<std::size_t>(i)]; }
    void add_tree(Tree tree) { trees_.push_back(tree); }
    std::size_t n_trees() const { return trees_.size(); }

    // out[i] = base + the trees' values, added up in their order, for rows (n, n_features) that are finite.
    void operator()(const float* rows, std::int64_t n, std::int64_t n_features, double* out) const {
        for (std::int64_t first = 0; first < n; first += kBlock) {
            const std::int64_t many = std::min(kBlock, n - first);
            for (std::int64_t i = 0; i < many; ++i) out[first + i] = base_;
            for (const Tree& tree : trees_) {  // a tree stays in the cache while a block of rows goes through it
                std::int64_t i = 0;
                for (; i + kAbreast <= many; i += kAbreast) walk<kAbreast>(tree, rows + (first + i) * n_features, n_features, out + first + i);
                for (; i < many; ++i) walk<1>(tree, rows + (first + i) * n_features, n_features, out + first + i);
            }
        }
    }

private:
    static constexpr std::int64_t kBlock = 64;  // rows
    static constexpr int kAbreast = 8;          // rows whose steps hide each other's latency

    template <int N>
    void walk(const Tree& tree, const float* rows, std::int64_t n_features, double* out) const {
        std::int32_t at[N];
        for (int r = 0; r < N; ++r) at[r] = tree.root;
        for (std::int32_t step = 0; step < tree.depth; ++step)
            for (int r = 0; r < N; ++r) {
                const Node& node = nodes_[static_cast<std::size_t>(at[r])];
                at[r] = node.left + (rows[r * n_features + node.feature] <= node.threshold ? 0 : 1);
            }
        for (int r = 0; r < N; ++r) out[r] += values_[static_cast<std::size_t>(at[r])];
    }

    double base_;
    std::vector<Node> nodes_;
    std::vector<double> values_;
    std::vector<Tree> trees_;
};

}  // namespace wald
