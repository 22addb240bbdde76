// What a linear chain knows: node weights by group of features and by state, and transitions between labels.
#pragma once

#include <bit>
#include <vector>

#include "../kernels.hpp"

namespace wald::chain {

// Features of one group: a matrix, dense or CSR, with a row for each part that has them.
struct Group {
    const float* values = nullptr;
    std::int64_t n_features = 0;
    const std::int64_t* indptr = nullptr;  // CSR; null: dense
    const std::int32_t* indices = nullptr;
    const std::int64_t* row = nullptr;     // of each part; -1: the part does not have this group
};

// The weights of one state and group: [feature][label], labels padded to whole panels.
class Weights {
public:
    static constexpr int L = kLanes<float>;

    Weights() = default;
    // The first group is always there; each of the others may be there or not. With `own` weights a state (which groups are
    // there) has weights of its own for all groups that it has; otherwise states share them.
    Weights(int n_labels, std::vector<std::int64_t> sizes, bool own)
        : n_labels_(n_labels), padded_(static_cast<int>(round_up(n_labels, L))), sizes_(std::move(sizes)), own_(own),
          steps_(static_cast<std::size_t>(n_labels_) * padded_) {
        for (int s = 0; s < (own_ ? n_states() : 1); ++s)
            for (int g = 0; g < n_groups(); ++g) {
                const bool there = !own_ || has(s, g);
                blocks_.emplace_back(there ? static_cast<std::size_t>(sizes_[g]) * padded_ : 0);
            }
        for (int s = 0; s < n_states(); ++s) bias_.emplace_back(static_cast<std::size_t>(padded_));
    }

    int n_labels() const { return n_labels_; }
    int padded() const { return padded_; }
    int n_panels() const { return padded_ / L; }
    int n_groups() const { return static_cast<int>(sizes_.size()); }
    int n_states() const { return 1 << (n_groups() - 1); }
    bool own() const { return own_; }
    std::int64_t size(int group) const { return sizes_[group]; }
    const std::vector<std::int64_t>& sizes() const { return sizes_; }
    static bool has(int state, int group) { return group == 0 || (state >> (group - 1) & 1) != 0; }

    int block_index(int state, int group) const { return own_ ? state * n_groups() + group : group; }
    float* block(int state, int group) { return blocks_[block_index(state, group)].data(); }
    const float* block(int state, int group) const { return blocks_[block_index(state, group)].data(); }
    std::vector<Aligned<float>>& blocks() { return blocks_; }
    const std::vector<Aligned<float>>& blocks() const { return blocks_; }
    std::vector<Aligned<float>>& biases() { return bias_; }
    const std::vector<Aligned<float>>& biases() const { return bias_; }
    float* bias(int state) { return bias_[state].data(); }
    const float* bias(int state) const { return bias_[state].data(); }
    float* steps() { return steps_.data(); }  // [from][to]
    const float* steps() const { return steps_.data(); }
    std::size_t n_steps() const { return steps_.size(); }

    // Node scores of one part in a state, into `padded` floats.
    void score(const std::vector<Group>& groups, std::int64_t part, int state, float* out) const {
        std::memcpy(out, bias(state), sizeof(float) * static_cast<std::size_t>(padded_));
        for (int g = 0; g < n_groups(); ++g) {
            if (!has(state, g)) continue;
            each_run(groups[g], part, [&](std::int64_t first, const float* values, int n) {
                kernels<float>().accumulate(out, block(state, g) + first * padded_, n_panels(), values, n);
            });
        }
    }

    // Calls run(first feature, values, how many) for stretches of neighbouring features of a part.
    template <class Run>
    static void each_run(const Group& group, std::int64_t part, Run&& run) {
        const std::int64_t r = group.row[part];
        if (group.indptr == nullptr) {
            run(std::int64_t{0}, group.values + r * group.n_features, static_cast<int>(group.n_features));
            return;
        }
        for (std::int64_t i = group.indptr[r]; i < group.indptr[r + 1]; ++i) run(std::int64_t{group.indices[i]}, group.values + i, 1);
    }

private:
    int n_labels_ = 0, padded_ = 0;
    std::vector<std::int64_t> sizes_;
    bool own_ = true;
    Aligned<float> steps_;
    std::vector<Aligned<float>> blocks_, bias_;
};

}  // namespace wald::chain
