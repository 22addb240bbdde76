// Scores of one sentence's arcs, group by group. A group's keys are worked out when the group is first wanted,
// what it says of a word when an arc of the word is.
#pragma once

#include <vector>

#include "arcs.hpp"
#include "atoms.hpp"
#include "large_array.hpp"

namespace wald::parser {

// Lines of 16 hashed weights, then the weights of tags between, [head tag][modifier tag][bin][tag].
struct Weights {
    int bits = 0;    // 2^bits hashed weights
    int n_tags = 0;
    LargeArray<float> values;

    Weights() = default;
    Weights(int table_bits, int tags) : bits(table_bits), n_tags(tags), values(size(table_bits, tags)) {}
    static std::size_t size(int table_bits, int tags) {
        return (std::size_t{1} << table_bits) + static_cast<std::size_t>(tags) * tags * kBins * TagNumbers::kMostTags;
    }
    int shift() const { return 32 - (bits - 4); }  // the line is in the highest bits of a key
    std::size_t rows() const { return std::size_t{1} << bits; }
};

// What a score is the sum of: the pairs of [first, pairs) and the single words of [pairs, last), in vectors of templates, and the
// tags between. The two groups, and the pruner, which looks at tags of single words and between, where it always sees the root's:
// that is how it knows the two tags together.
struct Level {
    int first, pairs, last;
    bool between;
    std::uint64_t always;
};
inline constexpr int kPruner = kGroups, kLevels = kGroups + 1;
inline constexpr Level kLevel[kLevels] = {
    {kFirstVector[0], kFirstVector[0] + kPairVectors[0], kLastVector[0], true, 0},
    {kFirstVector[1], kFirstVector[1] + kPairVectors[1], kLastVector[1], false, 0},
    {kFirstVector[0] + kPairVectors[0], kFirstVector[0] + kPairVectors[0], kLastVector[0], true, 1u << TagNumbers::kRoot},
};

class Scorer {
public:
    // What is given here must outlive the scores. The pruner's weights may be missing where its level is not used.
    void begin(const Atoms& atoms, const Weights& weights, const Weights* pruner = nullptr) {
        atoms_ = &atoms;
        for (int l = 0; l < kLevels; ++l) {
            weights_[l] = l == kPruner ? pruner : &weights;
            has_keys_[l] = false;
        }
        for (auto& keys : keys_) keys.resize(static_cast<std::size_t>(atoms.n()) * kVectors * KeyPlan::kLanes);
    }

    void find_keys(int level) {
        if (has_keys_[level]) return;
        has_keys_[level] = true;
        const Level& l = kLevel[level];
        const std::size_t n = static_cast<std::size_t>(atoms_->n());
        for (int side = 0; side < 2; ++side) {
            parser_kernels().keys(arc_plan().side(side), atoms_->arrays(), atoms_->n(), l.first, l.last, kVectors, keys_[side].data());
            has_words_[level][side].assign(n, 0);
            unigrams_[level][side].resize(n * kBins);
        }
    }
    // Of the words that these arcs connect.
    void score_words(int level, const ArcList& arcs) {
        find_keys(level);
        const Weights& w = *weights_[level];
        const Level& l = kLevel[level];
        for (int side = 0; side < 2; ++side) {
            std::vector<char>& done = has_words_[level][side];
            const std::uint16_t* positions = side == 0 ? arcs.head : arcs.modifier;
            new_words_.clear();
            for (std::int32_t i = 0; i < arcs.n; ++i)
                if (!done[positions[i]]) {
                    done[positions[i]] = 1;
                    new_words_.push_back(positions[i]);
                }
            parser_kernels().unigrams(w.values.data(), w.shift(), keys_[side].data(), new_words_.data(), static_cast<int>(new_words_.size()), l.pairs,
                                      l.last, kVectors, unigrams_[level][side].data());
        }
    }

    void score(int level, const ArcList& arcs, float* out) {
        score_words(level, arcs);
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
        t.n_tags = w.n_tags;
        parser_kernels().pairs(t, arcs, out);
        const float *head = unigrams_[level][0].data(), *modifier = unigrams_[level][1].data();
        for (std::int32_t i = 0; i < arcs.n; ++i)
            out[i] += head[arcs.head[i] * kBins + arcs.bin[i]] + modifier[arcs.modifier[i] * kBins + arcs.bin[i]];
    }

    // Calls see(index) for every weight that an arc's score at a level is the sum of.
    template <class See>
    void features(int level, const Arcs& arcs, int arc, See&& see) {
        find_keys(level);
        const Weights& w = *weights_[level];
        const int h = arcs.head(arc), m = arcs.modifier(arc), bin = arcs.bin(arc);
        const auto [first, pairs, last, between, always] = kLevel[level];
        const std::uint32_t* head = keys_[0].data() + static_cast<std::size_t>(h) * kVectors * KeyPlan::kLanes;
        const std::uint32_t* modifier = keys_[1].data() + static_cast<std::size_t>(m) * kVectors * KeyPlan::kLanes;
        const int shift = w.shift();
        auto both = [&](std::uint32_t key) {
            const std::uint32_t place = key >> shift << 4 | (key & 15);
            see(place ^ static_cast<std::uint32_t>(bin & 1));
            see(place ^ static_cast<std::uint32_t>(bin));
        };
        for (int i = first * KeyPlan::kLanes; i < pairs * KeyPlan::kLanes; ++i) {
            const std::uint32_t* context = arc_plan().context() + i / KeyPlan::kLanes * kContexts * KeyPlan::kLanes + i % KeyPlan::kLanes;
            std::uint32_t key = head[i] + modifier[i];
            for (int c = 0; c < kContexts; ++c) key += context[c * KeyPlan::kLanes] * arcs.contexts(arc)[c];
            both(key);
        }
        for (int i = pairs * KeyPlan::kLanes; i < last * KeyPlan::kLanes; ++i) both(head[i]), both(modifier[i]);
        if (between) {
            const std::size_t row = w.rows() +
                ((static_cast<std::size_t>(atoms_->tags()[h]) * w.n_tags + atoms_->tags()[m]) * kBins + bin) * TagNumbers::kMostTags;
            for (std::uint64_t rest = arcs.between(arc) | always; rest != 0; rest &= rest - 1)
                see(static_cast<std::uint32_t>(row + static_cast<std::size_t>(__builtin_ctzll(rest))));
        }
    }
    const Atoms& atoms() const { return *atoms_; }

private:
    const Atoms* atoms_ = nullptr;
    const Weights* weights_[kLevels] = {};
    bool has_keys_[kLevels] = {};
    std::vector<char> has_words_[kLevels][2];        // [position]
    std::vector<std::uint16_t> new_words_;
    std::vector<std::uint32_t> keys_[2];             // head, modifier: [position][vector][lane]
    std::vector<float> unigrams_[kLevels][2];        // [position][bin]
};

}  // namespace wald::parser
