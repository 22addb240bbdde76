// Trees in the form in which a single row walks down them, several trees at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "core/trees/bins.hpp"
#include "core/trees/layout.hpp"

namespace wald {

// A node sends a row to child[0] if x[feature] <= threshold, else to child[1]. A child < 0 is the leaf ~child. A node
// whose threshold is NaN is a split on categories, and `feature` its index.
template <class X>
struct RowNode {
    X threshold;
    std::uint32_t feature : 31, nan_left : 1;
    std::int32_t child[2];
};

template <class X>
inline bool category_goes_left(const CategorySplit& split, const std::uint32_t* bits, X x) {
    if (x != x) return split.nan_left;
    const X number = x > X(0) ? x : X(0);  // numbers in (-1, 0) truncate to category 0, which an empty set lacks
    if ((split.truncates ? x <= X(-1) : x < X(0)) || number >= static_cast<X>(split.n_categories))
        return split.other_left;
    const auto category = static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
    return bits[split.first_word + (category >> 5)] >> (category & 31) & 1;
}

// Trees and leaves have the same numbers as in StepTrees.
template <class X>
class RowTrees {
public:
    RowTrees(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int64_t> ends)
        : bits_(spec.bits.data()) {
        each_tree(spec, order, ends,
                  [&](std::span<const std::int64_t> members) { add(spec, TreeLayout(spec, members)); });
        nodes_.emplace_back();  // `each` reads a node whatever happens
    }

    // Calls use(tree, leaf of the row x[feature]) for trees [first, last), one after the other.
    template <class Use>
    void each(int first, int last, const X* x, const Use& use) const {
        for (int t = first; t < last; t += kTogether) {
            std::int32_t at[kTogether];
            const int n = std::min(kTogether, last - t);
            for (int i = 0; i < kTogether; ++i) at[i] = roots_[t + std::min(i, n - 1)];
            if (category_splits_.empty()) walk<false>(x, at);
            else walk<true>(x, at);
            for (int i = 0; i < n; ++i) use(t + i, ~at[i]);
        }
    }

    // Follows n rows x[i][feature] from nodes down to leaves: at[i] is a node or ~leaf, and becomes ~leaf. Rows whose
    // walk goes on take a step each, again and again, so that they wait for memory together.
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
                const int i = rows[k];
                const std::int32_t child =
                    category_splits_.empty() ? next<false>(nodes_[at[i]], x[i]) : next<true>(nodes_[at[i]], x[i]);
                at[i] = child;
                __builtin_prefetch(nodes_.data() + child);
                rows[left] = static_cast<std::uint16_t>(i);
                left += child >= 0;
            }
            going = left;
        }
    }

private:
    static constexpr int kTogether = 8;  // a walk waits for memory most of the time

    template <bool kCategories>
    std::int32_t next(const RowNode<X>& node, const X* x) const {
        if (kCategories && node.threshold != node.threshold) {
            const CategorySplit& split = category_splits_[node.feature];
            return node.child[!category_goes_left(split, bits_, x[split.feature])];
        }
        const X value = x[node.feature];
        return node.child[!(value <= node.threshold) & !((value != value) & (node.nan_left != 0))];
    }
    template <bool kCategories>
    void walk(const X* x, std::int32_t (&at)[kTogether]) const {
        for (bool going = true; going;) {
            going = false;
            for (std::int32_t& place : at) {
                const std::int32_t child = next<kCategories>(nodes_[std::max(place, 0)], x);
                place = place < 0 ? place : child;
                going |= place >= 0;
            }
        }
    }

    void add(const TreesSpec& spec, const TreeLayout& layout) {
        const auto start = static_cast<std::int32_t>(nodes_.size());
        roots_.push_back(layout.n_nodes() == 0 ? ~0 : start);
        for (std::int32_t n = 0; n < layout.n_nodes(); ++n) {
            const std::int64_t at = layout.node(n);
            RowNode<X> node{};
            node.feature = static_cast<std::uint32_t>(spec.feature[at]) & 0x7fffffffu;
            node.nan_left = spec.nan_left[at] != 0;
            node.threshold = rounded_down(spec.threshold[at], X{});
            if (const std::int32_t set = spec.categories[at]; set >= 0) {
                node.threshold = std::numeric_limits<X>::quiet_NaN();
                node.feature = static_cast<std::uint32_t>(category_splits_.size()) & 0x7fffffffu;
                category_splits_.push_back(category_split(spec, spec.feature[at], set, spec.nan_left[at] != 0));
            }
            const auto child = [&](std::int32_t c) { return c >= 0 ? start + c : ~layout.number(~c); };
            node.child[0] = child(layout.left(n));
            node.child[1] = child(layout.right(n));
            nodes_.push_back(node);
        }
    }

    std::vector<RowNode<X>> nodes_;
    std::vector<std::int32_t> roots_;
    std::vector<CategorySplit> category_splits_;
    const std::uint32_t* bits_;  // of the spec, which lives as long
};

}  // namespace wald
