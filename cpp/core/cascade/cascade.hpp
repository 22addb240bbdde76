// The main loop of linear models and kernel machines: evaluate a block of terms for the active rows, estimate their
// scores, answer the rows that leave, compact the active set, repeat. Stopping rules reach it as thresholds.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>

#include "core/arena.hpp"
#include "core/cascade/decision.hpp"
#include "core/cascade/engine.hpp"
#include "core/cascade/kernels.hpp"
#include "core/cascade/terms.hpp"
#include "core/limits.hpp"
#include "core/models/rows.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// The stages before the full model. After terms[t] terms, a row leaves if its estimate is above high[t] or below low[t]
// (one output), or if its confidence is above high[t] (several outputs).
template <class T>
struct Stages {
    std::vector<std::int64_t> terms;
    std::vector<T> low, high;

    int size() const { return static_cast<int>(terms.size()); }
};

// `Reference` evaluates in float64 the rows whose float32 score lies within rounding of a tie.
template <TermSource Source, Accumulator State, TermSource Reference>
    requires std::same_as<typename State::Source, Source>
class Cascade : public Engine {
public:
    using T = typename Source::Scalar;
    static constexpr int L = kLanes<T>;

    Cascade(const ModelShape& shape, std::shared_ptr<const Source> source, std::shared_ptr<const State> accumulator,
            std::shared_ptr<const Reference> reference, const Decision& decision, Stages<T> stages,
            std::span<const double> costs, double tie_margin)
        : Engine(shape, decision, costs, tie_margin), source_(std::move(source)), accumulator_(std::move(accumulator)),
          reference_(std::move(reference)), decision_(decision), stages_(std::move(stages)), tie_margin_(tie_margin),
          padded_outputs_(round_up(source_->n_outputs(), L)) {
        while (n_head_ < stages_.size() && (n_head_ == 0 || stages_.terms[n_head_] <= kHeadPanels * L)) ++n_head_;
    }

    int n_stages() const override { return stages_.size(); }
    std::optional<std::span<const std::int32_t>> columns_read(int n_stages) const override {
        return source_->columns_read(n_stages == 0 ? 0 : stages_.terms[n_stages - 1]);
    }

    void predict(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_stages, AtEnd at_end, double working,
                 int n_threads, const Ledger& ledger) const override {
        answer_call({rows, ids, n_stages, at_end, working, ledger}, n, threads_for(n, n_threads));
    }

    void predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double working,
                     const Ledger& ledger) const override {
        const Call call{rows, &r, n_stages, at_end, working, ledger};
        run_range(call, 0, 1, [](std::int64_t i) { return i; });
        redo(call, 0, 1, 1);
    }

    void trace(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
               const Trace& trace) const override {
        const Call call{rows,
                        ids,
                        stages_.size(),
                        AtEnd::pending,
                        0.0,
                        {},
                        {static_cast<T*>(trace.scores), trace.codes, static_cast<T*>(trace.confidence)}};
        run_all(call, n, n_threads);
    }

    void full_scores(const Rows& rows, const std::int64_t* ids, std::int64_t n, double working, int n_threads,
                     double* scores, double* errors) const override {
        const Call call{rows, ids, 0, AtEnd::full, working, {}, {}, scores, errors};
        run_all(call, n, n_threads);
    }

    void values(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                double* values) const override {
        const std::int64_t n_terms = source_->n_terms();
        const std::int64_t width = std::max(accumulator_->slot_width(n_terms), source_->slot_width(n_terms));
        const Call call{rows, ids, 0, AtEnd::pending, 0.0, {}};
        std::fill_n(values, n * n_terms, std::numeric_limits<double>::quiet_NaN());
        const int n_workers = threads_for(n, n_threads);
        const std::int64_t share = (n + n_workers - 1) / n_workers;
        each_piece(n, std::clamp<std::int64_t>(share, 1, tile_rows(width, kTailRows)), n_workers,
                   [&](std::int64_t begin, std::int64_t end, int) {
                       Batch batch(*this, static_cast<int>(end - begin), width);
                       batch.read(call, end - begin, [&](std::int64_t i) { return begin + i; });
                       batch.copy_values(values);
                   });
    }

protected:
    static constexpr int kHeadPanels = 8;
    static constexpr std::int64_t kHeadRows = 512, kTailRows = 512, kChunkRows = 16384;
    static constexpr std::int64_t kMinRows = 32;             // fewer rows are not worth another thread
    static constexpr std::size_t kScratchBytes = 12u << 20;  // per thread

    struct TraceOutput {
        T* scores = nullptr;
        std::int32_t* codes = nullptr;
        T* confidence = nullptr;
    };
    struct Call {
        const Rows& rows;
        const std::int64_t* ids;
        int n_stages;
        AtEnd at_end;
        double working;
        Ledger ledger;
        TraceOutput traced = {};
        double* scores = nullptr;  // if not null: full scores and their errors are written instead of answers
        double* errors = nullptr;
        std::int64_t row(std::int64_t position) const { return ids == nullptr ? position : ids[position]; }
        bool tracing() const { return ledger.codes == nullptr && scores == nullptr; }
    };

    std::int64_t slot_width(int n_stages) const {
        return accumulator_->slot_width(n_stages == 0 ? 0 : stages_.terms[n_stages - 1]);
    }
    // Number of terms in a slot after the first n_stages stages.
    std::int64_t evaluated(int n_stages) const {
        return n_stages == 0 ? 0 : accumulator_->evaluated(stages_.terms[n_stages - 1]);
    }
    std::int64_t tail_width(const Call& call) const {
        const std::int64_t early = slot_width(call.n_stages);
        return call.at_end == AtEnd::full && !call.tracing() ? std::max(early, source_->full_width()) : early;
    }
    std::int64_t tile_rows(std::int64_t width, std::int64_t most) const {
        const std::size_t row = Arena::bytes<T>(width) + Arena::bytes<T>(padded_outputs_) + source_->row_bytes() + 64;
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(kScratchBytes / row), 1, most);
    }
    // Rows per tile for which the scratch memory suffices through all terms.
    std::int64_t tail_rows() const {
        return tile_rows(std::max(slot_width(stages_.size()), source_->full_width()), kTailRows);
    }
    static void each_piece(std::int64_t n, std::int64_t size, int n_threads,
                           const std::function<void(std::int64_t, std::int64_t, int)>& piece) {
        parallel_for((n + size - 1) / size, n_threads,
                     [&](std::int64_t i, int worker) { piece(i * size, std::min(n, (i + 1) * size), worker); });
    }
    // Number of threads for n rows, at least one row each. Evaluated once per call, because another thread may change
    // the limit.
    static int threads_for(std::int64_t n, int n_threads) {
        return static_cast<int>(std::clamp<std::int64_t>(n_threads, 1, std::clamp<std::int64_t>(n, 1, thread_limit())));
    }
    // Answers the n rows of a call. Fast paths override it.
    virtual void answer_call(const Call& call, std::int64_t n, int n_threads) const {
        for (std::int64_t base = 0; base < n; base += kChunkRows) {
            const std::int64_t stop = std::min(n, base + kChunkRows);
            answer_rows(call, base, stop, n_threads);
            redo(call, base, stop, n_threads);
        }
    }
    // Answers the rows at positions [begin, end); float32 ties are handed over. Fast paths override it.
    virtual void answer_rows(const Call& call, std::int64_t begin, std::int64_t end, int n_threads) const {
        run_rows(call, end - begin, [&](std::int64_t i) { return begin + i; }, n_threads);
    }
    // Runs the n rows at the given positions through all stages. Few rows go through in one batch. Many rows go through
    // the first stages (the head) tile by tile, where most of them leave; the survivors of all tiles continue together.
    template <class Position>
    void run_rows(const Call& call, std::int64_t n, const Position& position, int n_threads) const {
        const int head = std::min(n_head_, call.n_stages);
        if (head == 0 || n <= n_threads * tail_rows()) {
            each_batch(n, head == 0 ? 1 : kMinRows, n_threads,
                       [&](std::int64_t begin, std::int64_t end) { run_range(call, begin, end, position); });
            return;
        }
        struct Survivors {
            std::vector<std::int64_t> positions;
            std::vector<T> slots;
        };
        const std::int64_t width = slot_width(head);
        std::vector<Survivors> kept(n_threads);
        each_piece(n, tile_rows(width, kHeadRows), n_threads, [&](std::int64_t begin, std::int64_t end, int worker) {
            Batch batch(*this, static_cast<int>(end - begin), width);
            batch.read(call, end - begin, [&](std::int64_t i) { return position(begin + i); });
            batch.run(call, 0, head);
            Survivors& mine = kept[worker];
            for (int r = 0; r < batch.n_active(); ++r) {
                mine.positions.push_back(batch.position(r));
                mine.slots.insert(mine.slots.end(), batch.slot(r), batch.slot(r) + width);
            }
        });
        std::vector<std::pair<std::int64_t, const T*>> pool;
        for (const Survivors& k : kept)
            for (std::size_t i = 0; i < k.positions.size(); ++i)
                pool.emplace_back(k.positions[i], k.slots.data() + i * width);
        each_batch(static_cast<std::int64_t>(pool.size()), kMinRows, n_threads,
                   [&](std::int64_t begin, std::int64_t end) {
                       Batch batch(*this, static_cast<int>(end - begin), tail_width(call));
                       batch.read(
                           call, end - begin, [&](std::int64_t i) { return pool[begin + i].first; },
                           [&](std::int64_t i, int r) { std::copy_n(pool[begin + i].second, width, batch.slot(r)); });
                       batch.run(call, head, call.n_stages);
                       batch.finish(call);
                   });
    }
    // Splits n rows into batches that fit the scratch memory, with at least one batch of `least` rows or more for each
    // thread.
    void each_batch(std::int64_t n, std::int64_t least, int n_threads,
                    const std::function<void(std::int64_t, std::int64_t)>& batch) const {
        const std::int64_t shares = std::clamp<std::int64_t>(n / least, 1, n_threads);
        each_piece(n, std::clamp<std::int64_t>((n + shares - 1) / shares, 1, tail_rows()), n_threads,
                   [&](std::int64_t begin, std::int64_t end, int) { batch(begin, end); });
    }
    // The label if the estimate is outside the thresholds of stage t, else kPending.
    Answer decided(T z, int t) const {
        const T largest = std::numeric_limits<T>::max();
        if (z > stages_.high[t] && z <= largest) return {1, Status::early};
        if (z < stages_.low[t] && z >= -largest) return {0, Status::early};
        return kPending;
    }
    void run_all(const Call& call, std::int64_t n, int n_threads) const {
        each_batch(n, 1, threads_for(n, n_threads), [&](std::int64_t begin, std::int64_t end) {
            run_range(call, begin, end, [](std::int64_t i) { return i; });
        });
    }
    template <class Position>
    void run_range(const Call& call, std::int64_t begin, std::int64_t end, const Position& position) const {
        Batch batch(*this, static_cast<int>(end - begin), tail_width(call));
        batch.read(call, end - begin, [&](std::int64_t i) { return position(begin + i); });
        batch.run(call, 0, call.n_stages);
        if (!call.tracing()) batch.finish(call);
    }

    class Batch;  // defined in batch.hpp

    // Evaluates rows at positions [begin, end) again, in float64, if their float32 score lies within rounding of a tie.
    void redo([[maybe_unused]] const Call& call, [[maybe_unused]] std::int64_t begin, [[maybe_unused]] std::int64_t end,
              [[maybe_unused]] int n_threads) const {
        if constexpr (std::is_same_v<T, float>) {
            std::vector<std::int64_t> again, ids;
            for (std::int64_t i = begin; i < end; ++i) {
                if (call.ledger.status[i] != Status::handed_over) continue;
                again.push_back(i);
                ids.push_back(call.row(i));
            }
            if (again.empty()) return;
            std::vector<std::int32_t> codes(again.size()), stages(again.size());
            std::vector<Status> status(again.size());
            const Cascade<Reference, TermValues<Reference>, Reference> all(
                shape(), reference_, std::make_shared<const TermValues<Reference>>(reference_, Readouts<double>{}),
                reference_, decision_, {}, {}, tie_margin_);
            all.predict(call.rows, ids.data(), std::ssize(ids), 0, AtEnd::full, call.working, n_threads,
                        {codes.data(), stages.data(), status.data()});
            for (std::size_t k = 0; k < again.size(); ++k)
                call.ledger.write(again[k], {codes[k], status[k]}, stages_.size());
        }
    }

    std::shared_ptr<const Source> source_;
    std::shared_ptr<const State> accumulator_;
    std::shared_ptr<const Reference> reference_;
    Decision decision_;
    Stages<T> stages_;
    double tie_margin_;
    std::int64_t padded_outputs_;
    int n_head_ = 0;
};

}  // namespace wald

#include "core/cascade/batch.hpp"
