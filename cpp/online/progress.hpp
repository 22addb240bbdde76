// Counters of a learner, feedback from audits to boundaries, and the schedule of fits.
#pragma once

#include <algorithm>
#include <array>

#include "core/interruption.hpp"
#include "online/examples.hpp"
#include "online/weights.hpp"

namespace wald::online {

inline constexpr std::int64_t kCheckRows = 16;  // rows between two checks for cancellation

struct Progress {
    const Config config;
    std::int64_t step = 0, updates = 0, next_fit = 0, n_fits = 0, features_seen = 0;
    double cost_seen = 0;
    std::array<std::int64_t, 2> rows_of{};  // read in the warm-up of each class
    std::array<Counts, 2> audits;
    std::array<Counts, 2> truth;  // counts over every row after the warm-up, if requested
    bool watch_all = false;

    explicit Progress(const Config& c) : config(c) {}

    void pay(std::int64_t features, double cost) {
        features_seen += features;
        cost_seen += cost;
    }

    // Counts an audited row. With a target error, moves the width of the boundary towards it and returns true.
    template <class B>
    bool add_audit(B& bound, Counts& counts, bool stop, bool need) {
        counts.add(stop, need);
        if (!(config.target > 0)) return false;
        const bool trial = config.error == Error::joint || (config.error == Error::posterior ? stop : need);
        if (!trial) return false;
        constexpr double gain = 0.5;
        bound.width = std::clamp(bound.width + gain * ((stop && need ? 1.0 : 0.0) - config.target), 0.0, 40.0);
        return true;
    }

    // True if a row that was read in full is kept to fit boundaries on: all rows in the warm-up, then audited ones.
    bool keeps_row(bool positive, bool audit) const {
        return config.attention != Attention::full && (audit || rows_of[positive] < config.warm_up);
    }
    // True if boundaries must be fitted: after the warm-up, or after enough updates since the last fit.
    bool fit_is_due(bool positive, bool updated) {
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
            if (rows_of[static_cast<std::size_t>(y)] >= config.warm_up)
                fit(static_cast<std::size_t>(y), sign(y), scale);
    }
};

}  // namespace wald::online
