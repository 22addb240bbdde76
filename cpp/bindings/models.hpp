// Models, checked and packed once, shared by every engine that is built on them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bindings/fields.hpp"
#include "bindings/rows.hpp"
#include "core/cascade/engine.hpp"
#include "core/limits.hpp"
#include "core/models/kernel_machine.hpp"
#include "core/models/linear_model.hpp"

namespace wald::bindings {

inline bool fits_single(double v) { return std::fabs(v) <= std::numeric_limits<float>::max(); }

// A model, packed once and shared by every engine that is built on it.
struct Model {
    std::shared_ptr<const PackedModel> packed;
    std::shared_ptr<const PackedTrees> trees = {};  // the same, if it is a tree ensemble

    std::int64_t n_features() const { return packed->shape().n_features; }
    std::int64_t n_terms() const { return packed->shape().n_terms; }
    int n_outputs() const { return packed->shape().n_outputs; }
};

inline void check_working(double working) {
    require(working >= 0 && std::isfinite(working), "working must be a unit roundoff");
}

inline void check_rows(const BoundRows& b, const ModelShape& model) {
    require(b.ascending, "CSR indices must ascend within a row");
    require(b.rows.layout != Rows::Layout::csr || !model.dense_only,
            "a model with a shift or with columns of states takes dense rows, not CSR");
    if (b.rows.n_columns != model.n_features)
        refuse("rows have " + std::to_string(b.rows.n_columns) + " columns, the model has " +
               std::to_string(model.n_features));
}

// Requires numbers from 0 to n - 1, each once.
template <class T>
void require_order(std::span<const T> order, std::int64_t n, const char* message) {
    std::vector<bool> seen(static_cast<std::size_t>(n));
    for (const T i : order) {
        require(i >= 0 && i < n && !seen[static_cast<std::size_t>(i)], message);
        seen[static_cast<std::size_t>(i)] = true;
    }
}

inline Model kernel_model(const Described& described) {
    Fields f(described);
    KernelMachineSpec s;
    s.params.activation = f.one_of<Activation>("kernel", {"rbf", "poly", "sigmoid"});
    f.read("gamma", s.params.gamma), f.read("coef0", s.params.coef0), f.read("degree", s.params.degree);
    const auto vectors = f.get<Matrix>("vectors"), coef = f.get<Matrix>("coef");
    const auto landmarks = f.get<std::optional<Matrix>>("landmarks");
    const auto kept = f.get<std::optional<Indices>>("kept", false);
    const auto scale = f.get<std::optional<Doubles>>("scale"), shift = f.get<std::optional<Doubles>>("shift");
    const auto fill = f.get<std::optional<Doubles>>("fill");
    const auto order = f.get<Longs>("order", false);
    const auto single = f.get<bool>("single");
    f.read("linear", s.linear), f.read("intercept", s.intercept), f.read("n_features", s.n_features);
    f.read("scaling_magnitude", s.scaling_magnitude);
    f.done();
    const auto [activation, gamma, coef0, degree] = s.params;
    require(std::isfinite(gamma) && gamma >= 0 && std::isfinite(coef0),
            "gamma must be finite and not negative, coef0 finite");
    require(degree >= 0 && degree <= kMaxDegree, "degree must lie in [0, 1000]");
    s.n_terms = static_cast<std::int64_t>(order.size());
    s.n_vectors = static_cast<std::int64_t>(vectors.shape(0));
    s.order = span_of(order);
    s.vectors = vectors.data();
    s.landmarks = landmarks ? landmarks->data() : nullptr;
    s.coef = span_of(coef);
    s.kept = span_of(kept);
    s.scale = span_of(scale);
    s.shift = span_of(shift);
    s.fill = span_of(fill);
    const std::size_t d = static_cast<std::size_t>(s.n_features);
    require(s.n_features >= 1 && s.n_features <= kMaxKernelFeatures, "n_features must lie in [1, 2^25)");
    require(s.n_terms >= 1 && s.n_terms < (1 << 26), "there must be at least one vector, and fewer than 2^26");
    require(!kept || !s.kept.empty(), "kept must name at least one feature");
    require(vectors.shape(1) == (kept ? s.kept.size() : d), "vectors must have one column per (kept) feature");
    require(!landmarks || landmarks->shape(1) == vectors.shape(1), "landmarks must have as many columns as vectors");
    const std::int64_t n_all = s.n_vectors + (landmarks ? static_cast<std::int64_t>(landmarks->shape(0)) : 0);
    for (std::int64_t j : s.order) require(j >= 0 && j < n_all, "order must name vectors and landmarks");
    require(s.linear.size() == order.size() && coef.shape(1) == order.size(),
            "linear and coef need one entry per term");
    require(coef.shape(0) == s.intercept.size() && s.intercept.size() >= 1,
            "coef and intercept need one row per output");
    for (std::size_t k = 0; k < s.kept.size(); ++k)
        require(s.kept[k] >= 0 && s.kept[k] < s.n_features && (k == 0 || s.kept[k] > s.kept[k - 1]),
                "kept features must ascend");
    require(s.scale.size() == s.shift.size() && (s.scale.empty() || s.scale.size() == d),
            "scale and shift need one entry per feature");
    require(s.fill.empty() || s.fill.size() == d, "fill needs one entry per feature");
    const auto each_number = [&](const auto& visit) {
        for (std::size_t i = 0; i < vectors.size(); ++i) visit(vectors.data()[i]);
        for (std::size_t i = 0; landmarks && i < landmarks->size(); ++i) visit(landmarks->data()[i]);
    };
    each_number([](double v) { require(std::isfinite(v), "vectors and landmarks must be finite"); });
    for (double v : s.coef) require(std::isfinite(v), "coef must be finite");
    for (double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    require(s.scaling_magnitude >= 0, "scaling_magnitude must not be negative");
    if (single) {
        bool fits = fits_single(gamma) && fits_single(coef0);
        each_number([&](double v) { fits = fits && fits_single(v); });
        for (double v : s.coef) fits = fits && fits_single(v);
        for (double v : s.intercept) fits = fits && fits_single(v);
        require(fits, "the model's numbers do not fit single precision");
    }
    const Unlocked unlocked;
    return {pack(s, single)};
}

inline Model linear_model(Indices order, Matrix coef, Doubles intercept, std::optional<Doubles> fill, Doubles magnitude,
                          double bias_magnitude, double depth) {
    LinearModelSpec s;
    s.n_features = static_cast<std::int64_t>(coef.shape(1));
    s.order = span_of(order);
    s.coef = span_of(coef);
    s.intercept = span_of(intercept);
    s.fill = span_of(fill);
    s.magnitude = span_of(magnitude);
    s.bias_magnitude = bias_magnitude;
    s.depth = depth;
    require(magnitude.size() == coef.shape(1), "magnitude needs one entry per feature");
    for (double v : s.magnitude) require(v >= 0, "magnitude must not be negative");
    require(bias_magnitude >= 0 && depth >= 0, "bias_magnitude and depth must not be negative");
    require(s.n_features >= 1 && s.n_features <= kMaxFeatures, "coef must have at least one column");
    require(coef.shape(0) == intercept.size() && intercept.size() >= 1, "coef and intercept need one row per output");
    require(s.fill.empty() || s.fill.size() == coef.shape(1), "fill needs one entry per feature");
    require_order(s.order, s.n_features, "order must name columns, each once");
    for (double v : s.coef) require(std::isfinite(v), "coef must be finite");
    for (double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    return {pack(s)};
}

inline Tuple<Made<double>, Made<double>> full_scores(const Model& m, BoundRows& b, double working, int n_threads,
                                                     bool single) {
    check_rows(b, m.packed->shape());
    const std::size_t n = static_cast<std::size_t>(b.size()), k = static_cast<std::size_t>(m.n_outputs());
    check_working(working);
    require(!single || m.packed->shape().f32, "the model was not packed in single precision");
    b.require_columns("full scores need every column");
    auto scores = new_array<double>({n, k});
    auto errors = new_array<double>({n});
    b.unlocked(n_threads,
               [&](const RowSet& set) { m.packed->scores(set, working, single, scores.data(), errors.data()); });
    return tuple_of(scores, errors);
}

// Full scores of one row, an array that the engine reads in place: a float, or a list for several outputs. None for
// everything else, and for a row that is not finite.
inline nb::any scores_of_one(const Model& m, nb::handle given) {
    const ModelShape& shape = m.packed->shape();
    if (!given.type().is(nb::module_::import_("numpy").attr("ndarray")))
        return as_any(nb::none());  // a subclass may be masked
    const Buffer array(given);
    const std::optional<Dtype> dtype = array.native_dtype();
    if (!dtype || array.ndim() != 1 || array.shape(0) != shape.n_features) return as_any(nb::none());
    Rows rows;
    rows.dtype = *dtype;
    rows.n_rows = 1;
    rows.n_columns = shape.n_features;
    rows.data = array.data();
    rows.column_stride = array.stride(0);
    std::vector<double> scores(static_cast<std::size_t>(shape.n_outputs));
    double error = 0.0;
    m.packed->scores({rows, nullptr, 1}, 0.0, false, scores.data(), &error);
    for (const double score : scores)
        if (std::isnan(score)) return as_any(nb::none());
    return as_any(scores.size() == 1 ? nb::cast(scores[0]) : nb::cast(scores));
}

inline Made<double> term_values(const Model& m, BoundRows& b, int n_threads) {
    const ModelShape& shape = m.packed->shape();
    check_rows(b, shape);
    require(shape.has_values, "the model was packed in single precision");
    b.require_columns("values need every column");
    auto values = new_array<double>({static_cast<std::size_t>(b.size()), static_cast<std::size_t>(shape.n_terms)});
    b.unlocked(n_threads, [&](const RowSet& set) { m.packed->values(set, values.data()); });
    return values;
}

inline nb::class_<Model> bind_model(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Model> model(m, "Model", "A model as terms, packed for the engine. Never changes.");
    model
        .def_static("kernel", &kernel_model, "described"_a,
                    "Pack a kernel machine: fields of KernelMachineSpec and KernelParams in the core, and whether it "
                    "is `single`.")
        .def_static("linear", &linear_model, nb::kw_only(), "order"_a.noconvert(), "coef"_a, "intercept"_a,
                    "fill"_a.none(), "magnitude"_a, "bias_magnitude"_a, "depth"_a,
                    "Pack a linear model, which is always evaluated in float64; see LinearModelSpec in the core.")
        .def("scores", &full_scores, "rows"_a, "working"_a, "n_threads"_a, "single"_a = false,
             "Compute full scores (n_rows, n_outputs), NaN where a row is not finite, and bounds of their errors "
             "(n_rows,).")
        .def("scores_of_one", &scores_of_one, "x"_a.none(),
             "Compute the full scores of one row in a 1-D array; None for what is not read in place, or not finite.")
        .def("values", &term_values, "rows"_a, "n_threads"_a,
             "Compute the values of all terms (n_rows, n_terms), in packed order; NaN for rows that are not finite.")
        .def_prop_ro("n_features", &Model::n_features, "Features of a raw row.")
        .def_prop_ro("n_terms", &Model::n_terms, "Terms that early stages can use.")
        .def_prop_ro("n_outputs", &Model::n_outputs, "Scores of a row.");
    return model;
}

}  // namespace wald::bindings
