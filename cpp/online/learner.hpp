// One binary online learner: what it knows, and what becomes of it when rows were met. The passes over rows are next
// door.
#pragma once

#include "online/prediction.hpp"
#include "online/progress.hpp"
#include "online/sparse_boundary.hpp"

namespace wald::online {

template <class T>
class Learner : public Progress {
public:
    using Value = T;

    std::vector<double> costs;  // of features, or empty
    Weights<T> model;
    std::array<Boundary<T>, 2> boundary;
    std::array<SparseBoundary<T>, 2> sparse;
    double total_cost = 0;  // of all features
    const Units units;
    const Coin audits_at;  // steps

    Learner(const Config& c, std::vector<double> feature_costs)
        : Progress(c), costs(std::move(feature_costs)), model(c.n_features, c.average),
          units(cut<T>(c.n_features, c.n_columns, c.unit, c.line_offset, costs.empty() ? nullptr : costs.data())),
          audits_at(c.audit_rate, c.seed) {
        for (int y = 0; y < 2; ++y)
            boundary[static_cast<std::size_t>(y)].width = sparse[static_cast<std::size_t>(y)].width = c.width;
        for (double v : costs) total_cost += v;
        if (costs.empty()) total_cost = static_cast<double>(c.n_features);
    }

    // Margins of rows of unknown class, and the features read of each: a row is left once its sign is clear by `width`
    // standard deviations of what the rest may add. Full margins if nothing is known of the rows.
    void judge(const DenseBlock<T>& block, bool average, double width, double* margins, std::int64_t* seen) const {
        const Prediction<T> known(config, units, model, step, boundary, audits, average, width);
        for (std::int64_t r = 0; r < block.n_rows; ++r) {
            if (r % kTogether == 0) give_way();
            const T* x = block.data + r * block.stride;
            int look = 0;
            while (look < known.both.n_looks() && !known.clear(look, x, &margins[r])) ++look;
            const bool left = look < known.both.n_looks();
            if (!left) margins[r] = known.full(config, x);
            seen[r] = left ? known.both.features(look) : config.n_features;
            if (!std::isfinite(margins[r])) throw NotFinite(r);
        }
    }

    // Counts the step.
    void tick() {
        model.tick(config, step);
        ++step;
    }
    void update(double a, const T* x) {
        model.add(config, a, x);
        ++updates;
    }
};

}  // namespace wald::online
