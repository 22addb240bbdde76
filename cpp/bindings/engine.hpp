// Engines: models with stages and thresholds. The arguments are checked here.
#pragma once

#include "bindings/models.hpp"
#include "core/cascade/race.hpp"

namespace wald::bindings {

inline Decision make_decision(const std::string& kind, int n_classes, double threshold, bool tie_positive,
                              bool break_ties, double saturation) {
    Decision d;
    require(kind == "sign" || kind == "argmax" || kind == "votes", "decision must be sign, argmax or votes");
    d.kind = kind == "sign" ? DecisionKind::sign : kind == "argmax" ? DecisionKind::argmax : DecisionKind::votes;
    require(n_classes >= (kind == "votes" ? 3 : 2) && n_classes <= (kind == "sign" ? 2 : kMaxClasses),
            "sign has 2 classes, argmax 2 to 10000, votes 3 to 10000");
    d.n_classes = n_classes;
    d.threshold = threshold;
    d.tie_positive = tie_positive;
    d.break_ties = break_ties;
    require(saturation > 0, "saturation must be positive");
    d.saturation = saturation;
    return d;
}

// What tree ensembles keep from stage to stage; None for other models.
struct TreeSettings {
    std::optional<Matrix> sums, leaves, spread;
    std::optional<Doubles> spread_bias;
    double least_variance;
    std::optional<Longs> passes;
    std::optional<Doubles> race;

    bool any() const { return sums || leaves || spread || spread_bias || passes || race; }
};

class BoundEngine {
public:
    BoundEngine(const Model& model, const std::string& decision, int n_classes, double threshold, bool tie_positive,
                bool break_ties, double saturation, double tie_margin, Longs terms, const std::vector<Matrix>& weights,
                const std::vector<Doubles>& bias, Doubles low, Doubles high, const TreeSettings& trees) {
        const ModelShape& shape = model.packed->shape();
        const Decision d = make_decision(decision, n_classes, threshold, tie_positive, break_ties, saturation);
        require(d.n_outputs() == shape.n_outputs, "the decision and the model differ in their number of outputs");
        require(tie_margin >= 0, "tie_margin must not be negative");
        const std::size_t n = terms.size();
        require(weights.size() == n && bias.size() == n && low.size() == n && high.size() == n,
                "every stage needs a readout and thresholds");
        StagesSpec stages{span_of(terms), {}, {}, span_of(low), span_of(high)};
        for (std::size_t t = 0; t < n; ++t)
            require(terms.data()[t] >= (t == 0 ? 0 : terms.data()[t - 1]) && terms.data()[t] <= shape.n_terms,
                    "stages must not fall, nor pass the last term");
        require(!trees.any() || shape.keeps_sums, "only tree ensembles keep running sums");
        if (trees.any()) read_trees(trees, shape, d, stages);
        for (std::size_t t = 0; t < n; ++t) {
            const auto m = static_cast<std::size_t>(stages.n_sums > 0 ? stages.n_sums : terms.data()[t]);
            require(bias[t].size() == static_cast<std::size_t>(shape.n_outputs) &&
                        weights[t].shape(0) == bias[t].size() && weights[t].shape(1) == m,
                    "a readout needs one weight per output and term, or per output and sum");
            require(!std::isnan(low.data()[t]) && !std::isnan(high.data()[t]), "thresholds must not be NaN");
            check_readout(shape, weights[t].data(), weights[t].size());
            check_readout(shape, bias[t].data(), bias[t].size());
            stages.weights.emplace_back(weights[t].data(), weights[t].size());
            stages.bias.emplace_back(bias[t].data(), bias[t].size());
        }
        try {
            engine_ = model.packed->with_stages(d, stages, tie_margin);
        } catch (const std::invalid_argument& error) {
            throw nb::value_error(error.what());
        }
    }

    nb::tuple predict(BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads,
                      bool return_skipped) const {
        check_rows(b, engine_->shape());
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        check_columns(b, n_stages, end == AtEnd::full);
        const std::size_t n = static_cast<std::size_t>(b.size());
        auto codes = new_array<std::int32_t>({n});
        auto stages = new_array<std::int32_t>({n});
        auto skipped = new_array<std::int32_t>({return_skipped ? n : 0});
        {
            const Unlocked unlocked;
            engine_->predict(b.view(), b.id_data(), b.size(), n_stages, end, working, n_threads,
                             {codes.data(), stages.data(), return_skipped ? skipped.data() : nullptr});
        }
        return return_skipped ? nb::make_tuple(codes, stages, skipped) : nb::make_tuple(codes, stages);
    }

    nb::tuple predict_one(const Any& x, int n_stages, const std::string& at_end, double working) const {
        require(x.ndim() == 1, "predict_one takes a 1-D array");
        Rows rows;
        rows.dtype = dtype_of(x.dtype());
        rows.n_rows = 1;
        rows.n_columns = static_cast<std::int64_t>(x.shape(0));
        if (rows.n_columns != engine_->shape().n_features)
            refuse("the row has " + std::to_string(rows.n_columns) + " features, the model has " +
                   std::to_string(engine_->shape().n_features));
        check_aligned(x);
        rows.data = static_cast<const std::byte*>(x.data());
        rows.column_stride = byte_stride(x, 0);
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        std::int32_t code = 0, stage = 0, skipped = 0;
        engine_->predict_one(rows, 0, n_stages, end, working, {&code, &stage, &skipped});
        return nb::make_tuple(code, stage, skipped);
    }

    nb::object trace(BoundRows& b, int n_threads) const {
        check_rows(b, engine_->shape());
        check_columns(b, n_stages(), false);
        return single() ? trace_in<float>(b, n_threads) : trace_in<double>(b, n_threads);
    }

    // Codes of the wrapped model's own full scores, each known to within `error`; kHandOver where another label is
    // possible.
    template <class T>
    nb::object decide(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores,
                      double error) const {
        const Decision& decision = engine_->decision();
        require(scores.shape(1) == static_cast<std::size_t>(decision.n_outputs()), "scores need one column per output");
        require(error >= 0, "error must not be negative");
        auto codes = new_array<std::int32_t>({scores.shape(0)});
        decision.decide_all(scores.data(), static_cast<std::int64_t>(scores.shape(0)), error + engine_->tie_margin(),
                            codes.data());
        return nb::cast(codes);
    }

    int n_stages() const { return engine_->n_stages(); }
    bool skips() const { return engine_->skips(); }
    bool single() const { return engine_->shape().f32; }

    // The columns that the first n_stages stages read, or full evaluation where there is no number; None: all.
    nb::object columns_read(std::optional<int> n_stages) const {
        if (n_stages) check_stages(*n_stages, AtEnd::pending);
        const auto read = n_stages ? engine_->columns_read(*n_stages) : engine_->columns_read_in_full();
        return read ? nb::cast(std::vector<std::int32_t>(read->begin(), read->end())) : nb::none();
    }

private:
    template <class T>
    nb::object trace_in(BoundRows& b, int n_threads) const {
        const std::size_t n = static_cast<std::size_t>(b.size()), stages = static_cast<std::size_t>(n_stages());
        const auto run = [&](const Trace& trace) {
            const Unlocked unlocked;
            engine_->trace(b.view(), b.id_data(), b.size(), n_threads, trace);
        };
        if (engine_->shape().n_outputs == 1) {
            auto scores = new_array<T>({n, stages});
            run({scores.data(), nullptr, nullptr});
            return nb::cast(scores);
        }
        auto codes = new_array<std::int32_t>({n, stages});
        auto confidence = new_array<T>({n, stages});
        run({nullptr, codes.data(), confidence.data()});
        return nb::make_tuple(codes, confidence);
    }

    static AtEnd end_of(const std::string& name) {
        if (name == "full") return AtEnd::full;
        if (name == "answer") return AtEnd::answer;
        if (name == "pending") return AtEnd::pending;
        refuse("at_end must be full, answer or pending");
    }
    void check_stages(int n, AtEnd end) const {
        require(n >= (end == AtEnd::answer ? 1 : 0) && n <= n_stages(), "n_stages must lie within the plan's stages");
    }
    static constexpr std::size_t kMostSums = 1024;
    // Checks and converts what tree ensembles keep; numbers of leaves are checked by the core.
    static void read_trees(const TreeSettings& trees, const ModelShape& shape, const Decision& decision,
                           StagesSpec& stages) {
        const std::size_t n = stages.terms.size();
        if (trees.sums) {
            require(n > 0 && trees.sums->shape(0) > 0 && trees.sums->shape(0) <= kMostSums &&
                        trees.sums->shape(1) == static_cast<std::size_t>(stages.terms[n - 1]),
                    "sums need a weight for each term of the last stage, and there are too many or none of them");
            check_readout(shape, trees.sums->data(), trees.sums->size());
            stages.n_sums = static_cast<int>(trees.sums->shape(0));
            stages.sums = {trees.sums->data(), trees.sums->size()};
        }
        if (trees.leaves) {
            require(trees.sums && trees.leaves->shape(0) == trees.sums->shape(0), "leaves need a row for each sum");
            check_readout(shape, trees.leaves->data(), trees.leaves->size());
            stages.leaves = {trees.leaves->data(), trees.leaves->size()};
        }
        if (trees.spread || trees.spread_bias) {
            require(trees.spread && trees.spread_bias && shape.n_outputs == 1 && stages.n_sums > 0 &&
                        trees.spread->shape(0) == n && trees.spread_bias->size() == n &&
                        trees.spread->shape(1) == static_cast<std::size_t>(stages.n_sums),
                    "a spread needs one output, running sums, and a weight for each of them at each stage");
            require(static_cast<float>(trees.least_variance) > 0 && fits_single(trees.least_variance),
                    "least_variance must be positive in single precision");
            check_readout(shape, trees.spread->data(), trees.spread->size());
            check_readout(shape, trees.spread_bias->data(), n);
            stages.spread = {trees.spread->data(), trees.spread->size()};
            stages.spread_bias = span_of(trees.spread_bias);
            stages.least_variance = trees.least_variance;
        }
        if (trees.passes) {
            stages.passes = span_of(trees.passes);
            std::int64_t before = 0;
            for (const std::int64_t end : stages.passes) {
                require(end > before, "passes must ascend");
                before = end;
            }
            require(before == static_cast<std::int64_t>(n), "the last pass must end with the last stage");
        }
        if (trees.race) {
            stages.race = span_of(trees.race);
            require(stages.race.size() == n && decision.kind == DecisionKind::argmax && shape.n_outputs >= 2 &&
                        shape.n_outputs <= Race::kMaxClasses,
                    "a race needs a distance for each stage, the decision argmax, and 2 to 64 classes");
            for (const double distance : stages.race) require(distance >= 0, "race must not be negative, nor NaN");
        }
    }
    static void check_readout(const ModelShape& shape, const double* values, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            require(std::isfinite(values[i]), "readouts must be finite");
            require(!shape.f32 || fits_single(values[i]), "a readout does not fit single precision");
        }
    }
    // Refuses frames without a column that the call reads.
    void check_columns(const BoundRows& b, int n_stages, bool full) const {
        if (b.rows.layout != Rows::Layout::columns) return;
        const auto check = [&](const std::optional<std::span<const std::int32_t>>& read) {
            const auto present = [&](const Column& c) { return c.data != nullptr || b.rows.n_rows == 0; };
            if (!read) {
                for (const Column& c : b.columns)
                    require(present(c), "the full model, and a kernel machine at any stage, need every column");
                return;
            }
            for (std::int32_t c : *read) require(present(b.columns[c]), "a column that the model reads is missing");
        };
        check(engine_->columns_read(n_stages));
        if (full) check(engine_->columns_read_in_full());
    }

    std::shared_ptr<const Engine> engine_;
};

inline void bind_engine(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundEngine>(
        m, "Engine", R"doc(A packed model with stages, readouts and thresholds. Never changes; threads may share it.

Parameters
----------
model : Model
decision : {"sign", "argmax", "votes"}
    How full scores become labels.
n_classes : int
threshold : float
    For "sign": scores above it are the second label.
tie_positive : bool
    For "sign": scores at the threshold are the second label, too.
break_ties : bool
    For "votes": rows with tied votes are handed over.
saturation : float, default=inf
    For "argmax": rows with a larger score are handed over.
tie_margin : float
    Widens the error bound within which rows are handed over.
terms : int64 ndarray of shape (n_stages,)
    How many terms a stage has seen; must not fall.
weights : sequence of float64 ndarray of shape (n_outputs, terms) or (n_outputs, n_sums)
    The readout of every stage: weights of terms, or of `sums`.
bias : sequence of float64 ndarray of shape (n_outputs,)
low, high : float64 ndarray of shape (n_stages,)
    One output: a row leaves when its score is below `low` or above `high`. Several: when its confidence
    is above `high`.
sums : float64 ndarray of shape (n_sums, terms of the last stage), optional
    For tree ensembles: weights of the running sums that a row keeps for each output, of the terms that belong to it.
leaves : float64 ndarray of shape (n_sums, corrected leaves), optional
    What the leaves of the first terms, one term after the other, add to the running sums besides their values times
    the weights of their trees.
spread : float64 ndarray of shape (n_stages, n_sums), optional
    For tree ensembles with one output: weights of the sums in the variance of a stage's error, relative to the usual
    one. The distance of an estimate from `threshold` is divided by its square root.
spread_bias : float64 ndarray of shape (n_stages,), optional
least_variance : float, default=1.0
    The variance is at least this.
passes : int64 ndarray, optional
    For tree ensembles: numbers of stages at the ends of passes, each of which reads a row once; by default, each
    stage is one.
race : float64 ndarray of shape (n_stages,), optional
    For tree ensembles with several classes: a class whose estimate lies further behind the best one is not
    evaluated any more.)doc")
        .def(
            "__init__",
            [](BoundEngine* self, const Model& model, const std::string& decision, int n_classes, double threshold,
               bool tie_positive, bool break_ties, double saturation, double tie_margin, Longs terms,
               const std::vector<Matrix>& weights, const std::vector<Doubles>& bias, Doubles low, Doubles high,
               std::optional<Matrix> sums, std::optional<Matrix> leaves, std::optional<Matrix> spread,
               std::optional<Doubles> spread_bias, double least_variance, std::optional<Longs> passes,
               std::optional<Doubles> race) {
                const TreeSettings trees{sums, leaves, spread, spread_bias, least_variance, passes, race};
                new (self) BoundEngine(model, decision, n_classes, threshold, tie_positive, break_ties, saturation,
                                       tie_margin, terms, weights, bias, low, high, trees);
            },
            "model"_a, nb::kw_only(), "decision"_a, "n_classes"_a, "threshold"_a, "tie_positive"_a, "break_ties"_a,
            "saturation"_a = HUGE_VAL, "tie_margin"_a, "terms"_a, "weights"_a, "bias"_a, "low"_a, "high"_a,
            "sums"_a = nb::none(), "leaves"_a = nb::none(), "spread"_a = nb::none(), "spread_bias"_a = nb::none(),
            "least_variance"_a = 1.0, "passes"_a = nb::none(), "race"_a = nb::none())
        .def(
            "columns_read", &BoundEngine::columns_read, "n_stages"_a.none(),
            nb::sig("def columns_read(self, n_stages: int | None) -> list[int] | None"),
            R"doc(Return the columns that the first stages read, or full evaluation for None; None stands for all columns.)doc")
        .def("predict", &BoundEngine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             "return_skipped"_a = false,
             nb::sig("def predict(self, rows: Rows, n_stages: int, at_end: typing.Literal['full', 'answer', "
                     "'pending'], working: float, n_threads: int, return_skipped: bool = False) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], ...]"),
             R"doc(Compute codes and stages.

Parameters
----------
rows : Rows
n_stages : int
    Early stages that may be used.
at_end : {"full", "answer", "pending"}
    The answer to rows that no stage decides: the full model's, the last stage's own, or
    the code `PENDING`.
working : float
    Unit roundoff of the arithmetic in which the wrapped model computes.
n_threads : int
return_skipped : bool, default=False

Returns
-------
codes : int32 ndarray of shape (n_rows,)
    Indices of labels, or `HAND_OVER`, `NOT_FINITE`, `PENDING`.
stages : int32 ndarray of shape (n_rows,)
    Where a row left; the number of all early stages when it did not.
skipped : int32 ndarray of shape (n_rows,)
    With `return_skipped`: the number of terms of these stages that the row did without; 0 unless `skips`.)doc")
        .def("predict_one", &BoundEngine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a,
             nb::sig("def predict_one(self, x: numpy.typing.NDArray[typing.Any], n_stages: int, at_end: "
                     "typing.Literal['full', 'answer', 'pending'], working: float) -> tuple[int, int, int]"),
             "Compute code, stage and number of skipped terms of one row, a 1-D array; see `predict`.")
        .def("trace", &BoundEngine::trace, "rows"_a, "n_threads"_a,
             nb::sig("def trace(self, rows: Rows, n_threads: int) -> typing.Any"),
             R"doc(Evaluate every row at every early stage; no row leaves.

Returns
-------
ndarray of shape (n_rows, n_stages), or a tuple of two
    One output: scores. Several: codes (int32) and confidence. Scores and confidence are float32 if
    `single`, otherwise float64.)doc")
        .def("decide", &BoundEngine::decide<float>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float32], error: float) -> "
                     "numpy.typing.NDArray[numpy.int32]"),
             R"doc(Turn the wrapped model's own full scores into codes.

Parameters
----------
scores : float32 or float64 ndarray of shape (n_rows, n_outputs)
error : float
    How far each score may be off.

Returns
-------
int32 ndarray of shape (n_rows,)
    `HAND_OVER` where scores within the error, or within the engine's tie margin, give another label.)doc")
        .def("decide", &BoundEngine::decide<double>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float64], error: float) -> "
                     "numpy.typing.NDArray[numpy.int32]"),
             R"doc(Turn the wrapped model's own full scores into codes.

Parameters
----------
scores : float32 or float64 ndarray of shape (n_rows, n_outputs)
error : float
    How far each score may be off.

Returns
-------
int32 ndarray of shape (n_rows,)
    `HAND_OVER` where scores within the error, or within the engine's tie margin, give another label.)doc")
        .def_prop_ro("n_stages", &BoundEngine::n_stages, "Number of early stages.")
        .def_prop_ro("skips", &BoundEngine::skips, "Whether rows may do without terms of the stages that they take.")
        .def_prop_ro("single", &BoundEngine::single, "Whether early stages compute in float32.");
}

}  // namespace wald::bindings
