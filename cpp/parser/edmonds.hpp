// The best tree in O(n^2), projective or not: Y. J. Chu and T. H. Liu, 1965; J. Edmonds, 1967; R. E. Tarjan, "Finding
// optimum branchings", Networks 7, 1977, in its form for dense graphs, but with lists of arcs, so that memory grows
// with their number.
//
// A path is extended backwards along best incoming arcs until it reaches the root or a node connected to it. A cycle is
// contracted to one node; an arc into it counts with its gain over the arc of the cycle that it replaces.
#pragma once

#include <algorithm>
#include <vector>

#include "core/common.hpp"

namespace wald::parser {

class Edmonds {
public:
    // Starts a sentence of words 1..n without arcs; 0 is the root.
    void begin(int n) {
        n_ = n;
        N_ = n + 1;
        const std::size_t N = static_cast<std::size_t>(N_);
        if (rows_.size() < N) rows_.resize(N);
        for (std::size_t m = 0; m < N; ++m) rows_[m].clear();
        low_ = high_ = 0;
    }
    // Each pair of head and modifier may be added at most once.
    void add(int head, int modifier, float score) {
        const double s = score;
        low_ = std::min(low_, s);
        high_ = std::max(high_, s);
        rows_[modifier].push_back({s, head, modifier});
    }
    // Fills heads[1..n]; false if there is no tree. With a single root, the penalty of an arc from the root exceeds
    // whatever all other arcs can gain.
    bool decode(bool single_root, std::int32_t* heads) {
        if (n_ == 0) return true;
        start(single_root);
        for (int start = 1; start <= n_; ++start) {
            if (connected_[outermost_[start]]) continue;
            path_.assign(1, outermost_[start]);
            on_path_[path_.back()] = 1;
            for (;;) {
                const int v = path_.back();
                if (!choose_arc(v)) return false;
                const int w = outermost_[source_[v]];
                if (connected_[w]) break;
                if (on_path_[w]) {
                    contract(w);
                } else {
                    path_.push_back(w);
                    on_path_[w] = 1;
                }
            }
            for (const int v : path_) connected_[v] = 1, on_path_[v] = 0;
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

    void start(bool single_root) {
        const std::size_t N = static_cast<std::size_t>(N_);
        const auto rising = [](const Arc& a, const Arc& b) { return a.from < b.from; };
        for (std::size_t m = 1; m < N; ++m) {
            std::vector<Arc>& row = rows_[m];
            if (!std::is_sorted(row.begin(), row.end(), rising)) std::sort(row.begin(), row.end(), rising);
            if (single_root && !row.empty() && row.front().from == 0) row.front().gain -= (high_ - low_ + 1) * N_;
        }
        next_ = N_;
        outermost_.resize(N);
        row_.assign(2 * N, 0);
        for (int v = 0; v <= n_; ++v) outermost_[v] = row_[v] = v;
        parent_.assign(2 * N, -1);
        source_.assign(2 * N, -1);
        target_.assign(2 * N, -1);
        cost_.assign(2 * N, 0);
        connected_.assign(2 * N, 0);
        on_path_.assign(2 * N, 0);
        connected_[0] = 1;
    }

    std::vector<Arc>& arcs_of(int v) { return rows_[static_cast<std::size_t>(row_[v])]; }

    bool choose_arc(int v) {
        const Arc* best = nullptr;
        for (const Arc& a : arcs_of(v))
            if (best == nullptr || a.gain > best->gain) best = &a;
        if (best == nullptr) return false;
        source_[v] = best->from;
        target_[v] = best->enter;
        cost_[v] = best->gain;
        return true;
    }

    // Contracts the cycle, which is the path from `first` on, to one node. Its arcs take the row of its first member.
    void contract(int first) {
        const int c = next_++;
        std::size_t begin = path_.size() - 1;
        while (path_[begin] != first) --begin;
        row_[c] = row_[first];
        std::vector<Arc>& row = arcs_of(c);
        for (Arc& a : row) a.gain -= cost_[first];
        for (std::size_t k = begin; k < path_.size(); ++k) {
            const int v = path_[k];
            on_path_[v] = 0;
            parent_[v] = c;
            if (v != first) merge(row, arcs_of(v), cost_[v]);
        }
        for (int u = 0; u <= n_; ++u)
            if (parent_[outermost_[u]] == c) outermost_[u] = c;
        std::erase_if(row, [&](const Arc& a) { return outermost_[a.from] == c; });
        path_.resize(begin);
        path_.push_back(c);
        on_path_[c] = 1;
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
            int v = target_[c];
            while (parent_[v] != c) v = parent_[v];
            source_[v] = source_[c];
            target_[v] = target_[c];
        }
        for (int m = 1; m <= n_; ++m) heads[m] = source_[m];
    }

    int n_ = 0, N_ = 0, next_ = 0;
    double low_ = 0, high_ = 0;           // scores
    std::vector<std::vector<Arc>> rows_;  // a node's arcs by ascending head
    std::vector<Arc> merged_;
    std::vector<double> cost_;
    std::vector<std::int32_t> outermost_, row_, parent_, source_, target_, path_;
    std::vector<char> connected_, on_path_;
};

}  // namespace wald::parser
