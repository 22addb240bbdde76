// One thread's rows on their way through the stages of a tree ensemble.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/cascade/race.hpp"
#include "core/cascade/trees.hpp"

namespace wald {

// One thread's chunk of rows. All of them take a pass before those that are left take the next one.
class TreeCascade::Run {
public:
    // Room for `capacity` rows.
    Run(const TreeCascade& cascade, const Call& call, std::int64_t capacity)
        : c_(cascade), call_(call), outputs_(cascade.trees_->n_outputs()), capacity_(round_up(capacity, kPanelRows)),
          f64_(cascade.trees_->reader().compares_f64(call.rows)), tiles_(pass_tiles(cascade, call)),
          full_(cascade.trees_->tiles(call.rows)), race_(outputs_, capacity_),
          pointers_(static_cast<std::size_t>(outputs_ * cascade.n_sums_)), parts_(pointers_.size()),
          z_(static_cast<std::size_t>(outputs_)), float_work_(static_cast<std::size_t>(cascade.decision().n_classes)),
          work_(float_work_.size()) {
        const std::int64_t n_sums = std::int64_t{outputs_} * c_.n_sums_, n_scores = std::int64_t{outputs_} * kTileRows;
        Arena& arena = thread_arena();
        arena.reset(Arena::bytes<std::int64_t>(capacity_ + kTileRows) + Arena::bytes<std::int32_t>(capacity_) +
                    Arena::bytes<float>(n_sums * capacity_) + tiles_.bytes() + full_.bytes() +
                    (c_.racing() ? Race::bytes(outputs_, capacity_) : 0) + Arena::bytes<float>(n_sums * kTileRows) +
                    Arena::bytes<float>(n_scores) + 2 * Arena::bytes<double>(n_scores) +
                    Arena::bytes<double>(c_.trees_->n_features()) + Arena::bytes<float>(n_sums));
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int32_t>(capacity_);
        sums_ = arena.take<float>(n_sums * capacity_);
        tiles_.take(arena);
        full_.take(arena);
        if (c_.racing()) race_.take(arena);
        part_ = arena.take<float>(n_sums * kTileRows);
        estimates_ = arena.take<float>(n_scores);
        scores_ = arena.take<double>(n_scores);
        full_sums_ = arena.take<double>(n_scores);
        x_ = arena.take<double>(c_.trees_->n_features());
        row_sums_ = arena.take<float>(n_sums);
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
        if (call_.traced != nullptr) refused_.assign(static_cast<std::size_t>(n_), 0);
        if (c_.racing()) race_.start(n_);
        for (std::size_t p = 0; p < c_.passes_.size() && c_.passes_[p].first < call_.n_stages && n_ > 0; ++p) {
            if (n_ < kFewRows && call_.traced == nullptr) {
                for (int i = 0; i < n_; ++i) walk(i, p);
                return;
            }
            pass(c_.passes_[p]);
        }
        if (call_.traced == nullptr) finish();
    }

private:
    static TileReader pass_tiles(const TreeCascade& cascade, const Call& call) {
        std::int64_t panel_bytes = 0;
        bool any_cut = false;
        for (const TreePass& pass : cascade.passes_) {
            if (pass.first >= call.n_stages) break;
            const StepTrees& steps = pass.trees.trees().steps();
            panel_bytes = std::max(panel_bytes, steps.bins().panel_bytes());
            any_cut = any_cut || steps.any_cut();
        }
        return {cascade.trees_->reader(), call.rows, panel_bytes, any_cut};
    }

    float* sum(int s) const { return sums_ + s * capacity_; }  // output * n_sums + sum, of all rows
    std::int64_t position(int i) const { return begin_ + positions_[i]; }
    // Rows that are evaluated in full skip no terms.
    void write(int i, const Answer& answer, int stage) const {
        const bool skips = c_.racing() && stage < c_.n_stages() && call_.ledger.paid != nullptr;
        call_.ledger.write(position(i), answer, stage, skips ? race_.skipped(i, c_.n_seen(stage)) : 0);
    }

    // ---- many rows -------------------------------------------------------------------------------------------------

    // Takes all rows through the stages of a pass, tile by tile, and packs those that are left.
    void pass(const TreePass& pass) {
        int left = 0;
        for (int first = 0; first < n_; first += tiles_.n_rows()) {
            const int n = std::min(tiles_.n_rows(), n_ - first);
            const RowIds some{ids_ + first, n, n_ - first, pass.first == 0 && first == 0};
            const Tile tile = tiles_.read(some, pass.trees.trees());
            start(first, n, pass.first);
            int kept = n;
            for (int t = pass.first; t < std::min(pass.last, call_.n_stages) && kept > 0; ++t) {
                if (pass.by_class) race(pass, t, tile, first);
                else run_all(pass, t, tile, first);
                if (call_.traced != nullptr) trace(t, first, n);
                else kept = decide(t, n);
                if (c_.drops(t)) drop(t, first, n, kept);
            }
            if (call_.traced == nullptr) left = pack(first, n, kept, left);
        }
        if (call_.traced == nullptr) n_ = left;
    }
    // The estimates of stage t, for the rows of a tile that begin at `first`.
    void run_all(const TreePass& pass, int t, const Tile& tile, int first) {
        add(pass.trees, t - pass.first, tile, first);
        for (int k = 0; k < outputs_; ++k) {
            float* const to = estimates_ + std::int64_t{k} * kTileRows;
            estimate(t, k, first, tile.n, to);
            if (c_.drops(t)) race_.update(k, first, tile.n, to);
        }
        if (outputs_ > 1) judge(estimates_, kTileRows, tile.n);
    }
    // The same once classes can be out of the race. A tile takes the trees of a class if it is a candidate of any of
    // its rows; what they add to the sums of other rows is never read.
    void race(const TreePass& pass, int t, const Tile& tile, int first) {
        std::uint64_t running = 0;
        for (int i = 0; i < tile.n; ++i) running |= status_[i] == Status::pending ? race_.candidates(first + i) : 0;
        for (; running != 0; running &= running - 1) {
            const int k = std::countr_zero(running);
            add(pass.trees, (t - pass.first) * outputs_ + k, tile, first);
            estimate(t, k, first, tile.n, estimates_);
            race_.update(k, first, tile.n, estimates_);
        }
        judge(race_.estimates(0) + first, race_.stride(), tile.n);
    }
    // Drops classes of each row that stage t has left pending; of every row, if the tile is traced.
    void drop(int t, int first, int n, int kept) {
        const bool all = call_.traced != nullptr;
        for (int j = 0; j < (all ? n : kept); ++j) {
            const int i = all ? j : kept_[j];
            race_.drop(first + i, best_[i], c_.race_[t], c_.n_seen(t));
        }
    }

    // Adds group g of some trees to the sums of the rows of a tile that begin at `first`.
    void add(const SummedTrees& trees, int g, const Tile& tile, int first) {
        float* const* const sums = sums_of(trees, first);
        if (tiles_.n_rows() % kPanelRows == 0) {
            trees.add(g, tile, sums);
            return;
        }
        const std::size_t n_sums = static_cast<std::size_t>(outputs_) * trees.sums().size();
        for (std::size_t s = 0; s < n_sums; ++s) {  // the last panel holds rows of the next tile, too
            parts_[s] = part_ + static_cast<std::int64_t>(s) * kTileRows;
            std::copy_n(sums[s], tile.n, parts_[s]);
        }
        trees.add(g, tile, parts_.data());
        for (std::size_t s = 0; s < n_sums; ++s) std::copy_n(parts_[s], tile.n, sums[s]);
    }

    // The running sums that some trees add to, from row `first` on.
    float* const* sums_of(const SummedTrees& trees, int first) {
        float** to = pointers_.data();
        for (int k = 0; k < outputs_; ++k)
            for (const int s : trees.sums()) *to++ = sum(k * c_.n_sums_ + s) + first;
        return pointers_.data();
    }

    // Estimates of output k for rows [first, first + n). Whole registers are written.
    void estimate(int t, int k, int first, int n, float* to) {
        estimate(t, k, n, to, [&](int s) { return sum(s) + first; });
    }
    // The same; sum_of(s) are the rows' values of sum s.
    template <class SumOf>
    void estimate(int t, int k, int n, float* to, const SumOf& sum_of) {
        mix(c_.estimate(t, k), n, to, sum_of);
        if (c_.variances_.empty()) return;
        alignas(64) float variance[kTileRows];
        mix(c_.variances_[t], n, variance, sum_of);
        estimate_kernels().standardize(variance, c_.least_variance_, threshold(), n, to);
    }
    template <class SumOf>
    void mix(const Mixture& mixture, int n, float* to, const SumOf& sum_of) {
        for (int j = 0; j < mixture.size(); ++j) pointers_[j] = sum_of(mixture.sums[j]);
        estimate_kernels().mix(mixture.bias, pointers_.data(), mixture.weights.data(), mixture.size(), n, to);
    }
    float threshold() const { return static_cast<float>(c_.decision().threshold); }

    // The rows of a tile before stage t: those with a refused value are answered.
    void start(int first, int n, int t) {
        std::fill_n(status_, n, Status::pending);
        for (int i = 0; i < n && tiles_.any_refused(); ++i)
            if (tiles_.is_refused(i)) codes_[i] = 0, stages_[i] = t, status_[i] = Status::not_finite;
        if (call_.traced == nullptr) return;
        for (int i = 0; i < n; ++i) {  // rows stay, whatever they hold
            refused_[first + i] |= status_[i] == Status::not_finite;
            if (refused_[first + i] != 0) status_[i] = Status::not_finite;
        }
    }
    // Answers the rows of a tile that stage t decides; returns how many are left, whose places are in kept_.
    int decide(int t, int n) {
        int kept = 0;
        if (outputs_ == 1) {
            kept =
                kernels<float>().decide(estimates_, n, c_.low_[t], c_.high_[t], t, {codes_, stages_, status_}, kept_);
        } else {
            for (int i = 0; i < n; ++i) {
                const bool pending = status_[i] == Status::pending, leaves = pending & (gaps_[i] > c_.high_[t]);
                codes_[i] = leaves ? best_[i] : codes_[i];
                stages_[i] = leaves ? t : stages_[i];
                status_[i] = leaves ? Status::early : status_[i];
                kept_[kept] = i;
                kept += pending & !leaves;
            }
        }
        if (t + 1 < call_.n_stages || call_.at_end != AtEnd::answer) return kept;
        for (int j = 0; j < kept; ++j) {
            const int i = kept_[j];
            codes_[i] = outputs_ == 1 ? c_.decision().positive(estimates_[i]) : best_[i];
            stages_[i] = t;
            status_[i] = Status::out_of_budget;
        }
        return 0;
    }
    // Answers the decided rows of a tile, and moves the others to the places from `left` on. Returns the place after
    // them.
    int pack(int first, int n, int kept, int left) {
        for (int i = 0; i < n; ++i)
            if (status_[i] != Status::pending) write(first + i, {codes_[i], status_[i]}, stages_[i]);
        for (int i = 0; i < kept; ++i) {
            ids_[left + i] = ids_[first + kept_[i]];
            positions_[left + i] = positions_[first + kept_[i]];
            if (c_.racing()) race_.move(first + kept_[i], left + i);
        }
        for (int s = 0; s < outputs_ * c_.n_sums_; ++s) {
            float* const to = sum(s) + left;
            const float* const from = sum(s) + first;
            for (int i = 0; i < kept; ++i) to[i] = from[kept_[i]];
        }
        return left + kept;
    }

    // The labels of the estimates of n rows, and their confidence; estimate k of row i is estimates[k * stride + i].
    void judge(const float* estimates, std::int64_t stride, int n) {
        if (c_.decision().kind == DecisionKind::argmax) {
            estimate_kernels().best_of(estimates, stride, outputs_, n, best_, gaps_);
            return;
        }
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < outputs_; ++k) z_[k] = estimates[k * stride + i];
            const Judgement<float> j = c_.decision().judge(z_.data(), float_work_.data());
            best_[i] = j.code;
            gaps_[i] = j.confidence;
        }
    }

    void trace(int t, int first, int n) {
        for (int i = 0; i < n; ++i) {
            const std::int64_t at = position(first + i) * call_.n_stages + t;
            constexpr float nan = std::numeric_limits<float>::quiet_NaN();
            const bool refused = status_[i] == Status::not_finite;
            if (outputs_ == 1) {
                static_cast<float*>(call_.traced->scores)[at] = refused ? nan : estimates_[i];
            } else {
                call_.traced->codes[at] = refused ? 0 : best_[i];
                static_cast<float*>(call_.traced->confidence)[at] = refused ? nan : gaps_[i];
            }
        }
    }

    // ---- one row ---------------------------------------------------------------------------------------------------

    // Evaluates row i from pass p to its end, without panels.
    void walk(int i, std::size_t p) {
        for (int s = 0; s < outputs_ * c_.n_sums_; ++s) row_sums_[s] = sum(s)[i];
        Answer answer = kPending;
        int t = c_.n_stages();
        for (; p < c_.passes_.size() && c_.passes_[p].first < call_.n_stages && answer.status == Status::pending; ++p)
            answer = f64_ ? walk_pass(i, c_.passes_[p], x_, t)
                          : walk_pass(i, c_.passes_[p], reinterpret_cast<float*>(x_), t);
        if (answer.status == Status::pending) {
            t = c_.n_stages();
            if (call_.at_end == AtEnd::full) {
                c_.trees_->full_row(call_.rows, ids_[i], f64_, x_, scores_);
                answer = c_.full_answer(scores_, work_.data());
            }
        }
        write(i, answer, t);
    }
    // The label that a pass gives row i, or kPending, and the stage that decides it.
    template <class X>
    Answer walk_pass(int i, const TreePass& pass, X* copy, int& t) {
        const BinReader& reader = c_.trees_->reader();
        const X* x = copy;
        if (reader.in_place<X>(call_.rows)) x = reinterpret_cast<const X*>(call_.rows.row(ids_[i]));
        else reader.read_row(call_.rows, ids_[i], pass.trees.features(), copy);
        for (t = pass.first; t < std::min(pass.last, call_.n_stages); ++t) {
            const bool finite = t > pass.first || !reader.is_refused(pass.trees.features(), x);
            if (finite && !pass.by_class) add_row(pass.trees, t - pass.first, x);
            for (int k = 0; k < outputs_ && finite && pass.by_class; ++k)
                if (race_.runs(i, k)) add_row(pass.trees, (t - pass.first) * outputs_ + k, x);
            const Answer answer = finite ? row_answer(i, t) : kNotFinite;
            if (answer.status != Status::pending) return answer;
        }
        return kPending;
    }
    template <class X>
    void add_row(const SummedTrees& trees, int g, const X* x) {
        float** to = pointers_.data();
        for (int k = 0; k < outputs_; ++k)
            for (const int s : trees.sums()) *to++ = row_sums_ + k * c_.n_sums_ + s;
        trees.add_row(g, x, pointers_.data());
    }
    // The label that the estimates of stage t give row i, or kPending.
    Answer row_answer(int i, int t) {
        for (int k = 0; k < outputs_; ++k) {
            if (c_.racing() && !race_.runs(i, k)) continue;
            estimate(t, k, 1, estimates_, [&](int s) { return row_sums_ + s; });
            z_[k] = estimates_[0];
            if (c_.racing()) race_.estimates(k)[i] = z_[k];
        }
        const bool last = t + 1 == call_.n_stages && call_.at_end == AtEnd::answer;
        if (outputs_ == 1) {
            const float z = z_[0];
            if (!std::isfinite(z)) return kNotFinite;
            if (z > c_.high_[t]) return {1, Status::early};
            if (z < c_.low_[t]) return {0, Status::early};
            return last ? Answer{c_.decision().positive(z), Status::out_of_budget} : kPending;
        }
        for (int k = 0; k < outputs_ && c_.racing(); ++k) z_[k] = race_.estimates(k)[i];
        const Judgement<float> j = c_.decision().judge(z_.data(), float_work_.data());
        if (j.confidence > c_.high_[t]) return {j.code, Status::early};
        if (last) return {j.code, Status::out_of_budget};
        if (c_.drops(t)) race_.drop(i, j.code, c_.race_[t], c_.n_seen(t));
        return kPending;
    }

    // ---- the full model --------------------------------------------------------------------------------------------

    // Answers the rows that no stage has decided.
    void finish() {
        for (int first = 0; first < n_; first += full_.n_rows()) {
            const int n = std::min(full_.n_rows(), n_ - first);
            if (call_.at_end == AtEnd::full) full(first, n);
            else
                for (int i = 0; i < n; ++i) write(first + i, kPending, c_.n_stages());
        }
    }
    void full(int first, int n) {
        if (n < kFewRows) {
            for (int i = 0; i < n; ++i) {
                c_.trees_->full_row(call_.rows, ids_[first + i], f64_, x_, scores_);
                write(first + i, c_.full_answer(scores_, work_.data()), c_.n_stages());
            }
            return;
        }
        c_.trees_->full(full_, {ids_ + first, n, n_ - first, false}, full_sums_, scores_);
        for (int i = 0; i < n; ++i)
            write(first + i, c_.full_answer(scores_ + std::int64_t{i} * outputs_, work_.data()), c_.n_stages());
    }

    const TreeCascade& c_;
    const Call& call_;
    int outputs_;
    std::int64_t capacity_;
    bool f64_;                 // whether single rows are compared in float64
    TileReader tiles_, full_;  // of the stages, and of the full model
    Race race_;
    std::int64_t begin_ = 0;
    int n_ = 0;  // rows that are left
    std::int64_t* ids_;
    std::int32_t* positions_;  // counted from begin_
    float *sums_, *part_;      // (outputs, sums, rows): of all rows; of a tile whose rows share a panel with others
    double *scores_, *full_sums_, *x_;
    float *estimates_, *row_sums_;
    std::int32_t codes_[kTileRows], stages_[kTileRows], kept_[kTileRows + 16];
    Status status_[kTileRows];
    alignas(64) std::int32_t best_[kTileRows];  // of the rows of a tile, with several outputs: labels of estimates
    alignas(64) float gaps_[kTileRows];         // and their confidence
    std::vector<std::uint8_t> refused_;         // of a trace: whether a pass has read a refused value of a row
    std::vector<float*> pointers_, parts_;
    std::vector<float> z_, float_work_;
    std::vector<double> work_;
};

inline void TreeCascade::run(const Call& call, std::int64_t n, int n_threads) const {
    const std::int64_t carried = std::int64_t{trees_->n_outputs()} * (n_sums_ + (racing() ? 1 : 0)) * 4 + 16;
    const std::int64_t most_read = call.rows.in_columns() ? kChunkRows : kRowsBytes / call.rows.bytes_per_row();
    const std::int64_t most = std::clamp(std::min(kCarriedBytes / carried, most_read), kLeastChunkRows, kChunkRows);
    each_chunk(n, n_threads, most,
               [&](std::int64_t begin, std::int64_t end) { Run(*this, call, end - begin).run(begin, end); });
}

inline void TreeCascade::predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double,
                                     const Ledger& ledger) const {
    const Call call{rows, &r, n_stages, at_end, ledger};
    Run(*this, call, 1).run(0, 1);
}

}  // namespace wald
