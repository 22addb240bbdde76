// Neighbouring rows whose features lie in columns. A column is read for many rows before the next one: first for all
// rows of the tile, a vector of rows at a time; then, when few are left, for these alone.
#pragma once

#include "core/cascade/cascade.hpp"
#include "core/models/linear_model.hpp"

namespace wald {

// A linear model with one output. It reads columns one after the other where they lie so.
class ColumnCascade final : public Cascade<LinearModel, StageEstimates, LinearModel> {
public:
    using Cascade::Cascade;

private:
    class Tile;

    void answer_call(const Call& call, std::int64_t n, int n_threads) const override;
};

class ColumnCascade::Tile {
public:
    // Rows of a tile: their sums and values take no more than a thread's scratch.
    static std::int64_t rows(int n_looks) {
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>(kScratchBytes / sizeof(T)) / (n_looks + StageEstimates::kGathered), L, kMostRows);
    }

    Tile(const ColumnCascade& cascade, const Call& call, std::int64_t first, int n)
        : c_(cascade), call_(call), first_(first), n_(n) {}

    void run(const StageEstimates::Columns& columns) {
        // The last look of a call that answers there is not for columns.
        const int most = std::min(columns.n_looks, call_.at_end == AtEnd::answer ? call_.n_stages - 1 : call_.n_stages);
        std::int32_t live[kMostRows], from[kMostRows];
        for (int r = 0; r < n_; ++r) live[r] = r;
        std::fill_n(call_.codes + first_, n_, kPending);
        int left = n_, look = 0;
        {
            T scores[kMostRows];
            for (; look < most && left * kSparseShare > n_; ++look) {
                c_.kept_->column_scores(columns, first_, n_, look, scores);
                left = decide(look, scores, n_, call_.codes + first_, call_.stages + first_, live);
            }
        }
        if (left == 0) return;
        Arena& arena = column_arena();
        const std::int64_t stride = round_up(left, L);
        arena.reset(Arena::bytes<T>(stride * call_.n_stages) + Arena::bytes<T>(stride * StageEstimates::kGathered));
        T* sums = arena.take<T>(stride * call_.n_stages);
        T* values = arena.take<T>(stride * StageEstimates::kGathered);
        for (int t = look; t < call_.n_stages; ++t) std::fill_n(sums + t * stride, stride, c_.kept_->bias(t));
        std::int64_t begin = 0;
        for (; look < most && left > 0; ++look) {
            const std::int64_t end = c_.stages_.terms[look];
            c_.kept_->add_columns(columns, first_, live, left, look, call_.n_stages, begin, end, sums, stride, values);
            begin = end;
            const int kept = judge(look, sums + look * stride, live, left, from);
            for (int t = look + 1; t < call_.n_stages && kept < left; ++t)
                for (int i = 0; i < kept; ++i) sums[t * stride + i] = sums[t * stride + from[i]];
            left = kept;
        }
        // What is left goes on row by row, from where it is.
        for (int at = 0; at < left; at += kHeadRows) {
            const int stop = std::min<int>(left, at + kHeadRows);
            Batch batch(c_, stop - at, c_.tail_width(call_));
            for (int i = at; i < stop; ++i) {
                const int r = batch.add(call_, first_ + live[i]);
                for (int t = look; t < call_.n_stages; ++t) batch.slot(r)[t] = sums[t * stride + i];
            }
            batch.run(call_, look, call_.n_stages, begin);
            batch.finish(call_);
        }
    }

private:
    static constexpr int kMostRows = 2048;

    int decide(int look, const T* z, int n, std::int32_t* codes, std::int32_t* stages, std::int32_t* kept) const {
        return kernels<T>().settle(z, n, c_.stages_.low[look], c_.stages_.high[look], look, codes, stages, kept);
    }

    // Answers live rows and compacts the active set: of the row that is i-th now, from[i] says where it was. A row that
    // stays is written to as well, and stays pending, so that nothing hangs on a guess which of them leave.
    int judge(int look, const T* z, std::int32_t* live, int n, std::int32_t* from) const {
        std::int32_t codes[kMostRows], stages[kMostRows];
        std::fill_n(codes, n, kPending);
        const int kept = decide(look, z, n, codes, stages, from);
        for (int i = 0; i < n; ++i) {
            call_.codes[first_ + live[i]] = codes[i];
            call_.stages[first_ + live[i]] = look;
        }
        for (int i = 0; i < kept; ++i) live[i] = live[from[i]];
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
        const StageEstimates::Columns columns = kept_->columns(call.rows, call.n_stages);
        if (columns.n_looks > 0) {
            each_piece(n, Tile::rows(call.n_stages), n_threads, [&](std::int64_t begin, std::int64_t end, int) {
                Tile(*this, call, begin, static_cast<int>(end - begin)).run(columns);
            });
            return;
        }
    }
    Cascade::answer_call(call, n, n_threads);
}

}  // namespace wald
