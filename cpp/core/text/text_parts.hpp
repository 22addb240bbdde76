// What a model of texts is made of, and the memory of a thread that reads them.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/text/counts.hpp"
#include "core/text/linear_spec.hpp"
#include "core/text/reader.hpp"
#include "core/text/sinks.hpp"
#include "core/text/vocabulary.hpp"

namespace wald {

struct TextSpec : LinearSpec {
    ReadingRules rules;
    Vocabulary vocabulary;  // with hashing: the stop words alone
    CountValues values;
    std::span<const double> idf;  // by column, or empty
};

// Where the scores of what was read so far are looked at: numbers of bytes, ascending. They are the first bytes of a
// text or, with the size of a block, those of blocks that are spread over it.
struct TextLooks {
    std::span<const std::int64_t> looks;
    std::size_t block = 0;
};

// The early stages of a plan: where it looks at a text, and at which estimates it decides.
struct TextStages {
    TextLooks at;
    std::span<const double> weights, bias;  // [stage][output]: an estimate is bias + weight * score of what was read
    std::span<const double> low, high;      // thresholds of the estimate, or of the margin of the best of several
    bool ends = false;                      // nothing is read beyond the last look
};

// Where the reading of a text ended.
struct Reached {
    std::int32_t stage;       // of a text that was read whole, the first at its end or behind, or the number of stages
    std::int64_t characters;  // that were read
    bool whole;
};

// What bounds the errors of a text's scores: at most `n` summands were added, whose absolute values add up to `size`.
struct TextSums {
    double size = 0;
    std::int64_t n = 0;
    bool single = false;

    // Each summand passes through at most n + 32 roundings, in the core and in the wrapped model.
    double bound(double bias) const {
        const double unit = single ? 0x1p-24 : 0x1p-53;
        const double e = 2.1 * static_cast<double>(n + 32) * unit * (size + bias) + 0x1p-140;
        return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
    }
};

// Memory of one thread.
struct TextScratch {
    static constexpr int kBatch = 256;

    explicit TextScratch(const TextSpec& spec)
        : counts(spec.n_columns), nodes(spec.vocabulary.longest()), sums(static_cast<std::size_t>(spec.n_outputs)),
          running(2 * static_cast<std::size_t>(spec.n_outputs)), scores(static_cast<std::size_t>(spec.n_outputs)) {}

    std::size_t memory() const { return reading.memory() + joined.size() + 24 * words.size() + 12 * met.size(); }

    // Room for the values of all columns that may have been met.
    void make_room() {
        const auto n = static_cast<std::size_t>(counts.most_met());
        if (values.size() >= n) return;
        values.resize(n);
        met.resize(n);
    }

    // Of an n-gram of words: a piece of `joined`, and where its last word ends in the text.
    struct Joined {
        std::size_t begin, size, end;
    };

    Reading reading;
    Counts counts;
    Key keys[kBatch];
    std::int32_t columns[kBatch], signs[kBatch], found[kBatch];
    int n_keys = 0, n_batches = 0;
    std::vector<std::int32_t> nodes;  // nodes[k]: that of the k + 1 last words
    std::vector<double> values;
    std::vector<std::int32_t> met;
    std::vector<float> sums;
    std::vector<double> running;       // sums of what was read so far, and scores
    std::vector<double> scores;        // of the text that was read last
    std::vector<std::uint8_t> joined;  // words with one blank between them
    std::vector<Joined> words;
};

}  // namespace wald
