// Running sums of tree ensembles: what leaves add to the sums that a row carries from stage to stage.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/cascade/engine.hpp"
#include "core/trees/leaf_tables.hpp"
#include "core/trees/tile_reader.hpp"

namespace wald {

// The running sums of a plan, whose trees are numbered by their place in its order. Each output has sums of its own, to
// which only its trees add.
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

    // Number of sums per output. Without shared sums there is one for each stage, to which the trees up to it add.
    int size() const { return stages_.n_sums > 0 ? stages_.n_sums : static_cast<int>(stages_.terms.size()); }
    // Number of tree j of the order in the spec.
    std::int64_t tree(std::int64_t j) const { return order_[j]; }
    std::int32_t output(std::int64_t j) const { return spec_.output[order_[j]]; }
    // What a leaf of tree j adds to a sum.
    double value(int sum, std::int64_t j, std::int32_t leaf) const {
        const std::int64_t at = first_leaf_[j] + leaf;
        const double correction = at < n_corrected_ ? stages_.leaves[sum * n_corrected_ + at] : 0;
        return weight(sum, j) * spec_.leaves[spec_.first_leaf[order_[j]] + leaf] + correction;
    }
    // The sums to which at least one of these trees adds something.
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
    std::int64_t n_trees_, n_corrected_ = 0;  // n_corrected_: leaves with corrections
    std::vector<std::int64_t> first_leaf_;    // of each tree in the order
};

// Some trees of a plan, in groups that follow each other, with what their leaves add to running sums.
class SummedTrees {
public:
    // Group g consists of trees[ends[g - 1]] to trees[ends[g] - 1], places in the plan's order.
    SummedTrees(const TreesSpec& spec, const RunningSums& sums, std::span<const std::int64_t> trees,
                std::span<const std::int64_t> ends)
        : sums_(sums.used(trees)), trees_(spec, order_of(sums, trees), ends) {
        std::vector<std::size_t> first;  // of each tree: the place of its first member in `trees`
        std::size_t j = 0, g = 0;
        for (int t = 0; t < steps().size(); ++t) {
            for (; g < ends.size() && ends[g] <= static_cast<std::int64_t>(j); ++g) ends_.push_back(t);
            first.push_back(j);
            j += static_cast<std::size_t>(steps().tree(t).n_outputs);
        }
        ends_.resize(ends.size(), steps().size());
        tables_ = {steps(), static_cast<int>(sums_.size()), [&](int t, std::int32_t leaf, int o, int s) {
                       return sums.value(sums_[s], trees[first[t] + o], leaf);
                   }};
    }

    // The running sums to which these trees add something. Below, sum s of an output is its running sum sums()[s].
    const std::vector<int>& sums() const { return sums_; }
    const EvaluatedTrees& trees() const { return trees_; }
    const std::vector<std::int32_t>& features() const { return steps().features(); }

    // Adds the leaves of group g to sums[output * n + s][row], n = sums().size(). Whole panels are written.
    void add(int g, const Tile& tile, float* const* sums) const {
        tree_kernels().add_tables(steps().view(), tables_.view(), begin(g), ends_[g], tile, sums);
    }
    // The same for one row x[feature], with *sums[output * n + s].
    template <class X>
    void add_row(int g, const X* x, float* const* sums) const {
        const auto n = std::ssize(sums_);
        trees_.rows(X{}).each(begin(g), ends_[g], x, [&, view = steps().view()](int t, std::int32_t leaf) {
            tables_.each<0>(view, t, leaf,
                            [&](int output, std::int64_t s, float value) { *sums[output * n + s] += value; });
        });
    }

private:
    const StepTrees& steps() const { return trees_.steps(); }
    int begin(int g) const { return g == 0 ? 0 : ends_[g - 1]; }
    static std::vector<std::int64_t> order_of(const RunningSums& sums, std::span<const std::int64_t> trees) {
        std::vector<std::int64_t> order;
        for (const std::int64_t j : trees) order.push_back(sums.tree(j));
        return order;
    }

    std::vector<int> sums_;
    EvaluatedTrees trees_;
    std::vector<int> ends_;  // of groups, counted in trees of steps()
    LeafTables<float> tables_;
};

}  // namespace wald
