// The main loop of tree ensembles: panels of rows, stage by stage; rows that stay are packed into new panels.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/engine.hpp"
#include "core/cascade/tree_readouts.hpp"
#include "core/models/tree_ensemble.hpp"
#include "core/thread_pool.hpp"

namespace wald {

// A stage's estimate of an output is its bias plus a mixture of running sums of leaves, which rows carry from stage to
// stage.
class TreeCascade final : public Engine {
public:
    TreeCascade(const ModelShape& shape, std::shared_ptr<const TreeEnsemble> trees, const Decision& decision,
                const StagesSpec& stages, double tie_margin)
        : Engine(shape, decision, tie_margin), trees_(std::move(trees)),
          terms_(stages.terms.begin(), stages.terms.end()), low_(stages.low.begin(), stages.low.end()),
          high_(stages.high.begin(), stages.high.end()) {
        std::int64_t begin = 0;
        for (const std::int64_t end : terms_) {
            tests_.push_back(trees_->early().n_tests(begin, end));
            columns_.push_back(trees_->reads(0, end).features);
            begin = end;
        }
        for (int first = 0; first < n_stages(); ++first)
            for (int t = first; t < n_stages(); ++t) unread_.push_back(reads_after(first, t));
        readouts_ = TreeReadouts(*trees_, stages);
    }

    int n_stages() const override { return static_cast<int>(terms_.size()); }
    std::optional<std::span<const std::int32_t>> columns_read(int n_stages) const override {
        if (n_stages == 0) return std::span<const std::int32_t>{};
        return columns_[n_stages - 1];
    }
    std::optional<std::span<const std::int32_t>> columns_read_in_full() const override {
        return trees_->reader().everything().features;
    }

    void predict(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_stages, AtEnd at_end, double,
                 int n_threads, std::int32_t* codes, std::int32_t* stages) const override {
        if (n_stages > 0 || at_end != AtEnd::full) {
            each_piece({rows, ids, n_stages, at_end, codes, stages}, n, n_threads);
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
        each_piece({rows, ids, n_stages(), AtEnd::pending, nullptr, nullptr, &trace}, n, n_threads);
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
        const std::int64_t m = trees_->early().size();
        each_chunk(n, n_threads, [&](std::int64_t begin, std::int64_t end) {
            Arena& arena = thread_arena();
            arena.reset(Arena::bytes<double>(trees_->panel_size()) + Arena::bytes<double>(m * kPanelRows));
            double* const panel = arena.take<double>(trees_->panel_size());
            double* const work = arena.take<double>(m * kPanelRows);
            std::int64_t some[kPanelRows];
            for (std::int64_t at = begin; at < end; at += kPanelRows) {
                const int k = static_cast<int>(std::min<std::int64_t>(kPanelRows, end - at));
                for (int i = 0; i < k; ++i) some[i] = ids == nullptr ? at + i : ids[at + i];
                trees_->values(rows, some, k, panel, work, values + at * m);
            }
        });
    }

private:
    static constexpr std::int64_t kChunkRows = 4096;

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

    void each_piece(const Call& call, std::int64_t n, int n_threads) const;
    // Calls use(first position, number of rows, their full scores).
    void each_full(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                   const std::function<void(std::int64_t, int, const double*)>& use) const {
        each_chunk(n, n_threads, [&](std::int64_t begin, std::int64_t end) {
            const TreeEnsemble& trees = *trees_;
            const std::int64_t most = trees.full_rows();
            Arena& arena = thread_arena();
            arena.reset(Arena::bytes<double>(trees.n_panels() * trees.panel_size()) +
                        Arena::bytes<double>(most * trees.n_outputs()) + Arena::bytes<std::int64_t>(2 * most) +
                        Arena::bytes<double>(trees.n_features()));
            double* const panels = arena.take<double>(trees.n_panels() * trees.panel_size());
            double* const scores = arena.take<double>(most * trees.n_outputs());
            auto* const some = arena.take<std::int64_t>(2 * most);
            double* const x = arena.take<double>(trees.n_features());
            bool exact = true;
            for (std::int64_t at = begin; at < end; at += most) {
                const int m = static_cast<int>(std::min(most, end - at));
                const int known = static_cast<int>(std::min(2 * most, end - at));
                for (int i = 0; i < known; ++i) some[i] = ids == nullptr ? at + i : ids[at + i];
                if (m < kFewRows)
                    for (int i = 0; i < m; ++i) trees.full_row(rows, some[i], x, scores + i * trees.n_outputs());
                else trees.full(rows, some, m, known, exact, panels, scores);
                use(at, m, scores);
            }
        });
    }
    // What stage t reads of rows whose panel has been read for the stages from `first` to t - 1.
    const PanelReads& unread(int first, int t) const {
        return unread_[static_cast<std::size_t>(first * n_stages() - first * (first - 1) / 2 + t - first)];
    }
    PanelReads reads_after(int first, int t) const {
        const auto begin = [&](int stage) { return stage == 0 ? 0 : terms_[stage - 1]; };
        const PanelReads all = trees_->reads(begin(t), terms_[t]), read = trees_->reads(begin(first), begin(t));
        std::vector<bool> held(static_cast<std::size_t>(trees_->n_features()));
        const auto without = [&](const auto& some, const auto& others) {
            for (const std::int32_t i : others) held[i] = true;
            std::vector<std::int32_t> rest;
            std::copy_if(some.begin(), some.end(), std::back_inserter(rest), [&](auto i) { return !held[i]; });
            for (const std::int32_t i : others) held[i] = false;
            return rest;
        };
        PanelReads unread = trees_->reader().reads_of(without(all.features, read.features));
        unread.blocks = without(all.blocks, read.blocks);
        return unread;
    }
    // The label of full scores. Only rows with a refused value have NaN.
    std::int32_t full_code(const double* scores, double* work) const {
        return std::isnan(scores[0]) ? kNotFinite : decision().decide(scores, tie_margin(), work);
    }
    static constexpr int kFewRows = 8;  // fewer rows are faster one by one than in a panel
    static void each_chunk(std::int64_t n, int n_threads,
                           const std::function<void(std::int64_t, std::int64_t)>& chunk) {
        n_threads = static_cast<int>(
            std::clamp<std::int64_t>(n_threads, 1, std::clamp<std::int64_t>(n / kPanelRows, 1, thread_limit())));
        const std::int64_t share = round_up((n + n_threads - 1) / n_threads, kPanelRows);
        const std::int64_t size = std::clamp<std::int64_t>(share, kPanelRows, kChunkRows);
        parallel_for((n + size - 1) / size, n_threads,
                     [&](std::int64_t i, int) { chunk(i * size, std::min(n, (i + 1) * size)); });
    }

    std::shared_ptr<const TreeEnsemble> trees_;
    std::vector<std::int64_t> terms_;
    std::vector<float> low_, high_;
    std::vector<PanelReads> unread_;                  // see unread()
    std::vector<std::int64_t> tests_;                 // of a row by the trees of a stage
    std::vector<std::vector<std::int32_t>> columns_;  // that the stages up to each one read
    TreeReadouts readouts_;
};

}  // namespace wald
