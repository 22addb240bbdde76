// The main loop of rankings. All rows of some groups take a stage before any of them takes the next one, so that the
// rows that are left fill tiles, whatever their groups; only decisions are made group by group.
#include "core/ranking/group_race.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/cascade/trees.hpp"

namespace wald {

namespace {

struct RaceStage {
    SummedTrees trees;     // those that this stage adds
    std::int64_t n_trees;  // with those of the stages before
    Mixture estimate;
    std::optional<Mixture> variance;
    float usual_error;
};

class TreeRace final : public GroupRace {
public:
    TreeRace(std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order, const StagesSpec& spec,
             std::span<const double> usual)
        : trees_(std::move(trees)), n_trees_(std::ssize(order)),
          least_variance_(static_cast<float>(spec.least_variance)) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        for (std::size_t t = 0; t < spec.terms.size(); ++t) {
            std::vector<std::int64_t> own;
            for (std::int64_t j = t == 0 ? 0 : spec.terms[t - 1]; j < spec.terms[t]; ++j) own.push_back(j);
            const std::int64_t end = std::ssize(own);
            const auto stage = static_cast<int>(t);
            stages_.push_back(
                {SummedTrees(trees_->spec(), sums, own, {&end, 1}), spec.terms[t],
                 Mixture(spec.bias[t][0], 0, n_sums_, [&](int sum) { return sums.mixture(stage, 0, sum); }),
                 std::nullopt, static_cast<float>(usual[t])});
            if (!spec.spread_bias.empty())
                stages_.back().variance.emplace(spec.spread_bias[t], 0, n_sums_,
                                                [&](int sum) { return spec.spread[t][sum]; });
        }
    }

    // Trees up to the end of stage t.
    std::int64_t trees_of(int t) const { return t < 0 ? 0 : stages_[t].n_trees; }
    int n_stages() const override { return static_cast<int>(stages_.size()); }
    std::int64_t n_features() const override { return trees_->n_features(); }

    void rank(const RowSet& set, const Groups& groups, const RankCall& call, double* scores,
              std::int32_t* stages) const override;
    void rank_within(const RowSet& set, const Groups& groups, const RankCall& call, const Limits& limits,
                     double* scores, std::int32_t* stages, std::uint8_t* undecided) const override;
    void trace(const RowSet& set, float* estimates, float* errors) const override;

private:
    // Groups of a chunk have at least so many rows together, where there are so many: late stages need full tiles.
    static constexpr std::int64_t kChunkRows = 8192;
    static constexpr std::int64_t kHeapPlaces = 32;

    class Run;
    class Allowance;

    // Calls rank(run, first group, last group) for chunks of groups, on several threads.
    template <class Rank>
    void each_chunk(const RowSet& set, const Groups& groups, int n_threads, const Rank& rank) const;

    std::shared_ptr<const TreeEnsemble> trees_;
    std::int64_t n_trees_;
    int n_sums_ = 0;
    float least_variance_;
    std::vector<RaceStage> stages_;
};

// What a group may still pay. Seconds count as trees, by the pace of those that it has paid for.
class TreeRace::Allowance {
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

    // Ranks groups [first, last) within limits; a single one, if the clock is read.
    void rank_within(const Groups& groups, std::int64_t first, std::int64_t last, const RankCall& call,
                     const Limits& limits, double* scores, std::int32_t* stages, std::uint8_t* undecided) {
        scores_ = scores, of_row_ = stages, undecided_ = undecided;
        n_ = n_full_ = 0;
        racing_.clear();
        allowances_.clear();
        for (std::int64_t g = first; g < last; ++g) {
            const std::int64_t size = groups.end(g) - groups.begin(g);
            for (std::int64_t at = groups.begin(g); at < groups.end(g); ++at) add_row(at);
            racing_.push_back({size, call.k, g - first});
            allowances_.emplace_back(limits, size);
        }
        clear_sums();
        for (int t = 0; t < race_.n_stages() && n_ > 0; ++t) {
            if (t > 0) stop(t, call.k);
            if (n_ == 0) break;
            evaluate(t);
            note(t);
            decide(t, static_cast<float>(call.q));
        }
        for (std::int64_t i = 0; i < n_; ++i) stay(ids_[i], positions_[i]);
        finish_within(groups, first, last);
        for (std::int64_t g = first; g < last; ++g) lower(groups.begin(g), groups.end(g));
        undecided_ = nullptr;
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
        std::int64_t group = 0;  // within limits: that of its allowance
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
            racing_[kept_groups++] = {kept, group.places, group.group};
        }
        racing_.resize(kept_groups);
        n_ = left;
    }
    // The same for a group whose rows begin at `first` and have more rows than places; the undecided ones move to the
    // places from `left` on. Returns their number.
    std::int64_t decide(int t, float q, std::int64_t first, Racing& group, std::int64_t left) {
        if (group.n <= group.places) {  // within limits, such groups may race for want of full scores
            for (std::int64_t i = 0; i < group.n; ++i) move(first + i, left + i);
            return group.n;
        }
        const float* const z = estimates_ + first;
        const auto [last_place, next] = places_of(z, group.n, group.places);
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < group.n; ++i) {
            const float reach = q * errors_[first + i];
            const std::int64_t at = positions_[first + i];
            if (z[i] + reach < last_place) {
                scores_[at] = static_cast<double>(z[i]);
                of_row_[at] = t;
                if (undecided_ != nullptr) undecided_[at] = 0;
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
        for (std::int64_t first = 0; first < n_full_; first += full_.n_rows())
            evaluate_fully(first, std::min<std::int64_t>(full_.n_rows(), n_full_ - first), n_full_);
    }
    // Evaluates n rows from `first` on; `end` are known.
    void evaluate_fully(std::int64_t first, std::int64_t n, std::int64_t end) {
        const int known = static_cast<int>(std::min<std::int64_t>(end - first, kTileRows + kPanelRows));
        const double* const found = full_.of({full_ids_ + first, static_cast<int>(n), known, false});
        for (std::int64_t i = 0; i < n; ++i) {
            scores_[full_positions_[first + i]] = found[i];
            of_row_[full_positions_[first + i]] = race_.n_stages();
        }
    }
    // The same within allowances: the best rows of each group by their estimates come first. Rows without an estimate,
    // and those whose estimate is not finite, are evaluated whatever is left.
    void finish_within(const Groups& groups, std::int64_t first, std::int64_t last) {
        if (race_.n_stages() > 0) sort_best_first(groups, first, last);
        std::int64_t done = 0, n = 0;
        std::size_t g = 0;  // of the row at i
        bool closed = false;
        const bool timed = allowances_[0].timed();
        const std::int64_t most =
            timed ? std::min<std::int64_t>(kPanelRows, full_.n_rows()) : std::numeric_limits<std::int64_t>::max();
        for (std::int64_t i = 0; i < n_full_; ++i) {
            const std::int64_t at = full_positions_[i];
            for (; at >= groups.end(first + static_cast<std::int64_t>(g)); ++g) closed = false;
            const auto price =
                static_cast<double>(race_.n_trees_ - (race_.n_stages() > 0 ? race_.trees_of(of_row_[at]) : 0));
            const bool forced = race_.n_stages() == 0 || scores_[at] == HUGE_VAL;
            closed = !forced && (closed || allowances_[g].left() < price);
            if (closed) continue;
            allowances_[g].pay(price);
            undecided_[at] = 0;
            full_ids_[n] = full_ids_[i];
            full_positions_[n++] = at;
            if (n - done == most) {  // the clock goes on
                evaluate_fully(done, n - done, n);
                allowances_[g].settle();
                done = n;
            }
        }
        for (; done < n; done += full_.n_rows())
            evaluate_fully(done, std::min<std::int64_t>(full_.n_rows(), n - done), n);
    }
    void sort_best_first(const Groups& groups, std::int64_t first, std::int64_t last) {
        const std::int64_t begin = groups.begin(first);
        std::vector<std::int32_t> group_of(static_cast<std::size_t>(groups.end(last - 1) - begin));
        for (std::int64_t g = first; g < last; ++g)
            std::fill(group_of.begin() + (groups.begin(g) - begin), group_of.begin() + (groups.end(g) - begin),
                      static_cast<std::int32_t>(g - first));
        std::vector<std::int64_t> order(static_cast<std::size_t>(n_full_));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::ranges::sort(order, [&](std::int64_t i, std::int64_t j) {
            const std::int64_t a = full_positions_[i], b = full_positions_[j];
            const std::int32_t ga = group_of[a - begin], gb = group_of[b - begin];
            if (ga != gb) return ga < gb;
            return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
        });
        reorder(order, full_ids_);
        reorder(order, full_positions_);
    }
    static void reorder(const std::vector<std::int64_t>& order, std::int64_t* values) {
        std::vector<std::int64_t> moved;
        moved.reserve(order.size());
        for (const std::int64_t i : order) moved.push_back(values[i]);
        std::ranges::copy(moved, values);
    }
    // Lets groups stop before stage t: their rows are to be evaluated in full as far as that can be paid for.
    void stop(int t, std::int64_t k) {
        std::int64_t first = 0, left = 0;
        std::size_t kept_groups = 0;
        for (const Racing group : racing_) {
            if (may_go_on(t, group, k)) {
                for (std::int64_t i = 0; i < group.n; ++i) move(first + i, left++);
                racing_[kept_groups++] = group;
            } else {
                for (std::int64_t i = first; i < first + group.n; ++i) stay(ids_[i], positions_[i]);
            }
            first += group.n;
        }
        racing_.resize(kept_groups);
        n_ = left;
    }
    // Whether a group takes stage t: it must be paid for, and leave enough for the full scores of the first k rows, if
    // these could be paid for now. Groups that need not race stop where all their rows can be evaluated in full.
    bool may_go_on(int t, const Racing& group, std::int64_t k) {
        Allowance& allowance = allowances_[group.group];
        const double left = allowance.left();
        const auto rows = static_cast<double>(group.n), first = static_cast<double>(std::min(allowance.n_rows(), k));
        const auto now = static_cast<double>(race_.n_trees_ - race_.trees_of(t - 1));
        const auto then = static_cast<double>(race_.n_trees_ - race_.trees_of(t));
        if (allowance.n_rows() <= k && rows * now <= left) return false;
        const double after = left - rows * (now - then);
        return after >= 0 && (after >= first * then || left < first * now);
    }
    // Pays for stage t, and notes what it says of the rows that race.
    void note(int t) {
        for (const Racing& group : racing_) {
            allowances_[group.group].pay(static_cast<double>(group.n * (race_.trees_of(t) - race_.trees_of(t - 1))));
            allowances_[group.group].settle();
        }
        for (std::int64_t i = 0; i < n_; ++i) {
            scores_[positions_[i]] = static_cast<double>(estimates_[i]);
            of_row_[positions_[i]] = t;
            undecided_[positions_[i]] = 1;
        }
    }
    // Lowers the estimates of a group: those of undecided rows below the full scores, and those of rows that left below
    // both. Undecided rows keep their order.
    void lower(std::int64_t begin, std::int64_t end) {
        double least = HUGE_VAL;
        const auto is_full = [this](std::int64_t at) { return of_row_[at] == race_.n_stages(); };
        for (std::int64_t at = begin; at < end; ++at)
            if (is_full(at) && scores_[at] < least) least = scores_[at];
        if (undecided_ != nullptr) {
            const double bound = below(least);
            double best = -HUGE_VAL;
            for (std::int64_t at = begin; at < end; ++at)
                if (undecided_[at] != 0) best = std::max(best, scores_[at]);
            for (std::int64_t at = begin; at < end; ++at) {
                if (undecided_[at] == 0) continue;
                if (best > bound) scores_[at] = std::min(rounded(scores_[at] - (best - bound)), bound);
                least = std::min(least, scores_[at]);
            }
        }
        const double bound = below(least);
        for (std::int64_t at = begin; at < end; ++at)
            if (!is_full(at) && (undecided_ == nullptr || undecided_[at] == 0))
                scores_[at] = std::min(scores_[at], bound);
    }
    // Where the sums are float32 numbers, the model's own scores are, too.
    bool is_single() const { return race_.trees_->spec().f32_sums; }
    double rounded(double score) const { return is_single() ? static_cast<double>(static_cast<float>(score)) : score; }
    double below(double score) const {
        return is_single() ? static_cast<double>(std::nextafter(static_cast<float>(score), -HUGE_VALF))
                           : std::nextafter(score, -HUGE_VAL);
    }

    const TreeRace& race_;
    const RowSet& set_;
    std::int64_t capacity_;
    TileReader tiles_;
    TreeEnsemble::FullScores full_;
    std::vector<Racing> racing_;
    std::vector<Allowance> allowances_;  // of groups within limits
    std::int64_t n_ = 0, n_full_ = 0;    // rows that race, and rows to evaluate in full
    std::int64_t *ids_, *full_ids_, *positions_, *full_positions_;
    float *sums_, *estimates_, *errors_, *sorted_, *part_;
    float **pointers_, **parts_;
    double* scores_ = nullptr;
    std::int32_t* of_row_ = nullptr;
    std::uint8_t* undecided_ = nullptr;  // within limits
};

template <class Rank>
void TreeRace::each_chunk(const RowSet& set, const Groups& groups, int n_threads, const Rank& rank) const {
    std::vector<std::int64_t> chunks{0};  // first group of each, and the number of groups
    for (std::int64_t g = 1; g < groups.size(); ++g)
        if (groups.begin(g) - groups.begin(chunks.back()) >= kChunkRows) chunks.push_back(g);
    if (groups.size() == 0) return;
    chunks.push_back(groups.size());
    parallel_for(std::ssize(chunks) - 1, n_threads, [&](std::int64_t c, int) {
        const std::int64_t first = chunks[c], last = chunks[c + 1];
        Run run(*this, set, groups.end(last - 1) - groups.begin(first));
        rank(run, first, last);
    });
}

void TreeRace::rank(const RowSet& set, const Groups& groups, const RankCall& call, double* scores,
                    std::int32_t* stages) const {
    each_chunk(set, groups, call.n_threads, [&](Run& run, std::int64_t first, std::int64_t last) {
        run.rank(groups, first, last, call, scores, stages);
    });
}

void TreeRace::rank_within(const RowSet& set, const Groups& groups, const RankCall& call, const Limits& limits,
                           double* scores, std::int32_t* stages, std::uint8_t* undecided) const {
    each_chunk(set, groups, call.n_threads, [&](Run& run, std::int64_t first, std::int64_t last) {
        const std::int64_t step = limits.seconds < HUGE_VAL ? 1 : last - first;
        for (std::int64_t g = first; g < last; g += step)
            run.rank_within(groups, g, g + step, call, limits, scores, stages, undecided);
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
