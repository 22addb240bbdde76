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

    // Chooses arcs without a pruner, and scores them.
    void score(const Choice& c, int n_groups) {
        chosen_.choose(scorer_, c);
        add_up(n_groups);
    }
    // The same, but the costly group scores only arcs for which bought(head, modifier) is true.
    template <class Bought>
    void score_some(const Choice& c, Bought&& bought) {
        chosen_.choose(scorer_, c);
        const Arcs& arcs = chosen_.arcs();
        scores_.resize(static_cast<std::size_t>(arcs.size()));
        scorer_.score(0, arcs.view(), scores_.data());
        costly_arcs_.clear();
        costly_at_.clear();
        for (int i = 0; i < arcs.size(); ++i)
            if (bought(arcs.head(i), arcs.modifier(i))) {
                costly_arcs_.add(arcs, i);
                costly_at_.push_back(i);
            }
        costly_arcs_.find_contexts();
        extra_.resize(costly_at_.size());
        if (!costly_at_.empty()) scorer_.score(1, costly_arcs_.view(), extra_.data());
        for (std::size_t k = 0; k < costly_at_.size(); ++k) scores_[costly_at_[k]] += extra_[k];
    }
    // Finds the best tree of the chosen arcs, whose scores the caller may have changed; false if there is none.
    bool decode(const Settings& s, std::int32_t* heads) {
        return trees_.best(
            atoms_.n(), chosen_.arcs(), scores_.data(), chosen_.certain(), [&] { return chosen_.spare(); }, s, heads);
    }

    // Writes heads[0..n) of the n words, adds the seconds of features, scores and decoding to times[0..3), and returns
    // the number of arcs that all groups scored.
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
    // Sums the scores of the chosen arcs over the groups.
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
    Arcs costly_arcs_;
    std::vector<int> costly_at_;
    Trees trees_;
    std::vector<float> scores_, extra_;
    std::vector<std::int32_t> heads_;
};

}  // namespace wald::parser
