// How the leaves of a tree are numbered.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/trees/kernels.hpp"
#include "core/trees/spec.hpp"

namespace wald {

// Neighbours in an order that share a structure are one tree with several outputs, unless one of `ends` lies between
// them. Calls use(members) for each tree.
template <class Use>
void each_tree(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int64_t> ends,
               const Use& use) {
    for (std::size_t begin = 0, end = 0, next = 0; begin < order.size(); begin = end) {
        while (next < ends.size() && ends[next] <= static_cast<std::int64_t>(begin)) ++next;
        const std::size_t most = next < ends.size() ? static_cast<std::size_t>(ends[next]) : order.size();
        while (end < most && spec.structure[order[end]] == spec.structure[order[begin]]) ++end;
        use(order.subspan(begin, end - begin));
    }
}

// Cuts a tree into chains of nodes, each of which leads to the taller child of each node while the kernels' longest
// chain and the tree allow it, and numbers its leaves: those come first below a node that are below the next node of
// its chain or, at a chain's end, below the left child. In a large tree, leaves of the same values share a number if
// there are few such values. Nodes and leaves are named as in the spec: children >= 0 are nodes, ~leaf stands for a
// leaf.
class TreeLayout {
public:
    TreeLayout(const TreesSpec& spec, std::span<const std::int64_t> members)
        : spec_(spec), first_node_(spec.first_node_of(members[0])),
          n_nodes_(static_cast<std::int32_t>(spec.last_node_of(members[0]) - first_node_)) {
        n_below_.assign(static_cast<std::size_t>(n_nodes_), 0);
        height_.assign(static_cast<std::size_t>(n_nodes_), 0);
        chain_.assign(static_cast<std::size_t>(n_nodes_), {});
        first_.assign(static_cast<std::size_t>(n_nodes_), 0);
        number_.assign(static_cast<std::size_t>(n_nodes_) + 1, 0);
        for (std::int32_t n = n_nodes_ - 1; n >= 0; --n) {  // parents come before their children
            n_below_[n] = leaves_below(left(n)) + leaves_below(right(n));
            height_[n] = 1 + std::max(height(left(n)), height(right(n)));
        }
        for (std::int32_t n = 0; n < n_nodes_; ++n) {
            Chain& chain = chain_[n];
            if (chain.length == 0) chain.length = std::min(height_[n], tree_kernels().longest_chain);
            chain.stays_right = !is_last(n) && height(right(n)) > height(left(n));
            if (!is_last(n)) chain_[stay(n)] = {chain.place + 1, chain.length, false};
            set_first(stay(n), first_[n]);
            set_first(leave(n), first_[n] + leaves_below(stay(n)));
        }
        leaf_.resize(number_.size());
        for (std::size_t leaf = 0; leaf < number_.size(); ++leaf)
            leaf_[number_[leaf]] = static_cast<std::int32_t>(leaf);
        if (is_cut()) merge(members);
    }

    std::int32_t n_nodes() const { return n_nodes_; }
    std::int32_t n_leaves() const { return n_nodes_ + 1; }
    bool is_cut() const { return n_leaves() > kMaxStepLeaves; }
    std::int64_t node(std::int32_t n) const { return first_node_ + n; }  // its index in the spec
    std::int32_t left(std::int32_t n) const { return spec_.left[first_node_ + n]; }
    std::int32_t right(std::int32_t n) const { return spec_.right[first_node_ + n]; }
    std::int32_t leaves_below(std::int32_t child) const { return child < 0 ? 1 : n_below_[child]; }
    // The child whose leaves come first, and the other one.
    bool stays_right(std::int32_t n) const { return chain_[n].stays_right; }
    std::int32_t stay(std::int32_t n) const { return stays_right(n) ? right(n) : left(n); }
    std::int32_t leave(std::int32_t n) const { return stays_right(n) ? left(n) : right(n); }
    // The nodes of a chain that begins at node n, if one does.
    int chain_at(std::int32_t n) const { return chain_[n].place == 0 ? chain_[n].length : 0; }
    // The number of the first leaf below a child.
    std::int32_t first(std::int32_t child) const { return child < 0 ? number_[~child] : first_[child]; }

    std::int32_t n_numbers() const { return static_cast<std::int32_t>(leaf_.size()); }
    std::int32_t number(std::int32_t leaf) const { return number_[leaf]; }
    std::int32_t leaf(std::int32_t number) const { return leaf_[number]; }

    // One node of each level, for a complete tree in which all nodes of a level split alike; for other trees, none.
    // alike(a, b) compares two nodes, as the spec numbers them.
    template <class Alike>
    std::vector<std::int32_t> levels(const Alike& alike) const {
        std::vector<std::int32_t> found, level{0};
        for (std::int32_t below = n_leaves(); below > 1; below /= 2) {
            std::vector<std::int32_t> next;
            for (const std::int32_t n : level) {
                if (n < 0 || 2 * leaves_below(left(n)) != below || 2 * leaves_below(right(n)) != below ||
                    !alike(node(n), node(level[0])))
                    return {};
                next.push_back(left(n));
                next.push_back(right(n));
            }
            found.push_back(level[0]);
            level = std::move(next);
        }
        return found;
    }

private:
    struct Chain {
        std::int32_t place, length;  // the node's place in its chain, and how many nodes that has
        bool stays_right;
    };
    bool is_last(std::int32_t n) const { return chain_[n].place + 1 == chain_[n].length; }
    std::int32_t height(std::int32_t child) const { return child < 0 ? 0 : height_[child]; }
    void set_first(std::int32_t child, std::int32_t at) {
        if (child >= 0) first_[child] = at;
        else number_[~child] = at;
    }
    void merge(std::span<const std::int64_t> members) {
        const auto value = [&](std::int64_t t, std::int32_t leaf) { return spec_.leaves[spec_.first_leaf[t] + leaf]; };
        const auto less = [&](std::int32_t a, std::int32_t b) {
            for (const std::int64_t t : members)
                if (value(t, a) != value(t, b)) return value(t, a) < value(t, b);
            return false;
        };
        std::vector<std::int32_t> sorted(number_.size()), kept;
        std::iota(sorted.begin(), sorted.end(), 0);
        std::stable_sort(sorted.begin(), sorted.end(), less);
        std::vector<std::int32_t> merged(number_.size());
        for (const std::int32_t leaf : sorted) {
            if (kept.empty() || less(kept.back(), leaf)) kept.push_back(leaf);
            merged[leaf] = static_cast<std::int32_t>(kept.size()) - 1;
        }
        if (kept.size() > number_.size() / 4) return;
        number_ = std::move(merged);
        leaf_ = std::move(kept);
    }

    const TreesSpec& spec_;
    std::int64_t first_node_;
    std::int32_t n_nodes_;
    std::vector<std::int32_t> n_below_, height_, first_;  // of each node: leaves, nodes on a path, first leaf below
    std::vector<Chain> chain_;                            // of each node
    std::vector<std::int32_t> number_, leaf_;             // of each leaf; and a leaf of each number
};

}  // namespace wald
