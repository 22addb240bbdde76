// Arcs that are too long for the tags of their two words are never scored. He, Daume and Eisner, "Dynamic feature
// selection for dependency parsing", EMNLP 2013, after Rush and Petrov, "Vine pruning", NAACL 2012.
// Arcs from the root and between neighbours are always allowed, so that a projective tree with one root exists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wald::parser {

// The longest arc seen for every head tag, modifier tag and direction; 0 for tags never seen together.
class LengthFilter {
public:
    LengthFilter() = default;
    explicit LengthFilter(int n_tags)
        : LengthFilter(n_tags, std::vector<std::uint16_t>(static_cast<std::size_t>(n_tags) * n_tags * 2)) {}
    LengthFilter(int n_tags, std::vector<std::uint16_t> longest) : n_tags_(n_tags), longest_(std::move(longest)) {}

    void add(int head_tag, int modifier_tag, bool right, int length) {
        std::uint16_t& longest = longest_[index(head_tag, modifier_tag, right)];
        longest = std::max(longest, static_cast<std::uint16_t>(length));
    }
    int longest(int head_tag, int modifier_tag, bool right) const {
        return longest_[index(head_tag, modifier_tag, right)];
    }
    const std::vector<std::uint16_t>& all() const { return longest_; }
    int n_tags() const { return n_tags_; }

private:
    std::size_t index(int h, int m, bool right) const {
        return (static_cast<std::size_t>(h) * n_tags_ + m) * 2 + right;
    }
    int n_tags_ = 0;
    std::vector<std::uint16_t> longest_;
};

// The filter under one setting: an arc may be as long as longest * factor + extra.
class Limits {
public:
    Limits() = default;
    Limits(const LengthFilter& f, bool use, double factor, double extra)
        : n_tags_(f.n_tags()), limit_(f.all().size(), INT32_MAX) {
        for (int h = 1; use && h < n_tags_; ++h)
            for (int m = 0; m < n_tags_; ++m)
                for (const bool right : {false, true})
                    limit_[index(m, right, h)] = std::max(1, static_cast<int>(f.longest(h, m, right) * factor + extra));
    }
    // [head tag]
    const std::int32_t* row(int modifier_tag, bool right) const {
        return limit_.data() + index(modifier_tag, right, 0);
    }

private:
    std::size_t index(int m, bool right, int h) const {
        return (static_cast<std::size_t>(m) * 2 + right) * n_tags_ + h;
    }
    int n_tags_ = 0;
    std::vector<std::int32_t> limit_;
};

}  // namespace wald::parser
