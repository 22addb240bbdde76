// Tree ensembles: a score is a base plus the leaves of its trees, added in their order.
#pragma once

#include <memory>
#include <numeric>

#include "core/trees/panel_reader.hpp"
#include "core/trees/split_trees.hpp"

namespace wald {

// The trees twice: in the order of a plan for estimates, with thresholds in float32, and in the model's own order for
// full scores, with thresholds in the precision in which the model compares.
class TreeEnsemble {
public:
    // `order` names the trees of early stages.
    TreeEnsemble(const TreesSpec& spec, std::span<const std::int64_t> order)
        : n_features_(spec.n_features), base_(spec.base.begin(), spec.base.end()),
          bias_(spec.bias.begin(), spec.bias.end()), scale_(spec.scale), divisor_(spec.divisor),
          f32_sums_(spec.f32_sums), reader_(spec, first_use(spec, order)),
          early_(spec, order, reader_.columns(), false), full_(spec, all(spec), reader_.columns(), true) {
        for (std::int64_t t : order)
            split_features_.emplace_back(spec.feature.begin() + spec.first_node_of(t),
                                         spec.feature.begin() + spec.last_node_of(t));
        if (!spec.f32_rows)
            full_f64_ = std::make_unique<const SplitTrees<double>>(spec, all(spec), reader_.columns(), true);
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_trees() const { return full_.size(); }
    int n_outputs() const { return static_cast<int>(base_.size()); }
    const PanelReader& reader() const { return reader_; }
    const SplitTrees<float>& early() const { return early_; }
    // What trees [first, last) of the plan read.
    PanelReads reads(std::int64_t first, std::int64_t last) const {
        std::vector<std::int32_t> features;
        for (std::int64_t t = first; t < last; ++t)
            features.insert(features.end(), split_features_[t].begin(), split_features_[t].end());
        return reader_.reads_of(std::move(features));
    }
    std::int64_t panel_size() const { return std::int64_t{reader_.n_blocks()} * PanelReader::kBlock * kPanelRows; }

    // Panels whose rows are evaluated together: several for trees that do not stay in the cache from one panel to the
    // next.
    int n_panels() const { return full_.bytes() > kCacheBytes ? kMaxPanels : 1; }
    std::int64_t full_rows() const { return std::int64_t{n_panels()} * kPanelRows; }

    // Full scores of n <= full_rows() rows: scores[i * n_outputs + k]; NaN for rows with a refused value. `panels` has
    // room for n_panels() * panel_size() values of type double. ids[n] to ids[n_known - 1] are the rows that will be
    // read next. `exact`: whether the values of earlier rows were float32 numbers; becomes whether these are.
    void full(const Rows& rows, const std::int64_t* ids, int n, int n_known, bool& exact, double* panels,
              double* scores) const {
        std::vector<std::uint8_t> refused(static_cast<std::size_t>(round_up(n, kPanelRows)));
        auto* const panels_f32 = reinterpret_cast<float*>(panels);
        exact = exact || full_f64_ == nullptr;
        exact = exact && read_all(rows, ids, n, n_known, panels_f32, refused.data());
        if (!exact) read_all(rows, ids, n, n_known, panels, refused.data());
        if (f32_sums_) add_all<float>(full_.view(), panels_f32, n, scores, tree_kernels<float>().add_f32);
        else if (exact) add_all<double>(full_.view(), panels_f32, n, scores, tree_kernels<float>().add);
        else add_all<double>(full_f64_->view(), panels, n, scores, tree_kernels<double>().add);
        for (int i = 0; i < n; ++i)
            if (refused[i] != 0)
                std::fill_n(scores + i * n_outputs(), n_outputs(), std::numeric_limits<double>::quiet_NaN());
    }

    // Full scores of one row, or NaN; x has room for n_features values of type double.
    void full_row(const Rows& rows, std::int64_t r, double* x, double* scores) const {
        auto* const x_f32 = reinterpret_cast<float*>(x);
        const float* at = x_f32;
        bool exact = true;
        if (reader_.in_place(rows, Dtype::f32)) at = reinterpret_cast<const float*>(rows.row(r));
        else exact = reader_.read_row(rows, r, reader_.everything().features, x_f32);
        if (reader_.is_refused_row(reader_.everything().features, at)) {
            std::fill_n(scores, n_outputs(), std::numeric_limits<double>::quiet_NaN());
            return;
        }
        if (f32_sums_) {
            std::vector<float> sums(base_.begin(), base_.end());
            tree_kernels<float>().row_add_f32(full_.view(), 0, full_.size(), at, sums.data());
            for (int k = 0; k < n_outputs(); ++k) scores[k] = finished(sums[k], k);
            return;
        }
        std::copy(base_.begin(), base_.end(), scores);
        if (exact) {
            tree_kernels<float>().row_add(full_.view(), 0, full_.size(), at, scores);
        } else {
            reader_.read_row(rows, r, reader_.everything().features, x);
            tree_kernels<double>().row_add(full_f64_->view(), 0, full_f64_->size(), x, scores);
        }
        for (int k = 0; k < n_outputs(); ++k) scores[k] = finished(scores[k], k);
    }

    // The leaf of each tree in the order of the plan: values[i * early().size() + t], from thresholds in float32.
    void values(const Rows& rows, const std::int64_t* ids, int n, double* panel, double* work, double* values) const {
        auto* const panel_f32 = reinterpret_cast<float*>(panel);
        reader_.read(rows, ids, n, n, reader_.everything(), panel_f32);
        const int m = early_.size();
        tree_kernels<float>().values_f64(early_.view(), 0, m, panel_f32, n, work);
        for (int i = 0; i < n; ++i)
            for (int t = 0; t < m; ++t) values[std::int64_t{i} * m + t] = work[std::int64_t{t} * kPanelRows + i];
    }

private:
    static constexpr std::size_t kCacheBytes = 512u << 10;
    static constexpr int kMaxPanels = 8;
    static constexpr int kTreesAtOnce = 16;  // of a group of panels

    // Reads rows into panels, and marks those with a refused value. Returns whether all values are exact.
    template <class X>
    bool read_all(const Rows& rows, const std::int64_t* ids, int n, int n_known, X* panels,
                  std::uint8_t* refused) const {
        bool exact = true;
        for (int first = 0; first < n; first += kPanelRows) {
            const int in_panel = std::min(kPanelRows, n - first);
            exact &= reader_.read(rows, ids + first, in_panel, n_known - first, reader_.everything(), panels);
            reader_.find_refused(reader_.everything().columns, in_panel, panels, refused + first);
            panels += panel_size();
        }
        return exact;
    }

    // Adds all trees, some of them to every panel before the next ones, and writes the scores.
    template <class V, class X, class Add>
    void add_all(const TreesView<X>& trees, const X* panels, int n, double* scores, const Add& add) const {
        const int used = (n + kPanelRows - 1) / kPanelRows, outputs = n_outputs(), n_trees = full_.size();
        const std::int64_t width = std::int64_t{outputs} * kPanelRows;
        std::vector<V> sums(static_cast<std::size_t>(used * width));
        for (int p = 0; p < used; ++p)
            for (int k = 0; k < outputs; ++k)
                std::fill_n(sums.begin() + p * width + std::int64_t{k} * kPanelRows, kPanelRows,
                            static_cast<V>(base_[k]));
        const int step = used == 1 ? n_trees : kTreesAtOnce;
        for (int first = 0, last = 0; first < n_trees; first = last) {
            last = std::min(n_trees, first + step);
            while (last < n_trees && trees.trees[last].repeated) ++last;
            for (int p = 0; p < used; ++p)
                add(trees, first, last, panels + p * panel_size(), std::min(kPanelRows, n - p * kPanelRows),
                    sums.data() + p * width);
        }
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < outputs; ++k)
                scores[i * outputs + k] =
                    finished(sums[i / kPanelRows * width + std::int64_t{k} * kPanelRows + i % kPanelRows], k);
    }

    static std::vector<std::int64_t> all(const TreesSpec& spec) {
        std::vector<std::int64_t> trees(static_cast<std::size_t>(spec.n_trees()));
        std::iota(trees.begin(), trees.end(), 0);
        return trees;
    }
    static std::vector<std::int64_t> first_use(const TreesSpec& spec, std::span<const std::int64_t> order) {
        std::vector<std::int64_t> trees(order.begin(), order.end());
        for (std::int64_t t : all(spec)) trees.push_back(t);
        return trees;
    }
    double finished(double sum, int k) const { return sum * scale_ / divisor_ + bias_[k]; }

    std::int64_t n_features_;
    std::vector<double> base_, bias_;
    double scale_, divisor_;
    bool f32_sums_;
    PanelReader reader_;
    SplitTrees<float> early_, full_;
    std::unique_ptr<const SplitTrees<double>> full_f64_;
    std::vector<std::vector<std::int32_t>> split_features_;  // of each early tree
};

}  // namespace wald
