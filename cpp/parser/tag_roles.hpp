// Roles of a word in its phrase, by its coarse tag: a tag of Universal Dependencies, or the first two letters of a tag
// of the Penn Treebank. Other tags have no role.
#pragma once

#include "parser/lexicon.hpp"
#include "parser/templates.hpp"

namespace wald::parser {

using Roles = std::uint8_t;
inline constexpr Roles kOpens = 1;     // a phrase begins with it: preposition, conjunction
inline constexpr Roles kBounds = 2;    // a phrase of a noun does not reach beyond it: verb, punctuation
inline constexpr Roles kAttaches = 4;  // attaches to a word nearby: determiner, adjective, preposition

// The roles of a tag, given its hash.
inline Roles roles_of(std::uint64_t hash) {
    static const KeyTable roles = [] {
        constexpr std::pair<Roles, std::string_view> tags[] = {
            {kOpens, "ADP SCONJ CCONJ IN TO CC"},
            {kBounds, "VERB AUX PUNCT INTJ VB MD , . : `` ''"},
            {kAttaches, "ADP AUX DET ADJ ADV NUM PART IN TO MD DT JJ RB CD PR PO"},
        };
        std::map<std::uint64_t, Roles> found;
        for (const auto& [role, names] : tags)
            for (const std::string_view tag : split(names, ' ')) found[TagNumbers::hash(tag)] |= role;
        KeyTable table(found.size());
        for (const auto& [tag, its_roles] : found) table.add(tag, its_roles);
        return table;
    }();
    const std::int32_t found = roles.number(hash);
    return static_cast<Roles>(found < 0 ? 0 : found);
}

}  // namespace wald::parser
