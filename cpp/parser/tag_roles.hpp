// Roles of a word in its phrase, by its coarse tag: a tag of Universal Dependencies, or the first two letters of a tag
// of the Penn Treebank. Other tags have no role.
#pragma once

#include <array>
#include <sstream>

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
    static constexpr std::pair<Roles, const char*> kTags[] = {
        {kOpens, "ADP SCONJ CCONJ IN TO CC"},
        {kBounds, "VERB AUX PUNCT INTJ VB MD , . : `` ''"},
        {kAttaches, "ADP AUX DET ADJ ADV NUM PART IN TO MD DT JJ RB CD PR PO"},
    };
    TagRoles() {
        std::map<std::string, Roles> roles;
        for (const auto& [role, tags] : kTags) {
            std::istringstream words(tags);
            for (std::string tag; words >> tag;) roles[tag] |= role;
        }
        std::vector<std::string> tags;
        for (const auto& [tag, its_roles] : roles) tags.push_back(tag), roles_[tags.size()] = its_roles;
        numbers_ = TagNumbers(std::move(tags));
    }
    TagNumbers numbers_;
    std::array<Roles, TagNumbers::kMostTags> roles_{};  // by number
};

}  // namespace wald::parser
