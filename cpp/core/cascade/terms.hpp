// The two concepts that Cascade is built on: TermSource (a model that evaluates terms of rows) and Accumulator (the
// state of a row between stages), and the plain accumulator that stores the values of all terms.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/models/rows.hpp"

namespace wald {

// A packed model. It reads rows and evaluates blocks of terms in the order of a plan.
template <class S>
concept TermSource =
    requires(const S& source, const Rows& rows, const std::int64_t* ids, std::int64_t n, int i, Arena& arena,
             typename S::Row& row, typename S::Scratch& scratch, const typename S::Block& block,
             const typename S::Row* const* batch, typename S::Scalar* const* slots, const typename S::Scalar* slot,
             double working, double* scores, typename S::Scalar* work) {
        // Number of columns of a row.
        { source.n_features() } -> std::same_as<std::int64_t>;
        // Number of terms of the model.
        { source.n_terms() } -> std::same_as<std::int64_t>;
        // Number of scores of a row.
        { source.n_outputs() } -> std::same_as<int>;
        // The columns that the first n terms read; nullopt means every column.
        { source.columns_read(n) } -> std::same_as<std::optional<std::span<const std::int32_t>>>;
        // Bytes of arena memory that a prepared row needs.
        { source.row_bytes() } -> std::same_as<std::size_t>;
        // Takes the memory of n rows from the arena.
        { source.scratch(arena, n) } -> std::same_as<typename S::Scratch>;
        // Largest number of rows in a block.
        { S::kBlockRows } -> std::convertible_to<int>;
        // Views the rows ids[0..i), whatever their layout. `ids` must outlive the block.
        { source.block(rows, ids, i, scratch) } -> std::same_as<typename S::Block>;
        // Prepares the i-th row of a block; false if the row is not finite.
        { source.prepare(block, i, row, scratch) } -> std::same_as<bool>;
        // Prepares row n of `rows`; false if the row is not finite.
        { source.prepare(rows, n, row, scratch) } -> std::same_as<bool>;
        // Length of a slot that stores the values of n terms, padded to whole panels.
        { source.slot_width(n) } -> std::same_as<std::int64_t>;
        // Number of terms in a slot after the first n were requested: more than n if whole panels are evaluated.
        { source.evaluated(n) } -> std::same_as<std::int64_t>;
        // Writes the values of terms [begin, end) of i prepared rows to their slots.
        source.evaluate(batch, slots, i, n, n);
        // Number of term values that `full` expects in the slot; 0 if it reads the row again instead.
        { source.full_width() } -> std::same_as<std::int64_t>;
        // Number of values that `full` needs as work space.
        { source.full_work() } -> std::same_as<std::int64_t>;
        // Writes the full scores of row n and returns a bound of their distance from the wrapped model's own, which
        // computes with the unit roundoff `working`.
        { source.full(rows, n, row, slot, working, scores, work) } -> std::same_as<double>;
        // Number of rows that `prefetch_full` should be called with.
        { source.full_prefetch_rows() } -> std::same_as<int>;
        // Prefetches the memory that `full` reads, for i rows.
        source.prefetch_full(batch, i);
    };

// The state of a row between stages. It lives in a slot of the row, and yields the estimates of every stage.
template <class A>
concept Accumulator =
    TermSource<typename A::Source> &&
    requires(const A& accumulator, const typename A::Source::Row* const* batch,
             typename A::Source::Scalar* const* slots, typename A::Source::Scalar* slot, std::int64_t n, int i) {
        // Length of a slot for stages of up to n terms.
        { accumulator.slot_width(n) } -> std::same_as<std::int64_t>;
        // Number of terms in a slot after a stage of n terms.
        { accumulator.evaluated(n) } -> std::same_as<std::int64_t>;
        // Initialises a slot before the first term.
        accumulator.start(slot);
        // Adds terms [begin, end) of i prepared rows to their slots.
        accumulator.evaluate(batch, slots, i, n, n);
        // One output: returns a function from a slot to the estimate of stage i.
        { accumulator.estimate(i)(slot) } -> std::same_as<typename A::Source::Scalar>;
        // One output: whether rows have variances of their own, and a function from a slot to that of stage i.
        { accumulator.has_variances() } -> std::same_as<bool>;
        { accumulator.variance(i)(slot) } -> std::same_as<typename A::Source::Scalar>;
        // Several outputs: writes the estimates of i rows at a stage.
        accumulator.estimates(slots, i, i, slots);
    };

// The readouts of all stages: estimate = bias + weights . terms. Weights have the shape (panels, lanes) for one output,
// and (terms, padded outputs) for several.
template <class T>
struct Readouts {
    std::vector<std::int64_t> terms;
    std::vector<Aligned<T>> weights, bias;
};

// An accumulator that stores the values of all terms. Every readout is computed from them anew.
template <TermSource S>
class TermValues {
public:
    using Source = S;
    using T = typename S::Scalar;
    static constexpr int L = kLanes<T>;

    // `variances` may have no stages.
    TermValues(std::shared_ptr<const S> source, Readouts<T> readouts, Readouts<T> variances)
        : source_(std::move(source)), readouts_(std::move(readouts)), variances_(std::move(variances)),
          padded_outputs_(static_cast<int>(round_up(source_->n_outputs(), L))) {}

    std::int64_t slot_width(std::int64_t terms) const { return source_->slot_width(terms); }
    std::int64_t evaluated(std::int64_t terms) const { return source_->evaluated(terms); }
    void start(T*) const {}
    void evaluate(const typename S::Row* const* rows, T* const* slots, int n, std::int64_t begin,
                  std::int64_t end) const {
        source_->evaluate(rows, slots, n, begin, end);
    }
    auto estimate(int stage) const { return one_output(readouts_, stage); }
    bool has_variances() const { return !variances_.terms.empty(); }
    auto variance(int stage) const { return one_output(variances_, stage); }
    void estimates(const T* const* slots, int n, int stage, T* const* scores) const {
        kernels<T>().readouts(slots, n, weights(stage), readouts_.bias[stage].data(),
                              static_cast<int>(readouts_.terms[stage]), padded_outputs_, scores);
    }
    const T* weights(int stage) const { return readouts_.weights[stage].data(); }
    T bias(int stage) const { return readouts_.bias[stage][0]; }

private:
    static auto one_output(const Readouts<T>& readouts, int stage) {
        return [&k = kernels<T>(), weights = readouts.weights[stage].data(), bias = readouts.bias[stage][0],
                panels = static_cast<int>(round_up(readouts.terms[stage], L) / L)](const T* slot) -> T {
            return k.readout(slot, weights, panels) + bias;
        };
    }

    std::shared_ptr<const S> source_;
    Readouts<T> readouts_, variances_;
    int padded_outputs_;
};

}  // namespace wald
