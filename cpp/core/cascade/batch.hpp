// A batch of rows that goes through the stages of a cascade together: prepare, evaluate, decide, compact, answer.
// Included by cascade.hpp, which declares the class.
#pragma once

namespace wald {

// The active rows are the first n_active() ones, in the order in which they were added.
template <TermSource Source, Accumulator State, TermSource Reference>
    requires std::same_as<typename State::Source, Source>
class Cascade<Source, State, Reference>::Batch {
public:
    using Row = typename Source::Row;

    Batch(const Cascade& cascade, int capacity, std::int64_t width)
        : c_(cascade), width_(std::max<std::int64_t>(width, 1)) {
        Arena& arena = thread_arena();
        const std::int64_t n = capacity;
        const std::int64_t work =
            std::max<std::int64_t>({c_.padded_outputs_, c_.decision_.n_classes, c_.source_->full_work()});
        arena.reset(static_cast<std::size_t>(n) * c_.source_->row_bytes() + Arena::bytes<T>(n * width_) +
                    Arena::bytes<T>(n * c_.padded_outputs_) + Arena::bytes<Row>(n) + 16 * kPanelBytes +
                    3 * Arena::bytes<void*>(n) + Arena::bytes<std::int64_t>(n) + Arena::bytes<T>(work) +
                    2 * Arena::bytes<double>(work));
        rows_storage_ = arena.take<Row>(n);
        rows_ = arena.take<const Row*>(n);
        slots_ = arena.take<T*>(n);
        scores_ = arena.take<T*>(n);
        positions_ = arena.take<std::int64_t>(n);
        slot_storage_ = arena.take<T>(n * width_);
        score_storage_ = arena.take<T>(n * c_.padded_outputs_);
        work_ = arena.take<T>(work);
        full_ = arena.take<double>(work);
        votes_ = arena.take<double>(work);
        scratch_ = c_.source_->scratch(arena, n);
    }

    // Prepares a row and returns its index in the batch. A row that is not finite is answered at once; returns -1.
    int add(const Call& call, std::int64_t position) {
        return add_prepared(call, position, [&](Row& row) {
            return c_.source_->prepare(call.rows, call.row(position), row, scratch_);
        });
    }

    // Prepares the rows at n positions. Calls added(i, r) for each finite row: the i-th position is row r of the batch.
    template <class Position, class Added>
    void read(const Call& call, std::int64_t n, const Position& position, const Added& added) {
        constexpr int kBlockRows = Source::kBlockRows;
        if (n == 1) {
            const int r = add(call, position(0));
            if (r >= 0) added(0, r);
            return;
        }
        for (std::int64_t at = 0; at < n; at += kBlockRows) {
            const int m = static_cast<int>(std::min<std::int64_t>(kBlockRows, n - at));
            std::int64_t rows[kBlockRows];
            for (int i = 0; i < m; ++i) rows[i] = call.row(position(at + i));
            const auto block = c_.source_->block(call.rows, rows, m, scratch_);
            for (int i = 0; i < m; ++i) {
                const int r = add_prepared(call, position(at + i),
                                           [&](Row& row) { return c_.source_->prepare(block, i, row, scratch_); });
                if (r >= 0) added(at + i, r);
            }
        }
    }
    template <class Position>
    void read(const Call& call, std::int64_t n, const Position& position) {
        read(call, n, position, [](std::int64_t, int) {});
    }

    int n_active() const { return n_; }
    std::int64_t position(int r) const { return positions_[r]; }
    T* slot(int r) const { return slots_[r]; }

    // Runs stages [first_stage, last_stage). `begin` is the first term that slots do not contain yet; by default the
    // end of the previous stage.
    void run(const Call& call, int first_stage, int last_stage, std::int64_t begin = -1) {
        for (int t = first_stage; t < last_stage && n_ > 0; ++t, begin = -1) {
            const std::int64_t end = c_.stages_.terms[t];
            if (begin < 0) begin = c_.evaluated(t);
            if (end > begin) c_.accumulator_->evaluate(rows_, slots_, n_, begin, end);
            if (c_.source_->n_outputs() == 1) one_output(call, t, t + 1 == call.n_stages);
            else several_outputs(call, t, t + 1 == call.n_stages);
        }
    }

    // Evaluates all terms, and copies each row's values to its place in (positions, n_terms).
    void copy_values(double* to) {
        const std::int64_t n_terms = c_.source_->n_terms();
        if (n_ > 0) c_.source_->evaluate(rows_, slots_, n_, 0, n_terms);
        for (int r = 0; r < n_; ++r) std::copy_n(slots_[r], n_terms, to + positions_[r] * n_terms);
    }

    // Answers the rows that are still active after the last stage.
    void finish(const Call& call) {
        if (n_ == 0) return;
        if (call.at_end != AtEnd::full) {
            for (int r = 0; r < n_; ++r) call.ledger.write(positions_[r], kPending, c_.stages_.size());
            return;
        }
        const std::int64_t done = c_.evaluated(call.n_stages);
        if (c_.source_->full_width() > done) c_.accumulator_->evaluate(rows_, slots_, n_, done, c_.source_->n_terms());
        const int outputs = c_.source_->n_outputs(), prefetched = c_.source_->full_prefetch_rows();
        for (int r = 0; r < n_; ++r) {
            if (r % prefetched == 0) c_.source_->prefetch_full(rows_ + r, std::min(prefetched, n_ - r));
            const double e =
                c_.source_->full(call.rows, call.row(positions_[r]), *rows_[r], slots_[r], call.working, full_, work_);
            if (call.scores != nullptr) {
                std::copy(full_, full_ + outputs, call.scores + positions_[r] * outputs);
                call.errors[positions_[r]] = e + c_.tie_margin_;
                continue;
            }
            call.ledger.write(positions_[r], c_.decision_.decide(full_, e + c_.tie_margin_, votes_), c_.stages_.size());
        }
    }

private:
    template <class Prepare>
    int add_prepared(const Call& call, std::int64_t position, const Prepare& prepare) {
        Row& row = rows_storage_[n_];
        if (!prepare(row)) {
            refuse(call, position);
            return -1;
        }
        rows_[n_] = &row;
        slots_[n_] = slot_storage_ + n_ * width_;
        scores_[n_] = score_storage_ + n_ * c_.padded_outputs_;
        positions_[n_] = position;
        c_.accumulator_->start(slots_[n_]);
        return n_++;
    }

    void refuse(const Call& call, std::int64_t position) {
        if (call.scores != nullptr) {
            const int outputs = c_.source_->n_outputs();
            std::fill_n(call.scores + position * outputs, outputs, std::numeric_limits<double>::quiet_NaN());
            call.errors[position] = HUGE_VAL;
            return;
        }
        if (!call.tracing()) return call.ledger.write(position, kNotFinite, c_.stages_.size());
        const int n_stages = c_.stages_.size();
        for (int t = 0; t < n_stages; ++t) {
            const std::int64_t at = position * n_stages + t;
            if (call.traced.scores != nullptr) call.traced.scores[at] = std::numeric_limits<T>::quiet_NaN();
            else {
                call.traced.codes[at] = 0;
                call.traced.confidence[at] = std::numeric_limits<T>::quiet_NaN();
            }
        }
    }
    void keep(int r, int to) {
        rows_[to] = rows_[r];
        std::swap(slots_[to], slots_[r]);
        positions_[to] = positions_[r];
    }

    void one_output(const Call& call, int t, bool last) {
        const auto estimate = c_.accumulator_->estimate(t);
        const T largest = std::numeric_limits<T>::max();
        int left = 0;
        for (int r = 0; r < n_; ++r) {
            const T z = estimate(slots_[r]);
            if (call.tracing()) {
                call.traced.scores[positions_[r] * c_.stages_.size() + t] = z;
                keep(r, left++);
                continue;
            }
            const Answer answer = c_.decided(z, t);
            if (answer.status == Status::early) {
                call.ledger.write(positions_[r], answer, t);
            } else if (!(z >= -largest && z <= largest)) {
                call.ledger.write(positions_[r], kNotFinite, t);
            } else if (last && call.at_end == AtEnd::answer) {
                call.ledger.write(positions_[r], {c_.decision_.positive(z), Status::out_of_budget}, t);
            } else {
                keep(r, left++);
            }
        }
        n_ = left;
    }

    void several_outputs(const Call& call, int t, bool last) {
        const std::int64_t n_stages = c_.stages_.size();
        c_.accumulator_->estimates(slots_, n_, t, scores_);
        int left = 0;
        for (int r = 0; r < n_; ++r) {
            const Judgement<T> j = c_.decision_.judge(scores_[r], work_);
            if (call.tracing()) {
                call.traced.codes[positions_[r] * n_stages + t] = j.code;
                call.traced.confidence[positions_[r] * n_stages + t] = j.confidence;
                keep(r, left++);
                continue;
            }
            if (!(std::fabs(j.confidence) <= std::numeric_limits<T>::max())) {  // also catches NaN
                call.ledger.write(positions_[r], kNotFinite, t);
            } else if (j.confidence > c_.stages_.high[t]) {
                call.ledger.write(positions_[r], {j.code, Status::early}, t);
            } else if (last && call.at_end == AtEnd::answer) {
                call.ledger.write(positions_[r], {j.code, Status::out_of_budget}, t);
            } else {
                keep(r, left++);
            }
        }
        n_ = left;
    }

    const Cascade& c_;
    std::int64_t width_;
    int n_ = 0;
    typename Source::Scratch scratch_;
    Row* rows_storage_;
    const Row** rows_;
    T **slots_, **scores_;
    std::int64_t* positions_;
    T *slot_storage_, *score_storage_, *work_;
    double *full_, *votes_;
};

}  // namespace wald
