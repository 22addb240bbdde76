// One thread's rows on their way through the stages of a tree ensemble.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/cascade/trees.hpp"

namespace wald {

// One thread's rows. Rows wait in the pool of the stage that they have reached until they fill a panel.
class TreeCascade::Run {
public:
    Run(const TreeCascade& cascade, const Call& call)
        : c_(cascade), call_(call), outputs_(cascade.trees_->n_outputs()), sums_(cascade.readouts_.n_sums()),
          n_pools_(call.n_stages + 1), z_(static_cast<std::size_t>(outputs_)),
          float_work_(static_cast<std::size_t>(cascade.decision().n_classes)), work_(float_work_.size()),
          by_blocks_(PanelReader::by_blocks(call.rows)) {
        const TreeEnsemble& trees = *c_.trees_;
        std::int64_t widest = 0, begin = 0;
        for (const std::int64_t end : c_.terms_) {
            widest = std::max(widest, end - begin);
            begin = end;
        }
        Arena& arena = thread_arena();
        const std::int64_t n_sums = std::int64_t{outputs_} * sums_ * kPoolRows;
        arena.reset(
            Arena::bytes<double>(trees.n_panels() * trees.panel_size()) + Arena::bytes<float>(widest * kPanelRows) +
            static_cast<std::size_t>(n_pools_) * (Arena::bytes<float>(n_sums) + Arena::bytes<std::int64_t>(kPoolRows)) +
            Arena::bytes<float>(std::int64_t{outputs_} * kPanelRows) +
            Arena::bytes<double>(std::int64_t{outputs_} * kPanelRows) + Arena::bytes<double>(trees.n_features()) +
            Arena::bytes<float>((std::int64_t{outputs_} + 1) * c_.readouts_.padded()));
        panel_ = arena.take<double>(trees.n_panels() * trees.panel_size());
        values_ = arena.take<float>(widest * kPanelRows);
        for (int t = 0; t < n_pools_; ++t)
            pools_.push_back({0, arena.take<std::int64_t>(kPoolRows), arena.take<float>(n_sums)});
        estimates_ = arena.take<float>(std::int64_t{outputs_} * kPanelRows);
        scores_ = arena.take<double>(std::int64_t{outputs_} * kPanelRows);
        x_ = arena.take<double>(trees.n_features());
        row_sums_ = arena.take<float>((std::int64_t{outputs_} + 1) * c_.readouts_.padded());
    }

    void run(std::int64_t begin, std::int64_t end) {
        end_ = end;
        for (std::int64_t at = begin; at < end; at += kPanelRows) {
            const int n = static_cast<int>(std::min<std::int64_t>(kPanelRows, end - at));
            if (n < kFewRows && call_.traced == nullptr) {
                for (int i = 0; i < n; ++i) {
                    std::fill_n(row_sums_, std::int64_t{outputs_} * c_.readouts_.padded(), 0.0f);
                    walk(at + i, 0);
                }
                break;
            }
            Pool& pool = pools_[0];
            for (int i = 0; i < n; ++i) pool.positions[i] = at + i;
            for (int s = 0; s < outputs_ * sums_; ++s) std::fill_n(pool.sums + std::int64_t{s} * kPoolRows, n, 0.0f);
            pool.n = n;
            stage(0);
        }
        for (int t = 1; t < n_pools_; ++t) {
            if (pools_[t].n < kFewRows && call_.traced == nullptr) walk_all(t);
            else stage(t);
        }
    }

private:
    static constexpr std::int64_t kPoolRows = 2 * kPanelRows;
    // Times of reading a cache line of a row, and of moving a row, as multiples of that of one split and row.
    static constexpr std::int64_t kLineTests = 40, kMoveTests = 60;
    static constexpr std::int64_t kRowsInLine = 8;  // rows of a column in a cache line, at least

    struct Pool {
        int n;
        std::int64_t* positions;
        float* sums;  // (outputs, sums, kPoolRows)
    };
    float* sums(const Pool& pool, int k) const { return pool.sums + std::int64_t{k} * sums_ * kPoolRows; }

    // The rows of a panel: those that no stage has decided yet are at kept[0], ..., kept[left - 1].
    struct Decided {
        std::int32_t codes[kPanelRows], stages[kPanelRows], kept[kPanelRows + 16];
        int left;
    };

    // Takes at most a panel of rows from the pool of stage t and evaluates stages, until those that are left are better
    // packed with others.
    void stage(int t) {
        Pool& pool = pools_[t];
        const int n = std::min(pool.n, kPanelRows);
        std::int64_t ids[kPanelRows + kRowsAhead] = {};
        for (int i = 0; i < n; ++i) ids[i] = call_.row(pool.positions[i]);
        if (t == call_.n_stages) {
            finish(pool, ids, n);
            drop(pool, n);
            return;
        }
        int n_known = n;
        if (t == 0)
            for (std::int64_t at = pool.positions[0] + n; at < end_ && n_known < n + kRowsAhead; ++at)
                ids[n_known++] = call_.row(at);
        Decided d;
        std::fill_n(d.codes, kPanelRows, kPending);
        const int first = t;
        do {
            evaluate(pool, t, c_.unread(first, t), ids, n, n_known);
            if (call_.traced == nullptr) decide(t, n, d);
            else trace(pool, t, n);
            ++t;
        } while (t < call_.n_stages && (call_.traced != nullptr || stays(first, t, d.left)));
        if (call_.traced == nullptr) leave(pool, t, n, d);
        drop(pool, n);
        while (t <= call_.n_stages && pools_[t].n >= kPanelRows) stage(t);
    }

    // Reads what is not in the panel yet, adds the trees of stage t to the sums, and computes the estimates.
    void evaluate(const Pool& pool, int t, const PanelReads& unread, const std::int64_t* ids, int n, int n_known) {
        auto* const panel = reinterpret_cast<float*>(panel_);
        c_.trees_->reader().read(call_.rows, ids, n, n_known, unread, panel);
        some_refused_ = c_.trees_->reader().find_refused(unread.columns, n, panel, refused_);
        const int begin = t == 0 ? 0 : static_cast<int>(c_.terms_[t - 1]), end = static_cast<int>(c_.terms_[t]);
        tree_kernels<float>().values(c_.trees_->early().view(), begin, end, panel, n, values_);
        for (int k = 0; k < outputs_; ++k) {
            for (int to = c_.readouts_.first_sum(t); to < sums_; ++to)
                c_.readouts_.add(t, to, k, values_, n, sums(pool, k) + std::int64_t{to} * kPoolRows);
            c_.readouts_.estimate(t, k, sums(pool, k), kPoolRows, n, estimates_ + std::int64_t{k} * kPanelRows);
        }
    }

    // Whether stage t costs less in the same panel, where rows that have left still take time, than in another one,
    // which is to be read. Reading takes a cache line of a row for each block or, in columns, for each feature;
    // neighbouring rows of a column share lines.
    bool stays(int first, int t, int left) const {
        const auto lines = [&](const PanelReads& reads) {
            return std::ssize(by_blocks_ ? reads.blocks : reads.features);
        };
        const std::int64_t per_line = by_blocks_ || first > 0 || call_.ids != nullptr ? 1 : kRowsInLine;
        const std::int64_t here = kPanelRows * (c_.tests_[t] + kLineTests * lines(c_.unread(first, t)) / per_line);
        const std::int64_t elsewhere = left * (c_.tests_[t] + kLineTests * lines(c_.unread(t, t)) + kMoveTests);
        return left > 0 && here <= elsewhere;
    }

    void decide(int t, int n, Decided& d) {
        for (int i = 0; i < n && some_refused_; ++i)
            if (refused_[i] != 0 && d.codes[i] == kPending) d.codes[i] = kNotFinite, d.stages[i] = t;
        const bool last = t + 1 == call_.n_stages && call_.at_end == AtEnd::answer;
        if (outputs_ == 1) {
            d.left = kernels<float>().decide(estimates_, n, c_.low_[t], c_.high_[t], t, d.codes, d.stages, d.kept);
            for (int i = 0; i < d.left && last; ++i) {
                d.codes[d.kept[i]] = last_code(estimates_[d.kept[i]]);
                d.stages[d.kept[i]] = t;
            }
        } else {
            judge(n);
            d.left = 0;
            for (int i = 0; i < n; ++i) {
                const bool pending = d.codes[i] == kPending, leaves = pending & ((gaps_[i] > c_.high_[t]) | last);
                d.codes[i] = leaves ? best_[i] : d.codes[i];
                d.stages[i] = leaves ? t : d.stages[i];
                d.kept[d.left] = i;
                d.left += pending & !leaves;
            }
        }
        if (last) d.left = 0;
    }

    // Writes the codes of a panel, and moves the rows that are left to the pool of stage t.
    void leave(const Pool& pool, int t, int n, const Decided& d) {
        for (int i = 0; i < n; ++i) {
            if (d.codes[i] == kPending) continue;
            call_.codes[pool.positions[i]] = d.codes[i];
            call_.stages[pool.positions[i]] = d.stages[i];
        }
        if (d.left == 0) return;
        Pool& next = pools_[t];
        for (int i = 0; i < d.left; ++i) next.positions[next.n + i] = pool.positions[d.kept[i]];
        for (std::int64_t s = 0; s < std::int64_t{outputs_} * sums_ && t < call_.n_stages; ++s) {
            const float* const from = pool.sums + s * kPoolRows;
            float* const to = next.sums + s * kPoolRows + next.n;
            for (int i = 0; i < d.left; ++i) to[i] = from[d.kept[i]];
        }
        next.n += d.left;
    }

    // The labels of the estimates of a panel, and their confidence.
    void judge(int n) {
        if (c_.decision().kind == DecisionKind::argmax) {
            panel_kernels().best_of(estimates_, outputs_, n, best_, gaps_);
            return;
        }
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < outputs_; ++k) z_[k] = estimates_[std::int64_t{k} * kPanelRows + i];
            const Judgement<float> j = c_.decision().judge(z_.data(), float_work_.data());
            best_[i] = j.code;
            gaps_[i] = j.confidence;
        }
    }

    void trace(const Pool& pool, int t, int n) {
        if (outputs_ > 1) judge(n);
        for (int i = 0; i < n; ++i) {
            const std::int64_t at = pool.positions[i] * call_.n_stages + t;
            const bool bad = some_refused_ && refused_[i] != 0;
            constexpr float nan = std::numeric_limits<float>::quiet_NaN();
            if (outputs_ == 1) {
                static_cast<float*>(call_.traced->scores)[at] = bad ? nan : estimates_[i];
            } else {
                call_.traced->codes[at] = best_[i];
                static_cast<float*>(call_.traced->confidence)[at] = bad ? nan : gaps_[i];
            }
        }
    }

    // Takes all rows from the pool of stage t and evaluates the remaining stages row by row.
    void walk_all(int t) {
        Pool& pool = pools_[t];
        for (int i = 0; i < pool.n; ++i) {
            for (int k = 0; k < outputs_; ++k)
                for (int s = 0; s < sums_; ++s)
                    row_sums_[k * c_.readouts_.padded() + s] = sums(pool, k)[std::int64_t{s} * kPoolRows + i];
            walk(pool.positions[i], t);
        }
        pool.n = 0;
    }

    // Evaluates a row, whose sums stand in row_sums_, from stage t to its end, without panels.
    void walk(std::int64_t position, int t) {
        const TreeEnsemble& trees = *c_.trees_;
        const std::int64_t r = call_.row(position);
        const bool in_place = trees.reader().in_place(call_.rows, Dtype::f32);
        auto* const copy = reinterpret_cast<float*>(x_);
        const float* const x = in_place ? reinterpret_cast<const float*>(call_.rows.row(r)) : copy;
        std::int32_t code = kPending;
        for (; t < call_.n_stages && code == kPending; ++t) {
            if (!in_place) trees.reader().read_row(call_.rows, r, c_.unread(t, t).features, copy);
            if (trees.reader().is_refused_row(c_.unread(t, t).features, x)) {
                code = kNotFinite;
                break;
            }
            const int begin = t == 0 ? 0 : static_cast<int>(c_.terms_[t - 1]), end = static_cast<int>(c_.terms_[t]);
            c_.readouts_.add_row(trees.early().view(), begin, end, x, row_sums_);
            code = row_code(t);
            if (code != kPending) break;
        }
        if (code == kPending && call_.at_end == AtEnd::full) {
            trees.full_row(call_.rows, r, x_, scores_);
            code = c_.full_code(scores_, work_.data());
        }
        call_.codes[position] = code;
        call_.stages[position] = t == call_.n_stages ? c_.n_stages() : t;
    }

    // The label that the estimates of stage t give a row, or kPending.
    std::int32_t row_code(int t) {
        const bool last = t + 1 == call_.n_stages && call_.at_end == AtEnd::answer;
        for (int k = 0; k < outputs_; ++k) {
            c_.readouts_.estimate(t, k, row_sums_ + k * c_.readouts_.padded(), 1, 1, estimates_);
            z_[k] = estimates_[0];
        }
        if (outputs_ == 1) {
            const float z = z_[0];
            if (z > c_.high_[t]) return 1;
            if (z < c_.low_[t]) return 0;
            return last ? last_code(z) : kPending;
        }
        const Judgement<float> j = c_.decision().judge(z_.data(), float_work_.data());
        return j.confidence > c_.high_[t] || last ? j.code : kPending;
    }
    std::int32_t last_code(float z) const {
        const auto threshold = static_cast<float>(c_.decision().threshold);
        return z > threshold || (z == threshold && c_.decision().tie_positive);
    }

    void finish(const Pool& pool, const std::int64_t* ids, int n) {
        if (call_.at_end != AtEnd::full) {
            for (int i = 0; i < n; ++i) answer(pool, i, kPending);
            return;
        }
        c_.trees_->full(call_.rows, ids, n, n, exact_, panel_, scores_);
        for (int i = 0; i < n; ++i) answer(pool, i, c_.full_code(scores_ + std::int64_t{i} * outputs_, work_.data()));
    }
    void answer(const Pool& pool, int i, std::int32_t code) {
        call_.codes[pool.positions[i]] = code;
        call_.stages[pool.positions[i]] = c_.n_stages();
    }

    // Removes the first n rows of a pool.
    void drop(Pool& pool, int n) {
        const int left = pool.n - n;
        std::copy_n(pool.positions + n, left, pool.positions);
        for (std::int64_t i = 0; i < std::int64_t{outputs_} * sums_ && left > 0; ++i)
            std::copy_n(pool.sums + i * kPoolRows + n, left, pool.sums + i * kPoolRows);
        pool.n = left;
    }

    const TreeCascade& c_;
    const Call& call_;
    int outputs_, sums_, n_pools_;  // sums of each output
    std::int64_t end_ = 0;          // position after the last row
    double* panel_;
    float *values_, *estimates_;  // of a panel: (trees of a stage, rows), (outputs, rows)
    std::vector<Pool> pools_;
    double *scores_, *x_;
    float* row_sums_;                   // (outputs, padded sums), with room for a register after them
    std::uint8_t refused_[kPanelRows];  // rows of the panel that hold a refused value in the blocks of its stage
    bool some_refused_ = false;
    alignas(64) std::int32_t best_[kPanelRows];  // of the rows of a panel, with several outputs: labels of estimates
    alignas(64) float gaps_[kPanelRows];         // and their confidence
    bool exact_ = true;                          // whether the rows that were evaluated in full had exact values
    std::vector<float> z_, float_work_;
    std::vector<double> work_;
    bool by_blocks_;  // whether rows are read block by block
};

inline void TreeCascade::each_piece(const Call& call, std::int64_t n, int n_threads) const {
    each_chunk(n, n_threads, [&](std::int64_t begin, std::int64_t end) { Run(*this, call).run(begin, end); });
}

inline void TreeCascade::predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double,
                                     std::int32_t* code, std::int32_t* stage) const {
    const Call call{rows, &r, n_stages, at_end, code, stage};
    Run(*this, call).run(0, 1);
}

}  // namespace wald
