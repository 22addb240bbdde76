// Selects the arcs of a sentence that the groups of features score: coarse-to-fine, after E. Charniak et al.,
// "Multilevel coarse-to-fine PCFG parsing", HLT-NAACL 2006, and Rush and Petrov, "Vine pruning", NAACL 2012.
#pragma once

#include "parser/scorer.hpp"

namespace wald::parser {

// Selects all arcs that the length filter allows. A pruner keeps, of each word's arcs, those that it scores within the
// margin of the best one; a word with a single such arc needs no further scores.
struct Choice {
    Limits limits;
    const Weights* pruner = nullptr;
    float margin = 0;
};

// What was chosen. Lists are ordered by modifier.
struct Chosen {
    Arcs arcs;
    std::vector<ScoredArc> certain;  // arcs of words that have a single arc left; they score 0
    std::vector<ScoredArc> spare;    // pruned arcs, which are used only if there is no tree without them
};

class Chooser {
public:
    // Call scorer.begin() for the sentence first.
    void choose(Scorer& scorer, const Choice& c, Chosen& out) {
        const Atoms& atoms = scorer.atoms();
        out.arcs.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
        out.certain.clear();
        out.spare.clear();
        if (c.pruner == nullptr) {
            out.arcs.list<true>(c.limits);
        } else {
            candidates_.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
            candidates_.list<false>(c.limits);
            scores_.resize(std::max(scores_.size(), static_cast<std::size_t>(candidates_.size())));
            scorer.score(kPruner, candidates_.view(), scores_.data());
            candidates_.each_word([&](int, int first, int last) { split(first, last, c.margin, out); });
        }
        out.arcs.find_contexts();
    }

private:
    static constexpr float kSparePenalty = 1e4f;  // subtracted from the scores of pruned arcs

    // Selects among the arcs of one word.
    void split(int first, int last, float margin, Chosen& out) {
        const float least = *std::max_element(scores_.begin() + first, scores_.begin() + last) - margin;
        int n_kept = 0, last_kept = first;
        for (int i = first; i < last; ++i)
            if (scores_[i] >= least) ++n_kept, last_kept = i;
            else out.spare.push_back(candidates_.scored(i, scores_[i] - kSparePenalty));
        if (n_kept == 1) return out.certain.push_back(candidates_.scored(last_kept, 0));
        for (int i = first; i < last; ++i)
            if (scores_[i] >= least) out.arcs.add(candidates_.head(i), candidates_.modifier(i));
    }

    Arcs candidates_;
    std::vector<float> scores_;  // of candidates, by the pruner
};

}  // namespace wald::parser
