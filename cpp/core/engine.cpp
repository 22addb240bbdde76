// The factory: it packs a model and chooses the cascade that evaluates the model's stages.
#include "engine.hpp"

#include "cascade.hpp"
#include "kernel_machine.hpp"
#include "linear_model.hpp"

namespace wald {

namespace {

template <class T>
Aligned<T> padded(std::int64_t n) {
    return Aligned<T>(static_cast<std::size_t>(round_up(n, kLanes<T>)));
}

template <class T>
Stages<T> padded_stages(const StagesSpec& spec, int n_outputs) {
    Stages<T> s;
    const std::int64_t padded_outputs = round_up(n_outputs, kLanes<T>);
    for (std::size_t t = 0; t < spec.terms.size(); ++t) {
        const std::int64_t m = spec.terms[t];
        Aligned<T> weights = padded<T>(n_outputs == 1 ? m : m * padded_outputs), bias = padded<T>(n_outputs);
        for (int k = 0; k < n_outputs; ++k) {
            bias[k] = static_cast<T>(spec.bias[t][k]);
            for (std::int64_t j = 0; j < m; ++j)
                weights[n_outputs == 1 ? j : j * padded_outputs + k] = static_cast<T>(spec.weights[t][k * m + j]);
        }
        s.terms.push_back(m);
        s.weights.push_back(std::move(weights));
        s.bias.push_back(std::move(bias));
        s.low.push_back(static_cast<T>(spec.low[t]));
        s.high.push_back(static_cast<T>(spec.high[t]));
    }
    return s;
}

class PackedKernelMachine final : public PackedModel {
public:
    PackedKernelMachine(const KernelMachineSpec& spec, bool single)
        : single_(single ? std::make_shared<const KernelMachine<float>>(spec) : nullptr),
          double_(std::make_shared<const KernelMachine<double>>(spec, single_)),
          shape_{double_->n_features(), double_->n_terms(), double_->n_outputs(), single,
                 std::any_of(spec.shift.begin(), spec.shift.end(), [](double v) { return v != 0; })} {}

    const ModelShape& shape() const override { return shape_; }
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& stages, double slack) const override {
        if (shape_.single) return in_single(decision, padded_stages<float>(stages, shape_.n_outputs), slack);
        return in_double(decision, padded_stages<double>(stages, shape_.n_outputs), slack);
    }
    std::shared_ptr<const Engine> without_stages(bool single) const override {
        if (single) return in_single({}, {}, 0.0);
        return in_double({}, {}, 0.0);
    }

private:
    std::shared_ptr<const Engine> in_single(const Decision& decision, Stages<float> stages, double slack) const {
        return std::make_shared<const Cascade<KernelMachine<float>, KernelMachine<double>>>(shape_, single_, double_, decision,
                                                                                         std::move(stages), slack);
    }
    std::shared_ptr<const Engine> in_double(const Decision& decision, Stages<double> stages, double slack) const {
        return std::make_shared<const Cascade<KernelMachine<double>, KernelMachine<double>>>(shape_, double_, double_, decision,
                                                                                          std::move(stages), slack);
    }

    std::shared_ptr<const KernelMachine<float>> single_;
    std::shared_ptr<const KernelMachine<double>> double_;
    ModelShape shape_;
};

class PackedLinearModel final : public PackedModel {
public:
    explicit PackedLinearModel(const LinearModelSpec& spec)
        : model_(std::make_shared<const LinearModel>(spec)), shape_{model_->n_features(), model_->n_terms(), model_->n_outputs()} {}

    const ModelShape& shape() const override { return shape_; }
    // One output: the estimates of all stages are kept. Several: the values of the terms are.
    std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& spec, double slack) const override {
        Stages<double> stages = padded_stages<double>(spec, shape_.n_outputs);
        if (shape_.n_outputs > 1) return several(decision, std::move(stages), slack);
        auto walk = std::make_shared<const LinearWalk>(model_, spec.terms, spec.weights, spec.bias);
        return std::make_shared<const Cascade<LinearWalk, LinearModel>>(shape_, walk, model_, decision, std::move(stages), slack);
    }
    std::shared_ptr<const Engine> without_stages(bool) const override { return several({}, {}, 0.0); }

private:
    std::shared_ptr<const Engine> several(const Decision& decision, Stages<double> stages, double slack) const {
        return std::make_shared<const Cascade<LinearModel, LinearModel>>(shape_, model_, model_, decision, std::move(stages), slack);
    }

    std::shared_ptr<const LinearModel> model_;
    ModelShape shape_;
};

}  // namespace

std::shared_ptr<const PackedModel> pack(const KernelMachineSpec& spec, bool single) {
    return std::make_shared<const PackedKernelMachine>(spec, single);
}

std::shared_ptr<const PackedModel> pack(const LinearModelSpec& spec) { return std::make_shared<const PackedLinearModel>(spec); }

}  // namespace wald
