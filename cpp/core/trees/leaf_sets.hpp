// Small trees in the form in which one row is compared with the thresholds of one feature after the other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
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
    static constexpr int kApart = 64;      // removals between states of the sets that are kept, see LeafSets

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
        most_leaves_ = std::max(most_leaves_, layout.n_leaves());
        if (fit_) count_leaves(layout);
        double depth = 0;  // of a leaf, on average
        for (std::int32_t n = 0; fit_ && n < layout.n_nodes(); ++n) {
            const std::int64_t at = layout.node(n);
            const std::int32_t left = layout.left(n);
            const std::uint64_t below = ((std::uint64_t{1} << layout.leaves_below(left)) - 1) << first_[n];
            nodes_.push_back(
                {spec.feature[at], tree, rounded_down(spec.threshold[at], X{}), spec.nan_left[at] == 0, ~below});
            depth += static_cast<double>(layout.leaves_below(n)) / layout.n_leaves();
            fit_ = spec.categories[at] < 0;
        }
        otherwise_ += depth * (has_levels ? kLevel : kStep);
    }
    int n_trees() const { return n_trees_; }
    std::int32_t most_leaves() const { return most_leaves_; }
    const std::vector<Node>& nodes() const { return nodes_; }
    // The number of a tree's leaf, which is counted from left to right.
    std::uint8_t number(int tree, std::int32_t leaf) const { return numbers_[tree * kMaxLeaves + leaf]; }

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

    void count_leaves(const TreeLayout& layout) {
        const std::size_t begin = numbers_.size();
        numbers_.resize(begin + kMaxLeaves);
        first_.assign(static_cast<std::size_t>(layout.n_nodes()), 0);
        const auto set = [&](std::int32_t child, std::int32_t at) {
            if (child >= 0) first_[child] = at;
            else numbers_[begin + static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(layout.number(~child));
        };
        for (std::int32_t n = 0; n < layout.n_nodes(); ++n) {
            set(layout.left(n), first_[n]);
            set(layout.right(n), first_[n] + layout.leaves_below(layout.left(n)));
        }
    }

    std::vector<Node> nodes_;
    std::vector<std::uint8_t> numbers_;  // kMaxLeaves for each tree
    std::vector<std::int32_t> first_;    // of the last tree's nodes: the first leaf below
    int n_trees_ = 0;
    std::int32_t most_leaves_ = 0;
    double otherwise_ = 0;  // time without sets
    bool fit_ = true;
};

// Every tree has the set of the leaves that a row may still reach, a bit each, the leftmost leaf lowest. A node that
// sends the row to the right removes the leaves below its left child. The row's leaf is the lowest one that remains:
// every leaf on its left is below the left child of a node of the row's path that sent the row to the right.
//
// Of a feature with many nodes, the sets of all trees are kept after each kApart of its removals: a row takes the last
// of these that it passes, and makes only the removals that follow.
//
// Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression
// trees", SIGIR 2015.
template <class X>
class LeafSets {
public:
    explicit LeafSets(const SmallTrees<X>& trees)
        : n_trees_(trees.n_trees()), room_((trees.n_trees() + kTogether - 1) / kTogether * kTogether),
          narrow_(trees.most_leaves() <= 32) {
        std::vector<typename SmallTrees<X>::Node> nodes = trees.nodes();
        std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
            return a.feature != b.feature ? a.feature < b.feature : a.threshold < b.threshold;
        });
        for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
            while (end < nodes.size() && nodes[end].feature == nodes[begin].feature) ++end;
            start_feature(nodes[begin].feature);
            const auto of_feature = std::span(nodes).subspan(begin, end - begin);
            narrow_ ? add(of_feature, narrow_sets_) : add(of_feature, wide_sets_);
        }
        start_feature(0);  // an entry for the end
        numbers_.resize(static_cast<std::size_t>(n_trees_) * static_cast<std::size_t>(most_leaves()));
        for (int i = 0; i < n_trees_ * most_leaves(); ++i)
            numbers_[i] = trees.number(i / most_leaves(), i % most_leaves());
    }

    int n_trees() const { return n_trees_; }

    // The leaf of the row x[feature] in each tree.
    void find(const X* x, std::int32_t* leaves) const {
        narrow_ ? find(narrow_sets_, x, leaves) : find(wide_sets_, x, leaves);
    }

private:
    static constexpr int kApart = SmallTrees<X>::kApart;
    static constexpr int kTogether = 16;   // sets of neighbouring trees that are intersected at once
    static constexpr int kMostTaken = 64;  // states of features that are taken at once

    typedef std::uint32_t Bits __attribute__((vector_size(16), aligned(4), may_alias));

    // Nodes of a feature follow each other in ascending order of their thresholds. No value is above the last
    // threshold, infinity.
    struct Feature {
        std::int32_t feature, first;
        std::int32_t first_state;  // of the sets after each kApart removals
    };
    template <class S>
    struct Removal {
        S kept;
        std::uint32_t tree;
    };
    template <class S>
    struct Sets {
        std::vector<Removal<S>> removals;
        std::vector<S> states;  // room_ sets each
    };

    int most_leaves() const { return narrow_ ? 32 : 64; }
    void start_feature(std::int32_t feature) {
        features_.push_back(
            {feature, static_cast<std::int32_t>(thresholds_.size()), static_cast<std::int32_t>(passed_.size())});
    }
    template <class S>
    void add(std::span<const typename SmallTrees<X>::Node> nodes, Sets<S>& sets) {
        std::vector<S> state(static_cast<std::size_t>(room_), static_cast<S>(~S{0}));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto kept = static_cast<S>(nodes[i].kept);
            thresholds_.push_back(nodes[i].threshold);
            nan_right_.push_back(nodes[i].nan_right);
            sets.removals.push_back({kept, static_cast<std::uint32_t>(nodes[i].tree)});
            state[nodes[i].tree] &= kept;
            if ((i + 1) % kApart != 0) continue;
            passed_.push_back(nodes[i].threshold);
            sets.states.insert(sets.states.end(), state.begin(), state.end());
        }
        thresholds_.push_back(std::numeric_limits<X>::infinity());
        nan_right_.push_back(false);
        sets.removals.push_back({static_cast<S>(~S{0}), 0});
    }

    template <class S>
    void find(const Sets<S>& of, const X* x, std::int32_t* leaves) const {
        alignas(64) S sets[SmallTrees<X>::kMaxTrees];
        const S* taken[kMostTaken];
        int n_taken = 0;
        std::fill_n(sets, room_, static_cast<S>(~S{0}));
        for (std::size_t i = 0; i + 1 < features_.size(); ++i) {
            const Feature& f = features_[i];
            const X value = x[f.feature];
            int n_passed = 0;
            for (std::int32_t s = f.first_state; s < features_[i + 1].first_state; ++s) n_passed += passed_[s] < value;
            std::int32_t n = f.first + n_passed * kApart;
            if (n_passed > 0) taken[n_taken++] = of.states.data() + std::int64_t{f.first_state + n_passed - 1} * room_;
            if (n_taken == kMostTaken) take(taken, std::exchange(n_taken, 0), sets);
            for (; thresholds_[n] < value; ++n) sets[of.removals[n].tree] &= of.removals[n].kept;
            if (value == value) continue;
            for (; n < features_[i + 1].first; ++n)
                if (nan_right_[n]) sets[of.removals[n].tree] &= of.removals[n].kept;
        }
        take(taken, n_taken, sets);
        for (int t = 0; t < n_trees_; ++t)
            leaves[t] = numbers_[t * std::int64_t{std::numeric_limits<S>::digits} + std::countr_zero(sets[t])];
    }
    // Intersects the sets with n states. The sets of some neighbouring trees stay in registers.
    template <class S>
    void take(const S* const* states, int n, S* sets) const {
        constexpr int kPer = sizeof(Bits) / sizeof(S), kRegisters = kTogether / kPer;
        for (int t = 0; t < room_ && n > 0; t += kTogether) {
            Bits kept[kRegisters];
            std::memcpy(kept, sets + t, sizeof kept);
            for (int k = 0; k < n; ++k)
#pragma GCC unroll 8
                for (int i = 0; i < kRegisters; ++i)
                    kept[i] &= *reinterpret_cast<const Bits*>(states[k] + t + i * kPer);
            std::memcpy(sets + t, kept, sizeof kept);
        }
    }

    int n_trees_, room_;
    bool narrow_;                         // whether sets are words of 32 bits
    std::vector<Feature> features_;       // and the end of the last one's nodes
    std::vector<X> thresholds_, passed_;  // of removals; of states, the last of their removals
    std::vector<std::uint8_t> nan_right_;
    std::vector<std::uint8_t> numbers_;  // of leaves that are counted from left to right: most_leaves() for each tree
    Sets<std::uint32_t> narrow_sets_;
    Sets<std::uint64_t> wide_sets_;
};

}  // namespace wald
