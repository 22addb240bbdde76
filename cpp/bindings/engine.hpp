// A model with its stages and thresholds, ready to answer.
#pragma once

#include <variant>

#include "models.hpp"

namespace wald::bindings {

inline Decision make_decision(const std::string& kind, int n_classes, double threshold, bool tie_positive, bool break_ties) {
    Decision d;
    require(kind == "sign" || kind == "argmax" || kind == "votes", "decision must be sign, argmax or votes");
    d.kind = kind == "sign" ? DecisionKind::sign : kind == "argmax" ? DecisionKind::argmax : DecisionKind::votes;
    require(n_classes >= (kind == "votes" ? 3 : 2) && n_classes <= (kind == "sign" ? 2 : kMostClasses), "sign has 2 classes, argmax 2 to 10000, votes 3 to 10000");
    d.n_classes = n_classes;
    d.threshold = threshold;
    d.tie_positive = tie_positive;
    d.break_ties = break_ties;
    return d;
}

class Engine {
public:
    using Plain = std::shared_ptr<const Cascade<Single, Double>>;
    using Precise = std::shared_ptr<const Cascade<Double, Double>>;
    using Linear = std::shared_ptr<const Cascade<LinearModel, LinearModel>>;
    using Walk = std::shared_ptr<const Cascade<LinearWalk, LinearModel>>;

    Engine(Model model, const std::string& decision, int n_classes, double threshold, bool tie_positive, bool break_ties,
           double slack, Longs terms, const std::vector<Matrix>& weights, const std::vector<Doubles>& bias, Doubles low, Doubles high)
        : model_(std::move(model)), decision_(make_decision(decision, n_classes, threshold, tie_positive, break_ties)), slack_(slack) {
        const Decision& d = decision_;
        require(d.n_outputs() == model_.n_outputs(), "the decision and the model differ in their number of outputs");
        require(slack >= 0, "slack must not be negative");
        const std::size_t n = terms.size();
        require(weights.size() == n && bias.size() == n && low.size() == n && high.size() == n, "every stage needs a readout and thresholds");
        for (std::size_t t = 0; t < n; ++t) {
            require(terms.data()[t] >= (t == 0 ? 0 : terms.data()[t - 1]) && terms.data()[t] <= model_.n_terms(), "stages must not fall, nor pass the last term");
            require(bias[t].size() == static_cast<std::size_t>(model_.n_outputs()) && weights[t].shape(0) == bias[t].size() &&
                        weights[t].shape(1) == static_cast<std::size_t>(terms.data()[t]),
                    "a readout needs one weight per output and term");
            require(!std::isnan(low.data()[t]) && !std::isnan(high.data()[t]), "thresholds must not be NaN");
            for (const auto& [at, size] : {std::pair{weights[t].data(), weights[t].size()}, std::pair{bias[t].data(), bias[t].size()}})
                for (std::size_t i = 0; i < size; ++i) {
                    require(std::isfinite(at[i]), "readouts must be finite");
                    require(!model_.single || fits_single(at[i]), "a readout does not fit single precision");
                }
        }
        if (model_.linear && model_.n_outputs() == 1) {
            Stages<double> s = stages<double>(terms, weights, bias, low, high);
            std::vector<std::vector<double>> rows;
            std::vector<double> starts;
            for (std::size_t t = 0; t < n; ++t) {
                rows.emplace_back(weights[t].data(), weights[t].data() + weights[t].size());
                starts.push_back(bias[t].data()[0]);
            }
            auto walk = std::make_shared<const LinearWalk>(model_.linear, s.terms, rows, starts);
            cascade_ = std::make_shared<const Cascade<LinearWalk, LinearModel>>(walk, model_.linear, d, std::move(s), slack);
        } else if (model_.linear) {
            cascade_ = std::make_shared<const Cascade<LinearModel, LinearModel>>(
                model_.linear, model_.linear, d, stages<double>(terms, weights, bias, low, high), slack);
        } else if (model_.single) {
            cascade_ = std::make_shared<const Cascade<Single, Double>>(model_.single, model_.twice, d,
                                                                       stages<float>(terms, weights, bias, low, high), slack);
        } else {
            cascade_ = std::make_shared<const Cascade<Double, Double>>(model_.twice, model_.twice, d,
                                                                       stages<double>(terms, weights, bias, low, high), slack);
        }
        if (model_.linear) order_needed_ = model_.linear->order();
    }

    nb::tuple predict(BoundRows& b, int n_stages, const std::string& at_end, double working, int n_threads) const {
        check_rows(b, model_);
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        check_columns(b, n_stages, end == AtEnd::full);
        const std::size_t n = static_cast<std::size_t>(b.size());
        auto codes = new_array<std::int32_t>({n});
        auto stages = new_array<std::int32_t>({n});
        std::visit([&](const auto& c) {
            const Unlocked unlocked;
            c->predict(b.view(), b.id_data(), b.size(), n_stages, end, working, n_threads, codes.data(), stages.data());
        }, cascade_);
        return nb::make_tuple(codes, stages);
    }

    nb::tuple predict_one(const Any& x, int n_stages, const std::string& at_end, double working) const {
        require(x.ndim() == 1, "predict_one takes a 1-D array");
        Rows rows;
        rows.dtype = dtype_of(x.dtype());
        rows.n_rows = 1;
        rows.n_columns = static_cast<std::int64_t>(x.shape(0));
        if (rows.n_columns != model_.n_features())
            refuse("the row has " + std::to_string(rows.n_columns) + " features, the model has " + std::to_string(model_.n_features()));
        check_aligned(x);
        rows.data = static_cast<const std::byte*>(x.data());
        rows.column_stride = byte_stride(x, 0);
        const AtEnd end = end_of(at_end);
        check_stages(n_stages, end);
        check_working(working);
        std::int32_t code = 0, stage = 0;
        std::visit([&](const auto& c) { c->predict_one(rows, 0, n_stages, end, working, &code, &stage); }, cascade_);
        return nb::make_tuple(code, stage);
    }

    nb::object look(BoundRows& b, int n_threads) const {
        check_rows(b, model_);
        return std::visit([&](const auto& c) -> nb::object {
            using T = typename std::decay_t<decltype(*c)>::T;
            check_columns(b, c->n_stages(), false);
            const std::size_t n = static_cast<std::size_t>(b.size()), stages = static_cast<std::size_t>(c->n_stages());
            Seen<T> seen;
            if (model_.n_outputs() == 1) {
                auto scores = new_array<T>({n, stages});
                seen.scores = scores.data();
                {
                    const Unlocked unlocked;
                    c->look(b.view(), b.id_data(), b.size(), n_threads, seen);
                }
                return nb::cast(scores);
            }
            auto codes = new_array<std::int32_t>({n, stages});
            auto confidence = new_array<T>({n, stages});
            seen.codes = codes.data();
            seen.confidence = confidence.data();
            {
                const Unlocked unlocked;
                c->look(b.view(), b.id_data(), b.size(), n_threads, seen);
            }
            return nb::make_tuple(codes, confidence);
        }, cascade_);
    }

    // Codes of the wrapped model's own full scores, each known to within `error`; kHandOver where another label is as near.
    template <class T>
    nb::object decide(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores, double error) const {
        const std::size_t n = scores.shape(0), outputs = scores.shape(1);
        require(outputs == static_cast<std::size_t>(decision_.n_outputs()), "scores need one column per output");
        require(error >= 0, "error must not be negative");
        auto codes = new_array<std::int32_t>({n});
        std::vector<double> row(outputs), work(static_cast<std::size_t>(decision_.n_classes));
        for (std::size_t i = 0; i < n; ++i) {
            std::copy_n(scores.data() + i * outputs, outputs, row.begin());
            codes.data()[i] = decision_.finish(row.data(), error + slack_, work.data());
        }
        return nb::cast(codes);
    }

    int n_stages() const {
        return std::visit([](const auto& c) { return c->n_stages(); }, cascade_);
    }
    bool single() const { return model_.single != nullptr; }

private:
    template <class T>
    static Aligned<T> padded(std::size_t n) { return Aligned<T>(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(n), kLanes<T>))); }

    template <class T>
    Stages<T> stages(const Longs& terms, const std::vector<Matrix>& weights, const std::vector<Doubles>& bias, const Doubles& low,
                     const Doubles& high) const {
        Stages<T> s;
        const std::size_t outputs = static_cast<std::size_t>(model_.n_outputs());
        const std::size_t padded_outputs = static_cast<std::size_t>(round_up(static_cast<std::int64_t>(outputs), kLanes<T>));
        for (std::size_t t = 0; t < terms.size(); ++t) {
            const std::size_t m = static_cast<std::size_t>(terms.data()[t]);
            Aligned<T> w = padded<T>(outputs == 1 ? m : m * padded_outputs), b = padded<T>(outputs);
            for (std::size_t k = 0; k < outputs; ++k) {
                b[k] = static_cast<T>(bias[t].data()[k]);
                for (std::size_t j = 0; j < m; ++j)
                    w[outputs == 1 ? j : j * padded_outputs + k] = static_cast<T>(weights[t].data()[k * m + j]);
            }
            s.terms.push_back(terms.data()[t]);
            s.weights.push_back(std::move(w));
            s.bias.push_back(std::move(b));
            s.low.push_back(static_cast<T>(low.data()[t]));
            s.high.push_back(static_cast<T>(high.data()[t]));
        }
        return s;
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
    // Columns that a call reads must be there.
    void check_columns(const BoundRows& b, int n_stages, bool full) const {
        if (b.rows.layout != Rows::Layout::columns) return;
        if (full || model_.linear == nullptr)
            for (const Column& c : b.columns)
                require(c.data != nullptr || b.rows.n_rows == 0, "the full model, and a kernel machine at any stage, need every column");
        if (model_.linear == nullptr) return;
        const std::int64_t terms =
            n_stages == 0 ? 0 : std::visit([&](const auto& c) { return c->terms_of(n_stages - 1); }, cascade_);
        for (std::int64_t k = 0; k < terms; ++k)
            require(b.columns[order_needed_[k]].data != nullptr || b.rows.n_rows == 0, "a column that an early stage reads is missing");
    }

    Model model_;
    Decision decision_;
    double slack_;
    std::variant<Plain, Precise, Linear, Walk> cascade_;
    std::vector<std::int32_t> order_needed_;
};

}  // namespace wald::bindings
