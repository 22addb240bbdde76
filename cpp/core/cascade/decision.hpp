// Decision rules: how the scores of the wrapped model, or estimates of them, become labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/cascade/ledger.hpp"
#include "core/cascade/margins.hpp"
#include "core/common.hpp"

namespace wald {

enum class DecisionKind : std::uint8_t { sign, argmax, votes, values, bands };

template <class T>
struct Judgement {
    std::int32_t code;
    T confidence;  // margin: distance of the estimate to another label; a row stays if this is <= 0 or NaN
    T estimate = std::numeric_limits<T>::quiet_NaN();  // of one score
};

struct Decision {
    DecisionKind kind = DecisionKind::sign;
    int n_classes = 2;                     // values: their number
    double threshold = 0.0;                // sign
    bool tie_positive = false;             // sign
    bool break_ties = false;               // votes
    double saturation = HUGE_VAL;          // argmax: larger scores may be equal in the wrapped model
    MarginKind margin = MarginKind::none;  // values
    double tolerance = 0.0;                // one value
    double slope = 1.0, offset = 0.0;      // one value, logistic
    std::vector<double> tolerances;        // several values: of each
    // Bands: the thresholds, which do not fall, and whether a score that equals one belongs to the band above it.
    std::vector<double> thresholds;
    std::vector<bool> inclusive;

    int n_outputs() const {
        return kind == DecisionKind::sign || kind == DecisionKind::bands ? 1
               : kind == DecisionKind::votes                             ? n_classes * (n_classes - 1) / 2
                                                                         : n_classes;
    }
    // Whether a row leaves on one of the two sides of a threshold, rather than by a margin.
    bool two_sided() const { return kind == DecisionKind::sign; }
    // Whether answers are scores: a row that leaves early is answered with its estimate.
    bool scored() const { return kind == DecisionKind::values && margin != MarginKind::none; }
    int n_scores() const { return scored() ? n_classes : 0; }

    // Several outputs: the label of an estimate z, and its confidence. `work` has room for n_classes values.
    template <class T>
    Judgement<T> judge(const T* z, T* work) const {
        if (kind == DecisionKind::values) return judge_values(z);
        return kind == DecisionKind::argmax ? judge_argmax(z) : judge_votes(z, work);
    }

    // One output: whether an estimate z means the second class.
    template <class T>
    bool positive(T z) const {
        return z > static_cast<T>(threshold) || (z == static_cast<T>(threshold) && tie_positive);
    }

    // The label of full scores that are known to within `error`; kHandedOver if another label is possible. `work` has
    // room for n_classes values.
    Answer decide(const double* f, double error, double* work) const {
        if (kind == DecisionKind::sign) return decide_sign(f[0], error);
        if (kind == DecisionKind::values) return decide_values(f);
        if (kind == DecisionKind::bands) return decide_band(f[0], error);
        if (!(error < HUGE_VAL)) return kHandedOver;
        if (kind == DecisionKind::argmax) {
            const Judgement<double> best = judge_argmax(f);
            return best_of(best, f[best.code], error);
        }
        return decide_votes(f, error, work);
    }

    // `decide` by argmax for n rows with scores at f + i * stride, known to within errors[i] + margin. Several rows at
    // once, for one alone waits for its own comparisons.
    template <class T>
    void decide_argmax(const T* f, std::int64_t stride, const double* errors, std::int64_t n, double more,
                       std::int32_t* codes, Status* status) const {
        constexpr int kAtOnce = 4;
        for (std::int64_t i = 0; i < n; i += kAtOnce) {
            const T* rows[kAtOnce];
            for (int r = 0; r < kAtOnce; ++r) rows[r] = f + std::min(i + r, n - 1) * stride;
            Best<double> best[kAtOnce];
            for (int r = 0; r < kAtOnce; ++r) best[r] = {0, double{rows[r][0]}};
            for (int k = 1; k < n_classes; ++k)
                for (int r = 0; r < kAtOnce; ++r) best[r].meet(k, double{rows[r][k]});
            for (int r = 0; r < kAtOnce && i + r < n; ++r) {
                const double error = errors[i + r] + more;
                const Answer answer =
                    error < HUGE_VAL ? best_of(best[r].judgement(), best[r].score, error) : kHandedOver;
                codes[i + r] = answer.code;
                status[i + r] = answer.status;
            }
        }
    }

    // The same for a decision by the sign of one score, as kernels do it for many.
    [[gnu::always_inline]] Answer decide_sign(double f, double error) const {
        const double d = f - threshold;
        const bool open = !(error < HUGE_VAL) | (d != d) | ((std::fabs(d) <= error) & (error > 0));
        const bool second = (d > 0) | ((d == 0) & tie_positive);
        return {static_cast<std::int32_t>(second & !open), open ? Status::handed_over : Status::full};
    }

private:
    // Values are the scores themselves, whose code says nothing; the wrapped model answers for NaN, and for infinity
    // where the values of other rows are estimates.
    Answer decide_values(const double* f) const {
        const bool known = scored() ? std::all_of(f, f + n_classes, [](double value) { return std::isfinite(value); })
                                    : std::none_of(f, f + n_classes, [](double value) { return std::isnan(value); });
        return known ? Answer{0, Status::full, f[0]} : kHandedOver;
    }
    // Several values. Without tolerances they are never clear: every row is evaluated in full. With tolerances, the
    // confidence is how far every score may move, each in the unit of its tolerance.
    template <class T>
    Judgement<T> judge_values(const T* z) const {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        if (!scored())
            return {0, std::any_of(z, z + n_classes, [](T value) { return std::isnan(value); }) ? nan : T(0)};
        if (!std::all_of(z, z + n_classes, [](T value) { return std::isfinite(value); })) return {0, nan};
        const int best = static_cast<int>(std::max_element(z, z + n_classes) - z);
        double others = 0, least = std::numeric_limits<T>::max();  // others: exponentials, relative to the largest
        for (int k = 0; k < n_classes && margin == MarginKind::softmax; ++k)
            if (k != best) others += std::exp(double{z[k]} - double{z[best]});
        for (int k = 0; k < n_classes; ++k) {
            double at = z[k];
            if (margin == MarginKind::softmax) {  // the logit of the probability
                const double below = at - double{z[best]};
                at = below - std::log(k == best ? others : 1 + others - std::exp(below));
            }
            least = std::min(least, room(at, tolerances[static_cast<std::size_t>(k)]));
        }
        return {0, static_cast<T>(least)};
    }
    // How far one of several scores may move, in the unit of its tolerance.
    double room(double z, double most) const {
        if (margin == MarginKind::constant) return 1;
        if (margin == MarginKind::relative) return std::fabs(z);
        if (margin == MarginKind::exp) return std::log1p(most * std::exp(-z)) / most;
        // The side towards 0 is the narrower one. Scores that move apart change a logit by up to twice as much.
        const double share = 1 / (1 + std::exp(-std::fabs(z))), lower = share - most;
        if (!(lower > 0)) return HUGE_VAL;
        const double moved = std::fabs(z) - (std::log(lower) - std::log1p(-lower));
        return (margin == MarginKind::softmax ? moved / 2 : moved) / most;
    }

    Answer decide_band(double f, double error) const {
        if (!(error < HUGE_VAL) || std::isnan(f)) return kHandedOver;
        std::int32_t code = 0;
        for (std::size_t j = 0; j < thresholds.size(); ++j) {
            if (std::fabs(f - thresholds[j]) <= error && error > 0) return kHandedOver;
            code += f > thresholds[j] || (f == thresholds[j] && inclusive[j]);
        }
        return {code, Status::full};
    }

    // The largest of some scores, and the second one. Without branches, which scores in any order would mislead.
    template <class T>
    struct Best {
        std::int32_t code;
        T score = 0, second = -std::numeric_limits<T>::infinity();
        bool odd = score != score;  // some score is NaN

        [[gnu::always_inline]] void meet(std::int32_t k, T z) {
            const std::int32_t better = -static_cast<std::int32_t>(z > score);
            code = (code & ~better) | (k & better);
            second = std::max(second, std::min(score, z));
            score = std::max(score, z);
            odd |= z != z;
        }
        Judgement<T> judgement() const { return {code, odd ? std::numeric_limits<T>::quiet_NaN() : score - second}; }
    };

    template <class T>
    Judgement<T> judge_argmax(const T* z) const {
        Best<T> best{0, z[0]};
        for (int k = 1; k < n_classes; ++k) best.meet(k, z[k]);
        return best.judgement();
    }

    // The label of the best class, whose score is known to within `error`.
    Answer best_of(const Judgement<double>& best, double score, double error) const {
        if (!(best.confidence >= 0) || (best.confidence <= 2 * error && error > 0)) return kHandedOver;
        return std::fabs(score) > saturation ? kHandedOver : Answer{best.code, Status::full};
    }

    // Pairs are in libsvm's order; a positive decision is a vote for the first class. The confidence of a class is its
    // smallest decision against any rival. It is positive for at most one class, which then wins under every tie rule.
    template <class T>
    Judgement<T> judge_votes(const T* z, T* smallest) const {
        for (int k = 0; k < n_classes; ++k) smallest[k] = std::numeric_limits<T>::infinity();
        const T* at = z;
        for (int i = 0; i < n_classes; ++i) {
            T mine = smallest[i];
            for (int j = i + 1; j < n_classes; ++j, ++at) {
                mine = *at < mine || std::isnan(*at) ? *at : mine;
                smallest[j] = -*at < smallest[j] || std::isnan(*at) ? -*at : smallest[j];
            }
            smallest[i] = mine;
        }
        std::int32_t code = 0;
        for (int k = 1; k < n_classes; ++k)
            if (smallest[k] > smallest[code]) code = k;
        return {code, smallest[code]};
    }

    // `votes` has room for n_classes values. A decision within `error` may be a vote for either class: the label stands
    // if it wins even though such votes go to all classes but itself. Votes and sums count a decision of 0 for
    // different classes, so that it is open where sums break ties.
    Answer decide_votes(const double* f, double error, double* votes) const {
        const auto open = [this, error](double decision) {
            return (std::fabs(decision) <= error && error > 0) || (break_ties && decision == 0);
        };
        for (int k = 0; k < n_classes; ++k) votes[k] = 0;
        bool some_open = false;
        const double* at = f;
        for (int i = 0; i < n_classes; ++i) {
            for (int j = i + 1; j < n_classes; ++j, ++at) {
                if (std::isnan(*at)) return kHandedOver;
                if (open(*at)) some_open = true;
                else votes[*at > 0 ? i : j] += 1;
            }
        }
        const auto code = static_cast<std::int32_t>(std::max_element(votes, votes + n_classes) - votes);
        const double most = votes[code];
        for (int i = 0; i < n_classes && some_open; ++i)
            for (int j = i + 1; j < n_classes; ++j, ++f)
                if (open(*f)) votes[i] += 1, votes[j] += 1;
        for (int k = 0; k < n_classes; ++k)
            if (k != code && (votes[k] > most || (votes[k] == most && (break_ties || k < code)))) return kHandedOver;
        return {code, Status::full};
    }
};

}  // namespace wald
