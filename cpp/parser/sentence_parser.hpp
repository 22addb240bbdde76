// A thread's working memory for parsing sentences, and the parser's settings.
#pragma once

#include <chrono>

#include "parser/trees.hpp"

namespace wald::parser {

class Stopwatch {
public:
    void lap(double& seconds) {
        const auto now = std::chrono::steady_clock::now();
        seconds += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class SentenceParser {
public:
    void begin(const Treebank& t, std::size_t sentence, const Lexicon& lexicon, const Weights& weights,
               const Weights* pruner) {
        atoms_.read(t, sentence, lexicon);
        scorer_.begin(atoms_, weights, pruner);
    }

    // Scores of all arcs that the limits leave; no pruner.
    void score(const Choice& c, int n_groups) {
        chosen_.choose(scorer_, c);
        add_up(n_groups);
    }
    // The same, but the costly group for arcs of bought(head, modifier) alone.
    template <class Bought>
    void score_some(const Choice& c, Bought&& bought) {
        chosen_.choose(scorer_, c);
        const Arcs& arcs = chosen_.arcs();
        scores_.resize(static_cast<std::size_t>(arcs.size()));
        scorer_.score(0, arcs.view(), scores_.data());
        some_.clear();
        where_.clear();
        for (int i = 0; i < arcs.size(); ++i)
            if (bought(arcs.head(i), arcs.modifier(i))) {
                some_.add(arcs, i);
                where_.push_back(i);
            }
        some_.find_contexts();
        extra_.resize(where_.size());
        if (!where_.empty()) scorer_.score(1, some_.view(), extra_.data());
        for (std::size_t k = 0; k < where_.size(); ++k) scores_[where_[k]] += extra_[k];
    }
    // Finds the best tree of the chosen arcs, whose scores the caller may have changed; false if there is none.
    bool decode(const Settings& s, std::int32_t* heads) {
        return trees_.best(
            atoms_.n(), chosen_.arcs(), scores_.data(), chosen_.certain(), [&] { return chosen_.spare(); }, s, heads);
    }

    // heads[0..n) of the n words; times[0..3) gains seconds of features, scores and decoding; the number of arcs that
    // all groups score.
    int parse(const Treebank& t, std::size_t sentence, const Lexicon& lexicon, const Weights& weights, const Choice& c,
              const Settings& s, std::int32_t* heads, double* times) {
        Stopwatch watch;
        begin(t, sentence, lexicon, weights, c.pruner);
        watch.lap(times[0]);
        chosen_.choose(scorer_, c);
        watch.lap(times[1]);
        for (int g = 0; g < s.n_groups; ++g) scorer_.find_keys(g, chosen_.arcs().view());
        watch.lap(times[0]);
        add_up(s.n_groups);
        watch.lap(times[1]);
        heads_.resize(static_cast<std::size_t>(atoms_.n()));
        decode(s, heads_.data());
        std::copy(heads_.begin() + 1, heads_.end(), heads);
        watch.lap(times[2]);
        return chosen_.arcs().size();
    }

    Atoms& atoms() { return atoms_; }
    Scorer& scorer() { return scorer_; }
    const ChosenArcs& chosen() const { return chosen_; }
    std::vector<float>& scores() { return scores_; }  // of the chosen arcs

private:
    // The scores of the chosen arcs, by all groups.
    void add_up(int n_groups) {
        const ArcList arcs = chosen_.arcs().view();
        scores_.assign(static_cast<std::size_t>(arcs.n), 0.0f);
        extra_.resize(scores_.size());
        for (int g = 0; g < n_groups; ++g) {
            scorer_.score(g, arcs, extra_.data());
            for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] += extra_[i];
        }
    }

    Atoms atoms_;
    Scorer scorer_;
    ChosenArcs chosen_;
    Arcs some_;
    std::vector<int> where_;
    Trees trees_;
    std::vector<float> scores_, extra_;
    std::vector<std::int32_t> heads_;
};

}  // namespace wald::parser
