// What the leaves of trees add to sums, as tables.
#pragma once

#include <vector>

#include "core/trees/step_trees.hpp"

namespace wald {

// Every output has n_sums sums; where their number is known beforehand, it is the template argument kSums of calls.
template <class V>
class LeafTables {
public:
    LeafTables() = default;
    // value(t, leaf, o, s) is what a leaf of tree t, which the spec numbers, adds to sum s of the tree's output o.
    template <class Value>
    LeafTables(const StepTrees& trees, int n_sums, const Value& value) : n_sums_(n_sums) {
        for (int t = 0; t < trees.size(); ++t)
            append(trees, trees.tree(t),
                   [&](std::int32_t i, int o, int s) { return static_cast<V>(value(t, trees.leaf(t, i), o, s)); });
        values_.resize(values_.size() + kSpare);
    }

    SumTables<V> view() const { return {values_.data(), hot_.data(), hot_outputs_.data(), n_sums_}; }
    // Calls add(output, sum, value) for what a leaf of a tree adds to a row. A call of its own for each leaf would take
    // a twentieth of a row's time.
    template <int kSums, class Add>
    [[gnu::always_inline]] void each(const TreesView& trees, int t, std::int32_t leaf, const Add& add) const {
        const std::int64_t n = kSums > 0 ? kSums : n_sums_;
        const Tree& tree = trees.trees[t];
        const std::int32_t* const outputs = trees.outputs + tree.first_output;
        if (tree.kind == LeafKind::single) {
            const V* const table = values_.data() + tree.first_leaf * n + leaf;
            for (std::int64_t s = 0; s < n; ++s) add(outputs[0], s, table[s * tree.n_leaves]);
            return;
        }
        if (tree.kind == LeafKind::hot) {
            const std::int64_t at = tree.first_leaf + leaf;
            for (std::int64_t s = 0; s < n; ++s) add(hot_outputs_[at], s, hot_[at * n + s]);
            return;
        }
        const std::int64_t at = tree.first_leaf + std::int64_t{leaf} * tree.n_outputs;
        for (std::int64_t o = 0; o < tree.n_outputs; ++o)
            for (std::int64_t s = 0; s < n; ++s) add(outputs[o], s, values_[(at + o) * n + s]);
    }

private:
    static constexpr int kSpare = 64;  // kernels read whole tables

    template <class Value>
    void append(const StepTrees& trees, const Tree& tree, const Value& value) {
        for (int s = 0; s < n_sums_ && tree.kind == LeafKind::single; ++s)
            for (std::int32_t i = 0; i < tree.n_leaves; ++i) values_.push_back(value(i, 0, s));
        for (std::int32_t i = 0; i < tree.n_leaves && tree.kind != LeafKind::single; ++i) {
            const bool hot = tree.kind == LeafKind::hot;
            const int only = hot ? hot_output(tree, i, value) : 0;
            if (hot) hot_outputs_.push_back(trees.view().outputs[tree.first_output + only]);
            for (int o = only; o < (hot ? only + 1 : tree.n_outputs); ++o)
                for (int s = 0; s < n_sums_; ++s) (hot ? hot_ : values_).push_back(value(i, o, s));
        }
    }
    // The only output to which leaf i adds something.
    template <class Value>
    int hot_output(const Tree& tree, std::int32_t i, const Value& value) const {
        int hot = 0, n = 0;
        for (int o = 0; o < tree.n_outputs; ++o) {
            bool adds = false;
            for (int s = 0; s < n_sums_; ++s) adds = adds || value(i, o, s) != 0;
            if (adds) hot = o, ++n;
        }
        if (n > 1)
            throw std::invalid_argument("there are corrections of leaves that have one value for several outputs");
        return hot;
    }

    int n_sums_ = 0;
    std::vector<V> values_, hot_;
    std::vector<std::int32_t> hot_outputs_;
};

}  // namespace wald
