// Fast path for linear models and sums over columns whose rows are stored column by column. Each column is read for a
// whole tile of rows before the next one: first for all rows of the tile, with a vector register across rows; then,
// when few rows are active, for these only.
#pragma once

#include "core/cascade/cascade.hpp"
#include "core/limits.hpp"
#include "core/models/stage_estimates.hpp"

namespace wald {

// A linear model or a sum over columns with one output. Uses the column path where the layout of the rows allows it.
template <class State>
class ColumnCascade final : public Cascade<typename State::Source, State, typename State::Source> {
    using Base = Cascade<typename State::Source, State, typename State::Source>;
    using Base::accumulator_, Base::exits_, Base::least_variance_, Base::source_, Base::terms_, Base::finish,
        Base::kHeadRows, Base::L, Base::run, Base::tail_width;
    using typename Base::T;
    using Columns = typename State::Columns;

public:
    using Base::Base;

    void predict(const Call& call, const Ledger& ledger) const override {
        if (call.n_stages > 0 && call.ids == nullptr && call.n > 1) {
            const Columns columns = accumulator_->columns(call.rows, call.n_stages);
            if (columns.n_stages > 0) {
                // Sums and values of a tile fit the scratch memory of a thread.
                const std::int64_t width = n_sums(call) + accumulator_->tile_width(columns);
                const auto room = static_cast<std::int64_t>(kScratchBytes / sizeof(T)) / width;
                each_piece(call.n, std::clamp<std::int64_t>(room, L, kMaxRows), call.n_threads,
                           [&](std::int64_t begin, std::int64_t end, int) {
                               answer_tile(call, ledger, columns, begin, static_cast<int>(end - begin));
                               ledger.pay(begin, end);
                           });
                return;
            }
        }
        Base::predict(call, ledger);
    }

private:
    static constexpr int kMaxRows = 2048;

    // Sums that a row carries: the estimates of the stages and, where rows have them, their variances behind these.
    std::int64_t n_sums(const Call& call) const {
        return (accumulator_->has_variances() ? 2 : 1) * std::int64_t{call.n_stages};
    }
    // Answers rows [first, first + n).
    void answer_tile(const Call& call, const Ledger& ledger, const Columns& columns, std::int64_t first, int n) const {
        // A call that must answer at its last stage evaluates this stage from whole rows; columns serve the stages
        // before it.
        const int most = std::min(columns.n_stages, call.at_end == AtEnd::answer ? call.n_stages - 1 : call.n_stages);
        std::int32_t active[kMaxRows], from[kMaxRows];
        for (int r = 0; r < n; ++r) active[r] = r;
        int left = n, stage = 0;
        T last[kMaxRows];  // the estimates with which rows have left, if they leave by a margin
        {
            const Ledger tile{ledger.codes + first, ledger.stages + first, ledger.status + first};
            std::fill_n(tile.status, n, Status::pending);
            T scores[kMaxRows], own[kMaxRows];
            const T* const variances = accumulator_->has_variances() ? own : nullptr;
            for (; stage < most && left * State::kSparseShare > n; ++stage) {
                accumulator_->column_scores(columns, first, n, stage, scores);
                if (variances != nullptr) accumulator_->column_variances(columns, first, n, stage, own);
                left = decide(stage, scores, variances, n, tile, active, last);
            }
        }
        if (left == 0) return settle(ledger, first, n, last);
        static thread_local Arena arena;
        const std::int64_t stride = round_up(left, L);
        const bool varied = accumulator_->has_variances();
        arena.reset(Arena::bytes<T>(stride * n_sums(call)) + Arena::bytes<T>(stride * State::kGathered));
        T* sums = arena.take<T>(stride * n_sums(call));
        T* const variances = varied ? sums + stride * call.n_stages : nullptr;
        T* values = arena.take<T>(stride * State::kGathered);
        for (int t = stage; t < call.n_stages; ++t) {
            std::fill_n(sums + t * stride, stride, accumulator_->bias(t));
            if (varied) std::fill_n(variances + t * stride, stride, accumulator_->bias(accumulator_->variance_of(t)));
        }
        std::int64_t begin = 0;
        for (; stage < most && left > 0; ++stage) {
            const std::int64_t end = terms_[stage];
            accumulator_->add_columns(columns, first, active, left, stage, call.n_stages, begin, end, sums, stride,
                                      values);
            begin = end;
            const int kept = decide_active(stage, sums + stage * stride, varied ? variances + stage * stride : nullptr,
                                           ledger, first, active, left, from, last);
            for (int t = stage + 1; t < call.n_stages && kept < left; ++t) {
                take_in_place(sums + t * stride, from, kept);
                if (varied) take_in_place(variances + t * stride, from, kept);
            }
            left = kept;
        }
        settle(ledger, first, n, last);
        if (left == 0) return;
        if (stage == call.n_stages && call.at_end == AtEnd::full)
            return answer_in_full(call, ledger, first, active, left);
        // The remaining rows continue row by row, with the sums that they have.
        const Answering<T> sink(exits_, call, ledger);
        for (int at = 0; at < left; at += kHeadRows) {
            const int stop = std::min<int>(left, at + kHeadRows);
            Batch<typename State::Source> batch(*source_, call, stop - at, tail_width(call));
            for (int i = at; i < stop; ++i) {
                T* const slot = batch.slots()[batch.add(first + active[i])];
                accumulator_->start(slot);
                for (int t = stage; t < call.n_stages; ++t) {
                    slot[t] = sums[t * stride + i];
                    if (varied) slot[accumulator_->variance_of(t)] = variances[t * stride + i];
                }
            }
            run(batch, sink, stage, call.n_stages, begin);
            finish(batch, call, sink);
        }
    }

    // Answers rows first + active[i] by their full scores.
    void answer_in_full(const Call& call, const Ledger& ledger, std::int64_t first, const std::int32_t* active,
                        int n) const {
        std::int64_t ids[kMaxRows];
        for (int i = 0; i < n; ++i) ids[i] = first + active[i];
        each_tile(*source_, {call.rows, ids, n, 1}, call.working,
                  [&](std::int64_t begin, int m, const auto& tile, double* work) {
                      for (int i = 0; i < m; ++i)
                          ledger.write(ids[begin + i],
                                       this->decision().decide(tile.scores + i * tile.stride,
                                                               tile.errors[i] + this->tie_margin(), work),
                                       this->n_stages());
                  });
    }
    int decide(int stage, const T* z, const T* variances, int n, const Ledger& ledger, std::int32_t* kept,
               T* last) const {
        const T high = exits_.high[stage];
        if (exits_.decision.two_sided())
            return kernels<T>().decide(z, n, exits_.low[stage], high, stage, ledger, kept, nullptr, nullptr);
        T margins[kMaxRows];
        exits_.margins(z, variances, least_variance_, n, margins);
        constexpr T lowest = -std::numeric_limits<T>::infinity();
        return kernels<T>().decide(margins, n, lowest, high, stage, ledger, kept, z, last);
    }
    // Answers the active rows that the stage decides and compacts the rest; from[i] is the previous index of the row
    // now at i. Branch-free: rows that stay are written, too, as pending.
    int decide_active(int stage, const T* z, const T* variances, const Ledger& ledger, std::int64_t first,
                      std::int32_t* active, int n, std::int32_t* from, T* last) const {
        std::int32_t codes[kMaxRows], stages[kMaxRows];
        Status status[kMaxRows];
        T found[kMaxRows];
        std::fill_n(status, n, Status::pending);
        const int kept = decide(stage, z, variances, n, {codes, stages, status}, from, found);
        for (int i = 0; i < n; ++i) {
            ledger.codes[first + active[i]] = codes[i];
            ledger.stages[first + active[i]] = stage;
            ledger.status[first + active[i]] = status[i];
        }
        if (!exits_.decision.two_sided())
            for (int i = 0; i < n; ++i) last[active[i]] = found[i];
        take_in_place(active, from, kept);
        return kept;
    }
    // Gives the rows of a tile that have left by a margin the answers of their last estimates.
    void settle(const Ledger& ledger, std::int64_t first, int n, const T* last) const {
        if (exits_.decision.two_sided()) return;
        std::int32_t codes[kMaxRows];
        exits_.codes(last, n, codes);
        for (int i = 0; i < n; ++i) {
            const bool early = ledger.status[first + i] == Status::early;
            ledger.codes[first + i] = early ? codes[i] : 0;
            if (ledger.scores != nullptr) ledger.scores[first + i] = early ? last[i] : kPending.score;
        }
    }
    // x[i] = x[from[i]] for ascending from[i] >= i. Unrolled, because the loop is bound by its instructions.
    template <class V>
    static void take_in_place(V* x, const std::int32_t* from, int n) {
#pragma GCC unroll 4
        for (int i = 0; i < n; ++i) x[i] = x[from[i]];
    }
};

}  // namespace wald
