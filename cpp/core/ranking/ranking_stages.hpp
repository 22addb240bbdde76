// The stages of a ranking: the trees that each of them adds, and the estimates that it makes of their sums.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/cascade/carried_sums.hpp"
#include "core/models/tree_ensemble.hpp"

namespace wald {

struct RankingStage {
    SummedTrees trees;     // those that this stage adds
    std::int64_t n_trees;  // with those of the stages before
    Mixture estimate;
    std::optional<Mixture> variance;
    float usual_error;
};

class RankingStages {
public:
    RankingStages(std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order,
                  const StagesSpec& spec, std::span<const double> usual)
        : trees_(std::move(trees)), n_trees_(std::ssize(order)),
          least_variance_(static_cast<float>(spec.least_variance)) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        for (std::size_t t = 0; t < spec.terms.size(); ++t) {
            std::vector<std::int64_t> own;
            for (std::int64_t j = trees_of(static_cast<int>(t) - 1); j < spec.terms[t]; ++j) own.push_back(j);
            const std::int64_t end = std::ssize(own);
            const auto stage = static_cast<int>(t);
            stages_.push_back(
                {SummedTrees(trees_->spec(), sums, own, {&end, 1}), spec.terms[t],
                 Mixture(spec.bias[t][0], 0, n_sums_, [&](int sum) { return sums.mixture(stage, 0, sum); }),
                 std::nullopt, static_cast<float>(usual[t])});
            if (!spec.spread_bias.empty())
                stages_.back().variance.emplace(spec.spread_bias[t], 0, n_sums_,
                                                [&](int sum) { return spec.spread[t][sum]; });
            needs_.add(stages_.back().trees.trees());
        }
    }

    const TreeEnsemble& trees() const { return *trees_; }
    int size() const { return static_cast<int>(stages_.size()); }
    const RankingStage& operator[](int t) const { return stages_[t]; }
    // Trees up to the end of stage t, and those after it.
    std::int64_t trees_of(int t) const { return t < 0 ? 0 : stages_[t].n_trees; }
    std::int64_t trees_after(int t) const { return n_trees_ - trees_of(t); }
    int n_sums() const { return n_sums_; }
    float least_variance() const { return least_variance_; }
    const TileNeeds& needs() const { return needs_; }

private:
    std::shared_ptr<const TreeEnsemble> trees_;
    std::int64_t n_trees_;
    int n_sums_ = 0;
    float least_variance_;
    TileNeeds needs_;
    std::vector<RankingStage> stages_;
};

}  // namespace wald
