// Linear models of named values: behind DictVectorizer and FeatureHasher.
#pragma once

#include "bindings/fetch.hpp"
#include "bindings/text.hpp"
#include "core/models/named_model.hpp"

namespace wald::bindings {

// Reads rows as Python's objects, so the lock is held. What it does not read, it leaves to others.
class NamedValues {
public:
    explicit NamedValues(const Described& described) : NamedValues(Fields(described)) {}

    Tuple<Made<double>, Made<double>> scores(const Objects& rows) const {
        const nb::tuple all(rows);  // a list may change
        const std::size_t n = all.size(), n_outputs = static_cast<std::size_t>(model_->spec().n_outputs);
        auto found = new_array<double>({n, n_outputs});
        auto errors = new_array<double>({n});
        NamedRow row;
        std::string joined;
        for (std::size_t i = 0; i < n; ++i) {
            fetch_ahead(i, n, [&](std::size_t k) { return PyTuple_GetItem(all.ptr(), static_cast<Py_ssize_t>(k)); });
            if (read(all[i], row, joined)) {
                model_->scores(row, found.data() + i * n_outputs, errors.data() + i);
                continue;
            }
            row.entries.clear();
            std::fill_n(found.data() + i * n_outputs, n_outputs, std::numeric_limits<double>::quiet_NaN());
            errors.data()[i] = std::numeric_limits<double>::infinity();
        }
        return tuple_of(found, errors);
    }
    bool same_bits() const { return model_->spec().same_bits; }

private:
    enum class Form : std::uint8_t { mapping, pairs, strings };

    explicit NamedValues(Fields f) : form_(f.one_of<Form>("form", {"dict", "pair", "string"})) {
        separator_ = f.get<std::string>("separator");
        NamedSpec spec;
        spec.single = f.get<bool>("single");
        const LinearArrays arrays(f);
        arrays.describe(spec, spec.single);
        read_names(f, spec);
        f.done();
        model_ = std::make_unique<NamedModel>(std::move(spec));
        const nb::object numpy = nb::module_::import_("numpy");
        for (const char* name : {"float64", "float32", "int64", "int32"}) numbers_.push_back(numpy.attr(name));
    }
    static void read_names(Fields& f, NamedSpec& spec) {
        const NamedColumns named(f, "names", spec);
        if (spec.hashing) return;
        const std::vector<std::string_view>& found = named.strings->found;
        spec.keys = columns::Keys(true, found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            require(found[i].size() <= columns::Keys::kLongest, "a name has more than 4 GB");
            require(spec.keys.add_text(found[i]), "a string of names is repeated");
            spec.columns.push_back(static_cast<std::int32_t>(named.column(i)));
        }
    }

    // False if something is left to others. No reference is kept: nothing of what is called runs code of the user.
    bool read(nb::handle x, NamedRow& row, std::string& joined) const {
        const nb::ft_object_guard guard(x);  // free-threaded: what is borrowed below stays there
        if (form_ == Form::mapping) {
            if (!PyDict_CheckExact(x.ptr())) return false;
            Py_ssize_t place = 0;
            PyObject *name = nullptr, *value = nullptr;
            while (PyDict_Next(x.ptr(), &place, &name, &value))
                if (!entry(name, value, row, joined)) return false;
            return true;
        }
        return each_item(x.ptr(), [&](PyObject* item) {
            if (form_ == Form::pairs)
                return PyTuple_CheckExact(item) && PyTuple_Size(item) == 2 &&
                       entry(PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), row, joined);
            std::string_view name;
            if (!text(item, name)) return false;
            model_->add(name, 1, row);
            return true;
        });
    }
    bool entry(PyObject* name, PyObject* value, NamedRow& row, std::string& joined) const {
        std::string_view key;
        if (!text(name, key)) return false;
        double number;
        if (number_of(value, number)) {
            model_->add(key, number, row);
            return true;
        }
        const auto add = [&](PyObject* text) { return add_joined(key, text, row, joined); };
        if (PyUnicode_CheckExact(value)) return add(value);
        return !model_->spec().hashing && each_item(value, add);
    }
    bool add_joined(std::string_view key, PyObject* value, NamedRow& row, std::string& joined) const {
        std::string_view end;
        if (!text(value, end)) return false;
        joined.assign(key);
        joined += separator_;
        joined += end;
        model_->add(joined, 1, row);
        return true;
    }
    static bool text(PyObject* o, std::string_view& found) {
        if (!PyUnicode_CheckExact(o)) return false;
        Py_ssize_t n = 0;
        const char* bytes = utf8_of(o, n);
        if (bytes == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
            PyErr_Clear();
            return false;
        }
        found = {bytes, static_cast<std::size_t>(n)};
        return true;
    }
    bool number_of(PyObject* value, double& number) const {
        if (PyFloat_CheckExact(value)) {
            number = PyFloat_AsDouble(value);
            return true;
        }
        if (PyUnicode_CheckExact(value)) return false;
        if (!PyLong_CheckExact(value) && !PyBool_Check(value)) {
            const bool known = std::any_of(numbers_.begin(), numbers_.end(), [value](const nb::object& type) {
                return type.ptr() == reinterpret_cast<PyObject*>(Py_TYPE(value));
            });
            if (!known) return false;
        }
        number = PyLong_Check(value) ? PyLong_AsDouble(value) : PyFloat_AsDouble(value);
        if (number != -1.0 || PyErr_Occurred() == nullptr) return true;
        PyErr_Clear();  // too large
        return false;
    }

    Form form_;
    std::string separator_;
    std::unique_ptr<NamedModel> model_;
    std::vector<nb::object> numbers_;  // types of NumPy's numbers
};

inline void bind_named_values(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<NamedValues>(m, "NamedValues",
                            "A linear model behind a DictVectorizer or a FeatureHasher, from Python's objects to "
                            "scores. Threads may share it.")
        .def(nb::init<const Described&>(), "described"_a)
        .def("scores", &NamedValues::scores, "rows"_a,
             "Return scores (n_rows, n_outputs), and bounds of their distance to scikit-learn's; NaN for what it must "
             "be asked.")
        .def_prop_ro("same_bits", &NamedValues::same_bits,
                     "Whether the scores are scikit-learn's to the last bit wherever the order of additions is known.");
}

}  // namespace wald::bindings
