// A linear model behind a vectorizer of texts: from the bytes of a text to its scores, in scikit-learn's arithmetic.
#pragma once

#include "core/murmur.hpp"
#include "core/text/spread.hpp"
#include "core/text/text_parts.hpp"

namespace wald {

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
        finish(s, out + n_looks * n_outputs, error);
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
            count(s, sink);
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
        finish(s, out, error);
        return status;
    }

    // Counts the columns of the text that was read. Returns false if the sink has ended that before the end.
    template <class Sink>
    bool count(TextScratch& s, Sink& sink) const {
        begin_count(s);
        if (spec_.rules.analyzer != Analyzer::word) reader_.begin_slices(s.reading);
        const bool going = count_part(s, Part{}, sink);
        if (going) end_batch(s, sink);
        return going;
    }

    // Calls f(bytes, size) for each token of the text that was read, in scikit-learn's order.
    template <class F>
    void each_token(TextScratch& s, const F& f) const {
        if (spec_.rules.analyzer == Analyzer::word) {
            each_ngram<Order::of_lengths>(s, Part{},
                                          [&](const std::uint8_t* p, std::size_t n, std::size_t) { f(p, n); });
        } else {
            reader_.begin_slices(s.reading);
            reader_.each_slice<Order::of_lengths>(s.reading, Part{},
                                                  [&](Piece p) { f(s.reading.bytes() + p.begin, p.size); });
        }
    }

private:
    void begin_count(TextScratch& s) const {
        s.n_keys = s.n_batches = 0;
        std::fill(s.nodes.begin(), s.nodes.end(), kNoWord);
    }
    // Counts all columns of the text that was read, and calls at_look(t, scores, characters) for each look that lies
    // inside of it; if that returns false, no more is read.
    template <class AtLook>
    void count_to_looks(TextScratch& s, const TextLooks& at, const AtLook& at_look) const {
        if (at.block > 0) {
            if (!count_spread(s, at, at_look)) return;
            CountAll sink{s.counts};  // tokens that lie in two blocks are missing
            s.counts.drain([](std::int32_t, std::int32_t) {});
            begin_count(s);
            count_part(s, Part{}, sink);
            end_batch(s, sink);
            return;
        }
        const auto look = [&](std::size_t t, const double* now) {
            return at_look(t, now, s.reading.characters(static_cast<std::size_t>(at.looks[t])));
        };
        CountToLooks sink(s.counts, running(s), at.looks, last_half(s), look);
        if (count(s, sink)) sink.end(s.reading.size());
    }
    // The same for blocks that are spread over the text; no token reaches from one to another. Returns whether all must
    // be counted anew.
    template <class AtLook>
    bool count_spread(TextScratch& s, const TextLooks& at, const AtLook& at_look) const {
        const bool words = spec_.rules.analyzer == Analyzer::word;
        const bool apart = spec_.rules.analyzer == Analyzer::character || (words && spec_.rules.most > 1);
        begin_count(s);
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
            if (!inside()) return count_part(s, part, rest);
            count_part(s, part, scored);
            if (apart) end_part(s, scored);
            if (std::cmp_greater(at.looks[next], n_read * at.block)) return true;
            end_batch(s, scored);
            scored.scores.write(last_half(s).data());
            return going = at_look(next++, last_half(s).data(), characters);
        });
        if (going) end_batch(s, rest);
        return apart && going;
    }
    // Counts the columns of the pieces that begin in a part, up to the last batch.
    template <class Sink>
    bool count_part(TextScratch& s, Part part, Sink& sink) const {
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
            if (words && spec_.rules.most == 1) each_word_kept(s, part, from_text(add));
            else if (words) each_ngram<Order::of_ends>(s, part, add);
            else reader_.each_slice<Order::of_ends>(s.reading, part, from_text(add));
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
            if (words) reader_.each_word(s.reading, part, from_text(add));
            else reader_.each_slice<Order::of_ends>(s.reading, part, from_text(add));
        }
        return going;
    }
    // Ends a part whose n-grams end with it.
    template <class Sink>
    void end_part(TextScratch& s, Sink& sink) const {
        end_batch(s, sink);
        std::fill(s.nodes.begin(), s.nodes.end(), kNoWord);
    }
    RunningScores running(TextScratch& s) const {
        return {spec_.values, records_.data(), spec_.intercept, std::span(s.running).first(spec_.intercept.size())};
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
        const std::uint32_t h = murmur(reinterpret_cast<const char*>(bytes), n);
        const bool negative = h >> 31;
        const auto column =
            static_cast<std::int32_t>((negative ? 0u - h : h) % static_cast<std::uint32_t>(spec_.n_columns));
        s.columns[s.n_keys] = column;
        s.signs[s.n_keys] = spec_.alternate_sign && negative ? -1 : 1;
        prefetch(column, s);
    }
    // Calls f(piece) for each word that is no stop word.
    template <class F>
    void each_word_kept(TextScratch& s, Part part, const F& f) const {
        const bool stop_words = spec_.vocabulary.stop_words();
        reader_.each_word(s.reading, part, [&](Piece p) {
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
    void each_ngram(TextScratch& s, Part part, const F& f) const {
        const auto least = static_cast<std::size_t>(spec_.rules.least),
                   most = static_cast<std::size_t>(spec_.rules.most);
        const std::size_t room = s.reading.size() + 2 * Reading::kSpare;
        if (s.joined.size() < room) s.joined.resize(room);
        s.words.clear();
        std::size_t end = 0;
        each_word_kept(s, part, [&](Piece p) {
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
