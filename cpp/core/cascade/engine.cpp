// Factory of engines: packs a model and chooses the cascade that evaluates its stages.
#include "core/cascade/engine.hpp"

#include "core/cascade/columns.hpp"
#include "core/cascade/first_stage.hpp"
#include "core/cascade/tree_run.hpp"

namespace wald {

namespace {

template <class T>
Aligned<T> padded(std::int64_t n) {
    return Aligned<T>(static_cast<std::size_t>(round_up(n, kLanes<T>)));
}

template <class T>
Readouts<T> padded_readouts(const StagesSpec& spec, int n_outputs) {
    Readouts<T> readouts;
    const std::int64_t padded_outputs = round_up(n_outputs, kLanes<T>);
    for (std::size_t t = 0; t < spec.terms.size(); ++t) {
        const std::int64_t m = spec.terms[t];
        Aligned<T> weights = padded<T>(n_outputs == 1 ? m : m * padded_outputs), bias = padded<T>(n_outputs);
        for (int k = 0; k < n_outputs; ++k) {
            bias[k] = static_cast<T>(spec.bias[t][k]);
            for (std::int64_t j = 0; j < m; ++j)
                weights[n_outputs == 1 ? j : j * padded_outputs + k] = static_cast<T>(spec.weights[t][k * m + j]);
        }
        readouts.terms.push_back(m);
        readouts.weights.push_back(std::move(weights));
        readouts.bias.push_back(std::move(bias));
    }
    return readouts;
}

template <class T>
Stages<T> thresholds(const StagesSpec& spec) {
    Stages<T> s;
    for (std::size_t t = 0; t < spec.terms.size(); ++t) {
        s.terms.push_back(spec.terms[t]);
        s.low.push_back(static_cast<T>(spec.low[t]));
        s.high.push_back(static_cast<T>(spec.high[t]));
    }
    return s;
}

// A cascade that stores the values of the terms.
template <class Source, class Reference>
using ValueCascade = Cascade<Source, TermValues<Source>, Reference>;

template <class Engine_, class Source, class Reference>
std::shared_ptr<const Engine> build_on_values(const ModelShape& shape, const std::shared_ptr<const Source>& source,
                                              const std::shared_ptr<const Reference>& reference,
                                              const Decision& decision, const StagesSpec& spec, double tie_margin) {
    using T = typename Source::Scalar;
    auto values = std::make_shared<const TermValues<Source>>(source, padded_readouts<T>(spec, shape.n_outputs));
    return std::make_shared<const Engine_>(shape, source, values, reference, decision, thresholds<T>(spec), spec.costs,
                                           tie_margin);
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
    std::shared_ptr<const Engine> without_stages(bool f32) const override {
        return f32 ? build(f32_, {}, {}, 0.0) : build(f64_, {}, {}, 0.0);
    }

private:
    template <class T>
    std::shared_ptr<const Engine> build(const std::shared_ptr<const KernelMachine<T>>& machine,
                                        const Decision& decision, const StagesSpec& stages, double tie_margin) const {
        if (!stages.terms.empty() && FirstStageCascade<T>::suits(*machine, stages.terms[0]))
            return build_on_values<FirstStageCascade<T>>(shape_, machine, f64_, decision, stages, tie_margin);
        return build_on_values<ValueCascade<KernelMachine<T>, KernelMachine<double>>>(shape_, machine, f64_, decision,
                                                                                      stages, tie_margin);
    }

    std::shared_ptr<const KernelMachine<float>> f32_;
    std::shared_ptr<const KernelMachine<double>> f64_;
    ModelShape shape_;
};

class PackedLinearModel final : public PackedModel {
public:
    explicit PackedLinearModel(const LinearModelSpec& spec)
        : model_(std::make_shared<const LinearModel>(spec)),
          shape_{model_->n_features(), model_->n_terms(), model_->n_outputs()} {}

    const ModelShape& shape() const override { return shape_; }
    // One output: the slot keeps the estimates of all stages. Several outputs: it keeps the values of the terms.
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec,
                                              double tie_margin) const override {
        if (shape_.n_outputs > 1)
            return build_on_values<ValueCascade<LinearModel, LinearModel>>(shape_, model_, model_, decision, spec,
                                                                           tie_margin);
        auto estimates = std::make_shared<const StageEstimates>(model_, spec.terms, spec.weights, spec.bias);
        return std::make_shared<const ColumnCascade>(shape_, model_, estimates, model_, decision,
                                                     thresholds<double>(spec), spec.costs, tie_margin);
    }
    std::shared_ptr<const Engine> without_stages(bool) const override {
        return build_on_values<ValueCascade<LinearModel, LinearModel>>(shape_, model_, model_, {}, {}, 0.0);
    }

private:
    std::shared_ptr<const LinearModel> model_;
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
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec,
                                              double tie_margin) const override {
        return std::make_shared<const TreeCascade>(shape_, trees_, order_, decision, spec, tie_margin);
    }
    std::shared_ptr<const Engine> without_stages(bool) const override { return with_stages({}, {}, 0.0); }
    std::shared_ptr<const PackedTrees> reordered(std::span<const std::int64_t> order) const override {
        return std::make_shared<const PackedEnsemble>(trees_, order);
    }
    void leaves(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                std::int32_t* leaves) const override {
        TreeCascade(shape_, trees_, order_, {}, {}, 0.0).leaves(rows, ids, n, n_threads, leaves);
    }

private:
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
    return std::make_shared<const PackedLinearModel>(spec);
}

}  // namespace wald
