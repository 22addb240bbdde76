// What becomes of the columns of a text as they are met: counts, and the scores of what was read so far.
#pragma once

#include <cmath>
#include <span>
#include <utility>

#include "core/text/counts.hpp"

namespace wald {

enum class Norm : std::uint8_t { none, l1, l2 };

// What a count is worth.
struct CountValues {
    bool binary = false;
    bool single = false;             // float32
    std::vector<double> logarithms;  // 1 + log(count), by count; empty: the count itself counts
    Norm norm = Norm::none;
    double weight = 1;  // by which a union of vectorizers multiplies what this one gives

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
    void add_each(const std::int32_t* columns, int n) {
        for (int i = 0; i < n; ++i) counts.add(columns[i], 1);
    }
};

// The scores of what was read so far. A token changes the sums by what it changes the value of its column. A record is
// the idf of a column, and then its weight for each output.
class RunningScores {
public:
    // `sums`: memory for a sum of each output.
    RunningScores(const CountValues& rules, const double* records, std::span<const double> intercept,
                  std::span<double> sums)
        : rules_(rules), records_(records), intercept_(intercept), sums_(sums),
          counts_count_(!rules.binary && !rules.single && rules.logarithms.empty() && rules.norm != Norm::l1) {
        std::fill(sums.begin(), sums.end(), 0.0);
    }

    void add(Counts& counts, std::int32_t column, std::int32_t by) {
        const double* const record = records_ + column * (1 + std::ssize(intercept_));
        const double idf = record[0];
        double change;
        if (counts_count_) {
            const std::int32_t before = counts.add(column, by);
            change = by * idf;
            size_ += change * idf * (2 * before + by);
        } else {
            const bool met = counts.met(column);
            const std::int32_t count = counts.add(column, by);
            const double before = met ? rules_.value(count, idf) : 0, now = rules_.value(count + by, idf);
            change = now - before;
            size_ += rules_.norm == Norm::l1 ? std::abs(now) - std::abs(before) : now * now - before * before;
        }
        for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += change * record[1 + k];
    }
    // Adds columns, each once.
    void add_each(Counts& counts, const std::int32_t* columns, int n) {
        if (!counts_count_ || sums_.size() != 1) {
            for (int i = 0; i < n; ++i) add(counts, columns[i], 1);
            return;
        }
        double sum = sums_[0], size = size_;  // in registers
        for (int i = 0; i < n; ++i) {
            const double* const record = records_ + 2 * std::int64_t{columns[i]};
            const double idf = record[0];
            size += idf * idf * (2 * counts.add(columns[i], 1) + 1);
            sum += idf * record[1];
        }
        sums_[0] = sum;
        size_ = size;
    }
    void write(double* out) const {
        const double size = std::max(size_, 0.0);
        const double norm = rules_.norm == Norm::l1 ? size : rules_.norm == Norm::l2 ? std::sqrt(size) : 1;
        for (std::size_t k = 0; k < sums_.size(); ++k)
            out[k] = sums_[k] / (norm > 0 ? norm : 1) * rules_.weight + intercept_[k];
    }

private:
    const CountValues& rules_;
    const double* records_;
    std::span<const double> intercept_;
    std::span<double> sums_;
    bool counts_count_;
    double size_ = 0;
};

// Counts as well, for the scores of what was read so far.
struct CountScored {
    static constexpr bool kStaged = false;
    Counts& counts;
    RunningScores scores;
    void add(std::int32_t column, std::int32_t by) { scores.add(counts, column, by); }
    void add_each(const std::int32_t* columns, int n) { scores.add_each(counts, columns, n); }
};

// Counts as well, and looks at the scores of the tokens that end in the first bytes of a text. at_look(t, scores) is
// called for each look that lies inside of the text; if it returns false, no more is read.
template <class AtLook>
class CountToLooks {
public:
    static constexpr bool kStaged = true;

    // `looks`: numbers of bytes, ascending. `now`: memory for a score of each output.
    CountToLooks(Counts& counts, RunningScores scores, std::span<const std::int64_t> looks, std::span<double> now,
                 const AtLook& at_look)
        : counts_(counts), scores_(scores), looks_(looks), now_(now), at_look_(at_look) {}

    void add(std::int32_t column, std::int32_t by) {
        if (next_ < looks_.size()) scores_.add(counts_, column, by);
        else counts_.add(column, by);
    }
    void add_each(const std::int32_t* columns, int n) {
        if (next_ < looks_.size()) return scores_.add_each(counts_, columns, n);
        for (int i = 0; i < n; ++i) counts_.add(columns[i], 1);
    }
    // Whether a token that ends here ends beyond the next look.
    bool beyond(std::size_t end) const { return next_ < looks_.size() && std::cmp_greater(end, looks_[next_]); }
    bool look() {
        scores_.write(now_.data());
        return at_look_(next_++, now_.data());
    }
    // The looks behind the last token of a text of so many bytes; false if one of them was the last.
    bool end(std::size_t size) {
        while (beyond(size))
            if (!look()) return false;
        return true;
    }

private:
    Counts& counts_;
    RunningScores scores_;
    std::span<const std::int64_t> looks_;
    std::span<double> now_;
    const AtLook& at_look_;
    std::size_t next_ = 0;
};

}  // namespace wald
