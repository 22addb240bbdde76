// The best tree in O(n^2), projective or not: Y. J. Chu and T. H. Liu, 1965; J. Edmonds, 1967; R. E. Tarjan, "Finding optimum
// branchings", Networks 7, 1977, in its form for dense graphs.
//
// A path grows backwards along best incoming arcs until it meets the root or what already hangs on it. Where it closes a cycle,
// the cycle becomes one node, whose incoming arcs are counted by what they gain over the arc of the cycle that they displace.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "../common.hpp"

namespace wald::parser {

class Edmonds {
public:
    // As Eisner::decode. With a single root every arc from the root pays more than all others together could make up for.
    bool decode(const float* scores, int n, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        begin(scores, n, single_root);
        for (int start = 1; start <= n; ++start) {
            if (settled_[top_[start]]) continue;
            path_.assign(1, top_[start]);
            on_path_[path_.back()] = 1;
            for (;;) {
                const int v = path_.back();
                if (!choose(v)) return false;
                const int w = top_[source_[v]];
                if (settled_[w]) break;
                if (on_path_[w]) {
                    contract(w);
                } else {
                    path_.push_back(w);
                    on_path_[w] = 1;
                }
            }
            for (const int v : path_) settled_[v] = 1, on_path_[v] = 0;
        }
        expand(heads);
        return !single_root || std::count(heads + 1, heads + n + 1, 0) == 1;
    }

private:
    static constexpr double kNone = -std::numeric_limits<double>::infinity();

    void begin(const float* scores, int n, bool single_root) {
        n_ = n;
        N_ = n + 1;
        const std::size_t N = static_cast<std::size_t>(N_);
        gain_.assign(N * N, kNone);
        enter_.resize(N * N);
        double low = 0, high = 0;
        for (int m = 1; m <= n; ++m)
            for (int h = 0; h <= n; ++h) {
                const double s = scores[h * N_ + m];
                if (h == m || s == kNone) continue;
                low = std::min(low, s);
                high = std::max(high, s);
                gain_[at(m, h)] = s;
                enter_[at(m, h)] = m;
            }
        if (single_root)
            for (int m = 1; m <= n; ++m) gain_[at(m, 0)] -= (high - low + 1) * N_;
        next_ = N_;
        top_.resize(N);
        row_.assign(2 * N, 0);
        for (int v = 0; v <= n; ++v) top_[v] = row_[v] = v;
        parent_.assign(2 * N, -1);
        source_.assign(2 * N, -1);
        target_.assign(2 * N, -1);
        cost_.assign(2 * N, 0);
        settled_.assign(2 * N, 0);
        on_path_.assign(2 * N, 0);
        settled_[0] = 1;
    }

    bool choose(int v) {
        const double* gain = gain_.data() + at(row_[v], 0);
        int best = 0;
        for (int u = 1; u <= n_; ++u)
            if (gain[u] > gain[best]) best = u;
        if (gain[best] == kNone) return false;
        source_[v] = best;
        target_[v] = enter_[at(row_[v], best)];
        cost_[v] = gain[best];
        return true;
    }

    // The end of the path, from `first` on, closes a cycle and becomes one node; its arcs go where the first member's were.
    void contract(int first) {
        const int c = next_++;
        std::size_t begin = path_.size() - 1;
        while (path_[begin] != first) --begin;
        row_[c] = row_[first];
        double* gain = gain_.data() + at(row_[c], 0);
        std::int32_t* enter = enter_.data() + at(row_[c], 0);
        for (int u = 0; u <= n_; ++u) gain[u] -= cost_[first];
        for (std::size_t k = begin; k < path_.size(); ++k) {
            const int v = path_[k];
            on_path_[v] = 0;
            parent_[v] = c;
            if (v == first) continue;
            const double* other = gain_.data() + at(row_[v], 0);
            const std::int32_t* other_enter = enter_.data() + at(row_[v], 0);
            for (int u = 0; u <= n_; ++u)
                if (other[u] - cost_[v] > gain[u]) {
                    gain[u] = other[u] - cost_[v];
                    enter[u] = other_enter[u];
                }
        }
        for (int u = 0; u <= n_; ++u)
            if (parent_[top_[u]] == c) {
                top_[u] = c;
                gain[u] = kNone;
            }
        path_.resize(begin);
        path_.push_back(c);
        on_path_[c] = 1;
    }

    // From the outermost nodes inwards: the member that a node's arc enters gives up its own.
    void expand(std::int32_t* heads) {
        for (int c = next_ - 1; c >= N_; --c) {
            int v = target_[c];
            while (parent_[v] != c) v = parent_[v];
            source_[v] = source_[c];
            target_[v] = target_[c];
        }
        for (int m = 1; m <= n_; ++m) heads[m] = source_[m];
    }

    std::size_t at(int row, int column) const { return static_cast<std::size_t>(row) * N_ + column; }

    int n_ = 0, N_ = 0, next_ = 0;
    std::vector<double> gain_, cost_;
    std::vector<std::int32_t> enter_, top_, row_, parent_, source_, target_, path_;
    std::vector<char> settled_, on_path_;
};

}  // namespace wald::parser
