// A linear model behind a vectorizer of texts: from the bytes of a text to its scores, in scikit-learn's arithmetic.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "core/murmur.hpp"
#include "core/text/counts.hpp"
#include "core/text/reader.hpp"
#include "core/text/vocabulary.hpp"

namespace wald {

enum class Norm : std::uint8_t { none, l1, l2 };

struct TextSpec {
    ReadingRules rules;
    Vocabulary vocabulary;  // with hashing: the stop words alone
    std::int64_t n_columns = 0, n_outputs = 0;
    bool hashing = false, alternate_sign = true;
    bool binary = false;
    std::vector<double> logarithms;  // 1 + log(count), by count; empty: the count itself counts
    std::span<const double> idf;     // by column, or empty
    Norm norm = Norm::none;
    bool single = false;            // values are float32
    bool single_sums = false;       // and so are products and their sums
    bool single_intercept = false;  // and the intercept
    std::span<const double> coef;   // [output][column]
    std::span<const double> intercept;
    // Errors: a text's scores are within depth * unit * (|values| * bounds + bias) of the wrapped model's.
    bool same_bits = true;          // there are none
    std::span<const double> bound;  // [output][column], or empty: the absolute values of coef
    double bias = 0;
};

// Memory of one thread.
struct TextScratch {
    static constexpr int kBatch = 256;

    explicit TextScratch(const TextSpec& spec)
        : counts(spec.n_columns), most(static_cast<std::size_t>(spec.rules.most)),
          outputs(static_cast<std::size_t>(spec.n_outputs)) {}

    std::size_t memory() const { return reading.memory() + joined.size() + 12 * values.size() + 16 * words.size(); }

    Reading reading;
    Counts counts;
    std::size_t most;
    Key keys[kBatch];
    std::int32_t columns[kBatch];
    int n_keys = 0, n_batches = 0;
    std::vector<std::int32_t> window;  // words whose n-grams are not all looked up
    std::vector<double> values;
    std::vector<std::int32_t> met;
    std::vector<float> outputs;
    std::vector<std::uint8_t> joined;  // words with one blank between them
    std::vector<Piece> words;          // in `joined`
};

class TextModel {
public:
    explicit TextModel(TextSpec spec)
        : spec_(std::move(spec)), reader_(spec_.rules), stride_(spec_.n_outputs),
          records_(static_cast<std::size_t>(spec_.n_columns * stride_) + kPanelBytes) {
        const auto n = static_cast<std::size_t>(spec_.n_columns);
        for (std::size_t k = 0; k < static_cast<std::size_t>(spec_.n_outputs); ++k) {
            double squares = 0;
            for (std::size_t c = 0; c < n; ++c) {
                const double w = spec_.coef[k * n + c];
                records_[c * static_cast<std::size_t>(stride_) + k] = w;
                const double b = spec_.bound.empty() ? std::abs(w) : spec_.bound[k * n + c];
                squares += b * b;
                largest_ = std::max(largest_, b);
            }
            length_ = std::max(length_, std::sqrt(squares));
        }
        idf_.assign(spec_.idf.begin(), spec_.idf.end());
        intercept_.assign(spec_.intercept.begin(), spec_.intercept.end());
        spec_.coef = spec_.idf = spec_.intercept = spec_.bound = {};
    }

    const TextSpec& spec() const { return spec_; }
    const TextReader& reader() const { return reader_; }
    CharacterPages& pages() { return reader_.pages(); }

    // Scores of one text, or none if it was not read. The error is infinite where nothing is promised.
    ReadStatus scores(const TextView& text, TextScratch& s, double* out, double* error) const {
        const ReadStatus status = count(text, s);
        if (status == ReadStatus::read) finish(s, out, error);
        return status;
    }

    // Counts the columns of one text.
    ReadStatus count(const TextView& text, TextScratch& s) const {
        const ReadStatus status = reader_.read(text, s.reading);
        if (status != ReadStatus::read) return status;
        s.n_keys = s.n_batches = 0;
        s.window.clear();
        if (spec_.hashing) {
            const auto add = [&](const std::uint8_t* bytes, std::size_t n) { add_hashed(bytes, n, s); };
            if (spec_.rules.analyzer != Analyzer::word)
                reader_.each_slice(s.reading, [&](Piece p) { add(s.reading.bytes() + p.begin, p.size); });
            else each_ngram(s, add);
            return status;
        }
        const auto look_up = [&](Piece p) {
            const Key key(s.reading.bytes() + p.begin, p.size);
            spec_.vocabulary.table().prefetch(key);
            s.keys[s.n_keys] = key;
            if (++s.n_keys == TextScratch::kBatch) look_up_batch(s);
        };
        if (spec_.rules.analyzer != Analyzer::word) reader_.each_slice(s.reading, look_up);
        else reader_.each_word(s.reading, look_up);
        look_up_batch(s);
        if (spec_.vocabulary.pairs()) add_ngrams(s, true);
        return status;
    }

    // Calls f(bytes, size) for each token of the text that was read, in scikit-learn's order.
    template <class F>
    void each_token(TextScratch& s, const F& f) const {
        if (spec_.rules.analyzer == Analyzer::word) each_ngram(s, f);
        else reader_.each_slice(s.reading, [&](Piece p) { f(s.reading.bytes() + p.begin, p.size); });
    }

private:
    void prefetch(std::int32_t column, const TextScratch& s) const {
        s.counts.prefetch(column);
        const auto* record = reinterpret_cast<const char*>(records_.data() + column * stride_);
        const std::int64_t bytes = std::min<std::int64_t>(stride_ * 8, 256);
        for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(record + i);
        if (!idf_.empty()) __builtin_prefetch(idf_.data() + column);
    }
    void look_up_batch(TextScratch& s) const {
        const bool pairs = spec_.vocabulary.pairs();
        int n = 0;
        for (int i = 0; i < s.n_keys; ++i) {
            const TextTable::Entry* e = spec_.vocabulary.table().find(s.keys[i]);
            const std::int32_t column = e == nullptr ? kNoColumn : e->column;
            if (column >= 0) {
                prefetch(column, s);
                s.columns[n++] = column;
            }
            if (pairs && column != kStopWord) s.window.push_back(e == nullptr ? kNoWord : e->word);
        }
        for (int i = 0; i < n; ++i) s.counts.add(s.columns[i], 1);
        s.n_keys = 0;
        if (pairs) add_ngrams(s, false);
        if (++s.n_batches % 16 == 0) give_way();
    }
    // Counts the n-grams, n > 1, that begin at the words of the window, except those at its end that more words may
    // follow.
    void add_ngrams(TextScratch& s, bool at_end) const {
        const Continuations& table = spec_.vocabulary.continuations();
        const std::int32_t* const words = s.window.data();
        const std::size_t n = s.window.size();
        const std::size_t ready = at_end ? n : n - std::min(n, s.most - 1);
        const auto known = [&](std::size_t i) { return i + 1 < n && words[i] >= 0 && words[i + 1] >= 0; };
        for (std::size_t i = 0; i < ready; ++i)
            if (known(i)) table.prefetch(Continuations::key(words[i], words[i + 1]));
        int found = 0;
        const auto count_found = [&] {
            for (int i = 0; i < found; ++i) s.counts.add(s.columns[i], 1);
            found = 0;
        };
        for (std::size_t i = 0; i < ready; ++i) {
            if (!known(i)) continue;
            const std::size_t end = std::min(n, i + s.most);
            std::int32_t node = words[i];
            for (std::size_t j = i + 1; j < end && words[j] >= 0; ++j) {
                const Continuations::Entry* e = table.find(Continuations::key(node, words[j]));
                if (e == nullptr) break;
                node = e->node;
                if (e->column < 0) continue;
                prefetch(e->column, s);
                s.columns[found++] = e->column;
                if (found == TextScratch::kBatch) count_found();
            }
        }
        count_found();
        s.window.erase(s.window.begin(), s.window.begin() + static_cast<std::ptrdiff_t>(ready));
    }

    void add_hashed(const std::uint8_t* bytes, std::size_t n, TextScratch& s) const {
        const auto hash = static_cast<std::int32_t>(murmur(reinterpret_cast<const char*>(bytes), n));
        const std::uint32_t magnitude =
            hash < 0 ? 0u - static_cast<std::uint32_t>(hash) : static_cast<std::uint32_t>(hash);
        const auto column = static_cast<std::int32_t>(magnitude % static_cast<std::uint32_t>(spec_.n_columns));
        s.counts.add(column, spec_.alternate_sign && hash < 0 ? -1 : 1);
        if (++s.n_batches % 4096 == 0) give_way();
    }
    // Calls f(bytes, size) for each n-gram of words.
    template <class F>
    void each_ngram(TextScratch& s, const F& f) const {
        const auto least = static_cast<std::size_t>(spec_.rules.least);
        if (s.joined.size() < s.reading.size() + 2 * Reading::kSpare)
            s.joined.resize(s.reading.size() + 2 * Reading::kSpare);
        s.words.clear();
        std::size_t end = 0;
        reader_.each_word(s.reading, [&](Piece p) {
            const std::uint8_t* bytes = s.reading.bytes() + p.begin;
            const TextTable::Entry* e = spec_.vocabulary.table().find(Key(bytes, p.size));
            if (e != nullptr && e->column == kStopWord) return;
            std::copy_n(bytes, p.size, s.joined.data() + end);
            s.words.push_back({end, p.size});
            end += p.size;
            s.joined[end++] = ' ';
        });
        for (std::size_t n = least; n <= std::min(s.most, s.words.size()); ++n)
            for (std::size_t i = 0; i + n <= s.words.size(); ++i) {
                const Piece &first = s.words[i], &last = s.words[i + n - 1];
                f(s.joined.data() + first.begin, last.begin + last.size - first.begin);
            }
    }

    // Scores from the counts, which it clears.
    void finish(TextScratch& s, double* out, double* error) const {
        s.values.clear();
        s.met.clear();
        const std::span<const double> logs = spec_.logarithms;
        bool known = true;
        s.counts.drain([&](std::int32_t column, std::int32_t count) {
            double x = count;
            if (spec_.binary) x = 1;
            if (!logs.empty()) {
                const bool listed = x >= 1 && x < static_cast<double>(logs.size());
                known &= listed;
                x = listed ? logs[static_cast<std::size_t>(x)] : 0;
            }
            if (spec_.single) x = static_cast<float>(x);
            if (!idf_.empty()) x *= idf_[static_cast<std::size_t>(column)];
            if (spec_.single) x = static_cast<float>(x);
            s.values.push_back(x);
            s.met.push_back(column);
        });
        const double size = normalize(s);
        const auto n = static_cast<std::int64_t>(s.values.size());
        const auto n_outputs = static_cast<std::size_t>(spec_.n_outputs);
        if (spec_.single_sums) single_dots(s, out);
        else text_kernels().dots(s.values.data(), s.met.data(), n, records_.data(), stride_, spec_.n_outputs, out);
        for (std::size_t k = 0; k < n_outputs; ++k) {
            out[k] += intercept_[k];
            if (spec_.single_sums && spec_.single_intercept) out[k] = static_cast<float>(out[k]);
        }
        *error = spec_.same_bits ? 0 : bound(size, n);
        if (!known) refuse(out, n_outputs, error);
    }
    static void refuse(double* out, std::size_t n_outputs, double* error) {
        std::fill_n(out, n_outputs, std::numeric_limits<double>::quiet_NaN());
        *error = std::numeric_limits<double>::infinity();
    }
    // Divides the values by their norm. Returns a bound of their sizes, to be multiplied by that of the coefficients.
    double normalize(TextScratch& s) const {
        double squares = 0, sum = 0;
        if (spec_.norm == Norm::l1)
            for (const double x : s.values) sum += std::abs(x);
        else if (spec_.single)
            for (const double x : s.values) squares += static_cast<float>(x * x);
        else if (spec_.norm == Norm::l2 || !spec_.same_bits)
            for (const double x : s.values) squares += x * x;
        const double norm = spec_.norm == Norm::l1 ? sum : std::sqrt(squares);
        if (spec_.norm == Norm::none || norm == 0) return norm;
        if (spec_.single)
            for (double& x : s.values) x = static_cast<float>(x / norm);
        else
            for (double& x : s.values) x /= norm;
        return 1;
    }
    void single_dots(TextScratch& s, double* out) const {
        const auto n_outputs = static_cast<std::size_t>(spec_.n_outputs);
        std::fill(s.outputs.begin(), s.outputs.end(), 0.0f);
        for (std::size_t i = 0; i < s.values.size(); ++i) {
            const double* record = records_.data() + s.met[i] * stride_;
            const auto x = static_cast<float>(s.values[i]);
            for (std::size_t k = 0; k < n_outputs; ++k) s.outputs[k] += x * static_cast<float>(record[k]);
        }
        for (std::size_t k = 0; k < n_outputs; ++k) out[k] = static_cast<double>(s.outputs[k]);
    }
    // Both sums, this one and that of the wrapped model, pass through at most n + 32 roundings each.
    double bound(double size, std::int64_t n) const {
        const double unit = spec_.single ? 0x1p-24 : 0x1p-53;
        const double coefficients = spec_.norm == Norm::l1 ? largest_ : length_;
        const double e =
            2.1 * static_cast<double>(n + 32) * unit * (size * coefficients * 1.001 + spec_.bias) + 0x1p-140;
        return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
    }

    TextSpec spec_;
    TextReader reader_;
    std::int64_t stride_;
    Aligned<double> records_;  // [column][output], and a panel
    std::vector<double> idf_, intercept_;
    double length_ = 0, largest_ = 0;  // of the outputs' bounds: longest as a vector, largest of all
};

}  // namespace wald
