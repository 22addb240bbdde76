// The stopping boundary for dense rows of one class: fitted on its audited rows, and refreshed whenever the weights
// change.
#pragma once

#include <algorithm>
#include <array>

#include "online/config.hpp"
#include "online/random.hpp"
#include "online/range.hpp"
#include "online/regression.hpp"
#include "online/units.hpp"
#include "online/weights.hpp"

namespace wald::online {

// A ring buffer of the last rows of one class that were read in full, in the warm-up or as audits, with the moments of
// all such rows. Stopped rows are left out: they are the easy ones and would bias every estimate.
template <class T>
struct Audited {
    std::vector<T> rows;  // [row][feature], at most Config::ring rows
    std::int64_t seen = 0;
    std::vector<double> sum, squares;

    void add(const Config& c, const T* x, bool with_squares) {
        const std::size_t d = static_cast<std::size_t>(c.n_columns);
        sum.resize(d);
        if (with_squares) squares.resize(d);
        if (seen == 0) rows.reserve(static_cast<std::size_t>(c.ring) * d);
        if (seen < c.ring) rows.resize(static_cast<std::size_t>(seen + 1) * d);
        std::memcpy(rows.data() + static_cast<std::size_t>(seen % c.ring) * d, x, d * sizeof(T));
        for (std::size_t j = 0; j < d; ++j) sum[j] += static_cast<double>(x[j]);
        for (std::size_t j = 0; j < squares.size(); ++j)
            squares[j] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
        ++seen;
    }
    int kept(const Config& c) const { return static_cast<int>(std::min(seen, c.ring)); }
};

template <class T>
class Boundary {
public:
    static constexpr std::size_t L = static_cast<std::size_t>(kLanes<T>);

    Audited<T> audited;
    double width = 0;  // in standard deviations; adjusted by feedback
    // The result of a fit. The tables below are computed from it whenever the weights change.
    std::vector<std::int32_t> order, checkpoints;
    std::vector<double> factors, spread;
    std::vector<T> mean, variance;  // of the class, at the time of the fit
    double scale = 1;               // of the weights, at the time of the fit

    bool ready() const { return !checkpoints.empty(); }
    bool walks(const Config& c) const {
        return c.attention != Attention::conditional && c.attention != Attention::budgeted;
    }
    int n_checkpoints() const { return static_cast<int>(checkpoints.size()); }
    const WeightedPieces<T>& at_checkpoint(int i) const { return tables_[static_cast<std::size_t>(i)]; }
    // Number of features read up to checkpoint i, and their cost.
    std::int64_t features(int i) const { return features_[static_cast<std::size_t>(i)]; }
    double cost(int i) const { return cost_[static_cast<std::size_t>(i)]; }
    // Half the width of the interval around the estimated margin at checkpoint i.
    double half_width(int i, double scale_now) const {
        return width * spread[static_cast<std::size_t>(i)] * (scale_now * per_scale_);
    }

    std::vector<const T*> ring_rows(const Config& c) const {
        std::vector<const T*> rows(static_cast<std::size_t>(audited.kept(c)));
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = audited.rows.data() + i * static_cast<std::size_t>(c.n_columns);
        return rows;
    }

    // Fits a boundary for rows of unknown class: on the audited rows of both classes, weighted by the share of each
    // class in all rows.
    void fit_both(const Config& c, const Units& units, const Weights<T>& model, const std::array<Boundary, 2>& classes,
                  const double* class_share) {
        std::vector<const T*> rows;
        std::vector<double> share;
        mean.assign(model.w.size(), T(0));
        for (std::size_t y = 0; y < 2; ++y) {
            const std::vector<const T*> kept = classes[y].ring_rows(c);
            rows.insert(rows.end(), kept.begin(), kept.end());
            share.insert(share.end(), kept.size(), class_share[y] / static_cast<double>(kept.size()));
            if (kept.empty() || units.count() < 2) return;
            for (std::size_t j = 0; j < static_cast<std::size_t>(c.n_features); ++j)
                mean[j] += static_cast<T>(class_share[y] * classes[y].audited.sum[j] /
                                          static_cast<double>(classes[y].audited.seen));
        }
        fit_regression(c, units, model, rows, share);
        lay_out(c, units);
        refresh(c, model, 1);
    }

    void fit(const Config& c, const Units& units, const Weights<T>& model, double sign, double scale_now) {
        const int n = audited.kept(c);
        const std::size_t d = static_cast<std::size_t>(c.n_features);
        checkpoints.clear();
        if (n < 2 || units.count() < 2) return;  // too few rows, or a single unit
        mean.assign(model.w.size(), T(0));
        for (std::size_t j = 0; j < d; ++j)
            mean[j] = static_cast<T>(audited.sum[j] / static_cast<double>(audited.seen));
        variance.clear();
        if (!audited.squares.empty()) {
            variance.assign(model.w.size(), T(0));
            for (std::size_t j = 0; j < d; ++j) {
                const double m = audited.sum[j] / static_cast<double>(audited.seen);
                const double v = audited.squares[j] / static_cast<double>(audited.seen) - m * m;
                variance[j] = static_cast<T>(v > 0 ? v : 0);
            }
        }
        scale = scale_now;
        if (c.attention == Attention::conditional ||
            (c.attention == Attention::budgeted && c.order == Order::selected)) {
            fit_regression(c, units, model, ring_rows(c), std::vector<double>(static_cast<std::size_t>(n), 1.0 / n));
        } else {
            order = ordered(c, units, model);
            checkpoints.resize(order.size());
            for (std::size_t u = 0; u < order.size(); ++u) checkpoints[u] = static_cast<std::int32_t>(u + 1);
            if (walks(c)) checkpoints.pop_back();
            spread.assign(1, walks(c) && c.variance == Variance::empirical ? spread_of_margins(c, model) : 0);
        }
        if (c.attention == Attention::budgeted && ready()) cap(c, units);
        lay_out(c, units);
        refresh(c, model, sign);
    }

    // Computes the tables that depend on order and checkpoints only.
    void lay_out(const Config& c, const Units& units) {
        if (!ready()) return;
        per_scale_ = 1 / scale;
        offsets_.clear(), ends_.clear(), lanes_.clear(), tables_.clear(), features_.clear(), cost_.clear();
        for (std::int32_t u : order) {
            for (std::int32_t p = units.first[static_cast<std::size_t>(u)];
                 p < units.first[static_cast<std::size_t>(u) + 1]; ++p) {
                lanes_.push_back(units.pieces[static_cast<std::size_t>(p)]);
                offsets_.push_back(lanes_.back().offset);
            }
            ends_.push_back(static_cast<std::int32_t>(offsets_.size()));
        }
        masked_.assign(offsets_.size() * L, T(0));
        std::int64_t seen = 0;
        double paid = 0;
        std::size_t u = 0, total = 0;
        for (std::int32_t m : checkpoints) {
            for (; u < static_cast<std::size_t>(m); ++u) {
                seen += units.size[static_cast<std::size_t>(order[u])];
                paid += units.cost[static_cast<std::size_t>(order[u])];
            }
            features_.push_back(seen);
            cost_.push_back(paid);
            total += static_cast<std::size_t>(ends_[u - 1]);
        }
        if (walks(c)) {
            tables_.push_back({masked_.data(), offsets_.data(), static_cast<int>(offsets_.size()), T(0)});
            centre_.assign(ends_.size(), T(0));
            return;
        }
        folded_.resize(total * L);
        expected_.resize(checkpoints.size());
        pieces_of_mean_.resize(offsets_.size() * L);
        for (std::size_t p = 0; p < offsets_.size(); ++p)
            std::memcpy(&pieces_of_mean_[p * L], mean.data() + offsets_[p], L * sizeof(T));
        by_piece_.clear();
        std::size_t at = 0, from = 0;
        for (std::int32_t m : checkpoints) {
            const std::int32_t pieces = ends_[static_cast<std::size_t>(m) - 1];
            for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i)
                by_piece_.resize(at + static_cast<std::size_t>(ends_[i]), static_cast<T>(factors[from + i]));
            tables_.push_back({folded_.data() + at * L, offsets_.data(), pieces, T(0)});
            at += static_cast<std::size_t>(pieces);
            from += static_cast<std::size_t>(m);
        }
    }

    // Computes the tables that depend on the weights: the expected rest of the margin, and the weights of every
    // checkpoint.
    void refresh(const Config& c, const Weights<T>& model, double sign) {
        if (!ready()) return;
        const OnlineKernels<T>& k = online_kernels<T>();
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            const T* w = model.w.data() + lanes_[p].offset;
            if (lanes_[p].end - lanes_[p].begin == static_cast<std::int32_t>(L))
                std::memcpy(&masked_[p * L], w, L * sizeof(T));
            else
                for (std::int32_t i = lanes_[p].begin; i < lanes_[p].end; ++i)
                    masked_[p * L + static_cast<std::size_t>(i)] = w[i];
        }
        const double middle = model.b + static_cast<double>(k.dot(model.w.data(), mean.data(), c.n_features));
        if (walks(c)) prepare_walk(c, model, sign, middle);
        else prepare_checkpoints(k, middle);
    }

    // Constant boundaries: walks through the units and returns the checkpoint at which the row stops, or
    // n_checkpoints(). `margin` is the sum at that point.
    int walk(const Config& c, double at, const T* x, double* margin) const {
        T sum;
        const int stop = online_kernels<T>().walk(tables_[0], ends_.data(), static_cast<int>(ends_.size()),
                                                  centre_.data(), static_cast<T>(level(c, at)), x, &sum);
        *margin = static_cast<double>(sum);
        return stop;
    }

    // The same, one unit at a time, for rows that are read in steps: start with walk_start(); walk_on() adds unit u and
    // returns whether the row stops after it.
    T walk_start() const { return tables_[0].start; }
    bool walk_on(double level_now, int u, const T* x, T* sum) const {
        const std::int32_t from = u == 0 ? 0 : ends_[static_cast<std::size_t>(u) - 1],
                           n = ends_[static_cast<std::size_t>(u)] - from;
        const WeightedPieces<T> unit{tables_[0].weights + static_cast<std::size_t>(from) * L, tables_[0].offsets + from,
                                     n, *sum};
        online_kernels<T>().walk(unit, &n, 1, nullptr, T(0), x, sum);
        return u < n_checkpoints() && *sum - centre_[static_cast<std::size_t>(u)] > static_cast<T>(level_now);
    }

    // Level of the constant boundary for the label-signed sum.
    double level(const Config& c, double at) const {
        if (!(sigma_ > 0)) return HUGE_VAL;
        if (c.attention == Attention::bridge) {
            const double half = 0.5 * (at - start_),
                         square = sigma_ * sigma_ * width * width;  // width^2 = log(1 / delta) / 2
            const double root = std::sqrt(half * half + square);
            return start_ + (half >= 0 ? half + root : square / (root - half));
        }
        return Reflection(c, at, middle_, sigma_, width).level();
    }
    Range range(const Config& c, double at) const {
        return ready() && walks(c) ? range_of(c, at, middle_, sigma_, width) : Range::holds;
    }

private:
    void fit_regression(const Config& c, const Units& units, const Weights<T>& model, const std::vector<const T*>& rows,
                        const std::vector<double>& share) {
        const OnlineKernels<T>& k = online_kernels<T>();
        const std::size_t n_units = static_cast<std::size_t>(units.count()), n_pieces = units.pieces.size(),
                          size = rows.size();
        const std::size_t padded_width =
            static_cast<std::size_t>(round_up(static_cast<std::int64_t>(n_units) + 1, kLanes<T>));
        double squares = 0;
        for (double v : share) squares += v * v;
        const int n = static_cast<int>(1 / squares + 0.5);  // effective number of rows for unequal shares
        std::vector<T> masked(n_pieces * L, T(0)), sums(size * n_pieces), g(size * padded_width, T(0)),
            gram(padded_width * padded_width);
        std::vector<std::int32_t> offsets(n_pieces);
        for (std::size_t p = 0; p < n_pieces; ++p) {
            const Piece& piece = units.pieces[p];
            offsets[p] = piece.offset;
            for (std::int32_t i = piece.begin; i < piece.end; ++i)
                masked[p * L + static_cast<std::size_t>(i)] = model.w[static_cast<std::size_t>(piece.offset + i)];
        }
        const WeightedPieces<T> all{masked.data(), offsets.data(), static_cast<int>(n_pieces), T(0)};
        k.piece_sums(all, rows.data(), static_cast<int>(size), sums.data(), static_cast<std::int64_t>(n_pieces));
        std::vector<T> centre(n_units + 1, T(0));
        for (std::size_t i = 0; i < size; ++i) {
            T* row = &g[i * padded_width];
            T total = 0;
            for (std::size_t u = 0; u < n_units; ++u) {
                for (std::int32_t p = units.first[u]; p < units.first[u + 1]; ++p)
                    row[u] += sums[i * n_pieces + static_cast<std::size_t>(p)];
                total += row[u];
            }
            row[n_units] = total;
            for (std::size_t u = 0; u <= n_units; ++u) centre[u] += static_cast<T>(share[i]) * row[u];
        }
        for (std::size_t i = 0; i < size; ++i) {
            const T weight = static_cast<T>(std::sqrt(share[i] * n));
            for (std::size_t u = 0; u <= n_units; ++u)
                g[i * padded_width + u] = weight * (g[i * padded_width + u] - centre[u]);
        }
        k.gram(g.data(), static_cast<int>(size), static_cast<int>(padded_width), gram.data());
        std::vector<std::int32_t> candidates = geometric_checkpoints(units.count(), n);
        if (c.attention == Attention::budgeted) {  // a checkpoint after every unit, so that the cap can be anywhere
            candidates.clear();
            for (std::int32_t m = 1; m < units.count() && 4 * m <= n; ++m) candidates.push_back(m);
        }
        Regression r =
            regress(gram.data(), static_cast<std::int64_t>(padded_width), units.count(), n, units.cost,
                    c.order == Order::selected ? std::vector<std::int32_t>() : ordered(c, units, model), candidates);
        order = std::move(r.order);
        checkpoints = std::move(r.checkpoints);
        factors = std::move(r.factors);
        spread = std::move(r.spread);
    }

    // The order of all units under rules that need no regression.
    std::vector<std::int32_t> ordered(const Config& c, const Units& units, const Weights<T>& model) const {
        const std::size_t n = static_cast<std::size_t>(units.count());
        std::vector<std::int32_t> at(n);
        std::vector<double> key(n);
        const Permutation shuffled(static_cast<std::int64_t>(n), mix(c.seed ^ 0x6f72646572u));
        for (std::size_t u = 0; u < n; ++u) {
            at[u] = static_cast<std::int32_t>(u);
            if (c.order == Order::random) key[u] = static_cast<double>(shuffled(static_cast<std::int64_t>(u)));
            else if (c.order == Order::cost) key[u] = units.cost[u];
            else {
                double sum = 0;
                for (std::int32_t p = units.first[u]; p < units.first[u + 1]; ++p) {
                    const Piece& piece = units.pieces[static_cast<std::size_t>(p)];
                    for (std::int32_t i = piece.begin; i < piece.end; ++i) {
                        const std::size_t j = static_cast<std::size_t>(piece.offset + i);
                        sum += static_cast<double>(model.w[j]) * static_cast<double>(model.w[j]) *
                               static_cast<double>(variance[j]);
                    }
                }
                key[u] = -std::sqrt(sum) / units.cost[u];
            }
        }
        std::stable_sort(at.begin(), at.end(), [&](std::int32_t a, std::int32_t b) {
            return key[static_cast<std::size_t>(a)] < key[static_cast<std::size_t>(b)];
        });
        return at;
    }

    double spread_of_margins(const Config& c, const Weights<T>& model) const {
        const std::vector<const T*> rows = ring_rows(c);
        const double n = static_cast<double>(rows.size());
        double mean_margin = 0, squares = 0;
        std::vector<double> s;
        for (const T* x : rows)
            s.push_back(static_cast<double>(online_kernels<T>().dot(model.w.data(), x, c.n_features)));
        for (double v : s) mean_margin += v / n;
        for (double v : s) squares += (v - mean_margin) * (v - mean_margin);
        return std::sqrt(squares / (n - 1));
    }

    // A hard cap: one checkpoint, after as many whole units as the budget pays for. The other units count with their
    // expected value.
    void cap(const Config& c, const Units& units) {
        std::int64_t left = c.budget;
        std::int32_t m = 0;
        while (m < checkpoints.back() &&
               left >= units.size[static_cast<std::size_t>(order[static_cast<std::size_t>(m)])])
            left -= units.size[static_cast<std::size_t>(order[static_cast<std::size_t>(m++)])];
        m = std::max(m, 1);
        order.resize(static_cast<std::size_t>(m));
        checkpoints.assign(1, m);
        factors.assign(static_cast<std::size_t>(m), 1.0);
        spread.assign(1, 0.0);
    }

    void prepare_checkpoints(const OnlineKernels<T>& k, double middle) {
        k.fold(masked_.data(), pieces_of_mean_.data(), by_piece_.data(), tables_.data(), n_checkpoints(),
               folded_.data(), expected_.data());
        for (std::size_t i = 0; i < tables_.size(); ++i)
            tables_[i].start = static_cast<T>(middle - static_cast<double>(expected_[i]));
    }

    void prepare_walk(const Config& c, const Weights<T>& model, double sign, double middle) {
        for (T& w : masked_) w *= static_cast<T>(sign);
        tables_[0].start = static_cast<T>(sign * model.b);
        start_ = sign * model.b;
        middle_ = sign * middle;
        sigma_ = spread[0];
        if (c.variance == Variance::independent) {
            double sum = 0;
            for (std::size_t j = 0; j < variance.size(); ++j)
                sum += static_cast<double>(model.w[j]) * static_cast<double>(model.w[j]) *
                       static_cast<double>(variance[j]);
            sigma_ = std::sqrt(sum);
        }
        if (c.attention == Attention::centred) {
            const WeightedPieces<T> all{masked_.data(), offsets_.data(), static_cast<int>(offsets_.size()), T(0)};
            const T* row = mean.data();
            std::vector<T> sums(offsets_.size());
            online_kernels<T>().piece_sums(all, &row, 1, sums.data(), static_cast<std::int64_t>(sums.size()));
            double path = start_;
            for (std::size_t u = 0, p = 0; u < ends_.size(); ++u) {
                for (; p < static_cast<std::size_t>(ends_[u]); ++p) path += static_cast<double>(sums[p]);
                centre_[u] = static_cast<T>(path);
            }
        }
    }

    LineVector<T> masked_, pieces_of_mean_, folded_;
    std::vector<T> by_piece_, expected_, centre_;
    std::vector<std::int32_t> offsets_, ends_;
    std::vector<Piece> lanes_;
    std::vector<WeightedPieces<T>> tables_;
    std::vector<std::int64_t> features_;
    std::vector<double> cost_;
    double per_scale_ = 1, start_ = 0, middle_ = 0, sigma_ = 0;
};

}  // namespace wald::online
