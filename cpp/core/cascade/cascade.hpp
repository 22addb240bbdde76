// The main loop of linear models and kernel machines: evaluate a block of terms for the active rows, estimate their
// scores, answer the rows that leave, compact the active set, repeat. Stopping rules reach it as thresholds.
#pragma once

#include <memory>
#include <utility>

#include "core/cascade/batch.hpp"
#include "core/cascade/sinks.hpp"

namespace wald {

// `Reference` evaluates in float64 the rows whose float32 score lies within rounding of a tie.
template <TermSource Source, Accumulator State, TermSource Reference>
    requires std::same_as<typename State::Source, Source>
class Cascade : public Engine {
public:
    using T = typename Source::Scalar;
    static constexpr int L = kLanes<T>;

    Cascade(const ModelShape& shape, std::shared_ptr<const Source> source, std::shared_ptr<const State> accumulator,
            std::shared_ptr<const Reference> reference, const Decision& decision, const StagesSpec& stages,
            double tie_margin)
        : Engine(shape, decision, stages, tie_margin), source_(std::move(source)), accumulator_(std::move(accumulator)),
          reference_(std::move(reference)), exits_(decision, stages), terms_(stages.terms.begin(), stages.terms.end()),
          least_variance_(static_cast<T>(stages.least_variance)) {
        while (n_head_ < n_stages() && (n_head_ == 0 || terms_[n_head_] <= kHeadPanels * L)) ++n_head_;
    }

    std::optional<std::span<const std::int32_t>> columns_read(int stages) const override {
        return source_->columns_read(stages == 0 ? 0 : terms_[stages - 1]);
    }

    void predict(const Call& call, const Ledger& ledger) const override {
        const Answering<T> sink(exits_, call, ledger);
        if constexpr (TileSource<Source>) {
            if (call.n_stages == 0 && call.at_end == AtEnd::full && call.n > 1 && !answers_by_reference())
                return answer_tiles(call, ledger);
        }
        if (call.n == 1) {
            run_all(call, sink, 1, [](std::int64_t i) { return i; });
            redo(call, sink, 0, 1);
            return;
        }
        for (std::int64_t begin = 0; begin < call.n; begin += kChunkRows) {
            const std::int64_t end = std::min(call.n, begin + kChunkRows);
            answer_rows(call, sink, begin, end);
            redo(call, sink, begin, end);
        }
    }

    void trace(const RowSet& set, const Trace& trace) const override {
        const Call call{set, n_stages(), AtEnd::pending, 0.0};
        each_batch(call.n, 1, tail_rows(), call.n_threads, [&](std::int64_t begin, std::int64_t end) {
            run_all(call, Tracing<T>{trace, n_stages()}, end - begin, [&](std::int64_t i) { return begin + i; });
        });
    }

protected:
    static constexpr int kHeadPanels = 8;
    static constexpr std::int64_t kHeadRows = 512, kChunkRows = 16384;
    static constexpr std::int64_t kMinRows = 32;  // fewer rows are not worth another thread

    std::int64_t slot_width(int stages) const { return accumulator_->slot_width(stages == 0 ? 0 : terms_[stages - 1]); }
    // Number of terms that a slot contains after the first `stages` stages.
    std::int64_t evaluated(int stages) const { return stages == 0 ? 0 : accumulator_->evaluated(terms_[stages - 1]); }
    std::int64_t tail_width(const Call& call) const {
        const std::int64_t early = slot_width(call.n_stages);
        return call.at_end == AtEnd::full ? std::max(early, source_->full_width()) : early;
    }
    // Whether full scores are those of the reference for every row, because they are answers themselves.
    bool answers_by_reference() const { return std::is_same_v<T, float> && decision().scored(); }
    // Rows per batch for which the scratch memory suffices through all terms.
    std::int64_t tail_rows() const {
        return Batch<Source>::fitting(*source_, std::max(slot_width(n_stages()), source_->full_width()), kBatchRows);
    }

    // Answers the rows at positions [begin, end). Rows within float32 rounding of a tie get the status handed_over, and
    // `redo` answers them. Fast paths override this function.
    virtual void answer_rows(const Call& call, const Answering<T>& sink, std::int64_t begin, std::int64_t end) const {
        run_rows(call, sink, end - begin, [&](std::int64_t i) { return begin + i; });
    }
    // Answers all rows of a call without early stages, tile by tile.
    void answer_tiles(const Call& call, const Ledger& ledger) const {
        const int stage = n_stages();
        each_tile(*source_, call, call.working, [&](std::int64_t begin, int n, const auto& tile, double* work) {
            const bool by_sign = decision().kind == DecisionKind::sign;
            if (by_sign || decision().kind == DecisionKind::argmax) {
                std::int32_t* const codes = ledger.codes + begin;
                Status* const status = ledger.status + begin;
                if (by_sign)
                    kernels<double>().decide_signs(tile.scores, tile.errors, n, tie_margin(), decision().threshold,
                                                   decision().tie_positive, codes, status);
                else decision().decide_argmax(tile.scores, tile.stride, tile.errors, n, tie_margin(), codes, status);
                std::fill_n(ledger.stages + begin, n, stage);
                ledger.pay(begin, begin + n);
                return;
            }
            for (int i = 0; i < n; ++i)
                ledger.write(begin + i,
                             decision().decide(tile.scores + i * tile.stride, tile.errors[i] + tie_margin(), work),
                             stage, tile.scores + i * tile.stride);
        });
    }
    // Runs the n rows at the given positions through all stages. Few rows go through in one batch. Many rows go through
    // the first stages (the head) tile by tile, where most of them leave; the survivors of all tiles continue together.
    template <class Position>
    void run_rows(const Call& call, const Answering<T>& sink, std::int64_t n, const Position& position) const {
        const int head = std::min(n_head_, call.n_stages);
        if (head == 0 || n <= call.n_threads * tail_rows()) {
            each_batch(n, head == 0 ? 1 : kMinRows, tail_rows(), call.n_threads,
                       [&](std::int64_t begin, std::int64_t end) {
                           run_all(call, sink, end - begin, [&](std::int64_t i) { return position(begin + i); });
                       });
            return;
        }
        struct Survivors {
            std::vector<std::int64_t> positions;
            std::vector<T> slots;
        };
        const std::int64_t width = slot_width(head);
        std::vector<Survivors> kept(static_cast<std::size_t>(call.n_threads));
        each_piece(n, Batch<Source>::fitting(*source_, width, kHeadRows), call.n_threads,
                   [&](std::int64_t begin, std::int64_t end, int worker) {
                       Batch<Source> batch(*source_, call, end - begin, width);
                       read(batch, sink, end - begin, [&](std::int64_t i) { return position(begin + i); });
                       run(batch, sink, 0, head);
                       Survivors& mine = kept[worker];
                       for (int r = 0; r < batch.size(); ++r) {
                           mine.positions.push_back(batch.position(r));
                           mine.slots.insert(mine.slots.end(), batch.slots()[r], batch.slots()[r] + width);
                       }
                   });
        std::vector<std::pair<std::int64_t, const T*>> pool;
        for (const Survivors& k : kept)
            for (std::size_t i = 0; i < k.positions.size(); ++i)
                pool.emplace_back(k.positions[i], k.slots.data() + i * width);
        each_batch(std::ssize(pool), kMinRows, tail_rows(), call.n_threads, [&](std::int64_t begin, std::int64_t end) {
            Batch<Source> batch(*source_, call, end - begin, tail_width(call));
            batch.read(
                end - begin, [&](std::int64_t i) { return pool[begin + i].first; },
                [&](std::int64_t i, int r) { std::copy_n(pool[begin + i].second, width, batch.slots()[r]); },
                [&](std::int64_t at) { sink.refuse(at); });
            run(batch, sink, head, call.n_stages);
            finish(batch, call, sink);
        });
    }
    // Takes the n rows at the given positions through all stages in one batch.
    template <class Sink, class Position>
    void run_all(const Call& call, const Sink& sink, std::int64_t n, const Position& position) const {
        Batch<Source> batch(*source_, call, n, tail_width(call));
        read(batch, sink, n, position);
        run(batch, sink, 0, call.n_stages);
        finish(batch, call, sink);
    }
    template <class Sink, class Position>
    void read(Batch<Source>& batch, const Sink& sink, std::int64_t n, const Position& position) const {
        if (n == 1) {
            if (batch.add(position(0)) < 0) sink.refuse(position(0));
            else accumulator_->start(batch.slots()[0]);
            return;
        }
        batch.read(
            n, position, [&](std::int64_t, int r) { accumulator_->start(batch.slots()[r]); },
            [&](std::int64_t at) { sink.refuse(at); });
    }
    // Runs stages [first, last). `begin` is the first term that slots do not contain yet; by default the end of the
    // previous stage.
    template <class Sink>
    void run(Batch<Source>& batch, const Sink& sink, int first, int last, std::int64_t begin = -1) const {
        for (int t = first; t < last && batch.size() > 0; ++t, begin = -1) {
            if (begin < 0) begin = evaluated(t);
            if (terms_[t] > begin) accumulator_->evaluate(batch.rows(), batch.slots(), batch.size(), begin, terms_[t]);
            int left = 0;
            if (source_->n_outputs() == 1 && (decision().two_sided() || std::is_same_v<Sink, Tracing<T>>)) {
                const auto estimate = accumulator_->estimate(t);
                for (int r = 0; r < batch.size(); ++r)
                    if (sink.stays(batch.position(r), t, estimate(batch.slots()[r]))) batch.move(r, left++);
            } else if (source_->n_outputs() == 1) {
                left = judge(batch, sink, t);
            } else {
                accumulator_->estimates(batch.slots(), batch.size(), t, batch.scores());
                for (int r = 0; r < batch.size(); ++r)
                    if (sink.stays(batch.position(r), t, decision().judge(batch.scores()[r], batch.work()),
                                   batch.scores()[r]))
                        batch.move(r, left++);
            }
            batch.shrink(left);
        }
    }
    // Lets the rows of a batch leave by the margins of one score. Returns the number of those that stay, which then
    // come first.
    template <class Sink>
    int judge(Batch<Source>& batch, const Sink& sink, int t) const {
        constexpr int kJudged = 64;
        const auto estimate = accumulator_->estimate(t);
        const bool varied = accumulator_->has_variances();
        T z[kJudged], variances[kJudged], confidence[kJudged];
        std::int32_t codes[kJudged];
        int left = 0;
        for (int first = 0; first < batch.size(); first += kJudged) {
            const int n = std::min(kJudged, batch.size() - first);
            for (int i = 0; i < n; ++i) z[i] = estimate(batch.slots()[first + i]);
            if (varied) {
                const auto variance = accumulator_->variance(t);
                for (int i = 0; i < n; ++i) variances[i] = variance(batch.slots()[first + i]);
            }
            exits_.margins(z, varied ? variances : nullptr, least_variance_, n, confidence);
            exits_.codes(z, n, codes);
            for (int i = 0; i < n; ++i)
                if (sink.stays(batch.position(first + i), t, Judgement<T>{codes[i], confidence[i], z[i]}))
                    batch.move(first + i, left++);
        }
        return left;
    }
    // Evaluates the rows that are still active after the last stage in full, or leaves them to `redo`, or pending, as
    // the call says.
    void finish(Batch<Source>& batch, const Call& call, const Answering<T>& sink) const {
        if (call.at_end != AtEnd::full || answers_by_reference()) {
            const Answer& none = call.at_end == AtEnd::full ? kHandedOver : kPending;
            for (int r = 0; r < batch.size(); ++r) sink.ledger.write(batch.position(r), none, n_stages());
            return;
        }
        batch.full(evaluated(call.n_stages), call.working,
                   [&](std::int64_t at, const double* scores, double error, double* work) {
                       sink.ledger.write(at, decision().decide(scores, error + tie_margin(), work), n_stages(), scores);
                   });
    }
    void finish(Batch<Source>&, const Call&, const Tracing<T>&) const {}

    // Evaluates rows at positions [begin, end) again, in float64, if their float32 score lies within rounding of a tie.
    void redo([[maybe_unused]] const Call& call, [[maybe_unused]] const Answering<T>& sink,
              [[maybe_unused]] std::int64_t begin, [[maybe_unused]] std::int64_t end) const {
        if constexpr (std::is_same_v<T, float>) {
            std::vector<std::int64_t> again, ids;
            for (std::int64_t i = begin; i < end; ++i) {
                if (sink.ledger.status[i] != Status::handed_over) continue;
                again.push_back(i);
                ids.push_back(call.row(i));
            }
            each_full(*reference_, {call.rows, ids.data(), std::ssize(ids), call.n_threads}, call.working,
                      [&](std::int64_t i, const double* scores, double error, double* work) {
                          const Answer answer =
                              scores == nullptr ? kNotFinite : decision().decide(scores, error + tie_margin(), work);
                          sink.ledger.write(again[i], answer, n_stages(), scores);
                      });
        }
    }

    std::shared_ptr<const Source> source_;
    std::shared_ptr<const State> accumulator_;
    std::shared_ptr<const Reference> reference_;
    Exits<T> exits_;
    std::vector<std::int64_t> terms_;
    T least_variance_;
    int n_head_ = 0;
};

}  // namespace wald
