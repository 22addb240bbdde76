// Counts the columns of a text: of its words, n-grams or slices, by a vocabulary or by hashing.
#pragma once

#include "core/murmur.hpp"
#include "core/text/text_weights.hpp"

namespace wald {

class TextCounter {
public:
    TextCounter(const TextSpec& spec, const TextReader& reader, const TextWeights& weights)
        : spec_(spec), reader_(reader), weights_(weights) {}

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

    // The parts of `count`.
    void begin_count(TextScratch& s) const {
        s.n_keys = s.n_batches = 0;
        std::fill(s.nodes.begin(), s.nodes.end(), kNoWord);
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
    template <class Sink>
    void end_batch(TextScratch& s, Sink& sink) const {
        if (spec_.hashing)
            for (int i = 0; i < s.n_keys; ++i) sink.add(s.columns[i], s.signs[i]);
        else look_up(s, sink);
        s.n_keys = 0;
        if (++s.n_batches % 16 == 0) give_way();
    }

private:
    template <class Sink>
    bool end_stages(std::size_t end, TextScratch& s, Sink& sink) const {
        while (sink.beyond(end)) {
            end_batch(s, sink);
            if (!sink.look()) return false;
        }
        return true;
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
                weights_.prefetch(column, s);
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
                weights_.prefetch(e->column, s);
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
        weights_.prefetch(column, s);
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

    const TextSpec& spec_;
    const TextReader& reader_;
    const TextWeights& weights_;
};

}  // namespace wald
