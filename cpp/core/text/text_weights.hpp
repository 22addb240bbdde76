// From counts to scores, in scikit-learn's arithmetic.
#pragma once

#include "core/text/text_parts.hpp"

namespace wald {

// The weights of a model. A record has what belongs to a column, one after the other: its idf, and a weight for each
// output.
class TextWeights {
public:
    explicit TextWeights(const TextSpec& spec)
        : spec_(spec), stride_(1 + spec.n_outputs),
          records_(static_cast<std::size_t>(spec.n_columns * stride_) + kPanelBytes) {
        const auto n = static_cast<std::size_t>(spec_.n_columns), n_outputs = static_cast<std::size_t>(spec_.n_outputs);
        for (std::size_t k = 0; k < n_outputs; ++k) {
            double squares = 0;
            for (std::size_t c = 0; c < n; ++c) {
                const double w = spec_.coef[k * n + c];
                records_[c * (1 + n_outputs) + 1 + k] = w;
                const double b = spec_.bound.empty() ? std::abs(w) : spec_.bound[k * n + c];
                squares += b * b;
            }
            length_ = std::max(length_, std::sqrt(squares));
        }
        for (std::size_t c = 0; c < n; ++c) records_[c * (1 + n_outputs)] = spec_.idf.empty() ? 1 : spec_.idf[c];
    }

    const double* records() const { return records_.data(); }
    void prefetch(std::int32_t column, const TextScratch& s) const {
        s.counts.prefetch(column);
        const auto* record = reinterpret_cast<const char*>(records_.data() + column * stride_);
        const std::int64_t bytes = std::min<std::int64_t>(stride_ * 8, 256);
        __builtin_prefetch(record);
        for (std::int64_t i = 64; i < bytes + 56; i += 64) __builtin_prefetch(record + std::min(i, bytes - 8));
    }

    // Adds the intercept to sums. Returns whether all scores are finite.
    bool add_intercept(double* out) const {
        bool finite = true;
        for (std::size_t k = 0; k < spec_.intercept.size(); ++k) {
            out[k] += spec_.intercept[k];
            if (spec_.single_sums && spec_.single_intercept) out[k] = static_cast<float>(out[k]);
            finite &= std::isfinite(out[k]);
        }
        return finite;
    }
    // Scores from the counts, which it clears.
    void finish(TextScratch& s, double* out, double* error) const {
        std::fill_n(out, spec_.n_outputs, 0.0);
        TextSums sums;
        add_counted(s, out, sums);
        const bool finite = add_intercept(out);
        *error = !finite ? std::numeric_limits<double>::infinity() : spec_.same_bits ? 0 : sums.bound(spec_.bias);
    }
    // Adds what the counts, which it clears, are worth to sums without an intercept.
    void add_counted(TextScratch& s, double* out, TextSums& sums) const {
        const CountValues& rules = spec_.values;
        const bool counts_count = !rules.binary && !rules.single && rules.logarithms.empty();
        const double* const records = records_.data();
        s.make_room();
        double *values = s.values.data(), squares = 0;
        std::int32_t* met = s.met.data();
        s.counts.drain([&](std::int32_t column, std::int32_t count) {
            const double idf = records[column * stride_];
            const double x = counts_count ? count * idf : rules.value(count, idf);
            *values++ = x;
            *met++ = column;
            squares += rules.single ? static_cast<float>(x * x) : x * x;
        });
        const std::int64_t n = met - s.met.data();
        const double size = normalize(std::span(s.values.data(), values), squares);
        if (spec_.single_sums) single_dots(n, s, out);
        else text_kernels().dots(s.values.data(), s.met.data(), n, records + 1, stride_, spec_.n_outputs, out);
        // by Cauchy and Schwarz, the sum of the summands' sizes is at most the product of the lengths of both vectors
        sums.size += 1.001 * size * length_;
        sums.n += n;
        sums.single |= rules.single;
    }

private:
    // Divides the values by their norm, and weighs them, as scikit-learn does. Returns a bound of their size as a
    // vector.
    double normalize(std::span<double> values, double squares) const {
        const double size = divide_by_norm(values, squares);
        const double weight = spec_.values.weight;
        if (weight == 1) return size;
        for (double& x : values) x = spec_.values.single ? static_cast<float>(x * weight) : x * weight;
        return size * std::abs(weight);
    }
    double divide_by_norm(std::span<double> values, double squares) const {
        const CountValues& rules = spec_.values;
        double norm = 0;
        if (rules.norm == Norm::l1)
            for (const double x : values) norm += std::abs(x);
        else norm = std::sqrt(squares);
        if (rules.norm == Norm::none || norm == 0) return norm;
        if (rules.single)
            for (double& x : values) x = static_cast<float>(x / norm);
        else
            for (double& x : values) x /= norm;
        return 1;
    }
    void single_dots(std::int64_t n, TextScratch& s, double* out) const {
        std::transform(out, out + s.sums.size(), s.sums.begin(), [](double x) { return static_cast<float>(x); });
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            const double* weights = records_.data() + s.met[i] * stride_ + 1;
            const auto x = static_cast<float>(s.values[i]);
            for (std::size_t k = 0; k < s.sums.size(); ++k) s.sums[k] += x * static_cast<float>(weights[k]);
        }
        std::copy(s.sums.begin(), s.sums.end(), out);
    }
    const TextSpec& spec_;
    std::int64_t stride_;
    LargeArray<double> records_;  // and a panel
    double length_ = 0;           // of the longest row of bounds
};

}  // namespace wald
