// Full scores of one-vs-one machines, whose terms have coefficients only for the pairs of their own class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cascade/kernels.hpp"
#include "core/common.hpp"

namespace wald {

// With K classes there are K (K - 1) / 2 outputs, in libsvm's order: (0, 1), (0, 2), ..., (1, 2), ... A support vector
// of one class has a coefficient for each of its K - 1 pairs, and zeros for all others. The terms are sorted by class,
// and each class has sums of its own, one for each rival: the score of a pair is the bias, plus the sum of the first
// class, plus that of the second.
template <class T>
class PairScores {
public:
    static constexpr int L = kLanes<T>;

    // coef: (n_outputs, n_terms). None if some term has coefficients for pairs without a common class.
    static std::optional<PairScores> of(std::span<const double> coef, int n_outputs, std::int64_t n_terms) {
        const int n_classes = classes_of_pairs(n_outputs);
        if (n_classes < 3) return {};
        std::vector<std::vector<std::int64_t>> terms(static_cast<std::size_t>(n_classes));
        for (std::int64_t j = 0; j < n_terms; ++j) {
            int first = -1, second = -1;  // classes that all pairs so far have in common
            bool some = false;
            const double* at = coef.data() + j;
            for (int a = 0; a < n_classes; ++a)
                for (int b = a + 1; b < n_classes; ++b, at += n_terms) {
                    if (*at == 0) continue;
                    if (!some) {
                        first = a, second = b;
                    } else {
                        if (first != a && first != b) first = -1;
                        if (second != a && second != b) second = -1;
                        if (first < 0 && second < 0) return {};
                    }
                    some = true;
                }
            if (some) terms[first >= 0 ? first : second].push_back(j);
        }
        return PairScores(coef, n_classes, n_terms, terms);
    }

    // Number of values that `scores` needs as work space.
    std::int64_t work() const {
        return static_cast<std::int64_t>(n_classes_) * width_ + round_up(longest_, std::int64_t{L});
    }
    // The most terms in a sum.
    std::int64_t longest() const { return longest_; }

    // Writes the score of every pair. Returns a bound of the magnitudes that any pair adds up: over the terms of its
    // two classes, the absolute value of the term times the largest absolute coefficient of the term.
    double scores(const T* slot, const T* bias, double* scores, T* work) const {
        T* const values = work + static_cast<std::int64_t>(n_classes_) * width_;
        std::fill_n(work, static_cast<std::int64_t>(n_classes_) * width_, T(0));
        double largest = 0, second = 0;  // magnitudes of classes
        const T* largest_coef = largest_.data();
        for (int c = 0; c < n_classes_; ++c) {
            const std::int64_t begin = ends_[c], n = ends_[c + 1] - begin, padded = round_up(n, std::int64_t{L});
            for (std::int64_t k = 0; k < n; ++k) values[k] = slot[terms_[begin + k]];
            std::fill(values + n, values + padded, T(0));
            kernels<T>().accumulate(work + static_cast<std::int64_t>(c) * width_, weights_.data() + begin * width_,
                                    width_ / L, values, static_cast<int>(n));
            const double magnitude = kernels<T>().absolute(values, largest_coef, static_cast<int>(padded / L));
            largest_coef += padded;
            second = std::max(second, std::min(largest, magnitude));
            largest = std::max(largest, magnitude);
        }
        for (int a = 0; a < n_classes_; ++a)
            for (int b = a + 1; b < n_classes_; ++b)
                *scores++ = static_cast<double>(*bias++ + (work[a * width_ + b] + work[b * width_ + a]));
        return largest + second;
    }

private:
    PairScores(std::span<const double> coef, int n_classes, std::int64_t n_terms,
               const std::vector<std::vector<std::int64_t>>& terms)
        : n_classes_(n_classes), width_(static_cast<int>(round_up(n_classes, L))), ends_{0} {
        for (const auto& some : terms) {
            for (const std::int64_t j : some) terms_.push_back(static_cast<std::int32_t>(j));
            ends_.push_back(std::ssize(terms_));
            longest_ = std::max(longest_, std::ssize(some));
        }
        weights_ = Aligned<T>(terms_.size() * static_cast<std::size_t>(width_));
        largest_ = Aligned<T>(terms_.size() + static_cast<std::size_t>(n_classes_) * L);
        T* largest = largest_.data();
        for (int c = 0; c < n_classes_; ++c) {
            for (std::int64_t k = ends_[c]; k < ends_[c + 1]; ++k) {
                for (int rival = 0; rival < n_classes_; ++rival) {
                    if (rival == c) continue;
                    const double a = coef[pair(std::min(c, rival), std::max(c, rival)) * n_terms + terms_[k]];
                    weights_[k * width_ + rival] = static_cast<T>(a);
                    largest[k - ends_[c]] = std::max(largest[k - ends_[c]], static_cast<T>(std::fabs(a)));
                }
            }
            largest += round_up(ends_[c + 1] - ends_[c], std::int64_t{L});
        }
    }

    // K if there are K (K - 1) / 2 outputs, else 0.
    static int classes_of_pairs(int n_outputs) {
        int n_classes = 2;
        while (n_classes * (n_classes - 1) / 2 < n_outputs) ++n_classes;
        return n_classes * (n_classes - 1) / 2 == n_outputs ? n_classes : 0;
    }
    std::int64_t pair(int a, int b) const {
        return std::int64_t{a} * n_classes_ - std::int64_t{a} * (a + 1) / 2 + (b - a - 1);
    }

    int n_classes_, width_;            // rivals of a class, padded to panels
    std::vector<std::int64_t> ends_;   // of each class in terms_, after a zero
    std::vector<std::int32_t> terms_;  // sorted by class
    std::int64_t longest_ = 0;         // most terms of a class
    Aligned<T> weights_;               // (terms, rivals)
    Aligned<T> largest_;               // absolute coefficient of each term; each class is padded to panels
};

}  // namespace wald
