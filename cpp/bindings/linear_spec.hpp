// What linear models of texts and of named values are made of, checked: weights, and the columns of names.
#pragma once

#include "bindings/fields.hpp"
#include "core/limits.hpp"
#include "core/text/linear_spec.hpp"

namespace wald::bindings {

// A float64 or float32 array of a field, as float64.
class Weights {
public:
    Weights(Fields& from, const char* name, std::size_t ndim) {
        const auto given = from.get<nb::object>(name);
        using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
        Array array;
        require(nb::try_cast(given, array, false) && array.ndim() == ndim,
                (std::string(name) + " must be a " + std::to_string(ndim) + "-D array in C order").c_str());
        single_ = array.dtype() == nb::dtype<float>();
        if (!single_ && array.dtype() != nb::dtype<double>())
            throw nb::type_error((std::string(name) + " must be of float64 or float32").c_str());
        for (std::size_t d = 0; d < ndim; ++d) shape_.push_back(array.shape(d));
        values_.resize(array.size());
        if (single_) std::copy_n(static_cast<const float*>(array.data()), values_.size(), values_.begin());
        else std::copy_n(static_cast<const double*>(array.data()), values_.size(), values_.begin());
    }
    bool single() const { return single_; }
    std::size_t shape(std::size_t d) const { return shape_[d]; }
    std::span<const double> values() const { return values_; }
    bool fit_float32() const {
        return std::all_of(values_.begin(), values_.end(), [](double v) { return static_cast<float>(v) == v; });
    }

private:
    bool single_ = false;
    std::vector<std::size_t> shape_;
    std::vector<double> values_;
};

// The strings of a list, as long as this object lives. One that has no UTF-8 is left out of `found`.
struct Strings {
    nb::object items;
    std::vector<std::string_view> found;
    std::vector<std::size_t> places;

    explicit Strings(const nb::list& from, const char* name) : items(nb::steal(PyList_AsTuple(from.ptr()))) {
        if (!items.is_valid()) throw nb::python_error();
        const nb::tuple all = nb::borrow<nb::tuple>(items);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!PyUnicode_Check(all[i].ptr()))
                throw nb::type_error((std::string(name) + " must be a list of strings").c_str());
            try {
                found.push_back(utf8(all[i]));
                places.push_back(i);
            } catch (const nb::python_error& error) {
                if (!error.matches(PyExc_UnicodeEncodeError)) throw;
            }
        }
    }
};

// Names with their columns, or their number if they are hashed. Hashing is noted in the spec.
struct NamedColumns {
    std::optional<Strings> strings;
    std::optional<Longs> ids;

    NamedColumns(Fields& f, const char* name, LinearSpec& spec) {
        const auto hashing = f.get<std::optional<nb::dict>>("hashing");
        const auto given = f.get<std::optional<nb::list>>(name);
        ids = f.get<std::optional<Longs>>("ids");
        if (hashing) {
            Fields h(*hashing);
            require(h.get<std::int64_t>("n_features") == spec.n_columns,
                    "n_features must be the number of columns of coef");
            spec.hashing = true;
            spec.alternate_sign = h.get<bool>("alternate_sign");
            h.done();
            return;
        }
        require(given && ids, (std::string("either ") + name + " and ids must be given, or hashing").c_str());
        strings.emplace(*given, name);
        require(given->size() == ids->size(),
                (std::string("ids must have a value for each string of ") + name).c_str());
        for (std::size_t i = 0; i < ids->size(); ++i)
            require(ids->data()[i] >= 0 && ids->data()[i] < spec.n_columns, "ids must be numbers of columns of coef");
    }
    std::int64_t column(std::size_t i) const { return ids->data()[strings->places[i]]; }
};

// The arrays of a model, which must outlive its construction.
class LinearArrays {
public:
    explicit LinearArrays(Fields& f) : coef_(f, "coef", 2), intercept_(f, "intercept", 1) {
        require(coef_.shape(0) >= 1 && coef_.shape(0) <= kMaxClasses && coef_.shape(1) >= 1 &&
                    coef_.shape(1) <= static_cast<std::size_t>(kMaxFeatures),
                "coef must have a row for each output, and a column for each feature");
        require(intercept_.shape(0) == coef_.shape(0), "intercept must have a value for each row of coef");
        bound_ = f.get<std::optional<Matrix>>("coef_bound");
        require(!bound_ || (bound_->shape(0) == coef_.shape(0) && bound_->shape(1) == coef_.shape(1)),
                "coef_bound must be None, or have the shape of coef");
    }
    // `single`: the values of rows are float32.
    void describe(LinearSpec& spec, bool single) const {
        spec.n_outputs = static_cast<std::int64_t>(coef_.shape(0));
        spec.n_columns = static_cast<std::int64_t>(coef_.shape(1));
        if (bound_) spec.bound = span_of(*bound_);
        spec.coef = coef_.values();
        spec.intercept.assign(intercept_.values().begin(), intercept_.values().end());
        for (const double b : spec.intercept) spec.bias = std::max(spec.bias, std::abs(b));
        spec.single_sums = single && coef_.single();
        spec.single_intercept = intercept_.single();
#if defined(__x86_64__)  // elsewhere compilers fuse the multiplications and additions of SciPy's loops
        spec.same_bits = !bound_ && !(single && !coef_.single() && coef_.fit_float32());
#else
        spec.same_bits = false;
#endif
    }

private:
    Weights coef_, intercept_;
    std::optional<Matrix> bound_;
};

}  // namespace wald::bindings
