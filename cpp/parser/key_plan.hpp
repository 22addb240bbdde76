// Keys of templates. Every atom is a random 32-bit value x; the key of a template is salt + sum_a c_a x_a modulo 2^32
// with random odd coefficients c. As a sum, an arc's key is its head's part plus its modifier's part, and sixteen
// templates take one vector operation.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "parser/hashing.hpp"
#include "parser/kernels.hpp"
#include "parser/templates.hpp"

namespace wald::parser {

// The letters of atoms, and the largest offsets that they have: t-2..t+2, c-2..c+2 and so on.
inline constexpr std::pair<char, int> kLetters[] = {{'t', 2}, {'c', 2}, {'w', 2}, {'s', 1},
                                                    {'a', 1}, {'o', 0}, {'l', 0}, {'r', 0}};
inline constexpr int kAtoms = 24, kPad = 2;  // atoms; the largest offset of all

inline int atom_index(char letter, int offset) {
    int first = 0;
    for (const auto& [name, reach] : kLetters) {
        if (name == letter) return first + reach + offset;
        first += 2 * reach + 1;
    }
    return first;
}

// The atoms that a template uses on one side ('h', 'm', 'x', or 0 for a template of one word), one bit each.
inline std::uint32_t atoms_of(std::string_view text, char side) {
    std::uint32_t bits = 0;
    for (std::string_view name : split(text, ' ')) {
        if (name == kContextNames[0] || name == kContextNames[1] || name == kContextNames[2]) continue;
        if (side != 0) {
            if (name[0] != side) continue;
            name.remove_prefix(1);
        }
        const int offset = name.size() < 3 ? 0 : (name[1] == '-' ? -1 : 1) * (name[2] - '0');
        bits |= 1u << atom_index(name[0], offset);
    }
    return bits;
}

// The random coefficient of a template for an atom of one side; side 2 stands for the contexts, side 3 for
// the third word.
inline std::uint32_t odd_number(std::uint32_t template_id, std::uint32_t side, std::uint32_t atom) {
    return static_cast<std::uint32_t>(mix((std::uint64_t{template_id} << 16) | (side << 8) | atom) >> 32) | 1u;
}
inline constexpr std::uint32_t kSalt = 255;  // in place of an atom

// The coefficients of templates, in vectors of sixteen, for all sides and for the contexts.
class KeyPlan {
public:
    // Whole vectors of templates, of pairs or of single words, numbered from first_id on.
    KeyPlan(std::uint32_t first_id, std::initializer_list<std::pair<std::string_view, bool>> lists)
        : next_id_(first_id) {
        for (const auto& [templates, pairs] : lists) {
            const std::vector<std::string_view> texts = split(templates, '|');
            for (std::size_t t = 0; t < texts.size(); t += kLanes, next_id_ += kLanes)
                add_vector(texts.data() + t, pairs);
        }
    }

    KeyTemplates side(int s) const {
        return {first_[s].data(), atoms_[s].data(), coefficients_[s].data(), salts_[s].data()};
    }
    // The keys of all words of a sentence, [position][vector][lane].
    void find_keys(int s, const std::uint32_t* const* atoms, int n, std::vector<std::uint32_t>& keys) const {
        keys.resize(static_cast<std::size_t>(n) * vectors() * kLanes);
        parser_kernels().keys(side(s), atoms, nullptr, n, 0, vectors(), vectors(), keys.data());
    }
    // Adds to the keys of a vector of templates what an arc's contexts make of them.
    void add_contexts(int vector, const std::uint32_t* contexts, std::uint32_t* keys) const {
        const std::uint32_t* c = context() + vector * kContexts * kLanes;
        for (int l = 0; l < kLanes; ++l)
            keys[l] += c[l] * contexts[0] + c[kLanes + l] * contexts[1] + c[2 * kLanes + l] * contexts[2];
    }
    const std::uint32_t* context() const { return context_.data(); }  // [vector][context][lane]
    const std::uint8_t* has_context() const { return has_context_.data(); }
    int vectors() const { return static_cast<int>(has_context_.size()); }

    static constexpr int kLanes = 16;

private:
    void add_vector(const std::string_view* texts, bool pairs) {
        for (std::uint32_t s = 0; s < 3; ++s) {
            const std::uint32_t side = s == 2 ? 3 : s;
            std::uint32_t bits[kLanes], any = 0;
            for (int l = 0; l < kLanes; ++l) any |= bits[l] = atoms_of(texts[l], pairs ? "hmx"[s] : char{0});
            for (std::uint32_t a = 0; a < kAtoms; ++a) {
                if (!(any >> a & 1)) continue;
                atoms_[s].push_back(static_cast<std::int32_t>(a));
                for (std::uint32_t l = 0; l < kLanes; ++l)
                    coefficients_[s].push_back(bits[l] >> a & 1 ? odd_number(next_id_ + l, side, a) : 0);
            }
            first_[s].push_back(static_cast<std::int32_t>(atoms_[s].size()));
            for (std::uint32_t l = 0; l < kLanes; ++l) salts_[s].push_back(odd_number(next_id_ + l, side, kSalt));
        }
        bool any = false;
        for (std::uint32_t c = 0; c < kContexts; ++c)
            for (std::uint32_t l = 0; l < kLanes; ++l) {
                const bool there = texts[l].find(kContextNames[c]) != std::string_view::npos;
                context_.push_back(there ? odd_number(next_id_ + l, 2, c) : 0);
                any |= there;
            }
        has_context_.push_back(any);
    }

    std::uint32_t next_id_;
    std::vector<std::int32_t> first_[3] = {{0}, {0}, {0}}, atoms_[3];
    std::vector<std::uint32_t> coefficients_[3], salts_[3], context_;
    std::vector<std::uint8_t> has_context_;
};

inline constexpr int kGroups = 2;
constexpr int vectors_of(std::string_view templates) {
    const int n = 1 + static_cast<int>(std::count(templates.begin(), templates.end(), '|'));
    return n % KeyPlan::kLanes == 0 ? n / KeyPlan::kLanes : throw "templates come in whole vectors";
}

// Where the vectors of an arc's templates end: the pairs and unigrams of group 0, then those of group 1.
inline constexpr int kTagPairsEnd = vectors_of(kTagPairs), kTagsEnd = kTagPairsEnd + vectors_of(kTagUnigrams);
inline constexpr int kWordPairsEnd = kTagsEnd + vectors_of(kWordPairs);
inline constexpr int kVectors = kWordPairsEnd + vectors_of(kWordUnigrams);

inline const KeyPlan& arc_plan() {
    static const KeyPlan plan(0,
                              {{kTagPairs, true}, {kTagUnigrams, false}, {kWordPairs, true}, {kWordUnigrams, false}});
    return plan;
}

// The templates of pairs of arcs.
inline constexpr int kSecondOrderVectors = vectors_of(kGrandparents) + vectors_of(kSiblings);
inline const KeyPlan& second_order_plan() {
    static const KeyPlan plan(1 << 13, {{kGrandparents, true}, {kSiblings, true}});
    return plan;
}

// The templates of a relation.
inline constexpr int kLabelVectors = vectors_of(kLabelPairs);
inline const KeyPlan& label_plan() {
    static const KeyPlan plan(1 << 12, {{kLabelPairs, true}});
    return plan;
}

}  // namespace wald::parser
