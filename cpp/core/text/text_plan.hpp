// A plan for a model of texts: from the bytes of a text to its label, and where the reading ended.
#pragma once

#include <optional>

#include "core/cascade/ledger.hpp"
#include "core/text/text_model.hpp"

namespace wald {

struct TextPlanSpec {
    std::vector<std::int64_t> looks;  // see TextStages, of which these are all
    std::size_t block = 0;
    std::vector<double> weights, bias, low, high;
    std::int32_t n_stages = 0;                // the stage of what no stage decides
    std::optional<double> cost;               // of every text; else each costs its characters that were read
    double threshold = 0;                     // of a single score; of several, the first of the largest wins
    bool tie_positive = false;                // whether a score at the threshold is above it
    double saturation = 0, tie_margin = 0;    // the wrapped model decides beyond the one, and within the other
    double error_factor = 1, error_rest = 0;  // what makes bounds of the errors of scores of those of `TextModel`
};

struct TextDecision {
    std::int32_t code = 0, stage = 0;
    double paid = 0;
    Status status = Status::handed_over;
};

class TextPlan {
public:
    TextPlan(const TextModel& model, TextPlanSpec spec) : model_(model), spec_(std::move(spec)) {}

    const TextPlanSpec& spec() const { return spec_; }
    // The decision about what cannot be read.
    TextDecision unread() const { return {0, spec_.n_stages, spec_.cost.value_or(0), Status::handed_over}; }
    // Decides a text by the first stages, of which the last one decides in any case with `ends`.
    ReadStatus decide(const TextView& text, TextScratch& s, std::size_t n_stages, bool ends,
                      TextDecision& found) const {
        const std::size_t n_outputs = s.scores.size();
        const TextStages stages{{std::span(spec_.looks).first(n_stages), spec_.block},
                                std::span(spec_.weights).first(n_stages * n_outputs),
                                std::span(spec_.bias).first(n_stages * n_outputs),
                                std::span(spec_.low).first(n_stages),
                                std::span(spec_.high).first(n_stages),
                                ends};
        Reached reached{};
        double error = 0;
        const ReadStatus status = model_.walk(text, s, stages, s.scores.data(), &error, reached);
        if (status != ReadStatus::read) return status;
        const Best best = best_of(s.scores);
        found.code = best.code;
        found.paid = spec_.cost.value_or(static_cast<double>(reached.characters));
        if (reached.whole) {
            const bool sure = settled(s.scores, best, error);
            found.status = sure ? Status::full : Status::handed_over;
            found.stage = sure ? ended(best.code, reached.stage, n_stages) : spec_.n_stages;
        } else {
            const auto t = static_cast<std::size_t>(reached.stage);
            const bool above = best.margin > spec_.high[t], below = n_outputs == 1 && best.margin < spec_.low[t];
            if (n_outputs == 1 && (above || below)) found.code = above;
            found.status = above || below ? Status::early : Status::out_of_budget;
            found.stage = reached.stage;
        }
        return status;
    }

private:
    // The label of scores, and their margin: a single score itself, or by how much the largest is larger than others.
    struct Best {
        std::int32_t code;
        double margin;
    };
    Best best_of(std::span<const double> scores) const {
        if (scores.size() == 1)
            return {scores[0] > spec_.threshold || (spec_.tie_positive && scores[0] == spec_.threshold), scores[0]};
        std::size_t code = 0;
        double second = -std::numeric_limits<double>::infinity();
        for (std::size_t k = 1; k < scores.size() && !std::isnan(scores[code]); ++k) {
            if (scores[k] > scores[code] || std::isnan(scores[k])) {
                second = scores[code];
                code = k;
            } else {
                second = std::max(second, scores[k]);
            }
        }
        return {static_cast<std::int32_t>(code), scores[code] - second};
    }
    // Whether the label of full scores is the wrapped model's own for sure.
    bool settled(std::span<const double> scores, const Best& best, double error) const {
        const double e = error * spec_.error_factor + spec_.error_rest + spec_.tie_margin;
        for (const double score : scores)
            if (!std::isfinite(score)) return false;
        const bool single = scores.size() == 1;
        const double distance = single ? std::abs(best.margin - spec_.threshold) : best.margin;
        const bool apart = distance > (single ? e : 2 * e) || (e == 0 && distance >= 0);
        return std::isfinite(e) && apart &&
               std::abs(scores[single ? 0 : static_cast<std::size_t>(best.code)]) <= spec_.saturation;
    }
    // Where a text leaves that was read whole: at the first stage behind its end that lets its label leave.
    std::int32_t ended(std::int32_t code, std::int32_t stage, std::size_t n_stages) const {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        const bool below = code == 0 && model_.spec().n_outputs == 1;
        for (auto t = static_cast<std::size_t>(stage); t < n_stages; ++t)
            if (below ? spec_.low[t] > -kNever : spec_.high[t] < kNever) return static_cast<std::int32_t>(t);
        return spec_.n_stages;
    }

    const TextModel& model_;
    TextPlanSpec spec_;
};

}  // namespace wald
