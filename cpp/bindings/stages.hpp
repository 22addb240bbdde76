// The stages of a plan, checked. The core checks the numbers of leaves.
#pragma once

#include "bindings/fields.hpp"
#include "bindings/models.hpp"
#include "core/cascade/race.hpp"

namespace wald::bindings {

// Reads the attributes of `wald.engine.Stages`. `spec` points into this object.
class StagesReader {
public:
    StagesReader(nb::handle described, const ModelShape& shape) : fields_(described), shape_(shape) {
        fields_.read("terms", spec.terms);
        readouts_ = fields_.parts("readouts");
    }
    StagesReader(const StagesReader&) = delete;
    StagesReader& operator=(const StagesReader&) = delete;

    StagesSpec spec;

    std::size_t size() const { return spec.terms.size(); }
    std::size_t n_readouts() const { return readouts_.size(); }
    void check_terms(std::size_t t, std::int64_t least, const char* message) const {
        require(spec.terms[t] >= (t == 0 ? least : spec.terms[t - 1]) && spec.terms[t] <= shape_.n_terms, message);
    }
    // None where the stages have no running sums.
    Fields sums() { return fields_.part("sums"); }
    // The running sums of tree ensembles.
    void read_sums(Fields f) {
        const auto weights = f.get<Matrix>("weights");
        const std::size_t n_sums = weights.shape(0), n_terms = static_cast<std::size_t>(spec.terms.back());
        require(n_sums > 0 && n_sums <= kMostSums && weights.shape(1) >= n_terms,
                "the weights of sums need a number for each term of the last stage, and there are too many or no sums");
        for (std::size_t s = 0; s < n_sums; ++s) {
            const double* const first = weights.data() + s * weights.shape(1);
            sums_.insert(sums_.end(), first, first + n_terms);
        }
        spec.n_sums = static_cast<int>(n_sums);
        spec.sums = sums_;
        check(spec.sums);
        if ((corrected_ = f.get<std::optional<Matrix>>("corrected"))) {
            require(corrected_->shape(0) == n_sums, "corrected leaves need a row for each sum");
            spec.leaves = span_of(corrected_);
            check(spec.leaves);
        }
        read_spread();
    }
    // The spread of each row's error, if readouts have one.
    void read_spread() {
        for (std::size_t t = 0; t < readouts_.size(); ++t) {
            const auto spread = readouts_[t].get<std::optional<Doubles>>("spread");
            if (!spread) continue;
            const auto width = static_cast<std::size_t>(spec.n_sums > 0 ? spec.n_sums : spec.terms[t]);
            require(spread->size() == width, "a spread needs a weight for each sum, or for each term of the stage");
            spec.spread.push_back(span_of(spread_.emplace_back(*spread)));
            spec.spread_bias.push_back(readouts_[t].get<double>("spread_bias"));
            check(spec.spread.back());
        }
        require(spec.spread.empty() || (shape_.n_outputs == 1 && spec.spread.size() == readouts_.size()),
                "a spread needs one output, and a spread at every stage");
        check(spec.spread_bias);
    }
    // Which stages are one pass, and when classes are dropped.
    void read_passes(const Decision& decision) {
        if (fields_.read_optional("passes", spec.passes)) {
            std::int64_t before = 0;
            for (const std::int64_t end : spec.passes) {
                require(end > before, "passes must ascend");
                before = end;
            }
            require(before == static_cast<std::int64_t>(size()), "the last pass must end with the last stage");
        }
        if (fields_.read_optional("race", spec.race)) {
            require(spec.race.size() == size() && decision.kind == DecisionKind::argmax && shape_.n_outputs >= 2 &&
                        shape_.n_outputs <= Race::kMaxClasses,
                    "a race needs a distance for each stage, the decision argmax, and 2 to 64 classes");
            for (const double distance : spec.race) require(distance >= 0, "race must not be negative, nor NaN");
        }
    }
    void read_least_variance() {
        fields_.read("least_variance", spec.least_variance);
        require(static_cast<float>(spec.least_variance) > 0 && fits_single(spec.least_variance),
                "least_variance must be positive in single precision");
    }
    // The weights and bias of every stage, after its sums.
    void read_weights(const char* message) {
        for (std::size_t t = 0; t < size(); ++t) {
            const Matrix& weights = weights_.emplace_back(readouts_[t].get<Matrix>("weights"));
            readouts_[t].read("bias", spec.bias.emplace_back());
            const auto m = static_cast<std::size_t>(spec.n_sums > 0 ? spec.n_sums : spec.terms[t]);
            require(spec.bias[t].size() == static_cast<std::size_t>(shape_.n_outputs) &&
                        weights.shape(0) == spec.bias[t].size() && weights.shape(1) == m,
                    message);
            spec.weights.push_back(span_of(weights));
            check(spec.weights[t]);
            check(spec.bias[t]);
        }
    }

private:
    static constexpr std::size_t kMostSums = 1024;

    void check(std::span<const double> values) const {
        for (const double v : values) {
            require(std::isfinite(v), "readouts must be finite");
            require(!shape_.f32 || fits_single(v), "a readout does not fit single precision");
        }
    }

    Fields fields_;
    const ModelShape& shape_;
    std::vector<Fields> readouts_;
    std::vector<Matrix> weights_;
    std::vector<double> sums_;
    std::vector<Doubles> spread_;
    std::optional<Matrix> corrected_;
};

}  // namespace wald::bindings
