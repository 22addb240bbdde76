// What happens to the estimates of a stage: `Answering` answers the rows that leave, `Tracing` stores all estimates.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/cascade/engine.hpp"
#include "core/cascade/kernels.hpp"

namespace wald {

// When rows leave: after stage t, if their estimate is above high[t] or below low[t] (two-sided decisions), or if its
// confidence is above high[t] (all others).
template <class T>
struct Exits {
    Exits(const Decision& rule, const StagesSpec& stages)
        : decision(rule), low(stages.low.begin(), stages.low.end()), high(stages.high.begin(), stages.high.end()),
          thresholds_(rule.thresholds.begin(), rule.thresholds.end()) {
        for (std::size_t j = 0; j < thresholds_.size(); ++j)
            edges_.push_back(edge(rule.thresholds[j], rule.inclusive[j]));
    }

    Answer answer(T z, int t) const {
        if (!is_finite(z)) return kNotFinite;
        if (z > high[t]) return {1, Status::early};
        if (z < low[t]) return {0, Status::early};
        return kPending;
    }
    Answer answer(const Judgement<T>& z, int t) const {
        if (!is_finite(z.confidence)) return kNotFinite;
        return z.confidence > high[t] ? Answer{z.code, Status::early, z.estimate} : kPending;
    }
    // The answer to a row that may take no further stage.
    Answer last_answer(T z) const { return {decision.positive(z), Status::out_of_budget}; }
    Answer last_answer(const Judgement<T>& z) const { return {z.code, Status::out_of_budget, z.estimate}; }

    // One score that leaves by a margin: the margins of n estimates; see `Kernels::margins`.
    void margins(const T* z, const T* variances, T least, int n, T* found) const {
        kernels<T>().margins(view(), z, variances, least, n, found);
    }
    // The codes of n estimates.
    void codes(const T* z, int n, std::int32_t* found) const { kernels<T>().bands(view(), z, n, found); }

    Decision decision;
    std::vector<T> low, high;

private:
    MarginView<T> view() const {
        const bool bands = decision.kind == DecisionKind::bands;
        return {bands ? MarginKind::bands : decision.margin,
                static_cast<T>(decision.tolerance),
                static_cast<T>(decision.slope),
                static_cast<T>(decision.offset),
                thresholds_.data(),
                edges_.data(),
                static_cast<int>(thresholds_.size())};
    }
    // The largest number that is not beyond a threshold.
    static T edge(double threshold, bool inclusive) {
        constexpr T lowest = -std::numeric_limits<T>::infinity();
        T e = static_cast<T>(threshold);
        while (e > lowest && (static_cast<double>(e) > threshold || (inclusive && static_cast<double>(e) == threshold)))
            e = std::nextafter(e, lowest);
        return e;
    }
    static bool is_finite(T z) { return z >= -std::numeric_limits<T>::max() && z <= std::numeric_limits<T>::max(); }

    std::vector<T> thresholds_, edges_;  // of bands
};

// Answers the rows that leave, in a ledger.
template <class T>
struct Answering {
    const Exits<T>& exits;
    const Ledger& ledger;
    int last;  // the stage that answers every row, or -1

    Answering(const Exits<T>& rule, const Call& call, const Ledger& to)
        : exits(rule), ledger(to), last(call.at_end == AtEnd::answer ? call.n_stages - 1 : -1) {}

    // The answer to a row with this estimate, a number or a judgement, after stage t; kPending if it stays.
    template <class Estimate>
    Answer answer(const Estimate& z, int t) const {
        const Answer found = exits.answer(z, t);
        return found.status == Status::pending && t == last ? exits.last_answer(z) : found;
    }
    // Writes the answer of a row that leaves. Returns whether the row stays.
    template <class Estimate>
    bool stays(std::int64_t at, int t, const Estimate& z) const {
        const Answer found = answer(z, t);
        if (found.status == Status::pending) return true;
        ledger.write(at, found, t);
        return false;
    }
    // The same for several scores.
    bool stays(std::int64_t at, int t, const Judgement<T>& judged, const T* z) const {
        const Answer found = answer(judged, t);
        if (found.status == Status::pending) return true;
        ledger.write(at, found, t, z);
        return false;
    }
    void refuse(std::int64_t at) const { ledger.write(at, kNotFinite, static_cast<int>(exits.high.size())); }
};

// Stores the estimates of every stage. Every row stays.
template <class T>
struct Tracing {
    const Trace& trace;
    int n_stages;

    bool stays(std::int64_t at, int t, T z) const {
        static_cast<T*>(trace.scores)[at * n_stages + t] = z;
        return true;
    }
    bool stays(std::int64_t at, int t, const Judgement<T>& z) const {
        trace.codes[at * n_stages + t] = z.code;
        static_cast<T*>(trace.confidence)[at * n_stages + t] = z.confidence;
        return true;
    }
    bool stays(std::int64_t at, int t, const Judgement<T>& z, const T* scores) const {
        if (trace.n_scores <= 1) return stays(at, t, z);
        std::copy_n(scores, trace.n_scores, several(at, t));
        return true;
    }
    void refuse(std::int64_t at) const {
        for (int t = 0; t < n_stages; ++t) refuse(at, t);
    }
    // Stores NaN for a row that is not finite at stage t.
    void refuse(std::int64_t at, int t) const {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        if (trace.n_scores > 1) std::fill_n(several(at, t), trace.n_scores, nan);
        else if (trace.scores != nullptr) stays(at, t, nan);
        else stays(at, t, Judgement<T>{0, nan});
    }

private:
    T* several(std::int64_t at, int t) const {
        return static_cast<T*>(trace.scores) + (at * n_stages + t) * trace.n_scores;
    }
};

}  // namespace wald
