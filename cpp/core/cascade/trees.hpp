// The main loop of tree ensembles: tiles of rows, pass by pass; rows that stay are packed into new tiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cascade/carried_sums.hpp"
#include "core/cascade/sinks.hpp"
#include "core/models/tree_ensemble.hpp"

namespace wald {

// The trees of stages [first, last), in groups that are added one at a time: a group is the trees of a stage or, if an
// earlier stage of the pass can drop classes, those of one class in a stage.
struct TreePass {
    int first, last;
    bool by_class;
    SummedTrees trees;
};

// Rows carry running sums of leaves from stage to stage; a stage's estimate of an output is a mixture of its sums.
class TreeCascade final : public Engine {
public:
    TreeCascade(const ModelShape& shape, std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order,
                const Decision& decision, const StagesSpec& spec, double tie_margin)
        : Engine(shape, decision, spec, tie_margin), trees_(std::move(trees)), exits_(decision, spec),
          race_(spec.race.begin(), spec.race.end()), least_variance_(static_cast<float>(spec.least_variance)) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        for (int t = 0; t < n_stages(); ++t) {
            for (int k = 0; k < trees_->n_outputs(); ++k)
                estimates_.emplace_back(spec.bias[t][k], k * n_sums_, n_sums_,
                                        [&](int sum) { return sums.mixture(t, k, sum); });
            if (!spec.spread_bias.empty())
                variances_.emplace_back(spec.spread_bias[t], 0, n_sums_, [&](int sum) { return spec.spread[t][sum]; });
        }
        std::vector<std::int64_t> ends(spec.passes.begin(), spec.passes.end());
        for (std::int64_t t = 1; t <= n_stages() && spec.passes.empty(); ++t) ends.push_back(t);
        std::vector<bool> read(static_cast<std::size_t>(trees_->n_features()));
        for (std::size_t p = 0; p < ends.size(); ++p) add_pass(p == 0 ? 0 : ends[p - 1], ends[p], sums, spec, read);
        std::vector<std::int32_t> seen(static_cast<std::size_t>(trees_->n_outputs()));
        std::int64_t j = 0;
        for (int t = 0; t < n_stages() && racing(); ++t) {
            for (; j < spec.terms[t]; ++j) ++seen[sums.output(j)];
            n_seen_.insert(n_seen_.end(), seen.begin(), seen.end());
        }
    }

    // The columns that the first stages read, rounded up to whole passes: a pass reads its columns at once.
    std::optional<std::span<const std::int32_t>> columns_read(int stages) const override {
        if (stages == 0) return std::span<const std::int32_t>{};
        std::size_t p = 0;
        while (passes_[p].last < stages) ++p;
        return columns_[p];
    }
    std::optional<std::span<const std::int32_t>> columns_read_in_full() const override {
        return trees_->reader().features();
    }

    void predict(const Call& call, const Ledger& ledger) const override;
    void trace(const RowSet& set, const Trace& trace) const override;

private:
    // What a chunk's rows carry from pass to pass stays in the second cache; the rows, which passes read, in the third.
    // Rows that lie in columns are not bounded by kRowsBytes: the more rows of a late pass a chunk has, the more of
    // them share lines and panels.
    static constexpr std::int64_t kCarriedBytes = 512 << 10, kRowsBytes = 8 << 20, kLeastChunkRows = 1024;

    class Run;

    // Calls run(chunk, begin, end) for chunks of rows.
    template <class Use>
    void each_run(const Call& call, const Use& use) const;
    void add_pass(std::int64_t first, std::int64_t last, const RunningSums& sums, const StagesSpec& spec,
                  std::vector<bool>& read) {
        bool by_class = false;
        for (std::int64_t t = 0; t < last - 1; ++t) by_class = by_class || drops(t);
        std::vector<std::int64_t> trees, ends;
        std::int64_t j = first == 0 ? 0 : spec.terms[first - 1];
        for (std::int64_t t = first; t < last; j = spec.terms[t++]) {
            for (std::int32_t k = 0; k < (by_class ? trees_->n_outputs() : 1); ++k) {
                for (std::int64_t i = j; i < spec.terms[t]; ++i)
                    if (!by_class || sums.output(i) == k) trees.push_back(i);
                ends.push_back(std::ssize(trees));
            }
        }
        SummedTrees summed(trees_->spec(), sums, trees, ends);
        for (const std::int32_t f : summed.features()) read[f] = true;
        columns_.emplace_back();
        for (std::size_t f = 0; f < read.size(); ++f)
            if (read[f]) columns_.back().push_back(static_cast<std::int32_t>(f));
        passes_.push_back({static_cast<int>(first), static_cast<int>(last), by_class, std::move(summed)});
    }

    // The label of full scores. Rows with a refused value have NaN.
    Answer full_answer(const double* scores, double* work) const {
        return std::isnan(scores[0]) ? kNotFinite : decision().decide(scores, tie_margin(), work);
    }
    bool racing() const { return !race_.empty(); }
    // Whether stage t can drop classes.
    bool drops(std::int64_t t) const { return racing() && std::isfinite(race_[t]); }
    // Numbers of trees of each class in stages 0 to t, where classes can be dropped.
    const std::int32_t* n_seen(int t) const {
        return n_seen_.data() + static_cast<std::ptrdiff_t>(t) * trees_->n_outputs();
    }
    const Mixture& estimate(int t, int k) const {
        return estimates_[static_cast<std::size_t>(t) * trees_->n_outputs() + k];
    }

    std::shared_ptr<const TreeEnsemble> trees_;
    Exits<float> exits_;
    int n_sums_ = 0;  // of each output
    std::vector<float> race_;
    std::vector<Mixture> estimates_, variances_;  // (stages, outputs); (stages,), or empty
    float least_variance_;
    std::vector<TreePass> passes_;
    std::vector<std::int32_t> n_seen_;                // (stages, outputs), where classes can be dropped
    std::vector<std::vector<std::int32_t>> columns_;  // of each pass: what it and the passes before it read
};

}  // namespace wald
