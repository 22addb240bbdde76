// What a word does in its phrase, as far as its coarse tag tells: of Universal Dependencies, or the Penn Treebank's cut
// to two letters. A word with any other tag does nothing of this.
#pragma once

#include <array>

#include "parser/lexicon.hpp"

namespace wald::parser {

using Roles = std::uint8_t;
inline constexpr Roles kOpens = 1;    // a phrase begins with it: preposition, conjunction
inline constexpr Roles kBounds = 2;   // a phrase of a noun does not reach beyond it: verb, punctuation
inline constexpr Roles kAttends = 4;  // belongs to a word near it: determiner, adjective, preposition

class TagRoles {
public:
    // By the tag's hash.
    static Roles of(std::uint64_t hash) {
        static const TagRoles all;
        return all.roles_[all.numbers_.number(hash)];
    }

private:
    struct Entry {
        const char* tag;
        Roles roles;
    };
    static constexpr Entry kEntries[] = {
        {"ADP", kOpens | kAttends},
        {"SCONJ", kOpens},
        {"CCONJ", kOpens},
        {"VERB", kBounds},
        {"AUX", kBounds | kAttends},
        {"PUNCT", kBounds},
        {"INTJ", kBounds},
        {"DET", kAttends},
        {"ADJ", kAttends},
        {"ADV", kAttends},
        {"NUM", kAttends},
        {"PART", kAttends},
        {"IN", kOpens | kAttends},
        {"TO", kOpens | kAttends},
        {"CC", kOpens},
        {"VB", kBounds},
        {"MD", kBounds | kAttends},
        {",", kBounds},
        {".", kBounds},
        {":", kBounds},
        {"``", kBounds},
        {"''", kBounds},
        {"DT", kAttends},
        {"JJ", kAttends},
        {"RB", kAttends},
        {"CD", kAttends},
        {"PR", kAttends},
        {"PO", kAttends},
    };
    TagRoles() {
        std::vector<std::string> tags;
        for (const Entry& e : kEntries) tags.emplace_back(e.tag), roles_[tags.size()] = e.roles;
        numbers_ = TagNumbers(std::move(tags));
    }
    TagNumbers numbers_;
    std::array<Roles, TagNumbers::kMostTags> roles_{};  // by number
};

}  // namespace wald::parser
