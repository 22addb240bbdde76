// The main loop of tree ensembles: tiles of rows, stage by stage; rows that stay are packed into new tiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/engine.hpp"
#include "core/cascade/tree_stage.hpp"
#include "core/models/tree_ensemble.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// A stage's estimate of an output is its bias plus a mixture of running sums of leaves, which rows carry from stage to
// stage.
class TreeCascade final : public Engine {
public:
    TreeCascade(const ModelShape& shape, std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order,
                const Decision& decision, const StagesSpec& spec, double tie_margin)
        : Engine(shape, decision, tie_margin), trees_(std::move(trees)), order_(order.begin(), order.end()),
          low_(spec.low.begin(), spec.low.end()), high_(spec.high.begin(), spec.high.end()) {
        const RunningSums sums(trees_->spec(), order, spec);
        n_sums_ = sums.size();
        std::vector<bool> read(static_cast<std::size_t>(trees_->n_features()));
        std::int64_t begin = 0;
        for (int t = 0; t < static_cast<int>(spec.terms.size()); ++t) {
            stages_.push_back(std::make_unique<const TreeStage>(trees_->spec(), order, begin, spec.terms[t], sums));
            begin = spec.terms[t];
            for (const std::int32_t f : stages_.back()->features()) read[f] = true;
            columns_.emplace_back();
            for (std::size_t f = 0; f < read.size(); ++f)
                if (read[f]) columns_.back().push_back(static_cast<std::int32_t>(f));
            for (int k = 0; k < trees_->n_outputs(); ++k) {
                bias_.push_back(static_cast<float>(spec.bias[t][k]));
                for (int s = 0; s < n_sums_; ++s) mixtures_.push_back(static_cast<float>(sums.mixture(t, k, s)));
            }
        }
    }

    int n_stages() const override { return static_cast<int>(stages_.size()); }
    std::optional<std::span<const std::int32_t>> columns_read(int n_stages) const override {
        if (n_stages == 0) return std::span<const std::int32_t>{};
        return columns_[n_stages - 1];
    }
    std::optional<std::span<const std::int32_t>> columns_read_in_full() const override {
        return trees_->reader().features();
    }

    void predict(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_stages, AtEnd at_end, double,
                 int n_threads, std::int32_t* codes, std::int32_t* stages) const override {
        if (n_stages > 0 || at_end != AtEnd::full) {
            run({rows, ids, n_stages, at_end, codes, stages}, n, n_threads);
            return;
        }
        std::fill_n(stages, n, this->n_stages());
        each_full(rows, ids, n, n_threads, [&](std::int64_t at, int m, const double* scores) {
            std::vector<double> work(static_cast<std::size_t>(decision().n_classes));
            for (int i = 0; i < m; ++i) codes[at + i] = full_code(scores + i * trees_->n_outputs(), work.data());
        });
    }

    void predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double, std::int32_t* code,
                     std::int32_t* stage) const override;

    void trace(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
               const Trace& trace) const override {
        if (n_stages() == 0) return;
        run({rows, ids, n_stages(), AtEnd::pending, nullptr, nullptr, &trace}, n, n_threads);
    }

    void full_scores(const Rows& rows, const std::int64_t* ids, std::int64_t n, double, int n_threads, double* scores,
                     double* errors) const override {
        const int K = trees_->n_outputs();
        std::fill_n(errors, n, 0.0);
        each_full(rows, ids, n, n_threads,
                  [&](std::int64_t at, int m, const double* found) { std::copy_n(found, m * K, scores + at * K); });
    }

    void values(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                double* values) const override;

private:
    static constexpr std::int64_t kChunkRows = 16384, kLeastChunkRows = 1024;
    static constexpr std::int64_t kChunkBytes = 512 << 10;  // of running sums
    static constexpr int kFewRows = 8;                      // fewer rows are faster one by one than in a panel

    struct Call {
        const Rows& rows;
        const std::int64_t* ids;
        int n_stages;
        AtEnd at_end;
        std::int32_t* codes;
        std::int32_t* stages;
        const Trace* traced = nullptr;
        std::int64_t row(std::int64_t position) const { return ids == nullptr ? position : ids[position]; }
    };
    class Run;

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
    // The label of full scores. Only rows with a refused value have NaN.
    std::int32_t full_code(const double* scores, double* work) const {
        return std::isnan(scores[0]) ? kNotFinite : decision().decide(scores, tie_margin(), work);
    }
    static void each_chunk(std::int64_t n, int n_threads, std::int64_t most,
                           const std::function<void(std::int64_t, std::int64_t)>& chunk) {
        n_threads = static_cast<int>(
            std::clamp<std::int64_t>(n_threads, 1, std::clamp<std::int64_t>(n / kPanelRows, 1, thread_limit())));
        const std::int64_t share = round_up((n + n_threads - 1) / n_threads, kPanelRows);
        const std::int64_t size = std::clamp<std::int64_t>(share, kPanelRows, most);
        parallel_for((n + size - 1) / size, n_threads,
                     [&](std::int64_t i, int) { chunk(i * size, std::min(n, (i + 1) * size)); });
    }

    const float* mixture(int t, int k) const {
        return mixtures_.data() + (std::int64_t{t} * trees_->n_outputs() + k) * n_sums_;
    }
    float bias(int t, int k) const { return bias_[static_cast<std::size_t>(t) * trees_->n_outputs() + k]; }

    std::shared_ptr<const TreeEnsemble> trees_;
    std::vector<std::int64_t> order_;
    std::vector<std::unique_ptr<const TreeStage>> stages_;
    std::vector<float> low_, high_;
    int n_sums_ = 0;                                  // of each output
    std::vector<float> bias_, mixtures_;              // (stages, outputs), (stages, outputs, sums)
    std::vector<std::vector<std::int32_t>> columns_;  // that the stages up to each one read
};

}  // namespace wald
