// Eisner's algorithm for the best projective tree: J. Eisner, "Three new probabilistic models for dependency parsing",
// COLING 1996. Charts hold scores only; the backtrace searches for the split points of the best tree, in O(n^2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace wald::parser {

inline constexpr float kNoTree = -std::numeric_limits<float>::infinity();

// Six tables of scores of spans over positions 0..n, initially minus infinity, indexed by the ends of the span. They
// are laid out so that every maximum over split points reads two contiguous rows.
class Chart {
public:
    Chart(float* memory, int n) : memory_(memory), step_(stride(n)), table_((n + 1) * step_) {}
    static std::int64_t stride(int n) { return (n + 1 + 15) / 16 * 16 + 16; }
    static std::int64_t size(int n) { return 6 * (n + 1) * stride(n) + 16; }

    float* right(int i) const { return at(0, i); }       // [i][j] complete, head i, ends at j
    float* right_to(int j) const { return at(1, j); }    // [j][i] the same, transposed
    float* left(int j) const { return at(2, j); }        // [j][i] complete, head j, begins at i
    float* left_from(int i) const { return at(3, i); }   // [i][j] the same, transposed
    float* open_right(int i) const { return at(4, i); }  // [i][j] incomplete, with the arc i -> j
    float* open_left(int j) const { return at(5, j); }   // [j][i] incomplete, with the arc j -> i

private:
    float* at(int table, int row) const { return memory_ + table * table_ + row * step_; }
    float* memory_;
    std::int64_t step_, table_;
};

// A complete span that is still to be followed down to its arcs.
struct Span {
    int head, end;
};

// Fills heads[1..n] from a finished chart; false if there is no tree. A chart gives the score of a complete span,
// complete(head, end); rows of such scores, right(i)[k] and left(j)[k], for the spans that lie below an arc; and
// find_arc(head, end, visit), which calls visit(modifier, score of the incomplete span, score of the arc) for arcs from
// the head towards the end, modifiers rising, until it returns true.
template <class AnyChart>
bool backtrace(AnyChart& chart, int n, bool single_root, std::vector<Span>& open, std::int32_t* heads) {
    open.clear();
    if (single_root) {
        int root = 0;
        float best = kNoTree;
        chart.find_arc(0, n, [&](int r, float, float arc) {
            const float total = chart.complete(r, 1) + chart.complete(r, n) + arc;
            if (total > best) best = total, root = r;
            return false;
        });
        if (root == 0) return false;
        heads[root] = 0;
        open.push_back({root, 1});
        open.push_back({root, n});
    } else {
        if (!(chart.complete(0, n) > kNoTree)) return false;
        open.push_back({0, n});
    }
    while (!open.empty()) {
        const Span s = open.back();
        open.pop_back();
        if (s.head == s.end) continue;
        const float total = chart.complete(s.head, s.end);
        chart.find_arc(s.head, s.end, [&](int m, float incomplete, float arc) {
            if (incomplete + chart.complete(m, s.end) != total) return false;
            heads[m] = s.head;
            open.push_back({m, s.end});
            const int i = std::min(s.head, m), j = std::max(s.head, m);
            const float *a = chart.right(i), *b = chart.left(j) + 1;
            int k = i;
            while (k + 1 < j && a[k] + b[k] + arc != incomplete) ++k;
            open.push_back({i, k});
            open.push_back({j, k + 1});
            return true;
        });
    }
    return true;
}

}  // namespace wald::parser
