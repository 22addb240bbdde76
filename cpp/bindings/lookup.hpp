// Columns as Python's libraries hold them. Their memory is checked here, and read without Python's lock.
#pragma once

#include <atomic>
#include <utility>

#include "bindings/keys.hpp"

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

// The values of the states of a column's cells, chunk by chunk.
class Lookup {
public:
    // values: one of each state. refused: states of which the first row is sought.
    Lookup(const BoundKeys& keys, Any values,
           nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> refused, std::int64_t n_rows)
        : keys_(keys), n_rows_(n_rows), itemsize_(values.itemsize()) {
        const auto n_states = static_cast<std::size_t>(keys.keys().n_states());
        require(values.ndim() == 1 && values.size() == n_states && refused.size() == n_states,
                "every state needs a value, and must be refused or not");
        require(n_rows >= 0, "n_rows must not be negative");
        require(byte_stride(values, 0) == static_cast<std::int64_t>(itemsize_), "values must be contiguous");
        const auto* const bytes = static_cast<const std::byte*>(values.data());
        values_.assign(bytes, bytes + n_states * itemsize_);
        for (std::size_t s = 0; s < n_states; ++s) flags_.push_back(refused(s) ? kRefused : 0);
        constexpr columns::Other kMissing[] = {columns::kNone, columns::kNan, columns::kNa};
        for (int k = 0; k < 3; ++k)
            flags_[static_cast<std::size_t>(keys.keys().state(kMissing[k]))] |= static_cast<std::uint8_t>(2 << k);
        const auto n = static_cast<std::size_t>(n_rows);
        if (values.dtype() == nb::dtype<std::uint8_t>()) answer(new_array<std::uint8_t>({n}));
        else if (values.dtype() == nb::dtype<std::int32_t>()) answer(new_array<std::int32_t>({n}));
        else if (values.dtype() == nb::dtype<float>()) answer(new_array<float>({n}));
        else if (values.dtype() == nb::dtype<double>()) answer(new_array<double>({n}));
        else throw nb::type_error("values must be uint8, int32, float32 or float64");
    }

    void texts(std::int64_t n, std::int64_t first, int width, nb::handle offsets, nb::handle data, nb::handle bits,
               std::int64_t first_bit, int null) {
        require(width == 4 || width == 8, "offsets have 4 or 8 bytes");
        const Memory offset_memory(offsets), data_memory(data), bit_memory(bits);
        const char* const at =
            part(offset_memory, n > 0 ? n + 1 : 0, first, width, "offsets must be there for all texts");
        const columns::Validity valid = validity(bit_memory, n, first_bit, null);
        if (width == 4) run(columns::TextCells<std::int32_t>{data_memory.bytes(), at, valid}, n, true);
        else run(columns::TextCells<std::int64_t>{data_memory.bytes(), at, valid}, n, true);
    }
    void views(std::int64_t n, std::int64_t first, nb::handle views, const nb::tuple& data, nb::handle bits,
               std::int64_t first_bit, int null) {
        const Memory view_memory(views), bit_memory(bits);
        std::vector<Memory> memory;
        std::vector<columns::ByteSpan> spans;
        for (const nb::handle each : data) spans.push_back(memory.emplace_back(each).bytes());
        const char* const at = part(view_memory, n, first, 16, "views must be there for all texts");
        run(columns::ViewCells{at, n, spans, validity(bit_memory, n, first_bit, null)}, n, true);
    }
    void objects(nb::handle values) {
        const Line array(values, 'O');
        require(array.itemsize() == static_cast<std::int64_t>(sizeof(PyObject*)), "every item must be one object");
        Met met;
        run(ObjectCells{keys_, array.data(), array.stride(), array.size(), met}, array.size(), false);
    }
    void wide(nb::handle values) {
        const Line array(values, 'w');
        run(columns::WideCells{array.data(), array.stride(), array.itemsize() / 4}, array.size(), true);
    }
    void numbers(const Any& values, nb::handle bits, std::int64_t first_bit, int null) {
        each_dtype(values, true, [&](auto zero) { run(cells_of<decltype(zero)>(values, bits, first_bit, null)); });
    }
    void codes(const Any& codes, nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> entries,
               std::int64_t lowest, nb::handle bits, std::int64_t first_bit, int null) {
        require(lowest == 0 || lowest == -1, "the lowest code is 0 or -1");
        for (const std::int32_t state : span_of(entries))
            require(state >= 0 && state < keys_.keys().n_states(), "entries are states");
        each_dtype(codes, false, [&](auto zero) {
            const auto held = cells_of<decltype(zero)>(codes, bits, first_bit, null);
            run(columns::CodeCells<decltype(zero)>{held.cells, span_of(entries), lowest}, held.n, true);
        });
    }
    // The values of all rows, and the first refused row or -1.
    nb::tuple result() const {
        require(done_ == n_rows_, "the chunks must have as many cells as there are rows");
        return nb::make_tuple(answer_, first_refused_);
    }
    // Whether None, NaN and pandas.NA were met.
    nb::tuple missing() const {
        const int met = met_.load();
        return nb::make_tuple((met & 2) != 0, (met & 4) != 0, (met & 8) != 0);
    }

private:
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
    template <class T>
    struct HeldNumbers {
        columns::NumberCells<T> cells;
        std::int64_t n;
        Memory bits;
    };

    template <class Array>
    void answer(Array array) {
        out_ = reinterpret_cast<std::byte*>(array.data());
        answer_ = nb::cast(std::move(array));
    }
    // Where the n items from `first` on lie.
    static const char* part(const Memory& memory, std::int64_t n, std::int64_t first, std::int64_t itemsize,
                            const char* message) {
        const auto held = static_cast<std::int64_t>(memory.bytes().size()) / itemsize;
        require(n >= 0 && first >= 0, "numbers of cells must not be negative");
        if (n == 0) return nullptr;
        require(n <= held && first <= held - n, message);
        return memory.bytes().data() + first * itemsize;
    }
    columns::Validity validity(const Memory& memory, std::int64_t n, std::int64_t first, int null) const {
        require(null >= 0 && null < keys_.keys().n_states(), "null must be a state");
        const columns::ByteSpan bytes = memory.bytes();
        if (bytes.data() == nullptr) return {nullptr, 0, null};
        require(n >= 0 && first >= 0 && n <= INT64_MAX - 7 - first &&
                    (first + n + 7) / 8 <= static_cast<std::int64_t>(bytes.size()),
                "a bit must be there for every cell");
        return {reinterpret_cast<const std::uint8_t*>(bytes.data()), first, null};
    }
    template <class T>
    HeldNumbers<T> cells_of(const Any& values, nb::handle bits, std::int64_t first_bit, int null) const {
        require(values.ndim() == 1, "numbers and codes are an array of one axis");
        Memory memory(bits);
        const auto n = static_cast<std::int64_t>(values.size());
        const columns::Validity valid = validity(memory, n, first_bit, null);
        return {{static_cast<const std::byte*>(values.data()), byte_stride(values, 0), valid}, n, std::move(memory)};
    }
    template <class T>
    void run(const HeldNumbers<T>& held) {
        run(held.cells, held.n, true);
    }
    template <class Function>
    static void each_dtype(const Any& values, bool also_real, Function&& function) {
        const auto d = values.dtype();
        if (d == nb::dtype<std::int8_t>()) function(std::int8_t{});
        else if (d == nb::dtype<std::int16_t>()) function(std::int16_t{});
        else if (d == nb::dtype<std::int32_t>()) function(std::int32_t{});
        else if (d == nb::dtype<std::int64_t>()) function(std::int64_t{});
        else if (d == nb::dtype<std::uint8_t>()) function(std::uint8_t{});
        else if (d == nb::dtype<std::uint16_t>()) function(std::uint16_t{});
        else if (d == nb::dtype<std::uint32_t>()) function(std::uint32_t{});
        else if (d == nb::dtype<std::uint64_t>()) function(std::uint64_t{});
        else if (also_real && d == nb::dtype<bool>()) function(std::uint8_t{});
        else if (also_real && d == nb::dtype<float>()) function(float{});
        else if (also_real && d == nb::dtype<double>()) function(double{});
        else
            throw nb::type_error(also_real ? "numbers must be bool, integers, float32 or float64"
                                           : "codes must be integers");
    }

    static constexpr std::int64_t kBlock = 512;

    // Appends the values of n cells.
    template <class Cells>
    void run(const Cells& cells, std::int64_t n, bool unlocked) {
        require(n >= 0 && n <= n_rows_, "the chunks have more cells than there are rows");
        const std::int64_t start = at_.fetch_add(n);  // these rows are no other thread's
        require(start <= n_rows_ - n, "the chunks have more cells than there are rows");
        bool within = true;
        {
            std::optional<Unlocked> release;
            if (unlocked && n > kBlock) release.emplace();
            std::int32_t states[kBlock];
            for (std::int64_t begin = 0; begin < n && within; begin += kBlock) {
                const std::int64_t m = std::min(kBlock, n - begin);
                within = cells.states(keys_.keys(), begin, m, states);
                if (!within) break;
                if (itemsize_ == 1) gather<1>(states, start + begin, m);
                else if (itemsize_ == 4) gather<4>(states, start + begin, m);
                else gather<8>(states, start + begin, m);
            }
        }
        require(within, "an offset or a code of the column points outside its data or dictionary");
        done_.fetch_add(n);
    }
    template <std::size_t kSize>
    void gather(const std::int32_t* states, std::int64_t row, std::int64_t n) {
        std::byte* const out = out_ + static_cast<std::size_t>(row) * kSize;
        std::uint8_t flags = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const auto state = static_cast<std::size_t>(states[i]);
            std::memcpy(out + static_cast<std::size_t>(i) * kSize, values_.data() + state * kSize, kSize);
            flags |= flags_[state];
        }
        if (flags == 0) return;
        met_.fetch_or(flags);
        if ((flags & kRefused) == 0 || first_refused_ >= 0) return;
        for (first_refused_ = row; (flags_[static_cast<std::size_t>(*states)] & kRefused) == 0; ++first_refused_)
            ++states;
    }

    const BoundKeys& keys_;
    std::int64_t n_rows_, first_refused_ = -1;
    std::atomic<std::int64_t> at_ = 0, done_ = 0;  // number of cells that were begun, and that have their values
    std::size_t itemsize_;
    std::vector<std::byte> values_;
    static constexpr std::uint8_t kRefused = 1;
    std::vector<std::uint8_t> flags_;    // by state: whether it is refused, None, NaN, pandas.NA
    std::atomic<std::uint8_t> met_ = 0;  // flags of all cells
    std::byte* out_ = nullptr;
    nb::object answer_;
};

inline void bind_lookup(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Lookup>(
        m, "Lookup",
        R"doc(The values of the states of a column's cells, chunk by chunk, as `wald.sources.cells` has them.

``null`` is the state of cells that are missing: those whose bit, counted from ``first_bit``, is not set.

Parameters
----------
keys : Keys
values : ndarray of shape (n_states,)
    Value of each state: uint8, int32, float32 or float64.
refused : ndarray of shape (n_states,)
    Whether a state is refused.
n_rows : int
    Number of all cells.)doc")
        .def(nb::init<const BoundKeys&, Any, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>,
                      std::int64_t>(),
             "keys"_a, "values"_a, "refused"_a, "n_rows"_a, nb::keep_alive<1, 2>())
        .def("texts", &Lookup::texts, "n"_a, "first"_a, "width"_a, "offsets"_a.none(), "data"_a.none(), "bits"_a.none(),
             "first_bit"_a, "null"_a,
             nb::sig("def texts(self, n: int, first: int, width: int, offsets: typing.Any, data: typing.Any, "
                     "bits: typing.Any, first_bit: int, null: int) -> None"),
             "Add n texts, whose offsets of 4 or 8 bytes begin with number ``first``.")
        .def("views", &Lookup::views, "n"_a, "first"_a, "views"_a.none(), "data"_a, "bits"_a.none(), "first_bit"_a,
             "null"_a,
             nb::sig("def views(self, n: int, first: int, views: typing.Any, data: tuple[typing.Any, ...], "
                     "bits: typing.Any, first_bit: int, null: int) -> None"),
             "Add n texts, whose views of 16 bytes begin with number ``first``.")
        .def("objects", &Lookup::objects, "values"_a, nb::sig("def objects(self, values: typing.Any) -> None"),
             "Add Python's objects, which an array of one axis holds.")
        .def("wide", &Lookup::wide, "values"_a, nb::sig("def wide(self, values: typing.Any) -> None"),
             "Add the texts of NumPy's array of one axis.")
        .def("numbers", &Lookup::numbers, "values"_a, "bits"_a.none(), "first_bit"_a, "null"_a,
             nb::sig("def numbers(self, values: numpy.typing.NDArray[typing.Any], bits: typing.Any, first_bit: int, "
                     "null: int) -> None"),
             "Add numbers of bool, integers, float32 or float64.")
        .def("codes", &Lookup::codes, "codes"_a, "entries"_a, "lowest"_a, "bits"_a.none(), "first_bit"_a, "null"_a,
             nb::sig("def codes(self, codes: numpy.typing.NDArray[typing.Any], entries: "
                     "numpy.typing.NDArray[numpy.int32], lowest: int, bits: typing.Any, first_bit: int, null: int) -> "
                     "None"),
             "Add codes of entries, whose states are given; the first of them is that of the code ``lowest``.")
        .def("result", &Lookup::result, nb::sig("def result(self) -> tuple[numpy.typing.NDArray[typing.Any], int]"),
             "The value of each cell, and the first row whose state is refused, or -1.")
        .def("missing", &Lookup::missing, nb::sig("def missing(self) -> tuple[bool, bool, bool]"),
             "Whether None, NaN and pandas.NA were met among the cells.");
}

}  // namespace wald::bindings
