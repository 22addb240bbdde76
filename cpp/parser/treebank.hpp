// Annotated sentences: the bytes of a CoNLL file, and the positions of its words in them.
#pragma once

#include <cstdint>
#include <span>
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

    // The same sentences, byte for byte but for some columns, from left to right: value(k, word) is what the k-th of
    // them holds now. Heads of words stay as they were.
    template <class Value>
    Treebank with(std::span<const Column> columns, Value&& value) const {
        Treebank out;
        out.text.reserve(text.size() + 4 * words.size());
        out.words.reserve(words.size());
        out.sentences.reserve(sentences.size());
        std::size_t at = 0;  // up to where the text has been copied
        const auto moved = [&](std::uint32_t place) {
            return static_cast<std::uint32_t>(place + out.text.size() - at);
        };
        for (const Sentence& s : sentences) {
            Sentence& copy = out.sentences.emplace_back(s);
            copy.begin = moved(s.begin);
            for (std::uint32_t w = s.first; w < s.last; ++w) {
                const Word& word = words[w];
                Word& to = out.words.emplace_back(word);
                int c = 0;
                for (std::size_t k = 0; k < columns.size(); ++k) {
                    for (; c <= columns[k]; ++c) to.field[c] = moved(word.field[c]);
                    out.text.append(text, at, word.field[columns[k]] - at);
                    out.text += value(k, w);
                    at = word.field[columns[k] + 1] - 1;
                }
                for (; c <= kColumns; ++c) to.field[c] = moved(word.field[c]);
            }
            copy.end = moved(s.end);
        }
        out.text.append(text, at);
        return out;
    }
};

}  // namespace wald::parser
