// One binary online learner: what it knows, and what becomes of it when rows were met. The passes over rows are next door.
#pragma once

#include <array>

#include "examples.hpp"
#include "sparse_boundary.hpp"

namespace wald::online {

template <class T>
class Learner {
public:
    const Config config;
    std::vector<double> costs;  // of features, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    std::array<SparseBoundary<T>, 2> sparse;
    std::int64_t step = 0, updates = 0, next_fit = 0, n_fits = 0, features_seen = 0;
    double cost_seen = 0, total_cost = 0;  // of all features
    std::array<std::int64_t, 2> rows_of{};  // seen in the warm-up of each class
    std::array<Counts, 2> audits;
    std::array<Counts, 2> truth;  // of every row after the warm-up, if asked for
    bool watch_all = false;
    const Units units;
    const Coin audits_at;  // steps

    Learner(const Config& c, std::vector<double> feature_costs)
        : config(c), costs(std::move(feature_costs)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())), audits_at(c.audit_rate, c.seed) {
        for (int y = 0; y < 2; ++y) boundary[static_cast<std::size_t>(y)].width = sparse[static_cast<std::size_t>(y)].width = c.width;
        for (double v : costs) total_cost += v;
        if (costs.empty()) total_cost = static_cast<double>(c.n_features);
    }

    // Margins of rows of unknown class, and the features read of each: a row is left once its sign is clear by `width`
    // standard deviations of what the rest may add. Full margins if nothing is known of the rows.
    void judge(const DenseBlock<T>& block, bool average, double width, double* margins, std::int64_t* seen) const {
        Config c = config;
        c.attention = Attention::conditional;
        c.order = Order::selected;
        Weights<T> w(c.n_features, false);
        std::vector<double> coef(static_cast<std::size_t>(c.n_features));
        model.answer(c, step, average, coef.data(), &w.b);
        for (std::size_t j = 0; j < coef.size(); ++j) w.w[j] = static_cast<T>(coef[j]);
        double share[2];
        const std::int64_t rows[2] = {1 + audits[0].rows, 1 + audits[1].rows};
        for (int y = 0; y < 2; ++y) share[y] = static_cast<double>(rows[y]) / static_cast<double>(rows[0] + rows[1]);
        Boundary<T> both;
        both.fit_both(c, units, w, boundary, share);
        both.width = width;
        const OnlineKernels<T>& k = kernels<T>().online;
        for (std::int64_t r = 0; r < block.n_rows; ++r) {
            const T* x = block.data + r * block.stride;
            seen[r] = c.n_features;
            for (int look = 0; look < both.n_looks(); ++look) {
                const Look<T>* at = &both.look(look);
                T z;
                k.scores(&at, &x, 1, &z);
                if (!(std::abs(static_cast<double>(z)) > both.slack(look, 1))) continue;
                margins[r] = static_cast<double>(z);
                seen[r] = both.features(look);
                break;
            }
            if (seen[r] == c.n_features) margins[r] = static_cast<double>(k.dot(w.w.data(), x, c.n_features)) + w.b;
            if (!std::isfinite(margins[r])) throw NotFinite(r);
        }
    }

    void pay(std::int64_t features, double cost) {
        features_seen += features;
        cost_seen += cost;
    }
    // An audit's finding; with a target, the boundary of the class is moved towards it (true).
    template <class B>
    bool report(B& bound, Counts& counts, bool stop, bool need) {
        counts.add(stop, need);
        if (!(config.target > 0)) return false;
        const bool trial = config.error == Error::joint || (config.error == Error::posterior ? stop : need);
        if (!trial) return false;
        constexpr double gain = 0.5;
        bound.width = std::clamp(bound.width + gain * ((stop && need ? 1.0 : 0.0) - config.target), 0.0, 40.0);
        return true;
    }

    // Whether a row that was seen in full is kept to fit boundaries on: all in the warm-up, then audits.
    bool gathers(bool positive, bool audit) const {
        return config.attention != Attention::full && (audit || rows_of[positive] < config.warm_up);
    }
    // Whether boundaries have to be fitted: for the first time, or because the model has been updated often since.
    bool due(bool positive, bool updated) {
        if (config.attention == Attention::full) return false;
        if (rows_of[positive] < config.warm_up && ++rows_of[positive] == config.warm_up) return true;
        return updated && updates >= next_fit && (rows_of[0] >= config.warm_up || rows_of[1] >= config.warm_up);
    }
    template <class Fit>
    void fit_boundaries(Fit fit) {
        next_fit = updates + 4 + updates / 6;
        ++n_fits;
        const double scale = std::max(target(config, step).scale, 1e-300);
        for (int y = 0; y < 2; ++y)
            if (rows_of[static_cast<std::size_t>(y)] >= config.warm_up) fit(static_cast<std::size_t>(y), sign(y), scale);
    }
    // Counts the step.
    void tick() {
        model.tick();
        ++step;
    }
    void update(double a, const T* x) {
        model.add(config, a, x);
        ++updates;
    }
};

}  // namespace wald::online
