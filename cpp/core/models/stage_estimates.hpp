// The accumulator of linear models with one output: the estimates of all stages at once, for rows and for columns.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "core/models/linear_model.hpp"

namespace wald {

// A slot holds the estimates of all stages. A feature value is read once and added to each of them, in the order of the
// plan.
class StageEstimates {
public:
    using Source = LinearModel;
    using Row = LinearModel::Row;
    static constexpr int L = LinearModel::L;

    // weights[t] has one entry for each of the first terms[t] terms.
    StageEstimates(std::shared_ptr<const LinearModel> model, std::span<const std::int64_t> terms,
                   const std::vector<std::span<const double>>& weights,
                   const std::vector<std::span<const double>>& bias)
        : model_(std::move(model)), terms_(terms.begin(), terms.end()),
          bias_(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(terms.size()), L))),
          n_panels_(static_cast<int>(bias_.size() / L)) {
        const std::int64_t deepest = terms.empty() ? 0 : terms.back();
        weights_ = Aligned<double>(static_cast<std::size_t>(deepest) * bias_.size());
        for (std::size_t t = 0; t < terms.size(); ++t) {
            bias_[t] = bias[t][0];
            for (std::int64_t k = 0; k < terms[t]; ++k) weights_[k * bias_.size() + t] = weights[t][k];
        }
    }

    std::int64_t slot_width(std::int64_t) const { return static_cast<std::int64_t>(bias_.size()); }
    std::int64_t evaluated(std::int64_t terms) const { return terms; }
    void start(double* slot) const { std::copy(bias_.data(), bias_.data() + bias_.size(), slot); }
    auto estimate(int stage) const {
        return [stage](const double* slot) { return slot[stage]; };
    }
    void estimates(const double* const* slots, int n, int stage, double* const* scores) const {
        for (int r = 0; r < n; ++r) scores[r][0] = slots[r][stage];
    }

    void evaluate(const Row* const* rows, double* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        if (rows[0]->rows->layout == Rows::Layout::csr) {  // zeros do not change a sum
            for (int r = 0; r < n; ++r)
                for (const LinearModel::Entry& e : LinearModel::entries(*rows[r], begin, end))
                    kernels<double>().accumulate(slots[r], weights_.data() + e.position * bias_.size(), n_panels_,
                                                 &e.value, 1);
            return;
        }
        model_->each_block(rows, n, begin, end, [&](int first, int some, std::int64_t at, int m, const double* values) {
            for (int r = 0; r < some; ++r)
                kernels<double>().accumulate(slots[first + r], weights_.data() + at * bias_.size(), n_panels_,
                                             values + r * LinearModel::kGatherStride, m);
        });
    }

    // Contiguous columns in the plan's order, as many as the first n_stages stages read.
    struct Columns {
        std::vector<const void*> at;
        Dtype dtype = Dtype::f32;
        int n_stages = 0;
    };
    // The columns that the first stages read, for the longest prefix of stages whose columns are all contiguous and of
    // one dtype. With few rows, late stages are left out: hardly any row reaches them.
    Columns columns(const Rows& rows, int n_stages) const {
        Columns found;
        if (!model_->as_is() || rows.layout == Rows::Layout::csr || model_->order().empty()) return found;
        while (n_stages > 0 && terms_[n_stages - 1] > 256 + 16 * rows.n_rows) --n_stages;
        const std::vector<std::int32_t>& order = model_->order();
        const auto column = [&](std::int64_t k) { return rows.column(order[k]); };
        found.dtype = column(0).dtype;
        const auto fits = [&](const Column& c) {
            return c.dtype == found.dtype && c.dtype != Dtype::u8 && c.stride == (c.dtype == Dtype::f32 ? 4 : 8);
        };
        if (n_stages <= 0 || !fits(column(0))) return found;
        found.at.reserve(terms_[n_stages - 1]);
        for (std::int64_t k = 0; found.n_stages < n_stages; ++found.n_stages) {
            for (; k < terms_[found.n_stages]; ++k) {
                const Column c = column(k);
                if (!fits(c)) return found;
                found.at.push_back(c.data);
            }
        }
        return found;
    }
    // The estimates of n neighbouring rows at a stage. Prefetches most of what the next stage reads.
    void column_scores(const Columns& columns, std::int64_t first, int n, int stage, double* scores) const {
        const std::int64_t step = static_cast<std::int64_t>(bias_.size());
        const int n_prefetched = stage == 0 ? 0 : static_cast<int>(terms_[stage]);
        const int prefetch_end = static_cast<int>(terms_[std::min(stage + 1, columns.n_stages - 1)]);
        with(columns, [&](const auto* const* at, const auto& kernel) {
            kernel.scores(at, first, weights_.data() + stage, step, n_prefetched, static_cast<int>(terms_[stage]),
                          prefetch_end, bias_[stage], n, scores);
        });
    }
    // Adds terms [begin, end) of rows first + active[i] to sums[t * stride + i], for stages t in [stage, n_stages).
    // `values` has room for kGathered columns of `stride` values.
    void add_columns(const Columns& columns, std::int64_t first, const std::int32_t* active, int n, int stage,
                     int n_stages, std::int64_t begin, std::int64_t end, double* sums, std::int64_t stride,
                     double* values) const {
        const std::int64_t step = static_cast<std::int64_t>(bias_.size());
        for (std::int64_t k = begin; k < end; k += kGathered) {
            const int prefetch_end = static_cast<int>(end - k), m = std::min(kGathered, prefetch_end);
            with(columns, [&](const auto* const* at, const auto& kernel) {
                kernel.gather(at + k, first, m, prefetch_end, active, n, values, stride);
            });
            kernels<double>().add_columns(values, stride, m, n, weights_.data() + k * step + stage, step,
                                          n_stages - stage, sums + stage * stride);
        }
    }
    double bias(int stage) const { return bias_[stage]; }
    static constexpr int kGathered = 32;

private:
    template <class Use>
    static void with(const Columns& columns, const Use& use) {
        if (columns.dtype == Dtype::f32)
            use(reinterpret_cast<const float* const*>(columns.at.data()), kernels<double>().columns_f32);
        else use(reinterpret_cast<const double* const*>(columns.at.data()), kernels<double>().columns_f64);
    }

    std::shared_ptr<const LinearModel> model_;
    std::vector<std::int64_t> terms_;
    Aligned<double> bias_, weights_;  // (stages,), (terms, stages): padded to panels
    int n_panels_;
};

}  // namespace wald
