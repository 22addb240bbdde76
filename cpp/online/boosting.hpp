// Online boosting of one binary problem: a linear learner whose features are the votes of weak hypotheses. Only the
// votes that a row needs are requested. Each class has a boundary of its own, as for plain features.
#pragma once

#include "online/prediction.hpp"
#include "online/progress.hpp"
#include "online/votes.hpp"

namespace wald::online {

template <class T>
class Boosting : public Progress {
public:
    using Value = T;

    std::vector<double> costs;  // per hypothesis, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    const Units units;  // hypotheses whose votes are requested together

    Boosting(const Config& c, std::vector<double> hypothesis_costs)
        : Progress(c), costs(std::move(hypothesis_costs)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())),
          coin_(c.audit_rate, c.seed) {
        for (Boundary<T>& b : boundary) b.width = c.width;
        for (double v : units.cost) total_cost_ += v;
    }

    // Learns one epoch of rows whose votes can be computed here, in order or shuffled; returns the sum of the losses
    // seen.
    template <class Features>
    double run_epoch(Features rows, const Stumps<T>& stumps, const Labels& labels,
                     std::optional<std::uint64_t> shuffle) {
        std::optional<Permutation> order;
        if (shuffle) order.emplace(rows.n_rows(), *shuffle);
        StumpVotes<T> votes(stumps, units, config.n_columns);
        double total = 0;
        for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
            if (i % kCheckRows == 0) give_way();
            const std::int64_t r = order ? (*order)(i) : i;
            rows.with(r, [&](const T* x) {
                votes.start(x, r);
                learn(votes, read_row(votes, labels.is_positive(r), labels.weight(r), step), labels, r, total);
            });
        }
        return total;
    }

    // Learns rows of a table from `done` on, until votes are missing; returns the new `done`. Marks the votes that the
    // remaining rows need under the current model.
    std::int64_t advance(const Table<T>& table, const Labels& labels, std::int64_t done, double& total) {
        bool stuck = false;
        for (std::int64_t r = done, at = step; r < table.n_rows; ++r, ++at) {
            if (r % kCheckRows == 0) give_way();
            TableVotes<T> votes(table, r);
            const Reading reading = read_row(votes, labels.is_positive(r), labels.weight(r), at);
            stuck = stuck || !reading.complete;
            if (stuck) continue;
            learn(votes, reading, labels, r, total);
            done = r + 1;
        }
        return done;
    }

    // Writes margins of rows of unknown class, and the number of hypotheses requested for each.
    template <class Features>
    void judge(Features rows, const Stumps<T>& stumps, bool average, std::optional<double> width, double* margins,
               std::int64_t* seen) const {
        const Prediction<T> prediction = predictor(average, width);
        StumpVotes<T> votes(stumps, units, config.n_columns);
        for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
            if (r % kCheckRows == 0) give_way();
            rows.with(r, [&](const T* x) {
                votes.start(x, r);
                judge(prediction, votes, r, &margins[r], &seen[r]);
            });
        }
    }
    // The same for a table; false if requested votes are missing.
    bool judge(const Table<T>& table, bool average, std::optional<double> width, double* margins,
               std::int64_t* seen) const {
        const Prediction<T> prediction = predictor(average, width);
        bool all = true;
        for (std::int64_t r = 0; r < table.n_rows; ++r) {
            if (r % kCheckRows == 0) give_way();
            TableVotes<T> votes(table, r);
            all &= judge(prediction, votes, r, &margins[r], &seen[r]);
        }
        return all;
    }

    // State of a class's constant boundary.
    Range range(std::size_t y) const { return boundary[y].range(config, target(config, step).threshold); }

private:
    // The result of reading a row, before anything is learnt from it.
    struct Reading {
        bool complete = true;  // all requested votes were available
        bool audit = false;
        int stop = -1;      // checkpoint at which the boundary stops the row; -1: none
        double margin = 0;  // label-signed: the estimate at `stop`, or the full margin
    };

    bool capped() const { return config.attention == Attention::budgeted; }
    Prediction<T> predictor(bool average, std::optional<double> width) const {
        return Prediction<T>(config, units, model, step, boundary, audits, average, width);
    }

    // Reads the units up to a checkpoint. Continues after a missing unit, so that all missing votes are requested
    // together.
    template <class Votes>
    static bool read(Votes& votes, const std::vector<std::int32_t>& order, std::int32_t from, std::int32_t to) {
        bool complete = true;
        for (std::int32_t i = from; i < to; ++i) complete &= votes.read(order[static_cast<std::size_t>(i)]);
        return complete;
    }
    template <class Votes>
    bool read_all(Votes& votes) const {
        bool complete = true;
        for (std::int32_t u = 0; u < units.count(); ++u) complete &= votes.read(u);
        return complete;
    }
    double full_margin(const T* row, double y) const {
        return y * (static_cast<double>(online_kernels<T>().dot(model.w.data(), row, config.n_features)) + model.b);
    }

    template <class Votes>
    Reading read_row(Votes& votes, bool positive, double weight, std::int64_t at) {
        Reading s;
        if (weight == 0) return s;
        Boundary<T>& bound = boundary[positive];
        if (stale_[positive]) bound.refresh(config, model, sign(positive));
        stale_[positive] = false;
        const double y = sign(positive);
        s.audit = config.attention != Attention::full && coin_(at);
        const bool whole = s.audit || !bound.ready() || watch_all || keeps_row(positive, s.audit);
        if (whole && !(s.complete = read_all(votes))) return s;
        if (bound.ready() && !(s.complete = read_until_stop(bound, votes, y, s))) return s;
        // A stopped row does not change the model, unless a budgeted learner must update on it.
        if (s.stop >= 0 && !(capped() && needed(config, s.margin, step))) return s;
        if (!whole && !(s.complete = read_all(votes))) return s;
        if (s.stop < 0) s.margin = full_margin(votes.row(), y);
        return s;
    }

    // Reads until the boundary stops the row; false if votes are missing.
    template <class Votes>
    bool read_until_stop(const Boundary<T>& bound, Votes& votes, double y, Reading& s) const {
        const double at = target(config, step).threshold;
        const bool walks = bound.walks(config);
        const double level = walks ? bound.level(config, at) : 0;
        T sum = walks ? bound.walk_start() : T(0);
        std::int32_t from = 0;
        for (int checkpoint = 0; checkpoint < bound.n_checkpoints(); ++checkpoint) {
            const std::int32_t to = bound.checkpoints[static_cast<std::size_t>(checkpoint)];
            if (!read(votes, bound.order, from, to)) return false;
            from = to;
            bool left;
            if (walks) {
                left = bound.walk_on(level, checkpoint, votes.row(), &sum);
            } else {
                const WeightedPieces<T>* pieces = &bound.at_checkpoint(checkpoint);
                const T* row = votes.row();
                online_kernels<T>().scores(&pieces, &row, 1, &sum);
                left = capped() || y * static_cast<double>(sum) - at > bound.half_width(checkpoint, 1);
            }
            if (!left) continue;
            s.stop = checkpoint;
            s.margin = walks ? static_cast<double>(sum) : y * static_cast<double>(sum);
            break;
        }
        return true;
    }

    // Learns from a row whose requested votes were all available.
    template <class Votes>
    void learn(const Votes& votes, const Reading& s, const Labels& labels, std::int64_t id, double& total) {
        const bool positive = labels.is_positive(id);
        const double weight = labels.weight(id);
        if (weight == 0) return finish(false, false);
        if (!std::isfinite(s.margin)) throw NotFinite(id);
        Boundary<T>& bound = boundary[positive];
        const double y = sign(positive);
        const bool ready = bound.ready(), left = s.stop >= 0 && !capped();
        if (left && !s.audit) {
            pay(bound.features(s.stop), bound.cost(s.stop));
            if (watch_all) truth[positive].add(true, needed(config, full_margin(votes.row(), y), step));
            labels.note(id, false);
            return finish(false, false);
        }
        const double margin = left ? full_margin(votes.row(), y) : s.margin;
        const bool need = needed(config, margin, step), kept = keeps_row(positive, s.audit);
        labels.note(id, need);
        if (s.stop < 0 || s.audit || need || kept) pay(config.n_features, total_cost_);
        else pay(bound.features(s.stop), bound.cost(s.stop));
        if (ready && watch_all) truth[positive].add(left, need);
        if (ready && s.audit && !capped()) add_audit(bound, audits[positive], left, need);
        if (kept) bound.audited.add(config, votes.row(), keeps_squares(config));
        total += weight * loss(config, margin, step);
        if (need) {
            model.add(config, y * weight * length(config, margin, 0), votes.row());
            ++updates;
        }
        finish(need, fit_is_due(positive, need));
    }

    void finish(bool updated, bool fit_now) {
        model.tick(config, step);
        ++step;
        if (updated) stale_ = {true, true};  // refreshed when a row of the class comes, possibly after many updates
        if (!fit_now) return;
        fit_boundaries([&](std::size_t y, double s, double scale) {
            boundary[y].fit(config, units, model, s, scale);
            stale_[y] = false;
        });
    }

    template <class Votes>
    bool judge(const Prediction<T>& prediction, Votes& votes, std::int64_t r, double* margin,
               std::int64_t* seen) const {
        std::int32_t from = 0;
        for (int checkpoint = 0; checkpoint < prediction.both.n_checkpoints(); ++checkpoint) {
            const std::int32_t to = prediction.both.checkpoints[static_cast<std::size_t>(checkpoint)];
            if (!read(votes, prediction.both.order, from, to)) return false;
            from = to;
            *seen = prediction.both.features(checkpoint);
            if (prediction.is_certain(checkpoint, votes.row(), margin)) return true;
        }
        if (!read_all(votes)) return false;
        *seen = config.n_features;
        *margin = prediction.full(config, votes.row());
        if (!std::isfinite(*margin)) throw NotFinite(r);
        return true;
    }

    const Coin coin_;
    std::array<bool, 2> stale_{};  // boundaries that do not reflect the latest weights
    double total_cost_ = 0;
};

}  // namespace wald::online
