// The arcs of a sentence that are worth a score, and what they look like from far: direction, length, and what lies
// between.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "parser/hashing.hpp"
#include "parser/kernels.hpp"
#include "parser/length_filter.hpp"

namespace wald::parser {

// Slots of a feature: 0 and 1 for the direction alone (modifier left or right of its head), then direction and length,
// 1, 2, 3, 4, 5-6, 7-10 and more.
inline constexpr int kBins = 16;
inline int length_class(int length) {
    constexpr std::uint8_t of[] = {0, 0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6};
    return of[std::min(length, 11)];
}
inline std::uint8_t bin_of(int head, int modifier) {
    return static_cast<std::uint8_t>(2 + 2 * length_class(std::abs(modifier - head)) + (modifier > head));
}

// The word whose state says whether an arc has the costly group: its modifier or, where words own the arcs that they
// are the head of, its head; arcs from the root, which is no word, are their modifiers' in any case.
inline int owner_of(int head, int modifier, bool by_head) { return by_head && head > 0 ? head : modifier; }

// The tags strictly between two words.
class Between {
public:
    void see(int tag, int coarse) {
        tags_ |= std::uint64_t{1} << tag;
        coarse_ |= std::uint64_t{1} << coarse;
        if (count_[coarse] < 3) ++count_[coarse];
    }
    std::uint64_t tags() const { return tags_; }
    std::uint64_t coarse() const { return coarse_; }
    // How often the coarse tags of the arc's own head and modifier occur, 0 to 3 times each.
    std::uint8_t counts(int head_coarse, int modifier_coarse) const {
        return static_cast<std::uint8_t>(4u * count_[head_coarse] + count_[modifier_coarse]);
    }

private:
    std::uint64_t tags_ = 0, coarse_ = 0;
    std::uint8_t count_[64] = {};
};

// The fine ones alone.
class FineBetween {
public:
    void see(int tag, int) { tags_ |= std::uint64_t{1} << tag; }
    std::uint64_t tags() const { return tags_; }

private:
    std::uint64_t tags_ = 0;
};

// see(head, what lies between, whether the limits leave the arc) for every other position, first to the left and then
// to the right.
template <class Between, class See>
inline void each_head(const std::uint8_t* tags, const std::uint8_t* coarse, int n, int m, const Limits& limits,
                      See&& see) {
    for (const int step : {-1, 1}) {
        const std::int32_t* limit = limits.row(tags[m], step < 0);
        Between between;
        for (int h = m + step; h >= 0 && h < n; h += step) {
            see(h, between, (h - m) * step <= limit[tags[h]]);
            between.see(tags[h], coarse[h]);
        }
    }
}

// A sentence with too many arcs to score, or that would take too much memory otherwise; what() goes on from "sentence
// so-and-so".
struct TooLarge : std::length_error {
    using std::length_error::length_error;
};

// Arcs of one sentence that may be scored at most: they take some 80 bytes each.
inline constexpr std::size_t kMostArcs = std::size_t{1} << 25;
inline void check_number(std::size_t n_arcs, int n) {
    if (n_arcs > kMostArcs)
        throw TooLarge("has " + std::to_string(n - 1) + " words, and more than " + std::to_string(kMostArcs) +
                       " arcs between them are to be scored. Split it; or leave long arcs out, with "
                       "length_filter='slack' or 'exact'");
}

class Arcs {
public:
    // The tags of a sentence that arcs will be of.
    void begin(const std::uint8_t* tags, const std::uint8_t* coarse, int n) {
        tags_ = tags;
        coarse_ = coarse;
        n_ = n;
        clear();
    }
    void clear() {
        head_.clear();
        modifier_.clear();
        bin_.clear();
        between_.clear();
        coarse_between_.clear();
        counts_.clear();
    }

    // All arcs that the limits leave, modifier by modifier.
    void list(const Limits& limits) {
        clear();
        for (int m = 1; m < n_; ++m) {
            each_head<Between>(tags_, coarse_, n_, m, limits, [&](int h, const Between& between, bool possible) {
                if (possible) push(h, m, between);
            });
            check_number(head_.size(), n_);
        }
    }
    void add(int h, int m) {
        Between between;
        for (int i = std::min(h, m) + 1; i < std::max(h, m); ++i) between.see(tags_[i], coarse_[i]);
        push(h, m, between);
    }
    // One of another list.
    void add(const Arcs& other, int i) {
        head_.push_back(other.head_[i]);
        modifier_.push_back(other.modifier_[i]);
        bin_.push_back(other.bin_[i]);
        between_.push_back(other.between_[i]);
        coarse_between_.push_back(other.coarse_between_[i]);
        counts_.push_back(other.counts_[i]);
    }
    // What pairs of words look at besides the two. In the order of kContextNames: the set of fine tags between, the set
    // of coarse ones, and the counts. Before arcs are scored by pairs.
    void find_contexts() {
        contexts_.resize(head_.size() * kContexts);
        for (std::size_t i = 0; i < head_.size(); ++i) {
            std::uint32_t* out = contexts_.data() + i * kContexts;
            out[0] = hash_of(between_[i]);
            out[1] = hash_of(coarse_between_[i]);
            out[2] = hash_of(1000u + counts_[i]);
        }
    }

    int n() const { return n_; }  // positions
    int size() const { return static_cast<int>(head_.size()); }
    int head(int i) const { return head_[i]; }
    int modifier(int i) const { return modifier_[i]; }
    int bin(int i) const { return bin_[i]; }
    std::uint64_t between(int i) const { return between_[i]; }
    const std::uint32_t* contexts(int i) const { return contexts_.data() + i * kContexts; }
    ArcList view() const {
        return {head_.data(), modifier_.data(), bin_.data(), between_.data(), contexts_.data(), size()};
    }

private:
    void push(int h, int m, const Between& between) {
        head_.push_back(static_cast<std::uint16_t>(h));
        modifier_.push_back(static_cast<std::uint16_t>(m));
        bin_.push_back(bin_of(h, m));
        between_.push_back(between.tags());
        coarse_between_.push_back(between.coarse());
        counts_.push_back(between.counts(coarse_[h], coarse_[m]));
    }
    static std::uint32_t hash_of(std::uint64_t x) { return static_cast<std::uint32_t>(mix(x) >> 32); }

    const std::uint8_t *tags_ = nullptr, *coarse_ = nullptr;
    int n_ = 0;
    std::vector<std::uint16_t> head_, modifier_;
    std::vector<std::uint8_t> bin_, counts_;
    std::vector<std::uint64_t> between_, coarse_between_;
    std::vector<std::uint32_t> contexts_;
};

}  // namespace wald::parser
