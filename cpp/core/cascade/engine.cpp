// The factory: it packs a model and chooses the cascade that evaluates the model's stages.
#include "core/cascade/engine.hpp"

#include "core/cascade/columns.hpp"
#include "core/cascade/first_stage.hpp"

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

// A cascade that keeps the values of the terms.
template <class Source, class Reference>
using ValueCascade = Cascade<Source, TermValues<Source>, Reference>;

template <class Engine_, class Source, class Reference>
std::shared_ptr<const Engine> on_values(const ModelShape& shape, const std::shared_ptr<const Source>& source,
                                        const std::shared_ptr<const Reference>& reference, const Decision& decision,
                                        const StagesSpec& spec, double slack) {
    using T = typename Source::Scalar;
    auto values = std::make_shared<const TermValues<Source>>(source, padded_readouts<T>(spec, shape.n_outputs));
    return std::make_shared<const Engine_>(shape, source, values, reference, decision, thresholds<T>(spec), slack);
}

class PackedKernelMachine final : public PackedModel {
public:
    PackedKernelMachine(const KernelMachineSpec& spec, bool single)
        : single_(single ? std::make_shared<const KernelMachine<float>>(spec) : nullptr),
          double_(std::make_shared<const KernelMachine<double>>(spec, single_)),
          shape_{double_->n_features(), double_->n_terms(), double_->n_outputs(), single,
                 std::any_of(spec.shift.begin(), spec.shift.end(), [](double v) { return v != 0; })} {}

    const ModelShape& shape() const override { return shape_; }
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& stages,
                                              double slack) const override {
        return shape_.single ? on(single_, decision, stages, slack) : on(double_, decision, stages, slack);
    }
    std::shared_ptr<const Engine> without_stages(bool single) const override {
        return single ? on(single_, {}, {}, 0.0) : on(double_, {}, {}, 0.0);
    }

private:
    template <class T>
    std::shared_ptr<const Engine> on(const std::shared_ptr<const KernelMachine<T>>& machine, const Decision& decision,
                                     const StagesSpec& stages, double slack) const {
        if (!stages.terms.empty() && FirstStageCascade<T>::suits(*machine, stages.terms[0]))
            return on_values<FirstStageCascade<T>>(shape_, machine, double_, decision, stages, slack);
        return on_values<ValueCascade<KernelMachine<T>, KernelMachine<double>>>(shape_, machine, double_, decision,
                                                                                stages, slack);
    }

    std::shared_ptr<const KernelMachine<float>> single_;
    std::shared_ptr<const KernelMachine<double>> double_;
    ModelShape shape_;
};

class PackedLinearModel final : public PackedModel {
public:
    explicit PackedLinearModel(const LinearModelSpec& spec)
        : model_(std::make_shared<const LinearModel>(spec)),
          shape_{model_->n_features(), model_->n_terms(), model_->n_outputs()} {}

    const ModelShape& shape() const override { return shape_; }
    // One output: the estimates of all stages are kept. Several: the values of the terms are.
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec,
                                              double slack) const override {
        if (shape_.n_outputs > 1)
            return on_values<ValueCascade<LinearModel, LinearModel>>(shape_, model_, model_, decision, spec, slack);
        auto estimates = std::make_shared<const StageEstimates>(model_, spec.terms, spec.weights, spec.bias);
        return std::make_shared<const ColumnCascade>(shape_, model_, estimates, model_, decision,
                                                     thresholds<double>(spec), slack);
    }
    std::shared_ptr<const Engine> without_stages(bool) const override {
        return on_values<ValueCascade<LinearModel, LinearModel>>(shape_, model_, model_, {}, {}, 0.0);
    }

private:
    std::shared_ptr<const LinearModel> model_;
    ModelShape shape_;
};

}  // namespace

std::shared_ptr<const PackedModel> pack(const KernelMachineSpec& spec, bool single) {
    return std::make_shared<const PackedKernelMachine>(spec, single);
}

std::shared_ptr<const PackedModel> pack(const LinearModelSpec& spec) {
    return std::make_shared<const PackedLinearModel>(spec);
}

}  // namespace wald
