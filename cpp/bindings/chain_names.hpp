// Features by name, as dicts and lists of strings have them, hashed to columns: what scikit-learn's FeatureHasher makes
// of them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "bindings/arrays.hpp"
#include "chain/murmur.hpp"

namespace wald::bindings {

// Reads one part after the other into the rows of a CSR matrix. Parts made of nothing but dicts, lists, tuples, sets,
// strings and numbers are read here; a part with anything else in it goes to `flatten`, which gives a dict from names
// to numbers, or raises.
class NamedFeatures {
public:
    // numbers: a tuple of types whose objects count as numbers, besides float and int.
    NamedFeatures(std::int32_t n_columns, nb::handle numbers, nb::handle flatten)
        : n_columns_(n_columns), numbers_(numbers), flatten_(flatten) {}

    void add(nb::handle part) {
        begin();
        if (!read(part.ptr(), 0)) {
            PyErr_Clear();
            begin();
            const nb::object flat = flatten_(part);
            if (!read(flat.ptr(), 0)) throw_error("a feature that is none");
        }
        end_row();
    }
    nb::tuple arrays() const {
        const auto copy = [](const auto& from) {
            auto a = new_array<std::decay_t<decltype(from[0])>>({from.size()});
            std::copy(from.begin(), from.end(), a.data());
            return a;
        };
        return nb::make_tuple(copy(values_), copy(columns_), copy(ends_));
    }

private:
    static constexpr int kDeepest = 32;  // nested dicts; deeper ones, and those within themselves, are left to Python

    struct Entry {
        std::size_t begin, size;  // of its name
        double value;
        std::uint32_t hash;
    };

    void begin() {
        names_.clear();
        prefix_.clear();
        found_.clear();
    }
    // The error that is set, or another one: of a name that has no UTF-8.
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
    void push(std::size_t begin, double value) { found_.push_back({begin, names_.size() - begin, value, 0}); }

    bool read(PyObject* o, int depth) {
        if (depth > kDeepest) return false;
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
        if (!append(name, names_)) return false;
        push(begin, 1);
        return true;
    }
    std::size_t begin_name() {
        const std::size_t begin = names_.size();
        names_ += prefix_;
        return begin;
    }

    bool read_dict(PyObject* dict, int depth) {
        nb::ft_object_guard guard{nb::handle(dict)};
        PyObject *key = nullptr, *value = nullptr;
        Py_ssize_t at = 0;
        while (PyDict_Next(dict, &at, &key, &value)) {
            const nb::object keep = nb::borrow(value);  // what makes a text of the key may be anybody's code
            const std::size_t begin = begin_name();
            if (!append(key, names_)) return false;
            double number = 0;
            if (PyUnicode_Check(value)) {
                names_ += ':';
                if (!append(value, names_)) return false;
                push(begin, 1);
            } else if (PyFloat_CheckExact(value)) {
                push(begin, PyFloat_AsDouble(value));
            } else if (PyDict_CheckExact(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
                       is_set(value)) {
                const std::size_t before = prefix_.size();
                prefix_ = names_.substr(begin) + ':';
                names_.resize(begin);
                if (!read(value, depth + 1)) return false;
                prefix_.resize(before);
            } else if (is_number(value, number)) {
                push(begin, number);
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

    // Columns ascend; of one name the last value counts, and those of several names in one column are added up.
    void end_row() {
        order_.clear();
        for (std::size_t i = 0; i < found_.size(); ++i) {
            Entry& e = found_[i];
            e.hash = chain::murmur(names_.data() + e.begin, e.size);
            const auto h = static_cast<std::int32_t>(e.hash);
            const auto away = h < 0 ? 0u - e.hash : e.hash;
            order_.push_back(std::uint64_t{away % static_cast<std::uint32_t>(n_columns_)} << 32 | i);
        }
        std::sort(order_.begin(), order_.end());
        for (std::size_t first = 0, last = 0; first < order_.size(); first = last) {
            const auto column = static_cast<std::int32_t>(order_[first] >> 32);
            for (last = first; last < order_.size() && static_cast<std::int32_t>(order_[last] >> 32) == column;) ++last;
            float sum = 0;
            bool any = false;
            for (std::size_t k = first; k < last; ++k) {
                const Entry& e = of(k);
                if (e.value == 0 || named_again(k, last)) continue;
                const float value = static_cast<float>(static_cast<std::int32_t>(e.hash) >= 0 ? e.value : -e.value);
                sum = any ? sum + value : value;
                any = true;
            }
            if (!any) continue;
            columns_.push_back(column);
            values_.push_back(sum);
        }
        ends_.push_back(static_cast<std::int64_t>(values_.size()));
    }
    const Entry& of(std::size_t k) const { return found_[static_cast<std::size_t>(order_[k] & 0xffffffffu)]; }
    bool named_again(std::size_t k, std::size_t last) const {
        const Entry& e = of(k);
        for (std::size_t j = k + 1; j < last; ++j)
            if (of(j).hash == e.hash && of(j).size == e.size &&
                names_.compare(of(j).begin, e.size, names_, e.begin, e.size) == 0)
                return true;
        return false;
    }

    std::int32_t n_columns_;
    nb::handle numbers_, flatten_;
    std::string names_, prefix_;
    std::vector<Entry> found_;
    std::vector<std::uint64_t> order_;  // column, then place in found_
    std::vector<float> values_;
    std::vector<std::int32_t> columns_;
    std::vector<std::int64_t> ends_{0};
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
