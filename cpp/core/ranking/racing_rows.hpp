// One thread's rows that still race, side by side, whatever their groups: so they fill tiles.
#pragma once

#include <cmath>

#include "core/ranking/ranking_stages.hpp"

namespace wald {

class RacingRows {
public:
    RacingRows(const RankingStages& stages, const RowSet& set, std::int64_t capacity)
        : stages_(stages), set_(set), capacity_(round_up(capacity, kPanelRows)),
          tiles_(stages.trees().reader(), set.rows, stages.needs()), sums_(1, stages.n_sums(), capacity_) {}
    std::size_t bytes() const {
        return Arena::bytes<std::int64_t>(capacity_ + kTileRows) + Arena::bytes<std::int64_t>(capacity_) +
               2 * Arena::bytes<float>(capacity_ + kTileRows) + sums_.bytes() + tiles_.bytes();
    }
    void take(Arena& arena) {
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int64_t>(capacity_);
        estimates_ = arena.take<float>(capacity_ + kTileRows);
        errors_ = arena.take<float>(capacity_ + kTileRows);
        sums_.take(arena);
        tiles_.take(arena);
    }

    std::int64_t size() const { return n_; }
    std::int64_t id(std::int64_t i) const { return ids_[i]; }
    std::int64_t position(std::int64_t i) const { return positions_[i]; }
    // Of the stage that was evaluated last.
    const float* estimates() const { return estimates_; }
    const float* errors() const { return errors_; }

    void clear() { n_ = 0; }
    void add(std::int64_t at) {
        ids_[n_] = set_.row(at);
        positions_[n_++] = at;
    }
    void start() { sums_.clear(n_); }
    void move(std::int64_t from, std::int64_t to) {
        ids_[to] = ids_[from];
        positions_[to] = positions_[from];
        sums_.move(from, to);
    }
    void cut(std::int64_t n) { n_ = n; }

    // Adds the trees of stage t to all rows, and computes their estimates and usual errors. Rows with a refused value,
    // or whose estimate overflows, have the estimate infinity, so that they stay.
    void evaluate(int t) {
        const RankingStage& stage = stages_[t];
        for (std::int64_t first = 0; first < n_; first += tiles_.n_rows()) {
            const int n = static_cast<int>(std::min<std::int64_t>(tiles_.n_rows(), n_ - first));
            const int known = static_cast<int>(std::min<std::int64_t>(n_ - first, kTileRows + kPanelRows));
            const Tile tile = tiles_.read({ids_ + first, n, known, t == 0 && first == 0}, stage.trees.trees());
            const auto sum_of = [&](int s) { return sums_.of(s) + first; };
            sums_.add(stage.trees, 0, tile, first, tiles_.n_rows());
            sums_.mix(stage.estimate, n, estimates_ + first, sum_of);
            if (stage.variance) {
                sums_.mix(*stage.variance, n, errors_ + first, sum_of);
                for (std::int64_t i = first; i < first + n; ++i)
                    errors_[i] = stage.usual_error * std::sqrt(std::max(errors_[i], stages_.least_variance()));
            } else {
                std::fill_n(errors_ + first, n, stage.usual_error);
            }
            for (int i = 0; i < n; ++i)
                if (tiles_.is_refused(i) || std::isnan(estimates_[first + i])) estimates_[first + i] = HUGE_VALF;
        }
    }

private:
    const RankingStages& stages_;
    const RowSet& set_;
    std::int64_t capacity_, n_ = 0;
    TileReader tiles_;
    CarriedSums sums_;
    std::int64_t *ids_ = nullptr, *positions_ = nullptr;
    float *estimates_ = nullptr, *errors_ = nullptr;
};

}  // namespace wald
