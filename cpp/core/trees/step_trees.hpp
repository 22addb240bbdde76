// Trees in the form in which kernels evaluate them for tiles of rows: columns of bins, and steps.
#pragma once

#include <algorithm>
#include <iterator>
#include <queue>
#include <vector>

#include "core/trees/bins.hpp"
#include "core/trees/layout.hpp"

namespace wald {

class StepTrees {
public:
    // Packs the given trees in their order; see each_tree.
    StepTrees(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int64_t> ends) {
        std::vector<std::int64_t> nodes;
        std::vector<std::int32_t> below;
        each_tree(spec, order, ends, [&](std::span<const std::int64_t> members) {
            const TreeLayout layout(spec, members);
            const std::vector<bool> inside = top(layout);
            for (std::int32_t n = 0; n < layout.n_nodes(); ++n) {
                if (inside[n]) nodes.push_back(layout.node(n));
                else below.push_back(spec.feature[layout.node(n)]);
            }
        });
        BinsBuilder builder(spec, nodes);
        each_tree(spec, order, ends, [&](std::span<const std::int64_t> members) { add(spec, builder, members); });
        bins_ = builder.take();
        std::sort(below.begin(), below.end());
        below.erase(std::unique(below.begin(), below.end()), below.end());
        const std::vector<std::int32_t>& stepped = bins_.features();
        std::set_union(stepped.begin(), stepped.end(), below.begin(), below.end(), std::back_inserter(features_));
        std::set_difference(below.begin(), below.end(), stepped.begin(), stepped.end(),
                            std::back_inserter(walked_features_));
    }

    int size() const { return static_cast<int>(trees_.size()); }
    const Tree& tree(int t) const { return trees_[t]; }
    const Bins& bins() const { return bins_; }
    // The features that trees read, in ascending order; and those of them that no step reads.
    const std::vector<std::int32_t>& features() const { return features_; }
    const std::vector<std::int32_t>& walked_features() const { return walked_features_; }
    // Whether a tree is cut, so that rows must be walked.
    bool any_cut() const { return !exits_.empty(); }
    TreesView view() const { return {steps_.data(), trees_.data(), exits_.data(), outputs_.data()}; }
    // The trees of the spec that became tree t, and a leaf of the spec for each of its leaves.
    std::span<const std::int64_t> members(int t) const {
        return {members_.data() + trees_[t].first_output, static_cast<std::size_t>(trees_[t].n_outputs)};
    }
    std::int32_t leaf(int t, std::int32_t number) const { return leaf_[first_number_[t] + number]; }

private:
    void add(const TreesSpec& spec, const BinsBuilder& bins, std::span<const std::int64_t> members) {
        const TreeLayout layout(spec, members);
        Tree tree{};
        tree.first_step = tree.first_pair = tree.first_alone = n_steps();
        tree.first_exit = -1;
        tree.n_leaves = layout.n_numbers();
        tree.first_output = static_cast<std::int32_t>(outputs_.size());
        tree.n_outputs = static_cast<std::int32_t>(members.size());
        tree.kind = members.size() == 1             ? LeafKind::single
                    : is_hot(spec, members, layout) ? LeafKind::hot
                                                    : LeafKind::vector;
        std::int32_t& n_values = tree.kind == LeafKind::hot ? n_hot_ : n_values_;
        tree.first_leaf = n_values;
        n_values += tree.n_leaves * (tree.kind == LeafKind::hot ? 1 : tree.n_outputs);
        for (const std::int64_t t : members) {
            outputs_.push_back(spec.output[t]);
            members_.push_back(t);
        }
        first_number_.push_back(static_cast<std::int64_t>(leaf_.size()));
        for (std::int32_t i = 0; i < tree.n_leaves; ++i) leaf_.push_back(layout.leaf(i));

        if (layout.is_cut()) add_cut(layout, bins, top(layout), tree);
        else {
            tree.oblivious = tree.n_leaves > 1 && add_levels(layout, bins);
            if (!tree.oblivious) add_chains(layout, bins, tree);
        }
        tree.last_step = n_steps();
        n_nodes_ += layout.n_nodes();
        trees_.push_back(tree);
    }

    static bool is_hot(const TreesSpec& spec, std::span<const std::int64_t> members, const TreeLayout& layout) {
        for (std::int32_t i = 0; i < layout.n_numbers(); ++i) {
            int n = 0;
            for (const std::int64_t t : members) n += spec.leaves[spec.first_leaf[t] + layout.leaf(i)] != 0;
            if (n > 1) return false;
        }
        return true;
    }

    std::int32_t n_steps() const { return static_cast<std::int32_t>(steps_.size()); }
    void add_step(BinSplit split, std::int32_t leaf, std::int32_t to, bool moves_left = false) {
        const auto everywhere = [](std::int32_t byte) {
            return (static_cast<std::uint32_t>(byte) & 255u) * 0x01010101u;
        };
        const std::int32_t bin = moves_left ? ~split.bin - 1 : split.bin;  // x <= bin where ~x > ~bin - 1
        steps_.push_back({static_cast<std::uint32_t>(split.column) * kPanelRows, everywhere(bin), everywhere(leaf),
                          everywhere(to), everywhere(moves_left ? -1 : 0)});
    }
    // Nodes above a chain belong to longer chains, or to chains of as many nodes that begin at an earlier node.
    void add_chains(const TreeLayout& layout, const BinsBuilder& bins, Tree& tree) {
        for (int length = kLongestChain; length > 0; --length) {
            if (length == 2) tree.first_pair = n_steps();
            if (length == 1) tree.first_alone = n_steps();
            for (std::int32_t top = 0; top < layout.n_nodes(); ++top) {
                if (layout.chain_at(top) != length) continue;
                std::int32_t nodes[kLongestChain] = {top};
                for (int i = 1; i < length; ++i) nodes[i] = layout.stay(nodes[i - 1]);
                for (int i = length - 1; i >= 0; --i)
                    add_step(bins.split(layout.node(nodes[i])), layout.first(top), layout.first(layout.leave(nodes[i])),
                             layout.stays_right(nodes[i]));
            }
        }
    }
    // The steps of a tree that has levels; false if it has none.
    bool add_levels(const TreeLayout& layout, const BinsBuilder& bins) {
        const std::vector<std::int32_t> levels =
            layout.levels([&](std::int64_t a, std::int64_t b) { return bins.split(a) == bins.split(b); });
        std::int32_t bit = layout.n_leaves();
        for (const std::int32_t n : levels) add_step(bins.split(layout.node(n)), 0, bit /= 2);
        return !levels.empty();
    }

    // Cuts a tree: the nodes with most leaves below them become steps. Exits are nodes of RowTrees.
    void add_cut(const TreeLayout& layout, const BinsBuilder& bins, const std::vector<bool>& inside, Tree& tree) {
        const std::int32_t n = layout.n_nodes();
        std::vector<std::int32_t> below(static_cast<std::size_t>(n), 1), first(static_cast<std::size_t>(n));
        const auto is_inside = [&](std::int32_t child) { return child >= 0 && inside[child]; };
        const auto exits_below = [&](std::int32_t child) { return is_inside(child) ? below[child] : 1; };
        for (std::int32_t i = n - 1; i >= 0; --i)
            if (inside[i]) below[i] = exits_below(layout.left(i)) + exits_below(layout.right(i));
        tree.first_exit = static_cast<std::int32_t>(exits_.size());
        exits_.resize(exits_.size() + static_cast<std::size_t>(below[0]));
        for (std::int32_t i = 0; i < n; ++i) {
            if (!inside[i]) continue;
            const std::int32_t left = layout.left(i), right = layout.right(i), at = first[i];
            const std::int32_t beyond = at + exits_below(left);
            add_step(bins.split(layout.node(i)), at, beyond);
            for (const auto& [child, exit] : {std::pair{left, at}, std::pair{right, beyond}}) {
                if (is_inside(child)) first[child] = exit;
                else exits_[tree.first_exit + exit] = child >= 0 ? n_nodes_ + child : ~layout.number(~child);
            }
        }
    }
    // Exits of a tree that is cut: more steps take longer than the walks that they save. Plans count on this number:
    // EXITS in models/tree_work.py.
    static constexpr int kMaxExits = 128;
    // The nodes of a tree that become steps.
    static std::vector<bool> top(const TreeLayout& layout) {
        std::vector<bool> inside(static_cast<std::size_t>(layout.n_nodes()), !layout.is_cut());
        if (!layout.is_cut()) return inside;
        std::priority_queue<std::pair<std::int32_t, std::int32_t>> largest;  // leaves below, node
        largest.emplace(layout.n_leaves(), 0);
        for (int exits = 1; exits < kMaxExits && !largest.empty(); ++exits) {
            const std::int32_t node = largest.top().second;
            largest.pop();
            inside[node] = true;
            for (const std::int32_t child : {layout.left(node), layout.right(node)})
                if (child >= 0) largest.emplace(layout.leaves_below(child), child);
        }
        return inside;
    }

    Bins bins_;
    std::vector<std::int32_t> features_, walked_features_;
    std::vector<Step> steps_;
    std::vector<Tree> trees_;
    std::vector<std::int32_t> exits_, outputs_;
    std::vector<std::int64_t> members_, first_number_;
    std::vector<std::int32_t> leaf_;
    std::int32_t n_nodes_ = 0, n_values_ = 0, n_hot_ = 0;
};

}  // namespace wald
