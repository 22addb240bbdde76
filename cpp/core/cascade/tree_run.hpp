// One thread's rows on their way through the stages of a tree ensemble.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/cascade/race.hpp"
#include "core/cascade/trees.hpp"

namespace wald {

// One thread's chunk of rows. All undecided rows take a pass before any of them takes the next one.
class TreeCascade::Run {
public:
    // Takes the memory for `capacity` rows.
    Run(const TreeCascade& cascade, const Call& call, std::int64_t capacity)
        : c_(cascade), call_(call), outputs_(cascade.trees_->n_outputs()), capacity_(round_up(capacity, kPanelRows)),
          two_sided_(cascade.decision().two_sided()), by_margin_(outputs_ == 1 && !two_sided_),
          several_(outputs_ > 1 && cascade.decision().scored()), f64_(cascade.trees_->reader().compares_f64(call.rows)),
          tiles_(cascade.trees_->reader(), call.rows, needs(cascade, call)), full_(*cascade.trees_, call.rows),
          race_(outputs_, capacity_), sums_(outputs_, cascade.n_sums_, capacity_) {
        const std::int64_t n_scores = std::int64_t{outputs_} * kTileRows;
        const std::int64_t n_work = std::max(outputs_, c_.decision().n_classes);
        Arena& arena = thread_arena();
        arena.reset(Arena::bytes<std::int64_t>(capacity_ + kTileRows) + Arena::bytes<std::int32_t>(capacity_) +
                    sums_.bytes() + tiles_.bytes() + full_.bytes() +
                    (c_.racing() ? Race::bytes(outputs_, capacity_) : 0) +
                    (several_ ? 2 : 1) * Arena::bytes<float>(n_scores) + Arena::bytes<float>(sums_.size()) +
                    2 * Arena::bytes<float>(n_work) + Arena::bytes<double>(n_work));
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int32_t>(capacity_);
        sums_.take(arena);
        tiles_.take(arena);
        full_.take(arena);
        if (c_.racing()) race_.take(arena);
        estimates_ = arena.take<float>(n_scores);
        if (several_) kept_scores_ = arena.take<float>(n_scores);
        row_sums_ = arena.take<float>(sums_.size());
        z_ = arena.take<float>(n_work);
        float_work_ = arena.take<float>(n_work);
        work_ = arena.take<double>(n_work);
    }

    // Answers the rows at positions [begin, end).
    void answer(std::int64_t begin, std::int64_t end, const Ledger& ledger) {
        start(begin, end);
        for (std::size_t p = 0; p < c_.passes_.size() && c_.passes_[p].first < call_.n_stages && n_ > 0; ++p) {
            if (n_ < TreeEnsemble::kFewRows) {
                for (int i = 0; i < n_; ++i) walk(i, p, ledger);
                return;
            }
            const TreePass& pass = c_.passes_[p];
            int left = 0;
            for (int first = 0; first < n_; first += tiles_.n_rows()) {
                const int n = std::min(tiles_.n_rows(), n_ - first);
                const Tile tile = read(pass, first, n);
                int kept = n;
                for (int t = pass.first; t < std::min(pass.last, call_.n_stages) && kept > 0; ++t) {
                    evaluate(pass, t, tile, first);
                    kept = decide(t, n);
                    for (int j = 0; j < kept && c_.drops(t); ++j) drop(t, first, kept_[j]);
                }
                left = pack(first, n, kept, left, ledger);
            }
            n_ = left;
        }
        finish(ledger);
    }

    // Stores the estimates of every stage for the rows at positions [begin, end).
    void trace(std::int64_t begin, std::int64_t end, const Tracing<float>& sink) {
        start(begin, end);
        std::vector<std::uint8_t> refused(static_cast<std::size_t>(n_));  // whether a pass has read a refused value
        for (const TreePass& pass : c_.passes_) {
            for (int first = 0; first < n_; first += tiles_.n_rows()) {
                const int n = std::min(tiles_.n_rows(), n_ - first);
                const Tile tile = read(pass, first, n);
                for (int i = 0; i < n; ++i) {
                    refused[first + i] |= status_[i] == Status::not_finite;
                    status_[i] = refused[first + i] != 0 ? Status::not_finite : Status::pending;
                }
                for (int t = pass.first; t < pass.last; ++t) {
                    evaluate(pass, t, tile, first);
                    for (int i = 0; i < n; ++i) {
                        if (status_[i] == Status::not_finite) sink.refuse(position(first + i), t);
                        else if (outputs_ == 1) sink.stays(position(first + i), t, estimates_[i]);
                        else sink.stays(position(first + i), t, Judgement<float>{best_[i], gaps_[i]}, scores_of(i));
                        if (c_.drops(t)) drop(t, first, i);
                    }
                }
            }
        }
    }

private:
    static TileNeeds needs(const TreeCascade& cascade, const Call& call) {
        TileNeeds needs;
        for (const TreePass& pass : cascade.passes_)
            if (pass.first < call.n_stages) needs.add(pass.trees.trees());
        return needs;
    }

    void start(std::int64_t begin, std::int64_t end) {
        begin_ = begin;
        n_ = static_cast<int>(end - begin);
        for (int i = 0; i < n_; ++i) {
            ids_[i] = call_.row(begin + i);
            positions_[i] = i;
        }
        sums_.clear(n_);
        if (c_.racing()) race_.start(n_);
    }
    std::int64_t position(int i) const { return begin_ + positions_[i]; }
    // Rows that are evaluated in full skip no terms.
    void write(int i, const Answer& answer, int stage, const Ledger& ledger) const {
        const bool skips = c_.racing() && stage < c_.n_stages() && ledger.paid != nullptr;
        ledger.write(position(i), answer, stage, skips ? race_.skipped(i, c_.n_seen(stage)) : 0);
    }

    // ---- many rows -------------------------------------------------------------------------------------------------

    // Reads a tile, the n rows from `first` on. Rows with a refused value are marked as not finite.
    Tile read(const TreePass& pass, int first, int n) {
        const Tile tile = tiles_.read({ids_ + first, n, n_ - first, pass.first == 0 && first == 0}, pass.trees.trees());
        std::fill_n(status_, n, Status::pending);
        for (int i = 0; i < n && tiles_.any_refused(); ++i)
            if (tiles_.is_refused(i)) codes_[i] = 0, stages_[i] = pass.first, status_[i] = Status::not_finite;
        return tile;
    }
    // Computes the estimates of stage t for a tile whose rows begin at `first`; unless they leave on two sides, also
    // their labels and confidence.
    void evaluate(const TreePass& pass, int t, const Tile& tile, int first) {
        if (pass.by_class) return race(pass, t, tile, first);
        sums_.add(pass.trees, t - pass.first, tile, first, tiles_.n_rows());
        for (int k = 0; k < outputs_; ++k) {
            float* const to = estimates_ + std::int64_t{k} * kTileRows;
            estimate(t, k, first, tile.n, to);
            if (c_.drops(t)) race_.update(k, first, tile.n, to);
        }
        if (!two_sided_) judge(estimates_, kTileRows, tile.n);
    }
    // The same where classes may have been dropped. A tile takes the trees of a class if any of its rows still has this
    // candidate; what they add to the sums of the other rows is never read.
    void race(const TreePass& pass, int t, const Tile& tile, int first) {
        std::uint64_t running = 0;
        for (int i = 0; i < tile.n; ++i) running |= status_[i] == Status::pending ? race_.candidates(first + i) : 0;
        for (; running != 0; running &= running - 1) {
            const int k = std::countr_zero(running);
            sums_.add(pass.trees, (t - pass.first) * outputs_ + k, tile, first, tiles_.n_rows());
            estimate(t, k, first, tile.n, estimates_);
            race_.update(k, first, tile.n, estimates_);
        }
        judge(race_.estimates(0) + first, race_.stride(), tile.n);
    }
    // Drops classes of a row that stage t has left pending.
    void drop(int t, int first, int i) { race_.drop(first + i, best_[i], c_.race_[t], c_.n_seen(t)); }

    // Estimates of output k for rows [first, first + n). Whole registers are written.
    void estimate(int t, int k, int first, int n, float* to) {
        estimate(t, k, n, to, [&](int s) { return sums_.of(s) + first; });
    }
    // The same, where sum_of(s) points to the rows' values of sum s.
    template <class SumOf>
    void estimate(int t, int k, int n, float* to, const SumOf& sum_of) {
        sums_.mix(c_.estimate(t, k), n, to, sum_of);
        if (c_.variances_.empty()) return;
        sums_.mix(c_.variances_[t], n, variances_, sum_of);
        if (!two_sided_) return;  // confidence is standardized, by `judge`
        const auto threshold = static_cast<float>(c_.decision().threshold);
        estimate_kernels().standardize(variances_, c_.least_variance_, threshold, n, to);
    }

    // Answers the rows of a tile that stage t decides, or all of them if this stage must answer. Returns the number of
    // the others, whose places are in kept_.
    int decide(int t, int n) {
        const float low = two_sided_ ? c_.exits_.low[t] : -HUGE_VALF;
        const int kept = kernels<float>().decide(two_sided_ ? estimates_ : gaps_, n, low, c_.exits_.high[t], t,
                                                 {codes_, stages_, status_}, kept_, by_margin_ ? estimates_ : nullptr,
                                                 by_margin_ ? last_ : nullptr);
        for (int i = 0; i < n && outputs_ > 1; ++i)
            if (status_[i] == Status::early && stages_[i] == t) leave(i);
        if (t + 1 < call_.n_stages || call_.at_end != AtEnd::answer) return kept;
        for (int j = 0; j < kept; ++j) {
            const int i = kept_[j];
            if (two_sided_) codes_[i] = c_.decision().positive(estimates_[i]);
            else leave(i);
            stages_[i] = t;
            status_[i] = Status::out_of_budget;
            last_[i] = estimates_[i];
        }
        return 0;
    }
    // Row i of a tile leaves with its estimates.
    void leave(int i) {
        codes_[i] = best_[i];
        for (int k = 0; k < outputs_ && several_; ++k) kept_scores_[k * kTileRows + i] = estimates_[k * kTileRows + i];
    }
    // The estimates of row i of a tile, one after the other; of several scores that are answers.
    const float* scores_of(int i) {
        for (int k = 0; k < outputs_ && several_; ++k) z_[k] = estimates_[k * kTileRows + i];
        return z_;
    }
    // Writes the answers of a tile to the ledger, and moves its undecided rows to the places from `left` on. Returns
    // the place after them.
    int pack(int first, int n, int kept, int left, const Ledger& ledger) {
        if (by_margin_ && kept < n) c_.exits_.codes(last_, n, best_);
        for (int i = 0; i < n; ++i) {
            if (status_[i] == Status::pending) continue;
            const bool own = by_margin_ && status_[i] < Status::handed_over;
            const Answer answer{codes_[i], status_[i]}, estimated{best_[i], status_[i], last_[i]};
            write(first + i, own ? estimated : answer, stages_[i], ledger);
            for (int k = 0; k < outputs_ && several_; ++k) z_[k] = kept_scores_[k * kTileRows + i];
            ledger.keep(position(first + i), status_[i], z_);
        }
        for (int i = 0; i < kept; ++i) {
            ids_[left + i] = ids_[first + kept_[i]];
            positions_[left + i] = positions_[first + kept_[i]];
            if (c_.racing()) race_.move(first + kept_[i], left + i);
        }
        for (std::int64_t s = 0; s < sums_.size(); ++s) {
            float* const to = sums_.of(s) + left;
            const float* const from = sums_.of(s) + first;
            for (int i = 0; i < kept; ++i) to[i] = from[kept_[i]];
        }
        return left + kept;
    }

    // Stores the labels of n rows in best_, and their confidence in gaps_; of one score only this. Estimate k of row i
    // is estimates[k * stride + i].
    void judge(const float* estimates, std::int64_t stride, int n) {
        if (by_margin_) {
            const float* const variances = c_.variances_.empty() ? nullptr : variances_;
            return c_.exits_.margins(estimates, variances, c_.least_variance_, n, gaps_);
        }
        if (c_.decision().kind == DecisionKind::argmax) {
            estimate_kernels().best_of(estimates, stride, outputs_, n, best_, gaps_);
            return;
        }
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < outputs_; ++k) z_[k] = estimates[k * stride + i];
            const Judgement<float> j = c_.decision().judge(z_, float_work_);
            best_[i] = j.code;
            gaps_[i] = j.confidence;
        }
    }

    // ---- one row ---------------------------------------------------------------------------------------------------

    // Answers row i from pass p on, without panels.
    void walk(int i, std::size_t p, const Ledger& ledger) {
        const Answering<float> sink(c_.exits_, call_, ledger);
        for (std::int64_t s = 0; s < sums_.size(); ++s) row_sums_[s] = sums_.of(s)[i];
        Answer answer = kPending;
        int t = c_.n_stages();
        for (; p < c_.passes_.size() && c_.passes_[p].first < call_.n_stages && answer.status == Status::pending; ++p)
            answer = f64_ ? walk_pass(i, c_.passes_[p], full_.x(), sink, t)
                          : walk_pass(i, c_.passes_[p], reinterpret_cast<float*>(full_.x()), sink, t);
        if (answer.status == Status::pending) return finish(i, 1, ledger);
        write(i, answer, t, ledger);
        ledger.keep(position(i), answer.status, z_);
    }
    // The answer of a pass to row i, or kPending. `t` becomes the stage that decides the row.
    template <class X>
    Answer walk_pass(int i, const TreePass& pass, X* copy, const Answering<float>& sink, int& t) {
        const BinReader& reader = c_.trees_->reader();
        const X* x = copy;
        if (reader.in_place<X>(call_.rows)) x = reinterpret_cast<const X*>(call_.rows.row(ids_[i]));
        else reader.read_row(call_.rows, ids_[i], pass.trees.features(), copy);
        t = pass.first;
        if (reader.is_refused(pass.trees.features(), x)) return kNotFinite;
        for (; t < std::min(pass.last, call_.n_stages); ++t) {
            if (!pass.by_class) add_row(pass.trees, t - pass.first, x);
            for (int k = 0; k < outputs_ && pass.by_class; ++k)
                if (race_.runs(i, k)) add_row(pass.trees, (t - pass.first) * outputs_ + k, x);
            const Answer answer = row_answer(i, t, sink);
            if (answer.status != Status::pending) return answer;
        }
        return kPending;
    }
    template <class X>
    void add_row(const SummedTrees& trees, int g, const X* x) {
        trees.add_row(g, x, sums_.of_trees(trees, [&](int s) { return row_sums_ + s; }));
    }
    // The answer of stage t to row i, or kPending.
    Answer row_answer(int i, int t, const Answering<float>& sink) {
        for (int k = 0; k < outputs_; ++k) {
            if (c_.racing() && !race_.runs(i, k)) continue;
            estimate(t, k, 1, estimates_, [&](int s) { return row_sums_ + s; });
            z_[k] = estimates_[0];
            if (c_.racing()) race_.estimates(k)[i] = z_[k];
        }
        if (two_sided_) return sink.answer(z_[0], t);
        if (by_margin_) {
            judge(estimates_, kTileRows, 1);
            Answer answer = sink.answer(Judgement<float>{0, gaps_[0], estimates_[0]}, t);
            if (answer.status < Status::handed_over) c_.exits_.codes(estimates_, 1, &answer.code);
            return answer;
        }
        for (int k = 0; k < outputs_ && c_.racing(); ++k) z_[k] = race_.estimates(k)[i];
        const Judgement<float> judged = c_.decision().judge(z_, float_work_);
        const Answer answer = sink.answer(judged, t);
        if (answer.status == Status::pending && c_.drops(t)) race_.drop(i, judged.code, c_.race_[t], c_.n_seen(t));
        return answer;
    }

    // ---- the full model --------------------------------------------------------------------------------------------

    // Evaluates the rows that no stage has decided in full, or leaves them pending if the call says so.
    void finish(const Ledger& ledger) {
        for (int first = 0; first < n_; first += full_.n_rows())
            finish(first, std::min(full_.n_rows(), n_ - first), ledger);
    }
    void finish(int first, int n, const Ledger& ledger) {
        const bool full = call_.at_end == AtEnd::full;
        const double* scores = full ? full_.of({ids_ + first, n, n_ - first, false}) : nullptr;
        for (int i = 0; i < n; ++i) {
            const double* const found = full ? scores + std::int64_t{i} * outputs_ : nullptr;
            const Answer answer = full ? c_.full_answer(found, work_) : kPending;
            write(first + i, answer, c_.n_stages(), ledger);
            ledger.keep(position(first + i), answer.status, found);
        }
    }

    const TreeCascade& c_;
    const Call& call_;
    int outputs_;
    std::int64_t capacity_;
    bool two_sided_;  // whether estimates are compared with two thresholds, not their confidence with one
    bool by_margin_;  // whether this confidence is the margin of one score
    bool several_;    // whether the estimates of several scores are answers
    bool f64_;        // whether single rows are compared in float64
    TileReader tiles_;
    TreeEnsemble::FullScores full_;
    Race race_;
    CarriedSums sums_;
    std::int64_t begin_ = 0;
    int n_ = 0;  // undecided rows
    std::int64_t* ids_;
    std::int32_t* positions_;  // counted from begin_
    float *estimates_, *row_sums_, *z_, *float_work_;
    float* kept_scores_ = nullptr;  // as estimates_: with which the rows of a tile leave
    double* work_;
    std::int32_t codes_[kTileRows], stages_[kTileRows], kept_[kTileRows + 16];
    Status status_[kTileRows];
    alignas(64) std::int32_t best_[kTileRows];  // of a tile's rows, with several outputs: the labels
    alignas(64) float gaps_[kTileRows];         // and their confidence, also by margin
    alignas(64) float last_[kTileRows];       // by margin: the estimates with which they leave, of which best_ is made
    alignas(64) float variances_[kTileRows];  // of the errors of the estimates, where they are known
};

}  // namespace wald
