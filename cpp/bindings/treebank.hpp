// CoNLL files. The arguments are checked here.
#pragma once

#include "bindings/arrays.hpp"
#include "parser/conll.hpp"

namespace wald::bindings {

using parser::Treebank;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Treebank read_treebank(nb::bytes text, const std::string& name, bool conllx) {
    Treebank t;
    t.text.assign(text.c_str(), text.size());
    try {
        const Unlocked unlocked;
        parser::ConllReader(t, conllx ? parser::Format::conllx : parser::Format::conllu).read();
    } catch (const parser::ConllError& e) {
        refuse(name + (e.line == 0 ? "" : ", line " + std::to_string(e.line)) + ": " + e.what() + ".");
    }
    return t;
}

inline void check_words(const Treebank& t, std::size_t n) {
    if (n != t.words.size())
        refuse("one value per word: there are " + std::to_string(t.words.size()) + ", not " + std::to_string(n));
}

inline nb::bytes treebank_text(const Treebank& t, std::optional<Ints> heads, const std::vector<std::string>& names,
                               std::optional<Ints> relations) {
    if (!heads) return nb::bytes(t.text.data(), t.text.size());
    check_words(t, heads->size());
    if (relations) {
        check_words(t, relations->size());
        for (const std::int32_t r : span_of(*relations))
            require(r >= 0 && static_cast<std::size_t>(r) < names.size(), "a relation is out of range");
    }
    const parser::Column columns[] = {parser::kHead, parser::kDeprel};
    std::string head;
    const auto value = [&](std::size_t k, std::size_t w) -> std::string_view {
        if (k == 1) return names[static_cast<std::size_t>(relations->data()[w])];
        return head = heads->data()[w] < 0 ? "_" : std::to_string(heads->data()[w]);
    };
    const std::string out = t.with(std::span(columns, relations ? 2 : 1), value).text;
    return nb::bytes(out.data(), out.size());
}

inline Treebank retagged(const Treebank& t, const std::vector<std::string>& upos, const std::vector<std::string>& xpos,
                         Ints codes) {
    check_words(t, codes.size());
    std::size_t longest = 0;
    std::vector<parser::Column> columns;
    std::vector<const std::vector<std::string>*> tags;  // of each column
    for (const auto& [column, names] : {std::pair{parser::kUpos, &upos}, std::pair{parser::kXpos, &xpos}}) {
        if (names->empty()) continue;
        columns.push_back(column), tags.push_back(names);
        for (const std::string& name : *names) {
            require(!name.empty() && name.find_first_of(std::string(" \t\r\n\0", 5)) == std::string::npos,
                    "a tag must not be empty, nor hold white space");
            longest = std::max(longest, name.size());
        }
    }
    for (const std::int32_t c : span_of(codes))
        for (const auto* names : tags)
            require(c >= 0 && static_cast<std::size_t>(c) < names->size(), "a tag is out of range");
    require(t.text.size() + 2 * longest * t.words.size() <= 0xfffffff0u, "the text with its tags is longer than 4 GB");
    const Unlocked unlocked;
    return t.with(columns, [&](std::size_t k, std::size_t w) -> auto& { return (*tags[k])[codes.data()[w]]; });
}

inline auto treebank_heads(const Treebank& t) {
    auto heads = new_array<std::int32_t>({t.words.size()});
    for (std::size_t w = 0; w < t.words.size(); ++w) heads.data()[w] = t.words[w].head;
    return heads;
}
inline auto treebank_offsets(const Treebank& t) {
    auto offsets = new_array<std::int64_t>({t.sentences.size() + 1});
    offsets.data()[0] = 0;
    for (std::size_t i = 0; i < t.sentences.size(); ++i) offsets.data()[i + 1] = t.sentences[i].last;
    return offsets;
}
inline auto treebank_column(const Treebank& t, int column, std::int64_t first, std::int64_t last) {
    require(column >= 0 && column < parser::kColumns, "a column from 0 to 9");
    require(first >= 0 && first <= last && last <= static_cast<std::int64_t>(t.words.size()),
            "words within the treebank");
    nb::typed<nb::list, nb::str> out;
    for (std::int64_t w = first; w < last; ++w) {
        const std::string_view f = t.field(static_cast<std::size_t>(w), column);
        out.append(nb::str(f.data(), f.size()));
    }
    return out;
}
inline const Treebank::Sentence& sentence_of(const Treebank& t, std::int64_t i) {
    require(i >= 0 && i < static_cast<std::int64_t>(t.sentences.size()), "a sentence within the treebank");
    return t.sentences[static_cast<std::size_t>(i)];
}
inline nb::bytes sentence_text(const Treebank& t, std::int64_t i) {
    const Treebank::Sentence& s = sentence_of(t, i);
    return nb::bytes(t.text.data() + s.begin, s.end - s.begin);
}

inline void bind_treebank(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Treebank>(m, "Treebank", "The text of a CoNLL file and the positions of its words.")
        .def_static("read", &read_treebank, "text"_a, "name"_a, "conllx"_a = false,
                    "Read and check a text; errors give `name` and the line.")
        .def("__len__", [](const Treebank& t) { return t.sentences.size(); })
        .def_prop_ro("n_words", [](const Treebank& t) { return t.words.size(); })
        .def("heads", &treebank_heads, "Heads as in the text, -1 where none is given.")
        .def("offsets", &treebank_offsets, "First word of every sentence, and the number of words.")
        .def("column", &treebank_column, "column"_a, "first"_a, "last"_a,
             "One of the ten columns of words first to last.")
        .def(
            "line", [](const Treebank& t, std::int64_t i) { return sentence_of(t, i).line; }, "sentence"_a,
            "Line of the sentence's first word, counted from 1.")
        .def("sentence", &sentence_text, "sentence"_a, "One sentence with its comments and the empty line behind it.")
        .def("with_tags", &retagged, "upos"_a, "xpos"_a, "codes"_a.noconvert(),
             "The same sentences with other tags, upos[codes[w]] and xpos[codes[w]]; no names leave a column as it is.")
        .def("text", &treebank_text, "heads"_a.none().noconvert() = nb::none(), "names"_a = std::vector<std::string>(),
             "relations"_a.none().noconvert() = nb::none(),
             "Return the text, with other heads and relations if they are given.");
}

}  // namespace wald::bindings
