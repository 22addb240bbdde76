// The best tree of a sentence, from the scores of its arcs.
#pragma once

#include <cstdio>

#include "parser/choice.hpp"
#include "parser/edmonds.hpp"
#include "parser/eisner.hpp"
#include "parser/sparse_eisner.hpp"

namespace wald::parser {

struct Settings {
    bool projective = true;  // Eisner, or Chu-Liu-Edmonds
    bool single_root = true;
    int n_groups = kGroups;  // 1: tags only
};

class Trees {
public:
    static constexpr double kMostBytes = 2147483648.0;  // of a chart

    // Writes heads[1..n) of the best tree of n positions from the chosen arcs; false if there is none. The spare arcs,
    // spare(), are used only if there is no tree without them.
    template <class Spare>
    bool best(int n, const Arcs& arcs, const float* scores, const std::vector<ScoredArc>& certain, Spare&& spare,
              const Settings& s, std::int32_t* heads) {
        list(n, arcs, scores, certain);
        if (best_of_listed(n, arcs.size() <= kFewArcs * n, s, heads)) return true;
        const std::vector<ScoredArc> more = spare();
        if (more.empty()) return false;
        listed_.insert(listed_.end(), more.begin(), more.end());
        std::stable_sort(listed_.begin(), listed_.end(),
                         [](const ScoredArc& a, const ScoredArc& b) { return a.modifier < b.modifier; });
        return best_of_listed(n, false, s, heads);
    }

private:
    static constexpr int kFewArcs = 8;         // per word
    static constexpr double kDenseSpeed = 32;  // steps of the dense algorithm in the time of one step of the sparse one

    // Lists the chosen and the certain arcs, modifier by modifier.
    void list(int n, const Arcs& arcs, const float* scores, const std::vector<ScoredArc>& certain) {
        listed_.resize(static_cast<std::size_t>(arcs.size()) + certain.size());
        ScoredArc* at = listed_.data();
        auto next_certain = certain.begin();
        for (int m = 1, i = 0; m < n; ++m)
            if (next_certain != certain.end() && next_certain->modifier == m) {
                *at++ = *next_certain++;
            } else {
                for (; i < arcs.size() && arcs.modifier(i) == m; ++i)
                    *at++ = {static_cast<std::uint16_t>(arcs.head(i)), static_cast<std::uint16_t>(m), scores[i]};
            }
        listed_.resize(static_cast<std::size_t>(at - listed_.data()));
    }
    bool best_of_listed(int n, bool few, const Settings& s, std::int32_t* heads) {
        if (!s.projective) {
            edmonds_.begin(n - 1);
            for (const ScoredArc& a : listed_) edmonds_.add(a.head, a.modifier, a.score);
            return edmonds_.decode(s.single_root, heads);
        }
        int longest = 0;
        for (const ScoredArc& a : listed_)
            if (a.head > 0) longest = std::max(longest, std::abs(a.head - a.modifier));
        const double N = n, dense = sizeof(float) * (N * N + static_cast<double>(Chart::size(n - 1)));
        const bool sparse_is_faster =
            kDenseSpeed * static_cast<double>(listed_.size()) * (s.single_root ? longest : n) <= N * N * N;
        if (few || sparse_is_faster || dense > kMostBytes) {
            check_size(n, longest, s);
            sparse_eisner_.begin(n - 1);
            for (const ScoredArc& a : listed_) sparse_eisner_.add(a.head, a.modifier, a.score);
            return sparse_eisner_.decode(s.single_root, heads);
        }
        matrix_.assign(static_cast<std::size_t>(n) * n, -std::numeric_limits<float>::infinity());
        for (const ScoredArc& a : listed_) matrix_[static_cast<std::size_t>(a.head) * n + a.modifier] = a.score;
        return eisner_.decode(matrix_.data(), n - 1, s.single_root, heads);
    }
    static void check_size(int n, int longest, const Settings& s) {
        const double bytes = sizeof(float) * SparseEisner::chart_size(n - 1, longest, s.single_root);
        if (bytes <= kMostBytes) return;
        char chart[32];
        std::snprintf(chart, sizeof chart, "%.1f", bytes / 1e9);
        throw TooLarge("has " + std::to_string(n - 1) + " words and arcs of up to " + std::to_string(longest) +
                       ": the chart of decoder='eisner' would take " + chart +
                       " GB, and 2.1 GB are the most. Split it; or use decoder='chu-liu-edmonds', which needs no "
                       "chart; or shorter arcs (length_filter='slack' or "
                       "'exact', or an arc_margin) with single_root=True");
    }

    std::vector<ScoredArc> listed_;
    std::vector<float> matrix_;
    Eisner eisner_;
    SparseEisner sparse_eisner_;
    Edmonds edmonds_;
};

// Decodes a matrix of scores [head][modifier] of n words and the root; -infinity leaves an arc out. `sparse` selects
// Eisner's algorithm for few arcs. Returns whether there is a tree.
inline bool decode_scores(const float* scores, int n, bool projective, bool single_root, bool sparse,
                          std::int32_t* heads) {
    if (!projective) return Edmonds().decode(scores, n, single_root, heads);
    if (!sparse) return Eisner().decode(scores, n, single_root, heads);
    SparseEisner eisner;
    eisner.begin(n);
    for (int m = 1; m <= n; ++m)
        for (int h = 0; h <= n; ++h) {
            const float score = scores[static_cast<std::size_t>(h) * (n + 1) + m];
            if (h != m && score > -std::numeric_limits<float>::infinity()) eisner.add(h, m, score);
        }
    return eisner.decode(single_root, heads);
}

// Calls work() for a sentence of a treebank; if the sentence is too large, the exception names it.
template <class Work>
inline void with_error_location(const Treebank& t, std::size_t sentence, Work&& work) {
    try {
        work();
    } catch (const TooLarge& e) {
        throw std::length_error("sentence " + std::to_string(sentence) + " (line " +
                                std::to_string(t.sentences[sentence].line) + ") " + e.what() + ".");
    }
}

}  // namespace wald::parser
