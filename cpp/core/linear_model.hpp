// A linear model as terms: the feature values themselves, gathered in the order of a plan. Everything runs in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "arena.hpp"
#include "kernels.hpp"
#include "rows.hpp"

namespace wald {

struct LinearModelSpec {
    std::int64_t n_features = 0;
    std::span<const std::int32_t> order;   // the columns that early stages read, in the plan's order
    std::span<const double> coef;          // (n_outputs, n_features), the features' own order
    std::span<const double> intercept;     // (n_outputs,)
    std::span<const double> fill;          // (n_features,): stands in for NaN; empty: none
    // |x| @ magnitude + bias_magnitude bounds the sizes of all that the wrapped model adds up, for any output, and a value goes
    // through at most `depth` of its roundings.
    std::span<const double> magnitude;     // (n_features,)
    double bias_magnitude = 0, depth = 0;
};

class LinearModel {
public:
    using Scalar = double;
    static constexpr int L = kLanes<double>;
    struct Row {
        const Rows* rows;
        std::int64_t index;
    };

    explicit LinearModel(const LinearModelSpec& spec)
        : n_features_(spec.n_features), n_outputs_(static_cast<int>(spec.intercept.size())),
          order_(spec.order.begin(), spec.order.end()), position_(spec.n_features, -1),
          coef_(spec.coef.begin(), spec.coef.end()), intercept_(spec.intercept.begin(), spec.intercept.end()),
          fill_(spec.fill.begin(), spec.fill.end()), bias_magnitude_(spec.bias_magnitude), depth_(spec.depth),
          padded_features_(round_up(spec.n_features, L)),
          weights_(static_cast<std::size_t>(padded_features_) * n_outputs_), magnitude_(padded_features_) {
        for (std::size_t k = 0; k < order_.size(); ++k) position_[order_[k]] = static_cast<std::int32_t>(k);
        for (int k = 0; k < n_outputs_; ++k)
            for (std::int64_t f = 0; f < n_features_; ++f) weights_[k * padded_features_ + f] = coef_[k * n_features_ + f];
        for (std::int64_t f = 0; f < n_features_; ++f) magnitude_[f] = spec.magnitude[f];
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_terms() const { return static_cast<std::int64_t>(order_.size()); }
    int n_outputs() const { return n_outputs_; }
    const std::vector<std::int32_t>& order() const { return order_; }
    std::int64_t slot_width(std::int64_t terms) const { return round_up(terms, L); }
    std::int64_t evaluated(std::int64_t terms) const { return terms; }
    std::int64_t full_width() const { return 0; }  // the last stage reads the row itself
    std::size_t row_bytes() const { return 0; }
    struct Scratch {};
    Scratch scratch(Arena&, std::int64_t) const { return {}; }
    std::int64_t full_work() const { return padded_features_; }

    bool prepare(const Rows& rows, std::int64_t r, Row& row, Scratch&) const {
        row.rows = &rows;
        row.index = r;
        return true;  // what is read is judged through the scores
    }

    void evaluate(const Row* const* rows, double* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        if (n == 0) return;
        const Rows& source = *rows[0]->rows;
        if (source.layout == Rows::Layout::csr) {
            for (int r = 0; r < n; ++r) scatter(source, rows[r]->index, begin, end, slots[r]);
        } else if (source.layout == Rows::Layout::columns) {
            for (std::int64_t k = begin; k < end; ++k) {
                const Column& c = source.columns[order_[k]];
                for (int r = 0; r < n; ++r)
                    slots[r][k] = filled(load_element<double>(c.data + rows[r]->index * c.stride, c.dtype), order_[k]);
            }
        } else if (source.dtype == Dtype::f32 && fill_.empty()) {
            for (int r = 0; r < n; ++r) {
                const std::byte* p = source.row(rows[r]->index);
                for (std::int64_t k = begin; k < end; ++k)
                    slots[r][k] = *reinterpret_cast<const float*>(p + order_[k] * source.column_stride);
            }
        } else {
            for (int r = 0; r < n; ++r) {
                const std::byte* p = source.row(rows[r]->index);
                for (std::int64_t k = begin; k < end; ++k)
                    slots[r][k] = filled(load_element<double>(p + order_[k] * source.column_stride, source.dtype), order_[k]);
            }
        }
        for (int r = 0; r < n; ++r)
            for (std::int64_t k = end; k < round_up(end, L); ++k) slots[r][k] = 0.0;
    }

    // See KernelMachine::full.
    double full(const Rows& rows, std::int64_t r, const Row&, const double*, double working, double* f, double* work) const {
        double magnitude = 0;
        if (rows.layout == Rows::Layout::csr) {
            for (int k = 0; k < n_outputs_; ++k) f[k] = 0;
            for (std::int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
                const std::int64_t c = rows.indices[i];
                const double v = filled(load_element<double>(rows.data + i * rows.element_bytes(), rows.dtype), c);
                for (int k = 0; k < n_outputs_; ++k) f[k] += v * coef_[k * n_features_ + c];
                magnitude += std::fabs(v) * magnitude_[c];
            }
        } else {
            read(rows, r, work);
            const int panels = static_cast<int>(padded_features_ / L);
            for (int k = 0; k < n_outputs_; ++k)
                f[k] = kernels<double>().readout(work, weights_.data() + k * padded_features_, panels);
            magnitude = kernels<double>().absolute(work, magnitude_.data(), panels);
        }
        for (int k = 0; k < n_outputs_; ++k) f[k] += intercept_[k];
        return error(magnitude, working);
    }

private:
    double filled(double v, std::int64_t f) const { return v != v && !fill_.empty() ? fill_[f] : v; }

    void scatter(const Rows& rows, std::int64_t r, std::int64_t begin, std::int64_t end, double* slot) const {
        std::fill(slot + begin, slot + end, 0.0);
        for (std::int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
            const std::int64_t at = position_[rows.indices[i]];
            if (at >= begin && at < end)
                slot[at] = filled(load_element<double>(rows.data + i * rows.element_bytes(), rows.dtype), rows.indices[i]);
        }
    }

    void read(const Rows& rows, std::int64_t r, double* x) const {
        if (rows.contiguous() && fill_.empty() && rows.dtype != Dtype::u8) {
            const std::byte* p = rows.row(r);
            if (rows.dtype == Dtype::f64) std::memcpy(x, p, static_cast<std::size_t>(n_features_) * sizeof(double));
            else
                for (std::int64_t f = 0; f < n_features_; ++f) x[f] = reinterpret_cast<const float*>(p)[f];
        } else {
            for (std::int64_t f = 0; f < n_features_; ++f) {
                const std::byte* p;
                Dtype dtype = rows.dtype;
                if (rows.layout == Rows::Layout::columns) {
                    p = rows.columns[f].data + r * rows.columns[f].stride;
                    dtype = rows.columns[f].dtype;
                } else {
                    p = rows.row(r) + f * rows.column_stride;
                }
                x[f] = filled(load_element<double>(p, dtype), f);
            }
        }
        for (std::int64_t f = n_features_; f < padded_features_; ++f) x[f] = 0;
    }

    double error(double magnitude, double working) const {
        const double u = std::numeric_limits<double>::epsilon() / 2;
        const double own = static_cast<double>(n_features_) + 8;  // in CSR rows one chain of all non-zeros
        return 1.05 * (magnitude + bias_magnitude_) * (own * u + (depth_ + 4) * working);
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
