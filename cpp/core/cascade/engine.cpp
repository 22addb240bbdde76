// Factory of engines: packs a model and chooses the cascade that evaluates its stages.
#include "core/cascade/engine.hpp"

#include "core/cascade/columns.hpp"
#include "core/cascade/first_stage.hpp"
#include "core/cascade/trees.hpp"

namespace wald {

namespace {

template <class T>
Aligned<T> padded(std::int64_t n) {
    return Aligned<T>(static_cast<std::size_t>(round_up(n, kLanes<T>)));
}

template <class T>
Readouts<T> padded_readouts(std::span<const std::int64_t> terms, const std::vector<std::span<const double>>& given,
                            const std::vector<std::span<const double>>& bias_of, int n_outputs) {
    Readouts<T> readouts;
    const std::int64_t padded_outputs = round_up(n_outputs, kLanes<T>);
    for (std::size_t t = 0; t < given.size(); ++t) {
        const std::int64_t m = terms[t];
        Aligned<T> weights = padded<T>(n_outputs == 1 ? m : m * padded_outputs), bias = padded<T>(n_outputs);
        for (int k = 0; k < n_outputs; ++k) {
            bias[k] = static_cast<T>(bias_of[t][k]);
            for (std::int64_t j = 0; j < m; ++j)
                weights[n_outputs == 1 ? j : j * padded_outputs + k] = static_cast<T>(given[t][k * m + j]);
        }
        readouts.terms.push_back(m);
        readouts.weights.push_back(std::move(weights));
        readouts.bias.push_back(std::move(bias));
    }
    return readouts;
}

// A cascade that stores the values of the terms.
template <class Source, class Reference>
using ValueCascade = Cascade<Source, TermValues<Source>, Reference>;

template <class Engine_, class Source, class Reference>
std::shared_ptr<const Engine> build_on_values(const ModelShape& shape, const std::shared_ptr<const Source>& source,
                                              const std::shared_ptr<const Reference>& reference,
                                              const Decision& decision, const StagesSpec& spec, double tie_margin) {
    using T = typename Source::Scalar;
    std::vector<std::span<const double>> spread_bias;
    for (const double& bias : spec.spread_bias) spread_bias.emplace_back(&bias, 1);
    auto values = std::make_shared<const TermValues<Source>>(
        source, padded_readouts<T>(spec.terms, spec.weights, spec.bias, shape.n_outputs),
        padded_readouts<T>(spec.terms, spec.spread, spread_bias, 1));
    return std::make_shared<const Engine_>(shape, source, values, reference, decision, spec, tie_margin);
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Source>
void write_scores(const Source& source, const RowSet& set, double working, double* scores, double* errors) {
    const int outputs = source.n_outputs();
    each_full(source, set, working, [&](std::int64_t at, const double* found, double error, double*) {
        for (int k = 0; k < outputs; ++k) scores[at * outputs + k] = found != nullptr ? found[k] : kNaN;
        errors[at] = error;
    });
}

template <class Source>
void write_values(const Source& source, const RowSet& set, double* values) {
    const std::int64_t n_terms = source.n_terms(), width = source.slot_width(n_terms);
    each_batch(set.n, 1, Batch<Source>::fitting(source, width, kBatchRows), set.n_threads,
               [&](std::int64_t begin, std::int64_t end) {
                   Batch<Source> batch(source, set, end - begin, width);
                   batch.read(
                       end - begin, [&](std::int64_t i) { return begin + i; }, [](std::int64_t, int) {},
                       [&](std::int64_t at) { std::fill_n(values + at * n_terms, n_terms, kNaN); });
                   if (batch.size() > 0) source.evaluate(batch.rows(), batch.slots(), batch.size(), 0, n_terms);
                   for (int r = 0; r < batch.size(); ++r)
                       std::copy_n(batch.slots()[r], n_terms, values + batch.position(r) * n_terms);
               });
}

class PackedKernelMachine final : public PackedModel {
public:
    PackedKernelMachine(const KernelMachineSpec& spec, bool f32)
        : f32_(f32 ? std::make_shared<const KernelMachine<float>>(spec) : nullptr),
          f64_(std::make_shared<const KernelMachine<double>>(spec, f32_)),
          shape_{f64_->n_features(),
                 f64_->n_terms(),
                 f64_->n_outputs(),
                 f32,
                 !f32,
                 std::any_of(spec.shift.begin(), spec.shift.end(), [](double v) { return v != 0; })} {}

    const ModelShape& shape() const override { return shape_; }
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& stages,
                                              double tie_margin) const override {
        return shape_.f32 ? build(f32_, decision, stages, tie_margin) : build(f64_, decision, stages, tie_margin);
    }
    void scores(const RowSet& set, double working, bool f32, double* scores, double* errors) const override {
        if (f32) write_scores(*f32_, set, working, scores, errors);
        else write_scores(*f64_, set, working, scores, errors);
    }
    void values(const RowSet& set, double* values) const override { write_values(*f64_, set, values); }

private:
    template <class T>
    std::shared_ptr<const Engine> build(const std::shared_ptr<const KernelMachine<T>>& machine,
                                        const Decision& decision, const StagesSpec& stages, double tie_margin) const {
        if (!stages.terms.empty() && stages.spread.empty() && FirstStageCascade<T>::suits(*machine, stages.terms[0]))
            return build_on_values<FirstStageCascade<T>>(shape_, machine, f64_, decision, stages, tie_margin);
        return build_on_values<ValueCascade<KernelMachine<T>, KernelMachine<double>>>(shape_, machine, f64_, decision,
                                                                                      stages, tie_margin);
    }

    std::shared_ptr<const KernelMachine<float>> f32_;
    std::shared_ptr<const KernelMachine<double>> f64_;
    ModelShape shape_;
};

// A model whose stages are evaluated in float64, as its full scores are. With one output, a row's slot keeps the
// estimates of all stages; with several, the values of the terms.
template <class Source, class Estimates>
class PackedDoubles final : public PackedModel {
public:
    explicit PackedDoubles(std::shared_ptr<const Source> model, bool dense_only)
        : model_(std::move(model)), shape_{.n_features = model_->n_features(),
                                           .n_terms = model_->n_terms(),
                                           .n_outputs = model_->n_outputs(),
                                           .dense_only = dense_only,
                                           .reads_cells = std::is_same_v<Source, ColumnModel>} {}

    const ModelShape& shape() const override { return shape_; }
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec,
                                              double tie_margin) const override {
        if (shape_.n_outputs > 1)
            return build_on_values<ValueCascade<Source, Source>>(shape_, model_, model_, decision, spec, tie_margin);
        auto estimates = std::make_shared<const Estimates>(model_, spec.terms, spec.weights, spec.bias, spec.spread,
                                                           spec.spread_bias);
        return std::make_shared<const ColumnCascade<Estimates>>(shape_, model_, estimates, model_, decision, spec,
                                                                tie_margin);
    }
    void scores(const RowSet& set, double working, bool, double* scores, double* errors) const override {
        write_scores(*model_, set, working, scores, errors);
    }
    void values(const RowSet& set, double* values) const override { write_values(*model_, set, values); }

private:
    std::shared_ptr<const Source> model_;
    ModelShape shape_;
};

class PackedEnsemble final : public PackedTrees {
public:
    PackedEnsemble(std::shared_ptr<const TreeEnsemble> trees, std::span<const std::int64_t> order)
        : trees_(std::move(trees)), order_(order.begin(), order.end()),
          shape_{.n_features = trees_->n_features(),
                 .n_terms = static_cast<std::int64_t>(order.size()),
                 .n_outputs = trees_->n_outputs(),
                 .f32 = true,
                 .keeps_sums = true} {}

    const ModelShape& shape() const override { return shape_; }
    std::int64_t n_trees() const override { return trees_->n_trees(); }
    std::shared_ptr<const TreeEnsemble> ensemble() const override { return trees_; }
    std::span<const std::int64_t> order() const override { return order_; }
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec,
                                              double tie_margin) const override {
        return std::make_shared<const TreeCascade>(shape_, trees_, order_, decision, spec, tie_margin);
    }
    void scores(const RowSet& set, double, bool, double* scores, double* errors) const override {
        std::fill_n(errors, set.n, 0.0);
        trees_->each_full(set, [&](std::int64_t at, int m, const double* found) {
            std::copy_n(found, m * trees_->n_outputs(), scores + at * trees_->n_outputs());
        });
    }
    void values(const RowSet& set, double* values) const override {
        each_leaf(set, [&](std::size_t at, std::int64_t tree, std::int32_t leaf, bool refused) {
            values[at] = refused ? kNaN : trees_->leaf_value(tree, leaf);
        });
    }
    std::shared_ptr<const PackedTrees> reordered(std::span<const std::int64_t> order) const override {
        return std::make_shared<const PackedEnsemble>(trees_, order);
    }
    void leaves(const RowSet& set, std::int32_t* leaves) const override {
        each_leaf(set, [&](std::size_t at, std::int64_t, std::int32_t leaf, bool) { leaves[at] = leaf; });
    }

private:
    // Calls use(place in an array (n, n_terms), tree of the spec, its leaf, whether the row holds a refused value).
    template <class Use>
    void each_leaf(const RowSet& set, const Use& use) const {
        std::vector<std::int64_t> column(static_cast<std::size_t>(trees_->n_trees()), -1);
        for (std::size_t j = 0; j < order_.size(); ++j) column[order_[j]] = static_cast<std::int64_t>(j);
        trees_->each_leaf(set, [&](std::int64_t at, std::int64_t tree, std::int32_t leaf, bool refused) {
            if (column[tree] >= 0)
                use(static_cast<std::size_t>(at * std::ssize(order_) + column[tree]), tree, leaf, refused);
        });
    }

    std::shared_ptr<const TreeEnsemble> trees_;
    std::vector<std::int64_t> order_;
    ModelShape shape_;
};

}  // namespace

std::shared_ptr<const PackedTrees> pack(const TreesSpec& spec, std::span<const std::int64_t> order) {
    return std::make_shared<const PackedEnsemble>(std::make_shared<const TreeEnsemble>(spec), order);
}

std::shared_ptr<const PackedModel> pack(const KernelMachineSpec& spec, bool f32) {
    return std::make_shared<const PackedKernelMachine>(spec, f32);
}

std::shared_ptr<const PackedModel> pack(const LinearModelSpec& spec) {
    return std::make_shared<const PackedDoubles<LinearModel, LinearEstimates>>(
        std::make_shared<const LinearModel>(spec), false);
}

std::shared_ptr<const PackedModel> pack(const ColumnModelSpec& spec) {
    return std::make_shared<const PackedDoubles<ColumnModel, ColumnEstimates>>(
        std::make_shared<const ColumnModel>(spec), true);
}

}  // namespace wald
