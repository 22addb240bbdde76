// Regression of the full margin on the sums of the units read so far: the order of the units, and the residual spread
// at each checkpoint.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/common.hpp"

namespace wald::online {

struct Regression {
    std::vector<std::int32_t> order;        // units up to the last checkpoint
    std::vector<std::int32_t> checkpoints;  // number of units read at each checkpoint
    std::vector<double> factors;            // one for every unit read, checkpoint after checkpoint
    std::vector<double> spread;             // residual standard deviation at each checkpoint
};

// Checkpoints after 2, 4, 8, 16, ... units (after 1, too, if there are few), before the last unit and while there are
// enough rows. More checkpoints would save features but no time: each one that a row reaches waits for memory again,
// and is another chance of a wrong stop.
inline std::vector<std::int32_t> geometric_checkpoints(int n_units, int n_rows) {
    std::vector<std::int32_t> checkpoints;
    for (int m = n_units < 16 ? 1 : 2; m < n_units && 4 * m <= n_rows; m *= 2) checkpoints.push_back(m);
    return checkpoints;
}

// `gram` is the Gram matrix of the centred unit sums of n_rows rows, with the full margin as its last column (index
// n_units): upper triangle, `width` values per row. Units come in the order `given` or, if it is empty, greedily by the
// largest decrease of the residual variance per cost. Uses a partial Cholesky decomposition; a unit that depends
// linearly on the others gets the factor 0, or is not chosen.
template <class T>
Regression regress(const T* gram, std::int64_t width, int n_units, int n_rows, const std::vector<double>& cost,
                   const std::vector<std::int32_t>& given, const std::vector<std::int32_t>& checkpoints) {
    const std::size_t n = static_cast<std::size_t>(n_units);
    auto at = [&](std::size_t i, std::size_t j) {
        return static_cast<double>(i < j ? gram[i * static_cast<std::size_t>(width) + j]
                                         : gram[j * static_cast<std::size_t>(width) + i]);
    };
    Regression r;
    // The residual variance of each unit, and its covariance with the residual of the full margin.
    std::vector<double> variance_left(n), covariance(n), column(n);
    double trace = 0;
    for (std::size_t u = 0; u < n; ++u) trace += at(u, u);
    // The ridge is proportional to the mean variance; pivots must exceed rounding.
    const double ridge = 1e-3 * trace / n_units, least = ridge * 1.01;
    for (std::size_t u = 0; u < n; ++u) {
        variance_left[u] = at(u, u) + ridge;
        covariance[u] = at(u, n);
    }
    double residual = at(n, n);
    if (!(trace > 0) || !(residual > 0) || !std::isfinite(trace + residual)) return r;
    const std::size_t most = checkpoints.empty() ? 0 : static_cast<std::size_t>(checkpoints.back());
    std::vector<double> rows(most * n), beta(most);
    std::vector<std::uint8_t> used(n, 0);
    for (std::size_t s = 0; s < most; ++s) {
        std::size_t best = n;
        if (!given.empty()) {
            best = static_cast<std::size_t>(given[s]);
        } else {
            double most_gain = 0;
            for (std::size_t u = 0; u < n; ++u) {
                if (used[u] || !(variance_left[u] > least)) continue;
                const double gain = covariance[u] * covariance[u] / (variance_left[u] * cost[u]);
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
        if (variance_left[best] > least) {
            const double pivot = std::sqrt(variance_left[best]);
            for (std::size_t u = 0; u < n; ++u) column[u] = at(best, u);
            for (std::size_t j = 0; j < s; ++j) {
                const double factor = rows[j * n + best];
                const double* earlier = &rows[j * n];
                for (std::size_t u = 0; u < n; ++u) column[u] -= factor * earlier[u];
            }
            for (std::size_t u = 0; u < n; ++u) row[u] = column[u] / pivot;
            row[best] = pivot;
            beta[s] = covariance[best] / pivot;
            for (std::size_t u = 0; u < n; ++u) {
                variance_left[u] -= row[u] * row[u];
                covariance[u] -= row[u] * beta[s];
            }
            residual -= beta[s] * beta[s];
        } else {
            row[best] = 1;  // linearly dependent: factor 0
        }
        const std::size_t m = s + 1;
        const bool is_checkpoint =
            std::find(checkpoints.begin(), checkpoints.end(), static_cast<std::int32_t>(m)) != checkpoints.end();
        if (!is_checkpoint) continue;
        std::vector<double> factors(m);
        for (std::size_t a = m; a-- > 0;) {  // back substitution
            double v = beta[a];
            for (std::size_t e = a + 1; e < m; ++e)
                v -= rows[a * n + static_cast<std::size_t>(r.order[e])] * factors[e];
            factors[a] = v / rows[a * n + static_cast<std::size_t>(r.order[a])];
        }
        // Degrees of freedom for m units; a greedily chosen unit counts as one and a half, because it is the best of
        // many. The variance is widened by the estimation error and by Student's tail.
        const double freedom = n_rows - 1 - (given.empty() ? 1.5 : 1.0) * static_cast<double>(m);
        if (freedom < 8) break;
        const double variance =
            std::max(residual, 0.0) / freedom * (1 + static_cast<double>(m + 1) / n_rows) * (1 + 2.5 / freedom);
        r.checkpoints.push_back(static_cast<std::int32_t>(m));
        r.factors.insert(r.factors.end(), factors.begin(), factors.end());
        r.spread.push_back(std::sqrt(variance));
    }
    r.order.resize(r.checkpoints.empty() ? 0 : static_cast<std::size_t>(r.checkpoints.back()));
    return r;
}

}  // namespace wald::online
