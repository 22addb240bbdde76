// Reads tiles of rows for the trees of a stage, or for all trees: bins for steps and, for walks, the rows themselves.
#pragma once

#include <algorithm>

#include "core/arena.hpp"
#include "core/trees/bin_reader.hpp"
#include "core/trees/row_trees.hpp"
#include "core/trees/step_trees.hpp"

namespace wald {

// Trees that tiles and single rows can be evaluated with. Values are compared in float64 where some rows hold float64
// values that the model does not round to float32.
class EvaluatedTrees {
public:
    // Trees of an order; see each_tree.
    EvaluatedTrees(const TreesSpec& spec, std::span<const std::int64_t> order, std::span<const std::int64_t> ends)
        : steps_(spec, order, ends), f32_(spec, order, ends),
          f64_(spec.f32_rows ? nullptr : std::make_unique<const RowTrees<double>>(spec, order, ends)) {}

    const StepTrees& steps() const { return steps_; }
    const RowTrees<float>& rows(float) const { return f32_; }
    const RowTrees<double>& rows(double) const { return *f64_; }

private:
    StepTrees steps_;
    RowTrees<float> f32_;
    std::unique_ptr<const RowTrees<double>> f64_;
};

// What the tiles of some trees must have room for.
struct TileNeeds {
    std::int64_t panel_bytes = 0;
    bool any_cut = false;  // whether one of the trees may be cut

    void add(const EvaluatedTrees& trees) {
        panel_bytes = std::max(panel_bytes, trees.steps().bins().panel_bytes());
        any_cut = any_cut || trees.steps().any_cut();
    }
};

class TileReader {
public:
    TileReader(const BinReader& reader, const Rows& rows, const TileNeeds& needs)
        : reader_(reader), rows_(rows), f64_(reader.compares_f64(rows)), n_features_(rows.n_columns) {
        copies_ = needs.any_cut && !(f64_ ? reader.in_place<double>(rows) : reader.in_place<float>(rows));
        std::int64_t most = needs.panel_bytes > kLargePanel ? kPanelRows : kTileRows;
        if (copies_) most = std::clamp(kCopyBytes / row_bytes(), kLeastRows, most);
        n_rows_ = static_cast<int>(most < kPanelRows ? most : most / kPanelRows * kPanelRows);
        bin_bytes_ = round_up(n_rows_, kPanelRows) / kPanelRows * needs.panel_bytes;
    }

    // Rows of a tile: a multiple of kPanelRows, or fewer where a panel of copied rows would take too much memory.
    int n_rows() const { return n_rows_; }
    std::size_t bytes() const {
        return Arena::bytes<std::int8_t>(bin_bytes_) + Arena::bytes<double>(reader_.work(rows_)) +
               Arena::bytes<std::int8_t>(copies_ ? n_rows_ * row_bytes() : 0);
    }
    void take(Arena& arena) {
        bins_ = arena.take<std::int8_t>(bin_bytes_);
        work_ = arena.take<double>(reader_.work(rows_));
        copied_ = reinterpret_cast<std::byte*>(arena.take<std::int8_t>(copies_ ? n_rows_ * row_bytes() : 0));
    }

    // Reads rows; the tile is valid until the next call.
    Tile read(const RowIds& some, const EvaluatedTrees& trees) {
        const StepTrees& steps = trees.steps();
        reader_.read(rows_, some, steps.bins(), work_, bins_, refused_);
        Tile tile{bins_, steps.bins().panel_bytes(), some.n, {nullptr, nullptr}};
        if (steps.any_cut()) tile.walks = f64_ ? walks(trees, some, f64_rows_) : walks(trees, some, f32_rows_);
        any_refused_ =
            reader_.refuses() && std::any_of(refused_, refused_ + some.n, [](std::uint8_t bad) { return bad != 0; });
        return tile;
    }
    // Whether a row of the tile holds a refused value among those that the trees read.
    bool is_refused(int i) const { return any_refused_ && refused_[i] != 0; }
    bool any_refused() const { return any_refused_; }

private:
    static constexpr std::int64_t kLargePanel = 2 << 20, kCopyBytes = 16 << 20, kLeastRows = 8;

    template <class X>
    struct WalkedRows {
        const RowTrees<X>* trees;
        const X* x[kTileRows];

        static void walk(const void* self, int first, int n, std::int32_t* at) {
            const auto& rows = *static_cast<const WalkedRows*>(self);
            rows.trees->walk_down(rows.x + first, n, at);
        }
    };
    template <class X>
    Walks walks(const EvaluatedTrees& trees, const RowIds& some, WalkedRows<X>& walked) {
        walked.trees = &trees.rows(X{});
        for (int i = 0; i < some.n; ++i) {
            if (copies_) {
                X* const copy = reinterpret_cast<X*>(copied_) + i * n_features_;
                reader_.read_row(rows_, some.ids[i], trees.steps().features(), copy);
                walked.x[i] = copy;
            } else {
                walked.x[i] = reinterpret_cast<const X*>(rows_.row(some.ids[i]));
            }
            if (reader_.is_refused(trees.steps().walked_features(), walked.x[i])) refused_[i] = 1;
        }
        return {&WalkedRows<X>::walk, &walked};
    }
    std::int64_t row_bytes() const {
        return n_features_ * static_cast<std::int64_t>(f64_ ? sizeof(double) : sizeof(float));
    }

    const BinReader& reader_;
    const Rows& rows_;
    bool f64_, copies_ = false, any_refused_ = false;
    std::int64_t n_features_, bin_bytes_ = 0;
    int n_rows_ = kTileRows;
    std::int8_t* bins_ = nullptr;
    double* work_ = nullptr;
    std::byte* copied_ = nullptr;
    std::uint8_t refused_[kTileRows];
    WalkedRows<float> f32_rows_;
    WalkedRows<double> f64_rows_;
};

}  // namespace wald
