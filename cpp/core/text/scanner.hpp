// Lower case, accents, and what belongs to tokens, as scikit-learn's vectorizers and Python have it.
#pragma once

#include <bit>

#include "core/interruption.hpp"
#include "core/text/reading.hpp"

namespace wald {

class TextScanner {
public:
    explicit TextScanner(const ReadingRules& rules) : rules_(rules) {
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

protected:
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

    ReadingRules rules_;

private:
    static constexpr std::size_t kLargest = std::size_t{1} << 31;
    static constexpr std::size_t kLittle = 256;  // bytes that are scanned at a time where little may be read
    static constexpr std::size_t kChunk = std::size_t{1} << 20;

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

    CharacterPages pages_;
};

}  // namespace wald
