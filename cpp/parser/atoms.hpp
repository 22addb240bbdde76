// The atoms of a sentence (tags, forms, suffixes, shapes) as random 32-bit numbers, from which keys are computed.
#pragma once

#include <vector>

#include "parser/key_plan.hpp"
#include "parser/tag_roles.hpp"

namespace wald::parser {

class Atoms {
public:
    // Reads a sentence. Position 0 is the root; the words follow.
    void read(const Treebank& t, std::size_t sentence, const Lexicon& lexicon) {
        const Treebank::Sentence& s = t.sentences[sentence];
        n_ = static_cast<int>(s.last - s.first) + 1;
        for (int k = 0; k < kKinds; ++k) {
            std::vector<std::uint32_t>& a = values_[k];
            a.resize(static_cast<std::size_t>(n_ + 2 * kPad));
            for (int i = 0; i < kPad; ++i) a[i] = kBefore, a[n_ + kPad + i] = kAfter;
            a[kPad] = kRootWord;
            const auto [letter, reach] = kLetters[k];
            for (int o = -reach; o <= reach; ++o) at_[atom_index(letter, o)] = a.data() + kPad + o;
        }
        auto& [tags, coarse_tags, forms, suffixes, shapes, openers, lefts, rights] = values_;
        numbers_.resize(static_cast<std::size_t>(n_));
        roles_.resize(static_cast<std::size_t>(n_));
        coarse_numbers_.resize(static_cast<std::size_t>(n_));
        numbers_[0] = coarse_numbers_[0] = TagNumbers::kRoot;
        for (int i = 1; i < n_; ++i) {
            const std::size_t w = s.first + static_cast<std::size_t>(i) - 1;
            const std::string_view given = t.field(w, kForm), form = lower_case(given);
            const std::uint64_t tag = TagNumbers::hash(fine_tag(t, w)), coarse = TagNumbers::hash(coarse_tag(t, w));
            numbers_[i] = lexicon.fine.number(tag);
            coarse_numbers_[i] = lexicon.coarse.number(coarse);
            roles_[i] = roles_of(coarse);
            tags[i + kPad] = static_cast<std::uint32_t>(tag >> 32);
            coarse_tags[i + kPad] = static_cast<std::uint32_t>(coarse >> 32);
            forms[i + kPad] = short_hash(form, 'w');
            suffixes[i + kPad] = short_hash(last_letters(form, 3), 's');
            shapes[i + kPad] = static_cast<std::uint32_t>(mix(shape_of(given)) >> 32);
        }
        // The opener of every word's phrase: the form of the nearest preposition or conjunction before it, or the tag
        // of a boundary that is nearer. The coarse tag of the nearest word on each side that is not kAttaches.
        if (n_ < 2) return;
        openers[1 + kPad] = lefts[1 + kPad] = kBefore;
        for (int i = 1, at = 1 + kPad; i + 1 < n_; ++i, ++at) {
            openers[at + 1] = roles_[i] & kOpens ? forms[at] : roles_[i] & kBounds ? coarse_tags[at] : openers[at];
            lefts[at + 1] = roles_[i] & kAttaches ? lefts[at] : coarse_tags[at];
        }
        rights[n_ - 1 + kPad] = kAfter;
        for (int i = n_ - 1, at = i + kPad; i > 1; --i, --at)
            rights[at - 1] = roles_[i] & kAttaches ? rights[at] : coarse_tags[at];
    }

    int n() const { return n_; }  // with the root
    const std::uint8_t* tags() const { return numbers_.data(); }
    const std::uint8_t* coarse_tags() const { return coarse_numbers_.data(); }
    const std::uint32_t* const* arrays() const { return at_; }

private:
    static constexpr int kKinds = std::size(kLetters);
    static constexpr std::uint32_t kBefore = 0x7feb352du, kAfter = 0x846ca68bu, kRootWord = 0x9e3779b9u;

    static std::uint32_t short_hash(std::string_view s, std::uint64_t salt) {
        return static_cast<std::uint32_t>(hash_bytes(s, salt) >> 32);
    }
    // Changes ASCII letters only. The shape tells which letters were capitals.
    std::string_view lower_case(std::string_view s) {
        lower_.assign(s);
        for (char& c : lower_)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        return lower_;
    }
    // Counts UTF-8 characters, not bytes.
    static std::string_view last_letters(std::string_view s, int n) {
        std::size_t at = s.size();
        for (; at > 0 && n > 0; --n) do
                --at;
            while (at > 0 && (static_cast<unsigned char>(s[at]) & 0xc0) == 0x80);
        return s.substr(at);
    }
    // Flags for capitals, lower case, digits, hyphens, other signs, non-ASCII bytes and a capital at the start; then
    // the length class.
    static std::uint32_t shape_of(std::string_view s) {
        bool upper = false, lower = false, digit = false, hyphen = false, sign = false, other = false;
        for (const char ch : s) {
            const unsigned char c = static_cast<unsigned char>(ch);
            upper |= c >= 'A' && c <= 'Z';
            lower |= c >= 'a' && c <= 'z';
            digit |= c >= '0' && c <= '9';
            hyphen |= c == '-';
            other |= c >= 0x80;
            sign |= c < '0' || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x80);
        }
        const bool first = !s.empty() && s[0] >= 'A' && s[0] <= 'Z';
        const std::uint32_t length = s.size() < 4    ? static_cast<std::uint32_t>(s.size())
                                     : s.size() < 7  ? 4
                                     : s.size() < 11 ? 5
                                                     : 6;
        return static_cast<std::uint32_t>(upper | lower << 1 | digit << 2 | hyphen << 3 | sign << 4 | other << 5 |
                                          first << 6) |
               length << 8;
    }

    std::string lower_;
    int n_ = 0;
    std::array<std::vector<std::uint32_t>, kKinds> values_;  // in the order of kLetters, with kPad on both sides
    std::vector<std::uint8_t> numbers_, coarse_numbers_;
    std::vector<Roles> roles_;  // the root's entry is not read
    const std::uint32_t* at_[kAtoms] = {};
};

}  // namespace wald::parser
