// The full margin, regressed on the sums of the units seen so far: which units to see first, and how sure that makes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/common.hpp"

namespace wald::online {

struct Regression {
    std::vector<std::int32_t> order;  // units, as far as the last look
    std::vector<std::int32_t> looks;  // how many units are seen at each look
    std::vector<double> factors;      // look after look, one for every unit seen
    std::vector<double> spread;       // residual standard deviation at each look
};

// After 2, 4, 8, 16, ... units (the first too if there are few), before the last one and while rows suffice. More looks
// would save features but no time: every look that a row goes on to waits for memory anew, and is another chance to be
// wrong.
inline std::vector<std::int32_t> geometric_looks(int n_units, int n_rows) {
    std::vector<std::int32_t> looks;
    for (int m = n_units < 16 ? 1 : 2; m < n_units && 4 * m <= n_rows; m *= 2) looks.push_back(m);
    return looks;
}

// `gram` is of the centred sums of units on n_rows rows, with the full margin as its last column (index n_units); its
// upper triangle, rows `width` apart. Units come in `given` order or, if that is empty, greedily: the largest fall of
// the residual variance for its cost. Partial Cholesky; a unit that the others determine is left out.
template <class T>
Regression regress(const T* gram, std::int64_t width, int n_units, int n_rows, const std::vector<double>& cost,
                   const std::vector<std::int32_t>& given, const std::vector<std::int32_t>& looks) {
    const std::size_t n = static_cast<std::size_t>(n_units);
    auto at = [&](std::size_t i, std::size_t j) {
        return static_cast<double>(i < j ? gram[i * static_cast<std::size_t>(width) + j]
                                         : gram[j * static_cast<std::size_t>(width) + i]);
    };
    Regression r;
    std::vector<double> left(n), with(n), column(n);
    double trace = 0;
    for (std::size_t u = 0; u < n; ++u) trace += at(u, u);
    // A little ridge, in proportion to the mean variance, and no pivot below rounding.
    const double ridge = 1e-3 * trace / n_units, least = ridge * 1.01;
    for (std::size_t u = 0; u < n; ++u) {
        left[u] = at(u, u) + ridge;
        with[u] = at(u, n);
    }
    double residual = at(n, n);
    if (!(trace > 0) || !(residual > 0) || !std::isfinite(trace + residual)) return r;
    const std::size_t most = looks.empty() ? 0 : static_cast<std::size_t>(looks.back());
    std::vector<double> rows(most * n), beta(most);
    std::vector<std::uint8_t> used(n, 0);
    for (std::size_t s = 0; s < most; ++s) {
        std::size_t best = n;
        if (!given.empty()) {
            best = static_cast<std::size_t>(given[s]);
        } else {
            double most_gain = 0;
            for (std::size_t u = 0; u < n; ++u) {
                if (used[u] || !(left[u] > least)) continue;
                const double gain = with[u] * with[u] / (left[u] * cost[u]);
                if (gain > most_gain) {
                    most_gain = gain;
                    best = u;
                }
            }
            if (best == n) break;
        }
        used[best] = 1;
        double* row = &rows[s * n];
        r.order.push_back(static_cast<std::int32_t>(best));
        if (left[best] > least) {
            const double pivot = std::sqrt(left[best]);
            for (std::size_t u = 0; u < n; ++u) column[u] = at(best, u);
            for (std::size_t j = 0; j < s; ++j) {
                const double factor = rows[j * n + best];
                const double* earlier = &rows[j * n];
                for (std::size_t u = 0; u < n; ++u) column[u] -= factor * earlier[u];
            }
            for (std::size_t u = 0; u < n; ++u) row[u] = column[u] / pivot;
            row[best] = pivot;
            beta[s] = with[best] / pivot;
            for (std::size_t u = 0; u < n; ++u) {
                left[u] -= row[u] * row[u];
                with[u] -= row[u] * beta[s];
            }
            residual -= beta[s] * beta[s];
        } else {
            row[best] = 1;  // nothing new: factor 0
        }
        const std::size_t m = s + 1;
        const bool is_look = std::find(looks.begin(), looks.end(), static_cast<std::int32_t>(m)) != looks.end();
        if (!is_look) continue;
        std::vector<double> factors(m);
        for (std::size_t a = m; a-- > 0;) {
            double v = beta[a];
            for (std::size_t e = a + 1; e < m; ++e)
                v -= rows[a * n + static_cast<std::size_t>(r.order[e])] * factors[e];
            factors[a] = v / rows[a * n + static_cast<std::size_t>(r.order[a])];
        }
        // Unbiased for m units, each chosen one counting for one and a half as the best of many, and widened by the
        // error of the estimate itself and by Student's tail.
        const double freedom = n_rows - 1 - (given.empty() ? 1.5 : 1.0) * static_cast<double>(m);
        if (freedom < 8) break;
        const double variance =
            std::max(residual, 0.0) / freedom * (1 + static_cast<double>(m + 1) / n_rows) * (1 + 2.5 / freedom);
        r.looks.push_back(static_cast<std::int32_t>(m));
        r.factors.insert(r.factors.end(), factors.begin(), factors.end());
        r.spread.push_back(std::sqrt(variance));
    }
    r.order.resize(r.looks.empty() ? 0 : static_cast<std::size_t>(r.looks.back()));
    return r;
}

}  // namespace wald::online
