// The values of a column's categories.
#pragma once

#include <atomic>

#include "bindings/cell_chunks.hpp"

namespace wald::bindings {

// The values of the states of a column's cells: those of all rows at once, or of the rows that the engine asks for.
class Lookup final : public CellReader, public CellChunks {
public:
    // values: one of each state. refused: states of which the first row is sought.
    Lookup(const BoundKeys& keys, Any values,
           nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> refused, std::int64_t n_rows)
        : CellChunks(keys, n_rows), itemsize_(values.itemsize()), dtype_(values.dtype()) {
        const auto n_states = static_cast<std::size_t>(keys.keys().n_states());
        require(values.ndim() == 1 && values.size() == n_states && refused.size() == n_states,
                "every state needs a value, and must be refused or not");
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

    // The values of some rows, or of all, and the first of them that is refused or -1.
    Tuple<nb::any, std::int64_t> result(const std::optional<Longs>& rows) const {
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
        return tuple_of(as_any(std::move(answer)), first_refused);
    }

    // Whether None, NaN and pandas.NA were met among the cells that were read.
    Tuple<bool, bool, bool> missing() const {
        const int met = met_.load();
        return tuple_of((met & 2) != 0, (met & 4) != 0, (met & 8) != 0);
    }

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
    template <class Function>
    void with_dtype(const Function& function) const {
        if (dtype_ == nb::dtype<std::uint8_t>()) function(std::uint8_t{});
        else if (dtype_ == nb::dtype<std::int32_t>()) function(std::int32_t{});
        else if (dtype_ == nb::dtype<float>()) function(float{});
        else if (dtype_ == nb::dtype<double>()) function(double{});
        else throw nb::type_error("values must be uint8, int32, float32 or float64");
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

    std::size_t itemsize_;
    nb::dlpack::dtype dtype_;
    std::vector<std::byte> values_;
    std::vector<double> numbers_;  // the same
    static constexpr std::uint8_t kRefused = 1;
    std::vector<std::uint8_t> flags_;  // of each state: whether it is refused, and whether it is None, NaN or pandas.NA
    mutable std::atomic<std::uint8_t> met_{0};
};

inline void bind_lookup(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Lookup>(
        m, "Lookup", "The values of the states of a column's cells, chunk by chunk, as `wald.sources.cells` has them.")
        .def(nb::init<const BoundKeys&, Any, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>,
                      std::int64_t>(),
             "keys"_a, "values"_a, "refused"_a, "n_rows"_a, nb::keep_alive<1, 2>())
        .def("texts", &Lookup::texts, "n"_a, "first"_a, "width"_a, "offsets"_a.none(), "data"_a.none(), "bits"_a.none(),
             "first_bit"_a, "null"_a, "Add n texts, whose offsets of 4 or 8 bytes begin with number ``first``.")
        .def("views", &Lookup::views, "n"_a, "first"_a, "views"_a.none(), "data"_a, "bits"_a.none(), "first_bit"_a,
             "null"_a, "Add n texts, whose views of 16 bytes begin with number ``first``.")
        .def("objects", &Lookup::objects, "values"_a, "Add Python's objects, which an array of one axis holds.")
        .def("wide", &Lookup::wide, "values"_a, "Add the texts of NumPy's array of one axis.")
        .def("numbers", &Lookup::numbers, "values"_a, "bits"_a.none(), "first_bit"_a, "null"_a,
             "Add numbers of bool, integers, float32 or float64.")
        .def("codes", &Lookup::codes, "codes"_a, "entries"_a, "lowest"_a, "bits"_a.none(), "first_bit"_a, "null"_a,
             "Add codes of entries, whose states are given; the first of them is that of the code ``lowest``.")
        .def("result", &Lookup::result, nb::lock_self(), "rows"_a.noconvert() = nb::none(),
             "The values of some cells, or of all, and the place of the first that is refused, or -1.")
        .def("missing", &Lookup::missing, "Whether None, NaN and pandas.NA were met among the cells that were read.");
}

}  // namespace wald::bindings
