// The arcs of a sentence, with only the properties that the pruner reads.
#pragma once

#include "parser/arcs.hpp"

namespace wald::parser {

struct ScoredArc {
    std::uint16_t head, modifier;
    float score;
};

class Candidates {
public:
    // Lists all arcs that the limits allow, modifier by modifier.
    void list(const std::uint8_t* tags, const std::uint8_t* coarse, int n, const Limits& limits) {
        std::size_t k = 0;
        end_.assign(1, 0);
        for (int m = 1; m < n; ++m) {
            reserve(k + static_cast<std::size_t>(n));
            each_head<FineBetween>(tags, coarse, n, m, limits, [&](int h, const FineBetween& between, bool possible) {
                head_[k] = static_cast<std::uint16_t>(h);  // overwritten by the next arc unless this one is possible
                modifier_[k] = static_cast<std::uint16_t>(m);
                bin_[k] = bin_of(h, m);
                between_[k] = between.tags();
                k += possible;
            });
            check_arc_count(k, n);
            end_.push_back(static_cast<std::int32_t>(k));
        }
    }

    int begin(int m) const { return end_[static_cast<std::size_t>(m) - 1]; }  // the first arc of a modifier
    int end(int m) const { return end_[static_cast<std::size_t>(m)]; }        // past the last
    int size() const { return end_.back(); }
    int head(int i) const { return head_[i]; }
    ScoredArc scored(int i, float score) const { return {head_[i], modifier_[i], score}; }
    ArcList view() const { return {head_.data(), modifier_.data(), bin_.data(), between_.data(), nullptr, size()}; }

private:
    void reserve(std::size_t n) {
        if (n <= head_.size()) return;
        n *= 2;
        head_.resize(n);
        modifier_.resize(n);
        bin_.resize(n);
        between_.resize(n);
    }
    std::vector<std::uint16_t> head_, modifier_;
    std::vector<std::uint8_t> bin_;
    std::vector<std::uint64_t> between_;
    std::vector<std::int32_t> end_{0};  // [modifier]; 0 for the root
};

}  // namespace wald::parser
