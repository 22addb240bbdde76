// The arcs of a sentence that are scored, with their direction, length and the tags between head and modifier.
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

// Slots of a feature: 0 and 1 encode the direction alone (modifier left or right of its head), the others direction and
// length class: 1, 2, 3, 4, 5-6, 7-10 and more.
inline constexpr int kBins = 16;
inline int length_class(int length) {
    constexpr std::uint8_t classes[] = {0, 0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6};
    return classes[std::min(length, 11)];
}
inline std::uint8_t bin_of(int head, int modifier) {
    return static_cast<std::uint8_t>(2 + 2 * length_class(std::abs(modifier - head)) + (modifier > head));
}

// The word whose state decides whether an arc has the costly group: the arc's modifier or, with `by_head`, its head.
// The root is not a word, so its arcs belong to their modifiers.
inline int owner_of(int head, int modifier, bool by_head) { return by_head && head > 0 ? head : modifier; }

// The tags strictly between two words; without `kAll`, the fine ones only, which are all that the pruner reads.
template <bool kAll>
class Between {
public:
    void add(int tag, int coarse) {
        tags_ |= std::uint64_t{1} << tag;
        if constexpr (kAll) {
            coarse_ |= std::uint64_t{1} << coarse;
            if (count_[coarse] < 3) ++count_[coarse];
        }
    }
    std::uint64_t tags() const { return tags_; }
    std::uint64_t coarse() const { return coarse_; }
    // How often the coarse tags of head and modifier occur in between, at most 3 each.
    std::uint8_t counts(int head_coarse, int modifier_coarse) const {
        return static_cast<std::uint8_t>(4u * count_[head_coarse] + count_[modifier_coarse]);
    }

private:
    std::uint64_t tags_ = 0, coarse_ = 0;
    std::uint8_t count_[kAll ? 64 : 1] = {};
};

// A sentence with too many arcs, or one that needs too much memory. what() continues a message that begins with
// "sentence <number>".
struct TooLarge : std::length_error {
    using std::length_error::length_error;
};

// Largest number of arcs that are scored in one sentence; each takes about 80 bytes.
inline constexpr int kMostArcs = 1 << 25;

struct ScoredArc {
    std::uint16_t head, modifier;
    float score;
};

class Arcs {
public:
    // Starts an empty list for a sentence with these tags.
    void begin(const std::uint8_t* tags, const std::uint8_t* coarse, int n) {
        tags_ = tags;
        coarse_ = coarse;
        n_ = n;
        clear();
    }
    void clear() { size_ = 0; }

    // Lists all arcs that the limits allow, modifier by modifier, those to heads on the left first; see `Between` for
    // `kAll`.
    template <bool kAll>
    void list(const Limits& limits) {
        int k = 0;
        for (int m = 1; m < n_; ++m) {
            reserve(k + n_);
            for (const int step : {-1, 1}) {
                const std::int32_t* limit = limits.row(tags_[m], step < 0);
                Between<kAll> between;
                for (int h = m + step; h >= 0 && h < n_; h += step) {
                    put(k, h, m, between);  // overwritten by the next arc unless this one is possible
                    k += (h - m) * step <= limit[tags_[h]];
                    between.add(tags_[h], coarse_[h]);
                }
            }
            if (k > kMostArcs)
                throw TooLarge("has " + std::to_string(n_ - 1) + " words, and more than " + std::to_string(kMostArcs) +
                               " arcs between them are to be scored. Split it; or leave long arcs out, with "
                               "length_filter='slack' or 'exact'");
        }
        size_ = k;
    }
    void add(int h, int m) {
        Between<true> between;
        for (int i = std::min(h, m) + 1; i < std::max(h, m); ++i) between.add(tags_[i], coarse_[i]);
        reserve(size_ + 1);
        put(size_++, h, m, between);
    }
    // Adds arc i of another list.
    void add(const Arcs& other, int i) {
        reserve(size_ + 1);
        each_array(other, [&](auto& own, const auto& others) { own[size_] = others[i]; });
        ++size_;
    }
    // Gives back the memory for more arcs.
    void trim() {
        each_array(*this, [&](auto& own, const auto&) {
            own.resize(static_cast<std::size_t>(size_));
            own.shrink_to_fit();
        });
    }
    // Computes the contexts of pair templates, in the order of kContextNames: hashes of the set of fine tags between,
    // the set of coarse ones, and the counts. Must be called before arcs are scored by pairs.
    void find_contexts() {
        const auto n = static_cast<std::size_t>(size_);
        contexts_.resize(n * kContexts);
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t* out = contexts_.data() + i * kContexts;
            out[0] = hash_of(between_[i]);
            out[1] = hash_of(coarse_between_[i]);
            out[2] = hash_of(1000u + counts_[i]);
        }
    }

    int n() const { return n_; }  // positions
    int size() const { return size_; }
    int head(int i) const { return head_[i]; }
    const std::uint16_t* heads(int i) const { return head_.data() + i; }
    int modifier(int i) const { return modifier_[i]; }
    int bin(int i) const { return bin_[i]; }
    std::uint64_t between(int i) const { return between_[i]; }
    const std::uint32_t* contexts(int i) const { return contexts_.data() + i * kContexts; }
    ScoredArc scored(int i, float score) const { return {head_[i], modifier_[i], score}; }
    ArcList view() const {
        return {head_.data(), modifier_.data(), bin_.data(), between_.data(), contexts_.data(), size_};
    }
    // Calls visit(modifier, first arc, past its last arc) for every word with arcs, which are listed word by word.
    template <class Visit>
    void each_word(Visit&& visit) const {
        for (int first = 0, last = 0; first < size_; first = last) {
            while (last < size_ && modifier_[last] == modifier_[first]) ++last;
            visit(modifier(first), first, last);
        }
    }

private:
    template <bool kAll>
    void put(int i, int h, int m, const Between<kAll>& between) {
        head_[i] = static_cast<std::uint16_t>(h);
        modifier_[i] = static_cast<std::uint16_t>(m);
        bin_[i] = bin_of(h, m);
        between_[i] = between.tags();
        if constexpr (kAll) {
            coarse_between_[i] = between.coarse();
            counts_[i] = between.counts(coarse_[h], coarse_[m]);
        }
    }
    void reserve(int n) {
        const auto wanted = static_cast<std::size_t>(n);
        if (wanted > head_.size()) each_array(*this, [&](auto& own, const auto&) { own.resize(2 * wanted); });
    }
    template <class Visit>
    void each_array(const Arcs& other, Visit&& visit) {
        visit(head_, other.head_), visit(modifier_, other.modifier_), visit(bin_, other.bin_);
        visit(between_, other.between_), visit(coarse_between_, other.coarse_between_), visit(counts_, other.counts_);
    }
    static std::uint32_t hash_of(std::uint64_t x) { return static_cast<std::uint32_t>(mix(x) >> 32); }

    const std::uint8_t *tags_ = nullptr, *coarse_ = nullptr;
    int n_ = 0, size_ = 0;
    std::vector<std::uint16_t> head_, modifier_;
    std::vector<std::uint8_t> bin_, counts_;
    std::vector<std::uint64_t> between_, coarse_between_;
    std::vector<std::uint32_t> contexts_;
};

}  // namespace wald::parser
