// The first k rows of each group by the score of a tree ensemble: rows of a group race, and most leave early.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "core/cascade/engine.hpp"

namespace wald {

// Groups of rows, in the order of a RowSet: group g has the positions [ends[g - 1], ends[g]).
struct Groups {
    std::span<const std::int64_t> ends;

    std::int64_t size() const { return std::ssize(ends); }
    std::int64_t begin(std::int64_t g) const { return g == 0 ? 0 : ends[g - 1]; }
    std::int64_t end(std::int64_t g) const { return ends[g]; }
};

// What a call asks for: the first k rows of each group. A row leaves when its estimate lies more than q of its usual
// errors below the k-th best estimate of its group.
struct RankCall {
    std::int64_t k;
    double q;
    int n_threads;
};

// What a group may cost: so many trees a row on average over its rows, and so many seconds. The first stage is always
// taken.
struct Limits {
    double trees = HUGE_VAL;
    double seconds = HUGE_VAL;
};

// What a call finds, by position; `undecided` only within limits.
struct RankAnswers {
    double* scores;
    std::int32_t* stages;
    std::uint8_t* undecided = nullptr;
};

class GroupRace {
public:
    virtual ~GroupRace() = default;
    virtual int n_stages() const = 0;

    // Writes a score and a stage for each position. A row that stays has the stage n_stages() and its full score (NaN
    // if it holds a refused value); a row that left has its estimate or, if that is too large, a number just below the
    // full scores of all rows of its group that stayed.
    virtual void rank(const RowSet& set, const Groups& groups, const RankCall& call,
                      const RankAnswers& answers) const = 0;
    // The same within limits. Rows that have not left, and are not evaluated in full either, are marked as undecided:
    // they have the last stage that they took, and scores in the order of its estimates, below those of the rows in
    // full and above those of the rows that left. Of the others, the best by their estimates are evaluated in full.
    virtual void rank_within(const RowSet& set, const Groups& groups, const RankCall& call, const Limits& limits,
                             const RankAnswers& answers) const = 0;
    // Writes the estimates of all stages, and their usual errors, both (positions, n_stages()); no row leaves. Rows
    // with a refused value have NaN.
    virtual void trace(const RowSet& set, float* estimates, float* errors) const = 0;
};

// `usual` is the usual error of each stage's estimates; a row's own is this times the root of its variance, which the
// stages may say. Throws std::invalid_argument if the stages do not fit the trees.
std::shared_ptr<const GroupRace> group_race(const PackedTrees& trees, const StagesSpec& stages,
                                            std::span<const double> usual);

}  // namespace wald
