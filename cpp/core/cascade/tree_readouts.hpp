// Estimates of tree ensembles: mixtures of running sums, in the orders in which panels and single rows read them.
#pragma once

#include <vector>

#include "core/cascade/engine.hpp"
#include "core/models/tree_ensemble.hpp"

namespace wald {

// A running sum of an output adds up weighted leaves; the estimate of a stage is its bias plus a mixture of the sums of
// the output. Where stages share no sums, each stage has one of its own, to which the trees up to the stage are added.
// Where no sum of an output has leaves of other outputs' trees, only the weights of its own trees are kept.
class TreeReadouts {
public:
    TreeReadouts() = default;
    TreeReadouts(const TreeEnsemble& trees, const StagesSpec& stages)
        : n_outputs_(trees.n_outputs()), n_stages_(static_cast<int>(stages.terms.size())), shared_(stages.n_sums > 0),
          n_sums_(shared_ ? stages.n_sums : n_stages_), padded_(static_cast<int>(round_up(n_sums_, kLanes<float>))) {
        const std::int64_t n_trees = n_stages_ == 0 ? 0 : stages.terms.back();
        const auto output = [&](std::int64_t j) { return trees.early().tree(static_cast<int>(j)).output; };
        own_ = n_outputs_ > 1;
        for (int t = 0; t < n_stages_ && !shared_; ++t)
            for (int k = 0; k < n_outputs_; ++k)
                for (std::int64_t j = 0; j < stages.terms[t]; ++j)
                    own_ = own_ && (output(j) == k || stages.weights[t][k * stages.terms[t] + j] == 0);

        row_width_ = own_ ? padded_ : n_outputs_ * padded_;
        by_row_.assign(static_cast<std::size_t>(n_trees * row_width_), 0.0f);
        which_.resize(static_cast<std::size_t>(n_stages_) * n_outputs_);
        by_panel_.resize(static_cast<std::size_t>(n_stages_) * n_sums_ * n_outputs_);
        std::int64_t begin = 0;
        for (int t = 0; t < n_stages_; ++t) {
            for (std::int64_t j = begin; j < stages.terms[t]; ++j)
                for (int k = 0; k < n_outputs_; ++k) {
                    if (own_ && output(j) != k) continue;
                    which_[at(t, k)].push_back(static_cast<std::int32_t>(j - begin));
                    for (int s = first_sum(t); s < n_sums_; ++s) {
                        const double weight =
                            shared_ ? stages.sums[s * n_trees + j] : stages.weights[s][k * stages.terms[s] + j];
                        by_panel_[at(t, s, k)].push_back(static_cast<float>(weight));
                        by_row_[j * row_width_ + (own_ ? 0 : k * padded_) + s] = static_cast<float>(weight);
                    }
                }
            for (int k = 0; k < n_outputs_; ++k) {
                bias_.push_back(static_cast<float>(stages.bias[t][k]));
                for (int s = 0; s < n_sums_; ++s)
                    mixtures_.push_back(shared_ ? static_cast<float>(stages.weights[t][k * n_sums_ + s]) : 1.0f);
            }
            begin = stages.terms[t];
        }
    }

    int n_sums() const { return n_sums_; }  // of each output
    // The sums of each output for one row lie `padded` values apart.
    int padded() const { return padded_; }
    // The trees of stage t are added to the sums [first_sum(t), n_sums()).
    int first_sum(int t) const { return shared_ ? 0 : t; }

    // Adds the trees of stage t to a sum of output k for the rows of a panel: values[tree of the stage][row].
    void add(int t, int s, int k, const float* values, int n, float* sums) const {
        const std::vector<std::int32_t>& which = which_[at(t, k)];
        const float* const weights = by_panel_[at(t, s, k)].data();
        const int m = static_cast<int>(which.size());
        if (own_) panel_kernels().accumulate_some(values, which.data(), weights, m, n, sums);
        else panel_kernels().accumulate(values, kPanelRows, weights, m, n, sums);
    }
    // The estimates of output k at stage t: sum s of row i is sums[s * stride + i]. Reads and writes whole registers.
    void estimate(int t, int k, const float* sums, std::int64_t stride, int n, float* estimates) const {
        std::fill_n(estimates, n, bias_[at(t, k)]);
        const float* const mixture = mixtures_.data() + static_cast<std::int64_t>(at(t, k)) * n_sums_;
        if (shared_) panel_kernels().accumulate(sums, stride, mixture, n_sums_, n, estimates);
        else panel_kernels().accumulate(sums + t * stride, stride, mixture, 1, n, estimates);
    }
    // Adds trees [first, last) of a row to all sums, (outputs, padded).
    void add_row(const TreesView<float>& trees, int first, int last, const float* x, float* sums) const {
        tree_kernels<float>().row_accumulate(trees, first, last, x, by_row_.data(), row_width_, own_ ? padded_ : 0,
                                             sums);
    }

private:
    std::size_t at(int t, int k) const { return static_cast<std::size_t>(t) * n_outputs_ + k; }
    std::size_t at(int t, int s, int k) const { return (static_cast<std::size_t>(t) * n_sums_ + s) * n_outputs_ + k; }

    int n_outputs_ = 0, n_stages_ = 0;
    bool shared_ = false;
    int n_sums_ = 0, padded_ = 0, row_width_ = 0;
    bool own_ = false;
    std::vector<std::vector<std::int32_t>> which_;  // of each stage and output, trees counted from the stage's first
    std::vector<std::vector<float>> by_panel_;      // of each stage, sum and output, in the order of which_
    std::vector<float> by_row_;                     // (trees, row_width_)
    std::vector<float> bias_, mixtures_;            // (stages, outputs), (stages, outputs, sums)
};

}  // namespace wald
