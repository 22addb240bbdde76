// Trees in the form in which a single row is evaluated: small trees by sets of leaves, oblivious trees by their levels.
// The walks down the other trees advance in lockstep.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/trees/bins.hpp"
#include "core/trees/layout.hpp"
#include "core/trees/leaf_sets.hpp"

namespace wald {

// Compares x[feature], or -x[feature] if negated, with a threshold. A value is beyond the split unless it is at most
// the threshold. So NaN is beyond it, and goes with large values or, if negated, with small ones.
template <class X>
struct RowSplit {
    static constexpr X kInfinity = std::numeric_limits<X>::infinity();
    static constexpr std::uint32_t kNegated = 1u << 31;
    X threshold;
    std::uint32_t feature;  // or feature | kNegated

    // For a node that sends x[feature] <= most to the left. Rows beyond the split go to the right or, negated, to the
    // left.
    RowSplit(X most, std::int32_t f, bool negate)
        : threshold(negate ? std::nextafter(-most, -kInfinity) : most),
          feature(static_cast<std::uint32_t>(f) | (negate ? kNegated : 0)) {}
    bool is_negated() const { return feature >= kNegated; }
    bool is_beyond(const X* x) const {
        using Bits = std::conditional_t<sizeof(X) == 4, std::uint32_t, std::uint64_t>;
        const Bits sign = Bits{feature & kNegated} << (8 * sizeof(X) - 32);
        return !(std::bit_cast<X>(std::bit_cast<Bits>(x[feature & ~kNegated]) ^ sign) <= threshold);
    }
};

// A node sends a row to child[1] if it is beyond the split, else to child[0]. A child < 0 is the leaf ~child. If the
// threshold is NaN, the node splits on categories: `feature` is the index of the split, and child[0] its left child.
template <class X>
struct RowNode {
    RowSplit<X> split;
    std::int32_t child[2];
};

// Trees and leaves have the same numbers as in StepTrees.
template <class X>
class RowTrees {
public:
    RowTrees(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int64_t> ends)
        : bits_(spec.bits.data()) {
        SmallTrees<X> block;
        std::int64_t n_members = 0;
        each_tree(spec, order, ends, [&](std::span<const std::int64_t> members) {
            const TreeLayout layout(spec, members);
            const bool has_levels = add(spec, layout);
            block.add(spec, layout, has_levels);
            n_members += std::ssize(members);
            if (block.n_trees() == SmallTrees<X>::kMaxTrees || std::ranges::binary_search(ends, n_members))
                end_block(block);
        });
        end_block(block);
        first_level_.push_back(static_cast<std::int32_t>(levels_.size()));
        const int n = static_cast<int>(roots_.size());
        alike_until_.assign(roots_.size(), n);
        for (int t = n - 2; t >= 0; --t)
            alike_until_[t] =
                has_levels(t) == has_levels(t + 1) && leaf_sets_from(t + 1) == nullptr ? alike_until_[t + 1] : t + 1;
    }

    // Calls use(tree, leaf of the row x[feature]) for trees [first, last), one after the other.
    template <class Use>
    void each(int first, int last, const X* x, const Use& use) const {
        std::int32_t leaves[kMaxTogether];
        for (int t = first, n = 0; t < last; t += n) {
            n = std::min({alike_until_[t], last, t + kMaxWalks}) - t;
            if (const LeafSets<X>* const sets = leaf_sets_from(t); sets != nullptr && sets->n_trees() <= last - t) {
                n = sets->n_trees();
                sets->find(x, leaves);
            } else if (has_levels(t)) read_levels(t, n, x, leaves);
            else if (category_splits_.empty()) walk<false>(roots_.data() + t, n, x, leaves);
            else walk<true>(roots_.data() + t, n, x, leaves);
            for (int i = 0; i < n; ++i) use(t + i, leaves[i]);
        }
    }

    // Follows n rows x[i][feature] from nodes down to leaves: at[i] is a node or ~leaf, and becomes ~leaf. The
    // unfinished walks advance in lockstep, so that their memory accesses overlap: a node is prefetched one round
    // before it is read, a value kAhead rows before.
    void walk_down(const X* const* x, int n, std::int32_t* at) const {
        if (category_splits_.empty()) walk_down<false>(x, n, at);
        else walk_down<true>(x, n, at);
    }

private:
    static constexpr int kAhead = 12;      // how many rows ahead values are prefetched
    static constexpr int kMaxWalks = 256;  // trees that are walked in lockstep
    static constexpr int kMaxTogether = std::max(kMaxWalks, SmallTrees<X>::kMaxTrees);

    template <bool kCategories>
    void walk_down(const X* const* x, int n, std::int32_t* at) const {
        std::uint16_t rows[kTileRows + 1];
        int going = 0;
        for (int i = 0; i < n; ++i) {
            rows[going] = static_cast<std::uint16_t>(i);
            __builtin_prefetch(nodes_.data() + at[i]);
            going += at[i] >= 0;
        }
        while (going > 0) {
            int left = 0;
            for (int k = 0; k < going; ++k) {
                const int i = rows[k], soon = rows[std::min(k + kAhead, going - 1)];
                __builtin_prefetch(x[soon] + feature<kCategories>(nodes_[at[soon]]));
                const std::int32_t child = next<kCategories>(nodes_[at[i]], x[i]);
                at[i] = child;
                __builtin_prefetch(nodes_.data() + child);
                rows[left] = static_cast<std::uint16_t>(i);
                left += child >= 0;
            }
            going = left;
        }
    }
    // The feature that a node compares.
    template <bool kCategories>
    std::int32_t feature(const RowNode<X>& node) const {
        if (kCategories && node.split.threshold != node.split.threshold)
            return category_splits_[node.split.feature].feature;
        return static_cast<std::int32_t>(node.split.feature & ~RowSplit<X>::kNegated);
    }
    template <bool kCategories>
    std::int32_t next(const RowNode<X>& node, const X* x) const {
        if (kCategories && node.split.threshold != node.split.threshold) {
            const CategorySplit& split = category_splits_[node.split.feature];
            return node.child[!category_goes_left(split, bits_, x[split.feature])];
        }
        return node.child[node.split.is_beyond(x)];
    }

    // Finds the leaves of n trees with levels, from tree t on.
    void read_levels(int t, int n, const X* x, std::int32_t* leaves) const {
        const RowSplit<X>* level = levels_.data() + first_level_[t];
        for (int i = 0; i < n; ++i) {
            const RowSplit<X>* const end = levels_.data() + first_level_[t + i + 1];
            std::int32_t leaf = 0;
            for (; level < end; ++level) leaf = 2 * leaf + (level->is_beyond(x) != level->is_negated());
            leaves[i] = leaf;
        }
    }
    // Finds the leaves of n trees with the given roots. Unfinished walks advance in lockstep. Finished ones are removed
    // without a branch, which would be hard to predict.
    template <bool kCategories>
    void walk(const std::int32_t* roots, int n, const X* x, std::int32_t* leaves) const {
        std::int32_t at[kMaxWalks], tree[kMaxWalks];  // of the unfinished walks
        int going = 0;
        for (int i = 0; i < n; ++i) {
            leaves[i] = ~roots[i];
            at[going] = roots[i];
            tree[going] = i;
            going += roots[i] >= 0;
        }
        while (going > 0) {
            int left = 0;
            for (int k = 0; k < going; ++k) {
                const std::int32_t t = tree[k], child = next<kCategories>(nodes_[at[k]], x);
                leaves[t] = ~child;
                at[left] = child;
                tree[left] = t;
                left += child >= 0;
            }
            going = left;
        }
    }

    // The leaf sets of the block of trees that begins with tree t; null if none does.
    const LeafSets<X>* leaf_sets_from(int t) const {
        return leaf_sets_from_[t] < 0 ? nullptr : leaf_sets_.data() + leaf_sets_from_[t];
    }
    // Ends the block of the trees that were added last. It gets leaf sets if these are faster.
    void end_block(SmallTrees<X>& block) {
        const auto first = static_cast<std::ptrdiff_t>(leaf_sets_from_.size());
        leaf_sets_from_.resize(roots_.size(), -1);
        if (block.are_faster_as_sets()) {
            leaf_sets_from_[first] = static_cast<std::int32_t>(leaf_sets_.size());
            leaf_sets_.emplace_back(block);
        }
        block = {};
    }

    // Adds a tree. Returns whether it has levels.
    bool add(const TreesSpec& spec, const TreeLayout& layout) {
        const auto start = static_cast<std::int32_t>(nodes_.size());
        roots_.push_back(layout.n_nodes() == 0 ? ~0 : start);
        first_level_.push_back(static_cast<std::int32_t>(levels_.size()));
        for (std::int32_t n = 0; n < layout.n_nodes(); ++n) {
            const std::int64_t at = layout.node(n);
            const bool nan_left = spec.nan_left[at] != 0;
            const auto child = [&](std::int32_t c) { return c >= 0 ? start + c : ~layout.number(~c); };
            const std::int32_t left = child(layout.left(n)), right = child(layout.right(n));
            if (const std::int32_t set = spec.categories[at]; set >= 0) {
                constexpr X nan = std::numeric_limits<X>::quiet_NaN();
                nodes_.push_back({{nan, static_cast<std::int32_t>(category_splits_.size()), false}, {left, right}});
                category_splits_.push_back(category_split(spec, spec.feature[at], set, nan_left));
                continue;
            }
            const X most = rounded_down(spec.threshold[at], X{});
            if (!nan_left) nodes_.push_back({{most, spec.feature[at], false}, {left, right}});
            else if (most < RowSplit<X>::kInfinity) nodes_.push_back({{most, spec.feature[at], true}, {right, left}});
            else nodes_.push_back({{most, spec.feature[at], false}, {left, left}});
        }
        return !layout.is_cut() && add_levels(spec, layout, start);
    }
    bool add_levels(const TreesSpec& spec, const TreeLayout& layout, std::int32_t start) {
        const auto alike = [&](std::int64_t a, std::int64_t b) {
            return spec.categories[a] < 0 && spec.categories[b] < 0 && spec.feature[a] == spec.feature[b] &&
                   spec.threshold[a] == spec.threshold[b] && spec.nan_left[a] == spec.nan_left[b] &&
                   std::isfinite(spec.threshold[a]);
        };
        const std::vector<std::int32_t> levels = layout.levels(alike);
        for (const std::int32_t n : levels) levels_.push_back(nodes_[start + n].split);
        return !levels.empty();
    }
    bool has_levels(int t) const { return first_level_[t] < first_level_[t + 1]; }

    std::vector<RowNode<X>> nodes_;
    std::vector<std::int32_t> roots_;
    std::vector<RowSplit<X>> levels_;
    std::vector<std::int32_t> first_level_;  // of each tree, and the end
    std::vector<std::int32_t> alike_until_;  // of each tree: the next one that is not evaluated in the same way
    std::vector<LeafSets<X>> leaf_sets_;
    std::vector<std::int32_t> leaf_sets_from_;  // of each tree: the leaf sets of the block that begins with it, or -1
    std::vector<CategorySplit> category_splits_;
    const std::uint32_t* bits_;  // owned by the spec, which lives as long
};

}  // namespace wald
