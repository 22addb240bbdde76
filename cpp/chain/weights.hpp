// Weights of a linear chain: node weights by feature group and by state, weights for the ends of a sequence, and
// weights for steps between labels.
#pragma once

#include <algorithm>
#include <vector>

#include "chain/kernels.hpp"
#include "core/averaged.hpp"

namespace wald::chain {

// One part's features in one group: all of them, or the entries of a sparse row.
struct Row {
    const float* values = nullptr;
    const std::int32_t* indices = nullptr;  // ascending; null: the row is dense
    std::int64_t n = -1;                    // number of values; negative: not extracted

    bool known() const { return n >= 0; }
};

// For every group, the rows of all parts.
using Features = std::vector<const Row*>;

struct Shape {
    int n_labels = 0;
    std::vector<std::int64_t> sizes;  // features of each group
    bool own = true;

    bool operator==(const Shape&) const = default;
};

// All weights are in one table with columns for labels (padded to whole panels). Its rows are: states (biases), the
// first and the last part of a sequence, labels to step from, and the features of every block. Labels that cannot begin
// a sequence, and steps that cannot be, weigh -infinity, whatever is added to them; other weights are finite.
//
// Every part has the first group. Its state has one bit for each of the other groups, set if the part has it. With
// `own` weights a state has a block for every group that it has; otherwise states share one block per group.
class Weights {
public:
    LargeArray<float> values;

    Weights() = default;
    explicit Weights(Shape shape)
        : shape_(std::move(shape)), padded_(static_cast<int>(round_up(shape_.n_labels, kLanes<float>))) {
        n_rows_ = n_states() + 2 + n_labels();
        for (int s = 0; s < (own() ? n_states() : 1); ++s)
            for (int g = 0; g < n_groups(); ++g) {
                blocks_.push_back(n_rows_);
                if (!own() || has(s, g)) n_rows_ += shape_.sizes[g];
            }
        values = LargeArray<float>(static_cast<std::size_t>(n_rows_) * padded_);
    }

    const Shape& shape() const { return shape_; }
    int n_labels() const { return shape_.n_labels; }
    int padded() const { return padded_; }
    int n_panels() const { return padded_ / kLanes<float>; }
    int n_groups() const { return static_cast<int>(shape_.sizes.size()); }
    int n_states() const { return 1 << (n_groups() - 1); }
    bool own() const { return shape_.own; }
    static bool has(int state, int group) { return group == 0 || (state >> (group - 1) & 1) != 0; }

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t bias_row(int state) const { return state; }
    std::int64_t first_row() const { return n_states(); }
    std::int64_t last_row() const { return n_states() + 1; }
    std::int64_t step_row(int from) const { return n_states() + 2 + from; }
    bool may_rule_out(std::int64_t row) const {
        return row == first_row() || (row >= step_row(0) && row < step_row(n_labels()));
    }
    std::int64_t block_row(int state, int group) const {
        return blocks_[static_cast<std::size_t>(own() ? state * n_groups() + group : group)];
    }

    std::size_t place(std::int64_t row, int label) const { return static_cast<std::size_t>(row * padded_ + label); }
    // The table without padding, (n_rows, n_labels).
    void copy_to(float* table) const {
        for (std::int64_t r = 0; r < n_rows_; ++r) std::copy_n(row(r), n_labels(), table + r * n_labels());
    }
    void copy_from(const float* table) {
        for (std::int64_t r = 0; r < n_rows_; ++r)
            std::copy_n(table + r * n_labels(), n_labels(), values.data() + r * padded_);
    }
    const float* row(std::int64_t r) const { return values.data() + r * padded_; }
    const float* steps() const { return row(step_row(0)); }  // [from][to]

    // Writes node scores (length, padded) of the sequence that starts at part `first`; `states` are those of its parts.
    // `cheap` (length, n_labels), unless null, holds earlier results of this function for parts with the first group
    // only.
    void score(const Features& x, std::int64_t first, std::int64_t length, const std::uint8_t* states, float* out,
               const float* cheap = nullptr) const {
        const auto given = [&](std::int64_t t) { return cheap != nullptr && states[t] == 0; };
        for (std::int64_t t = 0; t < length; ++t) {
            float* to = out + t * padded_;
            if (given(t)) std::fill(std::copy_n(cheap + t * n_labels(), n_labels(), to), to + padded_, 0.0f);
            else std::memcpy(to, row(bias_row(states[t])), sizeof(float) * static_cast<std::size_t>(padded_));
        }
        if (!given(0)) add(out, row(first_row()));
        if (!given(length - 1)) add(out + (length - 1) * padded_, row(last_row()));
        for (int g = 0; g < n_groups(); ++g)
            for (int s = 0; s < (own() ? n_states() : 1); ++s)
                if (!own() || has(s, g)) {
                    const auto reads = [&](std::int64_t t) {
                        return !given(t) && (own() ? states[t] == s : has(states[t], g));
                    };
                    add_block(x[g] + first, length, reads, row(block_row(s, g)), out);
                }
    }

    // Calls visit(row of the table, value) for every input to the node scores of part t of a sequence.
    template <class Visit>
    void each_input(const Features& x, std::int64_t first, std::int64_t length, std::int64_t t, int state,
                    Visit&& visit) const {
        visit(bias_row(state), 1.0f);
        if (t == 0) visit(first_row(), 1.0f);
        if (t == length - 1) visit(last_row(), 1.0f);
        for (int g = 0; g < n_groups(); ++g) {
            if (!has(state, g)) continue;
            const Row& r = x[g][first + t];
            const std::int64_t block = block_row(state, g);
            for (std::int64_t i = 0; i < r.n; ++i)
                if (r.values[i] != 0) visit(block + (r.indices == nullptr ? i : r.indices[i]), r.values[i]);
        }
    }

private:
    // Adds a block's scores to the parts that read it. Parts with dense rows are batched: they dominate the cost.
    template <class Reads>
    void add_block(const Row* rows, std::int64_t length, const Reads& reads, const float* block, float* out) const {
        constexpr int most = 16;
        float* sums[most];
        const float* inputs[most];
        int n = 0;
        std::int64_t n_features = 0;  // the same for all dense rows of a group
        for (std::int64_t t = 0; t < length; ++t) {
            const Row& r = rows[t];
            if (!reads(t) || r.n == 0) continue;
            if (r.indices != nullptr) {
                chain_kernels().accumulate_chosen(out + t * padded_, block, n_panels(), r.values, r.indices,
                                                  static_cast<int>(r.n));
                continue;
            }
            n_features = r.n;
            sums[n] = out + t * padded_;
            inputs[n] = r.values;
            if (++n < most) continue;
            chain_kernels().accumulate_rows(sums, block, n_panels(), inputs, static_cast<int>(n_features), n);
            n = 0;
        }
        if (n > 0) chain_kernels().accumulate_rows(sums, block, n_panels(), inputs, static_cast<int>(n_features), n);
    }
    void add(float* out, const float* more) const {
        for (int k = 0; k < padded_; ++k) out[k] += more[k];
    }

    Shape shape_;
    int padded_ = 0;
    std::int64_t n_rows_ = 0;
    std::vector<std::int64_t> blocks_;  // first row of every block
};

}  // namespace wald::chain
