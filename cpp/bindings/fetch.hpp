// Reads Python's texts and lists, and fetches objects before they are read. They lie anywhere in memory, so that
// reading them one after the other waits for memory most of the time. Fetching runs nothing and takes no reference; a
// wrong guess costs time alone.
#pragma once

#include <algorithm>

#include "bindings/arrays.hpp"

namespace wald::bindings {

// The bytes of a text in UTF-8; nullptr and an error if it has code points that UTF-8 excludes.
inline const char* utf8_of(PyObject* text, Py_ssize_t& n) {
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        n = PyUnicode_GET_LENGTH(text);
        return reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(text));
    }
#endif
    return PyUnicode_AsUTF8AndSize(text, &n);
}

// Calls visit(item) for the items of a list or tuple, until it returns false. False then, and for what is neither.
// Free-threaded, the caller guards the list.
template <class Visit>
bool each_item(PyObject* o, const Visit& visit) {
    const bool listed = PyList_CheckExact(o);
    if (!listed && !PyTuple_CheckExact(o)) return false;
    for (Py_ssize_t i = 0; i < (listed ? PyList_Size(o) : PyTuple_Size(o)); ++i)
#ifdef Py_LIMITED_API
        if (!visit(listed ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i))) return false;
#else
        if (!visit(listed ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i))) return false;
#endif
    return true;
}

// How many items of a list ahead of the one that is read their texts are fetched. What leads to these, at twice that.
inline constexpr std::size_t kItemsAhead = 4;
inline constexpr Py_ssize_t kMostTexts = 32;  // of an item: more would drive out what was fetched before

// Fetches where the entries of a dict or list lie, for some 13 of them.
inline void fetch_entries(PyObject* o) {
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
    const char* at = nullptr;
    if (PyDict_CheckExact(o)) at = reinterpret_cast<const char*>(reinterpret_cast<PyDictObject*>(o)->ma_keys);
    else if (PyList_CheckExact(o)) at = reinterpret_cast<const char*>(reinterpret_cast<PyListObject*>(o)->ob_item);
    if (at == nullptr) return;
    for (int line = 0; line < 5; ++line) __builtin_prefetch(at + 64 * line);
#else
    (void)o;
#endif
}

// Fetches a string: its head, and its first letters, which may be on another line.
inline void fetch_text(const PyObject* o) {
    constexpr int kHead = 48;  // bytes
    __builtin_prefetch(o);
    __builtin_prefetch(reinterpret_cast<const char*>(o) + kHead);
}

// Fetches the first values of a dict, or items of a list.
inline void fetch_values(PyObject* o) {
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
    if (PyDict_CheckExact(o)) {
        PyObject *key = nullptr, *value = nullptr;
        for (Py_ssize_t at = 0, n = 0; n < kMostTexts && PyDict_Next(o, &at, &key, &value); ++n) fetch_text(value);
    } else if (PyList_CheckExact(o)) {
        const Py_ssize_t n = std::min(PyList_GET_SIZE(o), kMostTexts);
        for (Py_ssize_t i = 0; i < n; ++i) fetch_text(PyList_GET_ITEM(o, i));
    }
#else
    (void)o;
#endif
}

// Fetches what will be read soon, before item i of n is read. item(k) is a borrowed object.
template <class Item>
void fetch_ahead(std::size_t i, std::size_t n, const Item& item) {
    if (i + 2 * kItemsAhead < n) fetch_entries(item(i + 2 * kItemsAhead));
    if (i + kItemsAhead < n) fetch_values(item(i + kItemsAhead));
}

}  // namespace wald::bindings
