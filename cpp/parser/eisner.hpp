// The best projective tree in O(n^3): J. Eisner, "Three new probabilistic models for dependency parsing", COLING 1996.
// The chart holds scores only. The backtrace searches for the split points of the best tree, in O(n^2).
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "parser/chart.hpp"
#include "parser/kernels.hpp"

namespace wald::parser {

class Eisner {
public:
    // The score of the arc from h to m is scores[h * (n + 1) + m], where 0 is the root; minus infinity excludes the
    // arc. Fills heads[1] to heads[n]; returns false if there is no tree.
    bool decode(const float* scores, int n, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        constexpr float none = -std::numeric_limits<float>::infinity();
        memory_.assign(static_cast<std::size_t>(Chart::size(n)), none);
        parser_kernels().eisner(scores, n, single_root, memory_.data());
        const Chart c(memory_.data(), n);
        const std::int64_t N = n + 1;
        stack_.clear();
        if (single_root) {
            int root = 0;
            float best = none;
            for (int r = 1; r <= n; ++r) {
                const float total = c.left(r)[1] + c.right(r)[n] + scores[r];
                if (total > best) best = total, root = r;
            }
            if (root == 0) return false;
            heads[root] = 0;
            stack_.push_back({root, 1, false});
            stack_.push_back({root, n, false});
        } else {
            if (!(c.right(0)[n] > none)) return false;
            stack_.push_back({0, n, false});
        }
        while (!stack_.empty()) {
            const Span s = stack_.back();
            stack_.pop_back();
            if (s.head == s.end) continue;
            const int i = std::min(s.head, s.end), j = std::max(s.head, s.end);
            if (s.open) {
                heads[s.end] = s.head;
                const float* a = c.right(i);
                const float* b = c.left(j) + 1;
                const float total = (s.head == i ? c.open_right(i)[j] : c.open_left(j)[i]);
                const float arc = scores[s.head * N + s.end];
                for (int r = i; r < j; ++r)
                    if (a[r] + b[r] + arc == total) {
                        stack_.push_back({i, r, false});
                        stack_.push_back({j, r + 1, false});
                        break;
                    }
            } else if (s.head == i) {
                for (int r = i + 1; r <= j; ++r)
                    if (c.open_right(i)[r] + c.right_to(j)[r] == c.right(i)[j]) {
                        stack_.push_back({i, r, true});
                        stack_.push_back({r, j, false});
                        break;
                    }
            } else {
                for (int r = i; r < j; ++r)
                    if (c.open_left(j)[r] + c.left_from(i)[r] == c.left(j)[i]) {
                        stack_.push_back({j, r, true});
                        stack_.push_back({r, i, false});
                        break;
                    }
            }
        }
        return true;
    }

private:
    struct Span {
        int head, end;
        bool open;
    };
    std::vector<float> memory_;
    std::vector<Span> stack_;
};

}  // namespace wald::parser
