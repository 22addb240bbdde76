// One epoch of a learner over CSR rows.
#pragma once

#include <optional>

#include "online/learner.hpp"

namespace wald::online {

template <class T>
class SparseEpoch {
public:
    SparseEpoch(Learner<T>& learner, const SparseBlock<T>& block, const Labels& labels)
        : l_(learner), c_(learner.config), block_(block), labels_(labels) {}

    // Learns all rows, in order or in shuffled runs; returns the sum of the losses seen.
    double run(std::optional<std::uint64_t> shuffle) {
        Runs order(block_.n_rows, shuffle);
        constexpr int ahead = 2;
        std::int64_t ids[ahead];
        auto fetch = [&](std::int64_t i) {
            const std::int64_t r = ids[i % ahead] = order.next();
            if (labels_.weight(r) == 0) return;
            const SparseRow<T> row = block_.row(r);
            // The start of a row; the hardware prefetcher continues from there.
            for (std::int64_t line = 0; line < 3; ++line) {
                if (line * kLanes<std::int32_t> < row.n) __builtin_prefetch(row.features + line * kLanes<std::int32_t>);
                if (line * kLanes<T> < row.n) __builtin_prefetch(row.values + line * kLanes<T>);
            }
        };
        for (std::int64_t i = 0; i < block_.n_rows && i < ahead; ++i) fetch(i);
        for (std::int64_t i = 0; i < block_.n_rows; ++i) {
            if (i % kCheckRows == 0) give_way();
            const std::int64_t r = ids[i % ahead];
            if (i + ahead < block_.n_rows) fetch(i + ahead);
            learn(block_.row(r), labels_.is_positive(r), labels_.weight(r), r);
        }
        return loss_;
    }

private:
    void learn(const SparseRow<T>& row, bool positive, double weight, std::int64_t id) {
        if (weight == 0) return finish(false);
        SparseBoundary<T>& bound = l_.sparse[positive];
        const double y = sign(positive);
        const bool audit = bound.ready() && c_.attention != Attention::full && l_.audits_at(l_.step),
                   may_stop = bound.ready() && row.n >= kShortest;
        const Target t = target(c_, l_.step);
        double sum = y * l_.model.b;
        std::int64_t at = 0;
        bool stopped = false, known = false;
        auto read = [&](std::int64_t to) {
            sum += y * static_cast<double>(online_kernels<T>().dot_sparse(l_.model.w.data(), row.features + at,
                                                                          row.values + at, to - at));
            at = to;
        };
        if (may_stop && c_.attention == Attention::budgeted) {
            read(std::min(row.n, c_.budget));
            if (!std::isfinite(sum)) throw NotFinite(id);
            if (at < row.n) {
                l_.pay(at, cost_of(row, at));
                sum = bound.capped(sum, at, row.n, t);
                known = true;
            }
        } else if (may_stop && c_.attention != Attention::full) {
            for (int e = 0; e < kShares - 1 && !stopped; ++e) {
                read(row.end(e));
                stopped = bound.stops(c_, e, sum, t);
                if (stopped && !audit) break;
            }
            if (!std::isfinite(sum)) throw NotFinite(id);
            if (stopped && !audit) {
                l_.pay(at, cost_of(row, at));
                if (l_.watch_all) {
                    read(row.n);
                    l_.truth[positive].add(true, needed(c_, sum, l_.step));
                }
                labels_.note(id, false);
                return finish(false);
            }
        }
        if (!known) {
            read(row.n);
            if (!std::isfinite(sum)) throw NotFinite(id);
            l_.pay(row.n, cost_of(row, row.n));
        }
        const bool need = needed(c_, sum, l_.step);
        labels_.note(id, need);
        if (l_.watch_all && bound.ready()) l_.truth[positive].add(stopped, need);
        if (audit && c_.attention != Attention::budgeted) l_.add_audit(bound, l_.audits[positive], stopped, need);
        if (l_.keeps_row(positive, audit)) bound.add(c_, row);
        loss_ += weight * loss(c_, sum, l_.step);
        if (need) {
            double norm = 0;
            if (is_passive(c_.rule))
                for (std::int64_t k = 0; k < row.n; ++k)
                    norm += static_cast<double>(row.values[k]) * static_cast<double>(row.values[k]);
            if (!std::isfinite(norm)) throw NotFinite(id);
            l_.model.add(c_, y * weight * length(c_, sum, norm), row.features, row.values, row.n);
            ++l_.updates;
        }
        finish(l_.fit_is_due(positive, need));
    }
    // The cost of the first n non-zeros.
    double cost_of(const SparseRow<T>& row, std::int64_t n) const {
        if (l_.costs.empty()) return static_cast<double>(n);
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += l_.costs[static_cast<std::size_t>(row.features[k])];
        return sum;
    }
    void finish(bool fit_now) {
        l_.tick();
        if (fit_now)
            l_.fit_boundaries([&](std::size_t y, double label_sign, double scale) {
                l_.sparse[y].fit(c_, l_.model, label_sign, scale);
            });
    }

    Learner<T>& l_;
    const Config& c_;
    const SparseBlock<T>& block_;
    const Labels& labels_;
    double loss_ = 0;
};

// Runs one epoch over CSR rows; returns the sum of the losses seen.
template <class T>
double run_epoch(Learner<T>& learner, const SparseBlock<T>& block, const Labels& labels,
                 std::optional<std::uint64_t> shuffle) {
    return SparseEpoch<T>(learner, block, labels).run(shuffle);
}

}  // namespace wald::online
