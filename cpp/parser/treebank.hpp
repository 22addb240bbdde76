// Annotated sentences: the bytes of a CoNLL file, and the positions of its words in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wald::parser {

enum Column : int { kId, kForm, kLemma, kUpos, kXpos, kFeats, kHead, kDeprel, kDeps, kMisc, kColumns };

struct Treebank {
    struct Word {
        std::uint32_t field[kColumns + 1];  // where each field begins; field k ends one byte before field k + 1 begins
        std::int32_t head;                  // position in the sentence, 0 for the root, -1 for none given
    };
    struct Sentence {
        std::uint32_t begin, end;   // bytes, from the first comment to the end of the empty line
        std::uint32_t first, last;  // words
        std::uint32_t line;         // of the first word, counted from 1
    };

    std::string text;
    std::vector<Word> words;
    std::vector<Sentence> sentences;

    std::string_view field(const Word& w, int column) const {
        return {text.data() + w.field[column], w.field[column + 1] - 1 - w.field[column]};
    }
    std::string_view field(std::size_t word, int column) const { return field(words[word], column); }
};

}  // namespace wald::parser
