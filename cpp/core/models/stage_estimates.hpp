// The accumulators of linear models and of sums over columns with one output: the estimates of all stages at once, for
// rows and for columns.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "core/limits.hpp"
#include "core/models/column_model.hpp"
#include "core/models/linear_model.hpp"

namespace wald {

// A slot holds the sums of all stages: their estimates and, where rows have them, their variances. A feature value is
// read once and added to each of them, in the order of the plan.
template <class Model>
class StageEstimates {
public:
    using Source = Model;
    using Row = typename Model::Row;
    static constexpr int L = Model::L;
    static constexpr int kGathered = 32;  // columns that `add_columns` of the classes below reads at a time

    // weights[t], and spread[t] if there is one, has one entry for each of the first terms[t] terms.
    StageEstimates(std::shared_ptr<const Model> model, std::span<const std::int64_t> terms,
                   const std::vector<std::span<const double>>& weights,
                   const std::vector<std::span<const double>>& bias, const std::vector<std::span<const double>>& spread,
                   std::span<const double> spread_bias)
        : model_(std::move(model)), terms_(terms.begin(), terms.end()),
          bias_(static_cast<std::size_t>(round_up(std::ssize(weights) + std::ssize(spread), L))),
          n_panels_(static_cast<int>(bias_.size() / L)), has_variances_(!spread.empty()) {
        const std::int64_t deepest = terms.empty() ? 0 : terms.back();
        weights_ = Aligned<double>(static_cast<std::size_t>(deepest) * bias_.size());
        const auto put = [&](std::size_t column, std::size_t t, double first, std::span<const double> given) {
            bias_[column] = first;
            for (std::int64_t k = 0; k < terms[t]; ++k) weights_[k * bias_.size() + column] = given[k];
        };
        for (std::size_t t = 0; t < terms.size(); ++t) put(t, t, bias[t][0], weights[t]);
        for (std::size_t t = 0; t < spread.size(); ++t) put(terms.size() + t, t, spread_bias[t], spread[t]);
    }

    std::int64_t slot_width(std::int64_t) const { return static_cast<std::int64_t>(bias_.size()); }
    std::int64_t evaluated(std::int64_t terms) const { return terms; }
    void start(double* slot) const { std::copy(bias_.data(), bias_.data() + bias_.size(), slot); }
    auto estimate(int stage) const {
        return [stage](const double* slot) { return slot[stage]; };
    }
    bool has_variances() const { return has_variances_; }
    auto variance(int stage) const { return estimate(variance_of(stage)); }
    // The sum that is the variance of a stage.
    int variance_of(int stage) const { return static_cast<int>(terms_.size()) + stage; }
    void estimates(const double* const* slots, int n, int stage, double* const* scores) const {
        for (int r = 0; r < n; ++r) scores[r][0] = slots[r][stage];
    }

    void evaluate(const Row* const* rows, double* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        if constexpr (std::is_same_v<Model, LinearModel>) {
            if (rows[0]->rows->layout == Rows::Layout::csr) {  // zeros do not change a sum
                for (int r = 0; r < n; ++r)
                    for (const LinearModel::Entry& e : LinearModel::entries(*rows[r], begin, end))
                        kernels<double>().accumulate(slots[r], weights_.data() + e.position * bias_.size(), n_panels_,
                                                     &e.value, 1);
                return;
            }
        }
        model_->each_block(rows, n, begin, end, [&](int first, int some, std::int64_t at, int m, const double* values) {
            for (int r = 0; r < some; ++r)
                kernels<double>().accumulate(slots[first + r], weights_.data() + at * bias_.size(), n_panels_,
                                             values + r * Model::kGatherStride, m);
        });
    }
    double bias(int sum) const { return bias_[sum]; }

protected:
    // Adds m gathered columns from term k on to the estimates of stages [stage, n_stages) and to their variances, which
    // come n_stages sums later.
    void add_gathered(const double* values, std::int64_t stride, int m, int n, std::int64_t k, int stage, int n_stages,
                      double* sums) const {
        const std::int64_t step = static_cast<std::int64_t>(bias_.size());
        const auto add = [&](int first, double* to) {
            kernels<double>().add_columns(values, stride, m, n, weights_.data() + k * step + first, step,
                                          n_stages - stage, to);
        };
        add(stage, sums + stage * stride);
        if (has_variances_) add(variance_of(stage), sums + (n_stages + stage) * stride);
    }

    std::shared_ptr<const Model> model_;
    std::vector<std::int64_t> terms_;
    Aligned<double> bias_, weights_;  // (sums,), (terms, sums): padded to panels
    int n_panels_;
    bool has_variances_;
};

// Linear models, whose columns must be contiguous and of one dtype.
class LinearEstimates : public StageEstimates<LinearModel> {
public:
    using StageEstimates::StageEstimates;
    static constexpr int kSparseShare = wald::kSparseShare;

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
        column_sums(columns, first, n, stage, stage, scores);
    }
    // After `column_scores`, their variances.
    void column_variances(const Columns& columns, std::int64_t first, int n, int stage, double* found) const {
        column_sums(columns, first, n, stage, variance_of(stage), found);
    }
    // Adds terms [begin, end) of rows first + active[i] to sums[t * stride + i], for stages t in [stage, n_stages).
    // `values` has room for kGathered columns of `stride` values.
    void add_columns(const Columns& columns, std::int64_t first, const std::int32_t* active, int n, int stage,
                     int n_stages, std::int64_t begin, std::int64_t end, double* sums, std::int64_t stride,
                     double* values) const {
        for (std::int64_t k = begin; k < end; k += kGathered) {
            const int prefetch_end = static_cast<int>(end - k), m = std::min(kGathered, prefetch_end);
            with(columns, [&](const auto* const* at, const auto& kernel) {
                kernel.gather(at + k, first, m, prefetch_end, active, n, values, stride);
            });
            add_gathered(values, stride, m, n, k, stage, n_stages, sums);
        }
    }
    // Values of a row that a tile stores in addition to its sums.
    std::int64_t tile_width(const Columns&) const { return kGathered; }

private:
    void column_sums(const Columns& columns, std::int64_t first, int n, int stage, int sum, double* found) const {
        const std::int64_t step = static_cast<std::int64_t>(bias_.size());
        const bool again = sum != stage;
        const int n_columns = static_cast<int>(terms_[stage]), n_prefetched = stage == 0 && !again ? 0 : n_columns;
        const int next = static_cast<int>(terms_[std::min(stage + 1, columns.n_stages - 1)]);
        with(columns, [&](const auto* const* at, const auto& kernel) {
            kernel.scores(at, first, weights_.data() + sum, step, n_prefetched, n_columns, again ? n_columns : next,
                          bias_[sum], n, found);
        });
    }
    template <class Use>
    static void with(const Columns& columns, const Use& use) {
        if (columns.dtype == Dtype::f32)
            use(reinterpret_cast<const float* const*>(columns.at.data()), kernels<double>().columns_f32);
        else use(reinterpret_cast<const double* const*>(columns.at.data()), kernels<double>().columns_f64);
    }
};

// Sums over columns, whose columns may have any dtype. A tile stores the values of its terms, which are found once.
class ColumnEstimates : public StageEstimates<ColumnModel> {
public:
    using StageEstimates::StageEstimates;
    static constexpr int kSparseShare = 2;  // see limits.hpp; finding a value takes longer than gathering it

    struct Columns {
        const Rows* rows = nullptr;
        int n_stages = 0;
    };
    Columns columns(const Rows& rows, int n_stages) const {
        if (!rows.in_columns()) return {};
        while (n_stages > 0 && terms_[n_stages - 1] > 256 + 16 * rows.n_rows) --n_stages;
        return {&rows, n_stages};
    }
    std::int64_t tile_width(const Columns& columns) const { return kGathered + terms_[columns.n_stages - 1]; }
    // See LinearEstimates. A thread asks for the stages of a tile one after the other.
    void column_scores(const Columns& columns, std::int64_t first, int n, int stage, double* scores) const {
        Found& found = this_tile();
        const std::int64_t stride = round_up(n, L), end = terms_[stage];
        if (stage == 0) found.begin(stride, terms_[columns.n_stages - 1]);
        for (std::int64_t k = std::ssize(found.at); k < end; ++k) {
            double* const values = found.memory + k * stride;
            model_->values(*columns.rows, first, n, k, values);
            found.at.push_back(values);
        }
        column_sums(n, stage, stage, scores);
    }
    void column_variances(const Columns&, std::int64_t, int n, int stage, double* found) const {
        column_sums(n, stage, variance_of(stage), found);
    }
    // After `column_scores` of the same tile.
    void add_columns(const Columns& columns, std::int64_t first, const std::int32_t* active, int n, int stage,
                     int n_stages, std::int64_t begin, std::int64_t end, double* sums, std::int64_t stride,
                     double* values) const {
        const Found& found = this_tile();
        for (std::int64_t k = begin; k < end; k += kGathered) {
            const int m = static_cast<int>(std::min<std::int64_t>(kGathered, end - k));
            for (int i = 0; i < m; ++i) {
                double* const to = values + i * stride;
                if (k + i < std::ssize(found.at)) {
                    for (int r = 0; r < n; ++r) to[r] = found.at[k + i][active[r]];
                    std::fill(to + n, to + round_up(n, L), 0.0);
                } else {
                    model_->values_of(*columns.rows, first, active, n, k + i, to);
                }
            }
            add_gathered(values, stride, m, n, k, stage, n_stages, sums);
        }
    }

private:
    void column_sums(int n, int stage, int sum, double* found) const {
        const int n_columns = static_cast<int>(terms_[stage]);
        kernels<double>().columns_f64.scores(this_tile().at.data(), 0, weights_.data() + sum,
                                             static_cast<std::int64_t>(bias_.size()), n_columns, n_columns, n_columns,
                                             bias_[sum], n, found);
    }

    // The values of the first terms of a tile's rows.
    struct Found {
        Arena arena;
        double* memory = nullptr;
        std::vector<const double*> at;

        void begin(std::int64_t stride, std::int64_t n_terms) {
            arena.reset(Arena::bytes<double>(stride * n_terms));
            memory = arena.take<double>(stride * n_terms);
            at.clear();
        }
    };
    static Found& this_tile() {
        static thread_local Found found;
        return found;
    }
};

}  // namespace wald
