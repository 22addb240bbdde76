// Reads features by name from Python's dicts and lists of strings; the core hashes them to columns.
#pragma once

#include <string>

#include "bindings/arrays.hpp"
#include "chain/name_hasher.hpp"

namespace wald::bindings {

// Reads parts into the rows of a CSR matrix, one after the other. Parts made of dicts, lists, tuples, sets, strings and
// numbers are read here. A part with other objects goes to `flatten`, which returns a dict from names to numbers, or
// raises.
class NamedFeatures {
public:
    // numbers: a tuple of types whose objects count as numbers, in addition to float and int.
    NamedFeatures(std::int32_t n_columns, nb::handle numbers, nb::handle flatten)
        : hasher_(n_columns), numbers_(numbers), flatten_(flatten) {}

    void add(nb::handle part) {
        begin();
        if (!read(part.ptr(), 0)) {
            PyErr_Clear();
            begin();
            const nb::object flat = flatten_(part);
            if (!read(flat.ptr(), 0)) throw_error("a feature that is none");
        }
        hasher_.end_row();
    }
    nb::tuple arrays() const {
        const auto copy = [](const auto& from) { return copied(from.data(), from.size()); };
        return nb::make_tuple(copy(hasher_.values()), copy(hasher_.columns()), copy(hasher_.indptr()));
    }

private:
    static constexpr int kMaxDepth =
        32;  // of nested dicts; `flatten` takes deeper ones and those that contain themselves

    void begin() {
        hasher_.begin_row();
        prefix_.clear();
    }
    // Raises the error that is set, for example for a name without UTF-8, or a ValueError.
    [[noreturn]] static void throw_error(const char* otherwise) {
        if (PyErr_Occurred()) throw nb::python_error();
        refuse(otherwise);
    }
    // Leaves an object to `flatten`, which raises the error again if there is one.
    static bool not_here() { return false; }

    // Appends an object's text, as an f-string would have it; false leaves the object to `flatten`.
    static bool append(PyObject* o, std::string& to) {
        nb::object formatted;
        if (!PyUnicode_CheckExact(o)) {
            const nb::object keep = nb::borrow(o);
            formatted = nb::steal(PyObject_Format(o, nullptr));
            if (!formatted.is_valid()) return not_here();
            o = formatted.ptr();
        }
        Py_ssize_t n = 0;
        const char* text = PyUnicode_AsUTF8AndSize(o, &n);
        if (text == nullptr) return not_here();
        to.append(text, static_cast<std::size_t>(n));
        return true;
    }

    bool read(PyObject* o, int depth) {
        if (depth > kMaxDepth) return false;
        if (PyDict_CheckExact(o)) return read_dict(o, depth);
        if (PyList_CheckExact(o)) {
            nb::ft_object_guard guard{nb::handle(o)};
            for (Py_ssize_t i = 0; i < PyList_Size(o); ++i)
                if (!read_name(PyList_GetItem(o, i))) return false;
            return true;
        }
        if (PyTuple_CheckExact(o)) {
            for (Py_ssize_t i = 0; i < PyTuple_Size(o); ++i)
                if (!read_name(PyTuple_GetItem(o, i))) return false;
            return true;
        }
        if (!is_set(o)) return false;
        const nb::object each = nb::steal(PyObject_GetIter(o));
        if (!each.is_valid()) return not_here();
        while (PyObject* item = PyIter_Next(each.ptr())) {
            const nb::object keep = nb::steal(item);
            if (!read_name(item)) return false;
        }
        return PyErr_Occurred() ? not_here() : true;
    }
    static bool is_set(PyObject* o) { return PySet_CheckExact(o) || PyFrozenSet_CheckExact(o); }

    bool read_name(PyObject* name) {
        if (!PyUnicode_Check(name)) return false;
        const std::size_t begin = begin_name();
        if (!append(name, hasher_.names())) return false;
        hasher_.add(begin, 1);
        return true;
    }
    std::size_t begin_name() {
        const std::size_t begin = hasher_.names().size();
        hasher_.names() += prefix_;
        return begin;
    }

    bool read_dict(PyObject* dict, int depth) {
        nb::ft_object_guard guard{nb::handle(dict)};
        PyObject *key = nullptr, *value = nullptr;
        Py_ssize_t at = 0;
        while (PyDict_Next(dict, &at, &key, &value)) {
            const nb::object keep = nb::borrow(value);  // formatting the key may run any code
            const std::size_t begin = begin_name();
            if (!append(key, hasher_.names())) return false;
            double number = 0;
            if (PyUnicode_Check(value)) {
                hasher_.names() += ':';
                if (!append(value, hasher_.names())) return false;
                hasher_.add(begin, 1);
            } else if (PyFloat_CheckExact(value)) {
                hasher_.add(begin, PyFloat_AsDouble(value));
            } else if (PyDict_CheckExact(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
                       is_set(value)) {
                const std::size_t before = prefix_.size();
                prefix_ = hasher_.names().substr(begin) + ':';
                hasher_.names().resize(begin);
                if (!read(value, depth + 1)) return false;
                prefix_.resize(before);
            } else if (is_number(value, number)) {
                hasher_.add(begin, number);
            } else {
                return false;
            }
        }
        return true;
    }
    bool is_number(PyObject* o, double& out) const {
        if (!PyFloat_Check(o) && !PyLong_Check(o)) {
            const int is = PyObject_IsInstance(o, numbers_.ptr());
            if (is < 0) return not_here();
            if (is == 0) return false;
        }
        const nb::object as_float = nb::steal(PyNumber_Float(o));
        if (!as_float.is_valid()) return not_here();
        out = PyFloat_AsDouble(as_float.ptr());
        return true;
    }

    chain::NameHasher hasher_;
    nb::handle numbers_, flatten_;
    std::string prefix_;  // of names in nested dicts
};

// Values, columns and indptr of a canonical CSR matrix with a row for every part of all sequences.
inline nb::tuple hash_names(const nb::list& sequences, std::int32_t n_columns, nb::tuple numbers,
                            nb::callable flatten) {
    require(n_columns >= 1, "n_columns must be at least 1");
    NamedFeatures out(n_columns, numbers, flatten);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const nb::list parts = nb::cast<nb::list>(nb::object(sequences[i]));
        for (std::size_t k = 0; k < parts.size(); ++k) out.add(nb::object(parts[k]));
    }
    return out.arrays();
}

inline void bind_chain_names(nb::module_& m) {
    using namespace nb::literals;
    m.def("hash_names", &hash_names, "sequences"_a, "n_columns"_a, "numbers"_a, "flatten"_a,
          nb::sig(
              "def hash_names(sequences: list[list[typing.Any]], n_columns: int, numbers: tuple[type, ...], flatten: "
              "collections.abc.Callable[[typing.Any], dict[str, float]]) -> tuple[numpy.typing.NDArray[numpy.float32], "
              "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"),
          R"doc(Hash the features of all parts of all sequences into a canonical CSR matrix: values, columns and indptr.

A part is a dict or list of features. The types ``numbers`` count as numbers, in addition to float and int. ``flatten``
turns a part that holds other types into a dict.)doc");
}

}  // namespace wald::bindings
