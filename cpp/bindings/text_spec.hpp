// Models of texts, made from what describes them in Python. The description is checked here.
#pragma once

#include <numeric>

#include "bindings/fields.hpp"
#include "bindings/text_characters.hpp"
#include "core/limits.hpp"
#include "core/text/text_model.hpp"

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

inline ReadingRules read_rules(Fields& f) {
    ReadingRules rules;
    rules.analyzer = f.one_of<Analyzer>("analyzer", {"word", "char", "char_wb"});
    rules.lower = f.get<bool>("lowercase");
    const auto accents = f.get<std::optional<std::string>>("strip_accents");
    require(!accents || *accents == "ascii" || *accents == "unicode",
            "strip_accents must be None, 'ascii' or 'unicode'");
    if (accents) rules.accents = *accents == "ascii" ? Accents::to_ascii : Accents::stripped;
    const auto [token, shortest] = f.get<std::tuple<std::string, int>>("token");
    require((token == "word" && shortest >= 1) || (token == "space" && shortest == 1),
            "token must be ('word', k) with k of at least 1, or ('space', 1)");
    rules.token = token == "word" ? Token::word : Token::not_space;
    rules.shortest = shortest;
    std::tie(rules.least, rules.most) = f.get<std::tuple<int, int>>("ngram_range");
    require(1 <= rules.least && rules.least <= rules.most, "ngram_range must be two ascending numbers from 1 on");
    return rules;
}

inline void read_vocabulary(Fields& f, TextSpec& spec) {
    const Strings stop_words(f.get<nb::list>("stop_words"), "stop_words");
    Vocabulary::Terms terms;
    terms.stop_words = stop_words.found;
    const auto hashing = f.get<std::optional<nb::dict>>("hashing");
    const auto given = f.get<std::optional<nb::list>>("vocabulary");
    const auto ids = f.get<std::optional<Longs>>("ids");
    if (hashing) {
        Fields h(*hashing);
        require(h.get<std::int64_t>("n_features") == spec.n_columns,
                "n_features must be the number of columns of coef");
        spec.hashing = true;
        spec.alternate_sign = h.get<bool>("alternate_sign");
        h.done();
        spec.vocabulary = Vocabulary(terms, 1, 1);
        return;
    }
    require(given && ids, "either vocabulary and ids must be given, or hashing");
    const Strings strings(*given, "vocabulary");
    require(given->size() == ids->size(), "ids must have a value for each string of vocabulary");
    for (std::size_t i = 0; i < ids->size(); ++i)
        require(ids->data()[i] >= 0 && ids->data()[i] < spec.n_columns, "ids must be numbers of columns of coef");
    std::vector<std::size_t> order(strings.found.size());  // what has the least idf is the most frequent
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto column = [&](std::size_t i) { return ids->data()[strings.places[i]]; };
    if (!spec.idf.empty())
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
            return spec.idf[static_cast<std::size_t>(column(i))] < spec.idf[static_cast<std::size_t>(column(j))];
        });
    std::vector<std::string_view> words;
    std::vector<std::int64_t> columns;
    for (const std::size_t i : order) {
        words.push_back(strings.found[i]);
        columns.push_back(column(i));
    }
    std::vector<std::string_view> sorted = words;
    std::sort(sorted.begin(), sorted.end());
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a string of vocabulary is repeated");
    terms.terms = words;
    terms.columns = columns;
    spec.vocabulary = Vocabulary(terms, spec.rules.least, spec.rules.analyzer == Analyzer::word ? spec.rules.most : 1);
}

// 1 + log(count) by count, with the bits of NumPy's loop; its logarithms differ from those of other libraries.
inline std::vector<double> count_logarithms(bool single) {
    constexpr int kCounts = 1 << 16;
    const nb::object numpy = nb::module_::import_("numpy");
    const nb::object counts = numpy.attr("arange")(1, kCounts, nb::arg("dtype") = single ? "float32" : "float64");
    numpy.attr("log")(counts, counts);
    const nb::object shifted = numpy.attr("add")(counts, 1).attr("astype")("float64");
    const auto values = nb::cast<Doubles>(shifted);
    std::vector<double> all{0.0};
    all.insert(all.end(), values.data(), values.data() + values.size());
    return all;
}

inline std::unique_ptr<TextModel> text_model(Fields& f) {
    TextSpec spec;
    spec.rules = read_rules(f);
    const Weights coef(f, "coef", 2), intercept(f, "intercept", 1);
    require(coef.shape(0) >= 1 && coef.shape(0) <= kMaxClasses && coef.shape(1) >= 1 &&
                coef.shape(1) <= static_cast<std::size_t>(kMaxFeatures),
            "coef must have a row for each output, and a column for each feature");
    spec.n_outputs = static_cast<std::int64_t>(coef.shape(0));
    spec.n_columns = static_cast<std::int64_t>(coef.shape(1));
    require(intercept.shape(0) == coef.shape(0), "intercept must have a value for each row of coef");
    require(!f.read_optional("idf", spec.idf) || std::ssize(spec.idf) == spec.n_columns,
            "idf must be None, or have a value for each column of coef");
    read_vocabulary(f, spec);
    spec.values.binary = f.get<bool>("binary");
    spec.values.single = f.get<bool>("single");
    if (f.get<bool>("sublinear_tf")) spec.values.logarithms = count_logarithms(spec.values.single);
    const auto norm = f.get<std::optional<std::string>>("norm");
    require(!norm || *norm == "l1" || *norm == "l2", "norm must be None, 'l1' or 'l2'");
    if (norm) spec.values.norm = *norm == "l1" ? Norm::l1 : Norm::l2;
    spec.values.weight = f.get<double>("weight");
    require(std::isfinite(spec.values.weight), "weight must be finite");
    const auto bound = f.get<std::optional<Matrix>>("coef_bound");
    if (bound) {
        require(bound->shape(0) == coef.shape(0) && bound->shape(1) == coef.shape(1),
                "coef_bound must be None, or have the shape of coef");
        spec.bound = span_of(*bound);
    }
    spec.coef = coef.values();
    spec.intercept.assign(intercept.values().begin(), intercept.values().end());
    for (const double b : spec.intercept) spec.bias = std::max(spec.bias, std::abs(b));
    spec.single_sums = spec.values.single && coef.single();
    spec.single_intercept = intercept.single();
#if defined(__x86_64__)  // elsewhere compilers fuse the multiplications and additions of SciPy's loops
    spec.same_bits = !bound && !(spec.values.single && !coef.single() && coef.fit_float32());
#else
    spec.same_bits = false;
#endif
    f.done();
    return std::make_unique<TextModel>(std::move(spec));
}

}  // namespace wald::bindings
