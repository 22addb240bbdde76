// The known categories of a column, and the states of Python's objects.
#pragma once

#include <array>

#include "bindings/fetch.hpp"
#include "bindings/rows.hpp"
#include "core/columns/cells.hpp"

namespace wald::bindings {

// Up to where memory can be read from a text on, at least to its end: no further than a page, which is mapped as a
// whole.
inline const char* readable_end(const char* text, Py_ssize_t n) {
    const char* const end = text + n;
#ifndef __SANITIZE_ADDRESS__  // which knows what belongs to which object
    constexpr std::uintptr_t kPage = 4096, kSome = 16;
    if (static_cast<std::uintptr_t>(n) < kSome &&
        (reinterpret_cast<std::uintptr_t>(text) & (kPage - 1)) <= kPage - kSome)
        return text + kSome;
#endif
    return end;
}

// The bytes of a text in UTF-8, in which code points that UTF-8 excludes have three bytes, too: two texts are equal if
// these are.
class TextBytes {
public:
    explicit TextBytes(nb::handle text) {
        Py_ssize_t n = 0;
        const char* bytes = utf8_of(text.ptr(), n);
        if (bytes == nullptr) {
            PyErr_Clear();
            encoded_ = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
            char* start = nullptr;
            if (!encoded_.is_valid() || PyBytes_AsStringAndSize(encoded_.ptr(), &start, &n) != 0)
                throw nb::python_error();
            bytes = start;
        }
        view_ = {bytes, static_cast<std::size_t>(n)};
    }
    std::string_view view() const { return view_; }

private:
    nb::object encoded_;
    std::string_view view_;
};

// Known categories, and the states of Python's objects. Immutable, so threads may share it.
class BoundKeys {
public:
    // plain: a function from an object of no type that is known here to a str, float or int that equals it; or to
    // Ellipsis for pandas.NA, and to None for what equals no category.
    BoundKeys(nb::any known, nb::typed<nb::callable, nb::any(nb::any)> plain)
        : keys_(made(known)), plain_(std::move(plain)), numpy_float_(nb::module_::import_("numpy").attr("float64")),
          numpy_str_(nb::module_::import_("numpy").attr("str_")) {}

    const columns::Keys& keys() const { return keys_; }

    // The state of a text of usual form, or -1.
    [[gnu::always_inline]] std::int32_t usual_state_of(PyObject* o) const {
#ifndef Py_LIMITED_API
        if (PyUnicode_CheckExact(o) && PyUnicode_IS_COMPACT_ASCII(o)) {
            const auto* const bytes = reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(o));
            const Py_ssize_t n = PyUnicode_GET_LENGTH(o);
            return keys_.usual_text({bytes, static_cast<std::size_t>(n)}, readable_end(bytes, n));
        }
#endif
        return quick_state_of(o);
    }
    // The state of an object of a usual type, or -1. No Python code runs, unless it is -1.
    std::int32_t quick_state_of(PyObject* o) const {
        if (PyUnicode_CheckExact(o)) {
            Py_ssize_t n = 0;
            const char* const bytes = utf8_of(o, n);
            if (bytes != nullptr) return keys_.text({bytes, static_cast<std::size_t>(n)}, readable_end(bytes, n));
            PyErr_Clear();
            return -1;
        }
        if (o == Py_None) return keys_.state(columns::kNone);
        if (PyFloat_CheckExact(o)) return keys_.real(PyFloat_AsDouble(o));
        if (PyBool_Check(o)) return keys_.state(columns::kOther);
        if (!PyLong_CheckExact(o)) return -1;
        int overflow = 0;
        const std::int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
        return overflow == 0 ? keys_.integer(value) : -1;
    }
    std::int32_t state_of(nb::handle value) const {
        PyObject* const o = value.ptr();
        if (const std::int32_t quick = quick_state_of(o); quick >= 0) return quick;
        if (PyUnicode_CheckExact(o)) return keys_.text(TextBytes(value).view());
        if (PyLong_CheckExact(o)) return state_of_long_integer(o);
        if (value.type().is(numpy_float_)) return keys_.real(PyFloat_AsDouble(o));
        if (value.type().is(numpy_str_)) return keys_.text(TextBytes(value).view());
        const nb::object plain = plain_(value);
        if (plain.is_none()) return keys_.state(columns::kOther);
        if (plain.is(nb::ellipsis())) return keys_.state(columns::kNa);
        const bool known_here =
            PyUnicode_CheckExact(plain.ptr()) || PyFloat_CheckExact(plain.ptr()) || PyLong_CheckExact(plain.ptr());
        if (!known_here) throw nb::type_error("a plain object is a str, a float or an int");
        return state_of(plain);
    }

private:
    static constexpr const char* kKnown = "known categories are a list of str, or a 1-D array of float64 or int64";

    static columns::Keys made(nb::handle known) {
        if (nb::isinstance<nb::list>(known)) return of_texts(nb::borrow<nb::list>(known));
        Any array;
        if (!nb::try_cast(known, array) || array.ndim() != 1) throw nb::type_error(kKnown);
        require(array.size() <= columns::Keys::kMostKnown, "there are too many known categories");
        check_aligned(array);
        columns::Keys keys(false, array.size());
        const bool integers = array.dtype() == nb::dtype<std::int64_t>();
        if (!integers && array.dtype() != nb::dtype<double>()) throw nb::type_error(kKnown);
        for (std::size_t i = 0; i < array.size(); ++i) {
            const std::byte* at =
                static_cast<const std::byte*>(array.data()) + byte_stride(array, 0) * static_cast<std::int64_t>(i);
            bool is_new = false;
            if (integers) {
                is_new = keys.add_integer(*reinterpret_cast<const std::int64_t*>(at));
            } else {
                const double value = *reinterpret_cast<const double*>(at);
                require(value == value, "NaN is no known category: it has a state of its own");
                is_new = keys.add_real(value);
            }
            require(is_new, "known categories must be distinct");
        }
        return keys;
    }
    static columns::Keys of_texts(nb::list known) {
        const nb::tuple texts(known);  // a list may change
        require(texts.size() <= columns::Keys::kMostKnown, "there are too many known categories");
        columns::Keys keys(true, texts.size());
        for (const nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error(kKnown);
            const TextBytes bytes(text);
            require(bytes.view().size() <= columns::Keys::kLongest, "a known category has more than 4 GB");
            require(keys.add_text(bytes.view()), "known categories must be distinct");
        }
        return keys;
    }
    // An integer that has no 64 bits with a sign.
    std::int32_t state_of_long_integer(PyObject* o) const {
        int overflow = 0;
        PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow > 0) {
            const std::uint64_t natural = PyLong_AsUnsignedLongLong(o);
            if (PyErr_Occurred() == nullptr) return keys_.natural(natural);
            PyErr_Clear();
        }
        const double nearest = PyLong_AsDouble(o);
        if (PyErr_Occurred() != nullptr) {
            PyErr_Clear();
        } else {
            const nb::object same = nb::steal(PyLong_FromDouble(nearest));
            if (!same.is_valid()) throw nb::python_error();
            const int equal = PyObject_RichCompareBool(same.ptr(), o, Py_EQ);
            if (equal < 0) throw nb::python_error();
            if (equal > 0) return keys_.real(nearest);
        }
        return keys_.texts() ? keys_.state(columns::kOther) : keys_.state(columns::kUnknown);
    }

    columns::Keys keys_;
    nb::callable plain_;
    nb::object numpy_float_, numpy_str_;  // which are subclasses of float and str
};

// The states of objects that were met lately, by their addresses. No other object can come to lie there: objects of
// usual types are forgotten before any Python code runs, and others are held.
class Met {
public:
    Met() = default;
    ~Met() {
        for (const Entry& e : held_) Py_XDECREF(e.object);
    }
    Met(const Met&) = delete;
    Met& operator=(const Met&) = delete;

    // Before Python code runs that is not run here.
    void forget() { lent_ = {}; }
    // Whether an object of a usual type was met.
    bool has(PyObject* o) const { return lent_[place_of(o)].object == o; }
    // The state of an object of a usual type, or -1. For as long as no Python code runs.
    std::int32_t quick_state_of(const BoundKeys& keys, PyObject* o) {
        Entry& lent = lent_[place_of(o)];
        if (lent.object != o) lent = {o, keys.quick_state_of(o)};
        return lent.state;
    }
    std::int32_t state_of(const BoundKeys& keys, PyObject* o) {
        const auto place = place_of(o);
        Entry& lent = lent_[place];
        if (lent.object == o) return lent.state;
        Entry& held = held_[place];
        if (held.object == o) return held.state;
        if (kAlone) {
            if (const std::int32_t state = keys.quick_state_of(o); state >= 0) {
                lent = {o, state};
                return state;
            }
        }
        nb::object kept = nb::borrow(o);
        const std::int32_t state = keys.state_of(o);
        held.state = state;
        Py_XDECREF(std::exchange(held.object, kept.release().ptr()));
        lent_ = {};
        return state;
    }

#ifdef Py_GIL_DISABLED
    static constexpr bool kAlone = false;  // another thread may free any object
#else
    static constexpr bool kAlone = true;
#endif

private:
    static std::uint64_t place_of(PyObject* o) {
        return (reinterpret_cast<std::uintptr_t>(o) >> 4) * std::uint64_t{0x9e3779b97f4a7c15u} >> 56;
    }
    struct Entry {
        PyObject* object = nullptr;
        std::int32_t state = 0;
    };
    std::array<Entry, 256> lent_, held_;
};

// Objects in NumPy's array. The lock is held.
struct ObjectCells {
    const BoundKeys& keys;
    const std::byte* values;
    std::int64_t stride;  // in bytes
    Met& met;
    bool quick = false;  // no Python code may run: false is returned at an object for which it must

    bool states(const columns::Keys&, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        constexpr std::int64_t kTried = 32;
        const std::int64_t tried = std::min(n, kTried);
        std::int64_t n_met = 0;
        for (std::int64_t i = 0; i < tried; ++i) {
            n_met += met.has(at(cells[i]));
            if ((out[i] = met_before(at(cells[i]))) < 0) return false;
        }
        // Where every cell is an object of its own, it takes longer to look for it than to read it.
        if (Met::kAlone && n_met < kTried / 4)
            return each(cells, tried, n, out, [&](PyObject* o) {
                const std::int32_t state = keys.usual_state_of(o);
                return state >= 0 ? state : met_before(o);
            });
        return each(cells, tried, n, out, [&](PyObject* o) { return met_before(o); });
    }

private:
    std::int32_t met_before(PyObject* o) const { return quick ? met.quick_state_of(keys, o) : met.state_of(keys, o); }
    template <class StateOf>
    bool each(const std::int64_t* cells, std::int64_t begin, std::int64_t n, std::int32_t* out,
              const StateOf& state_of) const {
        constexpr std::int64_t kAhead = 16, kText = 48;  // where a text begins, in bytes
        const bool apart = columns::lie_apart(cells, n);
        for (std::int64_t i = begin; i < n; ++i) {
            if (apart && i + 2 * kAhead < n) __builtin_prefetch(values + cells[i + 2 * kAhead] * stride);
            if (i + kAhead < n) {
                const auto* const next = reinterpret_cast<const std::byte*>(at(cells[i + kAhead]));
                __builtin_prefetch(next);
                __builtin_prefetch(next + kText);
            }
            out[i] = state_of(at(cells[i]));
            if (out[i] < 0) return false;
        }
        return true;
    }
    PyObject* at(std::int64_t i) const {
        PyObject* object = nullptr;
        std::memcpy(&object, values + i * stride, sizeof(object));
        return object == nullptr ? Py_None : object;  // as NumPy reads it
    }
};

inline void bind_keys(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundKeys>(
        m, "Keys",
        "The known categories of a column; ``plain`` turns other objects into a str, float, int, Ellipsis or None.")
        .def(nb::init<nb::any, nb::typed<nb::callable, nb::any(nb::any)>>(), "known"_a, "plain"_a)
        .def("state_of", &BoundKeys::state_of, "value"_a.none(),
             "Number of the category that an object equals, or of what else it is.");
}

}  // namespace wald::bindings
