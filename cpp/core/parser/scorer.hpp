// Scores of one sentence's arcs, group by group. A group's keys and unigrams are worked out when the group is first wanted.
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

class Scorer {
public:
    // What is given here must outlive the scores.
    void begin(const Atoms& atoms, const Weights& weights) {
        atoms_ = &atoms;
        weights_ = &weights;
        for (int g = 0; g < kGroups; ++g) has_keys_[g] = has_words_[g] = false;
        for (auto& keys : keys_) keys.resize(static_cast<std::size_t>(atoms.n()) * kVectors * KeyPlan::kLanes);
    }

    void find_keys(int group) {
        if (has_keys_[group]) return;
        has_keys_[group] = true;
        const int first = kFirstVector[group], last = kLastVector[group];
        for (int side = 0; side < 2; ++side)
            parser_kernels().keys(arc_plan().side(side), atoms_->arrays(), atoms_->n(), first, last, kVectors, keys_[side].data());
    }
    void score_words(int group) {
        if (has_words_[group]) return;
        has_words_[group] = true;
        find_keys(group);
        const int first = kFirstVector[group], pairs = first + kPairVectors[group], last = kLastVector[group];
        for (int side = 0; side < 2; ++side) {
            std::vector<float>& u = unigrams_[group][side];
            u.resize(static_cast<std::size_t>(atoms_->n()) * kBins);
            parser_kernels().unigrams(weights_->values.data(), weights_->shift(), keys_[side].data(), atoms_->n(), pairs, last, kVectors, u.data());
        }
    }

    void score(int group, const ArcList& arcs, float* out) {
        score_words(group);
        PairTask t;
        t.weights = weights_->values.data();
        t.shift = weights_->shift();
        t.head_keys = keys_[0].data();
        t.modifier_keys = keys_[1].data();
        t.vectors = kVectors;
        t.first = kFirstVector[group];
        t.last = t.first + kPairVectors[group];
        t.context = arc_plan().context();
        t.has_context = arc_plan().has_context();
        t.rows = group == 0 ? weights_->values.data() + weights_->rows() : nullptr;
        t.tags = atoms_->tags();
        t.n_tags = weights_->n_tags;
        parser_kernels().pairs(t, arcs, out);
        const float *head = unigrams_[group][0].data(), *modifier = unigrams_[group][1].data();
        for (std::int32_t i = 0; i < arcs.n; ++i)
            out[i] += head[arcs.head[i] * kBins + arcs.bin[i]] + modifier[arcs.modifier[i] * kBins + arcs.bin[i]];
    }

    // Calls see(index) for every weight that an arc's score in a group is the sum of.
    template <class See>
    void features(int group, const Arcs& arcs, int arc, See&& see) {
        find_keys(group);
        const int h = arcs.head(arc), m = arcs.modifier(arc), bin = arcs.bin(arc);
        const std::uint32_t* contexts = arcs.contexts(arc);
        const int first = kFirstVector[group], pairs = first + kPairVectors[group], last = kLastVector[group];
        const std::uint32_t* head = keys_[0].data() + static_cast<std::size_t>(h) * kVectors * KeyPlan::kLanes;
        const std::uint32_t* modifier = keys_[1].data() + static_cast<std::size_t>(m) * kVectors * KeyPlan::kLanes;
        const int shift = weights_->shift();
        auto both = [&](std::uint32_t key) {
            const std::uint32_t place = key >> shift << 4 | (key & 15);
            see(place ^ static_cast<std::uint32_t>(bin & 1));
            see(place ^ static_cast<std::uint32_t>(bin));
        };
        for (int i = first * KeyPlan::kLanes; i < pairs * KeyPlan::kLanes; ++i) {
            const std::uint32_t* context = arc_plan().context() + i / KeyPlan::kLanes * kContexts * KeyPlan::kLanes + i % KeyPlan::kLanes;
            std::uint32_t key = head[i] + modifier[i];
            for (int c = 0; c < kContexts; ++c) key += context[c * KeyPlan::kLanes] * contexts[c];
            both(key);
        }
        for (int i = pairs * KeyPlan::kLanes; i < last * KeyPlan::kLanes; ++i) both(head[i]), both(modifier[i]);
        if (group == 0) {
            const std::size_t row = weights_->rows() +
                ((static_cast<std::size_t>(atoms_->tags()[h]) * weights_->n_tags + atoms_->tags()[m]) * kBins + bin) * TagNumbers::kMostTags;
            for (std::uint64_t rest = arcs.between(arc); rest != 0; rest &= rest - 1)
                see(static_cast<std::uint32_t>(row + static_cast<std::size_t>(__builtin_ctzll(rest))));
        }
    }
    const Atoms& atoms() const { return *atoms_; }

private:
    const Atoms* atoms_ = nullptr;
    const Weights* weights_ = nullptr;
    bool has_keys_[kGroups] = {}, has_words_[kGroups] = {};
    std::vector<std::uint32_t> keys_[2];             // head, modifier: [position][vector][lane]
    std::vector<float> unigrams_[kGroups][2];        // [position][bin]
};

}  // namespace wald::parser
