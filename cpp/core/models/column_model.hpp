// A sum of functions of raw columns as a source of terms: each function is a weight times a number, or an entry of a
// table for each state. Everything is computed in float64, in the order of the columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "core/arena.hpp"
#include "core/models/column_kernels.hpp"
#include "core/models/rows.hpp"

namespace wald {

struct ColumnModelSpec {
    std::int64_t n_columns = 0;
    std::span<const std::int64_t> order;     // terms of early stages: column * n_outputs + output
    std::span<const double> intercept;       // (n_outputs,)
    std::span<const double> weight;          // (n_outputs, n_columns): of numbers
    std::span<const double> at_nan;          // (n_outputs, n_columns): values at NaN; infinity where it is refused
    std::span<const std::int64_t> n_states;  // (n_columns,); 0: numbers
    std::span<const double> table;           // (all states, n_outputs); infinity where a state is refused
    // For any output, the sum over columns of magnitude * |x|, nan_magnitude or table_magnitude, and bias_magnitude,
    // bounds the sum of the absolute values that the wrapped model adds up. It rounds each value at most `depth` times.
    std::span<const double> magnitude, nan_magnitude;  // (n_columns,)
    std::span<const double> table_magnitude;           // (all states,)
    double bias_magnitude = 0, depth = 0;
};

class ColumnModel {
public:
    using Scalar = double;
    static constexpr int L = kLanes<double>;
    static constexpr int kGatherRows = 96, kGatherTerms = 32, kGatherStride = kGatherTerms + 8;
    static constexpr int kBlockRows = 32;
    struct Scratch {};
    struct Row {
        const Rows* rows;
        std::int64_t index;
    };
    struct Block {
        const Rows* rows;
        const std::int64_t* ids;
    };

    explicit ColumnModel(const ColumnModelSpec& spec)
        : n_columns_(spec.n_columns), n_outputs_(static_cast<int>(spec.intercept.size())),
          width_(n_outputs_ == 1 ? 1 : static_cast<int>(round_up(n_outputs_, L))),
          order_(spec.order.begin(), spec.order.end()), intercept_(static_cast<std::size_t>(round_up(n_outputs_, L))),
          bias_magnitude_(spec.bias_magnitude), depth_(spec.depth), terms_(spec.n_columns) {
        std::copy(spec.intercept.begin(), spec.intercept.end(), intercept_.data());
        lay_out(spec);
        std::vector<bool> seen(static_cast<std::size_t>(n_columns_));
        n_read_.push_back(0);
        for (const std::int64_t term : order_) {
            const std::int64_t column = term / n_outputs_;
            if (!seen[column]) read_.push_back(static_cast<std::int32_t>(column));
            seen[column] = true;
            n_read_.push_back(read_.size());
        }
    }
    ColumnModel(const ColumnModel&) = delete;
    ColumnModel& operator=(const ColumnModel&) = delete;

    std::int64_t n_features() const { return n_columns_; }
    std::int64_t n_terms() const { return static_cast<std::int64_t>(order_.size()); }
    int n_outputs() const { return n_outputs_; }
    std::optional<std::span<const std::int32_t>> columns_read(std::int64_t terms) const {
        return std::span(read_).first(n_read_[terms]);
    }
    std::int64_t slot_width(std::int64_t terms) const { return round_up(terms, L); }
    std::int64_t evaluated(std::int64_t terms) const { return terms; }
    std::int64_t full_width() const { return 0; }  // the full model reads the row itself
    std::size_t row_bytes() const { return 0; }
    Scratch scratch(Arena&, std::int64_t) const { return {}; }
    std::int64_t full_work() const { return round_up(n_outputs_, L); }

    Block block(const Rows& rows, const std::int64_t* ids, int, const Scratch&) const { return {&rows, ids}; }
    bool prepare(const Block& block, int i, Row& row, Scratch&) const {
        row = {block.rows, block.ids[i]};
        return true;  // what is refused shows as NaN in the scores, where it is checked
    }
    bool prepare(const Rows& rows, std::int64_t r, Row& row, Scratch&) const {
        row = {&rows, r};
        return true;
    }

    // ---- single terms ----------------------------------------------------------------------------------------------

    void evaluate(const Row* const* rows, double* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        each_block(rows, n, begin, end, [&](int first, int some, std::int64_t at, int m, const double* values) {
            for (int r = 0; r < some; ++r) std::copy_n(values + r * kGatherStride, m, slots[first + r] + at);
        });
        for (int r = 0; r < n; ++r) std::fill(slots[r] + end, slots[r] + round_up(end, L), 0.0);
    }
    // See LinearModel::each_block.
    template <class Use>
    void each_block(const Row* const* rows, int n, std::int64_t begin, std::int64_t end, const Use& use) const {
        double values[kGatherRows * kGatherStride];
        const bool by_columns = n > 1 && rows[0]->rows->in_columns();
        for (int first = 0; first < n; first += kGatherRows) {
            const int some = std::min(kGatherRows, n - first);
            for (std::int64_t at = begin; at < end; at += kGatherTerms) {
                const int m = static_cast<int>(std::min<std::int64_t>(kGatherTerms, end - at));
                if (by_columns) {
                    gather(rows + first, some, at, m, values);
                } else {
                    for (int r = 0; r < some; ++r)
                        for (int k = 0; k < m; ++k) {
                            const Row& row = *rows[first + r];
                            values[r * kGatherStride + k] = value(order_[at + k], *row.rows, row.index);
                        }
                }
                use(first, some, at, m, values);
            }
        }
    }
    // One output: values[i] is term k of the order, of row first + i, for n neighbouring rows. Whole panels are
    // written.
    void values(const Rows& rows, std::int64_t first, int n, std::int64_t k, double* values) const {
        const Column c = rows.column(order_[k]);
        const ColumnTerm& term = terms_[order_[k]];
        by_type(c.dtype, [&](auto type) {
            using S = decltype(type);
            S cells[kTileRows];
            for (int i = 0; i < n; i += kTileRows) {
                const int some = std::min(kTileRows, n - i);
                const S* x = contiguous<S>(c, first + i, nullptr, some, cells);
                column_term_kernels<S>().values(term, x, some, values + i);
            }
        });
    }
    // The same for rows first + ids[i].
    void values_of(const Rows& rows, std::int64_t first, const std::int32_t* ids, int n, std::int64_t k,
                   double* values) const {
        const Column c = rows.column(order_[k]);
        by_type(c.dtype, [&](auto type) {
            using S = decltype(type);
            S cells[kTileRows];
            std::int64_t at[kTileRows];
            for (int i = 0; i < n; i += kTileRows) {
                const int some = std::min(kTileRows, n - i);
                for (int r = 0; r < some; ++r) at[r] = first + ids[i + r];
                column_term_kernels<S>().values(terms_[order_[k]], contiguous<S>(c, 0, at, some, cells), some,
                                                values + i);
            }
        });
        std::fill(values + n, values + round_up(n, L), 0.0);
    }

    // ---- full scores -----------------------------------------------------------------------------------------------

    int full_prefetch_rows() const { return static_cast<int>(std::clamp<std::int64_t>(2048 / n_columns_, 1, 8)); }
    // See LinearModel::prefetch_full.
    [[gnu::always_inline]] void prefetch_full(const Row* const* rows, int n) const {
        const Rows& source = *rows[0]->rows;
        if (n < 2 || !source.in_columns()) return;
        for (std::int64_t f = 0; f < n_columns_; ++f) {
            const Column c = source.column(f);
            for (int r = 0; r < n && c.data != nullptr; ++r)
                __builtin_prefetch(c.data + rows[r]->index * c.stride, 0, 1);
        }
    }
    // See KernelMachine::full.
    double full(const Rows& rows, std::int64_t r, const Row&, const double*, double working, double* f, double*) const {
        double size = 0;
        std::copy_n(intercept_.data(), n_outputs_, f);
        for (std::int64_t j = 0; j < n_columns_; ++j) {
            const Column c = rows.column(j);
            const ColumnTerm& term = terms_[j];
            by_type(c.dtype, [&](auto type) {
                const auto x = cell<decltype(type)>(c, r);
                for (int k = 0; k < n_outputs_; ++k) f[k] += value(term, k, x);
                if (term.n_states > 0) size += term.sizes[state_of(x, term.n_states)];
                else size += x == x ? std::fabs(static_cast<double>(x)) * term.sizes[0] : term.sizes[1];
            });
        }
        return errors(working).of(size);
    }

    // Many rows are evaluated in tiles, column by column, with the same bits.
    int tile_rows() const { return n_outputs_ == 1 ? kTileRows : std::clamp(8192 / width_, 16, kTileRows); }
    std::size_t tile_bytes(int n) const {
        return Arena::bytes<double>(std::int64_t{n} * width_) + Arena::bytes<double>(n) + Arena::bytes<double>(n);
    }
    // Full scores of n rows from position `begin` on.
    ScoredTile full_tile(const RowSet& set, std::int64_t begin, int n, double working, Arena& arena) const {
        double* const scores = arena.take<double>(std::int64_t{n} * width_);
        double* const sizes = arena.take<double>(n);
        double* const cells = arena.take<double>(n);
        if (width_ == 1) std::fill_n(scores, round_up(n, L), intercept_[0]);
        else
            for (int i = 0; i < n; ++i) std::copy_n(intercept_.data(), width_, scores + std::int64_t{i} * width_);
        std::fill_n(sizes, round_up(n, L), 0.0);
        const std::int64_t* const ids = set.ids == nullptr ? nullptr : set.ids + begin;
        const std::int64_t first = ids == nullptr ? begin : 0;
        for (std::int64_t j = 0; j < n_columns_; ++j) {
            // While a column is added, the next one is prefetched; and with the last one, the first of the next tile.
            const bool last = j + 1 == n_columns_;
            const Column c = set.rows.column(j), next = set.rows.column(last ? 0 : j + 1);
            const bool apart = ids == nullptr && std::abs(next.stride) <= static_cast<std::int64_t>(kPanelBytes);
            const std::byte* const ahead =
                apart && next.cells == nullptr ? next.data + (last ? first + n : first) * next.stride : c.data;
            const std::int64_t step = apart ? next.stride : 0;
            by_type(c.dtype, [&](auto type) {
                using S = decltype(type);
                const S* x = contiguous<S>(c, first, ids, n, reinterpret_cast<S*>(cells));
                const ColumnTermKernels<S>& kernels = column_term_kernels<S>();
                if (width_ == 1) kernels.add(terms_[j], x, n, ahead, step, scores, sizes);
                else kernels.add_wide(terms_[j], width_, x, n, ahead, step, scores, sizes);
            });
        }
        column_errors_kernel()(errors(working), n, sizes);
        return {scores, sizes, width_};
    }

private:
    static constexpr int kTileRows = 2048;

    template <class Use>
    static void by_type(Dtype dtype, const Use& use) {
        if (dtype == Dtype::f64) use(double{});
        else if (dtype == Dtype::f32) use(float{});
        else use(std::uint8_t{});
    }
    template <class S>
    static S load(const std::byte* p) {
        S v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    template <class S>
    static S cell(const Column& c, std::int64_t r) {
        S found{};
        return *contiguous<S>(c, 0, &r, 1, &found);
    }
    // The cells of n rows, in place where they are contiguous, or else copied to `cells`.
    template <class S>
    static const S* contiguous(const Column& c, std::int64_t first, const std::int64_t* ids, int n, S* cells) {
        if (c.cells != nullptr) {
            if constexpr (std::is_same_v<S, double>) {  // the dtype of all columns that are read so
                if (ids != nullptr) c.cells->read(ids, n, cells);
                else c.cells->read_run(first, n, cells);
            }
            return cells;
        }
        if (ids == nullptr && c.stride == static_cast<std::int64_t>(sizeof(S)))
            return reinterpret_cast<const S*>(c.data) + first;
        for (int i = 0; i < n; ++i) {
            constexpr int kAhead = 24;
            if (ids != nullptr && i + kAhead < n) __builtin_prefetch(c.data + ids[i + kAhead] * c.stride);
            cells[i] = load<S>(c.data + (ids == nullptr ? first + i : ids[i]) * c.stride);
        }
        return cells;
    }
    // values[r * kGatherStride + k] is term at + k of the order, of row r, for m terms of n rows.
    void gather(const Row* const* rows, int n, std::int64_t at, int m, double* values) const {
        std::int64_t ids[kGatherRows];
        double cells[kGatherRows];
        for (int r = 0; r < n; ++r) ids[r] = rows[r]->index;
        std::int64_t held = -1;  // the column whose cells these are
        for (int k = 0; k < m; ++k) {
            const std::int64_t term = order_[at + k], j = term / n_outputs_;
            if (j != held) {
                const Column c = rows[0]->rows->column(j);
                by_type(c.dtype, [&](auto type) {
                    using S = decltype(type);
                    S own[kGatherRows];
                    std::copy_n(contiguous<S>(c, 0, ids, n, own), n, cells);
                });
                held = j;
            }
            for (int r = 0; r < n; ++r)
                values[r * kGatherStride + k] = value(terms_[j], static_cast<int>(term % n_outputs_), cells[r]);
        }
    }

    template <class S>
    double value(const ColumnTerm& term, int output, S x) const {
        if (term.n_states > 0)
            return term.table[static_cast<std::int64_t>(state_of(x, term.n_states)) * width_ + output];
        return x == x ? static_cast<double>(x) * term.table[output] : term.table[width_ + output];
    }
    double value(std::int64_t term, const Rows& rows, std::int64_t r) const {
        const std::int64_t j = term / n_outputs_;
        const Column c = rows.column(j);
        double found = 0;
        by_type(c.dtype, [&](auto type) {
            found = value(terms_[j], static_cast<int>(term % n_outputs_), cell<decltype(type)>(c, r));
        });
        return found;
    }

    // See LinearModel::error. What all rows share is computed once: a product near the smallest number takes long.
    ColumnErrors errors(double working) const {
        const double u = std::numeric_limits<double>::epsilon() / 2, own = static_cast<double>(n_columns_) + 8;
        const bool is_f32 = working > 4 * u;
        return {bias_magnitude_, 1.05 * (own * u + (depth_ + 4) * working), is_f32 ? 0x1p100 : 0x1p1000,
                (own + depth_) * (is_f32 ? 0x1p-148 : 0x1p-1073)};
    }

    // Rows of the table of a column; with one output, a byte needs no comparison with their number.
    std::int64_t entries(std::int64_t n_states) const {
        if (n_states == 0) return 2;
        return n_outputs_ == 1 ? std::max<std::int64_t>(n_states, 255) + 1 : n_states + 1;
    }
    void lay_out(const ColumnModelSpec& spec) {
        constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
        const auto known = [](double v) { return std::isfinite(v) ? v : kNaN; };
        std::int64_t all = 0;
        for (const std::int64_t n : spec.n_states) all += entries(n);
        table_ = Aligned<double>(static_cast<std::size_t>(all * width_ + L));
        sizes_ = Aligned<double>(static_cast<std::size_t>(all + L));
        std::int64_t at = 0, first = 0;
        for (std::int64_t j = 0; j < n_columns_; ++j) {
            const std::int64_t n = spec.n_states[j], rows = entries(n);
            double* const table = table_.data() + at * width_;
            double* const sizes = sizes_.data() + at;
            terms_[j] = {static_cast<std::int32_t>(n), table, sizes};
            for (int k = 0; k < n_outputs_; ++k) {
                if (n == 0) {
                    table[k] = spec.weight[k * n_columns_ + j];
                    table[width_ + k] = known(spec.at_nan[k * n_columns_ + j]);
                }
                for (std::int64_t s = 0; s < n; ++s)
                    table[s * width_ + k] = known(spec.table[(first + s) * n_outputs_ + k]);
                for (std::int64_t s = n; n > 0 && s < rows; ++s) table[s * width_ + k] = kNaN;
            }
            if (n == 0) {
                sizes[0] = spec.magnitude[j];
                sizes[1] = spec.nan_magnitude[j];
            }
            std::copy_n(spec.table_magnitude.data() + first, n, sizes);
            at += rows;
            first += n;
        }
    }

    std::int64_t n_columns_;
    int n_outputs_, width_;
    std::vector<std::int64_t> order_;
    std::vector<std::int32_t> read_;   // the columns that early stages read, in the plan's order
    std::vector<std::size_t> n_read_;  // how many of them the first terms of the order read
    Aligned<double> intercept_;
    double bias_magnitude_, depth_;
    std::vector<ColumnTerm> terms_;
    Aligned<double> table_, sizes_;
};

}  // namespace wald
