// Eisner's algorithm in O(n^3), over a dense chart that vector instructions fill.
#pragma once

#include "parser/chart.hpp"
#include "parser/kernels.hpp"

namespace wald::parser {

class Eisner {
public:
    // The score of the arc from h to m is scores[h * (n + 1) + m], where 0 is the root; minus infinity excludes the
    // arc. Fills heads[1] to heads[n]; returns false if there is no tree.
    bool decode(const float* scores, int n, bool single_root, std::int32_t* heads) {
        if (n == 0) return true;
        memory_.assign(static_cast<std::size_t>(Chart::size(n)), kNoTree);
        parser_kernels().eisner(scores, n, single_root, memory_.data());
        Scored chart{Chart(memory_.data(), n), scores, n + 1};
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
    std::vector<float> memory_;
    std::vector<Span> stack_;
};

}  // namespace wald::parser
