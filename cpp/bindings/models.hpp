// Models, checked and packed once, shared by every engine that is built on them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

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

    std::int64_t n_features() const { return packed->shape().n_features; }
    std::int64_t n_terms() const { return packed->shape().n_terms; }
    int n_outputs() const { return packed->shape().n_outputs; }
};

inline void check_working(double working) {
    require(working >= 0 && std::isfinite(working), "working must be a unit roundoff");
}

inline void check_rows(const BoundRows& b, const ModelShape& model) {
    require(b.ascending, "CSR indices must ascend within a row");
    require(b.rows.layout != Rows::Layout::csr || !model.shifted, "a model with a shift takes dense rows, not CSR");
    if (b.rows.n_columns != model.n_features)
        refuse("rows have " + std::to_string(b.rows.n_columns) + " columns, the model has " +
               std::to_string(model.n_features));
}

inline Model kernel_model(const std::string& kernel, double gamma, double coef0, int degree, Matrix vectors,
                          std::optional<Matrix> landmarks, Longs order, Bytes linear, Matrix coef, Doubles intercept,
                          std::int64_t n_features, std::optional<Indices> kept, std::optional<Doubles> scale,
                          std::optional<Doubles> shift, double scaling_magnitude, std::optional<Doubles> fill,
                          bool single) {
    KernelMachineSpec s;
    require(kernel == "rbf" || kernel == "poly" || kernel == "sigmoid", "kernel must be rbf, poly or sigmoid");
    s.params = {kernel == "rbf"    ? Activation::rbf
                : kernel == "poly" ? Activation::poly
                                   : Activation::sigmoid,
                gamma, coef0, degree};
    require(std::isfinite(gamma) && gamma >= 0 && std::isfinite(coef0),
            "gamma must be finite and not negative, coef0 finite");
    require(degree >= 0 && degree <= kMaxDegree, "degree must lie in [0, 1000]");
    s.n_terms = static_cast<std::int64_t>(order.size());
    s.n_vectors = static_cast<std::int64_t>(vectors.shape(0));
    s.order = span_of(order);
    s.n_features = n_features;
    s.vectors = vectors.data();
    s.landmarks = landmarks ? landmarks->data() : nullptr;
    s.linear = span_of(linear);
    s.coef = span_of(coef);
    s.intercept = span_of(intercept);
    s.kept = span_of(kept);
    s.scale = span_of(scale);
    s.shift = span_of(shift);
    s.scaling_magnitude = scaling_magnitude;
    s.fill = span_of(fill);
    const std::size_t d = static_cast<std::size_t>(n_features);
    require(n_features >= 1 && n_features <= kMaxKernelFeatures, "n_features must lie in [1, 2^25)");
    require(s.n_terms >= 1 && s.n_terms < (1 << 26), "there must be at least one vector, and fewer than 2^26");
    require(!kept || !s.kept.empty(), "kept must name at least one feature");
    require(vectors.shape(1) == (kept ? s.kept.size() : d), "vectors must have one column per (kept) feature");
    require(!landmarks || landmarks->shape(1) == vectors.shape(1), "landmarks must have as many columns as vectors");
    const std::int64_t n_all = s.n_vectors + (landmarks ? static_cast<std::int64_t>(landmarks->shape(0)) : 0);
    for (std::int64_t j : s.order) require(j >= 0 && j < n_all, "order must name vectors and landmarks");
    require(linear.size() == order.size() && coef.shape(1) == order.size(), "linear and coef need one entry per term");
    require(coef.shape(0) == intercept.size() && intercept.size() >= 1, "coef and intercept need one row per output");
    for (std::size_t k = 0; k < s.kept.size(); ++k)
        require(s.kept[k] >= 0 && s.kept[k] < n_features && (k == 0 || s.kept[k] > s.kept[k - 1]),
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
    require(scaling_magnitude >= 0, "scaling_magnitude must not be negative");
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
    std::vector<bool> seen(coef.shape(1));
    for (std::int32_t c : s.order) {
        require(c >= 0 && c < s.n_features && !seen[c], "order must name columns, each once");
        seen[c] = true;
    }
    for (double v : s.coef) require(std::isfinite(v), "coef must be finite");
    for (double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    return {pack(s)};
}

inline nb::tuple full_scores(const Model& m, BoundRows& b, double working, int n_threads, bool single) {
    check_rows(b, m.packed->shape());
    const std::size_t n = static_cast<std::size_t>(b.size()), k = static_cast<std::size_t>(m.n_outputs());
    check_working(working);
    require(!single || m.packed->shape().f32, "the model was not packed in single precision");
    for (const Column& c : b.columns) require(c.data != nullptr || n == 0, "full scores need every column");
    auto scores = new_array<double>({n, k});
    auto errors = new_array<double>({n});
    {
        const Unlocked unlocked;
        m.packed->without_stages(single)->full_scores(b.view(), b.id_data(), b.size(), working, n_threads,
                                                      scores.data(), errors.data());
    }
    return nb::make_tuple(scores, errors);
}

inline nb::object term_values(const Model& m, BoundRows& b, int n_threads) {
    const ModelShape& shape = m.packed->shape();
    check_rows(b, shape);
    require(!shape.f32, "the model was packed in single precision");
    for (const Column& c : b.columns) require(c.data != nullptr || b.size() == 0, "values need every column");
    auto values = new_array<double>({static_cast<std::size_t>(b.size()), static_cast<std::size_t>(shape.n_terms)});
    {
        const Unlocked unlocked;
        m.packed->without_stages(false)->values(b.view(), b.id_data(), b.size(), n_threads, values.data());
    }
    return nb::cast(values);
}

}  // namespace wald::bindings
