// Reads CoNLL-U and CoNLL-X. Files are not trusted: every field is checked.
//
// J. Nivre et al., "Universal Dependencies v2", LREC 2020, and https://universaldependencies.org/format.html; S.
// Buchholz and E. Marsi, "CoNLL-X shared task", CoNLL 2006.
#pragma once

#include <charconv>
#include <stdexcept>

#include "parser/treebank.hpp"
#include "parser/utf8.hpp"

namespace wald::parser {

// A syntax error and its position.
struct ConllError : std::runtime_error {
    ConllError(std::uint32_t at, const std::string& what) : std::runtime_error(what), line(at) {}
    std::uint32_t line;
};

enum class Format { conllu, conllx };

inline constexpr std::uint32_t kMostWords = 32767;  // per sentence

class ConllReader {
public:
    ConllReader(Treebank& t, Format format) : t_(t), format_(format) {}

    // Reads t.text.
    void read() {
        const std::string& text = t_.text;
        if (text.size() > 0xfffffff0u) throw ConllError(0, "the file is longer than 4 GB; read it in parts");
        if (const std::size_t bad = invalid_utf8(text.data(), text.size()); bad != text.size())
            throw ConllError(line_of(bad), "invalid UTF-8");
        if (text.find('\0') != std::string::npos) throw ConllError(line_of(text.find('\0')), "a NUL byte");
        t_.words.reserve(text.size() / 64);
        std::uint32_t at = text.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0;
        const std::uint32_t size = static_cast<std::uint32_t>(text.size());
        sentence_ = {at, at, 0, 0, 0};  // a byte order mark belongs to the file, not to a sentence
        while (at < size) {
            if (++line_ % 64 == 0) give_way();
            const std::size_t newline = text.find('\n', at);
            const std::uint32_t next = newline == std::string::npos ? size : static_cast<std::uint32_t>(newline) + 1;
            std::uint32_t end = newline == std::string::npos ? size : static_cast<std::uint32_t>(newline);
            if (end > at && text[end - 1] == '\r') --end;
            if (end == at) end_sentence(next);
            else if (text[at] != '#' || format_ != Format::conllu) token(at, end);
            else if (in_sentence_) fail("a comment within a sentence; comments go before its first word");
            at = next;
        }
        end_sentence(size);
        t_.words.shrink_to_fit();
    }

private:
    [[noreturn]] void fail(const std::string& what) const { throw ConllError(line_, what); }
    [[noreturn]] void unexpected(const char* what, std::string_view found, const std::string& expected) const {
        fail(std::string("the ") + what + " is " + quoted(found) + " where " + expected + " was expected");
    }
    std::uint32_t line_of(std::size_t at) const {
        std::uint32_t line = 1;
        for (std::size_t i = 0; i < at; ++i) line += t_.text[i] == '\n';
        return line;
    }
    std::string quoted(std::string_view s) const {
        return "'" + std::string(s.substr(0, 40)) + (s.size() > 40 ? "...'" : "'");
    }

    void token(std::uint32_t at, std::uint32_t end) {
        Treebank::Word w;
        int n = 0;
        w.field[0] = at;
        const char* text = t_.text.data();
        for (std::uint32_t i = at; i < end; ++i)
            if (text[i] == '\t') {
                if (++n < kColumns) w.field[n] = i + 1;
            }
        if (++n != kColumns)
            fail("a word has 10 fields, separated by tabs; there " +
                 (n == 1 ? std::string("is 1") : "are " + std::to_string(n)) +
                 (n > kColumns ? " (a tab within a field?)" : ""));
        w.field[kColumns] = end + 1;
        for (int c = 0; c < kColumns; ++c)
            if (w.field[c + 1] == w.field[c] + 1)
                fail("the field " + std::string(kNames[c]) + " is empty; write _ for nothing");
        for (const Column c : {kId, kUpos, kXpos, kFeats, kHead, kDeprel})
            if (std::string_view f = t_.field(w, c); f.find(' ') != std::string_view::npos)
                fail("a space in the field " + std::string(kNames[c]));
        if (!in_sentence_) {
            in_sentence_ = true;
            sentence_.line = line_;
            lines_.clear();
        }
        const std::string_view id = t_.field(w, kId);
        const std::uint32_t count = static_cast<std::uint32_t>(t_.words.size()) - sentence_.first;
        if (number(id) == kNoNumber) return special(id, count);
        if (number(id) != count + 1) unexpected("id", id, std::to_string(count + 1));
        if (count == kMostWords) fail("a sentence of more than " + std::to_string(kMostWords) + " words");
        const std::string_view head = t_.field(w, kHead);
        w.head = head == "_" ? -1 : static_cast<std::int32_t>(number(head));
        if (head != "_" && number(head) > kMostWords)
            fail("the head is " + quoted(head) + "; a number within the sentence, 0 for the root or _ was expected");
        t_.words.push_back(w);
        lines_.push_back(line_);
        empty_ = 0;
    }

    // Checks the id of a multiword token (3-4) or of an empty node (3.1).
    void special(std::string_view id, std::uint32_t count) {
        const std::size_t dash = id.find('-'), dot = id.find('.');
        const std::size_t at = dash != std::string_view::npos ? dash : dot;
        if (format_ == Format::conllx || at == std::string_view::npos) unexpected("id", id, std::to_string(count + 1));
        const std::uint32_t first = number(id.substr(0, at)), second = number(id.substr(at + 1));
        if (at == dash) {
            if (first != count + 1 || second < first || second > kMostWords || first <= range_end_)
                fail("the multiword token " + quoted(id) + " does not begin at the next word, " +
                     std::to_string(count + 1));
            range_end_ = second;
            range_line_ = line_;
        } else {
            if (first != count || second != empty_ + 1)
                unexpected("empty node", id, std::to_string(count) + "." + std::to_string(empty_ + 1));
            ++empty_;
        }
    }

    void end_sentence(std::uint32_t end) {
        if (!in_sentence_) return;
        const std::uint32_t n = static_cast<std::uint32_t>(t_.words.size()) - sentence_.first;
        if (n == 0) throw ConllError(sentence_.line, "a sentence without words");
        if (range_end_ > n)
            throw ConllError(range_line_, "the multiword token ends at " + std::to_string(range_end_) +
                                              ", but the sentence has " + std::to_string(n) + " words");
        sentence_.end = end;
        sentence_.last = sentence_.first + n;
        check_tree(n);
        t_.sentences.push_back(sentence_);
        sentence_ = {end, end, sentence_.last, sentence_.last, 0};
        in_sentence_ = false;
        empty_ = range_end_ = 0;
    }

    void check_tree(std::uint32_t n) {
        const Treebank::Word* words = t_.words.data() + sentence_.first;
        int root = -1;
        bool whole = true;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::int32_t h = words[i].head;
            if (h > static_cast<std::int32_t>(n))
                throw ConllError(lines_[i], "the head is " + std::to_string(h) + ", but the sentence has " +
                                                std::to_string(n) + " words");
            if (h == static_cast<std::int32_t>(i) + 1)
                throw ConllError(lines_[i], "word " + std::to_string(h) + " is its own head");
            if (h == 0 && root >= 0 && format_ == Format::conllu)
                throw ConllError(lines_[i], "words " + std::to_string(root + 1) + " and " + std::to_string(i + 1) +
                                                " are both roots");
            if (h == 0 && root < 0) root = static_cast<int>(i);
            whole &= h >= 0;
        }
        // Follows the heads from every word and visits each word once; seen_ is the start of the walk that visited it.
        seen_.assign(n + 1, 0);
        for (std::uint32_t i = 1; i <= n; ++i) {
            std::int32_t at = static_cast<std::int32_t>(i);
            while (at > 0 && seen_[at] == 0) {
                seen_[at] = i;
                at = words[at - 1].head;
            }
            if (at > 0 && seen_[at] == i)
                throw ConllError(lines_[at - 1],
                                 "word " + std::to_string(at) + " hangs on itself: its heads form a cycle");
        }
        if (whole && root < 0) throw ConllError(sentence_.line, "a sentence without a root");
    }

    static constexpr std::uint32_t kNoNumber = 0xffffffffu;
    // The value of some digits; kNoNumber for anything else, and for what is too large.
    static std::uint32_t number(std::string_view s) {
        std::uint32_t value = 0;
        const auto [p, error] = std::from_chars(s.data(), s.data() + s.size(), value);
        return error == std::errc() && p == s.data() + s.size() ? value : kNoNumber;
    }

    static constexpr const char* kNames[] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                             "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
    Treebank& t_;
    Format format_;
    Treebank::Sentence sentence_{};
    bool in_sentence_ = false;
    std::uint32_t line_ = 0, empty_ = 0, range_end_ = 0, range_line_ = 0;
    std::vector<std::uint32_t> lines_, seen_;
};

}  // namespace wald::parser
