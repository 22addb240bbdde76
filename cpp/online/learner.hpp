// A binary online learner: its model, boundaries and counts. The loops over rows are in dense_epoch.hpp and
// sparse_epoch.hpp.
#pragma once

#include "online/prediction.hpp"
#include "online/progress.hpp"
#include "online/sparse_boundary.hpp"

namespace wald::online {

template <class T>
class Learner : public Progress {
public:
    using Value = T;

    std::vector<double> costs;  // per feature, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    std::array<SparseBoundary<T>, 2> sparse;
    double total_cost = 0;  // sum over all features
    const Units units;
    const Coin audits_at;  // draws the steps whose rows are audited

    Learner(const Config& c, std::vector<double> feature_costs)
        : Progress(c), costs(std::move(feature_costs)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())),
          audits_at(c.audit_rate, c.seed) {
        for (int y = 0; y < 2; ++y)
            boundary[static_cast<std::size_t>(y)].width = sparse[static_cast<std::size_t>(y)].width = c.width;
        for (double v : costs) total_cost += v;
        if (costs.empty()) total_cost = static_cast<double>(c.n_features);
    }

    // Writes margins of rows of unknown class, and the number of features read of each. A row stops once the sign of
    // its margin is certain by `width` standard deviations of the rest. Margins are full while no boundary can be
    // fitted.
    void judge(const DenseBlock<T>& block, bool average, double width, double* margins, std::int64_t* seen) const {
        const Prediction<T> prediction(config, units, model, step, boundary, audits, average, width);
        for (std::int64_t r = 0; r < block.n_rows; ++r) {
            if (r % kCheckRows == 0) give_way();
            const T* x = block.data + r * block.stride;
            int checkpoint = 0;
            while (checkpoint < prediction.both.n_checkpoints() && !prediction.is_certain(checkpoint, x, &margins[r]))
                ++checkpoint;
            const bool left = checkpoint < prediction.both.n_checkpoints();
            if (!left) margins[r] = prediction.full(config, x);
            seen[r] = left ? prediction.both.features(checkpoint) : config.n_features;
            if (!std::isfinite(margins[r])) throw NotFinite(r);
        }
    }

    // State of a class's constant boundary: that of dense rows or, where it holds, that of CSR rows.
    Range range(std::size_t y) const {
        const Target t = target(config, step);
        const Range dense = boundary[y].range(config, t.threshold);
        return dense == Range::holds && boundary[y].walks(config) ? sparse_range(y, t) : dense;
    }

    // Ends a step.
    void tick() {
        model.tick(config, step);
        ++step;
    }
    void update(double a, const T* x) {
        model.add(config, a, x);
        ++updates;
    }

private:
    // Without spread, the boundary of CSR rows is not fitted.
    Range sparse_range(std::size_t y, const Target& t) const {
        const SparseBoundary<T>& s = sparse[y];
        if (!s.ready()) return rows_of[y] >= config.warm_up && s.length.size() >= 10 ? Range::no_spread : Range::holds;
        const double grown = t.scale / s.scale;
        return range_of(config, t.threshold, s.middle * grown, s.sigma * grown, s.width);
    }
};

}  // namespace wald::online
