// One binary problem of online boosting: a linear learner of the votes of weak hypotheses, which are asked only for the
// votes that a row's turn needs. Each class has a boundary of its own, as for features.
#pragma once

#include "online/prediction.hpp"
#include "online/progress.hpp"
#include "online/votes.hpp"

namespace wald::online {

template <class T>
class Boosting : public Progress {
public:
    using Value = T;

    std::vector<double> costs;  // of hypotheses, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    const Units units;  // hypotheses that are asked together

    Boosting(const Config& c, std::vector<double> of_hypotheses)
        : Progress(c), costs(std::move(of_hypotheses)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())),
          coin_(c.audit_rate, c.seed) {
        for (Boundary<T>& b : boundary) b.width = c.width;
        for (double v : units.cost) total_cost_ += v;
    }

    // One pass over rows whose votes can be had at once, in their order or shuffled; the sum of the losses seen.
    template <class Features>
    double pass(Features rows, const Stumps<T>& stumps, const Labels& labels, std::optional<std::uint64_t> shuffle) {
        std::optional<Permutation> order;
        if (shuffle) order.emplace(rows.n_rows(), *shuffle);
        StumpVotes<T> votes(stumps, units, config.n_columns);
        double total = 0;
        for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
            if (i % kTogether == 0) give_way();
            const std::int64_t r = order ? (*order)(i) : i;
            rows.with(r, [&](const T* x) {
                votes.start(x, r);
                learn(votes, look(votes, labels.of(r), labels.weight(r), step), labels, r, total);
            });
        }
        return total;
    }

    // Rows of a table from `done` on, as far as the votes are there; marks what the others want under the model as it
    // then is.
    std::int64_t advance(const Table<T>& table, const Labels& labels, std::int64_t done, double& total) {
        bool stuck = false;
        for (std::int64_t r = done, at = step; r < table.n_rows; ++r, ++at) {
            if (r % kTogether == 0) give_way();
            TableVotes<T> votes(table, r);
            const Sight sight = look(votes, labels.of(r), labels.weight(r), at);
            stuck = stuck || !sight.there;
            if (stuck) continue;
            learn(votes, sight, labels, r, total);
            done = r + 1;
        }
        return done;
    }

    // Margins of rows of unknown class, and the hypotheses asked for each.
    template <class Features>
    void judge(Features rows, const Stumps<T>& stumps, bool average, std::optional<double> width, double* margins,
               std::int64_t* seen) const {
        const Prediction<T> known = at_rest(average, width);
        StumpVotes<T> votes(stumps, units, config.n_columns);
        for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
            if (r % kTogether == 0) give_way();
            rows.with(r, [&](const T* x) {
                votes.start(x, r);
                judge(known, votes, r, &margins[r], &seen[r]);
            });
        }
    }
    // The same of a table; false if some votes that are wanted are not there.
    bool judge(const Table<T>& table, bool average, std::optional<double> width, double* margins,
               std::int64_t* seen) const {
        const Prediction<T> known = at_rest(average, width);
        bool all = true;
        for (std::int64_t r = 0; r < table.n_rows; ++r) {
            if (r % kTogether == 0) give_way();
            TableVotes<T> votes(table, r);
            all &= judge(known, votes, r, &margins[r], &seen[r]);
        }
        return all;
    }

private:
    // What can be seen of a row before anything is learnt from it.
    struct Sight {
        bool there = true;  // all votes that it takes
        bool audit = false;
        int stop = -1;      // the look at which the boundary leaves the row, or none
        double margin = 0;  // label-signed: as the boundary sees it there, or full
    };

    bool capped() const { return config.attention == Attention::budgeted; }
    Prediction<T> at_rest(bool average, std::optional<double> width) const {
        return Prediction<T>(config, units, model, step, boundary, audits, average, width);
    }

    // As many units as a look takes; what is missing is noted altogether, so that it can be worked out at once.
    template <class Votes>
    static bool read(Votes& votes, const std::vector<std::int32_t>& order, std::int32_t from, std::int32_t to) {
        bool there = true;
        for (std::int32_t i = from; i < to; ++i) there &= votes.read(order[static_cast<std::size_t>(i)]);
        return there;
    }
    template <class Votes>
    bool read_all(Votes& votes) const {
        bool there = true;
        for (std::int32_t u = 0; u < units.count(); ++u) there &= votes.read(u);
        return there;
    }
    double full_margin(const T* row, double y) const {
        return y * (static_cast<double>(online_kernels<T>().dot(model.w.data(), row, config.n_features)) + model.b);
    }

    template <class Votes>
    Sight look(Votes& votes, bool positive, double weight, std::int64_t at) {
        Sight s;
        if (weight == 0) return s;
        Boundary<T>& bound = boundary[positive];
        if (stale_[positive]) bound.refresh(config, model, sign(positive));
        stale_[positive] = false;
        const double y = sign(positive);
        s.audit = config.attention != Attention::full && coin_(at);
        const bool whole = s.audit || !bound.ready() || watch_all || gathers(positive, s.audit);
        if (whole && !(s.there = read_all(votes))) return s;
        if (bound.ready() && !(s.there = leave(bound, votes, y, s))) return s;
        if (s.stop >= 0 && !(capped() && needed(config, s.margin, step))) return s;  // nothing to learn from the row
        if (!whole && !(s.there = read_all(votes))) return s;
        if (s.stop < 0) s.margin = full_margin(votes.row(), y);
        return s;
    }

    // Reads on until the boundary leaves the row; false if votes are missing.
    template <class Votes>
    bool leave(const Boundary<T>& bound, Votes& votes, double y, Sight& s) const {
        const double at = target(config, step).at;
        const bool walks = bound.walks(config);
        const double level = walks ? bound.level(config, at) : 0;
        T sum = walks ? bound.walk_start() : T(0);
        std::int32_t from = 0;
        for (int look = 0; look < bound.n_looks(); ++look) {
            const std::int32_t to = bound.looks[static_cast<std::size_t>(look)];
            if (!read(votes, bound.order, from, to)) return false;
            from = to;
            bool left;
            if (walks) {
                left = bound.walk_on(level, look, votes.row(), &sum);
            } else {
                const WeightedPieces<T>* table = &bound.look(look);
                const T* row = votes.row();
                online_kernels<T>().scores(&table, &row, 1, &sum);
                left = capped() || y * static_cast<double>(sum) - at > bound.slack(look, 1);
            }
            if (!left) continue;
            s.stop = look;
            s.margin = walks ? static_cast<double>(sum) : y * static_cast<double>(sum);
            break;
        }
        return true;
    }

    // The row's turn, once all that it takes has been seen.
    template <class Votes>
    void learn(const Votes& votes, const Sight& s, const Labels& labels, std::int64_t id, double& total) {
        const bool positive = labels.of(id);
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
        const bool need = needed(config, margin, step), gathered = gathers(positive, s.audit);
        labels.note(id, need);
        if (s.stop < 0 || s.audit || need || gathered) pay(config.n_features, total_cost_);
        else pay(bound.features(s.stop), bound.cost(s.stop));
        if (ready && watch_all) truth[positive].add(left, need);
        if (ready && s.audit && !capped()) report(bound, audits[positive], left, need);
        if (gathered) bound.audited.add(config, votes.row(), keeps_squares(config));
        total += weight * loss(config, margin, step);
        if (need) {
            model.add(config, y * weight * length(config, margin, 0), votes.row());
            ++updates;
        }
        finish(need, due(positive, need));
    }

    void finish(bool updated, bool fit_now) {
        model.tick(config, step);
        ++step;
        if (updated) stale_ = {true, true};  // put right when a row of the class comes: many updates may lie between
        if (!fit_now) return;
        fit_boundaries([&](std::size_t y, double s, double scale) {
            boundary[y].fit(config, units, model, s, scale);
            stale_[y] = false;
        });
    }

    template <class Votes>
    bool judge(const Prediction<T>& known, Votes& votes, std::int64_t r, double* margin, std::int64_t* seen) const {
        std::int32_t from = 0;
        for (int look = 0; look < known.both.n_looks(); ++look) {
            const std::int32_t to = known.both.looks[static_cast<std::size_t>(look)];
            if (!read(votes, known.both.order, from, to)) return false;
            from = to;
            *seen = known.both.features(look);
            if (known.clear(look, votes.row(), margin)) return true;
        }
        if (!read_all(votes)) return false;
        *seen = config.n_features;
        *margin = known.full(config, votes.row());
        if (!std::isfinite(*margin)) throw NotFinite(r);
        return true;
    }

    const Coin coin_;
    std::array<bool, 2> stale_{};  // boundaries that do not know of the last updates
    double total_cost_ = 0;
};

}  // namespace wald::online
