// One thread's groups on their way through the stages. All their rows take a stage before any of them takes the next
// one; only decisions are made group by group.
#pragma once

#include <limits>
#include <vector>

#include "core/ranking/full_rows.hpp"
#include "core/ranking/lowered_scores.hpp"
#include "core/ranking/places.hpp"
#include "core/ranking/racing_rows.hpp"

namespace wald {

class RankingRun {
public:
    // Takes the memory for groups with `capacity` rows.
    RankingRun(const RankingStages& stages, const RowSet& set, std::int64_t capacity)
        : stages_(stages), set_(set), rows_(stages, set, capacity), full_(stages, set, capacity), places_(capacity) {
        Arena& arena = thread_arena();
        arena.reset(rows_.bytes() + full_.bytes() + places_.bytes());
        rows_.take(arena);
        full_.take(arena);
        places_.take(arena);
    }

    // Ranks groups [first, last).
    void rank(const Groups& groups, std::int64_t first, std::int64_t last, const RankCall& call,
              const RankAnswers& answers) {
        clear();
        for (std::int64_t g = first; g < last; ++g) {
            const bool races = groups.end(g) - groups.begin(g) > call.k && stages_.size() > 0;
            for (std::int64_t at = groups.begin(g); at < groups.end(g); ++at) {
                if (races) rows_.add(at);
                else full_.add(set_.row(at), at);
            }
            if (races) racing_.push_back({groups.end(g) - groups.begin(g), call.k});
        }
        rows_.start();
        for (int t = 0; t < stages_.size() && rows_.size() > 0; ++t) {
            rows_.evaluate(t);
            decide(t, static_cast<float>(call.q), answers);
        }
        stay(0, rows_.size());
        full_.evaluate(0, full_.size(), answers);
        lower(groups, first, last, answers);
    }

    // Stores the estimates and usual errors of all stages for the rows at positions [begin, end).
    void trace(std::int64_t begin, std::int64_t end, float* estimates, float* errors) {
        clear();
        for (std::int64_t at = begin; at < end; ++at) rows_.add(at);
        rows_.start();
        std::vector<std::uint8_t> refused(static_cast<std::size_t>(rows_.size()));
        for (int t = 0; t < stages_.size(); ++t) {
            rows_.evaluate(t);
            for (std::int64_t i = 0; i < rows_.size(); ++i) {
                refused[i] |= rows_.estimates()[i] == HUGE_VALF;
                const std::int64_t at = (begin + i) * stages_.size() + t;
                estimates[at] = refused[i] ? std::numeric_limits<float>::quiet_NaN() : rows_.estimates()[i];
                errors[at] = rows_.errors()[i];
            }
        }
    }

protected:
    // A group with rows that still race for places among its first k.
    struct Racing {
        std::int64_t n, places;
        std::int64_t group = 0;  // counted from the first group of the run; for limits alone
    };

    void clear() {
        rows_.clear();
        full_.clear();
        racing_.clear();
    }
    // The racing rows [begin, end) are evaluated in full.
    void stay(std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) full_.add(rows_.id(i), rows_.position(i));
    }
    void lower(const Groups& groups, std::int64_t first, std::int64_t last, const RankAnswers& answers) const {
        const LoweredScores scores(answers, stages_.size(), stages_.trees().spec().f32_sums);
        for (std::int64_t g = first; g < last; ++g) scores.lower(groups.begin(g), groups.end(g));
    }
    // Calls kept(group, first, left) for each group, whose rows begin at `first`: it moves those that go on racing to
    // the places from `left` on, and makes the group what is left of it.
    template <class Kept>
    void each_group(const Kept& kept) {
        std::int64_t first = 0, left = 0;
        std::size_t n_groups = 0;
        for (Racing group : racing_) {
            const std::int64_t n = group.n;
            kept(group, first, left);
            first += n;
            if (group.n == 0) continue;
            left += group.n;
            racing_[n_groups++] = group;
        }
        racing_.resize(n_groups);
        rows_.cut(left);
    }
    // Lets rows of every group leave or stay for good.
    void decide(int t, float q, const RankAnswers& answers) {
        each_group([&](Racing& group, std::int64_t first, std::int64_t left) {
            if (group.n <= group.places) keep(group, first, left);  // within limits, for want of full scores
            else decide(t, q, group, first, left, answers);
        });
    }
    void keep(const Racing& group, std::int64_t first, std::int64_t left) {
        for (std::int64_t i = 0; i < group.n; ++i) rows_.move(first + i, left + i);
    }

    const RankingStages& stages_;
    const RowSet& set_;
    RacingRows rows_;
    FullRows full_;
    std::vector<Racing> racing_;

private:
    // The same for a group with more rows than places.
    void decide(int t, float q, Racing& group, std::int64_t first, std::int64_t left, const RankAnswers& answers) {
        const float* const z = rows_.estimates() + first;
        const auto [last, next] = places_.of(z, group.n, group.places);
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < group.n; ++i) {
            const float reach = q * rows_.errors()[first + i];
            const std::int64_t at = rows_.position(first + i);
            if (z[i] + reach < last) {
                answers.scores[at] = static_cast<double>(z[i]);
                answers.stages[at] = t;
                if (answers.undecided != nullptr) answers.undecided[at] = 0;
            } else if (z[i] - reach > next) {
                full_.add(rows_.id(first + i), at);
                --group.places;
            } else {
                rows_.move(first + i, left + kept++);
            }
        }
        group.n = kept;
        if (kept > group.places && group.places > 0) return;
        stay(left, left + kept);  // no row has to leave any more
        group.n = 0;
    }

    PlaceFinder places_;
};

}  // namespace wald
