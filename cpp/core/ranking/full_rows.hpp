// One thread's rows that are evaluated in full.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/ranking/group_race.hpp"
#include "core/ranking/ranking_stages.hpp"

namespace wald {

class FullRows {
public:
    FullRows(const RankingStages& stages, const RowSet& set, std::int64_t capacity)
        : capacity_(capacity), stage_(stages.size()), scores_(stages.trees(), set.rows) {}
    std::size_t bytes() const {
        return Arena::bytes<std::int64_t>(capacity_ + kTileRows) + Arena::bytes<std::int64_t>(capacity_) +
               scores_.bytes();
    }
    void take(Arena& arena) {
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int64_t>(capacity_);
        scores_.take(arena);
    }

    std::int64_t size() const { return n_; }
    std::int64_t position(std::int64_t i) const { return positions_[i]; }
    int tile_rows() const { return scores_.n_rows(); }
    void clear() { n_ = 0; }
    void add(std::int64_t id, std::int64_t at) {
        ids_[n_] = id;
        positions_[n_++] = at;
    }
    void move(std::int64_t from, std::int64_t to) {
        ids_[to] = ids_[from];
        positions_[to] = positions_[from];
    }

    // Writes the full scores of rows [begin, end).
    void evaluate(std::int64_t begin, std::int64_t end, const RankAnswers& answers) {
        for (std::int64_t first = begin; first < end; first += tile_rows()) {
            const std::int64_t n = std::min<std::int64_t>(tile_rows(), end - first);
            const int known = static_cast<int>(std::min<std::int64_t>(end - first, kTileRows + kPanelRows));
            const double* const found = scores_.of({ids_ + first, static_cast<int>(n), known, false});
            for (std::int64_t i = 0; i < n; ++i) {
                answers.scores[positions_[first + i]] = found[i];
                answers.stages[positions_[first + i]] = stage_;
            }
        }
    }
    // Sorts the rows of groups [first, last), group by group, the best by their scores first.
    void sort_best_first(const Groups& groups, std::int64_t first, std::int64_t last, const double* scores) {
        const std::int64_t begin = groups.begin(first);
        std::vector<std::int32_t> group_of(static_cast<std::size_t>(groups.end(last - 1) - begin));
        for (std::int64_t g = first; g < last; ++g)
            std::fill(group_of.begin() + (groups.begin(g) - begin), group_of.begin() + (groups.end(g) - begin),
                      static_cast<std::int32_t>(g - first));
        std::vector<std::int64_t> order(static_cast<std::size_t>(n_));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::ranges::sort(order, [&](std::int64_t i, std::int64_t j) {
            const std::int64_t a = positions_[i], b = positions_[j];
            const std::int32_t ga = group_of[a - begin], gb = group_of[b - begin];
            if (ga != gb) return ga < gb;
            return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
        });
        reorder(order, ids_);
        reorder(order, positions_);
    }

private:
    static void reorder(const std::vector<std::int64_t>& order, std::int64_t* values) {
        std::vector<std::int64_t> moved;
        moved.reserve(order.size());
        for (const std::int64_t i : order) moved.push_back(values[i]);
        std::ranges::copy(moved, values);
    }

    std::int64_t capacity_, n_ = 0;
    std::int32_t stage_;  // of rows that stay
    TreeEnsemble::FullScores scores_;
    std::int64_t *ids_ = nullptr, *positions_ = nullptr;
};

}  // namespace wald
