// Relations of words whose heads are known. The arguments are checked here.
#pragma once

#include "bindings/parser.hpp"

namespace wald::bindings {

inline auto relations_of(const ParserModel& parser, const Treebank& t, Ints heads) {
    const parser::Model& model = *parser.model;
    require(!model.labels.empty(), "this parser has learned no relations");
    check_words(t, heads.size());
    for (const Treebank::Sentence& s : t.sentences)
        for (std::uint32_t w = s.first; w < s.last; ++w) {
            const std::int32_t h = heads.data()[w], n = static_cast<std::int32_t>(s.last - s.first);
            require(h >= 0 && h <= n && h != static_cast<std::int32_t>(w - s.first) + 1,
                    "a head is out of the sentence");
        }
    auto labels = new_array<std::int32_t>({t.words.size()});
    const Unlocked unlocked;
    parser::Atoms atoms;
    parser::Labeler labeler;
    std::vector<std::int32_t> padded;
    for (std::size_t i = 0; i < t.sentences.size(); ++i) {
        give_way();
        const Treebank::Sentence& s = t.sentences[i];
        padded.assign(1, -1);
        padded.insert(padded.end(), heads.data() + s.first, heads.data() + s.last);
        atoms.read(t, i, model.lexicon);
        labeler.label(atoms, padded.data(), model.label_weights, labels.data() + s.first);
    }
    return labels;
}

inline void bind_relations(nb::module_& m) {
    using namespace nb::literals;
    m.def("relations", &relations_of, "parser"_a, "treebank"_a, "heads"_a.noconvert(),
          "Numbers of the relations of words whose heads are known.");
}

}  // namespace wald::bindings
