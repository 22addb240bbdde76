// Copies the features that trees read from rows of any layout and dtype to panels.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/models/rows.hpp"
#include "core/trees/kernels.hpp"
#include "core/trees/spec.hpp"

namespace wald {

// Features come in blocks of 16 neighbours, a cache line of float32 values. A panel has room for the blocks that the
// trees read, in the order of their first use.
class PanelReader {
public:
    static constexpr int kBlock = 16;

    PanelReader(const TreesSpec& spec, std::span<const std::int64_t> order)
        : n_features_(spec.n_features), column_(static_cast<std::size_t>(spec.n_features), -1),
          f32_rows_(spec.f32_rows), absent_is_missing_(spec.absent_is_missing), missing_(spec.missing),
          refuses_{spec.refuses_nan, spec.refuses_infinity} {
        std::vector<std::int32_t> slot(static_cast<std::size_t>(n_features_ + kBlock - 1) / kBlock, -1);
        for (std::int64_t t : order) {
            for (std::int64_t n = spec.first_node_of(t); n < spec.last_node_of(t); ++n) {
                const std::int32_t f = spec.feature[n];
                std::int32_t& s = slot[f / kBlock];
                if (s < 0) {
                    s = static_cast<std::int32_t>(blocks_.size());
                    blocks_.push_back({f / kBlock * kBlock, {}, {}});
                }
                if (column_[f] < 0) {
                    column_[f] = s * kBlock + f % kBlock;
                    blocks_[s].features.push_back(f);
                    if (!spec.zero_is_missing.empty() && spec.zero_is_missing[f] != 0) zero_is_missing_.push_back(f);
                }
            }
        }
        for (Block& b : blocks_) {
            std::sort(b.features.begin(), b.features.end());
            for (std::int32_t f : b.features) b.columns.push_back(column_[f]);
            features_.insert(features_.end(), b.features.begin(), b.features.end());
        }
    }

    // The features that trees read, and those of some blocks.
    std::span<const std::int32_t> features() const { return features_; }
    std::vector<std::int32_t> features_of(std::span<const std::int32_t> blocks) const {
        std::vector<std::int32_t> found;
        for (std::int32_t b : blocks) found.insert(found.end(), blocks_[b].features.begin(), blocks_[b].features.end());
        return found;
    }

    int n_blocks() const { return static_cast<int>(blocks_.size()); }
    std::span<const std::int32_t> columns() const { return column_; }
    // The blocks that trees [first, last) of the order read.
    std::vector<std::int32_t> blocks_of(const TreesSpec& spec, std::span<const std::int64_t> trees) const {
        std::vector<std::int32_t> found;
        for (std::int64_t t : trees)
            for (std::int64_t n = spec.first_node_of(t); n < spec.last_node_of(t); ++n)
                found.push_back(column_[spec.feature[n]] / kBlock);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    // Copies the blocks of n rows to a panel. Returns whether each value is exact: a float64 value may not be a float32
    // number. ids[n] to ids[n_known - 1] are the rows that will be read next.
    template <class X>
    bool read(const Rows& rows, const std::int64_t* ids, int n, int n_known, std::span<const std::int32_t> blocks,
              X* panel) const {
        bool exact = true;
        if (rows.layout == Rows::Layout::csr) exact = read_csr(rows, ids, n, blocks, panel);
        else if (rows.contiguous()) exact = read_rows(rows, ids, n, n_known, blocks, panel);
        else exact = read_columns(rows, ids, n, n_known, blocks, panel);
        if (!zero_is_missing_.empty() || !std::isnan(missing_)) mark_missing(blocks, n, panel);
        return exact || f32_rows_;
    }

    // Marks the rows of a panel that hold a refused value in one of the blocks: refused[row] != 0. Returns whether
    // there are any.
    template <class X>
    bool find_refused(std::span<const std::int32_t> blocks, int n, const X* panel, std::uint8_t* refused) const {
        std::fill_n(refused, kPanelRows, std::uint8_t{0});
        if (!refuses_) return false;
        for (std::int32_t b : blocks) {
            const std::vector<std::int32_t>& columns = blocks_[b].columns;
            const auto n_columns = static_cast<int>(columns.size());
            if constexpr (sizeof(X) == sizeof(float))
                panel_kernels().mark_refused(columns.data(), n_columns, refuses_, panel, refused);
            else panel_kernels().mark_refused_f64(columns.data(), n_columns, refuses_, panel, refused);
        }
        return std::any_of(refused, refused + n, [](std::uint8_t bad) { return bad != 0; });
    }
    // The same for one row, x[feature].
    template <class X>
    bool is_refused_row(std::span<const std::int32_t> blocks, const X* x) const {
        if (!refuses_) return false;
        for (std::int32_t b : blocks)
            for (std::int32_t f : blocks_[b].features)
                if (is_refused(x[f])) return true;
        return false;
    }

    // One row, x[feature]; true if it can be read in place.
    bool in_place(const Rows& rows, Dtype dtype) const {
        return rows.contiguous() && rows.dtype == dtype && zero_is_missing_.empty() && std::isnan(missing_);
    }
    // Copies features of a row to x[feature].
    template <class X>
    bool read_row(const Rows& rows, std::int64_t r, std::span<const std::int32_t> blocks, X* x) const {
        bool exact = true;
        const auto put = [&](std::int64_t f, double v) {
            const X as = converted<X>(v);
            exact &= static_cast<double>(as) == v || v != v;
            x[f] = v == missing_ ? std::numeric_limits<X>::quiet_NaN() : as;
        };
        if (rows.layout == Rows::Layout::csr) {
            const X absent = absent_is_missing_ ? std::numeric_limits<X>::quiet_NaN() : X(0);
            for (std::int32_t b : blocks)
                for (std::int32_t f : blocks_[b].features) x[f] = absent;
            for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k)
                if (column_[rows.indices[k]] >= 0)
                    put(rows.indices[k], load_element<double>(rows.data + k * rows.element_bytes(), rows.dtype));
        } else {
            for (std::int32_t b : blocks)
                for (std::int32_t f : blocks_[b].features) {
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

    struct Block {
        std::int32_t first;
        std::vector<std::int32_t> features, columns;  // those that trees read, and their places in a panel
    };

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
        return {blocks_[b].first,
                static_cast<std::int32_t>(std::min<std::int64_t>(kBlock, n_features_ - blocks_[b].first)), b * kBlock};
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
                      std::span<const std::int32_t> blocks, X* panel) const {
        bool exact = true, neighbours = true;
        for (int r = 1; r < n; ++r) neighbours &= ids[r] == ids[0] + r;
        for (std::int32_t b : blocks) {
            for (std::int32_t f : blocks_[b].features) {
                const Column c = rows.column(f);
                X* const to = start(panel, b) + std::int64_t{f - blocks_[b].first} * kPanelRows;
                if constexpr (sizeof(X) == sizeof(float))
                    exact &= panel_kernels().read_column(c.dtype, c.data, c.stride, ids, n, n_known, neighbours, to);
                else
                    exact &=
                        panel_kernels().read_column_f64(c.dtype, c.data, c.stride, ids, n, n_known, neighbours, to);
            }
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
    void mark_missing(std::span<const std::int32_t> blocks, int n, X* panel) const {
        constexpr X nan = std::numeric_limits<X>::quiet_NaN();
        if (!std::isnan(missing_)) {
            const X missing = static_cast<X>(missing_);
            for (std::int32_t b : blocks) {
                X* const x = start(panel, b);
                for (int i = 0; i < kBlock * kPanelRows; ++i) x[i] = x[i] == missing ? nan : x[i];
            }
        }
        for (std::int32_t f : zero_is_missing_) {
            if (!std::binary_search(blocks.begin(), blocks.end(), column_[f] / kBlock)) continue;
            X* const x = panel + std::int64_t{column_[f]} * kPanelRows;
            for (int r = 0; r < n; ++r) x[r] = std::fabs(static_cast<double>(x[r])) <= kZero ? nan : x[r];
        }
    }

    std::int64_t n_features_;
    std::vector<std::int32_t> column_;
    std::vector<Block> blocks_;
    std::vector<std::int32_t> features_;
    std::vector<std::int32_t> zero_is_missing_;
    bool f32_rows_, absent_is_missing_;
    double missing_;
    Refused refuses_;
};

}  // namespace wald
