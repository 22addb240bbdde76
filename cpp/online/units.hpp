// Partition of a dense row into units (features that are read together), and of units into pieces (registers that read
// them).
#pragma once

#include <algorithm>
#include <vector>

#include "core/common.hpp"

namespace wald::online {

struct Piece {
    std::int32_t offset;      // of the first lane, in the row
    std::int32_t begin, end;  // the lanes that belong to the unit
};

struct Units {
    std::vector<Piece> pieces;
    std::vector<std::int32_t> first;  // first piece of unit u; first[n] is the number of pieces
    std::vector<std::int32_t> size;   // number of features
    std::vector<double> cost;

    int count() const { return static_cast<int>(size.size()); }
};

// Largest number of units, whatever the width of the rows: the time to fit a boundary grows with its square.
inline constexpr std::int64_t kMaxUnits = 128;

// With unit = 0, cuts at cache-line boundaries if rows are a whole number of lines apart. Otherwise cuts after every
// `unit` features.
template <class T>
Units cut(std::int64_t n_features, std::int64_t n_columns, std::int64_t unit, std::int64_t line_offset,
          const double* costs) {
    constexpr std::int64_t L = kLanes<T>;
    Units units;
    const bool lines = unit == 0;
    std::int64_t begin_at = 0;
    if (lines) {
        constexpr std::int64_t together = 16;  // two lines of float64, because processors fetch lines in pairs
        unit = together * ((n_features + together * kMaxUnits - 1) / (together * kMaxUnits));
        const bool whole =
            n_features * static_cast<std::int64_t>(sizeof(T)) % static_cast<std::int64_t>(kPanelBytes) == 0;
        if (whole) begin_at = line_offset / static_cast<std::int64_t>(sizeof(T)) % L;
    }
    for (std::int64_t begin = 0; begin < n_features;) {
        const std::int64_t end = std::min(n_features, (begin + begin_at) / unit * unit + unit - begin_at);
        units.first.push_back(static_cast<std::int32_t>(units.pieces.size()));
        units.size.push_back(static_cast<std::int32_t>(end - begin));
        double cost = 0;
        for (std::int64_t j = begin; j < end; ++j) cost += costs != nullptr ? costs[j] : 1.0;
        units.cost.push_back(cost);
        for (std::int64_t at = begin; at < end;) {
            // Reads one register, up to the end of its line. Near the end of the row, the register starts earlier to
            // stay within the row.
            const std::int64_t stop = std::min(end, (at + begin_at) / L * L + L - begin_at);
            const std::int64_t offset = std::max<std::int64_t>(0, std::min(at, n_columns - L));
            units.pieces.push_back({static_cast<std::int32_t>(offset), static_cast<std::int32_t>(at - offset),
                                    static_cast<std::int32_t>(stop - offset)});
            at = stop;
        }
        begin = end;
    }
    units.first.push_back(static_cast<std::int32_t>(units.pieces.size()));
    return units;
}

}  // namespace wald::online
