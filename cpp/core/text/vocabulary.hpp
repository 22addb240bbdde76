// What is known of words and slices: the column of each, and which pairs, triples, ... of words have columns.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/large_array.hpp"

namespace wald {

inline constexpr std::int32_t kNoColumn = -1, kStopWord = -2;  // in place of a column
inline constexpr std::int32_t kNoWord = -1;

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    a ^= 0x9e3779b97f4a7c15u;
    b ^= 0xd6e8feb86659fd93u;
#if defined(__SIZEOF_INT128__)
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    a = (a ^ a >> 32) * 0xff51afd7ed558ccdu;
    b = (b ^ b >> 29) * 0xc4ceb9fe1a85ec53u;
    a += b << 32 | b >> 32;
    return a ^ a >> 31;
#endif
}

// A piece of text as it is looked up: its bytes if there are at most 16 of them, otherwise a hash and where they are.
struct Key {
    static constexpr std::uint32_t kInline = 16;
    static constexpr std::size_t kSpare = 16;  // bytes that may be read after the end
    std::uint64_t a, b, hash;
    std::uint32_t size;

    Key() = default;
    // Stored part by part: a copy of a key just made would wait for the stores of its parts.
    [[gnu::always_inline]] void set(const std::uint8_t* bytes, std::size_t n) {
        size = static_cast<std::uint32_t>(n);
        if (n > kInline) [[unlikely]]
            return set_long(bytes, n);
        std::uint64_t first, last;
        std::memcpy(&first, bytes, 8);
        std::memcpy(&last, bytes + 8, 8);
        a = first & kMasks[n][0];
        b = last & kMasks[n][1];
        hash = mixed(first & kMasks[n][0], last & kMasks[n][1]);
    }
    const char* bytes() const { return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(b)); }

private:
    // Of the first and the last eight bytes of a piece of n bytes, those that belong to it.
    static constexpr auto kMasks = [] {
        std::array<std::array<std::uint64_t, 2>, kInline + 1> masks{};
        for (std::size_t n = 1; n <= kInline; ++n) {
            masks[n][0] = n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * n) - 1;
            masks[n][1] = n >= 16 ? ~std::uint64_t{0} : n > 8 ? (std::uint64_t{1} << 8 * (n - 8)) - 1 : 0;
        }
        return masks;
    }();

    [[gnu::noinline]] void set_long(const std::uint8_t* bytes, std::size_t n) {
        a = n;
        std::size_t i = 0;
        for (; i + 16 <= n; i += 16) {
            std::uint64_t x, y;
            std::memcpy(&x, bytes + i, 8);
            std::memcpy(&y, bytes + i + 8, 8);
            a = mixed(a ^ x, y);
        }
        Key rest;
        rest.set(bytes + i, n - i);
        hash = a = mixed(a ^ rest.a, rest.b);
        b = reinterpret_cast<std::uintptr_t>(bytes);
    }
};

// An open table from words or slices to columns. A word that is part of a pair, triple, ... has a number as well.
class TextTable {
public:
    struct Entry {
        std::uint64_t a = 0, b = 0;  // as in Key, but b counts from the beginning of the long ones
        std::uint32_t size = kEmpty;
        std::int32_t column = kNoColumn, word = kNoWord;
    };

    explicit TextTable(std::size_t capacity = 0) : slots_(std::bit_ceil(2 * capacity + 2)), mask_(slots_.size() - 1) {
        for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i] = Slot{};
    }

    void prefetch(const Key& key) const { __builtin_prefetch(&slots_[key.hash & mask_]); }
    // The entry of a key, or nullptr.
    const Entry* find(const Key& key) const {
        for (std::size_t i = key.hash & mask_;; i = (i + 1) & mask_) {
            const Entry& e = slots_[i].entry;
            if (e.size == key.size && same(e, key)) return &e;
            if (e.size == kEmpty) return nullptr;
        }
    }
    // The entry of a text, made if it is new. The table must have room for it.
    Entry& at(std::string_view text) {
        padded_.assign(text.begin(), text.end());
        padded_.resize(text.size() + Key::kSpare);
        Key key;
        key.set(padded_.data(), text.size());
        for (std::size_t i = key.hash & mask_;; i = (i + 1) & mask_) {
            Entry& e = slots_[i].entry;
            if (e.size == key.size && same(e, key)) return e;
            if (e.size != kEmpty) continue;
            if (++n_ >= slots_.size()) throw std::logic_error("wald: a table of words was sized too small");
            e.a = key.a;
            e.b = key.b;
            e.size = key.size;
            if (key.size > Key::kInline) {
                e.b = long_.size();
                long_.append(text);
            }
            return e;
        }
    }

private:
    static constexpr std::uint32_t kEmpty = 0xffffffffu;
    struct alignas(32) Slot {
        Entry entry;
    };

    bool same(const Entry& e, const Key& key) const {
        if (e.a != key.a) return false;
        if (key.size <= Key::kInline) return e.b == key.b;
        return std::memcmp(long_.data() + e.b, key.bytes(), key.size) == 0;
    }

    LargeArray<Slot> slots_;
    std::size_t mask_, n_ = 0;
    std::string long_;
    std::vector<std::uint8_t> padded_;
};

// From the number of a word, pair, ... and the word behind it to the longer one's number and column.
class Continuations {
public:
    struct Entry {
        std::uint64_t key = kEmpty;
        std::int32_t node = kNoWord, column = kNoColumn;
    };

    explicit Continuations(std::size_t capacity = 0)
        : slots_(std::bit_ceil(2 * capacity + 2)), mask_(slots_.size() - 1) {
        for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i] = Entry{};
    }

    static std::uint64_t key(std::int32_t node, std::int32_t word) {
        return std::uint64_t{static_cast<std::uint32_t>(node)} << 32 | static_cast<std::uint32_t>(word);
    }
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[mixed(key, 0) & mask_]); }
    const Entry* find(std::uint64_t key) const {
        for (std::size_t i = mixed(key, 0) & mask_;; i = (i + 1) & mask_) {
            if (slots_[i].key == key) return &slots_[i];
            if (slots_[i].key == kEmpty) return nullptr;
        }
    }
    Entry& at(std::uint64_t key) {
        for (std::size_t i = mixed(key, 0) & mask_;; i = (i + 1) & mask_) {
            if (slots_[i].key == key) return slots_[i];
            if (slots_[i].key != kEmpty) continue;
            if (++n_ >= slots_.size()) throw std::logic_error("wald: a table of n-grams was sized too small");
            slots_[i].key = key;
            return slots_[i];
        }
    }

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    LargeArray<Entry> slots_;
    std::size_t mask_, n_ = 0;
};

// The vocabulary of words and n-grams of words, or of slices. What is frequent is best given first: it is found at
// once.
class Vocabulary {
public:
    struct Terms {
        std::span<const std::string_view> terms;
        std::span<const std::int64_t> columns;
        std::span<const std::string_view> stop_words;
    };

    Vocabulary() = default;
    // `most`: the length of the longest n-grams of words; 1 for slices.
    Vocabulary(const Terms& given, int least, int most) {
        if (most == 1) {
            table_ = TextTable(given.terms.size() + given.stop_words.size());
            for (std::size_t i = 0; i < given.terms.size(); ++i)
                table_.at(given.terms[i]).column = static_cast<std::int32_t>(given.columns[i]);
        } else {
            add_ngrams(given, least, most);
        }
        for (const std::string_view word : given.stop_words) table_.at(word).column = kStopWord;
        stop_words_ = !given.stop_words.empty();
    }

    // Words of the longest n-grams, or 1.
    std::size_t longest() const { return longest_; }
    bool stop_words() const { return stop_words_; }
    const TextTable& table() const { return table_; }
    const Continuations& continuations() const { return continuations_; }

private:
    // The words of an n-gram; none if it is none that an analyzer makes.
    static std::vector<std::string_view> words_of(std::string_view term, int most) {
        std::vector<std::string_view> words;
        while (true) {
            const std::size_t blank = std::min(term.find(' '), term.size());
            if (blank == 0 || std::ssize(words) == most) return {};
            words.push_back(term.substr(0, blank));
            if (blank == term.size()) return words;
            term.remove_prefix(blank + 1);
        }
    }
    void add_ngrams(const Terms& given, int least, int most) {
        std::size_t n_longer = 0;
        for (const std::string_view term : given.terms)
            n_longer += std::max(words_of(term, most).size(), std::size_t{1}) - 1;
        if (n_longer > std::size_t{1} << 30) throw std::length_error("the vocabulary has too many n-grams");
        table_ = TextTable(n_distinct(given, most) + given.stop_words.size());
        continuations_ = Continuations(n_longer);
        std::int32_t n_nodes = 0;
        const auto number = [&](TextTable::Entry& e) { return e.word = e.word == kNoWord ? n_nodes++ : e.word; };
        for (std::size_t i = 0; i < given.terms.size(); ++i) {
            const std::vector<std::string_view> words = words_of(given.terms[i], most);
            const auto column = static_cast<std::int32_t>(given.columns[i]);
            if (words.empty()) continue;
            longest_ = std::max(longest_, words.size());
            if (words.size() == 1) {
                if (least == 1) table_.at(words[0]).column = column;
                continue;
            }
            std::int32_t node = number(table_.at(words[0]));
            for (std::size_t k = 1; k < words.size(); ++k) {
                Continuations::Entry& e = continuations_.at(Continuations::key(node, number(table_.at(words[k]))));
                if (e.node == kNoWord) e.node = n_nodes++;
                if (k + 1 == words.size() && std::ssize(words) >= least) e.column = column;
                node = e.node;
            }
        }
    }
    static std::size_t n_distinct(const Terms& given, int most) {
        std::vector<std::string_view> all;
        for (const std::string_view term : given.terms)
            for (const std::string_view word : words_of(term, most)) all.push_back(word);
        std::sort(all.begin(), all.end());
        return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
    }

    std::size_t longest_ = 1;
    bool stop_words_ = false;
    TextTable table_;
    Continuations continuations_;
};

}  // namespace wald
