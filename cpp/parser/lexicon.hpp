// Small numbers for tags, which index dense tables: the length filter, the weights of tags between, sets of tags.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parser/hashing.hpp"
#include "parser/key_table.hpp"
#include "parser/treebank.hpp"

namespace wald::parser {

// If one of the two tag columns is missing, the other one replaces it; a coarse tag is then its first two letters (as
// in MSTParser).
inline std::string_view fine_tag(const Treebank& t, std::size_t word) {
    const std::string_view x = t.field(word, kXpos);
    return x == "_" ? t.field(word, kUpos) : x;
}
inline std::string_view coarse_tag(const Treebank& t, std::size_t word) {
    const std::string_view u = t.field(word, kUpos);
    return u == "_" ? t.field(word, kXpos).substr(0, 2) : u;
}

class TagNumbers {
public:
    // A set of tags is one 64-bit word. The last number stands for all other tags.
    static constexpr int kMostTags = 64, kRoot = 0;

    TagNumbers() = default;
    explicit TagNumbers(std::vector<std::string> tags) : tags_(std::move(tags)), numbers_(tags_.size()) {
        for (std::size_t i = 0; i < tags_.size(); ++i) numbers_.add(hash(tags_[i]), static_cast<std::int32_t>(i + 1));
    }
    // Numbers the most frequent tags; ties are in alphabetical order.
    template <class TagOf>
    static TagNumbers of(const Treebank& t, TagOf&& tag_of) {
        std::map<std::string, std::int64_t> counts;
        for (std::size_t w = 0; w < t.words.size(); ++w) ++counts[std::string(tag_of(t, w))];
        std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        std::vector<std::string> tags;
        for (const auto& [tag, n] : sorted)
            if (tags.size() < kMostTags - 2) tags.push_back(tag);
        return TagNumbers(std::move(tags));
    }

    static std::uint64_t hash(std::string_view tag) { return hash_bytes(tag, 't'); }
    const std::vector<std::string>& tags() const { return tags_; }
    int n_tags() const { return static_cast<int>(tags_.size()) + 2; }  // with the root and the number for others
    // The number of a tag, given its hash.
    std::uint8_t number(std::uint64_t h) const {
        const std::int32_t found = numbers_.number(h);
        return static_cast<std::uint8_t>(found < 0 ? n_tags() - 1 : found);
    }

private:
    std::vector<std::string> tags_;
    KeyTable numbers_;
};

struct Lexicon {
    TagNumbers fine, coarse;
    static Lexicon of(const Treebank& t) { return {TagNumbers::of(t, fine_tag), TagNumbers::of(t, coarse_tag)}; }
};

}  // namespace wald::parser
