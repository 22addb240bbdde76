// One pass of a learner over dense rows. They go through in batches: what will be read of a row is asked of memory
// before its turn.
#pragma once

#include <optional>

#include "online/learner.hpp"

namespace wald::online {

template <class T>
class DensePass {
public:
    DensePass(Learner<T>& learner, const DenseBlock<T>& block, const Labels& labels,
              std::optional<std::uint64_t> shuffle)
        : l_(learner), c_(learner.config), block_(block), labels_(labels) {
        if (shuffle) order_.emplace(block.n_rows, *shuffle);
    }

    // The sum of the losses seen.
    double run() {
        const std::int64_t n = block_.n_rows, first = l_.step;
        for (std::int64_t at = 0; at < std::min<std::int64_t>(kBatch, n); ++at) take(batches_[0], at, first);
        for (std::int64_t from = 0, turn = 0; from < n; from += kBatch, turn ^= 1) {
            give_way();
            Batch& batch = batches_[turn];
            Batch& next = batches_[turn ^ 1];
            next.n = 0;
            const std::int64_t after = std::min<std::int64_t>(kBatch, n - from - kBatch);
            // What is read of a skipped row is little: ask for it early. Whole rows would fill the queue.
            const auto ask = [&] {
                if (l_.boundary[0].ready() && l_.boundary[1].ready())
                    while (next.n < after) take(next, from + kBatch + next.n, first);
            };
            for (int i = 0; i < batch.n;) {
                look_ahead(batch, i, ask);
                ask();
                // Until a row changes the model: then the rest of the batch is looked at again.
                for (bool same = true; same && i < batch.n; ++i) {
                    if (next.n < after && next.n <= i) take(next, from + kBatch + next.n, first);
                    same = !settle(batch, i);
                }
            }
        }
        return loss_;
    }

private:
    static constexpr int kBatch = kTogether, kSoon = 2;
    enum Depth : int { kFull = -1 };  // a row's depth is the look at which it stops, or this

    struct Batch {
        int n = 0;
        const T* x[kBatch];
        std::int64_t row[kBatch];
        double weight[kBatch];
        T z[kBatch];
        int depth[kBatch];
        bool positive[kBatch], audit[kBatch];
    };

    Boundary<T>& of(bool positive) { return l_.boundary[positive]; }

    // ---- asking memory ----

    // The next row of a batch.
    void take(Batch& b, std::int64_t place, std::int64_t first) {
        const int i = b.n++;
        const std::int64_t r = order_ ? (*order_)(place) : place;
        const T* x = block_.data + r * block_.stride;
        b.row[i] = r;
        b.x[i] = x;
        b.positive[i] = labels_.of(r);
        b.weight[i] = labels_.weight(r);
        b.depth[i] = kFull;
        b.audit[i] = c_.attention != Attention::full && l_.audits_at(first + place);
        if (b.weight[i] == 0) return;
        const Boundary<T>& bound = of(b.positive[i]);
        if (c_.attention == Attention::conditional && bound.ready() && !b.audit[i]) fetch_pieces(bound.look(0), 0, x);
        else fetch_all(x);
    }
    // Into the second level: the first has room for few lines that are under way.
    static void fetch_line(const T* p) { __builtin_prefetch(p, 0, 2); }
    static void fetch_pieces(const WeightedPieces<T>& look, int from, const T* x) {
        for (int p = from; p < look.n_pieces; ++p) fetch_line(x + look.offsets[p]);
    }
    // The start of a row that will be read in full: the hardware goes on from there by itself.
    void fetch_all(const T* x) const {
        const std::int64_t far = std::min<std::int64_t>(c_.n_features, 16 * kLanes<T>);
        for (std::int64_t j = 0; j < far; j += kLanes<T>) fetch_line(x + j);
    }

    // ---- reading ----

    // Looks at rows `from` and later, look by look, as if none of them changed the model. What the second look needs is
    // on its way `meanwhile`.
    template <class F>
    void look_ahead(Batch& b, int from, F meanwhile) {
        if (c_.attention == Attention::full) return;
        int alive[kBatch], n = 0;
        const Boundary<T>* bounds[kBatch];
        const WeightedPieces<T>* looks[kBatch];
        const T* rows[kBatch];
        T z[kBatch];
        const bool capped = c_.attention == Attention::budgeted;
        for (int i = from; i < b.n; ++i) {
            b.depth[i] = kFull;
            const Boundary<T>& bound = of(b.positive[i]);
            if (!bound.ready() || bound.walks(c_) || b.weight[i] == 0 || (b.audit[i] && !capped)) continue;
            bounds[n] = &bound;
            rows[n] = b.x[i];
            alive[n++] = i;
        }
        Target t = target(c_, l_.step);
        for (int look = 0; n > 0; ++look) {
            for (int a = 0; a < n; ++a) looks[a] = &bounds[a]->look(look);
            online_kernels<T>().scores(looks, rows, n, z);
            int left = 0;
            for (int a = 0; a < n; ++a) {
                const int i = alive[a];
                const double margin = sign(b.positive[i]) * static_cast<double>(z[a]);
                if (c_.rule == Rule::pegasos) t = target(c_, l_.step + i - from);
                if (capped || margin - t.at > bounds[a]->slack(look, t.scale)) {
                    b.depth[i] = look;
                    b.z[i] = static_cast<T>(margin);
                } else if (look + 1 < bounds[a]->n_looks()) {
                    fetch_pieces(bounds[a]->look(look + 1), looks[a]->n_pieces, rows[a]);
                    bounds[left] = bounds[a];
                    rows[left] = rows[a];
                    alive[left++] = i;
                } else {
                    fetch_all(rows[a]);
                }
            }
            n = left;
            if (look == 0) meanwhile();
        }
    }
    // Of a row that is read to its end; `next` is the row to ask memory for meanwhile, or null.
    double full_margin(const T* x, double y, const T* next = nullptr) const {
        const OnlineKernels<T>& k = online_kernels<T>();
        const T* w = l_.model.w.data();
        return y * (static_cast<double>(next ? k.dot_ahead(w, x, c_.n_features, next) : k.dot(w, x, c_.n_features)) +
                    l_.model.b);
    }
    // The row whose turn is soon, if that is known and it will be read.
    const T* soon(const Batch& b, int i) const {
        const bool here = i + kSoon < b.n;
        const Batch& of = here ? b : batches_[&b == batches_];
        const int at = here ? i + kSoon : i + kSoon - b.n;
        return at < of.n && of.weight[at] != 0 ? of.x[at] : nullptr;
    }
    bool would_stop(const Boundary<T>& bound, const T* x, double y) const {
        const Target t = target(c_, l_.step);
        if (bound.walks(c_)) {
            double margin;
            return bound.walk(c_, t.at, x, &margin) < bound.n_looks();
        }
        for (int look = 0; look < bound.n_looks(); ++look) {
            const WeightedPieces<T>* at = &bound.look(look);
            T z;
            online_kernels<T>().scores(&at, &x, 1, &z);
            if (y * static_cast<double>(z) - t.at > bound.slack(look, t.scale)) return true;
        }
        return false;
    }

    // ---- learning ----

    // The row's turn: true if rows after it have to be looked at again.
    bool settle(Batch& b, int i) {
        const bool positive = b.positive[i];
        Boundary<T>& bound = of(positive);
        const T* x = b.x[i];
        const double y = sign(positive);
        if (b.weight[i] == 0) return finish(false, false, false);
        double margin = 0;
        bool known = false;
        int stop = b.depth[i];
        if (stop != kFull) {
            margin = static_cast<double>(b.z[i]);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            l_.pay(bound.features(stop), bound.cost(stop));
            known = c_.attention == Attention::budgeted;
            if (!known) {
                if (l_.watch_all) watch(positive, x, y);
                labels_.note(b.row[i], false);
                return finish(false, false, false);
            }
        } else if (bound.ready() && bound.walks(c_) && !b.audit[i]) {
            stop = bound.walk(c_, target(c_, l_.step).at, x, &margin);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            if (stop < bound.n_looks()) {
                l_.pay(bound.features(stop), bound.cost(stop));
                if (l_.watch_all) watch(positive, x, y);
                labels_.note(b.row[i], false);
                return finish(false, false, false);
            }
            l_.pay(c_.n_features, l_.total_cost);
            known = true;
        }
        if (!known) {
            margin = full_margin(x, y, c_.attention == Attention::full ? soon(b, i) : nullptr);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            l_.pay(c_.n_features, l_.total_cost);
        }
        const bool need = needed(c_, margin, l_.step);
        labels_.note(b.row[i], need);
        const bool audit = b.audit[i] && bound.ready(), capped = c_.attention == Attention::budgeted;
        const bool left = audit && !capped && would_stop(bound, x, y);
        if (bound.ready() && l_.watch_all) l_.truth[positive].add(left, need);
        const bool moved = audit && !capped && l_.report(bound, l_.audits[positive], left, need);
        if (audit && capped) l_.pay(c_.n_features, l_.total_cost);
        if (l_.gathers(positive, b.audit[i])) bound.audited.add(c_, x, keeps_squares(c_));
        loss_ += b.weight[i] * loss(c_, margin, l_.step);
        if (need) {
            const double norm =
                is_passive(c_.rule) ? static_cast<double>(online_kernels<T>().dot(x, x, c_.n_features)) : 0;
            if (!std::isfinite(norm)) throw NotFinite(b.row[i]);  // a step would be 0, and nothing be learned
            l_.update(y * b.weight[i] * length(c_, margin, norm), x);
        }
        return finish(need, moved, l_.due(positive, need));
    }
    // A row that was stopped, seen all the same.
    void watch(bool positive, const T* x, double y) {
        l_.truth[positive].add(true, needed(c_, full_margin(x, y), l_.step));
    }

    // Moves boundaries along with the model: true if rows to come may be stopped elsewhere now.
    bool finish(bool updated, bool moved, bool fit_now) {
        l_.tick();
        if (fit_now)
            l_.fit_boundaries(
                [&](std::size_t y, double s, double scale) { l_.boundary[y].fit(c_, l_.units, l_.model, s, scale); });
        else if (updated)
            for (int y = 0; y < 2; ++y) of(y).refresh(c_, l_.model, sign(y));
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

}  // namespace wald::online
