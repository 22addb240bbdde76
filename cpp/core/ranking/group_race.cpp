// The main loop of rankings. All rows of some groups take a stage before any of them takes the next one, so that the
// rows that are left fill tiles, whatever their groups; only decisions are made group by group.
#include "core/ranking/group_race.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "core/cascade/trees.hpp"

namespace wald {

namespace {

struct RaceStage {
    SummedTrees trees;  // those that this stage adds
    Mixture estimate;
    std::optional<Mixture> variance;
    float usual_error;
};

class TreeRace final : public GroupRace {
public:
    TreeRace(std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order, const StagesSpec& spec,
             std::span<const double> usual)
        : trees_(std::move(trees)), least_variance_(static_cast<float>(spec.least_variance)) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        for (std::size_t t = 0; t < spec.terms.size(); ++t) {
            std::vector<std::int64_t> own;
            for (std::int64_t j = t == 0 ? 0 : spec.terms[t - 1]; j < spec.terms[t]; ++j) own.push_back(j);
            const std::int64_t end = std::ssize(own);
            const auto stage = static_cast<int>(t);
            stages_.push_back(
                {SummedTrees(trees_->spec(), sums, own, {&end, 1}),
                 Mixture(spec.bias[t][0], 0, n_sums_, [&](int sum) { return sums.mixture(stage, 0, sum); }),
                 std::nullopt, static_cast<float>(usual[t])});
            if (!spec.spread_bias.empty())
                stages_.back().variance.emplace(spec.spread_bias[t], 0, n_sums_,
                                                [&](int sum) { return spec.spread[t][sum]; });
        }
    }

    int n_stages() const override { return static_cast<int>(stages_.size()); }
    std::int64_t n_features() const override { return trees_->n_features(); }

    void rank(const RowSet& set, const Groups& groups, const RankCall& call, double* scores,
              std::int32_t* stages) const override;
    void trace(const RowSet& set, float* estimates, float* errors) const override;

private:
    // Groups of a chunk have at least so many rows together, where there are so many: late stages need full tiles.
    static constexpr std::int64_t kChunkRows = 8192;
    static constexpr std::int64_t kHeapPlaces = 32;

    class Run;

    std::shared_ptr<const TreeEnsemble> trees_;
    int n_sums_ = 0;
    float least_variance_;
    std::vector<RaceStage> stages_;
};

// One thread's rows: whole groups, whose rows that still race stand side by side.
class TreeRace::Run {
public:
    Run(const TreeRace& race, const RowSet& set, std::int64_t capacity)
        : race_(race), set_(set), capacity_(round_up(capacity, kPanelRows)), tiles_(stage_tiles(race, set.rows)),
          full_(*race.trees_, set.rows) {
        const std::int64_t n_sums = race.n_sums_;
        Arena& arena = thread_arena();
        arena.reset(2 * Arena::bytes<std::int64_t>(capacity_ + kTileRows) + 2 * Arena::bytes<std::int64_t>(capacity_) +
                    Arena::bytes<float>(n_sums * capacity_) + 3 * Arena::bytes<float>(capacity_ + kTileRows) +
                    Arena::bytes<float>(n_sums * kTileRows) + 2 * Arena::bytes<float*>(n_sums) + tiles_.bytes() +
                    full_.bytes());
        ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        full_ids_ = arena.take<std::int64_t>(capacity_ + kTileRows);
        positions_ = arena.take<std::int64_t>(capacity_);
        full_positions_ = arena.take<std::int64_t>(capacity_);
        sums_ = arena.take<float>(n_sums * capacity_);
        estimates_ = arena.take<float>(capacity_ + kTileRows);
        errors_ = arena.take<float>(capacity_ + kTileRows);
        sorted_ = arena.take<float>(capacity_ + kTileRows);
        part_ = arena.take<float>(n_sums * kTileRows);
        pointers_ = arena.take<float*>(n_sums);
        parts_ = arena.take<float*>(n_sums);
        tiles_.take(arena);
        full_.take(arena);
    }

    // Ranks groups [first, last).
    void rank(const Groups& groups, std::int64_t first, std::int64_t last, const RankCall& call, double* scores,
              std::int32_t* stages) {
        scores_ = scores, of_row_ = stages;
        n_ = n_full_ = 0;
        racing_.clear();
        for (std::int64_t g = first; g < last; ++g) {
            const bool races = groups.end(g) - groups.begin(g) > call.k && race_.n_stages() > 0;
            for (std::int64_t at = groups.begin(g); at < groups.end(g); ++at) {
                if (races) add_row(at);
                else stay(set_.row(at), at);
            }
            if (races) racing_.push_back({groups.end(g) - groups.begin(g), call.k});
        }
        clear_sums();
        for (int t = 0; t < race_.n_stages() && n_ > 0; ++t) {
            evaluate(t);
            decide(t, static_cast<float>(call.q));
        }
        for (std::int64_t i = 0; i < n_; ++i) stay(ids_[i], positions_[i]);
        finish();
        for (std::int64_t g = first; g < last; ++g) lower(groups.begin(g), groups.end(g));
    }

    void trace(std::int64_t begin, std::int64_t end, float* estimates, float* errors) {
        n_ = 0;
        for (std::int64_t at = begin; at < end; ++at) add_row(at);
        clear_sums();
        std::vector<std::uint8_t> refused(static_cast<std::size_t>(n_));
        for (int t = 0; t < race_.n_stages(); ++t) {
            evaluate(t);
            for (std::int64_t i = 0; i < n_; ++i) {
                refused[i] |= estimates_[i] == HUGE_VALF;
                const std::int64_t at = (begin + i) * race_.n_stages() + t;
                estimates[at] = refused[i] ? std::numeric_limits<float>::quiet_NaN() : estimates_[i];
                errors[at] = errors_[i];
            }
        }
    }

private:
    // A group with rows that still race for places among its first k.
    struct Racing {
        std::int64_t n, places;
    };

    static TileReader stage_tiles(const TreeRace& race, const Rows& rows) {
        std::int64_t panel_bytes = 0;
        bool any_cut = false;
        for (const RaceStage& stage : race.stages_) {
            const StepTrees& steps = stage.trees.trees().steps();
            panel_bytes = std::max(panel_bytes, steps.bins().panel_bytes());
            any_cut = any_cut || steps.any_cut();
        }
        return {race.trees_->reader(), rows, panel_bytes, any_cut};
    }

    void add_row(std::int64_t at) {
        ids_[n_] = set_.row(at);
        positions_[n_++] = at;
    }
    // A row is evaluated in full.
    void stay(std::int64_t id, std::int64_t at) {
        full_ids_[n_full_] = id;
        full_positions_[n_full_++] = at;
    }
    float* sum(int s) const { return sums_ + s * capacity_; }
    void clear_sums() {
        for (int s = 0; s < race_.n_sums_; ++s) std::fill_n(sum(s), n_, 0.0f);
    }

    // ---- estimates -------------------------------------------------------------------------------------------------

    // Adds the trees of stage t to all rows that race, and computes their estimates and usual errors. Rows with a
    // refused value, or whose estimate overflows, have the estimate infinity, so that they stay.
    void evaluate(int t) {
        const RaceStage& stage = race_.stages_[t];
        for (std::int64_t first = 0; first < n_; first += tiles_.n_rows()) {
            const int n = static_cast<int>(std::min<std::int64_t>(tiles_.n_rows(), n_ - first));
            const int known = static_cast<int>(std::min<std::int64_t>(n_ - first, kTileRows + kPanelRows));
            const Tile tile = tiles_.read({ids_ + first, n, known, t == 0 && first == 0}, stage.trees.trees());
            add(stage.trees, tile, first);
            mix(stage.estimate, first, n, estimates_ + first);
            if (stage.variance) {
                mix(*stage.variance, first, n, errors_ + first);
                for (int i = 0; i < n; ++i)
                    errors_[first + i] =
                        stage.usual_error * std::sqrt(std::max(errors_[first + i], race_.least_variance_));
            } else {
                std::fill_n(errors_ + first, n, stage.usual_error);
            }
            for (int i = 0; i < n; ++i)
                if (tiles_.is_refused(i) || std::isnan(estimates_[first + i])) estimates_[first + i] = HUGE_VALF;
        }
    }
    // Adds leaves to the sums of a tile whose rows begin at `first`. Whole panels are written.
    void add(const SummedTrees& trees, const Tile& tile, std::int64_t first) {
        const std::vector<int>& used = trees.sums();
        for (std::size_t s = 0; s < used.size(); ++s) pointers_[s] = sum(used[s]) + first;
        if (tiles_.n_rows() % kPanelRows == 0) return trees.add(0, tile, pointers_);
        for (std::size_t s = 0; s < used.size(); ++s) {
            parts_[s] = part_ + static_cast<std::int64_t>(s) * kTileRows;
            std::copy_n(pointers_[s], tile.n, parts_[s]);
        }
        trees.add(0, tile, parts_);
        for (std::size_t s = 0; s < used.size(); ++s) std::copy_n(parts_[s], tile.n, pointers_[s]);
    }
    void mix(const Mixture& mixture, std::int64_t first, int n, float* to) {
        for (int j = 0; j < mixture.size(); ++j) pointers_[j] = sum(mixture.sums[j]) + first;
        estimate_kernels().mix(mixture.bias, pointers_, mixture.weights.data(), mixture.size(), n, to);
    }

    // ---- decisions -------------------------------------------------------------------------------------------------

    // Lets rows of every group leave or stay for good, and packs the others.
    void decide(int t, float q) {
        std::int64_t first = 0, left = 0;
        std::size_t kept_groups = 0;
        for (Racing group : racing_) {
            const std::int64_t kept = decide(t, q, first, group, left);
            first += group.n;
            if (kept == 0) continue;
            left += kept;
            racing_[kept_groups++] = {kept, group.places};
        }
        racing_.resize(kept_groups);
        n_ = left;
    }
    // The same for a group whose rows begin at `first` and have more rows than places; the undecided ones move to the
    // places from `left` on. Returns their number.
    std::int64_t decide(int t, float q, std::int64_t first, Racing& group, std::int64_t left) {
        const float* const z = estimates_ + first;
        const auto [last_place, next] = places_of(z, group.n, group.places);
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < group.n; ++i) {
            const float reach = q * errors_[first + i];
            const std::int64_t at = positions_[first + i];
            if (z[i] + reach < last_place) {
                scores_[at] = static_cast<double>(z[i]);
                of_row_[at] = t;
            } else if (z[i] - reach > next) {
                stay(ids_[first + i], at);
                --group.places;
            } else {
                move(first + i, left + kept++);
            }
        }
        if (kept > group.places && group.places > 0) return kept;
        for (std::int64_t i = left; i < left + kept; ++i) stay(ids_[i], positions_[i]);  // no row has to leave any more
        return 0;
    }
    struct Places {
        float last, next;  // the estimates on the last place, and on the one behind it
    };
    // Few places are kept in a heap, whose top is the smallest: most estimates are compared with it alone.
    Places places_of(const float* z, std::int64_t n, std::int64_t places) {
        const std::greater<float> above;
        std::copy_n(z, n, sorted_);
        if (places > kHeapPlaces) {
            std::nth_element(sorted_, sorted_ + places - 1, sorted_ + n, above);
            return {sorted_[places - 1], *std::max_element(sorted_ + places, sorted_ + n)};
        }
        float* const end = sorted_ + places + 1;
        std::make_heap(sorted_, end, above);
        for (std::int64_t i = places + 1; i < n; ++i) {
            if (!(z[i] > sorted_[0])) continue;
            std::pop_heap(sorted_, end, above);
            end[-1] = z[i];
            std::push_heap(sorted_, end, above);
        }
        return {places > 1 ? std::min(sorted_[1], sorted_[2]) : sorted_[1], sorted_[0]};
    }
    void move(std::int64_t from, std::int64_t to) {
        ids_[to] = ids_[from];
        positions_[to] = positions_[from];
        for (int s = 0; s < race_.n_sums_; ++s) sum(s)[to] = sum(s)[from];
    }

    // ---- full scores -----------------------------------------------------------------------------------------------

    void finish() {
        for (std::int64_t first = 0; first < n_full_; first += full_.n_rows()) {
            const int n = static_cast<int>(std::min<std::int64_t>(full_.n_rows(), n_full_ - first));
            const int known = static_cast<int>(std::min<std::int64_t>(n_full_ - first, kTileRows + kPanelRows));
            const double* const found = full_.of({full_ids_ + first, n, known, false});
            for (int i = 0; i < n; ++i) {
                scores_[full_positions_[first + i]] = found[i];
                of_row_[full_positions_[first + i]] = race_.n_stages();
            }
        }
    }
    // Lowers the estimates of a group below the full scores of its rows that stayed.
    void lower(std::int64_t begin, std::int64_t end) {
        double least = HUGE_VAL;
        for (std::int64_t at = begin; at < end; ++at)
            if (of_row_[at] == race_.n_stages() && scores_[at] < least) least = scores_[at];
        const bool single =
            race_.trees_->spec().f32_sums;  // then scores are float32 numbers in the model's own answers
        const double below = single ? static_cast<double>(std::nextafter(static_cast<float>(least), -HUGE_VALF))
                                    : std::nextafter(least, -HUGE_VAL);
        for (std::int64_t at = begin; at < end; ++at)
            if (of_row_[at] != race_.n_stages()) scores_[at] = std::min(scores_[at], below);
    }

    const TreeRace& race_;
    const RowSet& set_;
    std::int64_t capacity_;
    TileReader tiles_;
    TreeEnsemble::FullScores full_;
    std::vector<Racing> racing_;
    std::int64_t n_ = 0, n_full_ = 0;  // rows that race, and rows to evaluate in full
    std::int64_t *ids_, *full_ids_, *positions_, *full_positions_;
    float *sums_, *estimates_, *errors_, *sorted_, *part_;
    float **pointers_, **parts_;
    double* scores_ = nullptr;
    std::int32_t* of_row_ = nullptr;
};

void TreeRace::rank(const RowSet& set, const Groups& groups, const RankCall& call, double* scores,
                    std::int32_t* stages) const {
    std::vector<std::int64_t> chunks{0};  // first group of each, and the number of groups
    for (std::int64_t g = 1; g < groups.size(); ++g)
        if (groups.begin(g) - groups.begin(chunks.back()) >= kChunkRows) chunks.push_back(g);
    if (groups.size() == 0) return;
    chunks.push_back(groups.size());
    parallel_for(std::ssize(chunks) - 1, call.n_threads, [&](std::int64_t c, int) {
        const std::int64_t first = chunks[c], last = chunks[c + 1];
        Run run(*this, set, groups.end(last - 1) - groups.begin(first));
        run.rank(groups, first, last, call, scores, stages);
    });
}

void TreeRace::trace(const RowSet& set, float* estimates, float* errors) const {
    if (stages_.empty()) return;
    each_piece(set.n, kChunkRows, set.n_threads, [&](std::int64_t begin, std::int64_t end, int) {
        Run(*this, set, end - begin).trace(begin, end, estimates, errors);
    });
}

}  // namespace

std::shared_ptr<const GroupRace> group_race(const PackedTrees& trees, const StagesSpec& stages,
                                            std::span<const double> usual) {
    return std::make_shared<const TreeRace>(trees.ensemble(), trees.order(), stages, usual);
}

}  // namespace wald
