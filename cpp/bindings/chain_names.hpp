// Reads features by name from Python's dicts and lists of strings; the core hashes them to columns.
#pragma once

#include <string>
#include <unordered_map>

#include "bindings/fetch.hpp"
#include "chain/name_hasher.hpp"

namespace wald::bindings {

using NamedSequences = nb::typed<nb::list, nb::typed<nb::list, nb::any>>;
using NumberTypes = nb::typed<nb::tuple, nb::type_object, nb::ellipsis>;
using Flatten = nb::typed<nb::callable, nb::typed<nb::dict, nb::bytes, double>(nb::any)>;

constexpr std::size_t kParts = 64;  // read together, at least

// Reads parts into the rows of a CSR matrix. Parts made of dicts, lists, tuples, sets, texts and numbers are read here.
// A part with other objects goes to `flatten`, which returns a dict from names to numbers, or raises.
class NamedFeatures {
public:
    // numbers: a tuple of types whose objects count as numbers, in addition to float and int. table: see NameHasher.
    NamedFeatures(std::int32_t n_columns, nb::handle numbers, nb::handle flatten, std::span<const std::byte> table = {})
        : hasher_(n_columns, table), numbers_(numbers), flatten_(flatten) {}

    // Calls visit(name, column, sign) for the features of each part.
    template <class Visit>
    void names(const std::vector<nb::object>& parts, const Visit& visit) {
        for (const nb::object& part : parts) {
            read(part);
            hasher_.each(visit);
        }
    }
    // Adds a row for each of the parts.
    void add(const std::vector<nb::object>& parts, chain::NamedRows& to) {
        const std::size_t n = parts.size();
        for (std::size_t i = 0; i < n; ++i) {
            fetch_ahead(i, n, [&](std::size_t k) { return parts[k].ptr(); });
            read(parts[i]);
            hasher_.end_row(to);
        }
    }

private:
    static constexpr int kMaxDepth = 32;  // of nested dicts; `flatten` takes deeper ones, and those within themselves

    // Reads a part as the features of the hasher's row.
    void read(nb::handle part) {
        begin();
        if (read(part.ptr(), 0)) return;
        PyErr_Clear();
        begin();
        const nb::object flat = flatten_(part);
        if (read(flat.ptr(), 0)) return hasher_.keep_texts();  // before the dict goes
        if (PyErr_Occurred()) throw nb::python_error();
        refuse("a feature that is none");
    }

    void begin() {
        hasher_.begin_row();
        prefix_.clear();
    }

    // Below, false leaves the part to `flatten`, which raises the error again if there is one.

    // The text of a string or bytes, in its object. This runs no code of the user, even for types derived from them.
    static bool text_of(PyObject* o, std::string_view& text) {
        Py_ssize_t n = 0;
        const char* bytes = nullptr;
        if (PyUnicode_Check(o)) bytes = utf8_of(o, n);
        else if (PyBytes_Check(o)) bytes = PyBytes_AsString(o), n = PyBytes_Size(o);
        if (bytes != nullptr) text = {bytes, static_cast<std::size_t>(n)};
        return bytes != nullptr;
    }

    // A key of dicts, which is kept alive, and its text. Most dicts have the same objects as keys.
    struct Key {
        nb::object object;
        std::string_view text;
        MurmurPrefix alone, with_colon;
    };
    const Key* key_of(PyObject* o) {
        Key& key = keys_[reinterpret_cast<std::uintptr_t>(o) / sizeof(void*) / 2 % kKeys];
        if (key.object.ptr() == o) return &key;
        std::string_view text;
        if (!text_of(o, text)) return nullptr;
        std::string colon(text);
        colon += ':';
        key = {nb::borrow(o), text, MurmurPrefix(text.data(), text.size()), MurmurPrefix(colon.data(), colon.size())};
        return &key;
    }

    bool read(PyObject* o, int depth) {
        if (depth > kMaxDepth) return false;
        if (PyDict_CheckExact(o)) return read_dict(o, depth);
        if (!is_set(o)) {
            const nb::ft_object_guard guard{nb::handle(o)};
            return each_item(o, [&](PyObject* name) { return read_name(name); });
        }
        hasher_.keep_texts();  // memory is allocated below, which may run code
        const nb::object each = nb::steal(PyObject_GetIter(o));
        if (!each.is_valid()) return false;
        while (PyObject* item = PyIter_Next(each.ptr())) {
            const nb::object keep = nb::steal(item);
            if (!read_name(item)) return false;
        }
        return PyErr_Occurred() == nullptr;
    }
    static bool is_set(PyObject* o) { return PySet_CheckExact(o) || PyFrozenSet_CheckExact(o); }

    bool read_name(PyObject* name) {
        std::string_view text;
        if (!text_of(name, text)) return false;
        if (prefix_.empty()) hasher_.add(text, 1);
        else hasher_.add_joined({prefix_, text}, 1);
        return true;
    }

    bool read_dict(PyObject* dict, int depth) {
        const nb::ft_object_guard guard{nb::handle(dict)};
        PyObject *o = nullptr, *value = nullptr;
        Py_ssize_t at = 0;
        while (PyDict_Next(dict, &at, &o, &value)) {
            const Key* const key = key_of(o);
            if (key == nullptr) return false;
            std::string_view text;
            double number = 0;
            if (PyUnicode_Check(value) || PyBytes_Check(value)) {
                if (!text_of(value, text)) return false;
                if (prefix_.empty()) hasher_.add(key->text, true, key->with_colon, text, 1);
                else hasher_.add_joined({prefix_, key->text, ":", text}, 1);
            } else if (PyFloat_Check(value)) {  // of derived types, the float itself
                add_number(*key, PyFloat_AsDouble(value));
            } else if (PyBool_Check(value)) {
                add_number(*key, value == Py_True ? 1 : 0);
            } else if (PyLong_CheckExact(value)) {
                number = PyLong_AsDouble(value);
                if (number == -1 && PyErr_Occurred() != nullptr) return false;  // too large
                add_number(*key, number);
            } else if (PyDict_CheckExact(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
                       is_set(value)) {
                const nb::object keep = nb::borrow(value);  // numbers within it may run code
                const std::size_t before = prefix_.size();
                prefix_ += key->text;
                prefix_ += ':';
                if (!read(value, depth + 1)) return false;
                prefix_.resize(before);
            } else {
                const nb::object keep = nb::borrow(o);
                hasher_.keep_texts();  // code may run, which may change the dict, and the key's place
                if (!is_number(value, number)) return false;
                const Key* const again = key_of(o);
                if (again == nullptr) return false;
                add_number(*again, number);
                hasher_.keep_texts();
            }
        }
        return true;
    }
    void add_number(const Key& key, double number) {
        if (prefix_.empty()) hasher_.add(key.text, false, key.alone, {}, number);
        else hasher_.add_joined({prefix_, key.text}, number);
    }
    bool is_number(PyObject* o, double& out) const {
        const nb::object keep = nb::borrow(o);
        if (!PyLong_Check(o)) {
            const int is = PyObject_IsInstance(o, numbers_.ptr());
            if (is <= 0) return false;
        }
        const nb::object as_float = nb::steal(PyNumber_Float(o));
        if (!as_float.is_valid()) return false;
        out = PyFloat_AsDouble(as_float.ptr());
        return true;
    }

    static constexpr std::size_t kKeys = 1024;  // many more than dicts have, so that few keys share a place

    chain::NameHasher hasher_;
    std::vector<Key> keys_{kKeys};
    nb::handle numbers_, flatten_;
    std::string prefix_;  // of names in nested dicts
};

// Calls visit(parts) for the parts of sequences, some sequences at a time.
template <class Visit>
void each_parts(const NamedSequences& sequences, const Visit& visit) {
    std::vector<nb::object> parts;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const nb::list sequence = nb::cast<nb::list>(nb::object(sequences[i]));
        for (std::size_t k = 0; k < sequence.size(); ++k) parts.emplace_back(sequence[k]);
        if (parts.size() < kParts && i + 1 < sequences.size()) continue;
        visit(parts);
        parts.clear();
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

// Values, columns and indptr of a canonical CSR matrix with a row for every part of all sequences.
inline auto hash_names(const NamedSequences& sequences, std::int32_t n_columns, NumberTypes numbers, Flatten flatten) {
    require(n_columns >= 1, "n_columns must be at least 1");
    NamedFeatures reader(n_columns, numbers, flatten);
    chain::NamedRows rows;
    each_parts(sequences, [&](const auto& parts) { reader.add(parts, rows); });
    const auto copy = [](const auto& from) { return copied(from.data(), from.size()); };
    return std::make_tuple(copy(rows.values()), copy(rows.columns()), copy(rows.indptr()));
}

// A dict from the names of all features, as bytes, to a column, and whether its values are negated there.
inline auto name_columns(const NamedSequences& sequences, std::int32_t n_columns, NumberTypes numbers,
                         Flatten flatten) {
    require(n_columns >= 1, "n_columns must be at least 1");
    NamedFeatures reader(n_columns, numbers, flatten);
    std::unordered_map<std::string, std::pair<std::int32_t, bool>> found;
    std::string text;
    each_parts(sequences, [&](const auto& parts) {
        reader.names(parts, [&](std::string_view name, std::int32_t column, bool negative) {
            text.assign(name);
            found.try_emplace(text, column, negative);
        });
    });
    nb::typed<nb::dict, nb::bytes, nb::typed<nb::tuple, int, bool>> out;
    for (const auto& [name, at] : found) out[nb::bytes(name.data(), name.size())] = nb::make_tuple(at.first, at.second);
    return out;
}

inline void bind_chain_names(nb::module_& m) {
    using namespace nb::literals;
    m.def("hash_names", &hash_names, "sequences"_a, "n_columns"_a, "numbers"_a, "flatten"_a,
          "Hash the features of all parts of all sequences into a canonical CSR matrix: values, columns and indptr.");
    m.def("name_columns", &name_columns, "sequences"_a, "n_columns"_a, "numbers"_a, "flatten"_a,
          "Names of all features of these parts, with their columns, and whether values are negated there.");
}

}  // namespace wald::bindings
