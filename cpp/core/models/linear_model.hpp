// A linear model as a source of terms: the feature values themselves, gathered in the order of a plan. Everything is
// computed in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/models/rows.hpp"

namespace wald {

struct LinearModelSpec {
    std::int64_t n_features = 0;
    std::span<const std::int32_t> order;  // the columns that early stages read, in the plan's order
    std::span<const double> coef;         // (n_outputs, n_features), in the order of the columns
    std::span<const double> intercept;    // (n_outputs,)
    std::span<const double> fill;         // (n_features,): replaces NaN; empty: none
    // For any output, |x| @ magnitude + bias_magnitude bounds the sum of the absolute values that the wrapped model
    // adds up. It rounds each value at most `depth` times.
    std::span<const double> magnitude;  // (n_features,)
    double bias_magnitude = 0, depth = 0;
};

class LinearModel {
public:
    using Scalar = double;
    static constexpr int L = kLanes<double>;
    static constexpr int kGatherRows = 96, kGatherTerms = 32, kGatherStride = kGatherTerms + 8;
    // Smaller matrices may be in a cache, where prefetching does not pay.
    static constexpr std::int64_t kNearBytes = 4 << 20;
    // A non-zero of a CSR row that early stages read, and its position in the plan's order.
    struct Entry {
        std::int32_t position;
        double value;
    };
    struct Scratch {
        std::vector<Entry> entries;  // non-zeros of all prepared CSR rows
    };
    struct Row {
        const Rows* rows;
        std::int64_t index;
        // CSR: the row's n_entries entries, in the plan's order, stand in scratch->entries from `first` on.
        const Scratch* scratch;
        std::size_t first, n_entries;
    };

    struct Block {
        const Rows* rows;
        const std::int64_t* ids;
    };
    static constexpr int kBlockRows = 32;

    explicit LinearModel(const LinearModelSpec& spec)
        : n_features_(spec.n_features), n_outputs_(static_cast<int>(spec.intercept.size())),
          order_(spec.order.begin(), spec.order.end()), position_(spec.n_features, -1),
          coef_(spec.coef.begin(), spec.coef.end()), intercept_(spec.intercept.begin(), spec.intercept.end()),
          fill_(spec.fill.begin(), spec.fill.end()), bias_magnitude_(spec.bias_magnitude), depth_(spec.depth),
          padded_features_(round_up(spec.n_features, L)),
          weights_(static_cast<std::size_t>(padded_features_) * n_outputs_), magnitude_(padded_features_) {
        for (std::size_t k = 0; k < order_.size(); ++k) position_[order_[k]] = static_cast<std::int32_t>(k);
        for (int k = 0; k < n_outputs_; ++k)
            for (std::int64_t f = 0; f < n_features_; ++f)
                weights_[k * padded_features_ + f] = coef_[k * n_features_ + f];
        for (std::int64_t f = 0; f < n_features_; ++f) magnitude_[f] = spec.magnitude[f];
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_terms() const { return static_cast<std::int64_t>(order_.size()); }
    int n_outputs() const { return n_outputs_; }
    const std::vector<std::int32_t>& order() const { return order_; }
    std::optional<std::span<const std::int32_t>> columns_read(std::int64_t terms) const {
        return std::span(order_).first(static_cast<std::size_t>(terms));
    }
    std::int64_t slot_width(std::int64_t terms) const { return round_up(terms, L); }
    std::int64_t evaluated(std::int64_t terms) const { return terms; }
    std::int64_t full_width() const { return 0; }  // the full model reads the row itself
    std::size_t row_bytes() const { return 0; }
    Scratch scratch(Arena&, std::int64_t) const { return {}; }
    std::int64_t full_work() const { return full_rows() * (padded_features_ + std::int64_t{2} * n_outputs_ * L); }

    Block block(const Rows& rows, const std::int64_t* ids, int, const Scratch&) const { return {&rows, ids}; }
    bool prepare(const Block& block, int i, Row& row, Scratch& scratch) const {
        return prepare(*block.rows, block.ids[i], row, scratch);
    }
    bool prepare(const Rows& rows, std::int64_t r, Row& row, Scratch& scratch) const {
        row = {&rows, r, &scratch, scratch.entries.size(), 0};
        if (rows.layout == Rows::Layout::csr && !order_.empty()) {
            for (std::int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
                const std::int32_t at = position_[rows.indices[i]];
                if (at < 0) continue;
                const double v = load_element<double>(rows.data + i * rows.element_bytes(), rows.dtype);
                scratch.entries.push_back({at, filled(v, rows.indices[i])});
            }
            row.n_entries = scratch.entries.size() - row.first;
            std::sort(scratch.entries.begin() + row.first, scratch.entries.end(),
                      [](const Entry& one, const Entry& other) { return one.position < other.position; });
        }
        return true;  // non-finite values show in the scores, where they are checked
    }
    // The entries of a CSR row at positions [begin, end) of the plan's order.
    static std::span<const Entry> entries(const Row& row, std::int64_t begin, std::int64_t end) {
        const std::span<const Entry> all(row.scratch->entries.data() + row.first, row.n_entries);
        const auto place = [&](std::int64_t at) {
            return std::lower_bound(all.begin(), all.end(), at,
                                    [](const Entry& e, std::int64_t p) { return e.position < p; });
        };
        return {place(begin), place(end)};
    }

    void evaluate(const Row* const* rows, double* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        if (rows[0]->rows->layout == Rows::Layout::csr) {
            for (int r = 0; r < n; ++r) {
                std::fill(slots[r] + begin, slots[r] + round_up(end, L), 0.0);
                for (const Entry& e : entries(*rows[r], begin, end)) slots[r][e.position] = e.value;
            }
            return;
        }
        each_block(rows, n, begin, end, [&](int first, int some, std::int64_t at, int m, const double* values) {
            for (int r = 0; r < some; ++r) std::copy_n(values + r * kGatherStride, m, slots[first + r] + at);
        });
        for (int r = 0; r < n; ++r) std::fill(slots[r] + end, slots[r] + round_up(end, L), 0.0);
    }
    // Reads terms [begin, end) of rows in blocks. Calls use(first, some, at, m, values) for terms [at, at + m) of rows
    // [first, first + some); the values of a row are contiguous, and rows are kGatherStride apart.
    template <class Use>
    void each_block(const Row* const* rows, int n, std::int64_t begin, std::int64_t end, const Use& use) const {
        double values[kGatherRows * kGatherStride];
        for (int first = 0; first < n; first += kGatherRows) {
            const int some = std::min(kGatherRows, n - first);
            for (std::int64_t at = begin; at < end; at += kGatherTerms) {
                const int m = static_cast<int>(std::min<std::int64_t>(kGatherTerms, end - at));
                if (columns_apart(*rows[0]->rows)) {
                    gather_columns(rows + first, some, at, m, values);
                } else {
                    prefetch(rows + first, some, at, at + m);
                    for (int r = 0; r < some; ++r) gather(*rows[first + r], at, at + m, values + r * kGatherStride);
                }
                use(first, some, at, m, values);
            }
        }
    }
    // Gathers terms [begin, end) of one row-major row.
    void gather(const Row& row, std::int64_t begin, std::int64_t end, double* out) const {
        const Rows& source = *row.rows;
        if (source.dtype == Dtype::f32 && fill_.empty()) {
            const std::byte* p = source.row(row.index);
            for (std::int64_t k = begin; k < end; ++k)
                out[k - begin] = *reinterpret_cast<const float*>(p + order_[k] * source.column_stride);
        } else {
            const std::byte* p = source.row(row.index);
            for (std::int64_t k = begin; k < end; ++k)
                out[k - begin] =
                    filled(load_element<double>(p + order_[k] * source.column_stride, source.dtype), order_[k]);
        }
    }
    // Prefetches the cache lines that `gather` will read, for all rows, unless the matrix is small enough to be cached.
    // The lines are computed for the first row, because rows are usually aligned alike. Inlined by force: see
    // `prefetch_full`.
    [[gnu::always_inline]] void prefetch(const Row* const* rows, int n, std::int64_t begin, std::int64_t end) const {
        const Rows& source = *rows[0]->rows;
        if (n < 2 || source.layout != Rows::Layout::dense || source.n_rows * std::abs(source.row_stride) < kNearBytes)
            return;
        const std::byte* p = source.row(rows[0]->index);
        std::int64_t offsets[kGatherTerms];
        int lines = 0;
        std::uintptr_t last = 0;
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t offset = order_[k] * source.column_stride;
            const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(p + offset) / kPanelBytes;
            if (line != last) offsets[lines++] = offset;
            last = line;
        }
        for (int r = 0; r < n; ++r) {
            p = source.row(rows[r]->index);
            for (int i = 0; i < lines; ++i) __builtin_prefetch(p + offsets[i]);
        }
    }
    // Gathers column by column, each prefetched a little ahead. Large columns often start whole pages apart, so that
    // the values of one row would compete for the same cache sets.
    void gather_columns(const Row* const* rows, int n, std::int64_t begin, int m, double* values) const {
        const Rows& source = *rows[0]->rows;
        const auto prefetch_column = [&](int k) __attribute__((always_inline)) {  // inlined by force: see prefetch_full
            const Column c = source.column(order_[begin + k]);
            for (int r = 0; r < n; ++r) __builtin_prefetch(c.data + rows[r]->index * c.stride);
        };
        const int ahead = std::clamp(64 / n, 1, 16);
        for (int k = 0; k < std::min(ahead, m); ++k) prefetch_column(k);
        for (int k = 0; k < m; ++k) {
            if (k + ahead < m) prefetch_column(k + ahead);
            const Column c = source.column(order_[begin + k]);
            for (int r = 0; r < n; ++r)
                values[r * kGatherStride + k] =
                    filled(load_element<double>(c.data + rows[r]->index * c.stride, c.dtype), order_[begin + k]);
        }
    }
    bool as_is() const { return fill_.empty(); }
    // Rows per call of `prefetch_full`: the lines of all of them must stay cached until the last one is read.
    int full_prefetch_rows() const { return static_cast<int>(std::clamp<std::int64_t>(8192 / n_features_, 1, 8)); }
    // Prefetches everything that `full` reads of column-major rows. Inlined by force: compilers may drop calls to
    // functions that only prefetch, because they have no side effects.
    [[gnu::always_inline]] void prefetch_full(const Row* const* rows, int n) const {
        prefetch_rows(*rows[0]->rows, n, [&](int r) __attribute__((always_inline)) { return rows[r]->index; });
    }

    // See KernelMachine::full.
    double full(const Rows& rows, std::int64_t r, const Row&, const double*, double working, double* f,
                double* work) const {
        if (rows.layout == Rows::Layout::csr) return full_sparse(rows, r, working, f);
        const double magnitude = read_and_weigh(rows, r, work);
        const int panels = static_cast<int>(padded_features_ / L);
        for (int k = 0; k < n_outputs_; ++k)
            f[k] = kernels<double>().readout(work, weights_.data() + k * padded_features_, panels) + intercept_[k];
        return error(magnitude, working);
    }
    // Rows that `full_block` takes at most: their values and sums stay cached.
    int full_rows() const {
        const std::int64_t bytes = (padded_features_ + std::int64_t{2} * n_outputs_ * L) * sizeof(double);
        const std::int64_t most = std::min<std::int64_t>(kFullBytes / bytes, kFullRows);
        return most < kLeastRows ? 1 : static_cast<int>(most);
    }
    // `full` of n rows that are not CSR, with the same bits; scores are [row][output].
    void full_block(const Rows& rows, const std::int64_t* ids, int n, double working, double* scores, double* errors,
                    double* work) const {
        if (in_place(rows) && (n_outputs_ == 1 || padded_features_ <= kSumPanels * L))
            return score_rows(rows, ids, n, working, scores, errors);
        const int panels = static_cast<int>(padded_features_ / L), prefetched = full_prefetch_rows();
        for (int r = 0; r < n; ++r) {
            if (r % prefetched == 0)
                prefetch_rows(rows, std::min(prefetched, n - r),
                              [&](int i) __attribute__((always_inline)) { return ids[r + i]; });
            errors[r] = error(read_and_weigh(rows, ids[r], work + r * padded_features_), working);
        }
        kernels<double>().products(work, padded_features_, n, weights_.data(), padded_features_, panels, n_outputs_,
                                   work + n * padded_features_, scores);
        for (int r = 0; r < n; ++r)
            for (int k = 0; k < n_outputs_; ++k) scores[r * n_outputs_ + k] += intercept_[k];
    }

    // Rows without early stages are evaluated in tiles, with the same bits.
    int tile_rows() const { return std::clamp(kTileScores / n_outputs_, 16, kTileRows); }
    std::size_t tile_bytes(int n) const {
        return Arena::bytes<double>(std::int64_t{n} * n_outputs_) + Arena::bytes<double>(n) +
               Arena::bytes<double>(full_work());
    }
    // Full scores of n rows from position `begin` on.
    ScoredTile full_tile(const RowSet& set, std::int64_t begin, int n, double working, Arena& arena) const {
        double* const scores = arena.take<double>(std::int64_t{n} * n_outputs_);
        double* const errors = arena.take<double>(n);
        double* const work = arena.take<double>(full_work());
        const bool sparse = set.rows.layout == Rows::Layout::csr;
        const int most = sparse ? 1 : full_rows();
        for (int first = 0; first < n; first += most) {
            const int m = std::min(most, n - first);
            double* const to = scores + std::int64_t{first} * n_outputs_;
            std::int64_t ids[kFullRows];
            for (int i = 0; i < m; ++i) ids[i] = set.row(begin + first + i);
            if (sparse) errors[first] = full_sparse(set.rows, ids[0], working, to);
            else full_block(set.rows, ids, m, working, to, errors + first, work);
        }
        return {scores, errors, n_outputs_};
    }
    static constexpr int kFullRows = 32;

private:
    static constexpr std::int64_t kFullBytes = 512 << 10;
    static constexpr int kLeastRows = 4;  // fewer are not worth a block
    static constexpr int kTileRows = 512, kTileScores = 1 << 14;

    // Prefetches everything of column-major rows index(0), index(1), ... Inlined by force: compilers may drop calls to
    // functions that only prefetch, because they have no side effects.
    template <class Index>
    [[gnu::always_inline]] void prefetch_rows(const Rows& source, int n, const Index& index) const {
        if (!columns_apart(source) || source.n_rows * n_features_ * 4 < kNearBytes) return;
        for (std::int64_t f = 0; f < n_features_; ++f) {
            const Column c = source.column(f);
            for (int r = 0; r < n; ++r) __builtin_prefetch(c.data + index(r) * c.stride, 0, 1);
        }
    }
    double full_sparse(const Rows& rows, std::int64_t r, double working, double* f) const {
        double magnitude = 0;
        for (int k = 0; k < n_outputs_; ++k) f[k] = 0;
        for (std::int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
            const std::int64_t c = rows.indices[i];
            const double v = filled(load_element<double>(rows.data + i * rows.element_bytes(), rows.dtype), c);
            for (int k = 0; k < n_outputs_; ++k) f[k] += v * coef_[k * n_features_ + c];
            magnitude += std::fabs(v) * magnitude_[c];
        }
        for (int k = 0; k < n_outputs_; ++k) f[k] += intercept_[k];
        return error(magnitude, working);
    }
    static bool columns_apart(const Rows& rows) {
        return rows.layout == Rows::Layout::columns ||
               (rows.layout == Rows::Layout::dense && rows.row_stride < rows.column_stride);
    }
    bool in_place(const Rows& rows) const { return rows.contiguous() && fill_.empty(); }
    // `full_block` where no values need be kept.
    void score_rows(const Rows& rows, const std::int64_t* ids, int n, double working, double* scores,
                    double* errors) const {
        const Kernels<double>& k = kernels<double>();
        const void* from[kFullRows];
        for (int r = 0; r < n; ++r) from[r] = rows.row(ids[r]);
        const auto run = [&](const auto& kernels) {
            kernels.score_rows(from, n, n_features_, weights_.data(), padded_features_, n_outputs_, magnitude_.data(),
                               scores, errors);
        };
        if (rows.dtype == Dtype::f64) run(k.rows_f64);
        else if (rows.dtype == Dtype::f32) run(k.rows_f32);
        else run(k.rows_u8);
        for (int r = 0; r < n; ++r) {
            for (int o = 0; o < n_outputs_; ++o) scores[r * n_outputs_ + o] += intercept_[o];
            errors[r] = error(errors[r], working);
        }
    }
    double filled(double v, std::int64_t f) const { return v != v && !fill_.empty() ? fill_[f] : v; }

    // Reads a row that is not CSR, padded with zeros, and returns what its values weigh in the bound of errors.
    double read_and_weigh(const Rows& rows, std::int64_t r, double* x) const {
        const Kernels<double>& k = kernels<double>();
        if (in_place(rows)) {
            const std::byte* p = rows.row(r);
            if (rows.dtype == Dtype::f64)
                return k.rows_f64.widen(reinterpret_cast<const double*>(p), n_features_, magnitude_.data(), x);
            if (rows.dtype == Dtype::f32)
                return k.rows_f32.widen(reinterpret_cast<const float*>(p), n_features_, magnitude_.data(), x);
            return k.rows_u8.widen(reinterpret_cast<const std::uint8_t*>(p), n_features_, magnitude_.data(), x);
        }
        const bool apart = rows.layout == Rows::Layout::columns;
        const auto at = [&](std::int64_t f) {
            return apart ? rows.columns[f].data + r * rows.columns[f].stride : rows.row(r) + f * rows.column_stride;
        };
        constexpr std::int64_t ahead = 32;  // every value may be in a cache line of its own
        for (std::int64_t f = 0; f < n_features_; ++f) {
            if (f + ahead < n_features_) __builtin_prefetch(at(f + ahead));
            x[f] = filled(load_element<double>(at(f), apart ? rows.columns[f].dtype : rows.dtype), f);
        }
        for (std::int64_t f = n_features_; f < padded_features_; ++f) x[f] = 0;
        return k.absolute(x, magnitude_.data(), static_cast<int>(padded_features_ / L));
    }

    double error(double magnitude, double working) const {
        const double u = std::numeric_limits<double>::epsilon() / 2;
        const double own = static_cast<double>(n_features_) + 8;  // CSR rows are summed in one chain
        const double size = magnitude + bias_magnitude_;
        if (size == 0) return 0;
        // Near the largest number the wrapped model may overflow; near the smallest one a product loses all its digits.
        const bool is_f32 = working > 4 * u;
        if (!(size <= (is_f32 ? 0x1p100 : 0x1p1000))) return HUGE_VAL;
        const double smallest = is_f32 ? 0x1p-148 : 0x1p-1073;
        return 1.05 * size * (own * u + (depth_ + 4) * working) + (own + depth_) * smallest;
    }

    std::int64_t n_features_;
    int n_outputs_;
    std::vector<std::int32_t> order_, position_;
    std::vector<double> coef_, intercept_, fill_;
    double bias_magnitude_, depth_;
    std::int64_t padded_features_;
    Aligned<double> weights_, magnitude_;
};

}  // namespace wald
