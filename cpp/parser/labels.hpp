// Relations, the second and cheap step. Given the tree, each word's relation to its head is chosen independently, by a
// linear model over templates of the arc. The weights have one row per feature and one column per relation.
#pragma once

#include <string>

#include "core/averaged.hpp"
#include "parser/scorer.hpp"

namespace wald::parser {

struct LabelWeights {
    int bits = 0, n = 0;  // 2^bits rows, n relations
    LargeArray<float> values;

    LabelWeights() = default;
    LabelWeights(int table_bits, int labels) : bits(table_bits), n(labels), values(size(table_bits, labels)) {}
    static int width(int labels) { return static_cast<int>(round_up(labels, 16)); }
    int width() const { return width(n); }
    static std::size_t size(int table_bits, int labels) {
        return (std::size_t{1} << table_bits) * static_cast<std::size_t>(width(labels));
    }
};

class Labeler {
public:
    static constexpr int kFeatures = kLabelVectors * KeyPlan::kLanes;

    // Finds the features of the arc to every word from its head; heads[0] is not read.
    void begin(const Atoms& atoms, const std::int32_t* heads, const LabelWeights& weights) {
        const int n = atoms.n(), shift = 32 - weights.bits;
        const KeyPlan& plan = label_plan();
        for (int side = 0; side < 2; ++side) plan.find_keys(side, atoms.arrays(), n, keys_[side]);
        arcs_.begin(atoms.tags(), atoms.coarse_tags(), n);
        for (int m = 1; m < n; ++m) arcs_.add(heads[m], m);
        arcs_.find_contexts();
        places_.resize(static_cast<std::size_t>(n) * kFeatures);
        for (int m = 1; m < n; ++m) {
            const std::uint32_t* head = keys_[0].data() + static_cast<std::size_t>(heads[m]) * kFeatures;
            const std::uint32_t* modifier = keys_[1].data() + static_cast<std::size_t>(m) * kFeatures;
            const std::uint32_t* contexts = arcs_.contexts(m - 1);
            const std::uint32_t direction = m > heads[m] ? kRight : 0;
            std::uint32_t* places = places_.data() + static_cast<std::size_t>(m) * kFeatures;
            std::uint32_t keys[kFeatures];
            for (int i = 0; i < kFeatures; ++i) keys[i] = head[i] + modifier[i] + direction;
            for (int v = 0; v < kLabelVectors; ++v) plan.add_contexts(v, contexts, keys + v * KeyPlan::kLanes);
            for (int i = 0; i < kFeatures; ++i) places[i] = keys[i] >> shift;
        }
        sums_.resize(static_cast<std::size_t>(weights.width()));
    }

    const std::uint32_t* places(int m) const { return places_.data() + static_cast<std::size_t>(m) * kFeatures; }

    // Scores of all relations of word m, [n_labels].
    const float* score(int m, const LabelWeights& weights) {
        parser_kernels().sum_rows(weights.values.data(), weights.width(), places(m), kLabelVectors, sums_.data());
        return sums_.data();
    }
    void prefetch(int m, const LabelWeights& weights) const {
        for (int i = 0; i < kFeatures; ++i)
            for (int l = 0; l < weights.n; l += 16)
                __builtin_prefetch(weights.values.data() + static_cast<std::size_t>(places(m)[i]) * weights.width() +
                                   l);
    }

    // Writes labels[0..n) of the n words.
    void label(const Atoms& atoms, const std::int32_t* heads, const LabelWeights& weights, std::int32_t* labels) {
        begin(atoms, heads, weights);
        if (atoms.n() > 1) prefetch(1, weights);
        for (int m = 1; m < atoms.n(); ++m) {
            if (m + 1 < atoms.n()) prefetch(m + 1, weights);
            const float* scores = score(m, weights);
            labels[m - 1] = static_cast<std::int32_t>(std::max_element(scores, scores + weights.n) - scores);
        }
    }

private:
    static constexpr std::uint32_t kRight = 0x9e3779b9u;
    Arcs arcs_;
    std::vector<std::uint32_t> keys_[2], places_;
    std::vector<float> sums_;
};

// Averaged k = 1 MIRA for each word independently, on the arcs of the gold trees.
class LabelLearner {
public:
    LabelLearner(int table_bits, int n_labels) : learned_(LabelWeights(table_bits, n_labels)) {}

    // gold[m] is the relation of word m, or -1 if it is unknown.
    void learn(const Atoms& atoms, const std::int32_t* heads, const std::int32_t* gold, double step) {
        labeler_.begin(atoms, heads, learned_.table);
        for (int m = 1; m < atoms.n(); ++m) {
            if (gold[m] < 0) continue;
            learn(m, gold[m], step);
            learned_.before += 1;
        }
    }
    LabelWeights mean() const { return learned_.mean(); }

private:
    void learn(int m, int gold, double step) {
        const LabelWeights& weights = learned_.table;
        const float* scores = labeler_.score(m, weights);
        int rival = -1;
        for (int l = 0; l < weights.n; ++l)
            if (l != gold && (rival < 0 || scores[l] > scores[rival])) rival = l;
        const double violation = rival < 0 ? 0.0 : 1.0 + scores[rival] - scores[gold];
        if (!(violation > 0)) return;
        const float d = static_cast<float>(std::min(step, violation / (2.0 * Labeler::kFeatures)));
        for (int i = 0; i < Labeler::kFeatures; ++i) {
            const std::size_t row = static_cast<std::size_t>(labeler_.places(m)[i]) * weights.width();
            learned_.change(row + gold, d);
            learned_.change(row + rival, -d);
        }
    }
    Averaged<LabelWeights> learned_;
    Labeler labeler_;
};

}  // namespace wald::parser
