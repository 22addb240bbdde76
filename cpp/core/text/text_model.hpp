// A linear model behind a vectorizer of texts: from the bytes of a text to its scores.
#pragma once

#include "core/text/spread.hpp"
#include "core/text/text_counter.hpp"

namespace wald {

class TextModel {
public:
    explicit TextModel(TextSpec spec)
        : spec_(std::move(spec)), reader_(spec_.rules), weights_(spec_), counter_(spec_, reader_, weights_) {
        spec_.coef = spec_.bound = spec_.idf = {};
    }
    TextModel(const TextModel&) = delete;
    TextModel& operator=(const TextModel&) = delete;

    const TextSpec& spec() const { return spec_; }
    const TextReader& reader() const { return reader_; }
    const TextCounter& counter() const { return counter_; }
    CharacterPages& pages() { return reader_.pages(); }
    bool add_intercept(double* sums) const { return weights_.add_intercept(sums); }

    // Scores of one text and a bound of their errors, which is infinite where nothing is promised. Unless the status is
    // `read`, nothing is stored.
    ReadStatus scores(const TextView& text, TextScratch& s, double* out, double* error) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        CountAll sink{s.counts};
        counter_.count(s, sink);
        weights_.finish(s, out, error);
        return status;
    }
    // Adds the products of a text's values and their weights to sums, one after the other; the intercept is left out.
    ReadStatus add(const TextView& text, TextScratch& s, double* out, TextSums& sums) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        CountAll sink{s.counts};
        counter_.count(s, sink);
        weights_.add_counted(s, out, sums);
        return status;
    }
    // Scores of what has been read at each look, [look][output], and last those of `scores`; and the numbers of
    // characters, the last one of all. Both are 0 for looks at the end of the text and behind.
    ReadStatus prefixes(const TextView& text, TextScratch& s, const TextLooks& at, double* out, double* error,
                        std::int64_t* characters) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        const std::size_t n_looks = at.looks.size(), n_outputs = spec_.intercept.size();
        std::fill_n(out, n_looks * n_outputs, 0.0);
        std::fill_n(characters, n_looks, 0);
        count_to_looks(s, at, [&](std::size_t t, const double* now, std::int64_t read) {
            std::copy_n(now, n_outputs, out + t * n_outputs);
            characters[t] = read;
            return true;
        });
        characters[n_looks] = s.reading.characters(s.reading.size());
        weights_.finish(s, out + n_looks * n_outputs, error);
        return status;
    }
    // Reads a text until a stage decides it. Stores its estimates, or at the end what `scores` stores.
    ReadStatus walk(const TextView& text, TextScratch& s, const TextStages& stages, double* out, double* error,
                    Reached& reached) const {
        const std::span looks = stages.at.looks;
        const bool words = spec_.rules.analyzer == Analyzer::word;
        const ReadStatus status = reader_.begin(text, s.reading, words && stages.at.block > 0);
        if (status != ReadStatus::read) return status;
        const std::size_t n_stages = looks.size();
        std::size_t stage = n_stages;
        if (n_stages == 0 || (words && std::cmp_less_equal(s.reading.size(), looks[0]))) {
            CountAll sink{s.counts};
            counter_.count(s, sink);
        } else {
            count_to_looks(s, stages.at, [&](std::size_t t, const double* now, std::int64_t read) {
                if (!leaves(stages, t, now, out) && !(stages.ends && t + 1 == n_stages)) return true;
                stage = t;
                reached = {static_cast<std::int32_t>(t), read, false};
                return false;
            });
        }
        if (stage < n_stages) {
            s.counts.drain([](std::int32_t, std::int32_t) {});
            *error = 0;
            return status;
        }
        const std::size_t size = s.reading.size();
        const auto behind = std::lower_bound(looks.begin(), looks.end(), static_cast<std::int64_t>(size));
        reached = {static_cast<std::int32_t>(behind - looks.begin()), s.reading.characters(size), true};
        weights_.finish(s, out, error);
        return status;
    }

private:
    // Counts all columns of the text that was read, and calls at_look(t, scores, characters) for each look that lies
    // inside of it; if that returns false, no more is read.
    template <class AtLook>
    void count_to_looks(TextScratch& s, const TextLooks& at, const AtLook& at_look) const {
        if (at.block > 0) {
            if (!count_spread(s, at, at_look)) return;
            CountAll sink{s.counts};  // tokens that lie in two blocks are missing
            s.counts.drain([](std::int32_t, std::int32_t) {});
            counter_.begin_count(s);
            counter_.count_part(s, Part{}, sink);
            counter_.end_batch(s, sink);
            return;
        }
        const auto look = [&](std::size_t t, const double* now) {
            return at_look(t, now, s.reading.characters(static_cast<std::size_t>(at.looks[t])));
        };
        CountToLooks sink(s.counts, running(s), at.looks, last_half(s), look);
        if (counter_.count(s, sink)) sink.end(s.reading.size());
    }
    // The same for blocks that are spread over the text; no token reaches from one to another. Returns whether all must
    // be counted anew.
    template <class AtLook>
    bool count_spread(TextScratch& s, const TextLooks& at, const AtLook& at_look) const {
        const bool words = spec_.rules.analyzer == Analyzer::word;
        const bool apart = spec_.rules.analyzer == Analyzer::character || (words && spec_.rules.most > 1);
        counter_.begin_count(s);
        if (!words) reader_.begin_slices(s.reading, true);
        CountAll rest{s.counts};
        CountScored scored{s.counts, running(s)};
        const auto size = s.reading.size();
        std::size_t next = 0, n_read = 0;
        std::int64_t characters = 0;
        bool going = true;
        const auto inside = [&] { return next < at.looks.size() && std::cmp_less(at.looks[next], size); };
        each_spread((size + at.block - 1) / at.block, [&](std::size_t block) {
            if (apart && !inside()) return false;
            const Part part{block * at.block, std::min((block + 1) * at.block, size)};
            characters += s.reading.characters(part.from, part.until);
            ++n_read;
            if (!inside()) return counter_.count_part(s, part, rest);
            counter_.count_part(s, part, scored);
            if (apart) counter_.end_part(s, scored);
            if (std::cmp_greater(at.looks[next], n_read * at.block)) return true;
            counter_.end_batch(s, scored);
            scored.scores.write(last_half(s).data());
            return going = at_look(next++, last_half(s).data(), characters);
        });
        if (going) counter_.end_batch(s, rest);
        return apart && going;
    }
    RunningScores running(TextScratch& s) const {
        return {spec_.values, weights_.records(), spec_.intercept, std::span(s.running).first(spec_.intercept.size())};
    }
    std::span<double> last_half(TextScratch& s) const { return std::span(s.running).last(spec_.intercept.size()); }
    // Whether the estimates of a stage, which it stores, lie beyond its thresholds.
    static bool leaves(const TextStages& stages, std::size_t t, const double* now, double* estimates) {
        const std::size_t n_outputs = stages.bias.size() / stages.at.looks.size();
        double first = -std::numeric_limits<double>::infinity(), second = first;
        for (std::size_t k = 0; k < n_outputs; ++k) {
            const double e = estimates[k] = stages.bias[t * n_outputs + k] + stages.weights[t * n_outputs + k] * now[k];
            if (std::isnan(e)) return false;
            second = std::max(second, std::min(first, e));
            first = std::max(first, e);
        }
        if (n_outputs == 1) return first < stages.low[t] || first > stages.high[t];
        return first - second > stages.high[t];
    }

    TextSpec spec_;
    TextReader reader_;
    TextWeights weights_;
    TextCounter counter_;
};

}  // namespace wald
