// The interface of the core to the bindings: a packed model, and an engine, which is a packed model with stages and a
// decision rule.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/cascade/decision.hpp"
#include "core/cascade/ledger.hpp"
#include "core/models/rows.hpp"

namespace wald {

struct ColumnModelSpec;
struct KernelMachineSpec;
struct LinearModelSpec;
class TreeEnsemble;
struct TreesSpec;

// How a call treats rows that are still active after its last stage: evaluate the full model, answer with the last
// estimate, or leave it pending.
enum class AtEnd : std::uint8_t { full, answer, pending };

struct ModelShape {
    std::int64_t n_features = 0, n_terms = 0;
    int n_outputs = 0;
    bool f32 = false;          // stages are evaluated in float32
    bool has_values = true;    // terms can be evaluated in float64
    bool dense_only = false;   // zeros, which CSR rows do not store, count: a scaling moves them, or they are a state
    bool keeps_sums = false;   // rows carry running sums of terms
    bool reads_cells = false;  // columns may have a CellReader
};

// Output arrays of a trace, of shape (rows, stages). Scores and confidence are float if the stages are evaluated in
// float32, else double.
struct Trace {
    void* scores = nullptr;         // one output; or of shape (rows, stages, n_scores), where scores are answers
    std::int32_t* codes = nullptr;  // several outputs
    void* confidence = nullptr;
    int n_scores = 1;
};

// The stages of a plan as plain arrays. Stage t estimates from the first terms[t] terms; weights[t] has the shape
// (n_outputs, terms[t]) and bias[t] the shape (n_outputs,). The factory pads and converts them.
struct StagesSpec {
    std::span<const std::int64_t> terms;
    std::vector<std::span<const double>> weights, bias;  // weights of terms, or of sums where there are any
    std::span<const double> low, high;
    // Cost of a row that leaves at each stage; the last entry is that of a row that leaves at none.
    std::span<const double> costs;
    // A tree ensemble may keep n_sums running sums for each output. Estimates are then linear combinations of these:
    // weights[t] has the shape (n_outputs, n_sums). Sum s adds the leaf values of the output's own trees, those of tree
    // j of the order times sums[s * terms.back() + j]. The first n_corrected = leaves.size() / n_sums leaves of the
    // order, which may be none, also add leaves[s * n_corrected + leaf].
    int n_sums = 0;
    std::span<const double> sums = {}, leaves = {};
    // With one output: spread_bias[t] plus the terms, or the sums, with the weights spread[t], and at least
    // least_variance, is the variance of the row's error relative to the usual variance. Its square root divides the
    // distance of an estimate to the decision's threshold, or its confidence. Empty: distances stay as they are. Only
    // tree ensembles have it where a decision is two-sided.
    std::vector<std::span<const double>> spread = {};
    std::vector<double> spread_bias = {};
    double least_variance = 1.0;
    // A pass reads rows once and takes them through consecutive stages; passes[p] is the number of stages up to the end
    // of pass p. Empty: each stage is a pass.
    std::span<const std::int64_t> passes = {};
    // With several outputs: a class is dropped if its estimate lies further than race[t] behind the best one at stage
    // t. Its trees are not evaluated any more, and it keeps this estimate. Empty: no class is dropped.
    std::span<const double> race = {};
};

// What one call asks of an engine: to answer these rows by at most n_stages early stages, and what to do with the
// others. `working` is the unit roundoff of the wrapped model's precision.
struct Call : RowSet {
    int n_stages = 0;
    AtEnd at_end = AtEnd::full;
    double working = 0.0;
};

class Engine {
public:
    Engine(const ModelShape& shape, const Decision& decision, const StagesSpec& stages, double tie_margin)
        : shape_(shape), decision_(decision), costs_(stages.costs.begin(), stages.costs.end()),
          n_stages_(static_cast<int>(stages.terms.size())), tie_margin_(tie_margin) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    const ModelShape& shape() const { return shape_; }
    const Decision& decision() const { return decision_; }
    int n_stages() const { return n_stages_; }
    // Cost of a row that leaves at each stage; the last entry is that of a row that leaves at none.
    const std::vector<double>& costs() const { return costs_; }
    // Largest difference between a full score and the wrapped model's own, besides rounding.
    double tie_margin() const { return tie_margin_; }

    // Answers rows; a single one on the calling thread.
    virtual void predict(const Call& call, const Ledger& ledger) const = 0;
    // Writes the estimates of every stage for every row; no row leaves.
    virtual void trace(const RowSet& set, const Trace& trace) const = 0;
    // The columns that the first stages read; nullopt means every column.
    virtual std::optional<std::span<const std::int32_t>> columns_read(int stages) const = 0;
    // The columns that full evaluation reads; nullopt means every column.
    virtual std::optional<std::span<const std::int32_t>> columns_read_in_full() const { return std::nullopt; }

private:
    ModelShape shape_;
    Decision decision_;
    std::vector<double> costs_;
    int n_stages_;
    double tie_margin_;
};

// A model that is packed once and shared by every engine built on it.
class PackedModel {
public:
    virtual ~PackedModel() = default;
    virtual const ModelShape& shape() const = 0;
    // Builds an engine with stages, and chooses the fast path that suits it.
    virtual std::shared_ptr<const Engine> with_stages(const Decision& decision, const StagesSpec& stages,
                                                      double tie_margin) const = 0;
    // Writes full scores (n, n_outputs), computed in float32 if `f32` is true, and a bound of their distance to the
    // wrapped model's own for each row (n,). The wrapped model computes with the unit roundoff `working`. The scores of
    // rows that are not finite are NaN.
    virtual void scores(const RowSet& set, double working, bool f32, double* scores, double* errors) const = 0;
    // Writes the values of all terms (n, n_terms), in their packed order; NaN for rows that are not finite.
    virtual void values(const RowSet& set, double* values) const = 0;
};

// A tree ensemble, with an order of the trees of early stages. All orders share the packed trees.
class PackedTrees : public PackedModel {
public:
    virtual std::shared_ptr<const PackedTrees> reordered(std::span<const std::int64_t> order) const = 0;
    virtual std::int64_t n_trees() const = 0;
    // What all orders share, and this order.
    virtual std::shared_ptr<const TreeEnsemble> ensemble() const = 0;
    virtual std::span<const std::int64_t> order() const = 0;
    // Writes the row's leaf in each tree of the order, (n, n_terms). Where leaves of a tree have the same value, one
    // may stand for all of them.
    virtual void leaves(const RowSet& set, std::int32_t* leaves) const = 0;
};

std::shared_ptr<const PackedModel> pack(const KernelMachineSpec& spec, bool f32);
std::shared_ptr<const PackedModel> pack(const LinearModelSpec& spec);
std::shared_ptr<const PackedModel> pack(const ColumnModelSpec& spec);
// `order` names the trees of early stages.
std::shared_ptr<const PackedTrees> pack(const TreesSpec& spec, std::span<const std::int64_t> order);

}  // namespace wald
