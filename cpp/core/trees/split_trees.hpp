// Trees in the form in which kernels evaluate them: splits that exclude leaves, and nodes for walks.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/trees/kernels.hpp"
#include "core/trees/spec.hpp"

namespace wald {

// x <= threshold holds for the same values x of type X.
inline double rounded_down(double threshold, double) { return threshold; }
inline float rounded_down(double threshold, float) {
    const auto near = static_cast<float>(threshold);
    return static_cast<double>(near) > threshold ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

template <class X>
class SplitTrees {
public:
    static constexpr int kMaxMaskLeaves = 128;  // a tree with more leaves is cut
    static constexpr int kTopExits = 64;
    static constexpr int kWalkTests = 300;

    // Packs the given trees in their order. column[f] is the place of feature f in a panel. `hot`: leaves may be stored
    // as hot leaves.
    SplitTrees(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int32_t> column,
               bool hot)
        : spec_(&spec), column_(column), hot_(hot) {
        for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
            while (end < order.size() && spec.structure[order[end]] == spec.structure[order[begin]]) ++end;
            add(order.subspan(begin, end - begin));
        }
        leaves_.resize(leaves_.size() + 32);
        leaves_f32_.assign(leaves_.begin(), leaves_.end());
        spec_ = nullptr;
        column_ = {};
    }

    int size() const { return static_cast<int>(trees_.size()); }
    TreesView<X> view() const {
        return {splits_.data(), category_splits_.data(), bits_.data(),   words_.data(),      trees_.data(),
                nodes_.data(),  exits_.data(),           leaves_.data(), leaves_f32_.data(), hot_leaves_.data()};
    }
    const Tree& tree(int t) const { return trees_[t]; }
    // Splits that trees [first, last) test for each row of a panel; a walk counts as `kWalkTests`.
    std::int64_t n_tests(std::int64_t first, std::int64_t last) const {
        std::int64_t n = 0;
        for (std::int64_t t = first; t < last; ++t) {
            const Tree& tree = trees_[t];
            if (tree.repeated && t > first) continue;
            for (std::int32_t w = 0; w < tree.n_words; ++w) {
                const LeafWord& word = words_[tree.first_word + w];
                n += word.last - word.first + word.last_category - word.first_category;
            }
            if (tree.first_exit >= 0) n += kWalkTests;
        }
        return n;
    }
    // Bytes that the evaluation of a panel may read.
    std::size_t bytes() const {
        const std::size_t walked = exits_.empty() ? 0 : nodes_.size() * sizeof(WalkNode<X>);
        return walked + splits_.size() * sizeof(Split<X>) + leaves_.size() * sizeof(double) +
               hot_leaves_.size() * sizeof(HotLeaf);
    }

private:
    // A node of the spec, or a leaf: ~leaf.
    using Child = std::int32_t;

    Child left(Child n) const { return spec_->left[first_node_ + n]; }
    Child right(Child n) const { return spec_->right[first_node_ + n]; }

    // Adds neighbouring trees of one structure. Values of a leaf lie side by side.
    void add(std::span<const std::int64_t> trees) {
        first_node_ = spec_->first_node_of(trees[0]);
        const std::int64_t n_nodes = spec_->last_node_of(trees[0]) - first_node_, n_leaves = n_nodes + 1;
        Tree tree{};
        tree.first_word = static_cast<std::int32_t>(words_.size());
        tree.one_hot = hot_ && trees.size() > 1 && is_one_hot(trees, n_leaves);
        tree.first_leaf = static_cast<std::int32_t>(tree.one_hot ? hot_leaves_.size() : leaves_.size());
        tree.stride = static_cast<std::int32_t>(trees.size());
        tree.first_exit = -1;
        place_.assign(static_cast<std::size_t>(n_leaves), -1);
        std::int32_t n_placed = 0;
        const auto add_leaf = [&](std::int64_t leaf) {
            place_[leaf] = n_placed++;
            if (tree.one_hot) {
                hot_leaves_.push_back(hot_leaf(trees, leaf));
            } else {
                for (std::int64_t t : trees) leaves_.push_back(value(t, leaf));
            }
        };
        if (n_nodes > 0 && n_leaves <= kMaxMaskLeaves)
            tree.n_words = add_words(std::vector<bool>(static_cast<std::size_t>(n_nodes), true),
                                     [&](Child exit) { add_leaf(~exit); });
        else
            for (std::int64_t leaf = 0; leaf < n_leaves; ++leaf) add_leaf(leaf);
        tree.root = static_cast<std::int32_t>(nodes_.size());
        walk_.assign(static_cast<std::size_t>(n_nodes), -1);
        leaf_node_.assign(static_cast<std::size_t>(n_leaves), -1);
        add_walk(n_nodes == 0 ? Child{-1} : Child{0});
        if (n_leaves > kMaxMaskLeaves) {
            tree.first_exit = static_cast<std::int32_t>(exits_.size());
            tree.n_words = add_words(top(n_nodes), [&](Child exit) { exits_.push_back(walk_of(exit)); });
        }
        for (std::int64_t t : trees) {
            tree.output = spec_->output[t];
            trees_.push_back(tree);
            if (!tree.one_hot) ++tree.first_leaf;
            tree.repeated = true;
        }
    }

    double value(std::int64_t tree, std::int64_t leaf) const { return spec_->leaves[spec_->first_leaf[tree] + leaf]; }
    bool is_one_hot(std::span<const std::int64_t> trees, std::int64_t n_leaves) const {
        for (std::int64_t leaf = 0; leaf < n_leaves; ++leaf)
            if (std::count_if(trees.begin(), trees.end(), [&](std::int64_t t) { return value(t, leaf) != 0; }) > 1)
                return false;
        return true;
    }
    HotLeaf hot_leaf(std::span<const std::int64_t> trees, std::int64_t leaf) const {
        for (std::int64_t t : trees)
            if (value(t, leaf) != 0) return {value(t, leaf), spec_->output[t]};
        return {0.0, spec_->output[trees[0]]};
    }

    // The nodes nearest to the root, as many as leave kTopExits exits.
    std::vector<bool> top(std::int64_t n_nodes) const {
        std::vector<bool> inside(static_cast<std::size_t>(n_nodes), false);
        std::vector<Child> queue{0};
        int exits = 1;
        for (std::size_t i = 0; i < queue.size() && exits < kTopExits; ++i, ++exits) {
            inside[queue[i]] = true;
            for (Child child : {left(queue[i]), right(queue[i])})
                if (child >= 0) queue.push_back(child);
        }
        return inside;
    }

    // Adds the splits of the nodes inside; calls exit(child) for each child outside and each leaf, from left to right.
    // Returns the number of words.
    template <class Exit>
    std::int32_t add_words(const std::vector<bool>& inside, const Exit& exit) {
        struct Range {
            Child node;
            std::int32_t begin, middle;  // exits of the left subtree
        };
        std::vector<Range> ranges;
        struct Step {
            Child node;
            std::int32_t range;  // >= 0: the left subtree of this range is complete
        };
        std::vector<Step> stack{{0, -1}};
        std::int32_t n_exits = 0;
        while (!stack.empty()) {
            const Step step = stack.back();
            stack.pop_back();
            if (step.range >= 0) {
                ranges[step.range].middle = n_exits;
            } else if (step.node >= 0 && inside[step.node]) {
                const auto r = static_cast<std::int32_t>(ranges.size());
                ranges.push_back({step.node, n_exits, n_exits});
                stack.push_back({right(step.node), -1});
                stack.push_back({step.node, r});
                stack.push_back({left(step.node), -1});
            } else {
                exit(step.node);
                ++n_exits;
            }
        }
        const std::int32_t n_words = (n_exits + 31) / 32;
        for (std::int32_t w = 0; w < n_words; ++w) {
            LeafWord word{};
            const auto each = [&](const auto& use) {
                for (const Range& r : ranges) {
                    const int begin = std::max(r.begin - 32 * w, 0), end = std::min(r.middle - 32 * w, 32);
                    if (begin >= end) continue;
                    const std::uint32_t below = end == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << end) - 1;
                    use(first_node_ + r.node, below & ~((std::uint32_t{1} << begin) - 1));
                }
            };
            const auto add_splits = [&](bool nan_left) {
                each([&](std::int64_t n, std::uint32_t mask) {
                    if (spec_->categories[n] < 0 && (spec_->nan_left[n] != 0) == nan_left)
                        splits_.push_back({rounded_down(spec_->threshold[n], X{}), column_[spec_->feature[n]], mask});
                });
            };
            word.first = static_cast<std::int32_t>(splits_.size());
            add_splits(true);
            word.nan_right = static_cast<std::int32_t>(splits_.size());
            add_splits(false);
            word.last = static_cast<std::int32_t>(splits_.size());
            word.first_category = static_cast<std::int32_t>(category_splits_.size());
            each([&](std::int64_t n, std::uint32_t mask) {
                if (spec_->categories[n] >= 0) add_category_split(n, mask);
            });
            word.last_category = static_cast<std::int32_t>(category_splits_.size());
            words_.push_back(word);
        }
        return n_words;
    }

    void add_category_split(std::int64_t n, std::uint32_t mask) {
        const std::int32_t s = spec_->categories[n];
        if (bits_.empty()) bits_.assign(spec_->bits.begin(), spec_->bits.end());
        category_splits_.push_back({column_[spec_->feature[n]], mask,
                                    static_cast<std::int32_t>(spec_->first_bit_word[s]), spec_->n_categories[s],
                                    spec_->truncates, spec_->other_left[s] != 0, spec_->nan_left[n] != 0});
    }

    // Adds the subtree of a child, siblings side by side, level by level.
    void add_walk(Child root) {
        struct Place {
            Child child;
            std::int32_t at;
        };
        const auto start = static_cast<std::int32_t>(nodes_.size());
        nodes_.emplace_back();
        std::vector<Place> queue{{root, start}};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const auto [child, at] = queue[i];
            WalkNode<X> node{};
            if (child < 0) {
                node.next = ~place_[~child];
                leaf_node_[~child] = at;
            } else {
                const std::int64_t n = first_node_ + child;
                walk_[child] = at;
                node.feature = spec_->feature[n];
                node.column = column_[node.feature];
                node.threshold = rounded_down(spec_->threshold[n], X{});
                if (spec_->categories[n] >= 0) {
                    node.column = ~static_cast<std::int32_t>(category_splits_.size());
                    add_category_split(n, 0);
                }
                const auto below = static_cast<std::int32_t>(nodes_.size());
                node.next = 2 * below + (spec_->nan_left[n] != 0 ? 1 : 0);
                nodes_.resize(nodes_.size() + 2);
                queue.push_back({left(child), below});
                queue.push_back({right(child), below + 1});
            }
            nodes_[at] = node;
        }
    }
    std::int32_t walk_of(Child exit) const { return exit < 0 ? leaf_node_[~exit] : walk_[exit]; }

    const TreesSpec* spec_;
    std::span<const std::int32_t> column_;
    bool hot_;
    std::int64_t first_node_ = 0;
    std::vector<std::int32_t> place_, walk_, leaf_node_;

    std::vector<Split<X>> splits_;
    std::vector<CategorySplit> category_splits_;
    std::vector<std::uint32_t> bits_;
    std::vector<LeafWord> words_;
    std::vector<Tree> trees_;
    std::vector<WalkNode<X>> nodes_;
    std::vector<std::int32_t> exits_;
    std::vector<double> leaves_;
    std::vector<float> leaves_f32_;
    std::vector<HotLeaf> hot_leaves_;
};

}  // namespace wald
