// Eisner's algorithm for sentences of few arcs. Only a word's own arcs can extend its spans, so that every arc takes
// O(n) steps: O(n^2) with a few arcs per word, not O(n^3). Scores, ties and trees equal those of `Eisner`.
//
// With a single root, a span longer than the longest arc between two words is needed only if it reaches an end of the
// sentence. Other long spans are not stored, so that arcs of at most b words take O(n b) memory. J. Eisner and N. A.
// Smith, "Parsing with soft and hard constraints on dependency length", IWPT 2005, do so for spans of the root.
#pragma once

#include <cstdlib>
#include <span>

#include "parser/arcs.hpp"
#include "parser/chart.hpp"

namespace wald::parser {

class SparseEisner {
public:
    // Number of floats that `decode` stores if arcs between words have at most length `longest`.
    static double chart_size(int n, int longest, bool single_root) {
        return 3.0 * (n + 1.0) * ((single_root ? std::min(longest, n) : n) + 1.0);
    }

    // Fills heads[1..n] of the best tree of words 1..n, where 0 is the root; false if there is none. Arcs come modifier
    // by modifier.
    bool decode(int n, std::span<const ScoredArc> arcs, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        band_ = n_ = n;
        sort(arcs);
        if (single_root) {
            band_ = 0;
            for (const Arc& a : sorted_)
                if (a.head > 0) band_ = std::max(band_, std::abs(a.head - a.modifier));
        }
        const std::size_t size = (static_cast<std::size_t>(n_) + 1) * (static_cast<std::size_t>(band_) + 1);
        for (auto* table : {&right_, &left_, &left_from_}) table->assign(size, kNoTree);
        to_end_.assign(static_cast<std::size_t>(n_) + 1, kNoTree);
        to_begin_.assign(static_cast<std::size_t>(n_) + 1, kNoTree);
        for (int i = n_; i >= 0; --i) extend(i, single_root);
        return backtrace(*this, n_, single_root, stack_, heads);
    }

    // ---- the finished chart, as `backtrace` reads it

    // Scores of spans no longer than the band, indexed by their two ends: [i][j] with head i that end at j, and [j][i]
    // with head j that begin at i.
    float* right(int i) { return right_.data() + static_cast<std::size_t>(i) * band_; }
    float* left(int j) { return left_.data() + static_cast<std::size_t>(j) * band_ + band_; }
    // The same, also for spans of any length that reach the last word or the first word.
    float complete(int head, int end) {
        if (head <= end) return end == n_ ? to_end_[head] : right(head)[end];
        return end == 1 ? to_begin_[head] : left(head)[end];
    }
    template <class Visit>
    void find_arc(int head, int end, Visit&& visit) {
        const int first = std::min(head, end), last = std::max(head, end);
        for (const Arc* a = begin_of(head); a != end_of(head); ++a)
            if (a->modifier >= first && a->modifier <= last && visit(a->modifier, a->open, a->score)) return;
    }

private:
    struct Arc {
        std::int32_t head, modifier;
        float score;
        float open;  // score of the best incomplete span with this arc
    };
    // The transpose of left: [i][j].
    float* left_from(int i) { return left_from_.data() + static_cast<std::size_t>(i) * band_; }

    // Sorts arcs by head and then by modifier.
    void sort(std::span<const ScoredArc> arcs) {
        first_.assign(static_cast<std::size_t>(n_) + 2, 0);
        for (const ScoredArc& a : arcs) ++first_[a.head + 1];
        for (std::size_t h = 1; h < first_.size(); ++h) first_[h] += first_[h - 1];
        sorted_.resize(arcs.size());
        next_.assign(first_.begin(), first_.end() - 1);
        for (const ScoredArc& a : arcs) sorted_[next_[a.head]++] = {a.head, a.modifier, a.score, 0};
    }
    Arc* begin_of(int head) { return sorted_.data() + first_[head]; }
    Arc* end_of(int head) { return sorted_.data() + first_[head + 1]; }

    // max_k right(i)[k] + left(j)[k + 1], i <= k < j
    float inner(int i, int j) {
        const float *a = right(i), *b = left(j) + 1;
        constexpr int lanes = 16;  // vectorized: the maximum does not depend on the order
        float best = kNoTree;
        int k = i;
        if (j - i >= 2 * lanes) {
            float most[lanes];
            std::fill(most, most + lanes, kNoTree);
            for (; k + lanes <= j; k += lanes)
                for (int l = 0; l < lanes; ++l) most[l] = std::max(most[l], a[k + l] + b[k + l]);
            best = *std::max_element(most, most + lanes);
        }
        for (; k < j; ++k) best = std::max(best, a[k] + b[k]);
        return best;
    }

    // Computes all spans that begin at i, from those that begin later.
    void extend(int i, bool single_root) {
        if (i == 0 && single_root) return;
        float *own = right(i), *from = left_from(i);
        own[i] = left(i)[i] = from[i] = 0;
        float& to_end = to_end_[i];
        if (i == n_) to_end = 0;
        const int last = std::min(n_, i + band_);
        for (Arc* a = begin_of(i); a != end_of(i); ++a) {
            const int r = a->modifier;
            if (r < i) continue;
            a->open = inner(i, r) + a->score;
            if (!(a->open > kNoTree)) continue;
            const float* onwards = right(r);
            for (int j = r; j <= last; ++j) own[j] = std::max(own[j], a->open + onwards[j]);
            to_end = std::max(to_end, a->open + to_end_[r]);
        }
        if (i == 0) return;
        for (int j = i + 1; j <= last; ++j) {
            float best = kNoTree;
            for (Arc* a = begin_of(j); a != end_of(j) && a->modifier < j; ++a) {
                if (a->modifier < i) continue;
                if (a->modifier == i) a->open = inner(i, j) + a->score;
                best = std::max(best, a->open + from[a->modifier]);
            }
            from[j] = left(j)[i] = best;
        }
        if (i == 1) reach_begin();
    }
    // Computes spans of any length that begin at the first word, from all others.
    void reach_begin() {
        to_begin_[1] = 0;
        for (int j = 2; j <= n_; ++j)
            for (const Arc* a = begin_of(j); a != end_of(j) && a->modifier < j; ++a)
                to_begin_[j] = std::max(to_begin_[j], a->open + to_begin_[a->modifier]);
    }

    int n_ = 0, band_ = 0;  // the longest span that is kept
    std::vector<Arc> sorted_;
    std::vector<std::int32_t> first_, next_;  // [head]
    std::vector<float> right_, left_, left_from_;
    std::vector<float> to_end_, to_begin_;  // [head] of spans from the head to the last word, and to the first
    std::vector<Span> stack_;
};

}  // namespace wald::parser
