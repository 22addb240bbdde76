// A sentence at work, and a thread's working memory for sentences.
#pragma once

#include <chrono>

#include "core/share_out.hpp"
#include "parser/second_order.hpp"
#include "parser/trees.hpp"

namespace wald::parser {

inline constexpr std::int64_t kShared = 32;  // sentences that a thread takes at a time

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

struct Sentence {
    Atoms atoms;
    Chosen chosen;
    std::vector<float> cheap, costly;  // scores of the chosen arcs
};

struct Worker {
    Scorer scorer;
    Chooser chooser;
    Trees trees;
    SecondOrder second_order;
    Arcs some;
    std::vector<int> where;
    std::vector<float> scores, extra;
    std::vector<std::int32_t> heads;
    double seconds[4] = {};

    // Chooses the arcs that the groups score.
    void choose(Sentence& s, const Weights& weights, const Choice& how) {
        scorer.begin(s.atoms, weights, how.pruner);
        chooser.choose(scorer, how, s.chosen);
    }
    // Scores all chosen arcs by the cheap group.
    void score_cheap(Sentence& s) {
        s.cheap.resize(static_cast<std::size_t>(s.chosen.arcs.size()));
        scorer.score(0, s.chosen.arcs.view(), s.cheap.data());
    }
    // Scores by a group, in place, the chosen arcs for which wanted(head, modifier) is true.
    template <class Wanted>
    void score_some(Scorer& by, int group, const Arcs& arcs, float* out, Wanted&& wanted) {
        where.clear();
        for (int i = 0; i < arcs.size(); ++i)
            if (wanted(arcs.head(i), arcs.modifier(i))) where.push_back(i);
        if (where.empty()) return;
        if (where.size() == static_cast<std::size_t>(arcs.size())) return by.score(group, arcs.view(), out);
        some.clear();
        for (const int i : where) some.add(arcs, i);
        some.find_contexts();
        extra.resize(where.size());
        by.score(group, some.view(), extra.data());
        for (std::size_t k = 0; k < where.size(); ++k) out[where[k]] = extra[k];
    }
    // Adds up the groups' scores of the chosen arcs; only those for which bought(head, modifier) is true have costly
    // ones.
    template <class Bought>
    void add_up(const Sentence& s, Bought&& bought) {
        const Arcs& arcs = s.chosen.arcs;
        scores.resize(s.cheap.size());
        for (int i = 0; i < arcs.size(); ++i)
            scores[i] = s.cheap[i] + (bought(arcs.head(i), arcs.modifier(i)) ? s.costly[i] : 0.0f);
    }
    // Finds the best tree by these scores, heads[1..n), and improves it by pairs of bought arcs, which have these
    // weights; false if there is none.
    template <class Bought>
    bool decode(const Sentence& s, const Weights& weights, const Settings& how, Bought&& bought) {
        heads.resize(static_cast<std::size_t>(s.atoms.n()));
        if (!trees.best(s.atoms.n(), s.chosen, scores.data(), how, heads.data())) return false;
        if (!how.second_order) return true;
        second_order.begin(s.atoms, weights);
        second_order.climb(s.chosen.arcs, scores.data(), how.projective, how.single_root, bought, heads.data());
        return true;
    }
};

// Calls work() for a sentence; if the sentence is too large, the exception names it, and the line where it stands.
template <class Work>
void with_error_location(std::int64_t sentence, std::uint32_t line, Work&& work) {
    try {
        work();
    } catch (const TooLarge& e) {
        throw std::length_error("sentence " + std::to_string(sentence) +
                                (line == 0 ? "" : " (line " + std::to_string(line) + ")") + " " + e.what() + ".");
    }
}

}  // namespace wald::parser
