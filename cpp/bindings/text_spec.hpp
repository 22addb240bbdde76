// Models of texts, made from what describes them in Python. The description is checked here.
#pragma once

#include <numeric>

#include "bindings/linear_spec.hpp"
#include "bindings/text_characters.hpp"
#include "core/text/text_model.hpp"

namespace wald::bindings {

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
    const NamedColumns named(f, "vocabulary", spec);
    if (spec.hashing) {
        spec.vocabulary = Vocabulary(terms, 1, 1);
        return;
    }
    const std::vector<std::string_view>& found = named.strings->found;
    std::vector<std::size_t> order(found.size());  // what has the least idf is the most frequent
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!spec.idf.empty())
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
            return spec.idf[static_cast<std::size_t>(named.column(i))] <
                   spec.idf[static_cast<std::size_t>(named.column(j))];
        });
    std::vector<std::string_view> words;
    std::vector<std::int64_t> columns;
    for (const std::size_t i : order) {
        words.push_back(found[i]);
        columns.push_back(named.column(i));
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
    const LinearArrays arrays(f);
    spec.values.single = f.get<bool>("single");
    arrays.describe(spec, spec.values.single);
    require(!f.read_optional("idf", spec.idf) || std::ssize(spec.idf) == spec.n_columns,
            "idf must be None, or have a value for each column of coef");
    read_vocabulary(f, spec);
    spec.values.binary = f.get<bool>("binary");
    if (f.get<bool>("sublinear_tf")) spec.values.logarithms = count_logarithms(spec.values.single);
    const auto norm = f.get<std::optional<std::string>>("norm");
    require(!norm || *norm == "l1" || *norm == "l2", "norm must be None, 'l1' or 'l2'");
    if (norm) spec.values.norm = *norm == "l1" ? Norm::l1 : Norm::l2;
    spec.values.weight = f.get<double>("weight");
    require(std::isfinite(spec.values.weight), "weight must be finite");
    f.done();
    return std::make_unique<TextModel>(std::move(spec));
}

}  // namespace wald::bindings
