// Scores of rows that were not evaluated in full, below those that were.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/ranking/group_race.hpp"

namespace wald {

class LoweredScores {
public:
    // Rows in full have the stage n_stages. `single`: the model's own scores are float32 numbers.
    LoweredScores(const RankAnswers& answers, int n_stages, bool single)
        : answers_(answers), n_stages_(n_stages), single_(single) {}

    // Lowers the estimates of a group: those of undecided rows below the full scores, and those of rows that left below
    // both. Undecided rows keep their order.
    void lower(std::int64_t begin, std::int64_t end) const {
        double* const scores = answers_.scores;
        double least = HUGE_VAL;
        for (std::int64_t at = begin; at < end; ++at)
            if (is_full(at) && scores[at] < least) least = scores[at];
        if (answers_.undecided != nullptr) {
            const double bound = below(least);
            double best = -HUGE_VAL;
            for (std::int64_t at = begin; at < end; ++at)
                if (is_undecided(at)) best = std::max(best, scores[at]);
            for (std::int64_t at = begin; at < end; ++at) {
                if (!is_undecided(at)) continue;
                if (best > bound) scores[at] = std::min(rounded(scores[at] - (best - bound)), bound);
                least = std::min(least, scores[at]);
            }
        }
        const double bound = below(least);
        for (std::int64_t at = begin; at < end; ++at)
            if (!is_full(at) && !is_undecided(at)) scores[at] = std::min(scores[at], bound);
    }

private:
    bool is_full(std::int64_t at) const { return answers_.stages[at] == n_stages_; }
    bool is_undecided(std::int64_t at) const { return answers_.undecided != nullptr && answers_.undecided[at] != 0; }
    double rounded(double score) const { return single_ ? static_cast<double>(static_cast<float>(score)) : score; }
    double below(double score) const {
        return single_ ? static_cast<double>(std::nextafter(static_cast<float>(score), -HUGE_VALF))
                       : std::nextafter(score, -HUGE_VAL);
    }

    const RankAnswers& answers_;
    int n_stages_;
    bool single_;
};

}  // namespace wald
