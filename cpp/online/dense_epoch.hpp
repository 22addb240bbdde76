// One epoch of a learner over dense rows. Rows are processed in batches; the memory that the next batch will need is
// prefetched meanwhile.
#pragma once

#include <optional>

#include "online/learner.hpp"

namespace wald::online {

template <class T>
class DenseEpoch {
public:
    DenseEpoch(Learner<T>& learner, const DenseBlock<T>& block, const Labels& labels,
               std::optional<std::uint64_t> shuffle)
        : l_(learner), c_(learner.config), block_(block), labels_(labels) {
        if (shuffle) order_.emplace(block.n_rows, *shuffle);
    }

    // Learns all rows; returns the sum of the losses seen.
    double run() {
        const std::int64_t n = block_.n_rows, first = l_.step;
        for (std::int64_t at = 0; at < std::min<std::int64_t>(kBatch, n); ++at) append(batches_[0], at, first);
        for (std::int64_t from = 0, current = 0; from < n; from += kBatch, current ^= 1) {
            give_way();
            Batch& batch = batches_[current];
            Batch& next = batches_[current ^ 1];
            next.n = 0;
            const std::int64_t after = std::min<std::int64_t>(kBatch, n - from - kBatch);
            // Stopped rows read little, so the whole next batch is prefetched early. Before boundaries are ready, whole
            // rows are read, and prefetching them early would fill the queue of outstanding misses.
            const auto prefetch_next = [&] {
                if (l_.boundary[0].ready() && l_.boundary[1].ready())
                    while (next.n < after) append(next, from + kBatch + next.n, first);
            };
            for (int i = 0; i < batch.n;) {
                compute_stops(batch, i, prefetch_next);
                prefetch_next();
                // Until a row changes the model: the stops of the rest of the batch are then computed again.
                for (bool same = true; same && i < batch.n; ++i) {
                    if (next.n < after && next.n <= i) append(next, from + kBatch + next.n, first);
                    same = !learn(batch, i);
                }
            }
        }
        return loss_;
    }

private:
    static constexpr int kBatch = kCheckRows, kPrefetchDistance = 2;
    static constexpr int kFull = -1;  // value of Batch::stop for a row that is read in full

    struct Batch {
        int n = 0;
        const T* x[kBatch];
        std::int64_t row[kBatch];
        double weight[kBatch];
        T z[kBatch];
        int stop[kBatch];
        bool positive[kBatch], audit[kBatch];
    };

    Boundary<T>& boundary_of(bool positive) { return l_.boundary[positive]; }

    // ---- prefetching ----

    // Appends the row at a place of the epoch to a batch, and prefetches its first pieces.
    void append(Batch& b, std::int64_t place, std::int64_t first) {
        const int i = b.n++;
        const std::int64_t r = order_ ? (*order_)(place) : place;
        const T* x = block_.data + r * block_.stride;
        b.row[i] = r;
        b.x[i] = x;
        b.positive[i] = labels_.is_positive(r);
        b.weight[i] = labels_.weight(r);
        b.stop[i] = kFull;
        b.audit[i] = c_.attention != Attention::full && l_.audits_at(first + place);
        if (b.weight[i] == 0) return;
        const Boundary<T>& bound = boundary_of(b.positive[i]);
        if (c_.attention == Attention::conditional && bound.ready() && !b.audit[i])
            prefetch_pieces(bound.at_checkpoint(0), 0, x);
        else prefetch_start(x);
    }
    // Into L2, because few misses of L1 can be outstanding.
    static void prefetch_line(const T* p) { __builtin_prefetch(p, 0, 2); }
    static void prefetch_pieces(const WeightedPieces<T>& pieces, int from, const T* x) {
        for (int p = from; p < pieces.n_pieces; ++p) prefetch_line(x + pieces.offsets[p]);
    }
    // The start of a row that will be read in full; the hardware prefetcher continues from there.
    void prefetch_start(const T* x) const {
        const std::int64_t far = std::min<std::int64_t>(c_.n_features, 16 * kLanes<T>);
        for (std::int64_t j = 0; j < far; j += kLanes<T>) prefetch_line(x + j);
    }

    // ---- reading ----

    // Speculation: computes the stops of the rows from `from` on, checkpoint by checkpoint, as if none of them changed
    // the model. Calls `meanwhile` after the first checkpoint, while the memory of the second one is fetched.
    template <class F>
    void compute_stops(Batch& b, int from, F meanwhile) {
        if (c_.attention == Attention::full) return;
        int active[kBatch], n = 0;
        const Boundary<T>* bounds[kBatch];
        const WeightedPieces<T>* pieces[kBatch];
        const T* rows[kBatch];
        T z[kBatch];
        const bool capped = c_.attention == Attention::budgeted;
        for (int i = from; i < b.n; ++i) {
            b.stop[i] = kFull;
            const Boundary<T>& bound = boundary_of(b.positive[i]);
            if (!bound.ready() || bound.walks(c_) || b.weight[i] == 0 || (b.audit[i] && !capped)) continue;
            bounds[n] = &bound;
            rows[n] = b.x[i];
            active[n++] = i;
        }
        Target t = target(c_, l_.step);
        for (int checkpoint = 0; n > 0; ++checkpoint) {
            for (int a = 0; a < n; ++a) pieces[a] = &bounds[a]->at_checkpoint(checkpoint);
            online_kernels<T>().scores(pieces, rows, n, z);
            int left = 0;
            for (int a = 0; a < n; ++a) {
                const int i = active[a];
                const double margin = sign(b.positive[i]) * static_cast<double>(z[a]);
                if (c_.rule == Rule::pegasos) t = target(c_, l_.step + i - from);
                if (capped || margin - t.threshold > bounds[a]->half_width(checkpoint, t.scale)) {
                    b.stop[i] = checkpoint;
                    b.z[i] = static_cast<T>(margin);
                } else if (checkpoint + 1 < bounds[a]->n_checkpoints()) {
                    prefetch_pieces(bounds[a]->at_checkpoint(checkpoint + 1), pieces[a]->n_pieces, rows[a]);
                    bounds[left] = bounds[a];
                    rows[left] = rows[a];
                    active[left++] = i;
                } else {
                    prefetch_start(rows[a]);
                }
            }
            n = left;
            if (checkpoint == 0) meanwhile();
        }
    }
    // The margin of a row that is read in full; `next` is a row to prefetch meanwhile, or null.
    double full_margin(const T* x, double y, const T* next = nullptr) const {
        const OnlineKernels<T>& k = online_kernels<T>();
        const T* w = l_.model.w.data();
        return y * (static_cast<double>(next ? k.dot_ahead(w, x, c_.n_features, next) : k.dot(w, x, c_.n_features)) +
                    l_.model.b);
    }
    // The row kPrefetchDistance places later, or null if it is unknown or has no weight.
    const T* row_to_prefetch(const Batch& b, int i) const {
        const bool here = i + kPrefetchDistance < b.n;
        const Batch& batch = here ? b : batches_[&b == batches_];
        const int at = here ? i + kPrefetchDistance : i + kPrefetchDistance - b.n;
        return at < batch.n && batch.weight[at] != 0 ? batch.x[at] : nullptr;
    }
    bool would_stop(const Boundary<T>& bound, const T* x, double y) const {
        const Target t = target(c_, l_.step);
        if (bound.walks(c_)) {
            double margin;
            return bound.walk(c_, t.threshold, x, &margin) < bound.n_checkpoints();
        }
        for (int checkpoint = 0; checkpoint < bound.n_checkpoints(); ++checkpoint) {
            const WeightedPieces<T>* pieces = &bound.at_checkpoint(checkpoint);
            T z;
            online_kernels<T>().scores(&pieces, &x, 1, &z);
            if (y * static_cast<double>(z) - t.threshold > bound.half_width(checkpoint, t.scale)) return true;
        }
        return false;
    }

    // ---- learning ----

    // Learns from a row; true if the stops of later rows must be computed again.
    bool learn(Batch& b, int i) {
        const bool positive = b.positive[i];
        Boundary<T>& bound = boundary_of(positive);
        const T* x = b.x[i];
        const double y = sign(positive);
        if (b.weight[i] == 0) return finish(false, false, false);
        double margin = 0;
        bool known = false;
        int stop = b.stop[i];
        if (stop != kFull) {
            margin = static_cast<double>(b.z[i]);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            l_.pay(bound.features(stop), bound.cost(stop));
            known = c_.attention == Attention::budgeted;
            if (!known) {
                if (l_.watch_all) count_stopped(positive, x, y);
                labels_.note(b.row[i], false);
                return finish(false, false, false);
            }
        } else if (bound.ready() && bound.walks(c_) && !b.audit[i]) {
            stop = bound.walk(c_, target(c_, l_.step).threshold, x, &margin);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            if (stop < bound.n_checkpoints()) {
                l_.pay(bound.features(stop), bound.cost(stop));
                if (l_.watch_all) count_stopped(positive, x, y);
                labels_.note(b.row[i], false);
                return finish(false, false, false);
            }
            l_.pay(c_.n_features, l_.total_cost);
            known = true;
        }
        if (!known) {
            margin = full_margin(x, y, c_.attention == Attention::full ? row_to_prefetch(b, i) : nullptr);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            l_.pay(c_.n_features, l_.total_cost);
        }
        const bool need = needed(c_, margin, l_.step);
        labels_.note(b.row[i], need);
        const bool audit = b.audit[i] && bound.ready(), capped = c_.attention == Attention::budgeted;
        const bool left = audit && !capped && would_stop(bound, x, y);
        if (bound.ready() && l_.watch_all) l_.truth[positive].add(left, need);
        const bool moved = audit && !capped && l_.add_audit(bound, l_.audits[positive], left, need);
        if (audit && capped) l_.pay(c_.n_features, l_.total_cost);
        if (l_.keeps_row(positive, b.audit[i])) bound.audited.add(c_, x, keeps_squares(c_));
        loss_ += b.weight[i] * loss(c_, margin, l_.step);
        if (need) {
            const double norm =
                is_passive(c_.rule) ? static_cast<double>(online_kernels<T>().dot(x, x, c_.n_features)) : 0;
            if (!std::isfinite(norm)) throw NotFinite(b.row[i]);  // the step would be 0, and nothing would be learnt
            l_.update(y * b.weight[i] * length(c_, margin, norm), x);
        }
        return finish(need, moved, l_.fit_is_due(positive, need));
    }
    // Counts a stopped row whose full margin is computed for monitoring only.
    void count_stopped(bool positive, const T* x, double y) {
        l_.truth[positive].add(true, needed(c_, full_margin(x, y), l_.step));
    }

    // Ends a step and updates the boundaries; true if later rows may now stop elsewhere.
    bool finish(bool updated, bool moved, bool fit_now) {
        l_.tick();
        if (fit_now)
            l_.fit_boundaries(
                [&](std::size_t y, double s, double scale) { l_.boundary[y].fit(c_, l_.units, l_.model, s, scale); });
        else if (updated)
            for (int y = 0; y < 2; ++y) boundary_of(y).refresh(c_, l_.model, sign(y));
        return updated || moved || fit_now;
    }

    Learner<T>& l_;
    const Config& c_;
    const DenseBlock<T>& block_;
    const Labels& labels_;
    std::optional<Permutation> order_;
    Batch batches_[2];
    double loss_ = 0;
};

// Runs one epoch over dense rows; returns the sum of the losses seen.
template <class T>
double run_epoch(Learner<T>& learner, const DenseBlock<T>& block, const Labels& labels,
                 std::optional<std::uint64_t> shuffle) {
    return DenseEpoch<T>(learner, block, labels, shuffle).run();
}

}  // namespace wald::online
