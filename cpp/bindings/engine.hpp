// Engines: models with stages and thresholds. The arguments are checked here.
#pragma once

#include "bindings/decision.hpp"
#include "bindings/late_rows.hpp"
#include "bindings/stages.hpp"

namespace wald::bindings {

class BoundEngine {
public:
    // Codes or scores, stages, costs and statuses: of rows, and of one row.
    using Answers = Tuple<nb::any, Made<std::int32_t>, Made<double>, Made<std::uint8_t>>;
    using OneAnswer = Tuple<nb::any, int, double, int>;
    using Codes = Tuple<Made<std::int32_t>, Made<std::uint8_t>>;

    BoundEngine(const Model& model, nb::handle decided, nb::handle described, const Doubles& low, const Doubles& high,
                const std::optional<Doubles>& costs) {
        const ModelShape& shape = model.packed->shape();
        Fields owner(decided);
        const Decision d = make_decision(owner.part("decision"));
        const auto tie_margin = owner.get<double>("tie_margin");
        require(d.n_outputs() == shape.n_outputs, "the decision and the model differ in their number of outputs");
        require(tie_margin >= 0, "tie_margin must not be negative");
        StagesReader reader(described, shape);
        StagesSpec& stages = reader.spec;
        stages.low = span_of(low);
        stages.high = span_of(high);
        const std::size_t n = reader.size();
        require(reader.n_readouts() == n && low.size() == n && high.size() == n,
                "every stage needs an entry of readouts, low and high");
        const std::vector<double> nothing(n + 1);
        stages.costs = costs ? span_of(*costs) : std::span<const double>(nothing);
        require(stages.costs.size() == n + 1, "every stage, and full evaluation, needs a cost");
        for (const double cost : stages.costs) require(std::isfinite(cost), "costs must be finite");
        for (std::size_t t = 0; t < n; ++t) {
            reader.check_terms(t, 0, "terms must not fall, nor pass the last term");
            require(!std::isnan(low.data()[t]) && !std::isnan(high.data()[t]), "low and high must not be NaN");
        }
        if (Fields sums = reader.sums(); n > 0 && !sums.none()) {
            require(shape.keeps_sums, "only tree ensembles keep running sums");
            reader.read_sums(std::move(sums));
            reader.read_passes(d);
        } else {
            reader.read_spread();
            require(stages.spread.empty() || (!shape.keeps_sums && !d.two_sided()),
                    "a spread without sums needs a decision by the margin of one score, and no tree ensemble");
        }
        reader.read_least_variance();
        reader.read_weights("weights need one number per output and term, or per output and sum; bias, one per output");
        try {
            engine_ = model.packed->with_stages(d, stages, tie_margin);
        } catch (const std::invalid_argument& error) {
            throw nb::value_error(error.what());
        }
    }

    Answers predict(BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads) const {
        return answered(b, n_stages, at_end, working, n_threads, [](const auto& answer) {
            const Unlocked unlocked;
            answer();
        });
    }
    Answers predict_late(const LateRows& late, int n_stages, const std::string& at_end, double working,
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

    OneAnswer predict_one(const Any& x, int n_stages, const std::string& at_end, double working) const {
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

        OneAnswer tuple() const {
            return tuple_of(as_any(score ? nb::cast(*score) : nb::cast(code)), int{stage}, paid,
                            static_cast<int>(status));
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

    // Codes of all rows, and the numbers of those that are handed over; or None if one is left for another reason. The
    // caller has checked all arguments.
    std::optional<Tuple<Made<std::int32_t>, Made<std::int64_t>>> codes(const Rows& rows, int n_threads, int n_stages,
                                                                       AtEnd end, double working) const {
        if (engine_->decision().scored()) return {};
        const auto n = static_cast<std::size_t>(rows.n_rows);
        auto codes = new_array<std::int32_t>({n});
        const auto stages = std::make_unique_for_overwrite<std::int32_t[]>(n);
        const auto status = std::make_unique_for_overwrite<Status[]>(n);
        std::vector<std::int64_t> left;
        bool answered = true;
        {
            const Unlocked unlocked;
            engine_->predict(
                {{rows, nullptr, rows.n_rows, threads_for(rows.n_rows, n_threads)}, n_stages, end, working},
                {codes.data(), stages.get(), status.get()});
            for (std::size_t i = 0; answered && i < n; ++i) {
                if (status[i] == Status::handed_over) left.push_back(static_cast<std::int64_t>(i));
                answered = status[i] <= Status::handed_over;
            }
        }
        if (!answered) return {};
        return tuple_of(codes, copied(left.data(), left.size()));
    }

    nb::any trace(BoundRows& b, int n_threads) const {
        check_rows(b, engine_->shape());
        check_columns(b, n_stages(), false);
        return single() ? trace_in<float>(b, n_threads) : trace_in<double>(b, n_threads);
    }

    // Turns the wrapped model's own full scores, each of which may be off by `error`, into codes and status.
    template <class T>
    Codes decide(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores, double error) const {
        const Decision& decision = engine_->decision();
        require(scores.shape(1) == static_cast<std::size_t>(decision.n_outputs()), "scores need one column per output");
        require(error >= 0, "error must not be negative");
        auto codes = new_array<std::int32_t>({scores.shape(0)});
        auto status = new_array<std::uint8_t>({scores.shape(0)});
        auto* const states = reinterpret_cast<Status*>(status.data());
        if (decision.kind == DecisionKind::sign) {
            decide_signs(scores, error, codes.data(), states);
            return tuple_of(codes, status);
        }
        if (decision.kind == DecisionKind::argmax) {
            const std::vector<double> errors(scores.shape(0), error);
            decision.decide_argmax(scores.data(), decision.n_classes, errors.data(),
                                   static_cast<std::int64_t>(scores.shape(0)), engine_->tie_margin(), codes.data(),
                                   states);
            return tuple_of(codes, status);
        }
        std::vector<double> row(scores.shape(1)), work(static_cast<std::size_t>(decision.n_classes));
        for (std::size_t i = 0; i < scores.shape(0); ++i) {
            std::copy_n(scores.data() + i * row.size(), row.size(), row.begin());
            const Answer answer = decision.decide(row.data(), error + engine_->tie_margin(), work.data());
            codes.data()[i] = answer.code;
            status.data()[i] = static_cast<std::uint8_t>(answer.status);
        }
        return tuple_of(codes, status);
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
    std::optional<std::vector<std::int32_t>> columns_read(std::optional<int> n_stages) const {
        if (n_stages) check_stages(*n_stages, AtEnd::pending);
        const auto read = n_stages ? engine_->columns_read(*n_stages) : engine_->columns_read_in_full();
        if (!read) return {};
        return std::vector<std::int32_t>(read->begin(), read->end());
    }

private:
    // `decide` of models with one score, by the kernel, which reads whole panels.
    template <class T>
    void decide_signs(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores, double error,
                      std::int32_t* codes, Status* status) const {
        constexpr int kAtOnce = 512;
        alignas(kPanelBytes) double values[kAtOnce] = {}, errors[kAtOnce];
        std::fill_n(errors, kAtOnce, error);
        const Decision& decision = engine_->decision();
        const auto n = static_cast<std::int64_t>(scores.shape(0));
        for (std::int64_t at = 0; at < n; at += kAtOnce) {
            const int m = static_cast<int>(std::min<std::int64_t>(kAtOnce, n - at));
            std::copy_n(scores.data() + at, m, values);
            kernels<double>().decide_signs(values, errors, m, engine_->tie_margin(), decision.threshold,
                                           decision.tie_positive, codes + at, status + at);
        }
    }
    // Checks the arguments, and calls run(answer), which calls answer().
    template <class Run>
    Answers answered(const BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads,
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
        return tuple_of(as_any(std::move(answers)), array_in(codes + n, n, owner), array_in(memory, n, owner),
                        array_in(reinterpret_cast<std::uint8_t*>(status), n, owner));
    }
    template <class T>
    nb::any trace_in(BoundRows& b, int n_threads) const {
        const std::size_t n = static_cast<std::size_t>(b.size()), stages = static_cast<std::size_t>(n_stages());
        const auto run = [&](const Trace& trace) {
            b.unlocked(n_threads, [&](const RowSet& set) { engine_->trace(set, trace); });
        };
        if (engine_->shape().n_outputs == 1) {
            auto scores = new_array<T>({n, stages});
            run({scores.data(), nullptr, nullptr});
            return as_any(nb::cast(scores));
        }
        if (const int each = engine_->decision().n_scores(); each > 1) {
            auto scores = new_array<T>({n, stages, static_cast<std::size_t>(each)});
            run({scores.data(), nullptr, nullptr, each});
            return as_any(nb::cast(scores));
        }
        auto codes = new_array<std::int32_t>({n, stages});
        auto confidence = new_array<T>({n, stages});
        run({nullptr, codes.data(), confidence.data()});
        return as_any(nb::make_tuple(codes, confidence));
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

}  // namespace wald::bindings
