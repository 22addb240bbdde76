// How rows were answered.
#pragma once

#include <cstdint>
#include <limits>

namespace wald {

// How a row was answered, or from `handed_over` on, why it has no label yet. `wald.engine.Status` has the same numbers.
enum class Status : std::uint8_t {
    early,          // by an early stage, beyond its thresholds
    full,           // by the full model
    out_of_budget,  // by the last stage of the call, between its thresholds
    handed_over,    // within rounding of a tie: the wrapped estimator decides
    pending,        // the call ended before the row was decided
    not_finite,     // the row, or its estimate, holds NaN or infinity
};

// The index of a label, which is 0 where the status says that there is none; or where scores are answers, the score,
// which is then NaN.
struct Answer {
    std::int32_t code;
    Status status;
    double score = std::numeric_limits<double>::quiet_NaN();
};
inline constexpr Answer kHandedOver{0, Status::handed_over}, kPending{0, Status::pending},
    kNotFinite{0, Status::not_finite};

// Arrays with one entry per row: the code of its label; its stage, or the number of stages if it left at none; its
// status; its cost, unless `paid` is null; and its score, unless `scores` is null, because codes are the answers.
struct Ledger {
    std::int32_t* codes = nullptr;
    std::int32_t* stages = nullptr;
    Status* status = nullptr;
    double* paid = nullptr;
    const double* costs = nullptr;  // of a row that leaves at each stage, and last of one that does not
    double* scores = nullptr;
    int n_scores = 1;  // of each row; of several, `write` stores NaN, and `keep` what they are

    // Writes the answer of row `at`. `skipped` terms of the stages up to its own were not evaluated for it; each lowers
    // its cost by 1.
    void write(std::int64_t at, const Answer& answer, int stage, std::int32_t skipped = 0) const {
        codes[at] = answer.code;
        stages[at] = stage;
        status[at] = answer.status;
        if (paid != nullptr) paid[at] = costs[stage] - skipped;
        if (scores == nullptr) return;
        if (n_scores == 1) scores[at] = answer.score;
        for (int k = 0; k < n_scores && n_scores > 1; ++k) scores[at * n_scores + k] = kPending.score;
    }
    // The same for a row with these scores in full, or these estimates.
    template <class T>
    void write(std::int64_t at, const Answer& answer, int stage, const T* found) const {
        write(at, answer, stage);
        keep(at, answer.status, found);
    }
    // Stores several scores of a row that is answered.
    template <class T>
    void keep(std::int64_t at, Status how, const T* found) const {
        for (int k = 0; k < n_scores && n_scores > 1 && scores != nullptr && how < Status::handed_over; ++k)
            scores[at * n_scores + k] = found[k];
    }
    // Writes the costs of rows [begin, end), whose stages are written already and who skipped no term.
    void pay(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t at = begin; at < end && paid != nullptr; ++at) paid[at] = costs[stages[at]];
    }
};

}  // namespace wald
