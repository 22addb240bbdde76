// The best tree of a sentence, from the scores of its arcs.
#pragma once

#include "choice.hpp"
#include "edmonds.hpp"
#include "eisner.hpp"
#include "sparse_eisner.hpp"

namespace wald::parser {

struct Settings {
    bool projective = true;    // Eisner, or Chu-Liu-Edmonds
    bool single_root = true;
    int n_groups = kGroups;    // 1: tags only
};

class Trees {
public:
    // Scores [head][modifier] of n positions, minus infinity for arcs that are out of the question.
    std::vector<float>& matrix() { return matrix_; }
    void fill(int n, const Arcs& arcs, const float* scores) {
        const std::size_t N = static_cast<std::size_t>(n);
        matrix_.assign(N * N, -std::numeric_limits<float>::infinity());
        for (int i = 0; i < arcs.size(); ++i) matrix_[static_cast<std::size_t>(arcs.head(i)) * N + arcs.modifier(i)] = scores[i];
    }
    // heads[1..n) of the matrix's best tree; false if there is none.
    bool best_of_matrix(int n, const Settings& s, std::int32_t* heads) {
        return s.projective ? eisner_.decode(matrix_.data(), n - 1, s.single_root, heads)
                            : edmonds_.decode(matrix_.data(), n - 1, s.single_root, heads);
    }
    // The same of arcs that were chosen. The spare ones, spare(), count only where there is no tree without.
    template <class Spare>
    void best(int n, const Arcs& arcs, const float* scores, const std::vector<ScoredArc>& settled, Spare&& spare, const Settings& s, std::int32_t* heads) {
        const bool few = s.projective && arcs.size() <= kFew * n;
        if (few && best_of_few(n, arcs, scores, settled, s, heads)) return;
        fill(n, arcs, scores);
        fill_in(n, settled);
        if (!few && best_of_matrix(n, s, heads)) return;
        fill_in(n, spare());
        best_of_matrix(n, s, heads);
    }

private:
    static constexpr int kFew = 8;  // arcs a word

    bool best_of_few(int n, const Arcs& arcs, const float* scores, const std::vector<ScoredArc>& settled, const Settings& s, std::int32_t* heads) {
        few_.begin(n - 1);
        auto only = settled.begin();
        for (int m = 1, i = 0; m < n; ++m)
            if (only != settled.end() && only->modifier == m) {
                few_.add(only->head, m, only->score);
                ++only;
            } else {
                for (; i < arcs.size() && arcs.modifier(i) == m; ++i) few_.add(arcs.head(i), m, scores[i]);
            }
        return few_.decode(s.single_root, heads);
    }
    void fill_in(int n, const std::vector<ScoredArc>& arcs) {
        for (const ScoredArc& a : arcs) matrix_[a.head * static_cast<std::size_t>(n) + a.modifier] = a.score;
    }

    std::vector<float> matrix_;
    Eisner eisner_;
    SparseEisner few_;
    Edmonds edmonds_;
};

}  // namespace wald::parser
