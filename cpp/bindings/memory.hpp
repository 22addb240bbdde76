// Memory of Python's objects, checked here and held while it is read.
#pragma once

#include <bit>
#include <utility>

#include "bindings/arrays.hpp"
#include "core/columns/cells.hpp"

namespace wald::bindings {

// Memory of any object with the buffer protocol, while this lives; none of None.
class Memory {
public:
    explicit Memory(nb::handle from) {
        if (from.is_none()) return;
        if (PyObject_GetBuffer(from.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
        held_ = true;
    }
    ~Memory() {
        if (held_) PyBuffer_Release(&view_);
    }
    Memory(Memory&& other) noexcept : view_(other.view_), held_(std::exchange(other.held_, false)) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    columns::ByteSpan bytes() const {
        return held_ ? columns::ByteSpan(static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len))
                     : columns::ByteSpan();
    }

private:
    Py_buffer view_{};
    bool held_ = false;
};

// Where the n items from `first` on lie.
inline const char* part(const Memory& memory, std::int64_t n, std::int64_t first, std::int64_t itemsize,
                        const char* message) {
    const auto held = static_cast<std::int64_t>(memory.bytes().size()) / itemsize;
    require(n >= 0 && first >= 0, "numbers of cells must not be negative");
    if (n == 0) return nullptr;
    require(n <= held && first <= held - n, message);
    return memory.bytes().data() + first * itemsize;
}

// An array of one axis that nanobind does not know.
class Line {
public:
    Line(nb::handle array, char format) {
        const nb::ft_object_guard guard(array);
        if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_RECORDS_RO) != 0) throw nb::python_error();
        const std::string_view given = view_.format == nullptr ? "" : view_.format;
        const bool swapped = given.starts_with(std::endian::native == std::endian::little ? '>' : '<');
        if (view_.ndim == 1 && given.ends_with(format) && !swapped) return;
        PyBuffer_Release(&view_);
        throw nb::type_error("objects and texts must be in an array of one axis");
    }
    ~Line() { PyBuffer_Release(&view_); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    std::int64_t size() const { return view_.shape[0]; }
    std::int64_t stride() const { return view_.strides[0]; }
    std::int64_t itemsize() const { return view_.itemsize; }
    const std::byte* data() const { return static_cast<const std::byte*>(view_.buf); }

private:
    Py_buffer view_{};
};

}  // namespace wald::bindings
