// Rankings within limits: groups stop racing in time to evaluate their best rows in full.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ranking/ranking_run.hpp"

namespace wald {

// What a group may still pay. Seconds count as trees, by the pace of those that it has paid for.
class Allowance {
public:
    Allowance(const Limits& limits, std::int64_t n_rows)
        : trees_(limits.trees * static_cast<double>(n_rows)), seconds_(limits.seconds), n_rows_(n_rows) {
        if (timed()) start_ = Clock::now();
    }

    std::int64_t n_rows() const { return n_rows_; }
    bool timed() const { return seconds_ < HUGE_VAL; }
    double left() {
        if (!timed()) return trees_ - paid_;
        const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
        const double pace = worked_ > 0 ? std::max(passed, 1e-9) / worked_ : 1e-9;
        return std::min(trees_ - paid_, (seconds_ - passed) / pace - (paid_ - worked_));
    }
    void pay(double trees) { paid_ += trees; }
    // What was paid for is done.
    void settle() { worked_ = paid_; }

private:
    using Clock = std::chrono::steady_clock;

    double trees_, seconds_, paid_ = 0, worked_ = 0;
    std::int64_t n_rows_;
    Clock::time_point start_;
};

class LimitedRun : private RankingRun {
public:
    using RankingRun::RankingRun;

    // Ranks groups [first, last); a single one, if the clock is read.
    void rank(const Groups& groups, std::int64_t first, std::int64_t last, const RankCall& call, const Limits& limits,
              const RankAnswers& answers) {
        clear();
        allowances_.clear();
        for (std::int64_t g = first; g < last; ++g) {
            const std::int64_t size = groups.end(g) - groups.begin(g);
            for (std::int64_t at = groups.begin(g); at < groups.end(g); ++at) rows_.add(at);
            racing_.push_back({size, call.k, g - first});
            allowances_.emplace_back(limits, size);
        }
        rows_.start();
        for (int t = 0; t < stages_.size() && rows_.size() > 0; ++t) {
            if (t > 0) stop(t, call.k);
            if (rows_.size() == 0) break;
            rows_.evaluate(t);
            note(t, answers);
            decide(t, static_cast<float>(call.q), answers);
        }
        stay(0, rows_.size());
        finish(groups, first, last, answers);
        lower(groups, first, last, answers);
    }

private:
    // Lets groups stop before stage t: their rows are to be evaluated in full as far as that can be paid for.
    void stop(int t, std::int64_t k) {
        each_group([&](Racing& group, std::int64_t first, std::int64_t left) {
            if (may_go_on(t, group, k)) return keep(group, first, left);
            stay(first, first + group.n);
            group.n = 0;
        });
    }
    // Whether a group takes stage t: it must be paid for, and leave enough for the full scores of the first k rows, if
    // these could be paid for now. Groups that need not race stop where all their rows can be evaluated in full.
    bool may_go_on(int t, const Racing& group, std::int64_t k) {
        Allowance& allowance = allowances_[group.group];
        const double left = allowance.left();
        const auto rows = static_cast<double>(group.n), first = static_cast<double>(std::min(allowance.n_rows(), k));
        const auto now = static_cast<double>(stages_.trees_after(t - 1));
        const auto then = static_cast<double>(stages_.trees_after(t));
        if (allowance.n_rows() <= k && rows * now <= left) return false;
        const double after = left - rows * (now - then);
        return after >= 0 && (after >= first * then || left < first * now);
    }
    // Pays for stage t, and notes what it says of the rows that race.
    void note(int t, const RankAnswers& answers) {
        for (const Racing& group : racing_) {
            Allowance& allowance = allowances_[group.group];
            allowance.pay(static_cast<double>(group.n * (stages_.trees_of(t) - stages_.trees_of(t - 1))));
            allowance.settle();
        }
        for (std::int64_t i = 0; i < rows_.size(); ++i) {
            const std::int64_t at = rows_.position(i);
            answers.scores[at] = static_cast<double>(rows_.estimates()[i]);
            answers.stages[at] = t;
            answers.undecided[at] = 1;
        }
    }
    // Evaluates rows in full as far as that can be paid for, the best of each group by their estimates first. Rows
    // without an estimate, and those whose estimate is not finite, are evaluated whatever is left.
    void finish(const Groups& groups, std::int64_t first, std::int64_t last, const RankAnswers& answers) {
        const bool estimated = stages_.size() > 0;
        if (estimated) full_.sort_best_first(groups, first, last, answers.scores);
        std::int64_t done = 0, n = 0;
        std::size_t g = 0;  // of the row at i
        bool closed = false;
        const std::int64_t most = allowances_[0].timed() ? std::min<std::int64_t>(kPanelRows, full_.tile_rows())
                                                         : std::numeric_limits<std::int64_t>::max();
        for (std::int64_t i = 0; i < full_.size(); ++i) {
            const std::int64_t at = full_.position(i);
            for (; at >= groups.end(first + static_cast<std::int64_t>(g)); ++g) closed = false;
            const auto price = static_cast<double>(stages_.trees_after(estimated ? answers.stages[at] : -1));
            const bool forced = !estimated || answers.scores[at] == HUGE_VAL;
            closed = !forced && (closed || allowances_[g].left() < price);
            if (closed) continue;
            allowances_[g].pay(price);
            answers.undecided[at] = 0;
            full_.move(i, n++);
            if (n - done == most) {  // the clock goes on
                full_.evaluate(done, n, answers);
                allowances_[g].settle();
                done = n;
            }
        }
        full_.evaluate(done, n, answers);
    }

    std::vector<Allowance> allowances_;
};

}  // namespace wald
