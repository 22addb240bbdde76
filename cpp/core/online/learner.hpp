// One binary online learner: rows come in, attention decides how much of each is read.
#pragma once

#include "prediction.hpp"
#include "progress.hpp"
#include "sparse_boundary.hpp"

namespace wald::online {

template <class T>
class Learner : public Progress {
public:
    using Value = T;
    static constexpr int kBatch = 16;

    std::vector<double> costs;  // of features, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    std::array<SparseBoundary<T>, 2> sparse;
    const Units units;

    Learner(const Config& c, std::vector<double> feature_costs)
        : Progress(c), costs(std::move(feature_costs)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())), coin_(c.audit_rate, c.seed) {
        for (int y = 0; y < 2; ++y) boundary[static_cast<std::size_t>(y)].width = sparse[static_cast<std::size_t>(y)].width = c.width;
        for (double v : costs) total_cost_ += v;
        if (costs.empty()) total_cost_ = static_cast<double>(c.n_features);
    }

    // One pass over the rows, in their order or shuffled; the sum of the losses seen.
    double pass(const DenseBlock<T>& block, const Labels& labels, std::optional<std::uint64_t> shuffle) {
        std::optional<Permutation> order;
        if (shuffle) order.emplace(block.n_rows, *shuffle);
        Batch batches[2];
        double total = 0;
        const std::int64_t first = step, n = block.n_rows;
        auto take = [&](Batch& b, std::int64_t at) { fetch(block, labels, order ? (*order)(at) : at, first + at, b); };
        for (std::int64_t at = 0; at < std::min<std::int64_t>(kBatch, n); ++at) take(batches[0], at);
        for (std::int64_t from = 0, turn = 0; from < n; from += kBatch, turn ^= 1) {
            Batch& batch = batches[turn];
            Batch& next = batches[turn ^ 1];
            next.n = 0;
            // What is read of a skipped row is little: ask for it before anything waits. Whole rows would fill the queue.
            const std::int64_t after = std::min<std::int64_t>(kBatch, n - from - kBatch);
            if (boundary[0].ready() && boundary[1].ready())
                while (next.n < after) take(next, from + kBatch + next.n);
            for (int i = 0; i < batch.n;) {
                look_ahead(batch, i);
                // Until a row changes the model: then the rest of the batch is looked at again.
                for (bool same = true; same && i < batch.n; ++i) {
                    if (next.n < after && next.n <= i) take(next, from + kBatch + next.n);
                    same = !settle(batch, i, total);
                }
            }
        }
        return total;
    }

    double pass(const SparseBlock<T>& block, const Labels& labels, std::optional<std::uint64_t> shuffle) {
        std::optional<Permutation> order;
        if (shuffle) order.emplace(block.n_rows, *shuffle);
        constexpr int ahead = 4;
        std::int64_t ids[ahead];
        auto fetch_row = [&](std::int64_t i) {
            const std::int64_t r = ids[i % ahead] = order ? (*order)(i) : i;
            const SparseRow<T> row = block.row(r);
            for (std::int64_t k = 0; k < row.n && k < 256; k += kLanes<std::int32_t>) __builtin_prefetch(row.features + k);
            for (std::int64_t k = 0; k < row.n && k < 256; k += kLanes<T>) __builtin_prefetch(row.values + k);
        };
        double total = 0;
        for (std::int64_t i = 0; i < block.n_rows && i < ahead; ++i) fetch_row(i);
        for (std::int64_t i = 0; i < block.n_rows; ++i) {
            const std::int64_t r = ids[i % ahead];
            if (i + ahead < block.n_rows) fetch_row(i + ahead);
            settle(block.row(r), labels.of(r), labels.weight(r), r, total);
        }
        return total;
    }

    // Margins of rows of unknown class, and the features read of each: a row is left once its sign is clear by `width`
    // standard deviations of what the rest may add. Full margins if nothing is known of the rows.
    void judge(const DenseBlock<T>& block, bool average, double width, double* margins, std::int64_t* seen) const {
        const Prediction<T> known(config, units, model, step, boundary, audits, average, width);
        for (std::int64_t r = 0; r < block.n_rows; ++r) {
            const T* x = block.data + r * block.stride;
            int look = 0;
            while (look < known.both.n_looks() && !known.clear(look, x, &margins[r])) ++look;
            const bool left = look < known.both.n_looks();
            if (!left) margins[r] = known.full(config, x);
            seen[r] = left ? known.both.features(look) : config.n_features;
            if (!std::isfinite(margins[r])) throw NotFinite(r);
        }
    }

private:
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

    Boundary<T>& of(bool positive) { return boundary[positive]; }

    // The next row of a batch; asks memory for what will be read of it first.
    void fetch(const DenseBlock<T>& block, const Labels& labels, std::int64_t r, std::int64_t at, Batch& b) {
        const int i = b.n++;
        const T* x = block.data + r * block.stride;
        b.row[i] = r;
        b.x[i] = x;
        b.positive[i] = labels.of(r);
        b.weight[i] = labels.weight(r);
        b.audit[i] = config.attention != Attention::full && coin_(at);
        const Boundary<T>& bound = boundary[b.positive[i]];
        if (config.attention == Attention::conditional && bound.ready() && !b.audit[i]) {
            const Look<T>& first = bound.look(0);
            for (int p = 0; p < first.n_pieces; ++p) fetch_now(x + first.offsets[p]);
        } else {
            fetch_all(x);
        }
    }
    static void fetch_line(const T* p) { __builtin_prefetch(p, 0, 2); }
    static void fetch_now(const T* p) { __builtin_prefetch(p, 0, 3); }
    void fetch_all(const T* x) const {
        const std::int64_t far = std::min<std::int64_t>(config.n_features, 4096 / static_cast<std::int64_t>(sizeof(T)));
        for (std::int64_t j = 0; j < far; j += kLanes<T>) fetch_line(x + j);
        fetch_line(x + far - 1);
    }

    // Looks at rows `from` and later, look by look, as if none of them changed the model.
    void look_ahead(Batch& b, int from) {
        int alive[kBatch], n = 0;
        const Look<T>* looks[kBatch];
        const T* rows[kBatch];
        T z[kBatch];
        for (int i = from; i < b.n; ++i) {
            b.depth[i] = kFull;
            const Boundary<T>& bound = of(b.positive[i]);
            if (!bound.ready() || bound.walks(config) || b.weight[i] == 0) continue;
            if (!b.audit[i] || config.attention == Attention::budgeted) alive[n++] = i;
        }
        for (int look = 0; n > 0; ++look) {
            for (int a = 0; a < n; ++a) {
                rows[a] = b.x[alive[a]];
                looks[a] = &of(b.positive[alive[a]]).look(look);
                // Two looks at a time: every time costs the whole delay of memory once.
                if (look % 2 == 0) continue;
                const Boundary<T>& bound = of(b.positive[alive[a]]);
                const int to = bound.look(std::min(look + 1, bound.n_looks() - 1)).n_pieces;
                for (int p = bound.look(look - 1).n_pieces; p < to; ++p) fetch_now(rows[a] + looks[a]->offsets[p]);
            }
            kernels<T>().online.scores(looks, rows, n, z);
            int left = 0;
            for (int a = 0; a < n; ++a) {
                const int i = alive[a];
                const Boundary<T>& bound = of(b.positive[i]);
                const double margin = sign(b.positive[i]) * static_cast<double>(z[a]);
                const Target t = target(config, step + i - from);
                if (config.attention == Attention::budgeted || margin - t.at > bound.slack(look, t.scale)) {
                    b.depth[i] = look;
                    b.z[i] = static_cast<T>(margin);
                } else if (look + 1 < bound.n_looks()) {
                    alive[left++] = i;
                } else {
                    fetch_all(rows[a]);
                }
            }
            n = left;
        }
    }

    // The row's turn: true if rows after it have to be looked at again.
    bool settle(Batch& b, int i, double& total) {
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
            pay(bound.features(stop), bound.cost(stop));
            known = config.attention == Attention::budgeted;
            if (!known) {
                if (watch_all) watch(positive, true, x, y);
                return finish(false, false, false);
            }
        } else if (bound.ready() && bound.walks(config) && !b.audit[i]) {
            stop = bound.walk(config, target(config, step).at, x, &margin);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            if (stop < bound.n_looks()) {
                pay(bound.features(stop), bound.cost(stop));
                if (watch_all) watch(positive, true, x, y);
                return finish(false, false, false);
            }
            pay(config.n_features, total_cost_);
            known = true;
        }
        if (!known) {
            margin = full_margin(x, y);
            if (!std::isfinite(margin)) throw NotFinite(b.row[i]);
            pay(config.n_features, total_cost_);
        }
        const bool need = needed(config, margin, step);
        const bool audit = b.audit[i] && bound.ready(), capped = config.attention == Attention::budgeted;
        const bool left = audit && !capped && would_stop(bound, x, y);
        if (bound.ready() && watch_all) truth[positive].add(left, need);
        const bool moved = audit && !capped && report(bound, audits[positive], left, need);
        if (audit && capped) pay(config.n_features, total_cost_);
        if (gathers(positive, b.audit[i])) bound.audited.add(config, x, keeps_squares(config));
        total += b.weight[i] * loss(config, margin, step);
        if (need) {
            const bool passive = config.rule == Rule::pa || config.rule == Rule::pa1 || config.rule == Rule::pa2;
            const double norm = passive ? static_cast<double>(kernels<T>().online.dot(x, x, config.n_features)) : 0;
            update(y * b.weight[i] * length(config, margin, norm), x);
        }
        return finish(need, moved, due(positive, need));
    }

    double full_margin(const T* x, double y) const {
        return y * (static_cast<double>(kernels<T>().online.dot(model.w.data(), x, config.n_features)) + model.b);
    }
    void watch(bool positive, bool stop, const T* x, double y) { truth[positive].add(stop, needed(config, full_margin(x, y), step)); }

    void update(double a, const T* x) {
        model.add(config, a, x);
        ++updates;
    }
    bool would_stop(const Boundary<T>& bound, const T* x, double y) const {
        const Target t = target(config, step);
        if (bound.walks(config)) {
            double margin;
            return bound.walk(config, t.at, x, &margin) < bound.n_looks();
        }
        for (int look = 0; look < bound.n_looks(); ++look) {
            const Look<T>* at = &bound.look(look);
            T z;
            kernels<T>().online.scores(&at, &x, 1, &z);
            if (y * static_cast<double>(z) - t.at > bound.slack(look, t.scale)) return true;
        }
        return false;
    }

    // Counts the step, and moves boundaries along with the model: true if rows to come may be stopped elsewhere now.
    bool finish(bool updated, bool moved, bool fit_now) {
        model.tick();
        ++step;
        if (fit_now) fit_boundaries([&](std::size_t y, double s, double scale) { boundary[y].fit(config, units, model, s, scale); });
        else if (updated)
            for (int y = 0; y < 2; ++y) boundary[static_cast<std::size_t>(y)].refresh(config, model, sign(y));
        return updated || moved || fit_now;
    }

    // ---- CSR ----

    void settle(const SparseRow<T>& row, bool positive, double weight, std::int64_t id, double& total) {
        if (weight == 0) return finish_sparse(false);
        SparseBoundary<T>& bound = sparse[positive];
        const double y = sign(positive);
        const bool audit = bound.ready() && config.attention != Attention::full && coin_(step), looks = bound.ready() && row.n >= kShortest;
        const Target t = target(config, step);
        double sum = y * model.b;
        std::int64_t at = 0;
        bool stopped = false, known = false;
        auto read = [&](std::int64_t to) {
            sum += y * static_cast<double>(kernels<T>().online.dot_sparse(model.w.data(), row.features + at, row.values + at, to - at));
            at = to;
        };
        if (looks && config.attention == Attention::budgeted) {
            read(std::min(row.n, config.budget));
            if (!std::isfinite(sum)) throw NotFinite(id);
            if (at < row.n) {
                pay(at, cost_of(row, 0, at));
                sum = bound.capped(sum, at, row.n, t);
                known = true;
            }
        } else if (looks && config.attention != Attention::full) {
            for (int e = 0; e < kShares - 1 && !stopped; ++e) {
                read(row.end(e));
                stopped = bound.stops(config, e, sum, t);
                if (stopped && !audit) break;
            }
            if (!std::isfinite(sum)) throw NotFinite(id);
            if (stopped && !audit) {
                pay(at, cost_of(row, 0, at));
                if (watch_all) {
                    read(row.n);
                    truth[positive].add(true, needed(config, sum, step));
                }
                return finish_sparse(false);
            }
        }
        if (!known) {
            read(row.n);
            if (!std::isfinite(sum)) throw NotFinite(id);
            pay(row.n, cost_of(row, 0, row.n));
        }
        const bool need = needed(config, sum, step);
        if (watch_all && bound.ready()) truth[positive].add(stopped, need);
        if (audit && config.attention != Attention::budgeted) report(bound, audits[positive], stopped, need);
        if (gathers(positive, audit)) bound.add(config, row);
        total += weight * loss(config, sum, step);
        if (need) {
            double norm = 0;
            for (std::int64_t k = 0; k < row.n; ++k) norm += static_cast<double>(row.values[k]) * static_cast<double>(row.values[k]);
            model.add(config, y * weight * length(config, sum, norm), row.features, row.values, row.n);
            ++updates;
        }
        finish_sparse(due(positive, need));
    }
    double cost_of(const SparseRow<T>& row, std::int64_t from, std::int64_t to) const {
        if (costs.empty()) return static_cast<double>(to - from);
        double sum = 0;
        for (std::int64_t k = from; k < to; ++k) sum += costs[static_cast<std::size_t>(row.features[k])];
        return sum;
    }
    void finish_sparse(bool fit_now) {
        model.tick();
        ++step;
        if (fit_now) fit_boundaries([&](std::size_t y, double sign_of, double scale) { sparse[y].fit(config, model, sign_of, scale); });
    }

    const Coin coin_;
    double total_cost_ = 0;
};

}  // namespace wald::online
