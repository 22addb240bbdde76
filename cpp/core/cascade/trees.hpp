// The main loop of tree ensembles: tiles of rows, pass by pass; rows that stay are packed into new tiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/engine.hpp"
#include "core/cascade/running_sums.hpp"
#include "core/models/tree_ensemble.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// The trees of stages [first, last). A group of trees is added at a time: those of a stage or, where a stage before it
// in the pass may take classes out of the race, those of one class in a stage.
struct TreePass {
    int first, last;
    bool by_class;
    SummedTrees trees;
};

// A weighted sum of running sums, of which those without a weight are left out.
struct Mixture {
    float bias;
    std::vector<int> sums;
    std::vector<float> weights;

    template <class Weight>
    Mixture(double start, int first, int n, const Weight& weight) : bias(static_cast<float>(start)) {
        for (int s = 0; s < n; ++s) {
            if (weight(s) == 0) continue;
            sums.push_back(first + s);
            weights.push_back(static_cast<float>(weight(s)));
        }
    }
    int size() const { return static_cast<int>(sums.size()); }
};

// Rows carry running sums of leaves from stage to stage; a stage's estimate of an output is a mixture of its sums.
class TreeCascade final : public Engine {
public:
    TreeCascade(const ModelShape& shape, std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order,
                const Decision& decision, const StagesSpec& spec, double tie_margin)
        : Engine(shape, decision, spec.costs, tie_margin), trees_(std::move(trees)), order_(order.begin(), order.end()),
          n_stages_(static_cast<int>(spec.terms.size())), low_(spec.low.begin(), spec.low.end()),
          high_(spec.high.begin(), spec.high.end()), race_(spec.race.begin(), spec.race.end()),
          least_variance_(static_cast<float>(spec.least_variance)) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        for (int t = 0; t < n_stages_; ++t) {
            for (int k = 0; k < trees_->n_outputs(); ++k)
                estimates_.emplace_back(spec.bias[t][k], k * n_sums_, n_sums_,
                                        [&](int sum) { return sums.mixture(t, k, sum); });
            if (!spec.spread_bias.empty())
                variances_.emplace_back(spec.spread_bias[t], 0, n_sums_,
                                        [&](int sum) { return spec.spread[std::int64_t{t} * n_sums_ + sum]; });
        }
        std::vector<std::int64_t> ends(spec.passes.begin(), spec.passes.end());
        for (std::int64_t t = 1; t <= n_stages_ && spec.passes.empty(); ++t) ends.push_back(t);
        std::vector<bool> read(static_cast<std::size_t>(trees_->n_features()));
        for (std::size_t p = 0; p < ends.size(); ++p) add_pass(p == 0 ? 0 : ends[p - 1], ends[p], sums, spec, read);
        std::vector<std::int32_t> seen(static_cast<std::size_t>(trees_->n_outputs()));
        std::int64_t j = 0;
        for (int t = 0; t < n_stages_ && racing(); ++t) {
            for (; j < spec.terms[t]; ++j) ++seen[sums.output(j)];
            n_seen_.insert(n_seen_.end(), seen.begin(), seen.end());
        }
    }

    int n_stages() const override { return n_stages_; }
    // The columns that the first n_stages stages read, rounded up to whole passes: a pass reads its columns at once.
    std::optional<std::span<const std::int32_t>> columns_read(int n_stages) const override {
        if (n_stages == 0) return std::span<const std::int32_t>{};
        std::size_t p = 0;
        while (passes_[p].last < n_stages) ++p;
        return columns_[p];
    }
    std::optional<std::span<const std::int32_t>> columns_read_in_full() const override {
        return trees_->reader().features();
    }

    void predict(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_stages, AtEnd at_end, double,
                 int n_threads, const Ledger& ledger) const override {
        if (n_stages > 0 || at_end != AtEnd::full) {
            run({rows, ids, n_stages, at_end, ledger}, n, n_threads);
            return;
        }
        each_full(rows, ids, n, n_threads, [&](std::int64_t at, int m, const double* scores) {
            std::vector<double> work(static_cast<std::size_t>(decision().n_classes));
            for (int i = 0; i < m; ++i)
                ledger.write(at + i, full_answer(scores + i * trees_->n_outputs(), work.data()), n_stages_);
        });
    }

    void predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double,
                     const Ledger& ledger) const override;

    void trace(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
               const Trace& trace) const override {
        if (n_stages_ == 0) return;
        run({rows, ids, n_stages_, AtEnd::pending, {}, &trace}, n, n_threads);
    }

    void full_scores(const Rows& rows, const std::int64_t* ids, std::int64_t n, double, int n_threads, double* scores,
                     double* errors) const override {
        const int K = trees_->n_outputs();
        std::fill_n(errors, n, 0.0);
        each_full(rows, ids, n, n_threads,
                  [&](std::int64_t at, int m, const double* found) { std::copy_n(found, m * K, scores + at * K); });
    }

    void values(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                double* values) const override {
        each_leaf(rows, ids, n, n_threads, [&](std::size_t at, std::int64_t tree, std::int32_t leaf, bool refused) {
            values[at] = refused ? std::numeric_limits<double>::quiet_NaN() : trees_->leaf_value(tree, leaf);
        });
    }
    // The leaf of each tree in the order, (n, n_terms), numbered as in the spec; or one with the same value.
    void leaves(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads, std::int32_t* leaves) const {
        each_leaf(rows, ids, n, n_threads,
                  [&](std::size_t at, std::int64_t, std::int32_t leaf, bool) { leaves[at] = leaf; });
    }

private:
    static constexpr std::int64_t kChunkRows = 16384, kLeastChunkRows = 1024;
    // What a chunk's rows carry from pass to pass stays in the second cache; the rows, which passes read, in the third.
    // Rows that lie in columns are not bounded by kRowsBytes: the more rows of a late pass a chunk has, the more of
    // them share lines and panels.
    static constexpr std::int64_t kCarriedBytes = 512 << 10, kRowsBytes = 8 << 20;
    static constexpr int kFewRows = 8;  // fewer rows are faster one by one than in a panel

    struct Call {
        const Rows& rows;
        const std::int64_t* ids;
        int n_stages;
        AtEnd at_end;
        Ledger ledger;
        const Trace* traced = nullptr;
        std::int64_t row(std::int64_t position) const { return ids == nullptr ? position : ids[position]; }
    };
    class Run;

    void add_pass(std::int64_t first, std::int64_t last, const RunningSums& sums, const StagesSpec& spec,
                  std::vector<bool>& read) {
        bool by_class = false;
        for (std::int64_t t = 0; t < last - 1; ++t) by_class = by_class || drops(t);
        std::vector<std::int64_t> trees, ends;
        std::int64_t j = first == 0 ? 0 : spec.terms[first - 1];
        for (std::int64_t t = first; t < last; j = spec.terms[t++]) {
            for (std::int32_t k = 0; k < (by_class ? trees_->n_outputs() : 1); ++k) {
                for (std::int64_t i = j; i < spec.terms[t]; ++i)
                    if (!by_class || sums.output(i) == k) trees.push_back(i);
                ends.push_back(std::ssize(trees));
            }
        }
        SummedTrees summed(trees_->spec(), sums, trees, ends);
        for (const std::int32_t f : summed.features()) read[f] = true;
        columns_.emplace_back();
        for (std::size_t f = 0; f < read.size(); ++f)
            if (read[f]) columns_.back().push_back(static_cast<std::int32_t>(f));
        passes_.push_back({static_cast<int>(first), static_cast<int>(last), by_class, std::move(summed)});
    }

    void run(const Call& call, std::int64_t n, int n_threads) const;
    // Calls use(first position, number of rows, their full scores).
    void each_full(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                   const std::function<void(std::int64_t, int, const double*)>& use) const {
        const TreeEnsemble& trees = *trees_;
        const bool f64 = trees.reader().compares_f64(rows);
        each_chunk(n, n_threads, kChunkRows, [&](std::int64_t begin, std::int64_t end) {
            TileReader tiles = trees.tiles(rows);
            const std::int64_t most = std::int64_t{kTileRows} * trees.n_outputs();
            Arena& arena = thread_arena();
            arena.reset(tiles.bytes() + 2 * Arena::bytes<double>(most) + Arena::bytes<double>(trees.n_features()));
            tiles.take(arena);
            double* const sums = arena.take<double>(most);
            double* const scores = arena.take<double>(most);
            double* const x = arena.take<double>(trees.n_features());
            each_tile(ids, begin, end, tiles.n_rows(), [&](const RowIds& some, std::int64_t at) {
                if (some.n < kFewRows)
                    for (int i = 0; i < some.n; ++i)
                        trees.full_row(rows, some.ids[i], f64, x, scores + std::int64_t{i} * trees.n_outputs());
                else trees.full(tiles, some, sums, scores);
                use(at, some.n, scores);
            });
        });
    }
    // Calls use(place in an array (n, n_terms), tree of the spec, its leaf, whether the row holds a refused value).
    template <class Use>
    void each_leaf(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads, const Use& use) const {
        std::vector<std::int64_t> column(static_cast<std::size_t>(trees_->n_trees()), -1);
        for (std::size_t j = 0; j < order_.size(); ++j) column[order_[j]] = static_cast<std::int64_t>(j);
        each_chunk(n, n_threads, kChunkRows, [&](std::int64_t begin, std::int64_t end) {
            TileReader tiles = trees_->tiles(rows);
            Arena& arena = thread_arena();
            arena.reset(tiles.bytes());
            tiles.take(arena);
            each_tile(ids, begin, end, tiles.n_rows(), [&](const RowIds& some, std::int64_t at) {
                trees_->each_leaf(tiles, some, [&](std::int64_t tree, std::int32_t leaf, int i) {
                    if (column[tree] < 0) return;
                    use(static_cast<std::size_t>((at + i) * std::ssize(order_) + column[tree]), tree, leaf,
                        tiles.any_refused() && tiles.is_refused(i));
                });
            });
        });
    }
    // Calls use(rows, first position) for tiles of `size` rows at positions [begin, end).
    template <class Use>
    static void each_tile(const std::int64_t* ids, std::int64_t begin, std::int64_t end, int size, const Use& use) {
        std::int64_t some[kTileRows + kPanelRows];
        for (std::int64_t at = begin; at < end; at += size) {
            const int n = static_cast<int>(std::min<std::int64_t>(size, end - at));
            const int known = static_cast<int>(std::min<std::int64_t>(size + kPanelRows, end - at));
            for (int i = 0; i < known; ++i) some[i] = ids == nullptr ? at + i : ids[at + i];
            use(RowIds{some, n, known, at == begin}, at);
        }
    }
    static void each_chunk(std::int64_t n, int n_threads, std::int64_t most,
                           const std::function<void(std::int64_t, std::int64_t)>& chunk) {
        n_threads = static_cast<int>(
            std::clamp<std::int64_t>(n_threads, 1, std::clamp<std::int64_t>(n / kPanelRows, 1, thread_limit())));
        // Chunks of one size, as many for each thread.
        const std::int64_t n_chunks = n_threads * std::max<std::int64_t>(1, divided_up(n, n_threads * most));
        const std::int64_t size = std::max<std::int64_t>(kPanelRows, round_up(divided_up(n, n_chunks), kPanelRows));
        parallel_for((n + size - 1) / size, n_threads,
                     [&](std::int64_t i, int) { chunk(i * size, std::min(n, (i + 1) * size)); });
    }

    // The label of full scores. Rows with a refused value have NaN.
    Answer full_answer(const double* scores, double* work) const {
        return std::isnan(scores[0]) ? kNotFinite : decision().decide(scores, tie_margin(), work);
    }
    bool racing() const { return !race_.empty(); }
    // Whether stage t can take classes out of the race.
    bool drops(std::int64_t t) const { return racing() && std::isfinite(race_[t]); }
    // Numbers of trees of each class in stages 0 to t, where classes race.
    const std::int32_t* n_seen(int t) const {
        return n_seen_.data() + static_cast<std::ptrdiff_t>(t) * trees_->n_outputs();
    }
    const Mixture& estimate(int t, int k) const {
        return estimates_[static_cast<std::size_t>(t) * trees_->n_outputs() + k];
    }

    std::shared_ptr<const TreeEnsemble> trees_;
    std::vector<std::int64_t> order_;
    int n_stages_, n_sums_ = 0;  // sums of each output
    std::vector<float> low_, high_, race_;
    std::vector<Mixture> estimates_, variances_;  // (stages, outputs); (stages,), or empty
    float least_variance_;
    std::vector<TreePass> passes_;
    std::vector<std::int32_t> n_seen_;                // (stages, outputs), where classes race
    std::vector<std::vector<std::int32_t>> columns_;  // of each pass: what it and the passes before it read
};

}  // namespace wald
