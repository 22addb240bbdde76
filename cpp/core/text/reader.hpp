// Reads texts as scikit-learn's vectorizers do: lower case, accents, then words or slices of characters.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "core/interruption.hpp"
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

class TextReader {
public:
    explicit TextReader(const ReadingRules& rules) : rules_(rules) {
        if (rules.analyzer != Analyzer::word) rules_.token = Token::not_space;
    }

    const ReadingRules& rules() const { return rules_; }
    CharacterPages& pages() { return pages_; }
    // What a map does to a character whose case is as given.
    bool maps(Case given) const { return rules_.accents != Accents::kept || (rules_.lower && given == Case::as_given); }

    // Reads a text: its characters as they are in tokens, and which of them are.
    ReadStatus read(const TextView& text, Reading& r) const {
        if (text.size >= kLargest) return ReadStatus::refused;
        scan(text.bytes, text.size, rules_.lower && text.given == Case::as_given, r);
        if (r.ascii_) return ReadStatus::read;
        r.incomplete_ = false;
        if (maps(text.given)) {
            const ReadStatus status = map(text.given, r);
            if (status != ReadStatus::read) return status;
            if (r.mapped_end_ >= kLargest) return ReadStatus::refused;
            scan(r.mapped_.data(), r.mapped_end_, false, r);
        }
        if (!r.ascii_) mark_beyond_ascii(r);
        return r.incomplete_ ? ReadStatus::needs_pages : ReadStatus::read;
    }

    // Reads a text as `read` does. One of ASCII is only looked at as far as its words are asked for: from its beginning
    // on, or in parts.
    ReadStatus begin(const TextView& text, Reading& r, bool in_parts = false) const {
        if (!text.ascii || text.size >= kLargest) return read(text, r);
        make_room(text.size, r);
        r.size_ = text.size;
        r.scanned_ = 0;
        r.unread_ = text.bytes;
        r.lower_ = rules_.lower && text.given == Case::as_given;
        r.ascii_ = true;
        r.scans_.assign(in_parts ? text.size / 64 + 1 : 0, 0);
        return ReadStatus::read;
    }

    // Calls f(piece) for each word, in order. Here and below, an f that returns false ends the calls.
    template <class F>
    void each_word(Reading& r, Part part, const F& f) const {
        const auto shortest = static_cast<std::size_t>(rules_.shortest);
        const auto run = [&](std::size_t begin, std::size_t end) {
            if (end - begin < shortest) return true;
            if (!r.ascii_ && shortest > 1 && characters(r, begin, end) < shortest) return true;
            return goes_on(f, Piece{begin, end - begin});
        };
        if (part.all()) each_run(r, run);
        else each_run_of(r, part, run);
    }
    // Makes the text of which slices are cut, which `bytes` returns from then on. With `parts`, slices of parts of it
    // can be asked for: a part begins and ends where words begin.
    void begin_slices(Reading& r, bool parts = false) const {
        r.cuts_.clear();
        if (rules_.analyzer == Analyzer::character) join_text(r, parts);
        else join_words(r, parts);
    }
    // Calls f(piece) for each slice of characters of the text that was made.
    template <Order order, class F>
    void each_slice(Reading& r, Part part, const F& f) const {
        if (rules_.analyzer == Analyzer::character) {
            const auto [begin, end] = part.all() ? std::pair{std::size_t{0}, r.size_} : cut_at_words(r, part);
            if (begin < end) slices<order>(r, begin, find_starts(r, begin, end), false, f);
        } else if (part.all()) {
            for (std::size_t begin = 0; begin + 1 < r.size_;) {
                const auto* blank = std::find(r.bytes_.data() + begin + 1, r.bytes_.data() + r.size_, ' ');
                const std::size_t end = static_cast<std::size_t>(blank - r.bytes_.data()) + 1;
                if (!slices<order>(r, begin, find_starts(r, begin, end), true, f)) return;
                begin = end - 1;
            }
        } else {
            for (auto cut = first_cut(r, part.from); cut != r.cuts_.end() && *cut < part.until; ++cut) {
                const std::size_t end = cut + 1 == r.cuts_.end() ? r.size_ : cut[1] + 1;
                if (!slices<order>(r, *cut, find_starts(r, *cut, end), true, f)) return;
            }
        }
    }

private:
    static constexpr std::size_t kLargest = std::size_t{1} << 31;
    static constexpr std::size_t kChunk = std::size_t{1} << 20;
    static constexpr std::size_t kLittle = 256;  // bytes that are scanned at a time where little may be read

    static void make_room(std::size_t n, Reading& r) {
        Reading::grow(r.bytes_, n + 2 * Reading::kSpare);
        Reading::grow(r.in_token_, n / 64 + 2);
        Reading::grow(r.high_, n / 64 + 1);
    }
    void scan(const std::uint8_t* text, std::size_t n, bool lower, Reading& r) const {
        make_room(n, r);
        r.scans_.clear();
        const TextKernels& kernels = text_kernels();
        bool beyond = false;
        for (std::size_t i = 0; i < n; i += kChunk) {
            beyond |= kernels.scan(text + i, std::min(kChunk, n - i), lower, rules_.token, r.bytes_.data() + i,
                                   r.in_token_.data() + i / 64, r.high_.data() + i / 64);
            if (n > kChunk) give_way();
        }
        r.size_ = r.scanned_ = n;
        r.ascii_ = !beyond;
    }
    // Scans the next bytes of a text of ASCII.
    void scan_more(Reading& r) const {
        const std::size_t i = r.scanned_, n = std::min(kLittle, r.size_ - i);
        text_kernels().scan(r.unread_ + i, n, r.lower_, rules_.token, r.bytes_.data() + i, r.in_token_.data() + i / 64,
                            r.high_.data() + i / 64);
        r.scanned_ = i + n;
    }

    // Scans what is missing of some 64 bytes each of a text of ASCII that is read in parts.
    void scan_some(Reading& r, std::size_t from, std::size_t until) const {
        until = std::min(until, (r.size_ + 63) / 64);
        for (std::size_t i = from; i < until; ++i) {
            if (r.scans_[i]) continue;
            std::size_t end = i;
            while (end < until && !r.scans_[end]) r.scans_[end++] = 1;
            text_kernels().scan(r.unread_ + 64 * i, std::min(64 * end, r.size_) - 64 * i, r.lower_, rules_.token,
                                r.bytes_.data() + 64 * i, r.in_token_.data() + i, r.high_.data() + i);
            i = end;
        }
    }

    // Calls f(position, character) of each character beyond ASCII.
    template <class F>
    static bool each_beyond_ascii(const Reading& r, const F& f) {
        const std::size_t blocks = (r.size_ + 63) / 64;
        for (std::size_t block = 0; block < blocks; ++block) {
            for (std::uint64_t bits = r.high_[block]; bits != 0;) {
                const int in_block = std::countr_zero(bits);
                const std::size_t at = block * 64 + static_cast<std::size_t>(in_block);
                if (!begins(r.bytes_[at])) {  // of a character that began in the block before
                    bits &= bits - 1;
                    continue;
                }
                const CodePoint c = code_point(r.bytes_.data() + at);
                bits &= ~(((std::uint64_t{1} << c.size) - 1) << in_block);
                if (!f(at, c)) return false;
            }
            if (block % 4096 == 4095) give_way();
        }
        return true;
    }

    // Replaces the characters beyond ASCII. Goes on behind a missing page, to find all that are missing.
    ReadStatus map(Case given, Reading& r) const {
        constexpr std::uint32_t kSigma = 0x3a3;
        std::size_t end = 0, copied = 0;
        const auto append = [&](const std::uint8_t* from, std::size_t n) {
            Reading::grow(r.mapped_, end + n + Reading::kSpare);
            if (n <= 16) std::memcpy(r.mapped_.data() + end, from, 16);  // whose size the compiler knows
            else std::copy_n(from, n, r.mapped_.data() + end);
            end += n;
        };
        const bool done = each_beyond_ascii(r, [&](std::size_t at, const CodePoint& c) {
            if (c.code == kSigma && rules_.lower && given == Case::as_given) return false;
            const MapPage* page = pages_.map(given, c.code);
            if (page == nullptr) {
                note(r, map_of(given), c.code);
                return true;
            }
            if (at > copied) append(r.bytes_.data() + copied, at - copied);
            copied = at + static_cast<std::size_t>(c.size);
            const std::uint32_t begin = page->begin[c.code & 255];
            append(page->bytes.data() + begin, page->begin[(c.code & 255) + 1] - begin);
            return true;
        });
        if (!done) return ReadStatus::needs_lowering;
        if (r.incomplete_) return ReadStatus::needs_pages;
        append(r.bytes_.data() + copied, r.size_ - copied);
        r.mapped_end_ = end;
        return ReadStatus::read;
    }
    static void note(Reading& r, MissingPage::Of of, std::uint32_t code) {
        r.incomplete_ = true;
        const MissingPage missing{of, code >> 8};
        if (std::find(r.missing_.begin(), r.missing_.end(), missing) == r.missing_.end()) r.missing_.push_back(missing);
    }

    // Says which of the characters beyond ASCII belong to tokens.
    void mark_beyond_ascii(Reading& r) const {
        each_beyond_ascii(r, [&](std::size_t at, const CodePoint& c) {
            const TokenPage* page = pages_.tokens(c.code);
            if (page == nullptr) {
                note(r, MissingPage::Of::tokens, c.code);
            } else if ((*page)[c.code]) {
                const std::uint64_t bytes = (std::uint64_t{1} << c.size) - 1;
                r.in_token_[at / 64] |= bytes << at % 64;
                if (at % 64 > 60) r.in_token_[at / 64 + 1] |= bytes >> (64 - at % 64);
            }
            return true;
        });
    }

    // Calls f(begin, end) for each run of characters of tokens.
    template <class F>
    void each_run(Reading& r, const F& f) const {
        const std::size_t blocks = (r.size_ + 63) / 64;
        std::uint64_t carried = 0;  // whether the last block ended inside a run
        std::size_t begin = 0;
        for (std::size_t block = 0; block < blocks; ++block) {
            if (block * 64 >= r.scanned_) scan_more(r);
            const std::uint64_t inside = r.in_token_[block];
            for (std::uint64_t edges = inside ^ (inside << 1 | carried); edges != 0; edges &= edges - 1) {
                const std::size_t at = block * 64 + static_cast<std::size_t>(std::countr_zero(edges));
                if (inside >> at % 64 & 1) begin = at;
                else if (!goes_on(f, begin, at)) return;
            }
            carried = inside >> 63;
            if (block % 4096 == 4095) give_way();
        }
        if (carried) goes_on(f, begin, r.size_);
    }
    // The same for the runs that begin in a part.
    template <class F>
    void each_run_of(Reading& r, Part part, const F& f) const {
        constexpr std::size_t kBeyond = 32;  // bytes in which most runs end that begin in the part
        const bool some = !r.scans_.empty();
        const std::size_t first = part.from / 64, blocks = (r.size_ + 63) / 64;
        if (some) scan_some(r, part.from == 0 ? 0 : (part.from - 1) / 64, (part.until + kBeyond) / 64 + 1);
        std::uint64_t carried = first == 0 || part.from % 64 != 0 ? 0 : r.in_token_[first - 1] >> 63;
        std::uint64_t asked = ~std::uint64_t{0} << part.from % 64;
        bool open = false;
        std::size_t begin = 0;
        for (std::size_t block = first; block < blocks && (open || block * 64 < part.until); ++block) {
            if (some && !r.scans_[block]) scan_some(r, block, block + 1);
            const std::uint64_t inside = r.in_token_[block];
            for (std::uint64_t edges = (inside ^ (inside << 1 | carried)) & asked; edges != 0; edges &= edges - 1) {
                const std::size_t at = block * 64 + static_cast<std::size_t>(std::countr_zero(edges));
                if (inside >> at % 64 & 1) {
                    if (at >= part.until) return;
                    begin = at;
                    open = true;
                } else if (std::exchange(open, false) && !goes_on(f, begin, at)) {
                    return;
                }
            }
            carried = inside >> 63;
            asked = ~std::uint64_t{0};
        }
        if (open) goes_on(f, begin, r.size_);
    }
    static std::size_t characters(const Reading& r, std::size_t begin, std::size_t end) {
        return static_cast<std::size_t>(std::count_if(r.bytes_.data() + begin, r.bytes_.data() + end, &begins));
    }

    // A run of white space of at least two characters becomes one blank, and one character stays as it is.
    void join_text(Reading& r, bool cuts) const {
        Reading::grow(r.mapped_, r.size_ + 2 * Reading::kSpare);
        std::uint8_t* const to = r.mapped_.data();
        std::size_t end = 0, last = 0;
        const auto append = [&](std::size_t from, std::size_t until) {
            std::copy(r.bytes_.data() + from, r.bytes_.data() + until, to + end);
            end += until - from;
        };
        const auto add_space = [&](std::size_t until) {
            if (until == last) return;
            if (characters(r, last, until) == 1) append(last, until);
            else to[end++] = ' ';
        };
        each_run(r, [&](std::size_t begin, std::size_t run_end) {
            add_space(begin);
            if (cuts) r.cuts_.push_back(end);
            append(begin, run_end);
            last = run_end;
        });
        add_space(r.size_);
        take_mapped(r, end);
    }
    // Each word between blanks. Of a word that is not longer than a slice there is one slice, the word itself.
    void join_words(Reading& r, bool cuts) const {
        std::vector<std::uint8_t>& to = r.mapped_;
        Reading::grow(to, r.size_ + 2 * Reading::kSpare);
        std::size_t end = 0;
        to[end++] = ' ';
        each_run(r, [&](std::size_t begin, std::size_t run_end) {
            if (cuts) r.cuts_.push_back(end - 1);
            std::copy(r.bytes_.data() + begin, r.bytes_.data() + run_end, to.data() + end);
            end += run_end - begin;
            to[end++] = ' ';
        });
        take_mapped(r, end);
    }
    static std::vector<std::size_t>::const_iterator first_cut(const Reading& r, std::size_t from) {
        return std::lower_bound(r.cuts_.cbegin(), r.cuts_.cend(), from);
    }
    // A part of the text, moved to where the words begin. What is before the first word belongs to the first part.
    static std::pair<std::size_t, std::size_t> cut_at_words(const Reading& r, Part part) {
        const auto moved = [&r](std::size_t at) {
            if (at == 0) return at;
            const auto cut = first_cut(r, at);
            return cut == r.cuts_.end() || at >= r.size_ ? r.size_ : *cut;
        };
        return {moved(part.from), moved(part.until)};
    }
    static void take_mapped(Reading& r, std::size_t end) {
        std::swap(r.bytes_, r.mapped_);
        r.size_ = end;
    }
    // Returns the number of characters of a piece, and stores where they begin unless all of them are ASCII.
    static std::size_t find_starts(Reading& r, std::size_t begin, std::size_t end) {
        if (r.ascii_) return end - begin;
        Reading::grow(r.starts_, end - begin + 1);
        std::size_t n = 0;
        for (std::size_t i = begin; i < end; ++i)
            if (begins(r.bytes_[i])) r.starts_[n++] = static_cast<std::uint32_t>(i);
        r.starts_[n] = static_cast<std::uint32_t>(end);
        return n;
    }
    // The slices of n characters from `begin` on. With `whole`, all of them once if they are no more than the longest
    // slices have.
    template <Order order, class F>
    bool slices(const Reading& r, std::size_t begin, std::size_t n, bool whole, const F& f) const {
        if (r.ascii_) return cut<order>(n, whole, f, [begin](std::size_t i) { return begin + i; });
        return cut<order>(n, whole, f, [&r](std::size_t i) { return std::size_t{r.starts_[i]}; });
    }
    template <Order order, class F, class At>
    bool cut(std::size_t n, bool whole, const F& f, const At& at) const {
        const auto least = static_cast<std::size_t>(rules_.least);
        const std::size_t most = std::min(static_cast<std::size_t>(rules_.most), whole ? n - 1 : n);
        const auto slice = [&](std::size_t i, std::size_t size) {
            return goes_on(f, Piece{at(i), at(i + size) - at(i)});
        };
        if constexpr (order == Order::of_lengths) {
            for (std::size_t size = least; size <= most; ++size)
                for (std::size_t i = 0; i + size <= n; ++i)
                    if (!slice(i, size)) return false;
        } else {
            for (std::size_t end = least; end <= n; ++end)
                for (std::size_t size = least; size <= std::min(end, most); ++size)
                    if (!slice(end - size, size)) return false;
        }
        return !(whole && n <= static_cast<std::size_t>(rules_.most)) || slice(0, n);
    }

    ReadingRules rules_;
    CharacterPages pages_;
};

}  // namespace wald
