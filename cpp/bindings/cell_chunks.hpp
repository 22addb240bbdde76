// Columns as Python's libraries hold them, chunk by chunk. Their memory is checked here, and read without Python's
// lock.
#pragma once

#include <memory>

#include "bindings/keys.hpp"
#include "bindings/memory.hpp"
#include "bindings/number_reader.hpp"

namespace wald::bindings {

// The cells of a column, which are added chunk by chunk, and their states.
class CellChunks {
public:
    CellChunks(const BoundKeys& keys, std::int64_t n_rows) : keys_(keys), n_rows_(n_rows) {
        require(n_rows >= 0, "n_rows must not be negative");
    }
    CellChunks(const CellChunks&) = delete;
    CellChunks& operator=(const CellChunks&) = delete;

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
    void views(std::int64_t n, std::int64_t first, nb::handle views,
               const nb::typed<nb::tuple, nb::any, nb::ellipsis>& data, nb::handle bits, std::int64_t first_bit,
               int null) {
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

    std::int64_t n_rows() const { return n_rows_; }
    void require_complete() const { require(done_ == n_rows_, "the chunks must have as many cells as there are rows"); }
    // Whether Python's lock must be held while cells are read, by one thread alone.
    bool needs_lock() const {
        return std::any_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->is_of_objects(); });
    }
    // From here on objects are read without Python code, for as long as this thread holds the lock.
    void begin() const { set_quick(true); }

protected:
    static constexpr std::int64_t kBlock = 512;
    static constexpr const char* kOutside = "an offset or a code of the column points outside its data or dictionary";

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

    const BoundKeys& keys_;
    std::int64_t n_rows_;
    std::vector<std::unique_ptr<Chunk>> chunks_;  // in the order of their cells

private:
    template <class... Each>
    static std::vector<Memory> moved(Each... each) {
        std::vector<Memory> all;
        (all.push_back(std::move(each)), ...);
        return all;
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
    const Chunk& chunk_of(std::int64_t cell) const {
        const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), cell,
                                            [](std::int64_t c, const auto& chunk) { return c < chunk->start; });
        return **(after - 1);
    }

    std::int64_t done_ = 0;  // number of cells that were added
};

}  // namespace wald::bindings
