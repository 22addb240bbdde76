// One thread's rows on their way through the stages of a tree ensemble.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/cascade/trees.hpp"

namespace wald {

// One thread's chunk of rows. All of them take a stage before those that are left take the next one.
class TreeCascade::Run {
public:
    // Room for `capacity` rows.
    Run(const TreeCascade& cascade, const Call& call, std::int64_t capacity)
        : c_(cascade), call_(call), outputs_(cascade.trees_->n_outputs()), capacity_(round_up(capacity, kPanelRows)),
          f64_(cascade.trees_->reader().compares_f64(call.rows)), tiles_(stage_tiles(cascade, call)),
          full_(cascade.trees_->tiles(call.rows)), z_(static_cast<std::size_t>(outputs_)),
          float_work_(static_cast<std::size_t>(cascade.decision().n_classes)), work_(float_work_.size()) {
        const std::int64_t n_sums = std::int64_t{outputs_} * c_.n_sums_, n_scores = std::int64_t{outputs_} * kTileRows;
        Arena& arena = thread_arena();
        arena.reset(Arena::bytes<std::int64_t>(capacity_ + kTileRows) + Arena::bytes<std::int32_t>(capacity_) +
                    Arena::bytes<float>(n_sums * capacity_) + tiles_.bytes() + full_.bytes() +
                    Arena::bytes<float>(n_sums * kTileRows) + Arena::bytes<float>(n_scores) +
                    2 * Arena::bytes<double>(n_scores) + Arena::bytes<double>(c_.trees_->n_features()) +
                    2 * Arena::bytes<float>(n_sums));
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int32_t>(capacity_);
        sums_ = arena.take<float>(n_sums * capacity_);
        tiles_.take(arena);
        full_.take(arena);
        part_ = arena.take<float>(n_sums * kTileRows);
        estimates_ = arena.take<float>(n_scores);
        scores_ = arena.take<double>(n_scores);
        full_sums_ = arena.take<double>(n_scores);
        x_ = arena.take<double>(c_.trees_->n_features());
        row_sums_ = arena.take<float>(n_sums);
        row_part_ = arena.take<float>(n_sums);
    }

    // Answers the rows at positions [begin, end).
    void run(std::int64_t begin, std::int64_t end) {
        begin_ = begin;
        n_ = static_cast<int>(end - begin);
        for (int i = 0; i < n_; ++i) {
            ids_[i] = call_.row(begin + i);
            positions_[i] = i;
        }
        for (int s = 0; s < outputs_ * c_.n_sums_; ++s) std::fill_n(sum(s), n_, 0.0f);
        for (int t = 0; t < call_.n_stages && n_ > 0; ++t) {
            if (n_ < kFewRows && call_.traced == nullptr) {
                for (int i = 0; i < n_; ++i) {
                    for (int s = 0; s < outputs_ * c_.n_sums_; ++s) row_sums_[s] = sum(s)[i];
                    walk(i, t);
                }
                return;
            }
            stage(t);
        }
        if (call_.traced == nullptr) finish();
    }

private:
    static TileReader stage_tiles(const TreeCascade& cascade, const Call& call) {
        std::int64_t panel_bytes = 0;
        bool any_cut = false;
        for (int t = 0; t < call.n_stages; ++t) {
            const StepTrees& steps = cascade.stages_[t]->steps();
            panel_bytes = std::max(panel_bytes, steps.bins().panel_bytes());
            any_cut = any_cut || steps.any_cut();
        }
        return {cascade.trees_->reader(), call.rows, panel_bytes, any_cut};
    }

    float* sum(int s) const { return sums_ + s * capacity_; }  // output * n_sums + sum, of all rows
    std::int64_t position(int i) const { return begin_ + positions_[i]; }
    void answer(int i, std::int32_t code, int stage) const {
        call_.codes[position(i)] = code;
        call_.stages[position(i)] = stage;
    }

    // Takes all rows through stage t, tile by tile, and packs those that are left.
    void stage(int t) {
        int left = 0;
        for (int first = 0; first < n_; first += tiles_.n_rows()) {
            const int n = std::min(tiles_.n_rows(), n_ - first);
            evaluate(t, first, n);
            estimate(t, first, n);
            if (call_.traced != nullptr) trace(t, first, n);
            else left = decide(t, first, n, left);
        }
        if (call_.traced == nullptr) n_ = left;
    }

    // Adds the trees of stage t to the sums of rows [first, first + n).
    void evaluate(int t, int first, int n) {
        const TreeStage& stage = *c_.stages_[t];
        const Tile tile = tiles_.read({ids_ + first, n, n_ - first, t == 0 && first == 0}, stage.trees());
        const int used = static_cast<int>(stage.sums().size());
        for (int s = 0; s < outputs_ * used; ++s)
            std::fill_n(part_ + std::int64_t{s} * kTileRows, round_up(n, kPanelRows), 0.0f);
        tree_kernels().add_tables(stage.steps().view(), stage.tables(), 0, stage.steps().size(), tile, part_);
        for (int k = 0; k < outputs_; ++k)
            for (int s = 0; s < used; ++s) {
                float* const to = sum(k * c_.n_sums_ + stage.sums()[s]) + first;
                const float* const from = part_ + (std::int64_t{k} * used + s) * kTileRows;
                for (int i = 0; i < n; ++i) to[i] += from[i];
            }
    }

    void estimate(int t, int first, int n) {
        for (int k = 0; k < outputs_; ++k) {
            float* const to = estimates_ + std::int64_t{k} * kTileRows;
            std::fill_n(to, n, c_.bias(t, k));
            estimate_kernels().accumulate(sum(k * c_.n_sums_) + first, capacity_, c_.mixture(t, k), c_.n_sums_, n, to);
        }
    }

    // Answers rows [first, first + n) that stage t decides, and moves the others to the places from `left` on. Returns
    // the place after them.
    int decide(int t, int first, int n, int left) {
        std::fill_n(codes_, n, kPending);
        for (int i = 0; i < n && tiles_.any_refused(); ++i)
            if (tiles_.is_refused(i)) codes_[i] = kNotFinite, stages_[i] = t;
        const bool last = t + 1 == call_.n_stages && call_.at_end == AtEnd::answer;
        int kept = 0;
        if (outputs_ == 1) {
            kept = kernels<float>().decide(estimates_, n, c_.low_[t], c_.high_[t], t, codes_, stages_, kept_);
            for (int i = 0; i < kept && last; ++i) codes_[kept_[i]] = last_code(estimates_[kept_[i]]);
            for (int i = 0; i < kept && last; ++i) stages_[kept_[i]] = t;
        } else {
            judge(n);
            for (int i = 0; i < n; ++i) {
                const bool pending = codes_[i] == kPending, leaves = pending & ((gaps_[i] > c_.high_[t]) | last);
                codes_[i] = leaves ? best_[i] : codes_[i];
                stages_[i] = leaves ? t : stages_[i];
                kept_[kept] = i;
                kept += pending & !leaves;
            }
        }
        if (last) kept = 0;
        for (int i = 0; i < n; ++i)
            if (codes_[i] != kPending) answer(first + i, codes_[i], stages_[i]);
        for (int i = 0; i < kept; ++i) {
            ids_[left + i] = ids_[first + kept_[i]];
            positions_[left + i] = positions_[first + kept_[i]];
        }
        for (int s = 0; s < outputs_ * c_.n_sums_; ++s) {
            float* const to = sum(s) + left;
            const float* const from = sum(s) + first;
            for (int i = 0; i < kept; ++i) to[i] = from[kept_[i]];
        }
        return left + kept;
    }

    // The labels of the estimates of n rows, and their confidence.
    void judge(int n) {
        if (c_.decision().kind == DecisionKind::argmax) {
            estimate_kernels().best_of(estimates_, kTileRows, outputs_, n, best_, gaps_);
            return;
        }
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < outputs_; ++k) z_[k] = estimates_[std::int64_t{k} * kTileRows + i];
            const Judgement<float> j = c_.decision().judge(z_.data(), float_work_.data());
            best_[i] = j.code;
            gaps_[i] = j.confidence;
        }
    }

    void trace(int t, int first, int n) {
        if (outputs_ > 1) judge(n);
        for (int i = 0; i < n; ++i) {
            const std::int64_t at = position(first + i) * call_.n_stages + t;
            const bool bad = tiles_.any_refused() && tiles_.is_refused(i);
            constexpr float nan = std::numeric_limits<float>::quiet_NaN();
            if (outputs_ == 1) {
                static_cast<float*>(call_.traced->scores)[at] = bad ? nan : estimates_[i];
            } else {
                call_.traced->codes[at] = best_[i];
                static_cast<float*>(call_.traced->confidence)[at] = bad ? nan : gaps_[i];
            }
        }
    }

    // Evaluates row i, whose sums stand in row_sums_, from stage t to its end, without panels.
    void walk(int i, int t) {
        std::int32_t code = kPending;
        for (; t < call_.n_stages && code == kPending; ++t) {
            const bool finite = f64_ ? add_row(i, t, x_) : add_row(i, t, reinterpret_cast<float*>(x_));
            code = finite ? row_code(t) : kNotFinite;
            if (code != kPending) break;
        }
        if (code == kPending && call_.at_end == AtEnd::full) {
            c_.trees_->full_row(call_.rows, ids_[i], f64_, x_, scores_);
            code = c_.full_code(scores_, work_.data());
        }
        answer(i, code, t == call_.n_stages ? c_.n_stages() : t);
    }
    // Adds the trees of stage t to the sums of row i; false if they read a refused value.
    template <class X>
    bool add_row(int i, int t, X* copy) {
        const TreeStage& stage = *c_.stages_[t];
        const BinReader& reader = c_.trees_->reader();
        const X* x = copy;
        if (reader.in_place<X>(call_.rows)) x = reinterpret_cast<const X*>(call_.rows.row(ids_[i]));
        else reader.read_row(call_.rows, ids_[i], stage.features(), copy);
        if (reader.is_refused(stage.features(), x)) return false;
        const std::vector<int>& used = stage.sums();
        std::fill_n(row_part_, outputs_ * used.size(), 0.0f);
        stage.add_row(x, row_part_);
        const float* part = row_part_;
        for (int k = 0; k < outputs_; ++k)
            for (const int s : used) row_sums_[k * c_.n_sums_ + s] += *part++;
        return true;
    }
    // The label that the estimates of stage t give a row, or kPending.
    std::int32_t row_code(int t) {
        for (int k = 0; k < outputs_; ++k) {
            estimates_[0] = c_.bias(t, k);
            estimate_kernels().accumulate(row_sums_ + k * c_.n_sums_, 1, c_.mixture(t, k), c_.n_sums_, 1, estimates_);
            z_[k] = estimates_[0];
        }
        const bool last = t + 1 == call_.n_stages && call_.at_end == AtEnd::answer;
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

    // Answers the rows that no stage has decided.
    void finish() {
        for (int first = 0; first < n_; first += full_.n_rows()) {
            const int n = std::min(full_.n_rows(), n_ - first);
            if (call_.at_end == AtEnd::full) full(first, n);
            else
                for (int i = 0; i < n; ++i) answer(first + i, kPending, c_.n_stages());
        }
    }
    void full(int first, int n) {
        if (n < kFewRows) {
            for (int i = 0; i < n; ++i) {
                c_.trees_->full_row(call_.rows, ids_[first + i], f64_, x_, scores_);
                answer(first + i, c_.full_code(scores_, work_.data()), c_.n_stages());
            }
            return;
        }
        c_.trees_->full(full_, {ids_ + first, n, n_ - first, false}, full_sums_, scores_);
        for (int i = 0; i < n; ++i)
            answer(first + i, c_.full_code(scores_ + std::int64_t{i} * outputs_, work_.data()), c_.n_stages());
    }

    const TreeCascade& c_;
    const Call& call_;
    int outputs_;
    std::int64_t capacity_;
    bool f64_;                 // whether single rows are compared in float64
    TileReader tiles_, full_;  // of the stages, and of the full model
    std::int64_t begin_ = 0;
    int n_ = 0;  // rows that are left
    std::int64_t* ids_;
    std::int32_t* positions_;  // counted from begin_
    float *sums_, *part_;      // (outputs, sums, rows): of all rows; of a tile and what a stage adds
    double *scores_, *full_sums_, *x_;
    float *estimates_, *row_sums_, *row_part_;
    std::int32_t codes_[kTileRows], stages_[kTileRows], kept_[kTileRows + 16];
    alignas(64) std::int32_t best_[kTileRows];  // of the rows of a tile, with several outputs: labels of estimates
    alignas(64) float gaps_[kTileRows];         // and their confidence
    std::vector<float> z_, float_work_;
    std::vector<double> work_;
};

inline void TreeCascade::run(const Call& call, std::int64_t n, int n_threads) const {
    const std::int64_t row_bytes = std::int64_t{trees_->n_outputs()} * n_sums_ * std::int64_t{sizeof(float)} + 16;
    const std::int64_t most = std::clamp(kChunkBytes / row_bytes, kLeastChunkRows, kChunkRows);
    each_chunk(n, n_threads, most,
               [&](std::int64_t begin, std::int64_t end) { Run(*this, call, end - begin).run(begin, end); });
}

inline void TreeCascade::predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double,
                                     std::int32_t* code, std::int32_t* stage) const {
    const Call call{rows, &r, n_stages, at_end, code, stage};
    Run(*this, call, 1).run(0, 1);
}

inline void TreeCascade::values(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                                double* values) const {
    const std::int64_t m = std::ssize(order_);
    std::vector<std::int64_t> column(static_cast<std::size_t>(trees_->n_trees()), -1);
    for (std::int64_t j = 0; j < m; ++j) column[order_[j]] = j;
    each_chunk(n, n_threads, kChunkRows, [&](std::int64_t begin, std::int64_t end) {
        Arena& arena = thread_arena();
        TileReader tiles = trees_->tiles(rows);
        arena.reset(tiles.bytes());
        tiles.take(arena);
        each_tile(ids, begin, end, tiles.n_rows(), [&](const RowIds& some, std::int64_t at) {
            trees_->each_leaf(tiles, some, [&](std::int64_t tree, std::int32_t leaf, int i) {
                if (column[tree] >= 0) values[(at + i) * m + column[tree]] = trees_->leaf_value(tree, leaf);
            });
        });
    });
}

}  // namespace wald
