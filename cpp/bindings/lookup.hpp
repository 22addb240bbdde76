// Columns as Python's libraries hold them. Their memory is checked here, and read without Python's lock.
#pragma once

#include <atomic>
#include <memory>
#include <numeric>
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

// A column of numbers of any type.
template <class T>
class NumberReader final : public CellReader {
public:
    explicit NumberReader(const columns::NumberCells<T>& numbers) : numbers_(numbers) {}
    void read(const std::int64_t* cells, int n, double* out) const override {
        const bool apart = columns::lie_apart(cells, n);
        for (int i = 0; i < n; ++i) {
            if (apart && i + columns::kFar < n) numbers_.prefetch(cells[i + columns::kFar]);
            out[i] = static_cast<double>(numbers_.at(cells[i]));
        }
    }
    void read_run(std::int64_t first, int n, double* out) const override {
        if (numbers_.stride == static_cast<std::int64_t>(sizeof(T)))  // a constant, so that this becomes vectors
            for (int i = 0; i < n; ++i)
                out[i] = static_cast<double>(columns::loaded_from<T>(numbers_.first(first) + i * sizeof(T)));
        else
            for (int i = 0; i < n; ++i) out[i] = static_cast<double>(numbers_.at(first + i));
    }

private:
    columns::NumberCells<T> numbers_;
};

// Calls function(zero) with a zero of the type of an array's numbers.
template <class Function>
void each_dtype(const Any& values, bool also_real, Function&& function) {
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

// The values of the states of a column's cells, which are added chunk by chunk: those of all rows at once, or of the
// rows that the engine asks for.
class Lookup final : public CellReader {
public:
    // values: one of each state. refused: states of which the first row is sought.
    Lookup(const BoundKeys& keys, Any values,
           nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> refused, std::int64_t n_rows)
        : keys_(keys), n_rows_(n_rows), itemsize_(values.itemsize()), dtype_(values.dtype()) {
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
        with_dtype([&](auto zero) {
            for (std::size_t i = 0; i < n_states; ++i)
                numbers_.push_back(static_cast<double>(loaded<decltype(zero)>(bytes + i * itemsize_)));
        });
    }

    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;

    void texts(std::int64_t n, std::int64_t first, int width, nb::handle offsets, nb::handle data, nb::handle bits,
               std::int64_t first_bit, int null) {
        require(width == 4 || width == 8, "offsets have 4 or 8 bytes");
        Memory offset_memory(offsets), data_memory(data), bit_memory(bits);
        const char* const at =
            part(offset_memory, n > 0 ? n + 1 : 0, first, width, "offsets must be there for all texts");
        const columns::Validity valid = validity(bit_memory, n, first_bit, null);
        const columns::ByteSpan bytes = data_memory.bytes();
        Owners owners;
        owners.memory = moved(std::move(offset_memory), std::move(data_memory), std::move(bit_memory));
        if (width == 4) add(columns::TextCells<std::int32_t>{bytes, at, valid}, n, std::move(owners));
        else add(columns::TextCells<std::int64_t>{bytes, at, valid}, n, std::move(owners));
    }
    void views(std::int64_t n, std::int64_t first, nb::handle views, const nb::tuple& data, nb::handle bits,
               std::int64_t first_bit, int null) {
        Memory view_memory(views), bit_memory(bits);
        Owners owners;
        for (const nb::handle each : data) owners.spans.push_back(owners.memory.emplace_back(each).bytes());
        const char* const at = part(view_memory, n, first, 16, "views must be there for all texts");
        const columns::Validity valid = validity(bit_memory, n, first_bit, null);
        owners.memory.push_back(std::move(view_memory));
        owners.memory.push_back(std::move(bit_memory));
        const std::span<const columns::ByteSpan> spans = owners.spans;  // a move keeps the memory of a vector
        add(columns::ViewCells{at, n, spans, valid}, n, std::move(owners));
    }
    void objects(nb::handle values) {
        Owners owners;
        const Line& array = *(owners.line = std::make_unique<Line>(values, 'O'));
        require(array.itemsize() == static_cast<std::int64_t>(sizeof(PyObject*)), "every item must be one object");
        owners.met = std::make_unique<Met>();
        const ObjectCells cells{keys_, array.data(), array.stride(), *owners.met};
        add(cells, array.size(), std::move(owners));
    }
    void wide(nb::handle values) {
        Owners owners;
        const Line& array = *(owners.line = std::make_unique<Line>(values, 'w'));
        const columns::WideCells cells{array.data(), array.stride(), array.itemsize() / 4};
        add(cells, array.size(), std::move(owners));
    }
    void numbers(const Any& values, nb::handle bits, std::int64_t first_bit, int null) {
        each_dtype(values, true, [&](auto zero) {
            Owners owners;
            const auto cells = cells_of<decltype(zero)>(values, bits, first_bit, null, owners);
            add(cells, static_cast<std::int64_t>(values.size()), std::move(owners));
        });
    }
    void codes(const Any& codes, nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> entries,
               std::int64_t lowest, nb::handle bits, std::int64_t first_bit, int null) {
        require(lowest == 0 || lowest == -1, "the lowest code is 0 or -1");
        for (const std::int32_t state : span_of(entries))
            require(state >= 0 && state < keys_.keys().n_states(), "entries are states");
        each_dtype(codes, false, [&](auto zero) {
            Owners owners;
            const auto cells = cells_of<decltype(zero)>(codes, bits, first_bit, null, owners);
            owners.entries.assign(entries.data(), entries.data() + entries.size());
            const std::span<const std::int32_t> held = owners.entries;  // see `views`
            add(columns::CodeCells<decltype(zero)>{cells, held, lowest}, static_cast<std::int64_t>(codes.size()),
                std::move(owners));
        });
    }

    // The values of some rows, or of all, and the first of them that is refused or -1.
    nb::tuple result(const std::optional<Longs>& rows) const {
        require_complete();
        if (rows)
            for (const std::int64_t row : span_of(*rows))
                require(row >= 0 && row < n_rows_, "rows must lie in [0, n_rows)");
        const std::int64_t n = rows ? static_cast<std::int64_t>(rows->size()) : n_rows_;
        nb::object answer;
        std::byte* out = nullptr;
        with_dtype([&](auto zero) {
            auto array = new_array<decltype(zero)>({static_cast<std::size_t>(n)});
            out = reinterpret_cast<std::byte*>(array.data());
            answer = nb::cast(std::move(array));
        });
        set_quick(false);
        std::int64_t first_refused = -1;
        bool within = true;
        {
            std::optional<Unlocked> release;
            if (!needs_lock() && n > kBlock) release.emplace();
            const auto use = [&](std::int64_t i, const std::int32_t* states, std::int64_t m) {
                if (itemsize_ == 1) gather<1>(states, i, m, out, first_refused);
                else if (itemsize_ == 4) gather<4>(states, i, m, out, first_refused);
                else gather<8>(states, i, m, out, first_refused);
            };
            if (rows) within = each_block(n, [&](std::int64_t i) { return rows->data()[i]; }, use);
            else if (!bytes_of_all(out)) within = each_block(n, Every{}, use);
        }
        require(within, kOutside);
        return nb::make_tuple(answer, first_refused);
    }

    // Whether None, NaN and pandas.NA were met among the cells that were read.
    nb::tuple missing() const {
        const int met = met_.load();
        return nb::make_tuple((met & 2) != 0, (met & 4) != 0, (met & 8) != 0);
    }

    std::int64_t n_rows() const { return n_rows_; }
    void require_complete() const { require(done_ == n_rows_, "the chunks must have as many cells as there are rows"); }
    // Whether Python's lock must be held while cells are read, by one thread alone.
    bool needs_lock() const {
        return std::any_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->is_of_objects(); });
    }
    // From here on objects are read without Python code, for as long as this thread holds the lock.
    void begin() const { set_quick(true); }
    void read(const std::int64_t* cells, int n, double* out) const override {
        const bool within = each_block(
            n, [&](std::int64_t i) { return cells[i]; },
            [&](std::int64_t i, const std::int32_t* states, std::int64_t m) {
                std::uint8_t flags = 0;
                for (std::int64_t k = 0; k < m; ++k) {
                    const auto state = static_cast<std::size_t>(states[k]);
                    out[i + k] = numbers_[state];
                    flags |= flags_[state];
                }
                meet(flags);
            });
        if (!within) throw std::domain_error(kOutside);
    }

private:
    static constexpr std::int64_t kBlock = 512;
    static constexpr const char* kOutside = "an offset or a code of the column points outside its data or dictionary";

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
    // What a chunk's cells point into.
    struct Owners {
        std::vector<Memory> memory;
        std::vector<columns::ByteSpan> spans;
        std::vector<std::int32_t> entries;
        std::unique_ptr<Line> line;
        std::unique_ptr<Met> met;  // of objects
        std::optional<Any> array;
    };
    struct Chunk {
        std::int64_t start, n;  // number of its first cell in the column, and of its cells
        Owners owners;

        Chunk(std::int64_t first, std::int64_t n_cells, Owners owned)
            : start(first), n(n_cells), owners(std::move(owned)) {}
        virtual ~Chunk() = default;
        bool is_of_objects() const { return owners.met != nullptr; }
        virtual void set_quick(bool) {}
        // See the forms of cells.
        virtual bool states(const columns::Keys& keys, const std::int64_t* cells, std::int64_t n_cells,
                            std::int32_t* out) const = 0;
        // out[i] = the value of cell first + i, of one byte, for n cells; also adds what flags their states have. False
        // if there is no faster way than by states, or if a cell cannot be read.
        virtual bool bytes(std::int64_t, std::int64_t, const std::uint8_t*, const std::uint8_t*, std::uint8_t*,
                           std::uint8_t&) const {
            return false;
        }
    };
    template <class Cells>
    struct ChunkOf final : Chunk {
        Cells held;

        ChunkOf(const Cells& cells, std::int64_t first, std::int64_t n_cells, Owners owned)
            : Chunk(first, n_cells, std::move(owned)), held(cells) {}
        void set_quick([[maybe_unused]] bool quick) override {
            if constexpr (std::is_same_v<Cells, ObjectCells>) {
                held.quick = quick;
                this->owners.met->forget();
            }
        }
        bool states(const columns::Keys& keys, const std::int64_t* cells, std::int64_t n_cells,
                    std::int32_t* out) const override {
            return held.states(keys, cells, n_cells, out);
        }
        bool bytes(std::int64_t first, std::int64_t count, const std::uint8_t* values, const std::uint8_t* flags,
                   std::uint8_t* out, std::uint8_t& met) const override {
            if constexpr (requires { held.bytes(first, count, values, flags, out, met); })
                return held.bytes(first, count, values, flags, out, met);
            else return Chunk::bytes(first, count, values, flags, out, met);
        }
    };

    template <class... Each>
    static std::vector<Memory> moved(Each... each) {
        std::vector<Memory> all;
        (all.push_back(std::move(each)), ...);
        return all;
    }
    template <class T>
    static T loaded(const std::byte* from) {
        T value;
        std::memcpy(&value, from, sizeof(T));
        return value;
    }
    template <class Function>
    void with_dtype(const Function& function) const {
        if (dtype_ == nb::dtype<std::uint8_t>()) function(std::uint8_t{});
        else if (dtype_ == nb::dtype<std::int32_t>()) function(std::int32_t{});
        else if (dtype_ == nb::dtype<float>()) function(float{});
        else if (dtype_ == nb::dtype<double>()) function(double{});
        else throw nb::type_error("values must be uint8, int32, float32 or float64");
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
    columns::NumberCells<T> cells_of(const Any& values, nb::handle bits, std::int64_t first_bit, int null,
                                     Owners& owners) const {
        require(values.ndim() == 1, "numbers and codes are an array of one axis");
        const Memory& memory = owners.memory.emplace_back(bits);
        owners.array = values;
        const columns::Validity valid = validity(memory, static_cast<std::int64_t>(values.size()), first_bit, null);
        return {static_cast<const std::byte*>(values.data()), byte_stride(values, 0), valid};
    }

    // Appends n cells.
    template <class Cells>
    void add(const Cells& cells, std::int64_t n, Owners owners) {
        require(n >= 0 && n <= n_rows_ - done_, "the chunks have more cells than there are rows");
        if (n == 0) return;  // so that nothing changes any more once all cells are there
        chunks_.push_back(std::make_unique<ChunkOf<Cells>>(cells, done_, n, std::move(owners)));
        done_ += n;
    }
    void set_quick(bool quick) const {
        for (const std::unique_ptr<Chunk>& chunk : chunks_) chunk->set_quick(quick);
    }
    struct Every {
        std::int64_t operator()(std::int64_t i) const { return i; }
    };
    // Calls use(i, states, m) for the states of rows row(i), ..., row(i + m - 1), blocks of all n; false if one cannot
    // be read.
    template <class Row, class Use>
    bool each_block(std::int64_t n, const Row& row, const Use& use) const {
        std::int64_t cells[kBlock];
        std::int32_t states[kBlock];
        for (std::int64_t i = 0; i < n;) {
            const Chunk& chunk = chunk_of(row(i));
            std::int64_t m = 0;
            if constexpr (std::is_same_v<Row, Every>) {
                m = std::min({kBlock, n - i, chunk.start + chunk.n - i});
                for (std::int64_t k = 0; k < m; ++k) cells[k] = i + k - chunk.start;
            } else {
                for (; m < kBlock && i + m < n; ++m) {
                    cells[m] = row(i + m) - chunk.start;
                    if (cells[m] < 0 || cells[m] >= chunk.n) break;
                }
            }
            if (!chunk.states(keys_.keys(), cells, m, states)) return false;
            use(i, states, m);
            i += m;
        }
        return true;
    }
    // The values of all rows, of one byte, where all chunks have a fast way; false if one has none, or holds a cell
    // that is refused or cannot be read.
    bool bytes_of_all(std::byte* out) const {
        if (itemsize_ != 1) return false;
        std::uint8_t met = 0;
        const auto* const values = reinterpret_cast<const std::uint8_t*>(values_.data());
        auto* const to = reinterpret_cast<std::uint8_t*>(out);
        for (const std::unique_ptr<Chunk>& chunk : chunks_)
            if (!chunk->bytes(0, chunk->n, values, flags_.data(), to + chunk->start, met)) return false;
        if ((met & kRefused) != 0) return false;
        meet(met);
        return true;
    }
    const Chunk& chunk_of(std::int64_t cell) const {
        const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), cell,
                                            [](std::int64_t c, const auto& chunk) { return c < chunk->start; });
        return **(after - 1);
    }
    template <std::size_t kSize>
    void gather(const std::int32_t* states, std::int64_t row, std::int64_t n, std::byte* out,
                std::int64_t& first_refused) const {
        std::byte* const to = out + static_cast<std::size_t>(row) * kSize;
        std::uint8_t flags = 0;
        const std::byte* const values = values_.data();
        const std::uint8_t* const each = flags_.data();
        for (std::int64_t i = 0; i < n; ++i) {
            const auto state = static_cast<std::size_t>(states[i]);
            std::memcpy(to + static_cast<std::size_t>(i) * kSize, values + state * kSize, kSize);
            flags |= each[state];
        }
        meet(flags);
        if ((flags & kRefused) == 0 || first_refused >= 0) return;
        for (first_refused = row; (flags_[static_cast<std::size_t>(*states)] & kRefused) == 0; ++first_refused)
            ++states;
    }

    // Notes what was met, in the bits of `flags_`.
    void meet(std::uint8_t flags) const {
        if ((flags & ~met_.load(std::memory_order_relaxed)) != 0) met_.fetch_or(flags, std::memory_order_relaxed);
    }

    const BoundKeys& keys_;
    std::int64_t n_rows_, done_ = 0;  // number of cells that there will be, and that were added
    std::size_t itemsize_;
    nb::dlpack::dtype dtype_;
    std::vector<std::byte> values_;
    std::vector<double> numbers_;  // the same
    static constexpr std::uint8_t kRefused = 1;
    std::vector<std::uint8_t> flags_;  // of each state: whether it is refused, and whether it is None, NaN or pandas.NA
    mutable std::atomic<std::uint8_t> met_{0};
    std::vector<std::unique_ptr<Chunk>> chunks_;  // in the order of their cells
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
        .def("result", &Lookup::result, nb::lock_self(), "rows"_a.noconvert() = nb::none(),
             nb::sig("def result(self, rows: numpy.typing.NDArray[numpy.int64] | None = None) -> "
                     "tuple[numpy.typing.NDArray[typing.Any], int]"),
             "The values of some cells, or of all, and the place of the first that is refused, or -1.")
        .def("missing", &Lookup::missing, nb::sig("def missing(self) -> tuple[bool, bool, bool]"),
             "Whether None, NaN and pandas.NA were met among the cells that were read.");
}

}  // namespace wald::bindings
