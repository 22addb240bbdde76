// Eisner's algorithm in O(n^3), over a dense chart that vector instructions fill.
#pragma once

#include <span>

#include "parser/arcs.hpp"
#include "parser/chart.hpp"
#include "parser/kernels.hpp"

namespace wald::parser {

class Eisner {
public:
    // Fills heads[1..n] of the best tree of words 1..n, where 0 is the root; false if there is none.
    bool decode(int n, std::span<const ScoredArc> arcs, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        const std::size_t N = static_cast<std::size_t>(n) + 1;
        scores_.assign(N * N, kNoTree);
        for (const ScoredArc& a : arcs) scores_[a.head * N + a.modifier] = a.score;
        memory_.assign(static_cast<std::size_t>(Chart::size(n)), kNoTree);
        parser_kernels().eisner(scores_.data(), n, single_root, memory_.data());
        Scored chart{Chart(memory_.data(), n), scores_.data(), n + 1};
        return backtrace(chart, n, single_root, stack_, heads);
    }

private:
    struct Scored : Chart {
        const float* scores;
        std::int64_t N;
        float complete(int head, int end) const { return head <= end ? right_to(end)[head] : left_from(end)[head]; }
        template <class Visit>
        void find_arc(int head, int end, Visit&& visit) const {
            const float* incomplete = head < end ? open_right(head) : open_left(head);
            const int last = std::max(head - 1, end);
            for (int m = std::min(head + 1, end); m <= last; ++m)
                if (visit(m, incomplete[m], scores[head * N + m])) return;
        }
    };
    std::vector<float> scores_, memory_;  // scores [head][modifier]; the chart
    std::vector<Span> stack_;
};

}  // namespace wald::parser
