// Fast path for linear models whose features are stored column by column. Each column is read for a whole tile of rows
// before the next one: first for all rows of the tile, with a vector register across rows; then, when few rows are
// active, for these only.
#pragma once

#include "core/cascade/cascade.hpp"
#include "core/models/stage_estimates.hpp"

namespace wald {

// A linear model with one output. Uses the column path where the layout of the rows allows it.
class ColumnCascade final : public Cascade<LinearModel, StageEstimates, LinearModel> {
public:
    using Cascade::Cascade;

private:
    class Tile;

    void answer_call(const Call& call, std::int64_t n, int n_threads) const override;
};

class ColumnCascade::Tile {
public:
    // Rows per tile, such that sums and values fit the scratch memory of a thread.
    static std::int64_t rows(int n_stages) {
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>(kScratchBytes / sizeof(T)) / (n_stages + StageEstimates::kGathered), L, kMaxRows);
    }

    Tile(const ColumnCascade& cascade, const Call& call, std::int64_t first, int n)
        : c_(cascade), call_(call), first_(first), n_(n) {}

    void run(const StageEstimates::Columns& columns) {
        // A call that must answer at its last stage evaluates this stage from whole rows; columns serve the stages
        // before it.
        const int most =
            std::min(columns.n_stages, call_.at_end == AtEnd::answer ? call_.n_stages - 1 : call_.n_stages);
        std::int32_t active[kMaxRows], from[kMaxRows];
        for (int r = 0; r < n_; ++r) active[r] = r;
        int left = n_, stage = 0;
        {
            const Ledger& all = call_.ledger;
            const Ledger mine{all.codes + first_, all.stages + first_, all.status + first_};
            std::fill_n(mine.status, n_, Status::pending);
            T scores[kMaxRows];
            for (; stage < most && left * kSparseShare > n_; ++stage) {
                c_.accumulator_->column_scores(columns, first_, n_, stage, scores);
                left = decide(stage, scores, n_, mine, active);
            }
        }
        if (left == 0) return;
        Arena& arena = column_arena();
        const std::int64_t stride = round_up(left, L);
        arena.reset(Arena::bytes<T>(stride * call_.n_stages) + Arena::bytes<T>(stride * StageEstimates::kGathered));
        T* sums = arena.take<T>(stride * call_.n_stages);
        T* values = arena.take<T>(stride * StageEstimates::kGathered);
        for (int t = stage; t < call_.n_stages; ++t) std::fill_n(sums + t * stride, stride, c_.accumulator_->bias(t));
        std::int64_t begin = 0;
        for (; stage < most && left > 0; ++stage) {
            const std::int64_t end = c_.stages_.terms[stage];
            c_.accumulator_->add_columns(columns, first_, active, left, stage, call_.n_stages, begin, end, sums, stride,
                                         values);
            begin = end;
            const int kept = decide_active(stage, sums + stage * stride, active, left, from);
            for (int t = stage + 1; t < call_.n_stages && kept < left; ++t)
                take_in_place(sums + t * stride, from, kept);
            left = kept;
        }
        // The remaining rows continue row by row, with the sums that they have.
        for (int at = 0; at < left; at += kHeadRows) {
            const int stop = std::min<int>(left, at + kHeadRows);
            Batch batch(c_, stop - at, c_.tail_width(call_));
            for (int i = at; i < stop; ++i) {
                const int r = batch.add(call_, first_ + active[i]);
                for (int t = stage; t < call_.n_stages; ++t) batch.slot(r)[t] = sums[t * stride + i];
            }
            batch.run(call_, stage, call_.n_stages, begin);
            batch.finish(call_);
        }
    }

private:
    static constexpr int kMaxRows = 2048;

    int decide(int stage, const T* z, int n, const Ledger& ledger, std::int32_t* kept) const {
        return kernels<T>().decide(z, n, c_.stages_.low[stage], c_.stages_.high[stage], stage, ledger, kept);
    }

    // x[i] = x[from[i]] for ascending from[i] >= i. Unrolled, because the loop is bound by its instructions.
    template <class V>
    static void take_in_place(V* x, const std::int32_t* from, int n) {
#pragma GCC unroll 4
        for (int i = 0; i < n; ++i) x[i] = x[from[i]];
    }

    // Answers the active rows that the stage decides and compacts the rest; from[i] is the previous index of the row
    // now at i. Branch-free: rows that stay are written, too, as pending.
    int decide_active(int stage, const T* z, std::int32_t* active, int n, std::int32_t* from) const {
        std::int32_t codes[kMaxRows], stages[kMaxRows];
        Status status[kMaxRows];
        std::fill_n(status, n, Status::pending);
        const int kept = decide(stage, z, n, {codes, stages, status}, from);
        for (int i = 0; i < n; ++i) {
            call_.ledger.codes[first_ + active[i]] = codes[i];
            call_.ledger.stages[first_ + active[i]] = stage;
            call_.ledger.status[first_ + active[i]] = status[i];
        }
        take_in_place(active, from, kept);
        return kept;
    }

    static Arena& column_arena() {
        static thread_local Arena arena;
        return arena;
    }

    const ColumnCascade& c_;
    const Call& call_;
    std::int64_t first_;
    int n_;
};

inline void ColumnCascade::answer_call(const Call& call, std::int64_t n, int n_threads) const {
    if (call.n_stages > 0 && call.ids == nullptr && n > 1) {
        const StageEstimates::Columns columns = accumulator_->columns(call.rows, call.n_stages);
        if (columns.n_stages > 0) {
            each_piece(n, Tile::rows(call.n_stages), n_threads, [&](std::int64_t begin, std::int64_t end, int) {
                Tile(*this, call, begin, static_cast<int>(end - begin)).run(columns);
                call.ledger.pay(begin, end);
            });
            return;
        }
    }
    Cascade::answer_call(call, n, n_threads);
}

}  // namespace wald
