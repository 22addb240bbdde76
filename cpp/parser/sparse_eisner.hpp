// Eisner's algorithm for sentences of few arcs. Only a word's own arcs can extend its spans, so that every arc takes
// O(n) steps: O(n^2) with a few arcs per word, not O(n^3). Scores, ties and trees equal those of `Eisner`.
//
// With a single root, a span longer than the longest arc between two words is needed only if it reaches an end of the
// sentence. Other long spans are not stored, so that arcs of at most b words take O(n b) memory. J. Eisner and N. A.
// Smith, "Parsing with soft and hard constraints on dependency length", IWPT 2005, do so for spans of the root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

namespace wald::parser {

class SparseEisner {
public:
    // Starts a sentence of words 1..n without arcs; 0 is the root.
    void begin(int n) {
        n_ = n;
        arcs_.clear();
        first_.assign(static_cast<std::size_t>(n) + 2, 0);
    }
    // Arcs are added modifier by modifier.
    void add(int head, int modifier, float score) {
        arcs_.push_back({head, modifier, score, 0});
        ++first_[static_cast<std::size_t>(head) + 1];
    }

    // Number of floats that `decode` stores if arcs between words have at most length `longest`.
    static double chart_size(int n, int longest, bool single_root) {
        return 3.0 * (n + 1.0) * ((single_root ? std::min(longest, n) : n) + 1.0);
    }

    // Fills heads[1..n]; false if there is no tree.
    bool decode(bool single_root, std::int32_t* heads) {
        if (n_ == 0) return true;
        sort();
        band_ = n_;
        if (single_root) {
            band_ = 0;
            for (const Arc& a : arcs_)
                if (a.head > 0) band_ = std::max(band_, std::abs(a.head - a.modifier));
        }
        const std::size_t size = (static_cast<std::size_t>(n_) + 1) * (static_cast<std::size_t>(band_) + 1);
        for (auto* table : {&right_, &left_, &left_from_}) table->assign(size, kNone);
        to_end_.assign(static_cast<std::size_t>(n_) + 1, kNone);
        to_begin_.assign(static_cast<std::size_t>(n_) + 1, kNone);
        for (int i = n_; i >= 0; --i) extend(i, single_root);
        return backtrace(single_root, heads);
    }

private:
    static constexpr float kNone = -std::numeric_limits<float>::infinity();

    struct Arc {
        std::int32_t head, modifier;
        float score;
        float open;  // score of the best incomplete span with this arc
    };
    struct Span {
        const Arc* open;  // the arc of an incomplete span; null: complete
        int head, end;
    };

    // Scores of spans no longer than the band, indexed by their two ends: table(head)[end].
    float* right(int i) {
        return right_.data() + static_cast<std::size_t>(i) * band_;
    }  // [i][j] complete, head i, ends at j
    float* left(int j) {
        return left_.data() + static_cast<std::size_t>(j) * band_ + band_;
    }  // [j][i] complete, head j, begins at i
    float* left_from(int i) {
        return left_from_.data() + static_cast<std::size_t>(i) * band_;
    }  // [i][j] the same, transposed
       // The same scores, also for spans of any length that reach the last word or the first word.
    float rightwards(int i, int j) { return j == n_ ? to_end_[static_cast<std::size_t>(i)] : right(i)[j]; }
    float leftwards(int j, int i) { return i == 1 ? to_begin_[static_cast<std::size_t>(j)] : left(j)[i]; }

    // Sorts arcs by head and then by modifier.
    void sort() {
        for (std::size_t h = 1; h < first_.size(); ++h) first_[h] += first_[h - 1];
        sorted_.resize(arcs_.size());
        next_.assign(first_.begin(), first_.end() - 1);
        for (const Arc& a : arcs_) sorted_[static_cast<std::size_t>(next_[static_cast<std::size_t>(a.head)]++)] = a;
    }
    Arc* begin_of(int head) { return sorted_.data() + first_[static_cast<std::size_t>(head)]; }
    Arc* end_of(int head) { return sorted_.data() + first_[static_cast<std::size_t>(head) + 1]; }

    // max_k right(i)[k] + left(j)[k + 1], i <= k < j
    float inner(int i, int j) {
        const float *a = right(i), *b = left(j) + 1;
        constexpr int lanes = 16;  // vectorized: the maximum does not depend on the order
        float best = kNone;
        int k = i;
        if (j - i >= 2 * lanes) {
            float most[lanes];
            std::fill(most, most + lanes, kNone);
            for (; k + lanes <= j; k += lanes)
                for (int l = 0; l < lanes; ++l) most[l] = std::max(most[l], a[k + l] + b[k + l]);
            best = *std::max_element(most, most + lanes);
        }
        for (; k < j; ++k) best = std::max(best, a[k] + b[k]);
        return best;
    }

    // Computes all spans that begin at i, from those that begin later.
    void extend(int i, bool single_root) {
        if (i == 0 && single_root) return find_roots();
        float *own = right(i), *from = left_from(i);
        own[i] = left(i)[i] = from[i] = 0;
        float& to_end = to_end_[static_cast<std::size_t>(i)];
        if (i == n_) to_end = 0;
        const int last = std::min(n_, i + band_);
        for (Arc* a = begin_of(i); a != end_of(i); ++a) {
            const int r = a->modifier;
            if (r < i) continue;
            a->open = inner(i, r) + a->score;
            if (!(a->open > kNone)) continue;
            const float* onwards = right(r);
            for (int j = r; j <= last; ++j) own[j] = std::max(own[j], a->open + onwards[j]);
            to_end = std::max(to_end, a->open + to_end_[static_cast<std::size_t>(r)]);
        }
        if (i == 0) return;
        for (int j = i + 1; j <= last; ++j) {
            float best = kNone;
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
                to_begin_[static_cast<std::size_t>(j)] = std::max(
                    to_begin_[static_cast<std::size_t>(j)], a->open + to_begin_[static_cast<std::size_t>(a->modifier)]);
    }
    // Single root: scores each arc from the root with the best tree below it.
    void find_roots() {
        for (Arc* a = begin_of(0); a != end_of(0); ++a)
            a->open = leftwards(a->modifier, 1) + rightwards(a->modifier, n_) + a->score;
    }

    bool backtrace(bool single_root, std::int32_t* heads) {
        stack_.clear();
        if (single_root) {
            const Arc* root = nullptr;
            for (const Arc* a = begin_of(0); a != end_of(0); ++a)
                if (a->open > (root == nullptr ? kNone : root->open)) root = a;
            if (root == nullptr) return false;
            heads[root->modifier] = 0;
            stack_.push_back({nullptr, root->modifier, 1});
            stack_.push_back({nullptr, root->modifier, n_});
        } else {
            if (!(rightwards(0, n_) > kNone)) return false;
            stack_.push_back({nullptr, 0, n_});
        }
        while (!stack_.empty()) {
            const Span s = stack_.back();
            stack_.pop_back();
            if (s.open != nullptr) {
                const int i = std::min(s.head, s.end), j = std::max(s.head, s.end);
                heads[s.end] = s.head;
                const float *a = right(i), *b = left(j) + 1;
                for (int k = i; k < j; ++k)
                    if (a[k] + b[k] + s.open->score == s.open->open) {
                        stack_.push_back({nullptr, i, k});
                        stack_.push_back({nullptr, j, k + 1});
                        break;
                    }
            } else if (s.head != s.end) {
                const bool ahead = s.head < s.end;
                const float total = ahead ? rightwards(s.head, s.end) : leftwards(s.head, s.end);
                for (const Arc* a = begin_of(s.head); a != end_of(s.head); ++a) {
                    const int m = a->modifier;
                    if (ahead ? m < s.head || m > s.end : m > s.head || m < s.end) continue;
                    if (a->open + (ahead ? rightwards(m, s.end) : leftwards(m, s.end)) == total) {
                        stack_.push_back({a, s.head, m});
                        stack_.push_back({nullptr, m, s.end});
                        break;
                    }
                }
            }
        }
        return true;
    }

    int n_ = 0, band_ = 0;  // the longest span that is kept
    std::vector<Arc> arcs_, sorted_;
    std::vector<std::int32_t> first_, next_;  // [head]
    std::vector<float> right_, left_, left_from_;
    std::vector<float> to_end_, to_begin_;  // [head] of spans from the head to the last word, and to the first
    std::vector<Span> stack_;
};

}  // namespace wald::parser
