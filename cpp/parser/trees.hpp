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
    bool second_order = false;
    bool by_head = false;    // a word's state is that of the arcs it is the head of
    int n_groups = kGroups;  // 1: tags only
    // Which arcs are scored: those that the length filter and, with a margin of at least 0, the pruner leave.
    bool filter = true;
    double factor = 1.5, extra = 2;
    double margin = -1;
    // Learning.
    bool mira = true;            // or perceptron
    double step = 0.01;          // MIRA's C; the perceptron's learning rate
    bool random_states = false;  // words get the costly group at random, with p ~ U(0, 1), 0 or 1 per sentence
    bool loss_augmented = true;

    Limits limits(const LengthFilter& f) const { return Limits(f, filter, factor, extra); }
};

enum class Decoder { eisner, sparse_eisner, edmonds };

class Trees {
public:
    static constexpr double kMostBytes = 2147483648.0;  // of a chart

    // Writes heads[1..n) of the best tree of n positions from the chosen arcs with these scores; false if there is
    // none.
    bool best(int n, const Chosen& chosen, const float* scores, const Settings& s, std::int32_t* heads) {
        list(n, chosen.arcs, scores, chosen.certain);
        if (best_of_listed(n, chosen.arcs.size() <= kFewArcs * n, s, heads)) return true;
        if (chosen.spare.empty()) return false;
        listed_.insert(listed_.end(), chosen.spare.begin(), chosen.spare.end());
        std::stable_sort(listed_.begin(), listed_.end(),
                         [](const ScoredArc& a, const ScoredArc& b) { return a.modifier < b.modifier; });
        return best_of_listed(n, false, s, heads);
    }
    // The same from a matrix of scores [head][modifier]; minus infinity leaves an arc out.
    bool best(int n, const float* scores, Decoder decoder, bool single_root, std::int32_t* heads) {
        listed_.clear();
        for (std::uint16_t m = 1; m < n; ++m)
            for (std::uint16_t h = 0; h < n; ++h)
                if (const float score = scores[static_cast<std::size_t>(h) * n + m]; h != m && score > kNoTree)
                    listed_.push_back({h, m, score});
        return decode_listed(n, decoder, single_root, heads);
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
        if (!s.projective) return decode_listed(n, Decoder::edmonds, s.single_root, heads);
        int longest = 0;
        for (const ScoredArc& a : listed_)
            if (a.head > 0) longest = std::max(longest, std::abs(a.head - a.modifier));
        const double N = n, dense = sizeof(float) * (N * N + static_cast<double>(Chart::size(n - 1)));
        const bool sparse_is_faster =
            kDenseSpeed * static_cast<double>(listed_.size()) * (s.single_root ? longest : n) <= N * N * N;
        const bool sparse = few || sparse_is_faster || dense > kMostBytes;
        if (sparse) check_size(n, longest, s);
        return decode_listed(n, sparse ? Decoder::sparse_eisner : Decoder::eisner, s.single_root, heads);
    }
    bool decode_listed(int n, Decoder decoder, bool single_root, std::int32_t* heads) {
        const auto decode = [&](auto& by) { return by.decode(n - 1, listed_, single_root, heads); };
        return decoder == Decoder::edmonds         ? decode(edmonds_)
               : decoder == Decoder::sparse_eisner ? decode(sparse_eisner_)
                                                   : decode(eisner_);
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
    Eisner eisner_;
    SparseEisner sparse_eisner_;
    Edmonds edmonds_;
};

}  // namespace wald::parser
