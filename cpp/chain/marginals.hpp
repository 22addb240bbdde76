// Probabilities of labels in a chain whose paths have probability proportional to exp(scale * score).
#pragma once

#include "chain/decode.hpp"

namespace wald::chain {

class Marginals {
public:
    // steps: (n_labels, padded)
    Marginals(const float* steps, int n_labels, int padded, double scale)
        : K_(n_labels), scale_(scale), ahead_(K_ * K_), back_(K_ * K_) {
        for (int p = 0; p < n_labels; ++p)
            for (int k = 0; k < n_labels; ++k)
                ahead_[p * K_ + k] = scale * steps[static_cast<std::int64_t>(p) * padded + k];
        top_ = *std::max_element(ahead_.begin(), ahead_.end());
        for (std::size_t p = 0; p < K_; ++p)
            for (std::size_t k = 0; k < K_; ++k) back_[k * K_ + p] = ahead_[p * K_ + k];
        gain_ahead_ = gains(ahead_);
        gain_back_ = gains(back_);
    }

    // out (length, n_labels). Computes with logarithms, so that no score overflows.
    void operator()(const Lattice& x, float* out) {
        const auto n = static_cast<std::size_t>(x.length);
        alpha_.resize(n * K_);
        beta_.assign(K_, 0);
        for (std::size_t t = 0; t < n; ++t) {
            double* at = alpha_.data() + t * K_;
            if (t == 0) std::fill_n(at, K_, 0.0);
            else step(at - K_, ahead_, gain_ahead_, at);
            for (std::size_t k = 0; k < K_; ++k)
                at[k] += scale_ * x.at(static_cast<std::int64_t>(t), static_cast<int>(k));
        }
        for (std::size_t t = n; t-- > 0;) {
            const double* at = alpha_.data() + t * K_;
            double most = -HUGE_VAL, total = 0;
            for (std::size_t k = 0; k < K_; ++k) most = std::max(most, at[k] + beta_[k]);
            for (std::size_t k = 0; k < K_; ++k) total += std::exp(at[k] + beta_[k] - most);
            for (std::size_t k = 0; k < K_; ++k)
                out[t * K_ + k] = static_cast<float>(std::exp(at[k] + beta_[k] - most) / total);
            if (t == 0) break;
            for (std::size_t k = 0; k < K_; ++k)
                beta_[k] += scale_ * x.at(static_cast<std::int64_t>(t), static_cast<int>(k));
            step(beta_.data(), back_, gain_back_, alpha_.data() + t * K_);  // this part's row is no longer needed
            std::copy_n(alpha_.data() + t * K_, K_, beta_.data());
        }
    }

private:
    std::vector<double> gains(const std::vector<double>& logs) const {
        std::vector<double> out(logs.size());
        for (std::size_t i = 0; i < logs.size(); ++i) out[i] = std::exp(logs[i] - top_);
        return out;
    }

    // to[k] = log sum_p exp(from[p] + logs[p][k]). Takes one exp per label, not per pair, unless a sum underflows.
    void step(const double* from, const std::vector<double>& logs, const std::vector<double>& gain, double* to) {
        const double most = *std::max_element(from, from + K_);
        sums_.assign(K_, 0);
        for (std::size_t p = 0; p < K_; ++p) {
            const double weight = std::exp(from[p] - most);
            for (std::size_t k = 0; k < K_; ++k) sums_[k] += weight * gain[p * K_ + k];
        }
        for (std::size_t k = 0; k < K_; ++k)
            to[k] = sums_[k] > kTiny ? most + top_ + std::log(sums_[k]) : log_sum(from, logs.data() + k);
    }
    double log_sum(const double* from, const double* logs) const {
        double most = -HUGE_VAL, sum = 0;
        for (std::size_t p = 0; p < K_; ++p) most = std::max(most, from[p] + logs[p * K_]);
        if (most == -HUGE_VAL) return most;  // no path
        for (std::size_t p = 0; p < K_; ++p) sum += std::exp(from[p] + logs[p * K_] - most);
        return most + std::log(sum);
    }
    static constexpr double kTiny = 1e-280;

    std::size_t K_;
    double scale_, top_ = 0;
    std::vector<double> ahead_, back_;            // scaled steps, [from][to] and [to][from]
    std::vector<double> gain_ahead_, gain_back_;  // their exp
    std::vector<double> alpha_, beta_, sums_;
};

}  // namespace wald::chain
