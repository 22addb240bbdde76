// Copies the features that trees read from rows of any layout and dtype to panels.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/models/rows.hpp"
#include "core/trees/kernels.hpp"
#include "core/trees/spec.hpp"

namespace wald {

// What some trees read: features, their columns in a panel in rising order, and the blocks that hold these.
struct PanelReads {
    std::vector<std::int32_t> features, columns, blocks;
};

// Features come in blocks of 16 neighbours, a cache line of float32 values. A panel has room for the blocks that the
// trees read, in the order of their first use. Rows are read block by block, and columns feature by feature.
class PanelReader {
public:
    static constexpr int kBlock = 16;

    PanelReader(const TreesSpec& spec, std::span<const std::int64_t> order)
        : n_features_(spec.n_features), column_(static_cast<std::size_t>(spec.n_features), -1),
          is_zero_missing_(static_cast<std::size_t>(spec.n_features)), f32_rows_(spec.f32_rows),
          absent_is_missing_(spec.absent_is_missing), missing_(spec.missing),
          refuses_{spec.refuses_nan, spec.refuses_infinity} {
        std::vector<std::int32_t> slot(static_cast<std::size_t>(n_features_ + kBlock - 1) / kBlock, -1), features;
        for (std::int64_t t : order) {
            for (std::int64_t n = spec.first_node_of(t); n < spec.last_node_of(t); ++n) {
                const std::int32_t f = spec.feature[n];
                std::int32_t& s = slot[f / kBlock];
                if (s < 0) {
                    s = n_blocks();
                    first_.push_back(f / kBlock * kBlock);
                }
                if (column_[f] >= 0) continue;
                column_[f] = s * kBlock + f % kBlock;
                features.push_back(f);
                if (spec.zero_is_missing.empty() || spec.zero_is_missing[f] == 0) continue;
                zero_is_missing_.push_back(f);
                is_zero_missing_[f] = true;
            }
        }
        everything_ = reads_of(std::move(features));
    }

    int n_blocks() const { return static_cast<int>(first_.size()); }
    std::span<const std::int32_t> columns() const { return column_; }
    // What all trees read.
    const PanelReads& everything() const { return everything_; }
    // What trees read that split by some features, which may repeat.
    PanelReads reads_of(std::vector<std::int32_t> features) const {
        std::sort(features.begin(), features.end(),
                  [&](std::int32_t a, std::int32_t b) { return column_[a] < column_[b]; });
        features.erase(std::unique(features.begin(), features.end()), features.end());
        PanelReads reads{std::move(features), {}, {}};
        for (std::int32_t f : reads.features) {
            reads.columns.push_back(column_[f]);
            reads.blocks.push_back(column_[f] / kBlock);
        }
        reads.blocks.erase(std::unique(reads.blocks.begin(), reads.blocks.end()), reads.blocks.end());
        return reads;
    }
    // Whether rows are read block by block, such that a panel holds all features of a block that was read.
    static bool by_blocks(const Rows& rows) { return rows.layout == Rows::Layout::csr || rows.contiguous(); }

    // Copies features of n rows to a panel. Returns whether each value is exact: a float64 value may not be a float32
    // number. ids[n] to ids[n_known - 1] are the rows that will be read next.
    template <class X>
    bool read(const Rows& rows, const std::int64_t* ids, int n, int n_known, const PanelReads& reads, X* panel) const {
        bool exact = true;
        if (rows.layout == Rows::Layout::csr) exact = read_csr(rows, ids, n, reads.blocks, panel);
        else if (rows.contiguous()) exact = read_rows(rows, ids, n, n_known, reads.blocks, panel);
        else exact = read_columns(rows, ids, n, n_known, reads.features, panel);
        if (!zero_is_missing_.empty() || !std::isnan(missing_)) mark_missing(reads.features, n, panel);
        return exact || f32_rows_;
    }

    // Marks the rows of a panel that hold a refused value in one of some columns: refused[row] != 0. Returns whether
    // there are any.
    template <class X>
    bool find_refused(std::span<const std::int32_t> columns, int n, const X* panel, std::uint8_t* refused) const {
        std::fill_n(refused, kPanelRows, std::uint8_t{0});
        if (!refuses_) return false;
        const auto n_columns = static_cast<int>(columns.size());
        if constexpr (sizeof(X) == sizeof(float))
            panel_kernels().mark_refused(columns.data(), n_columns, refuses_, panel, refused);
        else panel_kernels().mark_refused_f64(columns.data(), n_columns, refuses_, panel, refused);
        return std::any_of(refused, refused + n, [](std::uint8_t bad) { return bad != 0; });
    }
    // The same for one row, x[feature].
    template <class X>
    bool is_refused_row(std::span<const std::int32_t> features, const X* x) const {
        return refuses_ && std::any_of(features.begin(), features.end(), [&](auto f) { return is_refused(x[f]); });
    }

    // One row, x[feature]; true if it can be read in place.
    bool in_place(const Rows& rows, Dtype dtype) const {
        return rows.contiguous() && rows.dtype == dtype && zero_is_missing_.empty() && std::isnan(missing_);
    }
    // Copies features of a row to x[feature].
    template <class X>
    bool read_row(const Rows& rows, std::int64_t r, std::span<const std::int32_t> features, X* x) const {
        bool exact = true;
        const auto put = [&](std::int64_t f, double v) {
            const X as = converted<X>(v);
            exact &= static_cast<double>(as) == v || v != v;
            x[f] = v == missing_ ? std::numeric_limits<X>::quiet_NaN() : as;
        };
        if (rows.layout == Rows::Layout::csr) {
            const X absent = absent_is_missing_ ? std::numeric_limits<X>::quiet_NaN() : X(0);
            for (std::int32_t f : features) x[f] = absent;
            for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k)
                if (column_[rows.indices[k]] >= 0)
                    put(rows.indices[k], load_element<double>(rows.data + k * rows.element_bytes(), rows.dtype));
        } else {
            for (std::int32_t f : features) {
                const Column c = rows.column(f);
                put(f, load_element<double>(c.data + r * c.stride, c.dtype));
            }
        }
        for (std::int32_t f : zero_is_missing_)
            if (std::fabs(static_cast<double>(x[f])) <= kZero) x[f] = std::numeric_limits<X>::quiet_NaN();
        return exact || f32_rows_;
    }

private:
    static constexpr double kZero = 1.0000000180025095e-35;  // float 1e-35, as LightGBM has it

    template <class X>
    bool is_refused(X x) const {
        return (refuses_.nan & (x != x)) | (refuses_.infinity & (std::fabs(x) > std::numeric_limits<X>::max()));
    }
    template <class X>
    static X* start(X* panel, std::int32_t block) {
        return panel + std::int64_t{block} * kBlock * kPanelRows;
    }
    template <class X>
    X converted(double v) const {
        return f32_rows_ ? static_cast<X>(static_cast<float>(v)) : static_cast<X>(v);
    }

    PanelBlock panel_block(std::int32_t b) const {
        return {first_[b], static_cast<std::int32_t>(std::min<std::int64_t>(kBlock, n_features_ - first_[b])),
                b * kBlock};
    }

    template <class X>
    bool read_rows(const Rows& rows, const std::int64_t* ids, int n, int n_known, std::span<const std::int32_t> blocks,
                   X* panel) const {
        static thread_local std::vector<PanelBlock> some;
        some.clear();
        for (std::int32_t b : blocks) some.push_back(panel_block(b));
        n_known = std::min(n_known, n + kRowsAhead);
        const std::byte* at[kPanelRows + kRowsAhead];
        for (int r = 0; r < n_known; ++r) at[r] = rows.row(ids[r]);
        const auto size = static_cast<int>(some.size());
        if constexpr (sizeof(X) == sizeof(float))
            return panel_kernels().read(rows.dtype, at, n, n_known, some.data(), size, panel);
        else return panel_kernels().read_f64(rows.dtype, at, n, n_known, some.data(), size, panel);
    }

    template <class X>
    bool read_columns(const Rows& rows, const std::int64_t* ids, int n, int n_known,
                      std::span<const std::int32_t> features, X* panel) const {
        bool exact = true, neighbours = true;
        for (int r = 1; r < n; ++r) neighbours &= ids[r] == ids[0] + r;
        for (std::int32_t f : features) {
            const Column c = rows.column(f);
            X* const to = panel + std::int64_t{column_[f]} * kPanelRows;
            if constexpr (sizeof(X) == sizeof(float))
                exact &= panel_kernels().read_column(c.dtype, c.data, c.stride, ids, n, n_known, neighbours, to);
            else exact &= panel_kernels().read_column_f64(c.dtype, c.data, c.stride, ids, n, n_known, neighbours, to);
        }
        return exact;
    }

    template <class X>
    bool read_csr(const Rows& rows, const std::int64_t* ids, int n, std::span<const std::int32_t> blocks,
                  X* panel) const {
        const X absent = absent_is_missing_ ? std::numeric_limits<X>::quiet_NaN() : X(0);
        for (std::int32_t b : blocks) std::fill_n(start(panel, b), kBlock * kPanelRows, absent);
        bool exact = true;
        for (int r = 0; r < n; ++r) {
            for (std::int64_t k = rows.indptr[ids[r]]; k < rows.indptr[ids[r] + 1]; ++k) {
                const std::int32_t column = column_[rows.indices[k]];
                if (column < 0 || !std::binary_search(blocks.begin(), blocks.end(), column / kBlock)) continue;
                const double v = load_element<double>(rows.data + k * rows.element_bytes(), rows.dtype);
                panel[std::int64_t{column} * kPanelRows + r] = static_cast<X>(v);
                exact &= static_cast<double>(static_cast<X>(v)) == v || v != v;
            }
        }
        return exact;
    }

    template <class X>
    void mark_missing(std::span<const std::int32_t> features, int n, X* panel) const {
        constexpr X nan = std::numeric_limits<X>::quiet_NaN();
        const X missing = static_cast<X>(missing_);
        for (std::int32_t f : features) {
            X* const x = panel + std::int64_t{column_[f]} * kPanelRows;
            for (int r = 0; r < n; ++r) x[r] = x[r] == missing ? nan : x[r];
            if (!is_zero_missing_[f]) continue;
            for (int r = 0; r < n; ++r) x[r] = std::fabs(static_cast<double>(x[r])) <= kZero ? nan : x[r];
        }
    }

    std::int64_t n_features_;
    std::vector<std::int32_t> column_;  // of each feature in a panel, or -1
    std::vector<std::int32_t> first_;   // feature of each block
    std::vector<std::int32_t> zero_is_missing_;
    std::vector<bool> is_zero_missing_;
    PanelReads everything_;
    bool f32_rows_, absent_is_missing_;
    double missing_;
    Refused refuses_;
};

}  // namespace wald
