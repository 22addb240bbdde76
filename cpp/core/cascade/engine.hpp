// What the bindings see of a model that is packed for evaluation, and of an engine: such a model with stages and a
// decision.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/cascade/decision.hpp"
#include "core/models/rows.hpp"

namespace wald {

struct KernelMachineSpec;
struct LinearModelSpec;

// What happens to rows that are still there after the last stage that a call allows.
enum class AtEnd : std::uint8_t { full, answer, pending };

struct ModelShape {
    std::int64_t n_features = 0, n_terms = 0;
    int n_outputs = 0;
    bool single = false;   // stages are evaluated in float32
    bool shifted = false;  // zeros that a CSR row does not store would have to be shifted, too
};

// Where a trace goes: arrays of (rows, stages). Scores and confidence are float where the model's stages are, else
// double.
struct Trace {
    void* scores = nullptr;         // one output
    std::int32_t* codes = nullptr;  // several outputs
    void* confidence = nullptr;
};

// The stages of a plan as plain arrays. Stage t reads terms[t] terms and weighs them by weights[t], of shape
// (n_outputs, terms[t]), and bias[t], of shape (n_outputs,). The factory pads and converts them.
struct StagesSpec {
    std::span<const std::int64_t> terms;
    std::vector<std::span<const double>> weights, bias;
    std::span<const double> low, high;
};

class Engine {
public:
    Engine(const ModelShape& shape, const Decision& decision, double slack)
        : shape_(shape), decision_(decision), slack_(slack) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    const ModelShape& shape() const { return shape_; }
    const Decision& decision() const { return decision_; }
    double slack() const {
        return slack_;
    }  // how far a full score may be from the wrapped model's own, beside rounding

    // Codes and stages of rows ids[0..n) (or 0..n) of `rows`, as the plan answers them.
    virtual void predict(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_stages, AtEnd at_end,
                         double working, int n_threads, std::int32_t* codes, std::int32_t* stages) const = 0;
    // One row through every stage without a second thread, or rows beside it.
    virtual void predict_one(const Rows& rows, std::int64_t r, int n_stages, AtEnd at_end, double working,
                             std::int32_t* code, std::int32_t* stage) const = 0;
    // What every stage sees of rows, of which none leaves.
    virtual void trace(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                       const Trace& trace) const = 0;
    // Full scores (n, n_outputs) and how far each may be from the wrapped model's own (n,); NaN for rows that are not
    // finite.
    virtual void full_scores(const Rows& rows, const std::int64_t* ids, std::int64_t n, double working, int n_threads,
                             double* scores, double* errors) const = 0;
    // The values of all terms (n, n_terms), in their packed order; NaN for rows that are not finite.
    virtual void values(const Rows& rows, const std::int64_t* ids, std::int64_t n, int n_threads,
                        double* values) const = 0;
    virtual int n_stages() const = 0;
    // The columns that the first n_stages stages read; none given: all of them.
    virtual std::optional<std::span<const std::int32_t>> columns_read(int n_stages) const = 0;

private:
    ModelShape shape_;
    Decision decision_;
    double slack_;
};

// A model, packed once and shared by every engine that is built on it.
class PackedModel {
public:
    virtual ~PackedModel() = default;
    virtual const ModelShape& shape() const = 0;
    // Puts stages on the model, and chooses the engine that evaluates them.
    virtual std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& stages,
                                                      double slack) const = 0;
    // An engine without stages, for full scores: in float32 where `single` says so.
    virtual std::shared_ptr<const Engine> without_stages(bool single) const = 0;
};

std::shared_ptr<const PackedModel> pack(const KernelMachineSpec& spec, bool single);
std::shared_ptr<const PackedModel> pack(const LinearModelSpec& spec);

}  // namespace wald
