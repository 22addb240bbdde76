// The best tree in O(n^2), projective or not: Y. J. Chu and T. H. Liu, 1965; J. Edmonds, 1967; R. E. Tarjan, "Finding
// optimum branchings", Networks 7, 1977, in its form for dense graphs, but with lists of arcs, so that memory grows
// with their number.
//
// A path is extended backwards along best incoming arcs until it reaches the root or a node connected to it. A cycle is
// contracted to one node; an arc into it counts with its gain over the arc of the cycle that it replaces.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "parser/arcs.hpp"

namespace wald::parser {

class Edmonds {
public:
    // Fills heads[1..n] of the best tree of words 1..n, where 0 is the root; false if there is none. Each pair of head
    // and modifier may occur at most once. With a single root, the penalty of an arc from the root exceeds whatever all
    // other arcs can gain.
    bool decode(int n, std::span<const ScoredArc> arcs, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        start(n, arcs, single_root);
        for (int start = 1; start <= n_; ++start) {
            if (nodes_[outermost_[start]].connected) continue;
            path_.assign(1, outermost_[start]);
            nodes_[path_.back()].on_path = true;
            for (;;) {
                const int v = path_.back();
                if (!choose_arc(v)) return false;
                const int w = outermost_[nodes_[v].best.from];
                if (nodes_[w].connected) break;
                if (nodes_[w].on_path) {
                    contract(w);
                } else {
                    path_.push_back(w);
                    nodes_[w].on_path = true;
                }
            }
            for (const int v : path_) nodes_[v].connected = true, nodes_[v].on_path = false;
        }
        expand(heads);
        return !single_root || std::count(heads + 1, heads + n_ + 1, 0) == 1;
    }

private:
    // An arc into a node.
    struct Arc {
        double gain;
        std::int32_t from, enter;  // its head, and the word of the node that it enters
    };

    struct Node {
        Arc best{0, -1, -1};       // into it
        std::int32_t parent = -1;  // the node that it was contracted to
        bool connected = false, on_path = false;
    };

    void start(int n, std::span<const ScoredArc> arcs, bool single_root) {
        n_ = n;
        next_ = N_ = n + 1;
        const std::size_t N = static_cast<std::size_t>(N_);
        if (rows_.size() < N) rows_.resize(N);
        for (std::size_t m = 0; m < N; ++m) rows_[m].clear();
        double low = 0, high = 0;
        for (const ScoredArc& a : arcs) {
            const double score = a.score;
            low = std::min(low, score);
            high = std::max(high, score);
            rows_[a.modifier].push_back({score, a.head, a.modifier});
        }
        const auto rising = [](const Arc& a, const Arc& b) { return a.from < b.from; };
        for (std::size_t m = 1; m < N; ++m) {
            std::vector<Arc>& row = rows_[m];
            if (!std::is_sorted(row.begin(), row.end(), rising)) std::sort(row.begin(), row.end(), rising);
            if (single_root && !row.empty() && row.front().from == 0) row.front().gain -= (high - low + 1) * N_;
        }
        outermost_.resize(N);
        row_.assign(2 * N, 0);
        for (int v = 0; v <= n_; ++v) outermost_[v] = row_[v] = v;
        nodes_.assign(2 * N, Node{});
        nodes_[0].connected = true;
    }

    std::vector<Arc>& arcs_of(int v) { return rows_[static_cast<std::size_t>(row_[v])]; }

    bool choose_arc(int v) {
        const Arc* best = nullptr;
        for (const Arc& a : arcs_of(v))
            if (best == nullptr || a.gain > best->gain) best = &a;
        if (best == nullptr) return false;
        nodes_[v].best = *best;
        return true;
    }

    // Contracts the cycle, which is the path from `first` on, to one node. Its arcs take the row of its first member.
    void contract(int first) {
        const int c = next_++;
        std::size_t begin = path_.size() - 1;
        while (path_[begin] != first) --begin;
        row_[c] = row_[first];
        std::vector<Arc>& row = arcs_of(c);
        for (Arc& a : row) a.gain -= nodes_[first].best.gain;
        for (std::size_t k = begin; k < path_.size(); ++k) {
            const int v = path_[k];
            nodes_[v].on_path = false;
            nodes_[v].parent = c;
            if (v != first) merge(row, arcs_of(v), nodes_[v].best.gain);
        }
        for (int u = 0; u <= n_; ++u)
            if (nodes_[outermost_[u]].parent == c) outermost_[u] = c;
        std::erase_if(row, [&](const Arc& a) { return outermost_[a.from] == c; });
        path_.resize(begin);
        path_.push_back(c);
        nodes_[c].on_path = true;
    }
    // Merges the arcs of another member into a row; of two arcs from the same word, the better one stays.
    void merge(std::vector<Arc>& row, std::vector<Arc>& other, double cost) {
        merged_.clear();
        auto a = row.begin();
        for (Arc b : other) {
            b.gain -= cost;
            while (a != row.end() && a->from < b.from) merged_.push_back(*a++);
            if (a != row.end() && a->from == b.from) {
                merged_.push_back(b.gain > a->gain ? b : *a);
                ++a;
            } else {
                merged_.push_back(b);
            }
        }
        merged_.insert(merged_.end(), a, row.end());
        row.swap(merged_);
        other.clear();
    }

    // Expands contracted nodes, outermost first: the arc into a node replaces the arc of the member that it enters.
    void expand(std::int32_t* heads) {
        for (int c = next_ - 1; c >= N_; --c) {
            int v = nodes_[c].best.enter;
            while (nodes_[v].parent != c) v = nodes_[v].parent;
            nodes_[v].best = nodes_[c].best;
        }
        for (int m = 1; m <= n_; ++m) heads[m] = nodes_[m].best.from;
    }

    int n_ = 0, N_ = 0, next_ = 0;
    std::vector<std::vector<Arc>> rows_;  // a node's arcs by ascending head
    std::vector<Arc> merged_;
    std::vector<Node> nodes_;
    std::vector<std::int32_t> outermost_, row_, path_;
};

}  // namespace wald::parser
