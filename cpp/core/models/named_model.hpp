// A linear model of named values: from the entries of a row to its scores, in scikit-learn's arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/columns/keys.hpp"
#include "core/large_array.hpp"
#include "core/murmur.hpp"
#include "core/text/text_model.hpp"

namespace wald {

struct NamedSpec : LinearSpec {
    columns::Keys keys{true, 0, 0};     // names; with hashing: none
    std::vector<std::int32_t> columns;  // of each name
    bool single = false;                // values are float32
};

// The columns of a row and their values, and the memory for them, which is used again.
struct NamedRow {
    struct Entry {
        std::int32_t column;
        double value;
    };
    std::vector<Entry> entries;
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<float> sums;
};

class NamedModel {
public:
    explicit NamedModel(NamedSpec spec)
        : spec_(std::move(spec)), records_(static_cast<std::size_t>(spec_.n_columns * spec_.n_outputs) + kPanelBytes) {
        const auto n = static_cast<std::size_t>(spec_.n_columns), n_outputs = static_cast<std::size_t>(spec_.n_outputs);
        for (std::size_t k = 0; k < n_outputs; ++k) {
            double squares = 0;
            for (std::size_t c = 0; c < n; ++c) {
                const double w = spec_.coef[k * n + c];
                records_[c * n_outputs + k] = w;
                const double b = spec_.bound.empty() ? std::abs(w) : spec_.bound[k * n + c];
                squares += b * b;
            }
            length_ = std::max(length_, std::sqrt(squares));
        }
        spec_.coef = spec_.bound = {};
    }

    const NamedSpec& spec() const { return spec_; }

    // Adds an entry to a row. Names that no column has are left out.
    void add(std::string_view name, double value, NamedRow& row) const {
        if (spec_.hashing) {
            if (value == 0) return;
            const std::uint32_t h = murmur(name.data(), name.size());
            const bool negative = h >> 31;
            const auto column =
                static_cast<std::int32_t>((negative ? 0u - h : h) % static_cast<std::uint32_t>(spec_.n_columns));
            row.entries.push_back({column, rounded(spec_.alternate_sign && negative ? -value : value)});
            return;
        }
        const std::int32_t state = spec_.keys.text(name);
        if (state < spec_.keys.n_known())
            row.entries.push_back({spec_.columns[static_cast<std::size_t>(state)], rounded(value)});
    }
    // Scores of a row, whose entries it takes, and a bound of their errors, which is infinite where nothing is
    // promised.
    void scores(NamedRow& row, double* out, double* error) const {
        std::sort(row.entries.begin(), row.entries.end(),
                  [](const auto& one, const auto& other) { return one.column < other.column; });
        bool ordered = true;  // whether only one order of additions is possible
        row.values.clear();
        row.columns.clear();
        for (std::size_t i = 0; i < row.entries.size();) {
            std::size_t end = i + 1;
            while (end < row.entries.size() && row.entries[end].column == row.entries[i].column) ++end;
            if (end - i > 1) ordered &= spec_.hashing ? end - i == 2 || whole(row, i, end) : equal(row, i, end);
            if (spec_.hashing) {  // which are summed
                double sum = row.entries[i].value;
                for (std::size_t k = i + 1; k < end; ++k) sum = rounded(sum + row.entries[k].value);
                push(row, row.entries[i].column, sum);
            } else {
                for (std::size_t k = i; k < end; ++k) push(row, row.entries[k].column, row.entries[k].value);
            }
            i = end;
        }
        TextSums sums{.n = std::ssize(row.entries), .single = spec_.single};
        double squares = 0;
        for (const auto& entry : row.entries) squares += entry.value * entry.value;
        // entries of one column may add up; by Cauchy and Schwarz
        sums.size = 1.001 * std::sqrt(squares * (ordered ? 1.0 : static_cast<double>(sums.n))) * length_;
        row.entries.clear();
        std::fill_n(out, spec_.n_outputs, 0.0);
        if (spec_.single_sums) single_dots(row, out);
        else
            text_kernels().dots(row.values.data(), row.columns.data(), std::ssize(row.values), records_.data(),
                                spec_.n_outputs, spec_.n_outputs, out);
        bool finite = true;
        for (std::size_t k = 0; k < spec_.intercept.size(); ++k) {
            out[k] += spec_.intercept[k];
            if (spec_.single_sums && spec_.single_intercept) out[k] = static_cast<float>(out[k]);
            finite &= std::isfinite(out[k]);
        }
        *error = !finite                      ? std::numeric_limits<double>::infinity()
                 : spec_.same_bits && ordered ? 0
                                              : sums.bound(spec_.bias);
    }

private:
    double rounded(double value) const { return spec_.single ? static_cast<float>(value) : value; }
    static void push(NamedRow& row, std::int32_t column, double value) {
        row.values.push_back(value);
        row.columns.push_back(column);
    }
    static bool equal(const NamedRow& row, std::size_t i, std::size_t end) {
        for (std::size_t k = i + 1; k < end; ++k)
            if (row.entries[k].value != row.entries[i].value) return false;
        return true;
    }
    // Whether sums of these values are exact.
    bool whole(const NamedRow& row, std::size_t i, std::size_t end) const {
        double sum = 0;
        for (std::size_t k = i; k < end; ++k) {
            if (row.entries[k].value != std::trunc(row.entries[k].value)) return false;
            sum += std::abs(row.entries[k].value);
        }
        return sum <= (spec_.single ? 0x1p24 : 0x1p53);
    }
    void single_dots(NamedRow& row, double* out) const {
        row.sums.assign(static_cast<std::size_t>(spec_.n_outputs), 0.0f);
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const double* weights = records_.data() + row.columns[i] * spec_.n_outputs;
            const auto x = static_cast<float>(row.values[i]);
            for (std::size_t k = 0; k < row.sums.size(); ++k) row.sums[k] += x * static_cast<float>(weights[k]);
        }
        std::copy(row.sums.begin(), row.sums.end(), out);
    }

    NamedSpec spec_;
    LargeArray<double> records_;  // [column][output], and a panel
    double length_ = 0;           // of the longest row of bounds
};

}  // namespace wald
