// Feature templates of arcs. A template names atoms of the head (h) and of the modifier (m), at an offset in the
// sentence: t the fine tag, c the coarse one, w the word form in lower case, s its last three letters, a its shape, o
// the opener of its phrase, l and r the coarse tags of the nearest words to the left and to the right that attach to no
// other (tag_roles.hpp). It may also name contexts: the set of fine tags between the two words, the set of coarse tags,
// and how often the two words' own coarse tags occur there.
//
// McDonald, Crammer and Pereira, "Online large-margin training of dependency parsers", ACL 2005, table 1, and what
// others added since: coarse tags beside fine ones, neighbouring words, five tags in a row, suffixes, shapes, what lies
// between. Where a treebank makes the noun the head of its preposition (Universal Dependencies do), o is the
// preposition of the modifier, which other parsers read from grandchildren.
//
// Pairs of arcs have templates of three words: x is the grandparent or the nearest sibling.
//
// A template of a single word is scored once per word, however many arcs the word has. Templates are separated by |.
#pragma once

#include <string_view>
#include <vector>

namespace wald::parser {

inline std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> found;
    for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1))
        found.push_back(text.substr(0, end = text.find(at)));
    return found;
}

inline constexpr int kContexts = 3;
inline constexpr std::string_view kContextNames[kContexts] = {"between", "coarse", "count"};

// Group 0: tags only.
inline constexpr std::string_view kTagPairs =
    "ht mt|ht mt mt+1|ht mt-1 mt|ht ht+1 mt|ht-1 ht mt|ht ht+1 mt-1 mt|ht-1 ht mt-1 mt|ht ht+1 mt mt+1|"
    "ht-1 ht mt mt+1|ht-1 ht ht+1 mt-1 mt mt+1|hc mc|hc hc+1 mc-1 mc|hc-1 hc mc-1 mc|hc hc+1 mc mc+1|"
    "hc-1 hc mc mc+1|hc-1 hc hc+1 mc-1 mc mc+1";
// For the head and for the modifier.
inline constexpr std::string_view kTagUnigrams =
    "t|t t+1|t-1 t|t-1 t t+1|t t+1 t+2|t-2 t-1 t|t-1 t t+1 t+2|t-2 t-1 t t+1|c|c c+1|c-1 c|c-1 c c+1|c c+1 c+2|"
    "c-2 c-1 c|c-2 c-1 c c+1 c+2|t-2 t-1 t t+1 t+2";

// Group 1: words, with tags and neighbours.
inline constexpr std::string_view kWordPairs =
    "hw mw|hw mt|ht mw|hs ms|hs mt|ht ms|hw mt mt+1|hw mt-1 mt|ht ht+1 mw|ht-1 ht mw|hw-1 ht mt|ht mw+1 mt|"
    "ht mw-1 mt|ht-2 ht-1 ht ht+1 ht+2 mt|ht mt-2 mt-1 mt mt+1 mt+2|ht ht+1 ht+2 mt-2 mt-1 mt|"
    "ht-2 ht-1 ht mt mt+1 mt+2|hw mo|ht mo mt|hw mo mt|hw mo mw|ho mo mt|ho ht mo mt|ht mt hr ml|ht mt hl mr|"
    "hl hr ht mt|ht mt ml mr|hl ht hr ml mt mr|ht mt between|ht mt coarse count|hw mt coarse|ht mw coarse";
inline constexpr std::string_view kWordUnigrams =
    "w|w t|w t+1|w t-1|w t-1 t t+1|w c|w-1 t|w+1 t|w-1 w|w w+1|s|s t|a t|a t-1 t t+1|s t-1 t|s t t+1|w a|"
    "w-1 w w+1|w-1 t w+1|w+1 w+2|w-2 w-1|s-1 t|s+1 t|s-1 s|s s+1|s t-1 t t+1|w t-2 t-1|w t+1 t+2|w c-1 c+1|"
    "a-1 a t|a a+1 t|w-1 t+1 t|o|o t|o w|o s|o t+1|l r|l t|r t|l t r|l w|r w|l w r|o t r|o t l|o t t-1|"
    "l t-1 t t+1 r";
// Group 1, pairs of arcs.
inline constexpr std::string_view kGrandparents =
    "xt ht mt|xc hc mc|xt ht mw|xt hw mt|xw ht mt|xt hw mw|xw hw mt|xw ht mw|xt mt|xw mw|xt mw|xw mt|xt ht mt mt+1|"
    "xt ht mt-1 mt|xt mo mt|xw mo mt";
inline constexpr std::string_view kSiblings =
    "xt ht mt|xc hc mc|xt ht mw|xt hw mt|xw ht mt|xt hw mw|xw hw mt|xw ht mw|xt mt|xw mw|xt mw|xw mt|xt ht mt mt+1|"
    "xt xt+1 mt-1 mt|xo xt mo mt|xc mc";
// Relations, given the arc.
inline constexpr std::string_view kLabelPairs =
    "ht mt|hw mw|hw mt|ht mw|hc mc|mw mt|hw ht|ms mt ht|hs mt|hw ms|ht mt-1 mt mt+1|ht-1 ht ht+1 mt|ht mt mw-1|"
    "ht mt mw+1|hw mt mt-1|hw mt mt+1|ht mt-2 mt-1 mt|ht mt mt+1 mt+2|hc mc mw-1 mw-2|hw mc mw-1|ht mt coarse|"
    "hw mt coarse|ht mw coarse|ht mt count|hs ms|ha ma ht mt|mw-1 mw|mw mw+1|hw mw-1|hw-1 ht mt|hw+1 ht mt|"
    "hc mc mc-1 mc+1";

}  // namespace wald::parser
