// Tree ensembles: a score is a base plus the leaves of its trees, added in their order.
#pragma once

#include <limits>
#include <numeric>

#include "core/thread_pool.hpp"
#include "core/trees/leaf_tables.hpp"
#include "core/trees/tile_reader.hpp"

namespace wald {

// All trees in the model's own order, for full scores.
class TreeEnsemble {
public:
    explicit TreeEnsemble(const TreesSpec& spec)
        : owned_(spec), reader_(owned_.spec()), trees_(owned_.spec(), all_trees(spec), {}) {
        const auto value = [&](int t, std::int32_t leaf, int o, int) {
            return leaf_value(steps().members(t)[o], leaf);
        };
        if (spec.f32_sums) f32_tables_ = {steps(), 1, value};
        else f64_tables_ = {steps(), 1, value};
    }

    const TreesSpec& spec() const { return owned_.spec(); }
    const BinReader& reader() const { return reader_; }
    std::int64_t n_features() const { return spec().n_features; }
    std::int64_t n_trees() const { return spec().n_trees(); }
    int n_outputs() const { return static_cast<int>(spec().base.size()); }

    double leaf_value(std::int64_t tree, std::int32_t leaf) const {
        return spec().leaves[spec().first_leaf[tree] + leaf];
    }

    // Computes full scores of rows, of which a thread reads a tile at a time.
    class FullScores {
    public:
        FullScores(const TreeEnsemble& trees, const Rows& rows)
            : trees_(trees), rows_(rows), f64_(trees.reader().compares_f64(rows)), tiles_(trees.tiles(rows)) {}
        std::size_t bytes() const {
            return tiles_.bytes() + 2 * Arena::bytes<double>(std::int64_t{kTileRows} * trees_.n_outputs()) +
                   Arena::bytes<double>(trees_.n_features()) + Arena::bytes<void*>(trees_.n_outputs());
        }
        void take(Arena& arena) {
            tiles_.take(arena);
            sums_ = arena.take<double>(std::int64_t{kTileRows} * trees_.n_outputs());
            scores_ = arena.take<double>(std::int64_t{kTileRows} * trees_.n_outputs());
            x_ = arena.take<double>(trees_.n_features());
            sum_of_ = arena.take<void*>(trees_.n_outputs());
        }

        int n_rows() const { return tiles_.n_rows(); }
        // Scores of rows, [row * n_outputs + output]; NaN for rows with a refused value.
        const double* of(const RowIds& some) {
            if (some.n >= kFewRows) trees_.full(tiles_, some, sums_, sum_of_, scores_);
            else
                for (int i = 0; i < some.n; ++i)
                    trees_.full_row(rows_, some.ids[i], f64_, x_, scores_ + std::int64_t{i} * trees_.n_outputs());
            return scores_;
        }
        // Room for the features of one row.
        double* x() const { return x_; }

    private:
        const TreeEnsemble& trees_;
        const Rows& rows_;
        bool f64_;
        TileReader tiles_;
        double *sums_ = nullptr, *scores_ = nullptr, *x_ = nullptr;
        void** sum_of_ = nullptr;  // of each output
    };

    // Calls use(first position, number of rows, their full scores).
    template <class Use>
    void each_full(const RowSet& set, const Use& use) const {
        each_chunk(set, kChunkRows, [&](std::int64_t begin, std::int64_t end) {
            FullScores full(*this, set.rows);
            Arena& arena = thread_arena();
            arena.reset(full.bytes());
            full.take(arena);
            each_tile(set, begin, end, full.n_rows(),
                      [&](const RowIds& some, std::int64_t at) { use(at, some.n, full.of(some)); });
        });
    }
    // Calls use(position, tree of the spec, its leaf or one with the same values, whether the row has a refused value).
    template <class Use>
    void each_leaf(const RowSet& set, const Use& use) const {
        each_chunk(set, kChunkRows, [&](std::int64_t begin, std::int64_t end) {
            TileReader tile_reader = tiles(set.rows);
            Arena& arena = thread_arena();
            arena.reset(tile_reader.bytes());
            tile_reader.take(arena);
            each_tile(set, begin, end, tile_reader.n_rows(), [&](const RowIds& some, std::int64_t at) {
                std::int32_t numbers[kTileRows];
                const Tile tile = tile_reader.read(some, trees_);
                for (int t = 0; t < steps().size(); ++t) {
                    tree_kernels().leaves(steps().view(), t, t + 1, tile, numbers);
                    for (const std::int64_t m : steps().members(t))
                        for (int i = 0; i < some.n; ++i)
                            use(at + i, m, steps().leaf(t, numbers[i]), tile_reader.is_refused(i));
                }
            });
        });
    }

    static constexpr std::int64_t kChunkRows = 16384;
    static constexpr int kFewRows = 8;  // fewer rows are faster one by one than in a panel

    // Calls chunk(begin, end) for chunks of one size, at most `most`, as many for each thread.
    template <class Chunk>
    static void each_chunk(const RowSet& set, std::int64_t most, const Chunk& chunk) {
        const auto n_threads = static_cast<int>(std::clamp<std::int64_t>(set.n / kPanelRows, 1, set.n_threads));
        const std::int64_t n_chunks = n_threads * std::max<std::int64_t>(1, divided_up(set.n, n_threads * most));
        const std::int64_t size = std::max<std::int64_t>(kPanelRows, round_up(divided_up(set.n, n_chunks), kPanelRows));
        each_piece(set.n, size, n_threads, [&](std::int64_t begin, std::int64_t end, int) { chunk(begin, end); });
    }

private:
    const StepTrees& steps() const { return trees_.steps(); }
    TileReader tiles(const Rows& rows) const {
        TileNeeds needs;
        needs.add(trees_);
        return {reader_, rows, needs};
    }
    // Calls use(rows, first position) for tiles of `size` rows at positions [begin, end).
    template <class Use>
    static void each_tile(const RowSet& set, std::int64_t begin, std::int64_t end, int size, const Use& use) {
        std::int64_t some[kTileRows + kPanelRows];
        for (std::int64_t at = begin; at < end; at += size) {
            const int n = static_cast<int>(std::min<std::int64_t>(size, end - at));
            const int known = static_cast<int>(std::min<std::int64_t>(size + kPanelRows, end - at));
            for (int i = 0; i < known; ++i) some[i] = set.row(at + i);
            use(RowIds{some, n, known, at == begin}, at);
        }
    }

    void full(TileReader& tiles, const RowIds& some, double* sums, void** sum_of, double* scores) const {
        const Tile tile = tiles.read(some, trees_);
        if (spec().f32_sums)
            add_all(tile, reinterpret_cast<float*>(sums), sum_of, scores, tree_kernels().add_f32, f32_tables_);
        else add_all(tile, sums, sum_of, scores, tree_kernels().add, f64_tables_);
        for (int i = 0; i < some.n && tiles.any_refused(); ++i)
            if (tiles.is_refused(i))
                std::fill_n(scores + i * n_outputs(), n_outputs(), std::numeric_limits<double>::quiet_NaN());
    }
    void full_row(const Rows& rows, std::int64_t r, bool f64, double* x, double* scores) const {
        if (f64) full_row(rows, r, x, scores);
        else full_row(rows, r, reinterpret_cast<float*>(x), scores);
    }

    template <class V, class Add>
    void add_all(const Tile& tile, V* sums, void** pointers, double* scores, const Add& add,
                 const LeafTables<V>& tables) const {
        const int K = n_outputs();
        V** const sum_of = reinterpret_cast<V**>(pointers);
        for (int k = 0; k < K; ++k) {
            sum_of[k] = sums + std::int64_t{k} * kTileRows;
            std::fill_n(sum_of[k], round_up(tile.n, kPanelRows), static_cast<V>(spec().base[k]));
        }
        add(steps().view(), tables.view(), 0, steps().size(), tile, sum_of);
        for (int i = 0; i < tile.n; ++i)
            for (int k = 0; k < K; ++k) scores[i * K + k] = finished(sums[std::int64_t{k} * kTileRows + i], k);
    }

    template <class X>
    void full_row(const Rows& rows, std::int64_t r, X* copy, double* scores) const {
        const X* x = copy;
        if (reader_.in_place<X>(rows)) x = reinterpret_cast<const X*>(rows.row(r));
        else reader_.read_row(rows, r, reader_.features(), copy);
        const int K = n_outputs();
        if (reader_.is_refused(reader_.features(), x)) {
            std::fill_n(scores, K, std::numeric_limits<double>::quiet_NaN());
            return;
        }
        if (spec().f32_sums) add_row(x, f32_tables_, scores);
        else add_row(x, f64_tables_, scores);
        for (int k = 0; k < K; ++k) scores[k] = finished(scores[k], k);
    }
    template <class V, class X>
    void add_row(const X* x, const LeafTables<V>& tables, double* scores) const {
        const auto each_value = [&](const auto& add) {
            trees_.rows(X{}).each(0, steps().size(), x, [&, view = steps().view()](int t, std::int32_t leaf) {
                tables.template each<1>(view, t, leaf, add);
            });
        };
        const auto start = [&](int k) { return static_cast<V>(spec().base[k]); };
        if (n_outputs() == 1) {  // a sum in a register
            V sum = start(0);
            each_value([&](int, std::int64_t, V value) { sum += value; });
            scores[0] = static_cast<double>(sum);
            return;
        }
        for (int k = 0; k < n_outputs(); ++k) scores[k] = static_cast<double>(start(k));
        each_value(
            [&](int k, std::int64_t, V value) { scores[k] = static_cast<double>(static_cast<V>(scores[k]) + value); });
    }

    static std::vector<std::int64_t> all_trees(const TreesSpec& spec) {
        std::vector<std::int64_t> trees(static_cast<std::size_t>(spec.n_trees()));
        std::iota(trees.begin(), trees.end(), 0);
        return trees;
    }
    double finished(double sum, int k) const { return sum * spec().scale / spec().divisor + spec().bias[k]; }

    OwnedTrees owned_;
    BinReader reader_;
    EvaluatedTrees trees_;
    LeafTables<double> f64_tables_;  // or, where the model adds up in float32,
    LeafTables<float> f32_tables_;
};

}  // namespace wald
