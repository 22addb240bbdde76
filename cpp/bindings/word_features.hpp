// Features of the words of a treebank, for a tagger. The arguments are checked here.
#pragma once

#include "bindings/treebank.hpp"
#include "parser/word_features.hpp"

namespace wald::bindings {

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class WordFeatures {
public:
    WordFeatures(Keys words, Indices classes, Keys keys, Longs ends)
        : features_(checked(words, classes, keys, ends), classes.data(), words.size(), keys.data(), ends.data()) {}

    std::int64_t n_features() const { return features_.n_features(); }

    auto keys(const Treebank& t) const {
        auto out = new_array<std::uint64_t>({t.words.size(), parser::kWordFeatures});
        const Unlocked unlocked;
        parser::WordFeatures::Scratch scratch;
        for (const Treebank::Sentence& s : t.sentences)
            features_.keys(t, s, scratch, out.data() + std::size_t{s.first} * parser::kWordFeatures);
        return out;
    }

    // Ones, columns, and where each word's begin.
    auto rows(const Treebank& t) const {
        auto ends = new_array<std::int64_t>({t.words.size() + 1});
        std::vector<std::int32_t> columns;
        {
            const Unlocked unlocked;
            columns.reserve(t.words.size() * parser::kWordFeatures);
            parser::WordFeatures::Scratch scratch;
            ends.data()[0] = 0;
            for (const Treebank::Sentence& s : t.sentences)
                features_.rows(t, s, scratch, columns, ends.data() + s.first + 1);
        }
        auto values = new_array<float>({columns.size()});
        std::fill_n(values.data(), columns.size(), 1.0f);
        return std::make_tuple(values, copied(columns.data(), columns.size()), ends);
    }

    static auto lower(const Treebank& t) {
        auto out = new_array<std::uint64_t>({t.words.size()});
        parser::WordReader reader;
        for (std::size_t w = 0; w < t.words.size(); ++w) out.data()[w] = reader.lower(t.field(w, parser::kForm));
        return out;
    }

private:
    static const std::uint64_t* checked(const Keys& words, const Indices& classes, const Keys& keys,
                                        const Longs& ends) {
        require(words.size() == classes.size(), "as many classes as words");
        for (const std::int32_t c : span_of(classes)) require(c >= 0, "classes must not be negative");
        require(ends.size() == static_cast<std::size_t>(parser::kWordFeatures), "one end for each template");
        std::int64_t before = 0;
        for (const std::int64_t end : span_of(ends)) {
            require(end >= before, "ends must not fall");
            before = end;
        }
        require(before == static_cast<std::int64_t>(keys.size()) && before < (std::int64_t{1} << 31),
                "the last end is the number of keys, below 2^31");
        return words.data();
    }
    parser::WordFeatures features_;
};

inline void bind_word_features(nb::module_& m) {
    using namespace nb::literals;
    m.attr("WORD_TEMPLATES") = parser::kWordFeatures;
    nb::class_<WordFeatures>(m, "WordFeatures", "Features of words and their neighbours. Never changes.")
        .def(nb::init<Keys, Indices, Keys, Longs>(), "words"_a.noconvert(), "classes"_a.noconvert(),
             "keys"_a.noconvert(), "ends"_a.noconvert())
        .def_prop_ro("n_features", &WordFeatures::n_features)
        .def("keys", &WordFeatures::keys, "treebank"_a, "Keys (n_words, WORD_TEMPLATES), known or not.")
        .def("rows", &WordFeatures::rows, "treebank"_a,
             "Ones, columns and row ends of the known features, as CSR has them.")
        .def_static("lower", &WordFeatures::lower, "treebank"_a, "Hashes of the words in lower case.");
}

}  // namespace wald::bindings
