// What a thread needs to parse a sentence, and what a parser is told about how to.
#pragma once

#include <chrono>

#include "edmonds.hpp"
#include "eisner.hpp"
#include "scorer.hpp"

namespace wald::parser {

struct Settings {
    bool projective = true;    // Eisner, or Chu-Liu-Edmonds
    bool single_root = true;
    int n_groups = kGroups;    // 1: tags only
};

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
    void begin(const Treebank& t, std::size_t sentence, const Lexicon& lexicon, const Weights& weights) {
        atoms_.read(t, sentence, lexicon);
        scorer_.begin(atoms_, weights);
        arcs_.begin(atoms_.tags(), atoms_.coarse_tags(), atoms_.n());
    }

    // Scores of all arcs under the settings' groups into a matrix [head][modifier].
    void score(const Limits& limits, int n_groups) {
        score_arcs(limits);
        if (n_groups > 1) {
            extra_.resize(scores_.size());
            scorer_.score(1, arcs_.view(), extra_.data());
            for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] += extra_[i];
        }
        fill();
    }
    // The same, but the costly group for chosen arcs alone.
    template <class Wanted>
    void score_some(const Limits& limits, Wanted&& wanted) {
        score_arcs(limits);
        some_.clear();
        where_.clear();
        for (int i = 0; i < arcs_.size(); ++i)
            if (wanted(arcs_.head(i), arcs_.modifier(i))) {
                some_.add(arcs_, i);
                where_.push_back(i);
            }
        extra_.resize(where_.size());
        if (!where_.empty()) scorer_.score(1, some_.view(), extra_.data());
        for (std::size_t k = 0; k < where_.size(); ++k) scores_[where_[k]] += extra_[k];
        fill();
    }
    void fill() {
        const std::size_t N = static_cast<std::size_t>(atoms_.n());
        matrix_.assign(N * N, -std::numeric_limits<float>::infinity());
        for (int i = 0; i < arcs_.size(); ++i) matrix_[static_cast<std::size_t>(arcs_.head(i)) * N + arcs_.modifier(i)] = scores_[i];
    }
    bool decode(const Settings& s, std::int32_t* heads) {
        const int n = atoms_.n() - 1;
        return s.projective ? eisner_.decode(matrix_.data(), n, s.single_root, heads)
                            : edmonds_.decode(matrix_.data(), n, s.single_root, heads);
    }

    // heads[0..n) of the n words; times[0..3) gains seconds of features, scores and decoding.
    void parse(const Treebank& t, std::size_t sentence, const Lexicon& lexicon, const Weights& weights, const Limits& limits,
               const Settings& s, std::int32_t* heads, double* times) {
        Stopwatch watch;
        begin(t, sentence, lexicon, weights);
        for (int g = 0; g < s.n_groups; ++g) scorer_.find_keys(g);
        watch.lap(times[0]);
        score(limits, s.n_groups);
        watch.lap(times[1]);
        heads_.resize(static_cast<std::size_t>(atoms_.n()));
        decode(s, heads_.data());
        std::copy(heads_.begin() + 1, heads_.end(), heads);
        watch.lap(times[2]);
    }

    void score_arcs(const Limits& limits) {
        arcs_.list(limits);
        scores_.resize(static_cast<std::size_t>(arcs_.size()));
        scorer_.score(0, arcs_.view(), scores_.data());
    }
    Atoms& atoms() { return atoms_; }
    Scorer& scorer() { return scorer_; }
    Arcs& arcs() { return arcs_; }
    std::vector<float>& scores() { return scores_; }
    std::vector<float>& extra() { return extra_; }
    std::vector<float>& matrix() { return matrix_; }

private:
    Atoms atoms_;
    Scorer scorer_;
    Arcs arcs_, some_;
    std::vector<int> where_;
    Eisner eisner_;
    Edmonds edmonds_;
    std::vector<float> scores_, extra_, matrix_;
    std::vector<std::int32_t> heads_;
};

}  // namespace wald::parser
