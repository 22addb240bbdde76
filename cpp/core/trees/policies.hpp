// Inputs and outputs of buying policies: feature vectors of the parts of an example, and the choice of parts to buy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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
// rounded up, at least one.
inline void choose(const double* priority, const bool* lacks, std::int64_t n, double threshold, double pace,
                   std::vector<std::int64_t>& found, bool* out) {
    found.clear();
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = false;
        if (lacks[i] && priority[i] > threshold) found.push_back(i);
    }
    const auto many = static_cast<double>(found.size());
    const auto keep =
        found.begin() + static_cast<std::ptrdiff_t>(std::min(many, std::max(std::ceil(pace * many), 1.0)));
    if (keep != found.end()) std::partial_sort(found.begin(), keep, found.end(), Better{priority});
    for (auto i = found.begin(); i != keep; ++i) out[*i] = true;
}

// Restricts the chosen items to the best ones that a cost limit still covers, given the items already bought; item i
// costs costs[i % n_groups]. An item that is too expensive also excludes the ones of lower priority.
inline void afford(const double* priority, const bool* lacks, std::int64_t n, const double* costs,
                   std::int64_t n_groups, double limit, std::vector<std::int64_t>& found, bool* chosen) {
    found.clear();
    double spent = 0, running = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!lacks[i]) spent += costs[i % n_groups];
        if (chosen[i]) found.push_back(i);
    }
    std::sort(found.begin(), found.end(), Better{priority});
    const double left = (limit - spent) * (1 + 1e-12);
    for (const std::int64_t i : found) {
        running += costs[i % n_groups];
        chosen[i] = running <= left;
    }
}

}  // namespace wald::policies
