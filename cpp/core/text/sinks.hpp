// What becomes of the columns of a text as they are met: counts, and the scores of what was read so far.
#pragma once

#include <cmath>

#include "core/text/counts.hpp"

namespace wald {

enum class Norm : std::uint8_t { none, l1, l2 };

// What a count is worth.
struct CountValues {
    bool binary = false;
    bool single = false;             // float32
    std::vector<double> logarithms;  // 1 + log(count), by count; empty: the count itself counts
    Norm norm = Norm::none;

    // Before the norm. NaN for a count without a logarithm.
    double value(std::int32_t count, double idf) const {
        double x = binary ? 1 : count;
        if (!logarithms.empty())
            x = x >= 1 && x < static_cast<double>(logarithms.size()) ? logarithms[static_cast<std::size_t>(x)] : NAN;
        if (single) x = static_cast<float>(x);
        x *= idf;
        return single ? static_cast<float>(x) : x;
    }
};

// Counts all columns of a text.
struct CountAll {
    static constexpr bool kStaged = false;
    Counts& counts;
    void add(std::int32_t column, std::int32_t by) { counts.add(column, by); }
};

// A record is the idf of a column, and then its weight for each output.
//
// Counts as well, and stores the scores of the tokens that end in the first 1/n, 2/n, ... of a text of so many bytes. A
// token changes the sums by what it changes the value of its column.
class CountByStage {
public:
    static constexpr bool kStaged = true;

    CountByStage(Counts& counts, const CountValues& rules, const double* records, std::span<const double> intercept,
                 int n_stages, double* out)
        : counts_(counts), rules_(rules), records_(records), intercept_(intercept), n_stages_(n_stages), out_(out),
          sums_(intercept.size()) {}

    // Whether a token that ends here ends beyond this stage. The last stage has no end.
    bool beyond(std::size_t end, std::size_t size) const {
        return stage_ + 1 < n_stages_ &&
               end * static_cast<std::size_t>(n_stages_) > size * static_cast<std::size_t>(stage_ + 1);
    }
    void add(std::int32_t column, std::int32_t by) {
        const bool met = counts_.met(column);
        const std::int32_t count = counts_.add(column, by);
        const double* record = records_ + column * (1 + std::ssize(intercept_));
        const double before = met ? rules_.value(count, record[0]) : 0, now = rules_.value(count + by, record[0]);
        size_ += rules_.norm == Norm::l1 ? std::abs(now) - std::abs(before) : now * now - before * before;
        for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += (now - before) * record[1 + k];
    }
    // Ends a stage.
    void end_stage() {
        const double size = std::max(size_, 0.0);
        const double norm = rules_.norm == Norm::l1 ? size : rules_.norm == Norm::l2 ? std::sqrt(size) : 1;
        for (std::size_t k = 0; k < sums_.size(); ++k) *out_++ = sums_[k] / (norm > 0 ? norm : 1) + intercept_[k];
        ++stage_;
    }
    // Ends all stages but the last, and returns where its scores belong.
    double* end() {
        while (stage_ + 1 < n_stages_) end_stage();
        return out_;
    }

private:
    Counts& counts_;
    const CountValues& rules_;
    const double* records_;
    std::span<const double> intercept_;
    int n_stages_, stage_ = 0;
    double* out_;
    std::vector<double> sums_;
    double size_ = 0;
};

}  // namespace wald
