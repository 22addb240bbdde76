// Selects the arcs of a sentence that the groups of features score: coarse-to-fine, after E. Charniak et al.,
// "Multilevel coarse-to-fine PCFG parsing", HLT-NAACL 2006, and Rush and Petrov, "Vine pruning", NAACL 2012.
#pragma once

#include "parser/candidates.hpp"
#include "parser/scorer.hpp"

namespace wald::parser {

// Selects all arcs that the length filter allows. A pruner keeps, of each word's arcs, those that it scores within the
// margin of the best one; a word with a single such arc needs no further scores.
struct Choice {
    Limits limits;
    const Weights* pruner = nullptr;
    float margin = 0;
};

class ChosenArcs {
public:
    static constexpr float kSparePenalty = 1e4f;  // subtracted from the scores of pruned arcs

    // Call scorer.begin() for the sentence first.
    void choose(Scorer& scorer, const Choice& c) {
        const Atoms& atoms = scorer.atoms();
        arcs_.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
        certain_.clear();
        pruned_ = c.pruner != nullptr;
        if (pruned_) {
            candidates_.list(atoms.tags(), atoms.coarse_tags(), atoms.n(), c.limits);
            scores_.resize(std::max(scores_.size(), static_cast<std::size_t>(candidates_.size())));
            scorer.score(kPruner, candidates_.view(), scores_.data());
            least_.resize(static_cast<std::size_t>(atoms.n()));
            for (int m = 1; m < atoms.n(); ++m) split(m, c.margin);
        } else {
            arcs_.list(c.limits);
        }
        arcs_.find_contexts();
    }

    const Arcs& arcs() const { return arcs_; }
    // The arcs of words that have a single arc left, ordered by modifier; they score 0.
    const std::vector<ScoredArc>& certain() const { return certain_; }
    // The pruned arcs with their scores; they are used only if there is no tree without them.
    std::vector<ScoredArc> spare() const {
        std::vector<ScoredArc> out;
        if (!pruned_) return out;
        for (int m = 1; m < arcs_.n(); ++m)
            for (int i = candidates_.begin(m); i < candidates_.end(m); ++i)
                if (scores_[i] < least_[m]) out.push_back(candidates_.scored(i, scores_[i] - kSparePenalty));
        return out;
    }

private:
    // Selects the arcs of word m.
    void split(int m, float margin) {
        const int first = candidates_.begin(m), last = candidates_.end(m);
        const float least = *std::max_element(scores_.begin() + first, scores_.begin() + last) - margin;
        least_[m] = least;
        int n_kept = 0, last_kept = first;
        for (int i = first; i < last; ++i)
            if (scores_[i] >= least) ++n_kept, last_kept = i;
        if (n_kept == 1) return certain_.push_back(candidates_.scored(last_kept, 0));
        for (int i = first; i < last; ++i)
            if (scores_[i] >= least) arcs_.add(candidates_.head(i), m);
    }

    bool pruned_ = false;
    Arcs arcs_;
    Candidates candidates_;
    std::vector<ScoredArc> certain_;
    std::vector<float> scores_;  // of candidates, by the pruner
    std::vector<float> least_;   // [modifier] arcs with lower scores are spare
};

}  // namespace wald::parser
