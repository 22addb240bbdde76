// A linear model behind a vectorizer of texts: from the bytes of a text to its scores, in scikit-learn's arithmetic.
#pragma once

#include <cmath>
#include <limits>

#include "core/murmur.hpp"
#include "core/text/reader.hpp"
#include "core/text/sinks.hpp"
#include "core/text/vocabulary.hpp"

namespace wald {

struct TextSpec {
    ReadingRules rules;
    Vocabulary vocabulary;  // with hashing: the stop words alone
    std::int64_t n_columns = 0, n_outputs = 0;
    bool hashing = false, alternate_sign = true;
    CountValues values;
    std::span<const double> idf;    // by column, or empty
    bool single_sums = false;       // products and their sums are float32
    bool single_intercept = false;  // and so is the intercept
    std::span<const double> coef;   // [output][column]
    std::vector<double> intercept;
    // Unless the scores have the bits of the wrapped model, each is within roundings * (|values| * bound + bias) of it.
    bool same_bits = true;
    std::span<const double> bound;  // [output][column], or empty: the absolute values of coef
    double bias = 0;
};

// The early stages of a plan: where it looks at a text, and at which estimates it decides.
struct TextStages {
    std::span<const std::int64_t> looks;    // numbers of bytes, ascending
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
          running(2 * static_cast<std::size_t>(spec.n_outputs)) {}

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
    std::vector<std::uint8_t> joined;  // words with one blank between them
    std::vector<Joined> words;
};

class TextModel {
public:
    explicit TextModel(TextSpec spec)
        : spec_(std::move(spec)), reader_(spec_.rules), stride_(1 + spec_.n_outputs),
          records_(static_cast<std::size_t>(spec_.n_columns * stride_) + kPanelBytes) {
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
        spec_.coef = spec_.bound = spec_.idf = {};
    }

    const TextSpec& spec() const { return spec_; }
    const TextReader& reader() const { return reader_; }
    CharacterPages& pages() { return reader_.pages(); }

    // Scores of one text and a bound of their errors, which is infinite where nothing is promised. Unless the status is
    // `read`, nothing is stored.
    ReadStatus scores(const TextView& text, TextScratch& s, double* out, double* error) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        CountAll sink{s.counts};
        count(s, sink);
        finish(s, out, error);
        return status;
    }
    // Adds the products of a text's values and their weights to sums, one after the other; the intercept is left out.
    ReadStatus add(const TextView& text, TextScratch& s, double* out, TextSums& sums) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        CountAll sink{s.counts};
        count(s, sink);
        add_counted(s, out, sums);
        return status;
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
    // Scores of the tokens that end in the first bytes, [look][output], and last those of `scores`; and the numbers of
    // characters, the last one of all. Both are 0 for looks at the end of the text and behind.
    ReadStatus prefixes(const TextView& text, TextScratch& s, std::span<const std::int64_t> looks, double* out,
                        double* error, std::int64_t* characters) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        const std::size_t n_looks = looks.size(), n_outputs = spec_.intercept.size();
        std::fill_n(out, n_looks * n_outputs, 0.0);
        std::fill_n(characters, n_looks, 0);
        const auto at_look = [&](std::size_t t, const double* now) {
            std::copy_n(now, n_outputs, out + t * n_outputs);
            characters[t] = s.reading.characters(static_cast<std::size_t>(looks[t]));
            return true;
        };
        CountToLooks sink(s.counts, running(s), looks, last_half(s), at_look);
        count(s, sink);
        sink.end(s.reading.size());
        characters[n_looks] = s.reading.characters(s.reading.size());
        finish(s, out + n_looks * n_outputs, error);
        return status;
    }
    // Reads a text until a stage decides it. Stores its estimates, or at the end what `scores` stores.
    ReadStatus walk(const TextView& text, TextScratch& s, const TextStages& stages, double* out, double* error,
                    Reached& reached) const {
        const ReadStatus status = reader_.begin(text, s.reading);
        if (status != ReadStatus::read) return status;
        const std::size_t n_stages = stages.looks.size();
        std::size_t stage = n_stages;
        const bool words = spec_.rules.analyzer == Analyzer::word;
        if (n_stages == 0 || (words && std::cmp_less_equal(s.reading.size(), stages.looks[0]))) {
            CountAll sink{s.counts};
            count(s, sink);
        } else {
            const auto at_look = [&](std::size_t t, const double* now) {
                if (!leaves(stages, t, now, out) && !(stages.ends && t + 1 == n_stages)) return true;
                stage = t;
                return false;
            };
            CountToLooks sink(s.counts, running(s), stages.looks, last_half(s), at_look);
            if (count(s, sink)) sink.end(s.reading.size());
        }
        const bool early = stage < n_stages;
        const std::size_t size = early ? static_cast<std::size_t>(stages.looks[stage]) : s.reading.size();
        if (!early)
            stage = static_cast<std::size_t>(
                std::lower_bound(stages.looks.begin(), stages.looks.end(), static_cast<std::int64_t>(size)) -
                stages.looks.begin());
        reached = {static_cast<std::int32_t>(stage), s.reading.characters(size), !early};
        if (early) {
            s.counts.drain([](std::int32_t, std::int32_t) {});
            *error = 0;
        } else {
            finish(s, out, error);
        }
        return status;
    }

    // Counts the columns of the text that was read. Returns false if the sink has ended that before the end.
    template <class Sink>
    bool count(TextScratch& s, Sink& sink) const {
        s.n_keys = s.n_batches = 0;
        std::fill(s.nodes.begin(), s.nodes.end(), kNoWord);
        const bool words = spec_.rules.analyzer == Analyzer::word;
        const auto from_text = [&](auto add) {
            return [&s, add](Piece p) { return add(s.reading.bytes() + p.begin, p.size, p.begin + p.size); };
        };
        bool going = true;
        if (spec_.hashing) {
            const auto add = [&](const std::uint8_t* bytes, std::size_t n, std::size_t end) {
                if constexpr (Sink::kStaged)
                    if (!(going = end_stages(end, s, sink))) return false;
                hash(bytes, n, s);
                if (++s.n_keys == TextScratch::kBatch) end_batch(s, sink);
                if constexpr (Sink::kStaged) return true;
            };
            if (words && spec_.rules.most == 1) each_word_kept(s, from_text(add));
            else if (words) each_ngram<Order::of_ends>(s, add);
            else reader_.each_slice<Order::of_ends>(s.reading, from_text(add));
        } else {
            const auto add = [&](const std::uint8_t* bytes, std::size_t n, std::size_t end) {
                if constexpr (Sink::kStaged)
                    if (!(going = end_stages(end, s, sink))) return false;
                Key& key = s.keys[s.n_keys];
                key.set(bytes, n);
                spec_.vocabulary.table().prefetch(key);
                if (++s.n_keys == TextScratch::kBatch) end_batch(s, sink);
                if constexpr (Sink::kStaged) return true;
            };
            if (words) reader_.each_word(s.reading, from_text(add));
            else reader_.each_slice<Order::of_ends>(s.reading, from_text(add));
        }
        if (going) end_batch(s, sink);
        return going;
    }

    // Calls f(bytes, size) for each token of the text that was read, in scikit-learn's order.
    template <class F>
    void each_token(TextScratch& s, const F& f) const {
        if (spec_.rules.analyzer == Analyzer::word)
            each_ngram<Order::of_lengths>(s, [&](const std::uint8_t* p, std::size_t n, std::size_t) { f(p, n); });
        else reader_.each_slice<Order::of_lengths>(s.reading, [&](Piece p) { f(s.reading.bytes() + p.begin, p.size); });
    }

private:
    RunningScores running(TextScratch& s) const {
        return {spec_.values, records_.data(), spec_.intercept, std::span(s.running).first(spec_.intercept.size())};
    }
    std::span<double> last_half(TextScratch& s) const { return std::span(s.running).last(spec_.intercept.size()); }
    // Whether the estimates of a stage, which it stores, lie beyond its thresholds.
    static bool leaves(const TextStages& stages, std::size_t t, const double* now, double* estimates) {
        const std::size_t n_outputs = stages.bias.size() / stages.looks.size();
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
    template <class Sink>
    bool end_stages(std::size_t end, TextScratch& s, Sink& sink) const {
        while (sink.beyond(end)) {
            end_batch(s, sink);
            if (!sink.look()) return false;
        }
        return true;
    }
    void prefetch(std::int32_t column, const TextScratch& s) const {
        s.counts.prefetch(column);
        const auto* record = reinterpret_cast<const char*>(records_.data() + column * stride_);
        const std::int64_t bytes = std::min<std::int64_t>(stride_ * 8, 256);
        __builtin_prefetch(record);
        for (std::int64_t i = 64; i < bytes + 56; i += 64) __builtin_prefetch(record + std::min(i, bytes - 8));
    }
    template <class Sink>
    void end_batch(TextScratch& s, Sink& sink) const {
        if (spec_.hashing)
            for (int i = 0; i < s.n_keys; ++i) sink.add(s.columns[i], s.signs[i]);
        else look_up(s, sink);
        s.n_keys = 0;
        if (++s.n_batches % 16 == 0) give_way();
    }
    // Counts the tokens of a batch. Looks all of them up before any is counted: what is behind one is fetched while the
    // next ones are looked up.
    template <class Sink>
    void look_up(TextScratch& s, Sink& sink) const {
        const bool longer = spec_.vocabulary.longest() > 1;
        int n = 0, n_words = 0;
        for (int i = 0; i < s.n_keys; ++i) {
            const TextTable::Entry* e = spec_.vocabulary.table().find(s.keys[i]);
            const std::int32_t column = e == nullptr ? kNoColumn : e->column;
            if (column >= 0) {
                prefetch(column, s);
                s.found[n++] = column;
            }
            if (longer && column != kStopWord) s.columns[n_words++] = e == nullptr ? kNoWord : e->word;
        }
        sink.add_each(s.found, n);
        if (longer) look_up_ngrams(n_words, s, sink);
    }
    // Counts the n-grams, n > 1, that end at the words of a batch.
    template <class Sink>
    void look_up_ngrams(int n_words, TextScratch& s, Sink& sink) const {
        const Continuations& table = spec_.vocabulary.continuations();
        const std::int32_t* const words = s.columns;
        for (int i = 1; i < n_words; ++i)
            if (words[i - 1] >= 0 && words[i] >= 0) table.prefetch(Continuations::key(words[i - 1], words[i]));
        int n = 0;
        const auto count_found = [&] {
            sink.add_each(s.found, n);
            n = 0;
        };
        for (int i = 0; i < n_words; ++i) {
            for (std::size_t k = s.nodes.size() - 1; k > 0; --k) {
                const std::int32_t before = s.nodes[k - 1];
                s.nodes[k] = kNoWord;
                if (before < 0 || words[i] < 0) continue;
                const Continuations::Entry* e = table.find(Continuations::key(before, words[i]));
                if (e == nullptr) continue;
                s.nodes[k] = e->node;
                if (e->column < 0) continue;
                prefetch(e->column, s);
                s.found[n++] = e->column;
                if (n == TextScratch::kBatch) count_found();
            }
            s.nodes[0] = words[i];
        }
        count_found();
    }
    void hash(const std::uint8_t* bytes, std::size_t n, TextScratch& s) const {
        const std::uint32_t h = murmur<true>(reinterpret_cast<const char*>(bytes), n);
        const bool negative = h >> 31;
        const auto column =
            static_cast<std::int32_t>((negative ? 0u - h : h) % static_cast<std::uint32_t>(spec_.n_columns));
        s.columns[s.n_keys] = column;
        s.signs[s.n_keys] = spec_.alternate_sign && negative ? -1 : 1;
        prefetch(column, s);
    }
    // Calls f(piece) for each word that is no stop word.
    template <class F>
    void each_word_kept(TextScratch& s, const F& f) const {
        const bool stop_words = spec_.vocabulary.stop_words();
        reader_.each_word(s.reading, [&](Piece p) {
            if (stop_words) {
                Key key;
                key.set(s.reading.bytes() + p.begin, p.size);
                const TextTable::Entry* e = spec_.vocabulary.table().find(key);
                if (e != nullptr && e->column == kStopWord) return true;
            }
            return goes_on(f, p);
        });
    }
    // Calls f(bytes, size, end) for each n-gram of words; `end` is where it ends in the text.
    template <Order order, class F>
    void each_ngram(TextScratch& s, const F& f) const {
        const auto least = static_cast<std::size_t>(spec_.rules.least),
                   most = static_cast<std::size_t>(spec_.rules.most);
        const std::size_t room = s.reading.size() + 2 * Reading::kSpare;
        if (s.joined.size() < room) s.joined.resize(room);
        s.words.clear();
        std::size_t end = 0;
        each_word_kept(s, [&](Piece p) {
            const std::uint8_t* bytes = s.reading.bytes() + p.begin;
            std::copy_n(bytes, p.size, s.joined.data() + end);
            s.words.push_back({end, p.size, p.begin + p.size});
            end += p.size;
            s.joined[end++] = ' ';
        });
        const std::size_t n_words = s.words.size();
        const auto ngram = [&](std::size_t i, std::size_t n) {
            const TextScratch::Joined &first = s.words[i], &last = s.words[i + n - 1];
            const std::uint8_t* bytes = s.joined.data() + first.begin;
            return goes_on(f, bytes, last.begin + last.size - first.begin, last.end);
        };
        if constexpr (order == Order::of_lengths) {
            for (std::size_t n = least; n <= std::min(most, n_words); ++n)
                for (std::size_t i = 0; i + n <= n_words; ++i)
                    if (!ngram(i, n)) return;
        } else {
            for (std::size_t last = least; last <= n_words; ++last)
                for (std::size_t n = least; n <= std::min(most, last); ++n)
                    if (!ngram(last - n, n)) return;
        }
    }

    // Scores from the counts, which it clears.
    void finish(TextScratch& s, double* out, double* error) const {
        std::fill_n(out, spec_.n_outputs, 0.0);
        TextSums sums;
        add_counted(s, out, sums);
        const bool finite = add_intercept(out);
        *error = !finite ? std::numeric_limits<double>::infinity() : spec_.same_bits ? 0 : sums.bound(spec_.bias);
    }
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
    TextSpec spec_;
    TextReader reader_;
    std::int64_t stride_;
    LargeArray<double> records_;  // [column][idf, weights of the outputs], and a panel
    double length_ = 0;           // of the longest row of bounds
};

}  // namespace wald
