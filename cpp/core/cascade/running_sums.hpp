// Running sums of tree ensembles: what leaves add to the sums that a row carries from stage to stage.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/cascade/engine.hpp"
#include "core/trees/tile_reader.hpp"

namespace wald {

// The running sums of a plan, whose trees are numbered by their place in its order. Each output has sums of its own, to
// which its own trees are added.
class RunningSums {
public:
    RunningSums(const TreesSpec& spec, std::span<const std::int64_t> order, const StagesSpec& stages)
        : spec_(spec), order_(order), stages_(stages), n_trees_(stages.terms.empty() ? 0 : stages.terms.back()),
          first_leaf_{0} {
        for (std::int64_t j = 0; j < n_trees_; ++j) first_leaf_.push_back(first_leaf_.back() + n_leaves(j));
        n_corrected_ = stages.n_sums > 0 ? std::ssize(stages.leaves) / stages.n_sums : 0;
        if (n_corrected_ > first_leaf_.back()) throw std::invalid_argument("there are more corrections than leaves");
        for (std::size_t t = 0; t < stages.terms.size() && stages.n_sums == 0; ++t)
            for (std::size_t k = 0; k < spec.base.size(); ++k)
                for (std::int64_t j = 0; j < stages.terms[t]; ++j)
                    if (output(j) != static_cast<std::int32_t>(k) &&
                        stages.weights[t][static_cast<std::int64_t>(k) * stages.terms[t] + j] != 0)
                        throw std::invalid_argument("a tree has a weight in an output that is not its own");
    }

    // Number of sums of each output. Without shared sums each stage has its own, to which its trees are added.
    int size() const { return stages_.n_sums > 0 ? stages_.n_sums : static_cast<int>(stages_.terms.size()); }
    // Tree j of the order, as the spec numbers it.
    std::int64_t tree(std::int64_t j) const { return order_[j]; }
    std::int32_t output(std::int64_t j) const { return spec_.output[order_[j]]; }
    // What a leaf of tree j adds to a sum.
    double value(int sum, std::int64_t j, std::int32_t leaf) const {
        const std::int64_t at = first_leaf_[j] + leaf;
        const double correction = at < n_corrected_ ? stages_.leaves[sum * n_corrected_ + at] : 0;
        return weight(sum, j) * spec_.leaves[spec_.first_leaf[order_[j]] + leaf] + correction;
    }
    // The sums to which some trees add something.
    std::vector<int> used(std::span<const std::int64_t> trees) const {
        std::vector<int> found;
        for (int s = 0; s < size(); ++s)
            if (std::any_of(trees.begin(), trees.end(), [&](std::int64_t j) { return uses(s, j); })) found.push_back(s);
        return found;
    }
    // Weight of a sum of output k in the estimate of a stage.
    double mixture(int stage, int k, int sum) const {
        if (stages_.n_sums > 0) return stages_.weights[stage][std::int64_t{k} * stages_.n_sums + sum];
        return sum == stage ? 1.0 : 0.0;
    }

private:
    std::int64_t n_leaves(std::int64_t j) const {
        return spec_.first_leaf[order_[j] + 1] - spec_.first_leaf[order_[j]];
    }
    double weight(int sum, std::int64_t j) const {
        if (stages_.n_sums > 0) return stages_.sums[sum * n_trees_ + j];
        const std::int64_t m = stages_.terms[sum];
        return j < m ? stages_.weights[sum][output(j) * m + j] : 0.0;
    }
    bool uses(int sum, std::int64_t j) const {
        if (weight(sum, j) != 0) return true;
        for (std::int32_t leaf = 0; leaf < n_leaves(j) && first_leaf_[j] < n_corrected_; ++leaf)
            if (value(sum, j, leaf) != 0) return true;
        return false;
    }

    const TreesSpec& spec_;
    std::span<const std::int64_t> order_;
    const StagesSpec& stages_;
    std::int64_t n_trees_, n_corrected_ = 0;  // leaves that have corrections
    std::vector<std::int64_t> first_leaf_;    // of each tree in the order
};

// Some trees of a plan, in groups that follow each other, with what their leaves add to running sums.
class SummedTrees {
public:
    // Group g consists of trees[ends[g - 1]] to trees[ends[g] - 1], places in the plan's order.
    SummedTrees(const TreesSpec& spec, const RunningSums& sums, std::span<const std::int64_t> trees,
                std::span<const std::int64_t> ends)
        : sums_(sums.used(trees)), trees_(spec, order_of(sums, trees), ends) {
        std::size_t j = 0, g = 0;
        for (int t = 0; t < steps().size(); ++t) {
            for (; g < ends.size() && ends[g] <= static_cast<std::int64_t>(j); ++g) ends_.push_back(t);
            add_tables(sums, t, trees[j]);
            j += static_cast<std::size_t>(steps().tree(t).n_outputs);
        }
        ends_.resize(ends.size(), steps().size());
        values_.resize(values_.size() + kSpare);  // kernels read whole tables
    }

    // The running sums to which these trees add something: their sum s is sums()[s] of each output.
    const std::vector<int>& sums() const { return sums_; }
    const EvaluatedTrees& trees() const { return trees_; }
    const std::vector<std::int32_t>& features() const { return steps().features(); }

    // Adds the leaves of group g to sums[output * n + s][row], n = sums().size(). Whole panels are written.
    void add(int g, const Tile& tile, float* const* sums) const {
        tree_kernels().add_tables(steps().view(),
                                  {values_.data(), hot_.data(), hot_outputs_.data(), static_cast<int>(sums_.size())},
                                  begin(g), ends_[g], tile, sums);
    }
    // The same for one row x[feature], with *sums[output * n + s].
    template <class X>
    void add_row(int g, const X* x, float* const* sums) const {
        const auto n = std::ssize(sums_);
        trees_.rows(X{}).each(begin(g), ends_[g], x, [&](int t, std::int32_t leaf) {
            const Tree& tree = steps().tree(t);
            const std::int32_t* const outputs = steps().view().outputs + tree.first_output;
            if (tree.kind == LeafKind::single) {
                const float* const table = values_.data() + tree.first_leaf * n + leaf;
                for (std::ptrdiff_t s = 0; s < n; ++s) *sums[outputs[0] * n + s] += table[s * tree.n_leaves];
                return;
            }
            if (tree.kind == LeafKind::hot) {
                const std::int64_t at = tree.first_leaf + leaf;
                for (std::ptrdiff_t s = 0; s < n; ++s) *sums[hot_outputs_[at] * n + s] += hot_[at * n + s];
                return;
            }
            const std::int64_t at = tree.first_leaf + std::int64_t{leaf} * tree.n_outputs;
            for (std::int64_t o = 0; o < tree.n_outputs; ++o)
                for (std::ptrdiff_t s = 0; s < n; ++s) *sums[outputs[o] * n + s] += values_[(at + o) * n + s];
        });
    }

private:
    static constexpr int kSpare = 64;

    const StepTrees& steps() const { return trees_.steps(); }
    int begin(int g) const { return g == 0 ? 0 : ends_[g - 1]; }
    static std::vector<std::int64_t> order_of(const RunningSums& sums, std::span<const std::int64_t> trees) {
        std::vector<std::int64_t> order;
        for (const std::int64_t j : trees) order.push_back(sums.tree(j));
        return order;
    }

    // The tables of tree t, whose members are trees j, j + 1, ... of the plan.
    void add_tables(const RunningSums& sums, int t, std::int64_t j) {
        const Tree& tree = steps().tree(t);
        const auto value = [&](std::int32_t number, int output, int sum) {
            return static_cast<float>(sums.value(sum, j + output, steps().leaf(t, number)));
        };
        if (tree.kind == LeafKind::single) {
            for (const int s : sums_)
                for (std::int32_t i = 0; i < tree.n_leaves; ++i) values_.push_back(value(i, 0, s));
            return;
        }
        for (std::int32_t i = 0; i < tree.n_leaves; ++i) {
            if (tree.kind == LeafKind::hot) {
                const int hot = hot_output(tree, [&](int o, int s) { return value(i, o, s); });
                hot_outputs_.push_back(steps().view().outputs[tree.first_output + hot]);
                for (const int s : sums_) hot_.push_back(value(i, hot, s));
                continue;
            }
            for (int o = 0; o < tree.n_outputs; ++o)
                for (const int s : sums_) values_.push_back(value(i, o, s));
        }
    }

    // The only output to which a leaf adds something.
    template <class Value>
    int hot_output(const Tree& tree, const Value& value) const {
        int hot = 0, n = 0;
        for (int o = 0; o < tree.n_outputs; ++o) {
            if (std::all_of(sums_.begin(), sums_.end(), [&](int s) { return value(o, s) == 0; })) continue;
            hot = o;
            ++n;
        }
        if (n > 1)
            throw std::invalid_argument("there are corrections of leaves that have one value for several outputs");
        return hot;
    }

    std::vector<int> sums_;
    EvaluatedTrees trees_;
    std::vector<int> ends_;  // of groups, counted in trees of steps()
    std::vector<float> values_, hot_;
    std::vector<std::int32_t> hot_outputs_;
};

}  // namespace wald
