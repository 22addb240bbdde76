// Roles of a word in its phrase, by its coarse tag: a tag of Universal Dependencies, or the first two letters of a tag
// of the Penn Treebank. Other tags have no role.
#pragma once

#include <array>

#include "parser/lexicon.hpp"

namespace wald::parser {

using Roles = std::uint8_t;
inline constexpr Roles kOpens = 1;     // a phrase begins with it: preposition, conjunction
inline constexpr Roles kBounds = 2;    // a phrase of a noun does not reach beyond it: verb, punctuation
inline constexpr Roles kAttaches = 4;  // attaches to a word nearby: determiner, adjective, preposition

class TagRoles {
public:
    // The roles of a tag, given its hash.
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
        {"ADP", kOpens | kAttaches},
        {"SCONJ", kOpens},
        {"CCONJ", kOpens},
        {"VERB", kBounds},
        {"AUX", kBounds | kAttaches},
        {"PUNCT", kBounds},
        {"INTJ", kBounds},
        {"DET", kAttaches},
        {"ADJ", kAttaches},
        {"ADV", kAttaches},
        {"NUM", kAttaches},
        {"PART", kAttaches},
        {"IN", kOpens | kAttaches},
        {"TO", kOpens | kAttaches},
        {"CC", kOpens},
        {"VB", kBounds},
        {"MD", kBounds | kAttaches},
        {",", kBounds},
        {".", kBounds},
        {":", kBounds},
        {"``", kBounds},
        {"''", kBounds},
        {"DT", kAttaches},
        {"JJ", kAttaches},
        {"RB", kAttaches},
        {"CD", kAttaches},
        {"PR", kAttaches},
        {"PO", kAttaches},
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
