// Which arcs of a sentence the groups of features score: coarse-to-fine, after E. Charniak et al., "Multilevel coarse-to-fine PCFG
// parsing", HLT-NAACL 2006, and Rush and Petrov, "Vine pruning", NAACL 2012.
#pragma once

#include "scorer.hpp"

namespace wald::parser {

// All arcs that the length filter leaves or, with a pruner, those of them that it scores within the margin of their word's best,
// where there are two of them at least.
struct Choice {
    Limits limits;
    const Weights* pruner = nullptr;
    float margin = 0;
};

class ChosenArcs {
public:
    struct Spare {
        std::uint16_t head, modifier;
        float score;
    };
    static constexpr float kLastResort = 1e4f;  // how far arcs that lost are below the others: for when there is no tree without

    // The scorer must have begun with the sentence.
    void choose(Scorer& scorer, const Choice& c) {
        const Atoms& atoms = scorer.atoms();
        arcs_.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
        spare_.clear();
        if (c.pruner == nullptr) {
            arcs_.list(c.limits);
        } else {
            listed_.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
            listed_.list(c.limits);
            scores_.resize(static_cast<std::size_t>(listed_.size()));
            scorer.score(kPruner, listed_.view(), scores_.data());
            for (int first = 0, last = 0; first < listed_.size(); first = last) {
                last = first;
                while (last < listed_.size() && listed_.modifier(last) == listed_.modifier(first)) ++last;
                split(first, last, c.margin);
            }
        }
        arcs_.find_contexts();
    }

    const Arcs& arcs() const { return arcs_; }
    // The others, unless they are out of the question, and their scores; 0 for the only arc of a word.
    const std::vector<Spare>& spare() const { return spare_; }

private:
    // The arcs of one word.
    void split(int first, int last, float margin) {
        const float best = *std::max_element(scores_.begin() + first, scores_.begin() + last);
        near_.clear();
        for (int i = first; i < last; ++i) {
            if (scores_[i] >= best - margin) near_.push_back(i);
            else keep(i, scores_[i] - kLastResort);
        }
        if (near_.size() == 1) return keep(near_[0], 0);
        for (const int i : near_) arcs_.add(listed_, i);
    }
    void keep(int i, float score) {
        spare_.push_back({static_cast<std::uint16_t>(listed_.head(i)), static_cast<std::uint16_t>(listed_.modifier(i)), score});
    }

    Arcs arcs_, listed_;
    std::vector<Spare> spare_;
    std::vector<float> scores_;
    std::vector<int> near_;
};

// Scores of arcs as a matrix [head][modifier] of n positions.
inline void fill_matrix(int n, const Arcs& arcs, const float* scores, const std::vector<ChosenArcs::Spare>& spare, std::vector<float>& matrix) {
    const std::size_t N = static_cast<std::size_t>(n);
    matrix.assign(N * N, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < arcs.size(); ++i) matrix[static_cast<std::size_t>(arcs.head(i)) * N + arcs.modifier(i)] = scores[i];
    for (const auto& a : spare) matrix[a.head * N + a.modifier] = a.score;
}

}  // namespace wald::parser
