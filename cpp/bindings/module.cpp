// Python's view of the engine. Everything that comes in is checked here: the core trusts its arguments.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <variant>

#include "../core/cascade.hpp"
#include "../core/dispatch.hpp"
#include "../core/kernel_machine.hpp"
#include "../core/linear_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace wald;

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Any = nb::ndarray<nb::ro, nb::device::cpu>;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }
void require(bool holds, const char* message) {
    if (!holds) refuse(message);
}

template <class Array>
auto span_of(const Array& a) {
    return std::span<const std::remove_const_t<typename Array::Scalar>>(a.data(), a.size());
}
template <class Array>
auto span_of(const std::optional<Array>& a) {
    using S = std::span<const std::remove_const_t<typename Array::Scalar>>;
    return a ? S(a->data(), a->size()) : S();
}

Dtype dtype_of(const nb::dlpack::dtype& d) {
    if (d == nb::dtype<float>()) return Dtype::f32;
    if (d == nb::dtype<double>()) return Dtype::f64;
    if (d == nb::dtype<std::uint8_t>()) return Dtype::u8;
    throw nb::type_error("rows must be float32, float64 or uint8");
}

template <class T>
nb::ndarray<nb::numpy, T> new_array(std::vector<std::size_t> shape) {
    std::size_t n = 1;
    for (std::size_t s : shape) n *= s;
    T* data = new T[n > 0 ? n : 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Rows and the Python objects that own their memory.
struct BoundRows {
    Rows rows;
    std::vector<Any> owners;
    std::vector<Column> columns;
    std::vector<std::int64_t> ids;
    bool subset = false;

    const Rows& view() {
        rows.columns = columns;
        return rows;
    }
    std::int64_t size() const { return subset ? static_cast<std::int64_t>(ids.size()) : rows.n_rows; }
    const std::int64_t* id_data() const { return subset ? ids.data() : nullptr; }
};

std::int64_t byte_stride(const Any& a, int axis) {
    return a.stride(axis) * static_cast<std::int64_t>(a.itemsize());
}

void check_aligned(const Any& a) {
    if (reinterpret_cast<std::uintptr_t>(a.data()) % a.itemsize() != 0) throw nb::type_error("rows must be aligned; copy them first");
}

BoundRows dense_rows(Any x) {
    require(x.ndim() == 2, "dense rows must be a 2-D array");
    BoundRows b;
    b.rows.layout = Rows::Layout::dense;
    b.rows.dtype = dtype_of(x.dtype());
    b.rows.n_rows = static_cast<std::int64_t>(x.shape(0));
    b.rows.n_columns = static_cast<std::int64_t>(x.shape(1));
    check_aligned(x);
    b.rows.data = static_cast<const std::byte*>(x.data());
    b.rows.row_stride = byte_stride(x, 0);
    b.rows.column_stride = byte_stride(x, 1);
    b.owners.push_back(std::move(x));
    return b;
}

BoundRows column_rows(std::int64_t n_rows, const std::vector<std::optional<Any>>& columns) {
    require(n_rows >= 0, "n_rows must not be negative");
    BoundRows b;
    b.rows.layout = Rows::Layout::columns;
    b.rows.n_rows = n_rows;
    b.rows.n_columns = static_cast<std::int64_t>(columns.size());
    for (const std::optional<Any>& c : columns) {
        Column column;
        if (c) {
            require(c->ndim() == 1 && static_cast<std::int64_t>(c->shape(0)) == n_rows, "every column must be 1-D, n_rows long");
            check_aligned(*c);
            column = {static_cast<const std::byte*>(c->data()), byte_stride(*c, 0), dtype_of(c->dtype())};
            b.owners.push_back(*c);
        }
        b.columns.push_back(column);
    }
    return b;
}

BoundRows csr_rows(Any values, Indices indices, Longs indptr, std::int64_t n_columns) {
    require(values.ndim() == 1 && indptr.size() >= 1, "CSR rows need 1-D values and an indptr of n_rows + 1");
    require(values.size() == 0 || byte_stride(values, 0) == static_cast<std::int64_t>(values.itemsize()), "CSR values must be contiguous");
    require(n_columns >= 0, "n_columns must not be negative");
    const std::int64_t n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    const std::int64_t n_values = static_cast<std::int64_t>(std::min(values.size(), indices.size()));
    require(indptr.data()[0] >= 0, "CSR indptr must not start below 0");
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const std::int64_t begin = indptr.data()[r], end = indptr.data()[r + 1];
        require(begin <= end && end <= n_values, "CSR indptr must not fall, nor point behind the values");
        std::int64_t previous = -1;
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t c = indices.data()[k];
            require(c > previous && c < n_columns, "CSR indices must ascend within a row, below n_columns");
            previous = c;
        }
    }
    BoundRows b;
    b.rows.layout = Rows::Layout::csr;
    b.rows.dtype = dtype_of(values.dtype());
    b.rows.n_rows = n_rows;
    b.rows.n_columns = n_columns;
    check_aligned(values);
    b.rows.data = static_cast<const std::byte*>(values.data());
    b.rows.indices = indices.data();
    b.rows.indptr = indptr.data();
    b.owners = {std::move(values), Any(indices), Any(indptr)};
    return b;
}

void take(BoundRows& b, const Longs& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        require(ids.data()[i] >= 0 && ids.data()[i] < b.rows.n_rows, "row ids must lie within the rows");
    b.ids.assign(ids.data(), ids.data() + ids.size());
    b.subset = true;
}

bool fits_single(double v) { return std::fabs(v) <= std::numeric_limits<float>::max(); }

// ---- models ---------------------------------------------------------------------------------------------------------

using Single = KernelMachine<float>;
using Double = KernelMachine<double>;

// A model, packed once and shared by every engine that is built on it.
struct Model {
    std::shared_ptr<const Single> single;
    std::shared_ptr<const Double> twice;
    std::shared_ptr<const LinearModel> linear;
    bool shifted = false;  // zeros that a CSR row does not store would have to be shifted too

    std::int64_t n_features() const { return linear ? linear->n_features() : twice->n_features(); }
    std::int64_t n_terms() const { return linear ? linear->n_terms() : twice->n_terms(); }
    int n_outputs() const { return linear ? linear->n_outputs() : twice->n_outputs(); }
};

void check_working(double working) { require(working >= 0 && std::isfinite(working), "working must be a unit roundoff"); }

void check_rows(const BoundRows& b, const Model& model) {
    require(b.rows.layout != Rows::Layout::csr || !model.shifted, "a model with a shift takes dense rows, not CSR");
    if (b.rows.n_columns != model.n_features())
        refuse("rows have " + std::to_string(b.rows.n_columns) + " columns, the model has " + std::to_string(model.n_features()));
}

Model kernel_model(const std::string& kernel, double gamma, double coef0, int degree, Matrix vectors, Bytes linear, Matrix coef,
                   Doubles intercept, std::int64_t n_features, std::optional<Indices> kept, std::optional<Doubles> scale,
                   std::optional<Doubles> shift, double swing, std::optional<Doubles> fill, bool single) {
    KernelMachineSpec s;
    require(kernel == "rbf" || kernel == "poly" || kernel == "sigmoid", "kernel must be rbf, poly or sigmoid");
    s.params = {kernel == "rbf" ? Activation::rbf : kernel == "poly" ? Activation::poly : Activation::sigmoid, gamma, coef0, degree};
    require(std::isfinite(gamma) && gamma >= 0 && std::isfinite(coef0), "gamma must be finite and not negative, coef0 finite");
    require(degree >= 0 && degree <= 1000, "degree must lie in [0, 1000]");
    s.n_terms = static_cast<std::int64_t>(vectors.shape(0));
    s.n_features = n_features;
    s.vectors = vectors.data();
    s.linear = span_of(linear);
    s.coef = span_of(coef);
    s.intercept = span_of(intercept);
    s.kept = span_of(kept);
    s.scale = span_of(scale);
    s.shift = span_of(shift);
    s.swing = swing;
    s.fill = span_of(fill);
    const std::size_t d = static_cast<std::size_t>(n_features);
    require(n_features >= 1 && n_features < (std::int64_t{1} << 31) / 64, "n_features must lie in [1, 2^25)");
    require(s.n_terms >= 1 && s.n_terms < (1 << 26), "there must be at least one vector, and fewer than 2^26");
    require(!kept || !s.kept.empty(), "kept must name at least one feature");
    require(vectors.shape(1) == (kept ? s.kept.size() : d), "vectors must have one column per (kept) feature");
    require(linear.size() == vectors.shape(0) && coef.shape(1) == vectors.shape(0), "linear and coef need one entry per vector");
    require(coef.shape(0) == intercept.size() && intercept.size() >= 1, "coef and intercept need one row per output");
    for (std::size_t k = 0; k < s.kept.size(); ++k)
        require(s.kept[k] >= 0 && s.kept[k] < n_features && (k == 0 || s.kept[k] > s.kept[k - 1]), "kept features must ascend");
    require(s.scale.size() == s.shift.size() && (s.scale.empty() || s.scale.size() == d), "scale and shift need one entry per feature");
    require(s.fill.empty() || s.fill.size() == d, "fill needs one entry per feature");
    for (std::size_t i = 0; i < vectors.size(); ++i) require(std::isfinite(vectors.data()[i]), "vectors must be finite");
    for (double v : s.coef) require(std::isfinite(v), "coef must be finite");
    for (double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    require(swing >= 0, "swing must not be negative");
    if (single) {
        bool fits = fits_single(gamma) && fits_single(coef0);
        for (std::size_t i = 0; i < vectors.size(); ++i) fits = fits && fits_single(vectors.data()[i]);
        for (double v : s.coef) fits = fits && fits_single(v);
        for (double v : s.intercept) fits = fits && fits_single(v);
        require(fits, "the model's numbers do not fit single precision");
    }
    Model m;
    m.shifted = std::any_of(s.shift.begin(), s.shift.end(), [](double v) { return v != 0; });
    nb::gil_scoped_release release;
    m.twice = std::make_shared<const Double>(s);
    if (single) m.single = std::make_shared<const Single>(s);
    return m;
}

Model linear_model(Indices order, Matrix coef, Doubles intercept, std::optional<Doubles> fill, Doubles magnitude,
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
    require(s.n_features >= 1 && s.n_features < (std::int64_t{1} << 31), "coef must have at least one column");
    require(coef.shape(0) == intercept.size() && intercept.size() >= 1, "coef and intercept need one row per output");
    require(s.fill.empty() || s.fill.size() == coef.shape(1), "fill needs one entry per feature");
    std::vector<bool> seen(coef.shape(1));
    for (std::int32_t c : s.order) {
        require(c >= 0 && c < s.n_features && !seen[c], "order must name columns, each once");
        seen[c] = true;
    }
    for (double v : s.coef) require(std::isfinite(v), "coef must be finite");
    for (double v : s.intercept) require(std::isfinite(v), "intercept must be finite");
    Model m;
    m.linear = std::make_shared<const LinearModel>(s);
    return m;
}

// ---- engines --------------------------------------------------------------------------------------------------------

Decision make_decision(const std::string& kind, int n_classes, double threshold, bool tie_positive, bool break_ties) {
    Decision d;
    require(kind == "sign" || kind == "argmax" || kind == "votes", "decision must be sign, argmax or votes");
    d.kind = kind == "sign" ? DecisionKind::sign : kind == "argmax" ? DecisionKind::argmax : DecisionKind::votes;
    require(n_classes >= (kind == "votes" ? 3 : 2) && n_classes <= (kind == "sign" ? 2 : 10000), "sign has 2 classes, argmax 2 to 10000, votes 3 to 10000");
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
        : model_(std::move(model)) {
        const Decision d = make_decision(decision, n_classes, threshold, tie_positive, break_ties);
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
            nb::gil_scoped_release release;
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
                    nb::gil_scoped_release release;
                    c->look(b.view(), b.id_data(), b.size(), n_threads, seen);
                }
                return nb::cast(scores);
            }
            auto codes = new_array<std::int32_t>({n, stages});
            auto confidence = new_array<T>({n, stages});
            seen.codes = codes.data();
            seen.confidence = confidence.data();
            {
                nb::gil_scoped_release release;
                c->look(b.view(), b.id_data(), b.size(), n_threads, seen);
            }
            return nb::make_tuple(codes, confidence);
        }, cascade_);
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
        require(model_.linear != nullptr, "a kernel machine takes whole rows, not columns");
        if (full)
            for (const Column& c : b.columns) require(c.data != nullptr || b.rows.n_rows == 0, "the full model needs every column");
        const std::int64_t terms =
            n_stages == 0 ? 0 : std::visit([&](const auto& c) { return c->terms_of(n_stages - 1); }, cascade_);
        for (std::int64_t k = 0; k < terms; ++k)
            require(b.columns[order_needed_[k]].data != nullptr || b.rows.n_rows == 0, "a column that an early stage reads is missing");
    }

    Model model_;
    std::variant<Plain, Precise, Linear, Walk> cascade_;
    std::vector<std::int32_t> order_needed_;
};

nb::tuple full_scores(const Model& m, BoundRows& b, double working, int n_threads, bool single) {
    check_rows(b, m);
    const std::size_t n = static_cast<std::size_t>(b.size()), k = static_cast<std::size_t>(m.n_outputs());
    check_working(working);
    require(!single || m.single, "the model was not packed in single precision");
    require(b.rows.layout != Rows::Layout::columns || m.linear, "a kernel machine takes whole rows, not columns");
    for (const Column& c : b.columns) require(c.data != nullptr || n == 0, "full scores need every column");
    auto scores = new_array<double>({n, k});
    auto errors = new_array<double>({n});
    {
        nb::gil_scoped_release release;
        if (m.linear)
            Cascade<LinearModel, LinearModel>(m.linear, m.linear, {}, {}, 0.0)
                .full_scores(b.view(), b.id_data(), b.size(), working, n_threads, scores.data(), errors.data());
        else if (single)
            Cascade<Single, Double>(m.single, m.twice, {}, {}, 0.0)
                .full_scores(b.view(), b.id_data(), b.size(), working, n_threads, scores.data(), errors.data());
        else
            Cascade<Double, Double>(m.twice, m.twice, {}, {}, 0.0)
                .full_scores(b.view(), b.id_data(), b.size(), working, n_threads, scores.data(), errors.data());
    }
    return nb::make_tuple(scores, errors);
}

}  // namespace

extern "C" {
#if defined(_WIN32)
#define WALD_EXPORT __declspec(dllexport)
#else
#define WALD_EXPORT __attribute__((visibility("default")))
#endif
WALD_EXPORT int wald_get_num_threads() { return thread_limit(); }
WALD_EXPORT void wald_set_num_threads(int n) { set_thread_limit(n); }
}

NB_MODULE(_core, m) {
    simd_level();  // refuses a wrong WALD_SIMD now, not at the first prediction
    m.attr("HAND_OVER") = kHandOver;
    m.attr("NOT_FINITE") = kNotFinite;
    m.attr("PENDING") = kPending;
    m.def("simd_levels", &simd_levels);
    m.def("simd_level", &simd_level);
    m.def("get_num_threads", &thread_limit);
    m.def("set_num_threads", &set_thread_limit, "n"_a);

    nb::class_<BoundRows>(m, "Rows")
        .def_static("dense", &dense_rows, "x"_a)
        .def_static("columns", &column_rows, "n_rows"_a, "columns"_a)
        .def_static("csr", &csr_rows, "values"_a, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_columns"_a)
        .def("take", &take, "ids"_a.noconvert())
        .def("__len__", &BoundRows::size);

    nb::class_<Model>(m, "Model")
        .def_static("kernel", &kernel_model, nb::kw_only(), "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "vectors"_a, "linear"_a, "coef"_a,
                    "intercept"_a, "n_features"_a, "kept"_a.none().noconvert(), "scale"_a.none(), "shift"_a.none(), "swing"_a, "fill"_a.none(), "single"_a)
        .def_static("linear", &linear_model, nb::kw_only(), "order"_a.noconvert(), "coef"_a, "intercept"_a, "fill"_a.none(), "magnitude"_a,
                    "bias_magnitude"_a, "depth"_a)
        .def("scores", &full_scores, "rows"_a, "working"_a, "n_threads"_a, "single"_a = false)
        .def_prop_ro("n_features", &Model::n_features)
        .def_prop_ro("n_terms", &Model::n_terms)
        .def_prop_ro("n_outputs", &Model::n_outputs);

    nb::class_<Engine>(m, "Engine")
        .def(nb::init<Model, const std::string&, int, double, bool, bool, double, Longs, const std::vector<Matrix>&,
                      const std::vector<Doubles>&, Doubles, Doubles>(),
             "model"_a, nb::kw_only(), "decision"_a, "n_classes"_a, "threshold"_a, "tie_positive"_a, "break_ties"_a, "slack"_a, "terms"_a,
             "weights"_a, "bias"_a, "low"_a, "high"_a)
        .def("predict", &Engine::predict, "rows"_a, "n_stages"_a, "at_end"_a, "working"_a, "n_threads"_a)
        .def("predict_one", &Engine::predict_one, "x"_a, "n_stages"_a, "at_end"_a, "working"_a)
        .def("look", &Engine::look, "rows"_a, "n_threads"_a)
        .def_prop_ro("n_stages", &Engine::n_stages)
        .def_prop_ro("single", &Engine::single);
}
