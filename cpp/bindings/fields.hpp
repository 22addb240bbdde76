// What describes a model or a learner in Python: an object whose attributes, or a dict whose entries, are the fields.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings/arrays.hpp"

namespace wald::bindings {

// Reads fields by their names. Each is converted as an argument of a function would be; TypeError names one that is
// missing, or of another type. Arrays live as long as this object.
class Fields {
public:
    explicit Fields(nb::handle from) : from_(nb::borrow(from)) {
        if (nb::isinstance<nb::dict>(from)) from_ = from.attr("copy")();  // entries are taken out as they are read
    }

    template <class T>
    T get(const char* name, bool convert = true) {
        T found;
        const nb::object value = at(name);
        if (!nb::try_cast(value, found, convert)) fail(name, " must be " + kind<T>() + ", not " + described(value));
        return found;
    }
    template <class T>
    void read(const char* name, T& value) {
        value = get<T>(name);
    }
    template <class T>
    void read(const char* name, std::span<const T>& values) {
        values = kept(get<Array<T>>(name, std::is_floating_point_v<T>));
    }
    // The same, or None: then the values stay as they are, and false is returned.
    template <class T>
    bool read_optional(const char* name, std::span<const T>& values) {
        const auto array = get<std::optional<Array<T>>>(name, std::is_floating_point_v<T>);
        if (array) values = kept(*array);
        return array.has_value();
    }
    // The enumerator at the place of the field's value among the names.
    template <class E>
    E one_of(const char* name, std::initializer_list<const char*> names) {
        const auto value = get<std::string>(name);
        std::string all;
        int i = 0;
        for (const char* candidate : names) {
            if (value == candidate) return static_cast<E>(i);
            all += (i++ == 0 ? "" : ", ") + std::string(candidate);
        }
        refuse(std::string(name) + " must be one of " + all);
    }
    bool none() const { return from_.is_none(); }
    // Fields that are the value of a field, or the items of a sequence.
    Fields part(const char* name) { return Fields(at(name)); }
    std::vector<Fields> parts(const char* name) {
        std::vector<Fields> found;
        for (const nb::handle each : get<nb::sequence>(name)) found.emplace_back(each);
        return found;
    }
    // Refuses a dict with an entry that nobody has read.
    void done() const {
        for (const nb::handle name : from_) fail(nb::str(name).c_str(), " is no field that is known here");
    }

private:
    template <class T>
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    template <class T>
    // A copy, because reading the next field may run Python code that writes into the array.
    std::span<const T> kept(const Array<T>& array) {
        const auto values = std::make_shared<const std::vector<T>>(array.data(), array.data() + array.size());
        arrays_.push_back(values);
        return *values;
    }
    nb::object at(const char* name) {
        if (nb::isinstance<nb::dict>(from_)) {
            if (!nb::cast<nb::dict>(from_).contains(name)) fail(name, " is missing");
            return from_.attr("pop")(name);
        }
        try {
            return from_.attr(name);
        } catch (const nb::python_error& error) {
            if (!error.matches(PyExc_AttributeError)) throw;
        }
        fail(name, " is missing");
    }
    [[noreturn]] static void fail(const std::string& name, const std::string& message) {
        throw nb::type_error((name + message).c_str());
    }
    static std::string described(nb::handle value) {
        const auto text = [](nb::handle h) { return std::string(nb::str(h).c_str()); };
        if (!nb::hasattr(value, "dtype") || !nb::hasattr(value, "shape")) return text(value.type().attr("__name__"));
        return "one of " + text(value.attr("dtype")) + " and shape " + text(value.attr("shape"));
    }
    template <class T>
    static std::string kind() {
        if constexpr (requires { typename T::value_type::Config; }) return kind<typename T::value_type>() + " or None";
        else if constexpr (requires { typename T::Config; }) {
            using S = std::remove_const_t<typename T::Scalar>;
            const char* letter = std::is_floating_point_v<S> ? "float" : std::is_signed_v<S> ? "int" : "uint";
            return "a " + std::to_string(T::Config::N) + "-D array of " + letter + std::to_string(8 * sizeof(S)) +
                   " in C order";
        } else if constexpr (std::is_same_v<T, bool>) return "True or False";
        else if constexpr (std::is_integral_v<T>) return "an integer of " + std::to_string(8 * sizeof(T)) + " bits";
        else if constexpr (std::is_floating_point_v<T>) return "a number";
        else if constexpr (std::is_same_v<T, std::string>) return "a string";
        else return "a sequence";
    }

    nb::object from_;
    std::vector<std::shared_ptr<const void>> arrays_;
};

}  // namespace wald::bindings
