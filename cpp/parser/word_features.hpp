// Features of words for a tagger: templates over the atoms of a word and of its neighbours, as sparse rows.
//
// A feature is a 64-bit key. Those that were seen often enough in training have a number, a column of the rows; columns
// are ordered by template, so that a row ascends as it is written.
#pragma once

#include <algorithm>
#include <vector>

#include "parser/key_table.hpp"
#include "parser/treebank.hpp"
#include "parser/word_atoms.hpp"

namespace wald::parser {

// Atoms of the word itself and of others, by their offsets.
struct WordTemplate {
    int n;
    struct {
        int offset;
        WordAtom atom;
    } part[3];
};

// Templates behind those of each atom of the word itself: l is kLower, c kClass, r kShort, t and s are kSuffix2 and 3.
inline constexpr std::string_view kMoreTemplates =
    "l-2|c-2|l-1|c-1|l+1|c+1|l+2|c+2|s-1|t-1|r-1|s+1|t+1|r+1|l-1 l|l l+1|l-1 l+1|l-2 l-1|l+1 l+2|c-1 c|c c+1|c-1 c+1|"
    "c-2 c-1|c+1 c+2|c-1 s|c+1 s|c-1 l|c+1 l|t-1 r|c-1 c c+1|c-2 c-1 c|c c+1 c+2";
inline constexpr int kWordFeatures =
    kWordAtoms + 1 + static_cast<int>(std::count(kMoreTemplates.begin(), kMoreTemplates.end(), '|'));
inline constexpr auto kWordTemplates = [] {
    std::array<WordTemplate, kWordFeatures> all{};
    for (int a = 0; a < kWordAtoms; ++a) all[a] = {1, {{0, static_cast<WordAtom>(a)}}};
    int f = kWordAtoms;
    for (std::size_t i = 0; i < kMoreTemplates.size(); ++i) {
        const char c = kMoreTemplates[i];
        WordTemplate& to = all[f];
        if (c == '|') ++f;
        else if (c == '+' || c == '-') to.part[to.n - 1].offset = (kMoreTemplates[++i] - '0') * (c == '+' ? 1 : -1);
        else if (c != ' ')
            to.part[to.n++].atom = c == 'l'   ? kLower
                                   : c == 'c' ? kClass
                                   : c == 'r' ? kShort
                                   : c == 't' ? kSuffix2
                                              : kSuffix3;
    }
    return all;
}();
inline constexpr int kReach = 2;  // words to either side that a template sees

class WordFeatures {
public:
    // `words` have the classes `classes`; `keys` are the known features, `ends[t]` where those of template t end.
    WordFeatures(const std::uint64_t* words, const std::int32_t* classes, std::size_t n_words,
                 const std::uint64_t* keys, const std::int64_t* ends)
        : classes_(n_words), keys_(static_cast<std::size_t>(ends[kWordFeatures - 1])) {
        for (std::size_t i = 0; i < n_words; ++i) classes_.add(words[i], classes[i]);
        for (std::int64_t i = 0; i < ends[kWordFeatures - 1]; ++i) keys_.add(keys[i], static_cast<std::int32_t>(i));
        std::copy_n(ends, kWordFeatures, ends_);
    }
    std::int64_t n_features() const { return ends_[kWordFeatures - 1]; }

    // A thread's working memory.
    struct Scratch {
        WordReader reader;
        std::vector<WordAtoms> atoms;
        std::vector<std::uint64_t> keys;
    };

    // Keys (n_words, kWordFeatures) of one sentence.
    void keys(const Treebank& t, const Treebank::Sentence& s, Scratch& scratch, std::uint64_t* out) const {
        const int n = static_cast<int>(s.last - s.first);
        std::vector<WordAtoms>& atoms = scratch.atoms;
        atoms.resize(static_cast<std::size_t>(n + 2 * kReach));
        for (int i = 0; i < kReach; ++i) {  // beyond the ends
            atoms[i].fill(mix(1000 + i));
            atoms[n + kReach + i].fill(mix(2000 + i));
        }
        const auto class_of = [&](std::uint64_t lower, char kind) {
            const std::int32_t found = classes_.number(lower);
            return mix(found >= 0 ? 0x10000u + static_cast<std::uint64_t>(found) : static_cast<unsigned char>(kind));
        };
        for (int i = 0; i < n; ++i)
            scratch.reader.atoms(t.field(s.first + i, kForm), i == 0, class_of, atoms[i + kReach]);
        constexpr std::uint64_t odd[3] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u};
        for (int i = 0; i < n; ++i)
            for (int f = 0; f < kWordFeatures; ++f) {
                const WordTemplate& made = kWordTemplates[f];
                std::uint64_t sum = static_cast<std::uint64_t>(f) << 32;
                for (int k = 0; k < made.n; ++k)
                    sum += odd[k] * atoms[i + kReach + made.part[k].offset][made.part[k].atom];
                out[static_cast<std::size_t>(i) * kWordFeatures + f] = mix(sum);
            }
    }

    // Appends the columns of one sentence's words, and where each word's end.
    void rows(const Treebank& t, const Treebank::Sentence& s, Scratch& scratch, std::vector<std::int32_t>& columns,
              std::int64_t* row_ends) const {
        const std::size_t n = s.last - s.first;
        scratch.keys.resize(n * kWordFeatures);
        keys(t, s, scratch, scratch.keys.data());
        const auto key = [&](std::size_t i, int f) { return scratch.keys[i * kWordFeatures + f]; };
        const auto prefetch = [&](std::size_t i) {
            for (int f = 0; f < kWordFeatures; ++f) keys_.prefetch(key(i, f));
        };
        prefetch(0);
        for (std::size_t i = 0; i < n; ++i) {
            if (i + 1 < n) prefetch(i + 1);
            for (int f = 0; f < kWordFeatures; ++f) {
                const std::int32_t at = keys_.number(key(i, f));
                if (at >= (f == 0 ? 0 : ends_[f - 1]) && at < ends_[f]) columns.push_back(at);
            }
            row_ends[i] = static_cast<std::int64_t>(columns.size());
        }
    }

private:
    KeyTable classes_, keys_;
    std::int64_t ends_[kWordFeatures];
};

}  // namespace wald::parser
