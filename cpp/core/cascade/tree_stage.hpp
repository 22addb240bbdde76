// The stages of a tree ensemble: the trees of each, and what their leaves add to the running sums of a row.
#pragma once

#include <stdexcept>
#include <vector>

#include "core/cascade/engine.hpp"
#include "core/models/tree_ensemble.hpp"

namespace wald {

// The running sums of a plan, whose trees are numbered by their place in its order.
class RunningSums {
public:
    RunningSums(const TreesSpec& spec, std::span<const std::int64_t> order, const StagesSpec& stages)
        : spec_(spec), order_(order), stages_(stages), n_trees_(stages.terms.empty() ? 0 : stages.terms.back()),
          first_leaf_{0} {
        for (std::int64_t j = 0; j < n_trees_; ++j) first_leaf_.push_back(first_leaf_.back() + n_leaves(j));
        if (!stages.leaves.empty() && std::ssize(stages.leaves) != stages.n_sums * first_leaf_.back())
            throw std::invalid_argument("leaves need one value for each sum and leaf of the early trees");
        for (std::size_t t = 0; t < stages.terms.size() && stages.n_sums == 0; ++t)
            for (std::size_t k = 0; k < spec.base.size(); ++k)
                for (std::int64_t j = 0; j < stages.terms[t]; ++j)
                    if (spec.output[order[j]] != static_cast<std::int32_t>(k) &&
                        stages.weights[t][static_cast<std::int64_t>(k) * stages.terms[t] + j] != 0)
                        throw std::invalid_argument("a tree has a weight in an output that is not its own");
    }

    // Of each output. Where stages share no sums, each has one of its own, to which the trees up to the stage are
    // added.
    int size() const { return stages_.n_sums > 0 ? stages_.n_sums : static_cast<int>(stages_.terms.size()); }
    // What a leaf of tree j adds to a sum.
    double value(int sum, std::int64_t j, std::int32_t leaf) const {
        if (!stages_.leaves.empty()) return stages_.leaves[sum * first_leaf_.back() + first_leaf_[j] + leaf];
        return weight(sum, j) * spec_.leaves[spec_.first_leaf[order_[j]] + leaf];
    }
    // The sums to which trees [first, last) add something.
    std::vector<int> used(std::int64_t first, std::int64_t last) const {
        std::vector<int> found;
        for (int s = 0; s < size(); ++s) {
            bool some = false;
            for (std::int64_t j = first; j < last && !some; ++j) some = uses(s, j);
            if (some) found.push_back(s);
        }
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
        return j < m ? stages_.weights[sum][spec_.output[order_[j]] * m + j] : 0.0;
    }
    bool uses(int sum, std::int64_t j) const {
        if (stages_.leaves.empty()) return weight(sum, j) != 0;
        for (std::int32_t leaf = 0; leaf < n_leaves(j); ++leaf)
            if (value(sum, j, leaf) != 0) return true;
        return false;
    }

    const TreesSpec& spec_;
    std::span<const std::int64_t> order_;
    const StagesSpec& stages_;
    std::int64_t n_trees_;
    std::vector<std::int64_t> first_leaf_;  // of each tree in the order
};

class TreeStage {
public:
    // The stage that reads trees [first, last) of an order.
    TreeStage(const TreesSpec& spec, std::span<const std::int64_t> order, std::int64_t first, std::int64_t last,
              const RunningSums& sums)
        : sums_(sums.used(first, last)), trees_(spec, order.subspan(first, last - first)) {
        std::int64_t j = first;
        for (int t = 0; t < steps().size(); ++t) {
            add_tables(t, j, sums);
            j += steps().tree(t).n_outputs;
        }
        values_.resize(values_.size() + kSpare);  // kernels read whole tables
    }

    // The running sums of each output to which the stage adds something: sum s of the stage is sums()[s].
    const std::vector<int>& sums() const { return sums_; }
    const EvaluatedTrees& trees() const { return trees_; }
    const StepTrees& steps() const { return trees_.steps(); }
    SumTables tables() const {
        return {values_.data(), hot_.data(), hot_outputs_.data(), static_cast<int>(sums_.size())};
    }
    const std::vector<std::int32_t>& features() const { return steps().features(); }

    // Adds the leaves of the row x[feature] to sums[output * n + s], n = sums().size().
    template <class X>
    void add_row(const X* x, float* sums) const {
        const auto n = std::ssize(sums_);
        trees_.rows(X{}).each(x, [&](int t, std::int32_t leaf) {
            const Tree& tree = steps().tree(t);
            const std::int32_t* const outputs = steps().view().outputs + tree.first_output;
            if (tree.kind == LeafKind::single) {
                const float* const table = values_.data() + tree.first_leaf * n + leaf;
                for (std::ptrdiff_t s = 0; s < n; ++s) sums[outputs[0] * n + s] += table[s * tree.n_leaves];
                return;
            }
            if (tree.kind == LeafKind::hot) {
                const std::int64_t at = tree.first_leaf + leaf;
                for (std::ptrdiff_t s = 0; s < n; ++s) sums[hot_outputs_[at] * n + s] += hot_[at * n + s];
                return;
            }
            const std::int64_t at = tree.first_leaf + std::int64_t{leaf} * tree.n_outputs;
            for (std::int64_t o = 0; o < tree.n_outputs; ++o)
                for (std::ptrdiff_t s = 0; s < n; ++s) sums[outputs[o] * n + s] += values_[(at + o) * n + s];
        });
    }

private:
    static constexpr int kSpare = 64;

    // The tables of tree t, whose first member is tree j of the order.
    void add_tables(int t, std::int64_t j, const RunningSums& sums) {
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
                int hot = 0;
                for (int o = 0; o < tree.n_outputs; ++o)
                    for (const int s : sums_)
                        if (value(i, o, s) != 0) hot = o;
                hot_outputs_.push_back(steps().view().outputs[tree.first_output + hot]);
                for (const int s : sums_) hot_.push_back(value(i, hot, s));
                continue;
            }
            for (int o = 0; o < tree.n_outputs; ++o)
                for (const int s : sums_) values_.push_back(value(i, o, s));
        }
    }

    std::vector<int> sums_;
    EvaluatedTrees trees_;
    std::vector<float> values_, hot_;
    std::vector<std::int32_t> hot_outputs_;
};

}  // namespace wald
