// What the cascade asks of a source of terms, and of what it keeps about a row between stages.
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

// A model as terms: it reads rows and evaluates blocks of terms in the order of a plan.
template <class S>
concept TermSource =
    requires(const S& source, const Rows& rows, const std::int64_t* ids, std::int64_t n, int i, Arena& arena,
             typename S::Row& row, typename S::Scratch& scratch, const typename S::Block& block,
             const typename S::Row* const* batch, typename S::Scalar* const* slots, const typename S::Scalar* slot,
             double working, double* scores, typename S::Scalar* work) {
        // The sizes of the model.
        { source.n_features() } -> std::same_as<std::int64_t>;
        { source.n_terms() } -> std::same_as<std::int64_t>;
        { source.n_outputs() } -> std::same_as<int>;
        // The columns that the first n terms read; none given: all of them.
        { source.columns_read(n) } -> std::same_as<std::optional<std::span<const std::int32_t>>>;
        // A batch of n rows takes n * row_bytes() of scratch memory from the arena.
        { source.row_bytes() } -> std::same_as<std::size_t>;
        { source.scratch(arena, n) } -> std::same_as<typename S::Scratch>;
        // A block views up to kTogether rows, in any layout. `ids` must outlive it.
        { S::kTogether } -> std::convertible_to<int>;
        { source.block(rows, ids, i, scratch) } -> std::same_as<typename S::Block>;
        // Reads a row of a block, or a row by its number. False when the row is not finite.
        { source.prepare(block, i, row, scratch) } -> std::same_as<bool>;
        { source.prepare(rows, n, row, scratch) } -> std::same_as<bool>;
        // The width of a slot that holds the values of n terms, and how many terms are in it: whole panels, where a
        // source pads.
        { source.slot_width(n) } -> std::same_as<std::int64_t>;
        { source.evaluated(n) } -> std::same_as<std::int64_t>;
        // Writes terms [begin, end) of prepared rows to their slots.
        source.evaluate(batch, slots, i, n, n);
        // The full scores of a row, and a bound of their error. The slot holds full_width() values; 0: the row is read
        // again.
        { source.full_width() } -> std::same_as<std::int64_t>;
        { source.full_work() } -> std::same_as<std::int64_t>;
        { source.full(rows, n, row, slot, working, scores, work) } -> std::same_as<double>;
        // Prefetches what `full` reads of n rows; so many rows at a time.
        { source.full_prefetch_rows() } -> std::same_as<int>;
        source.prefetch_full(batch, i);
    };

// What is kept of a row between stages, in a slot of its own, and how the estimates of a stage come out of it.
template <class A>
concept Accumulator =
    TermSource<typename A::Source> &&
    requires(const A& accumulator, const typename A::Source::Row* const* batch,
             typename A::Source::Scalar* const* slots, typename A::Source::Scalar* slot, std::int64_t n, int i) {
        // The width of a slot that goes through stages of up to n terms, and how many terms it has seen then.
        { accumulator.slot_width(n) } -> std::same_as<std::int64_t>;
        { accumulator.evaluated(n) } -> std::same_as<std::int64_t>;
        // A slot before the first term.
        accumulator.start(slot);
        // Takes in terms [begin, end) of prepared rows.
        accumulator.evaluate(batch, slots, i, n, n);
        // One output: a function from a slot to the estimate of a stage.
        { accumulator.estimate(i)(slot) } -> std::same_as<typename A::Source::Scalar>;
        // Several outputs: the estimates of n rows at a stage.
        accumulator.estimates(slots, i, i, slots);
    };

// The readouts of stages. One output: weights are (panels, lanes); several: (terms, padded outputs).
template <class T>
struct Readouts {
    std::vector<std::int64_t> terms;
    std::vector<Aligned<T>> weights, bias;
};

// Keeps the values of all terms, and reads every stage out of them anew.
template <TermSource S>
class TermValues {
public:
    using Source = S;
    using T = typename S::Scalar;
    static constexpr int L = kLanes<T>;

    TermValues(std::shared_ptr<const S> source, Readouts<T> readouts)
        : source_(std::move(source)), readouts_(std::move(readouts)),
          padded_outputs_(static_cast<int>(round_up(source_->n_outputs(), L))) {}

    std::int64_t slot_width(std::int64_t terms) const { return source_->slot_width(terms); }
    std::int64_t evaluated(std::int64_t terms) const { return source_->evaluated(terms); }
    void start(T*) const {}
    void evaluate(const typename S::Row* const* rows, T* const* slots, int n, std::int64_t begin,
                  std::int64_t end) const {
        source_->evaluate(rows, slots, n, begin, end);
    }
    auto estimate(int stage) const {
        return [&k = kernels<T>(), weights = weights(stage), bias = bias(stage),
                panels = static_cast<int>(round_up(readouts_.terms[stage], L) / L)](const T* slot) -> T {
            return k.readout(slot, weights, panels) + bias;
        };
    }
    void estimates(const T* const* slots, int n, int stage, T* const* scores) const {
        kernels<T>().readouts(slots, n, weights(stage), readouts_.bias[stage].data(),
                              static_cast<int>(readouts_.terms[stage]), padded_outputs_, scores);
    }
    const T* weights(int stage) const { return readouts_.weights[stage].data(); }
    T bias(int stage) const { return readouts_.bias[stage][0]; }

private:
    std::shared_ptr<const S> source_;
    Readouts<T> readouts_;
    int padded_outputs_;
};

}  // namespace wald
