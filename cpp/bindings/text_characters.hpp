// Asks the running interpreter what becomes of characters, page by page, and lends texts to the core.
#pragma once

#include <string>

#include "bindings/arrays.hpp"
#include "core/text/reader.hpp"

namespace wald::bindings {

// The text of a str as bytes of UTF-8, which the str owns.
inline std::string_view utf8(nb::handle text) {
    Py_ssize_t n = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
    if (bytes == nullptr) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(n)};
}

// What Python says of characters.
class Interpreter {
public:
    explicit Interpreter(const ReadingRules& rules)
        : rules_(rules), data_(nb::module_::import_("unicodedata")),
          numpy_str_(nb::module_::import_("numpy").attr("str_")) {}

    // Whether this is a str whose methods are those of str.
    bool is_text(nb::handle o) const { return PyUnicode_CheckExact(o.ptr()) || o.type().is(numpy_str_); }
    static nb::object lowered(nb::handle text) { return text.attr("lower")(); }

    void add_page(const MissingPage& missing, CharacterPages& pages) const {
        if (pages.has(missing)) return;
        if (missing.of == MissingPage::Of::tokens) return pages.add(missing, token_page(missing.page));
        pages.add(missing, map_page(missing.page, rules_.lower && missing.of == MissingPage::Of::map_as_given));
    }

private:
    static bool surrogate(std::uint32_t code) { return code >= 0xd800 && code < 0xe000; }  // no UTF-8 has them
    static nb::object character(std::uint32_t code) { return nb::steal(PyUnicode_FromOrdinal(static_cast<int>(code))); }
    TokenPage token_page(std::uint32_t page) const {
        TokenPage made;
        for (std::uint32_t i = 0; i < 256; ++i) {
            const nb::object c = character(page << 8 | i);
            const bool in_token = rules_.token == Token::word ? nb::cast<bool>(c.attr("isalnum")())
                                                              : !nb::cast<bool>(c.attr("isspace")());
            if (in_token) made.bits[i >> 6] |= std::uint64_t{1} << (i & 63);
        }
        return made;
    }
    MapPage map_page(std::uint32_t page, bool lower) const {
        MapPage made;
        for (std::uint32_t i = 0; i < 256; ++i) {
            made.begin[i] = static_cast<std::uint32_t>(made.bytes.size());
            if (surrogate(page << 8 | i)) continue;
            nb::object text = character(page << 8 | i);
            if (lower) text = lowered(text);
            if (rules_.accents != Accents::kept) text = data_.attr("normalize")("NFKD", text);
            for (const nb::handle c : text) {
                const std::string_view bytes = utf8(c);
                if (rules_.accents == Accents::to_ascii && bytes.size() > 1) continue;
                if (rules_.accents == Accents::stripped && nb::cast<int>(data_.attr("combining")(c)) != 0) continue;
                made.bytes.insert(made.bytes.end(), bytes.begin(), bytes.end());
            }
        }
        made.begin[256] = static_cast<std::uint32_t>(made.bytes.size());
        made.bytes.resize(made.bytes.size() + 16);
        return made;
    }

    ReadingRules rules_;
    nb::object data_, numpy_str_;
};

// The items of a list, as long as this object lives, whatever becomes of the list.
class LentTexts {
public:
    LentTexts(const nb::list& texts, const Interpreter& interpreter) : items_(nb::steal(PyList_AsTuple(texts.ptr()))) {
        if (!items_.is_valid()) throw nb::python_error();
        const nb::tuple items = nb::borrow<nb::tuple>(items_);
        views_.resize(items.size());
        for (std::size_t i = 0; i < items.size(); ++i)
            if (interpreter.is_text(items[i]) && view(items[i], views_[i])) readable_.push_back(i);
    }

    // The text of a str, unless it has lone surrogates.
    static bool view(nb::handle text, TextView& to) {
        Py_ssize_t n = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
        if (bytes == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
            PyErr_Clear();
            return false;
        }
        const bool ascii = PyUnicode_GetLength(text.ptr()) == n;
        to = {reinterpret_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(n), Case::as_given, ascii};
        return true;
    }

    std::size_t size() const { return views_.size(); }
    const TextView& operator[](std::size_t i) const { return views_[i]; }
    // The texts that are str without lone surrogates, which no UTF-8 has.
    const std::vector<std::size_t>& readable() const { return readable_; }
    void lower(std::size_t i) {
        lowered_.push_back(Interpreter::lowered(nb::borrow<nb::tuple>(items_)[i]));
        view(lowered_.back(), views_[i]);
        views_[i].given = Case::lowered;
    }

private:
    nb::object items_;
    std::vector<nb::object> lowered_;
    std::vector<TextView> views_;
    std::vector<std::size_t> readable_;
};

}  // namespace wald::bindings
