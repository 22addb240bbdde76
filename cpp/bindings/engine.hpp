// Engines: models with stages and thresholds. The arguments are checked here.
#pragma once

#include "bindings/late_rows.hpp"
#include "bindings/models.hpp"
#include "core/cascade/race.hpp"

namespace wald::bindings {

inline Decision make_decision(Fields f) {
    Decision d;
    d.kind = f.one_of<DecisionKind>("kind", {"sign", "argmax", "votes", "values", "bands"});
    if (d.kind == DecisionKind::values) {
        f.read("n_outputs", d.n_classes);
        require(d.n_classes >= 1 && d.n_classes <= kMaxClasses, "n_outputs must be 1 to 10000");
        d.margin =
            f.one_of<MarginKind>("margin", {"bands", "none", "constant", "relative", "exp", "logistic", "softmax"});
        require(d.margin != MarginKind::bands, "values have no thresholds");
        if (d.margin == MarginKind::none) return d;
        if (d.n_classes == 1) {
            f.read("tolerance", d.tolerance), f.read("slope", d.slope), f.read("offset", d.offset);
            d.tolerances = {d.tolerance};
            require(d.margin != MarginKind::softmax, "softmax is for several values");
            require(d.slope > 0 && d.slope < HUGE_VAL && std::isfinite(d.offset),
                    "slope must be positive, and slope and offset finite");
        } else {
            d.tolerances = f.get<std::vector<double>>("tolerances");
            require(d.tolerances.size() == static_cast<std::size_t>(d.n_classes),
                    "several values need a tolerance for each");
        }
        for (const double tolerance : d.tolerances)
            require(tolerance > 0 && tolerance < HUGE_VAL, "tolerances must be positive and finite");
        return d;
    }
    if (d.kind == DecisionKind::bands) {
        d.thresholds = f.get<std::vector<double>>("thresholds");
        d.inclusive = f.get<std::vector<bool>>("inclusive");
        const std::size_t n = d.thresholds.size();
        require(n >= 1 && n < kMaxClasses && d.inclusive.size() == n,
                "there must be 1 to 9999 thresholds, each inclusive or not");
        d.n_classes = static_cast<int>(n) + 1;
        for (std::size_t j = 0; j < n; ++j)
            require(j == 0 ? !std::isnan(d.thresholds[j]) : d.thresholds[j] >= d.thresholds[j - 1],
                    "thresholds must not fall, nor be NaN");
        return d;
    }
    f.read("n_classes", d.n_classes), f.read("threshold", d.threshold), f.read("saturation", d.saturation);
    f.read("tie_positive", d.tie_positive), f.read("break_ties", d.break_ties);
    const bool sign = d.kind == DecisionKind::sign;
    if (sign && d.threshold == HUGE_VAL && d.n_classes == 1) d.n_classes = 2;  // every row has the same label
    require(d.n_classes >= (d.kind == DecisionKind::votes ? 3 : 2) && d.n_classes <= (sign ? 2 : kMaxClasses),
            "n_classes must be 2 for sign, 2 to 10000 for argmax, 3 to 10000 for votes");
    require(d.saturation > 0, "saturation must be positive");
    return d;
}

class BoundEngine {
    friend class BoundRace;  // reads stages in the same way

public:
    BoundEngine(const Model& model, nb::handle decided, nb::handle described, const Doubles& low, const Doubles& high,
                const std::optional<Doubles>& costs) {
        const ModelShape& shape = model.packed->shape();
        Fields owner(decided), f(described);
        const Decision d = make_decision(owner.part("decision"));
        const auto tie_margin = owner.get<double>("tie_margin");
        require(d.n_outputs() == shape.n_outputs, "the decision and the model differ in their number of outputs");
        require(tie_margin >= 0, "tie_margin must not be negative");
        StagesSpec stages;
        f.read("terms", stages.terms);
        stages.low = span_of(low);
        stages.high = span_of(high);
        std::vector<Fields> readouts = f.parts("readouts");
        const std::size_t n = stages.terms.size();
        require(readouts.size() == n && low.size() == n && high.size() == n,
                "every stage needs an entry of readouts, low and high");
        const std::vector<double> nothing(n + 1);
        stages.costs = costs ? span_of(*costs) : std::span<const double>(nothing);
        require(stages.costs.size() == n + 1, "every stage, and full evaluation, needs a cost");
        for (const double cost : stages.costs) require(std::isfinite(cost), "costs must be finite");
        for (std::size_t t = 0; t < n; ++t) {
            require(stages.terms[t] >= (t == 0 ? 0 : stages.terms[t - 1]) && stages.terms[t] <= shape.n_terms,
                    "terms must not fall, nor pass the last term");
            require(!std::isnan(low.data()[t]) && !std::isnan(high.data()[t]), "low and high must not be NaN");
        }
        Sums sums;  // `stages` points into it until the engine is built
        if (Fields of_sums = f.part("sums"); n > 0 && !of_sums.none()) {
            require(shape.keeps_sums, "only tree ensembles keep running sums");
            read_sums(of_sums, readouts, shape, stages, sums);
            read_passes(f, shape, d, stages);
        } else {
            read_spread(readouts, shape, stages, sums);
            require(stages.spread.empty() || (!shape.keeps_sums && !d.two_sided()),
                    "a spread without sums needs a decision by the margin of one score, and no tree ensemble");
        }
        f.read("least_variance", stages.least_variance);
        require(static_cast<float>(stages.least_variance) > 0 && fits_single(stages.least_variance),
                "least_variance must be positive in single precision");
        std::vector<Matrix> weights;
        for (std::size_t t = 0; t < n; ++t) {
            weights.push_back(readouts[t].get<Matrix>("weights"));
            readouts[t].read("bias", stages.bias.emplace_back());
            const auto m = static_cast<std::size_t>(stages.n_sums > 0 ? stages.n_sums : stages.terms[t]);
            require(stages.bias[t].size() == static_cast<std::size_t>(shape.n_outputs) &&
                        weights[t].shape(0) == stages.bias[t].size() && weights[t].shape(1) == m,
                    "weights need one number per output and term, or per output and sum; bias, one per output");
            stages.weights.push_back(span_of(weights[t]));
            check_readout(shape, stages.weights[t]);
            check_readout(shape, stages.bias[t]);
        }
        try {
            engine_ = model.packed->with_stages(d, stages, tie_margin);
        } catch (const std::invalid_argument& error) {
            throw nb::value_error(error.what());
        }
    }

    nb::tuple predict(BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads) const {
        return answered(b, n_stages, at_end, working, n_threads, [](const auto& answer) {
            const Unlocked unlocked;
            answer();
        });
    }
    nb::tuple predict_late(const LateRows& late, int n_stages, const std::string& at_end, double working,
                           int n_threads) const {
        require(engine_->shape().reads_cells, "only sums over columns are evaluated on rows that are read late");
        const bool locked = late.needs_lock();
        try {
            return answered(late.rows(), n_stages, at_end, working, locked ? 1 : n_threads, [&](const auto& answer) {
                std::optional<Unlocked> unlocked;
                if (locked) late.begin();
                else unlocked.emplace();
                answer();
            });
        } catch (const std::domain_error& error) {
            throw nb::value_error(error.what());
        }
    }

    nb::tuple predict_one(const Any& x, int n_stages, const std::string& at_end, double working) const {
        require(x.ndim() == 1, "predict_one takes a 1-D array");
        const auto n = static_cast<std::int64_t>(x.shape(0));
        if (n != engine_->shape().n_features)
            refuse("the row has " + std::to_string(n) + " features, the model has " +
                   std::to_string(engine_->shape().n_features));
        check_aligned(x);
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        return answer_one(static_cast<const std::byte*>(x.data()), byte_stride(x, 0), dtype_of(x.dtype()), n_stages,
                          end, working)
            .tuple();
    }

    // How one row was answered.
    struct Found {
        std::int32_t code = 0, stage = 0;
        Status status = Status::pending;
        double paid = 0.0;
        std::optional<double> score;  // where scores are answers

        nb::tuple tuple() const {
            const nb::object answer = score ? nb::cast(*score) : nb::cast(code);
            return nb::make_tuple(answer, stage, paid, static_cast<int>(status));
        }
    };
    // Answers one row, whose values lie `stride` bytes apart. The caller has checked all arguments.
    Found answer_one(const std::byte* data, std::int64_t stride, Dtype dtype, int n_stages, AtEnd end,
                     double working) const {
        Rows rows;
        rows.dtype = dtype;
        rows.n_rows = 1;
        rows.n_columns = engine_->shape().n_features;
        rows.data = data;
        rows.column_stride = stride;
        Found found;
        require(engine_->decision().n_scores() <= 1, "single rows of several values are answered by predict");
        double* const score = engine_->decision().scored() ? &found.score.emplace() : nullptr;
        engine_->predict({{rows, nullptr, 1}, n_stages, end, working},
                         {&found.code, &found.stage, &found.status, &found.paid, engine_->costs().data(), score});
        return found;
    }

    // Codes of all rows, or None if one of them is left without a label. The caller has checked all arguments.
    nb::object codes(const Rows& rows, int n_threads, int n_stages, AtEnd end, double working) const {
        if (engine_->decision().scored()) return nb::none();
        const auto n = static_cast<std::size_t>(rows.n_rows);
        auto codes = new_array<std::int32_t>({n});
        const auto stages = std::make_unique_for_overwrite<std::int32_t[]>(n);
        const auto status = std::make_unique_for_overwrite<Status[]>(n);
        bool settled = false;
        {
            const Unlocked unlocked;
            engine_->predict(
                {{rows, nullptr, rows.n_rows, threads_for(rows.n_rows, n_threads)}, n_stages, end, working},
                {codes.data(), stages.get(), status.get()});
            settled = std::all_of(status.get(), status.get() + n, [](Status s) { return s < Status::handed_over; });
        }
        return settled ? nb::cast(codes) : nb::none();
    }

    nb::object trace(BoundRows& b, int n_threads) const {
        check_rows(b, engine_->shape());
        check_columns(b, n_stages(), false);
        return single() ? trace_in<float>(b, n_threads) : trace_in<double>(b, n_threads);
    }

    // Turns the wrapped model's own full scores, each of which may be off by `error`, into codes and status.
    template <class T>
    nb::tuple decide(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores,
                     double error) const {
        const Decision& decision = engine_->decision();
        require(scores.shape(1) == static_cast<std::size_t>(decision.n_outputs()), "scores need one column per output");
        require(error >= 0, "error must not be negative");
        auto codes = new_array<std::int32_t>({scores.shape(0)});
        auto status = new_array<std::uint8_t>({scores.shape(0)});
        std::vector<double> row(scores.shape(1)), work(static_cast<std::size_t>(decision.n_classes));
        for (std::size_t i = 0; i < scores.shape(0); ++i) {
            std::copy_n(scores.data() + i * row.size(), row.size(), row.begin());
            const Answer answer = decision.decide(row.data(), error + engine_->tie_margin(), work.data());
            codes.data()[i] = answer.code;
            status.data()[i] = static_cast<std::uint8_t>(answer.status);
        }
        return nb::make_tuple(codes, status);
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
    int n_stages() const { return engine_->n_stages(); }
    std::int64_t n_features() const { return engine_->shape().n_features; }
    bool single() const { return engine_->shape().f32; }

    // Returns the columns that the first n_stages stages read; without a number, those that full evaluation reads. None
    // stands for all columns.
    nb::object columns_read(std::optional<int> n_stages) const {
        if (n_stages) check_stages(*n_stages, AtEnd::pending);
        const auto read = n_stages ? engine_->columns_read(*n_stages) : engine_->columns_read_in_full();
        return read ? nb::cast(std::vector<std::int32_t>(read->begin(), read->end())) : nb::none();
    }

private:
    // Checks the arguments, and calls run(answer), which calls answer().
    template <class Run>
    nb::tuple answered(const BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads,
                       const Run& run) const {
        check_rows(b, engine_->shape());
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        check_columns(b, n_stages, end == AtEnd::full);
        const std::size_t n = static_cast<std::size_t>(b.size());
        // All arrays share one allocation: the allocator keeps a single block for the next call, but would give several
        // back to the system.
        const int each = engine_->decision().n_scores();
        const std::size_t n_scores = n * static_cast<std::size_t>(each);
        auto* const memory = static_cast<double*>(::operator new((n + n_scores) * sizeof(double) + 9 * n + 1));
        const nb::capsule owner(memory, [](void* p) noexcept { ::operator delete(p); });
        double* const scores = engine_->decision().scored() ? memory + n : nullptr;
        auto* const codes = reinterpret_cast<std::int32_t*>(memory + n + n_scores);
        auto* const status = reinterpret_cast<Status*>(codes + 2 * n);
        run([&] {
            const Rows rows = b.view();
            engine_->predict({b.set(rows, n_threads), n_stages, end, working},
                             {codes, codes + n, status, memory, engine_->costs().data(), scores, std::max(1, each)});
        });
        nb::object answers =
            scores != nullptr ? nb::cast(array_in(scores, n_scores, owner)) : nb::cast(array_in(codes, n, owner));
        if (each > 1) answers = answers.attr("reshape")(n, each);
        return nb::make_tuple(answers, array_in(codes + n, n, owner), array_in(memory, n, owner),
                              array_in(reinterpret_cast<std::uint8_t*>(status), n, owner));
    }
    template <class T>
    nb::object trace_in(BoundRows& b, int n_threads) const {
        const std::size_t n = static_cast<std::size_t>(b.size()), stages = static_cast<std::size_t>(n_stages());
        const auto run = [&](const Trace& trace) {
            const Unlocked unlocked;
            const Rows rows = b.view();
            engine_->trace(b.set(rows, n_threads), trace);
        };
        if (engine_->shape().n_outputs == 1) {
            auto scores = new_array<T>({n, stages});
            run({scores.data(), nullptr, nullptr});
            return nb::cast(scores);
        }
        if (const int each = engine_->decision().n_scores(); each > 1) {
            auto scores = new_array<T>({n, stages, static_cast<std::size_t>(each)});
            run({scores.data(), nullptr, nullptr, each});
            return nb::cast(scores);
        }
        auto codes = new_array<std::int32_t>({n, stages});
        auto confidence = new_array<T>({n, stages});
        run({nullptr, codes.data(), confidence.data()});
        return nb::make_tuple(codes, confidence);
    }

    static constexpr std::size_t kMostSums = 1024;
    struct Sums {
        std::vector<double> weights;
        std::vector<Doubles> spread;
        std::optional<Matrix> corrected;
    };
    // Checks and converts the running sums of tree ensembles; the core checks the numbers of leaves.
    static void read_sums(Fields& f, std::vector<Fields>& readouts, const ModelShape& shape, StagesSpec& stages,
                          Sums& sums) {
        const auto weights = f.get<Matrix>("weights");
        const std::size_t n_sums = weights.shape(0), n_terms = static_cast<std::size_t>(stages.terms.back());
        require(n_sums > 0 && n_sums <= kMostSums && weights.shape(1) >= n_terms,
                "the weights of sums need a number for each term of the last stage, and there are too many or no sums");
        for (std::size_t s = 0; s < n_sums; ++s) {
            const double* const first = weights.data() + s * weights.shape(1);
            sums.weights.insert(sums.weights.end(), first, first + n_terms);
        }
        stages.n_sums = static_cast<int>(n_sums);
        stages.sums = sums.weights;
        check_readout(shape, stages.sums);
        if ((sums.corrected = f.get<std::optional<Matrix>>("corrected"))) {
            require(sums.corrected->shape(0) == n_sums, "corrected leaves need a row for each sum");
            stages.leaves = span_of(sums.corrected);
            check_readout(shape, stages.leaves);
        }
        read_spread(readouts, shape, stages, sums);
    }
    // Checks and converts the spread of each row's error, if readouts have one.
    static void read_spread(std::vector<Fields>& readouts, const ModelShape& shape, StagesSpec& stages, Sums& sums) {
        for (std::size_t t = 0; t < readouts.size(); ++t) {
            const auto spread = readouts[t].get<std::optional<Doubles>>("spread");
            if (!spread) continue;
            const auto width = static_cast<std::size_t>(stages.n_sums > 0 ? stages.n_sums : stages.terms[t]);
            require(spread->size() == width, "a spread needs a weight for each sum, or for each term of the stage");
            stages.spread.push_back(span_of(sums.spread.emplace_back(*spread)));
            stages.spread_bias.push_back(readouts[t].get<double>("spread_bias"));
            check_readout(shape, stages.spread.back());
        }
        require(stages.spread.empty() || (shape.n_outputs == 1 && stages.spread.size() == readouts.size()),
                "a spread needs one output, and a spread at every stage");
        check_readout(shape, stages.spread_bias);
    }
    static void read_passes(Fields& f, const ModelShape& shape, const Decision& decision, StagesSpec& stages) {
        const std::size_t n = stages.terms.size();
        if (f.read_optional("passes", stages.passes)) {
            std::int64_t before = 0;
            for (const std::int64_t end : stages.passes) {
                require(end > before, "passes must ascend");
                before = end;
            }
            require(before == static_cast<std::int64_t>(n), "the last pass must end with the last stage");
        }
        if (f.read_optional("race", stages.race)) {
            require(stages.race.size() == n && decision.kind == DecisionKind::argmax && shape.n_outputs >= 2 &&
                        shape.n_outputs <= Race::kMaxClasses,
                    "a race needs a distance for each stage, the decision argmax, and 2 to 64 classes");
            for (const double distance : stages.race) require(distance >= 0, "race must not be negative, nor NaN");
        }
    }
    static void check_readout(const ModelShape& shape, std::span<const double> values) {
        for (const double v : values) {
            require(std::isfinite(v), "readouts must be finite");
            require(!shape.f32 || fits_single(v), "a readout does not fit single precision");
        }
    }
    // Raises if a frame lacks a column that the call reads.
    void check_columns(const BoundRows& b, int n_stages, bool full) const {
        if (b.rows.layout != Rows::Layout::columns) return;
        const auto check = [&](const std::optional<std::span<const std::int32_t>>& read) {
            const auto present = [&](const Column& c) {
                return c.data != nullptr || c.cells != nullptr || b.rows.n_rows == 0;
            };
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
decided : object
    What `wald.engine.Decided` says: `tie_margin`, and `decision` with the attributes of `wald.outputs.Labels`.
stages : object
    The attributes of `wald.engine.Stages`. Its `passes` and `race` are read where there are `sums`.
low, high : float64 ndarray of shape (n_stages,)
    The decision ``"sign"``: a row leaves when its score is below `low` or above `high`. All others: when its
    confidence is above `high`.
costs : float64 ndarray of shape (n_stages + 1,), default=None
    What a row pays that leaves at each stage, and last one that does not; None: nothing.)doc")
        .def(nb::init<const Model&, nb::handle, nb::handle, const Doubles&, const Doubles&,
                      const std::optional<Doubles>&>(),
             "model"_a, "decided"_a, "stages"_a, "low"_a, "high"_a, "costs"_a = nb::none())
        .def(
            "columns_read", &BoundEngine::columns_read, "n_stages"_a.none(),
            nb::sig("def columns_read(self, n_stages: int | None) -> list[int] | None"),
            R"doc(Return the columns that the first stages read, or full evaluation for None; None stands for all columns.)doc")
        .def("predict", &BoundEngine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             nb::sig("def predict(self, rows: Rows, n_stages: int, at_end: typing.Literal['full', 'answer', "
                     "'pending'], working: float, n_threads: int) -> tuple[numpy.typing.NDArray[typing.Any], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Answer rows.

Parameters
----------
rows : Rows
n_stages : int
    Early stages that may be used.
at_end : {"full", "answer", "pending"}
    The answer to rows that no stage decides: the full model's, the last stage's own, or
    the status `PENDING`.
working : float
    Unit roundoff of the arithmetic in which the wrapped model computes.
n_threads : int

Returns
-------
answers : int32 or float64 ndarray of shape (n_rows,), or (n_rows, n_outputs)
    Indices of labels; 0 for rows without one. Where values have a tolerance, scores: estimates of the rows that
    leave early; NaN for rows without one.
stages : int32 ndarray of shape (n_rows,)
    Where a row left; the number of all early stages when it did not.
paid : float64 ndarray of shape (n_rows,)
    The cost of this stage, less 1 for each of its terms that the row did without.
status : uint8 ndarray of shape (n_rows,)
    `EARLY`, `FULL` or `OUT_OF_BUDGET`; or for rows without a label, `HANDED_OVER`, `PENDING` or `NOT_FINITE`.)doc")
        .def("predict", &BoundEngine::predict_late, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a,
             nb::sig("def predict(self, rows: LateRows, n_stages: int, at_end: typing.Literal['full', 'answer', "
                     "'pending'], working: float, n_threads: int) -> tuple[numpy.typing.NDArray[typing.Any], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Answer rows in the same way, reading the cells of those that need them.

Raises
------
ValueError
    If the memory of a column is not what its container says, or holds an object of an unusual type.)doc")
        .def("predict_one", &BoundEngine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a,
             nb::sig(
                 "def predict_one(self, x: numpy.typing.NDArray[typing.Any], n_stages: int, at_end: "
                 "typing.Literal['full', 'answer', 'pending'], working: float) -> tuple[typing.Any, int, float, int]"),
             "Answer one row, a 1-D array, as `predict` does: code or score, stage, cost and status.")
        .def("trace", &BoundEngine::trace, "rows"_a, "n_threads"_a,
             nb::sig("def trace(self, rows: Rows, n_threads: int) -> typing.Any"),
             R"doc(Evaluate every row at every early stage; no row leaves.

Returns
-------
ndarray of shape (n_rows, n_stages) or (n_rows, n_stages, n_outputs), or a tuple of two
    One output, or several with a tolerance: scores. Several others: codes (int32) and confidence. Scores and confidence are float32 if
    `single`, otherwise float64.)doc")
        .def("decide", &BoundEngine::decide<float>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float32], error: float) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.uint8]]"),
             R"doc(Turn the wrapped model's own full scores into codes.

Parameters
----------
scores : float32 or float64 ndarray of shape (n_rows, n_outputs)
error : float
    How far each score may be off.

Returns
-------
codes : int32 ndarray of shape (n_rows,)
status : uint8 ndarray of shape (n_rows,)
    `FULL`; `HANDED_OVER` where scores within the error, or within the engine's tie margin, give another label.)doc")
        .def("decide", &BoundEngine::decide<double>, nb::arg("scores").noconvert(), "error"_a,
             nb::sig("def decide(self, scores: numpy.typing.NDArray[numpy.float64], error: float) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.uint8]]"))
        .def_prop_ro("n_stages", &BoundEngine::n_stages, "Number of early stages.")
        .def_prop_ro("single", &BoundEngine::single, "Whether early stages compute in float32.");
}

}  // namespace wald::bindings
