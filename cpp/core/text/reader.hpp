// Reads texts as scikit-learn's vectorizers do: words, or slices of characters.
#pragma once

#include <utility>

#include "core/text/scanner.hpp"

namespace wald {

class TextReader : public TextScanner {
public:
    using TextScanner::TextScanner;

    // Calls f(piece) for each word, in order. Here and below, an f that returns false ends the calls.
    template <class F>
    void each_word(Reading& r, Part part, const F& f) const {
        const auto shortest = static_cast<std::size_t>(rules_.shortest);
        const auto run = [&](std::size_t begin, std::size_t end) {
            if (end - begin < shortest) return true;
            if (!r.ascii_ && shortest > 1 && r.characters(begin, end) < rules_.shortest) return true;
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
            if (r.characters(last, until) == 1) append(last, until);
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
};

}  // namespace wald
