// Scores of one sentence's arcs, group by group. A group's keys and scores of a word are computed once, when the group
// first scores an arc of the word.
#pragma once

#include <vector>

#include "core/large_array.hpp"
#include "parser/arcs.hpp"
#include "parser/atoms.hpp"

namespace wald::parser {

// Lines of 16 hashed weights, then the weights of tags between, [head tag][modifier tag][bin][tag].
struct Weights {
    int bits = 0, n = 0;  // 2^bits hashed weights, n tags
    LargeArray<float> values;

    Weights() = default;
    Weights(int table_bits, int n_tags) : bits(table_bits), n(n_tags), values(size(table_bits, n_tags)) {}
    static std::size_t size(int table_bits, int tags) {
        return (std::size_t{1} << table_bits) + static_cast<std::size_t>(tags) * tags * kBins * TagNumbers::kMostTags;
    }
    int shift() const { return 32 - (bits - 4); }  // the line is in the highest bits of a key
    std::size_t rows() const { return std::size_t{1} << bits; }
};

// The terms of a score: vectors of pair templates [first, pairs), vectors of single-word templates [pairs, last), and
// the tags between. The levels are the two groups and the pruner. The pruner has no pair templates; it counts the
// root's tag as always between, which gives each pair of tags a weight.
struct Level {
    int first, pairs, last;
    bool between;
    std::uint64_t always;
};
inline constexpr int kPruner = kGroups, kLevels = kGroups + 1;
inline constexpr Level kLevel[kLevels] = {
    {0, kTagPairsEnd, kTagsEnd, true, 0},
    {kTagsEnd, kWordPairsEnd, kVectors, false, 0},
    {kTagPairsEnd, kTagPairsEnd, kTagsEnd, true, 1u << TagNumbers::kRoot},
};

class Scorer {
public:
    // The arguments must outlive the scores. `pruner` may be null if its level is not used.
    void begin(const Atoms& atoms, const Weights& weights, const Weights* pruner = nullptr) {
        atoms_ = &atoms;
        for (int l = 0; l < kLevels; ++l) {
            weights_[l] = l == kPruner ? pruner : &weights;
            for (auto& has : has_keys_[l]) has.assign(static_cast<std::size_t>(atoms.n()), 0);
            for (auto& words : unscored_[l]) words.clear();
        }
        for (auto& keys : keys_) grow(keys, static_cast<std::size_t>(atoms.n()) * kVectors * KeyPlan::kLanes);
    }

    // Computes the keys of the words that these arcs connect.
    void find_keys(int level, const ArcList& arcs) {
        for (int side = 0; side < 2; ++side) find_keys(level, side, side == 0 ? arcs.head : arcs.modifier, arcs.n);
    }

    void score(int level, const ArcList& arcs, float* out) {
        find_keys(level, arcs);
        score_words(level);
        const Weights& w = *weights_[level];
        PairTask t;
        t.weights = w.values.data();
        t.shift = w.shift();
        t.head_keys = keys_[0].data();
        t.modifier_keys = keys_[1].data();
        t.vectors = kVectors;
        t.first = kLevel[level].first;
        t.last = kLevel[level].pairs;
        t.context = arc_plan().context();
        t.has_context = arc_plan().has_context();
        t.rows = kLevel[level].between ? w.values.data() + w.rows() : nullptr;
        t.always = kLevel[level].always;
        t.tags = atoms_->tags();
        t.n_tags = w.n;
        parser_kernels().pairs(t, arcs, out);
        const float *head = unigrams_[level][0].data(), *modifier = unigrams_[level][1].data();
        for (std::int32_t i = 0; i < arcs.n; ++i)
            out[i] += head[arcs.head[i] * kBins + arcs.bin[i]] + modifier[arcs.modifier[i] * kBins + arcs.bin[i]];
    }

    // Calls visit(index) for every weight in an arc's score at a level.
    template <class Visit>
    void features(int level, const Arcs& arcs, int arc, Visit&& visit) {
        const Weights& w = *weights_[level];
        const std::uint16_t h = static_cast<std::uint16_t>(arcs.head(arc)),
                            m = static_cast<std::uint16_t>(arcs.modifier(arc));
        find_keys(level, 0, &h, 1);
        find_keys(level, 1, &m, 1);
        const int bin = arcs.bin(arc);
        const auto [first, pairs, last, between, always] = kLevel[level];
        const std::uint32_t* head = keys_[0].data() + static_cast<std::size_t>(h) * kVectors * KeyPlan::kLanes;
        const std::uint32_t* modifier = keys_[1].data() + static_cast<std::size_t>(m) * kVectors * KeyPlan::kLanes;
        const int shift = w.shift();
        auto both = [&](std::uint32_t key) {
            const std::uint32_t place = key >> shift << 4 | (key & 15);
            visit(place ^ static_cast<std::uint32_t>(bin & 1));
            visit(place ^ static_cast<std::uint32_t>(bin));
        };
        for (int v = first; v < pairs; ++v) {
            std::uint32_t keys[KeyPlan::kLanes];
            for (int l = 0; l < KeyPlan::kLanes; ++l)
                keys[l] = head[v * KeyPlan::kLanes + l] + modifier[v * KeyPlan::kLanes + l];
            arc_plan().add_contexts(v, arcs.contexts(arc), keys);
            for (const std::uint32_t key : keys) both(key);
        }
        for (int i = pairs * KeyPlan::kLanes; i < last * KeyPlan::kLanes; ++i) both(head[i]), both(modifier[i]);
        if (between) {
            const std::size_t row =
                w.rows() + ((static_cast<std::size_t>(atoms_->tags()[h]) * w.n + atoms_->tags()[m]) * kBins + bin) *
                               TagNumbers::kMostTags;
            for (std::uint64_t rest = arcs.between(arc) | always; rest != 0; rest &= rest - 1)
                visit(static_cast<std::uint32_t>(row + static_cast<std::size_t>(__builtin_ctzll(rest))));
        }
    }
    const Atoms& atoms() const { return *atoms_; }

private:
    template <class T>
    static void grow(std::vector<T>& v, std::size_t n) {
        if (v.size() < n) v.resize(n);
    }
    void find_keys(int level, int side, const std::uint16_t* positions, int n) {
        std::vector<char>& has = has_keys_[level][side];
        std::vector<std::uint16_t>& words = unscored_[level][side];
        const std::size_t before = words.size();
        for (int i = 0; i < n; ++i)
            if (!has[positions[i]]) {
                has[positions[i]] = 1;
                words.push_back(positions[i]);
            }
        parser_kernels().keys(arc_plan().side(side), atoms_->arrays(), words.data() + before,
                              static_cast<int>(words.size() - before), kLevel[level].first, kLevel[level].last,
                              kVectors, keys_[side].data());
    }
    void score_words(int level) {
        const Weights& w = *weights_[level];
        for (int side = 0; side < 2; ++side) {
            std::vector<std::uint16_t>& words = unscored_[level][side];
            grow(unigrams_[level][side], static_cast<std::size_t>(atoms_->n()) * kBins);
            parser_kernels().unigrams(w.values.data(), w.shift(), keys_[side].data(), words.data(),
                                      static_cast<int>(words.size()), kLevel[level].pairs, kLevel[level].last, kVectors,
                                      unigrams_[level][side].data());
            words.clear();
        }
    }

    const Atoms* atoms_ = nullptr;
    const Weights* weights_[kLevels] = {};
    std::vector<char> has_keys_[kLevels][2];           // [position]
    std::vector<std::uint16_t> unscored_[kLevels][2];  // positions with keys, but no sums yet
    std::vector<std::uint32_t> keys_[2];               // head, modifier: [position][vector][lane]
    std::vector<float> unigrams_[kLevels][2];          // [position][bin]
};

}  // namespace wald::parser
