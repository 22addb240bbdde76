// What is read of a text: its characters as they are in tokens, and which of them are.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/text/characters.hpp"
#include "core/text/kernels.hpp"

namespace wald {

enum class Analyzer : std::uint8_t { word, character, character_in_words };
enum class Accents : std::uint8_t { kept, to_ascii, stripped };

struct ReadingRules {
    Analyzer analyzer = Analyzer::word;
    bool lower = true;
    Accents accents = Accents::kept;
    Token token = Token::word;
    int shortest = 2;         // token, in characters
    int least = 1, most = 1;  // lengths of n-grams
};

// A text in UTF-8 that Python has checked. Its memory belongs to somebody else.
struct TextView {
    const std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    Case given = Case::as_given;
    bool ascii = false;  // whether all of it is known to be ASCII
};

// Read; or a page is missing; or the text must be lowered by Python first; or it is too long.
enum class ReadStatus : std::uint8_t { read, needs_pages, needs_lowering, refused };

// The order of slices and n-grams: scikit-learn's, which is by length, or by where they end.
enum class Order : std::uint8_t { of_lengths, of_ends };

// A piece of the bytes that were read.
struct Piece {
    std::size_t begin, size;
};

// The words and slices of a text that begin in some of its bytes, or all of them.
struct Part {
    static constexpr std::size_t kAll = ~std::size_t{0};
    std::size_t from = 0, until = kAll;
    bool all() const { return until == kAll; }
};

// Calls a function, and returns whether to go on: what it returns, or always.
template <class F, class... Args>
[[gnu::always_inline]] inline bool goes_on(const F& f, Args... args) {
    if constexpr (std::is_same_v<std::invoke_result_t<const F&, Args...>, bool>) {
        return f(args...);
    } else {
        f(args...);
        return true;
    }
}

// The text that was read last, and the memory for it, which is used again.
class Reading {
public:
    static constexpr std::size_t kSpare = 64;  // bytes that may be read after the end

    const std::uint8_t* bytes() const { return bytes_.data(); }
    std::size_t size() const { return size_; }
    // Number of characters that begin in the first bytes, or in some.
    std::int64_t characters(std::size_t n) const { return characters(0, n); }
    std::int64_t characters(std::size_t from, std::size_t until) const {
        if (ascii_) return static_cast<std::int64_t>(until - from);
        return std::count_if(bytes_.data() + from, bytes_.data() + until, &begins);
    }
    std::vector<MissingPage>& missing() { return missing_; }
    std::size_t memory() const {
        return bytes_.size() + mapped_.size() + 16 * in_token_.size() + 4 * starts_.size() + 8 * cuts_.size() +
               scans_.size();
    }

private:
    friend class TextScanner;
    friend class TextReader;

    template <class T>
    static void grow(std::vector<T>& v, std::size_t n) {
        if (v.size() < n) v.resize(std::max(n, v.size() + v.size() / 2));
    }

    std::vector<std::uint8_t> bytes_, mapped_;
    std::vector<std::uint64_t> in_token_, high_;
    std::vector<std::uint32_t> starts_;  // of the characters of a piece; not for ASCII
    std::vector<std::size_t> cuts_;      // where the runs begin of a text of which slices are cut in parts
    std::vector<std::uint8_t> scans_;    // of a text that is read in parts, which 64 bytes were scanned
    std::size_t size_ = 0, scanned_ = 0;
    const std::uint8_t* unread_ = nullptr;  // the text, if it is scanned as far as it is read
    bool lower_ = false;
    std::size_t mapped_end_ = 0;
    bool ascii_ = true, incomplete_ = false;
    std::vector<MissingPage> missing_;
};

}  // namespace wald
