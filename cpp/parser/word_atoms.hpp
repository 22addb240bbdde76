// What a tagger sees of one word: hashes of the word, its shape, and its ends.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "parser/hashing.hpp"

namespace wald::parser {

enum WordAtom : int {
    kWord,     // as it is written
    kLower,    // in lower case, digits as 0
    kShape,    // X for upper case, x for other letters, d for digits, others as they are; of eight characters
    kShort,    // the whole shape, each run of one kind once
    kSuffix1,  // ends of the lower case
    kSuffix2,
    kSuffix3,
    kSuffix4,
    kSuffix5,
    kPrefix1,
    kPrefix2,
    kPrefix3,
    kPrefix4,
    kFlags,     // what kinds of characters there are, and how many up to six
    kClass,     // the labels that the word has had
    kSkeleton,  // short shape and two characters of the end
    kOpening,   // flags, and whether the word opens the sentence
    kWordAtoms
};
using WordAtoms = std::array<std::uint64_t, kWordAtoms>;

class WordReader {
public:
    // The word's hash in lower case, by which its class is looked up.
    std::uint64_t lower(std::string_view form) {
        read(form);
        return hash_bytes(lower_, 'l');
    }

    // All atoms but the class, which `class_of(lower hash, kind of the first character)` gives.
    template <class ClassOf>
    void atoms(std::string_view form, bool opens, ClassOf&& class_of, WordAtoms& out) {
        read(form);
        out[kWord] = hash_bytes(form, 'w');
        out[kLower] = hash_bytes(lower_, 'l');
        const auto part = [](std::string_view s, std::size_t n) { return s.substr(0, std::min(n, s.size())); };
        out[kShape] = hash_bytes(part(shape_, 8), 's');
        out[kShort] = hash_bytes(short_, 'r');
        const int n = static_cast<int>(starts_.size()) - 1;
        const auto slice = [&](int first, int last) {
            return std::string_view(lower_).substr(starts_[first], starts_[last] - starts_[first]);
        };
        for (int k = 1; k <= 5; ++k) out[kSuffix1 + k - 1] = hash_bytes(slice(std::max(0, n - k), n), 'e' + 256u * k);
        for (int k = 1; k <= 4; ++k) out[kPrefix1 + k - 1] = hash_bytes(slice(0, std::min(k, n)), 'b' + 256u * k);
        out[kFlags] = mix(flags_ ^ 0xf1a95u);
        out[kClass] = class_of(out[kLower], shape_.empty() ? 'x' : shape_.front());
        out[kSkeleton] = mix(out[kShort] + 3 * out[kSuffix2]);
        out[kOpening] = mix(flags_ ^ (opens ? 0x0be9u : 0xc0u) << 20);
    }

private:
    // Finds the lower case, where its characters start, and the shapes. Letters beyond ASCII have a case where their
    // two cases differ by a constant: Latin-1, Greek and Cyrillic. `form` is valid UTF-8.
    void read(std::string_view form) {
        lower_.clear(), shape_.clear(), short_.clear(), starts_.clear();
        bool upper = false, all_upper = true, digit = false, all_letters = true;
        std::uint64_t marks = 0;
        for (std::size_t i = 0; i < form.size();) {
            starts_.push_back(static_cast<std::uint32_t>(lower_.size()));
            const unsigned char c = static_cast<unsigned char>(form[i]);
            char kind = static_cast<char>(c);
            if (c < 0x80) {
                const bool is_upper = c >= 'A' && c <= 'Z', is_digit = c >= '0' && c <= '9';
                const bool letter = is_upper || (c >= 'a' && c <= 'z');
                lower_ += static_cast<char>(is_upper ? c + 32 : is_digit ? '0' : c);
                if (letter) kind = is_upper ? 'X' : 'x';
                if (is_digit) kind = 'd', digit = true;
                if (!letter) all_letters = false;
                if (!is_upper) all_upper = false;
                if (i == 0) upper = is_upper;
                marks |= c == '-' ? 1u : c == '.' ? 2u : c == '@' ? 4u : c == '/' ? 8u : c == '\'' ? 16u : 0u;
                ++i;
            } else {
                std::size_t length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
                length = std::min(length, form.size() - i);
                const std::uint32_t both =
                    length == 2 ? static_cast<std::uint32_t>(c) << 8 | static_cast<unsigned char>(form[i + 1]) : 0;
                const std::uint32_t low = lower_of(both);
                kind = low != both ? 'X' : 'x';
                if (low == both) all_upper = false;
                if (i == 0) upper = low != both;
                if (both != 0) {
                    lower_ += static_cast<char>(low >> 8);
                    lower_ += static_cast<char>(low & 0xff);
                } else {
                    lower_.append(form.substr(i, length));
                }
                i += length;
            }
            shape_ += kind;
            if (short_.empty() || short_.back() != kind) short_ += kind;
        }
        starts_.push_back(static_cast<std::uint32_t>(lower_.size()));
        const std::uint64_t n = starts_.size() - 1;
        flags_ = (upper ? 1u : 0u) | (all_upper && n > 1 ? 2u : 0u) | (digit ? 4u : 0u) | (all_letters ? 8u : 0u) |
                 marks << 4 | std::min<std::uint64_t>(n, 6) << 9;
    }

    // The lower case of a character of two bytes, both as one number.
    static std::uint32_t lower_of(std::uint32_t c) {
        if (c >= 0xc380 && c <= 0xc39e && c != 0xc397) return c + 0x20;  // Latin-1
        if (c >= 0xce91 && c <= 0xce9f) return c + 0x20;                 // Greek
        if (c >= 0xcea0 && c <= 0xcea9) return c - 0xcea0 + 0xcf80;
        if (c >= 0xd090 && c <= 0xd09f) return c + 0x20;  // Cyrillic
        if (c >= 0xd0a0 && c <= 0xd0af) return c - 0xd0a0 + 0xd180;
        if (c >= 0xd080 && c <= 0xd08f) return c - 0xd080 + 0xd190;
        return c;
    }

    std::string lower_, shape_, short_;
    std::vector<std::uint32_t> starts_;
    std::uint64_t flags_ = 0;
};

}  // namespace wald::parser
