// Small trees in the form in which one row is compared with the thresholds of one feature after the other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/trees/bins.hpp"
#include "core/trees/layout.hpp"

namespace wald {

// Small trees that follow each other, on their way to LeafSets.
template <class X>
class SmallTrees {
public:
    static constexpr std::int32_t kMaxLeaves = 64;
    static constexpr int kMaxTrees = 512;  // whose sets take 4 KiB, so that they stay in the first cache

    struct Node {
        std::int32_t feature, tree;
        X threshold;  // rows above it go to the right
        bool nan_right;
        std::uint64_t kept;  // the leaves of the tree that are not below the left child, a bit each
    };

    // A tree that has more than kMaxLeaves leaves or splits on categories does not fit: then no tree of the block
    // becomes a set.
    void add(const TreesSpec& spec, const TreeLayout& layout, bool has_levels) {
        const std::int32_t tree = n_trees_++;
        fit_ = fit_ && layout.n_leaves() <= kMaxLeaves;
        double depth = 0;  // of a leaf, on average
        for (std::int32_t n = 0; fit_ && n < layout.n_nodes(); ++n) {
            const std::int64_t at = layout.node(n);
            const std::int32_t left = layout.left(n);
            const std::uint64_t below = ((std::uint64_t{1} << layout.leaves_below(left)) - 1) << layout.first(left);
            nodes_.push_back(
                {spec.feature[at], tree, rounded_down(spec.threshold[at], X{}), spec.nan_left[at] == 0, ~below});
            depth += static_cast<double>(layout.leaves_below(n)) / layout.n_leaves();
            fit_ = spec.categories[at] < 0;
        }
        otherwise_ += depth * (has_levels ? kLevel : kStep);
    }
    int n_trees() const { return n_trees_; }
    const std::vector<Node>& nodes() const { return nodes_; }

    // Whether the sets take less time than walks and levels would. Sets take a removal for each node that sends the row
    // to the right, half of the nodes, and a comparison that fails for each feature.
    bool are_faster_as_sets() const {
        std::vector<std::int32_t> features;
        for (const Node& node : nodes_) features.push_back(node.feature);
        std::sort(features.begin(), features.end());
        const auto n_features = std::unique(features.begin(), features.end()) - features.begin();
        return fit_ && static_cast<double>(nodes_.size()) / 2 + kFeature * static_cast<double>(n_features) < otherwise_;
    }

private:
    // Times of a feature, of a step of a walk and of a level, where that of a removal is 1.
    static constexpr double kFeature = 2, kStep = 3, kLevel = 1;

    std::vector<Node> nodes_;
    int n_trees_ = 0;
    double otherwise_ = 0;  // time without sets
    bool fit_ = true;
};

// Every tree has the set of the leaves that a row may still reach, a bit each, the leftmost leaf lowest. A node that
// sends the row to the right removes the leaves below its left child. The row's leaf is the lowest one that remains:
// every leaf on its left is below the left child of a node of the row's path that sent the row to the right.
//
// Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression
// trees", SIGIR 2015.
template <class X>
class LeafSets {
public:
    explicit LeafSets(const SmallTrees<X>& trees) : n_trees_(trees.n_trees()) {
        std::vector<typename SmallTrees<X>::Node> nodes = trees.nodes();
        std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
            return a.feature != b.feature ? a.feature < b.feature : a.threshold < b.threshold;
        });
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto& node = nodes[i];
            if (i == 0 || node.feature != nodes[i - 1].feature) start_feature(node.feature);
            add(node.threshold, {node.kept, static_cast<std::uint32_t>(node.tree), node.nan_right});
        }
        start_feature(0);  // an entry for the end
    }

    int n_trees() const { return n_trees_; }

    // The leaf of the row x[feature] in each tree.
    void find(const X* x, std::int32_t* leaves) const {
        std::uint64_t sets[SmallTrees<X>::kMaxTrees];
        std::fill_n(sets, n_trees_, ~std::uint64_t{0});
        for (std::size_t i = 0; i + 1 < features_.size(); ++i) {
            const X value = x[features_[i].feature];
            const std::int32_t first = features_[i].first;
            for (std::int32_t n = first; thresholds_[n] < value; ++n) sets[removals_[n].tree] &= removals_[n].kept;
            if (value == value) continue;
            for (std::int32_t n = first; n < features_[i + 1].first; ++n)
                if (removals_[n].nan_right) sets[removals_[n].tree] &= removals_[n].kept;
        }
        for (int t = 0; t < n_trees_; ++t) leaves[t] = std::countr_zero(sets[t]);
    }

private:
    // Nodes of a feature follow each other in ascending order of their thresholds. No value is above the last
    // threshold, infinity.
    struct Feature {
        std::int32_t feature, first;
    };
    struct Removal {
        std::uint64_t kept;
        std::uint32_t tree;
        bool nan_right;
    };

    void start_feature(std::int32_t feature) {
        if (!features_.empty()) add(std::numeric_limits<X>::infinity(), {~std::uint64_t{0}, 0, false});
        features_.push_back({feature, static_cast<std::int32_t>(thresholds_.size())});
    }
    void add(X threshold, const Removal& removal) {
        thresholds_.push_back(threshold);
        removals_.push_back(removal);
    }

    int n_trees_;
    std::vector<Feature> features_;  // and the end of the last one's nodes
    std::vector<X> thresholds_;
    std::vector<Removal> removals_;
};

}  // namespace wald
