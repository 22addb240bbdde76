// Inputs and outputs of buying policies: feature vectors of the parts of an example, and the choice of parts to buy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/cascade/engine.hpp"
#include "core/interruption.hpp"

namespace wald::policies {

// An example of `length` parts (positions of a sequence). The feature vector of a part consists of: its own `near`
// (n_near numbers) and those of the previous and the next part (0 at the borders); `mean` (n_near), if not null; the
// distances from the first and the last part, and the length; and its own `alone` (n_alone).
struct Example {
    const float* near;
    std::int64_t n_near;
    const float* mean;
    const float* alone;
    std::int64_t n_alone;
    std::int64_t length;

    static std::int64_t width(std::int64_t n_near, bool mean, std::int64_t n_alone) {
        return (mean ? 4 : 3) * n_near + 3 + n_alone;
    }

    // Writes the feature vector of part t; returns its end.
    float* row(std::int64_t t, float* out) const {
        out = std::copy_n(near + t * n_near, n_near, out);
        out = t > 0 ? std::copy_n(near + (t - 1) * n_near, n_near, out) : std::fill_n(out, n_near, 0.0f);
        out = t + 1 < length ? std::copy_n(near + (t + 1) * n_near, n_near, out) : std::fill_n(out, n_near, 0.0f);
        if (mean != nullptr) out = std::copy_n(mean, n_near, out);
        *out++ = static_cast<float>(t);
        *out++ = static_cast<float>(length - 1 - t);
        *out++ = static_cast<float>(length);
        return std::copy_n(alone + t * n_alone, n_alone, out);
    }
};

// Column means of an example: summed in float, part after part.
inline void means(const float* near, std::int64_t length, std::int64_t n_near, float* out) {
    std::copy_n(near, n_near, out);
    for (std::int64_t t = 1; t < length; ++t)
        for (std::int64_t c = 0; c < n_near; ++c) out[c] += near[t * n_near + c];
    for (std::int64_t c = 0; c < n_near; ++c)
        out[c] = static_cast<float>(static_cast<double>(out[c]) / static_cast<double>(length));
}

// Orders items by descending priority, ties by index.
struct Better {
    const double* priority;
    bool operator()(std::int64_t a, std::int64_t b) const {
        return priority[a] != priority[b] ? priority[a] > priority[b] : a < b;
    }
};

// Chooses which of n items to buy: among the missing items with a priority above the threshold, the best share `pace`,
// rounded up, at least one; and of these the best ones that a cost limit still covers, given the items already bought.
// Item i costs costs[i % n_groups]. An item that is too expensive also excludes the ones of lower priority.
inline void choose(const double* priority, const bool* lacks, std::int64_t n, double threshold, double pace,
                   const double* costs, std::int64_t n_groups, double limit, std::vector<std::int64_t>& found,
                   bool* out) {
    found.clear();
    double spent = 0, running = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = false;
        if (!lacks[i]) spent += costs[i % n_groups];
        else if (priority[i] > threshold) found.push_back(i);
    }
    const auto many = static_cast<double>(found.size());
    const auto keep =
        found.begin() + static_cast<std::ptrdiff_t>(std::min(many, std::max(std::ceil(pace * many), 1.0)));
    if (keep != found.end() || limit < std::numeric_limits<double>::infinity())
        std::partial_sort(found.begin(), keep, found.end(), Better{priority});
    const double left = (limit - spent) * (1 + 1e-12);
    for (auto i = found.begin(); i != keep; ++i) {
        running += costs[*i % n_groups];
        out[*i] = running <= left;
    }
}

// The parts of some examples: those of example i start at first[i], and have the rows [ends[i], ends[i + 1]) of the
// output.
struct Spans {
    std::span<const std::int64_t> first, ends;

    std::size_t size() const { return first.size(); }
    std::int64_t length(std::size_t i) const { return ends[i + 1] - ends[i]; }
    std::int64_t longest() const {
        std::int64_t most = 0;
        for (std::size_t i = 0; i < size(); ++i) most = std::max(most, length(i));
        return most;
    }
};

// Feature vectors of parts from what is known of the examples' parts (rows, n_known), and the state (all parts,
// n_groups) and `alone` (all parts, n_alone) of all parts. Simple ones have no means; known has rows for all parts
// then.
struct PartRows {
    const float* known;
    std::int64_t n_known;
    const bool* state;
    std::int64_t n_groups;
    const float* alone;
    std::int64_t n_alone;
    Spans examples;
    bool simple = false;

    std::int64_t width() const { return Example::width(n_known + n_groups, !simple, n_alone); }

    void write(float* out) const {
        each([&](const Example& x, std::int64_t t, std::int64_t row, bool) { x.row(t, out + row * width()); });
    }

    // Writes the logarithm of the probability that the log odds of a model give each row; -infinity for parts that lack
    // no group. Returns whether these rows are finite; if not, the output is incomplete.
    bool chances(const PackedModel& odds, double* out) const {
        constexpr std::size_t kAtOnce = 512;
        std::fill_n(out, examples.ends.back(), -std::numeric_limits<double>::infinity());
        std::vector<float> some;       // rows
        std::vector<std::int64_t> at;  // and where their chances are written
        bool finite = true;
        const auto write_some = [&] {
            finite = finite && all_finite(some.data(), some.size());
            Rows rows;
            rows.n_rows = std::ssize(at);
            rows.n_columns = width();
            rows.data = reinterpret_cast<const std::byte*>(some.data());
            rows.column_stride = sizeof(float);
            rows.row_stride = width() * rows.column_stride;
            std::vector<double> found(at.size()), errors(at.size());
            odds.scores({rows, nullptr, rows.n_rows}, 0.0, false, found.data(), errors.data());
            for (std::size_t i = 0; i < at.size(); ++i) out[at[i]] = log_probability(found[i]);
            some.clear(), at.clear();
        };
        each([&](const Example& x, std::int64_t t, std::int64_t row, bool lacks) {
            if (!lacks || !finite) return;
            some.resize(some.size() + static_cast<std::size_t>(width()));
            x.row(t, some.data() + std::ssize(at) * width());
            at.push_back(row);
            if (at.size() == kAtOnce) write_some();
        });
        write_some();
        return finite;
    }

private:
    static double log_probability(double odds) {
        return odds > 0 ? -std::log1p(std::exp(-odds)) : odds - std::log1p(std::exp(odds));
    }
    // Calls visit(example, part, row, whether the part lacks a group) for every part.
    template <class Visit>
    void each(const Visit& visit) const {
        const std::int64_t n_near = n_known + n_groups;
        std::vector<float> near(static_cast<std::size_t>(examples.longest() * n_near)),
            mean(static_cast<std::size_t>(n_near));
        for (std::size_t i = 0; i < examples.size(); ++i) {
            give_way();
            const std::int64_t length = examples.length(i), first = examples.first[i], begin = examples.ends[i];
            const float* const own = known + (simple ? first : begin) * n_known;
            const bool* const bought = state + first * n_groups;
            for (std::int64_t t = 0; t < length && n_groups > 0; ++t)
                std::copy_n(bought + t * n_groups, n_groups,
                            std::copy_n(own + t * n_known, n_known, near.data() + t * n_near));
            const float* const beside = n_groups > 0 ? near.data() : own;
            if (!simple) means(beside, length, n_near, mean.data());
            const Example x{
                beside,  n_near, simple ? nullptr : mean.data(), alone == nullptr ? nullptr : alone + first * n_alone,
                n_alone, length};
            for (std::int64_t t = 0; t < length; ++t)
                visit(x, t, begin + t,
                      !std::all_of(bought + t * n_groups, bought + (t + 1) * n_groups, [](bool b) { return b; }));
        }
    }
};

// `choose` for the items of each example, which may spend `per_part` for each of its parts: example i has the parts
// [ends[i], ends[i + 1]), with n_groups items each. `buys` says of each example whether something was chosen, and
// `lacks_more` whether something is still missing then.
inline void choose_each(const double* priority, const bool* lacks, std::span<const std::int64_t> ends, double threshold,
                        double pace, const double* costs, std::int64_t n_groups, double per_part, bool* out, bool* buys,
                        bool* lacks_more) {
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
        const std::int64_t first = ends[i] * n_groups, length = ends[i + 1] - ends[i];
        choose(priority + first, lacks + first, length * n_groups, threshold, pace, costs, n_groups,
               per_part * static_cast<double>(length), found, out + first);
        const bool* const now = out + first;
        buys[i] = lacks_more[i] = false;
        for (std::int64_t k = 0; k < length * n_groups; ++k) {
            buys[i] |= now[k];
            lacks_more[i] |= lacks[first + k] && !now[k];
        }
    }
}

}  // namespace wald::policies
