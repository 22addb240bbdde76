// Cells of a column in the memory of another library, and their states. Each form reads some cells, by their numbers,
// and returns false if an offset or a code of them points outside: other libraries wrote these, and nobody has seen
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/columns/keys.hpp"

namespace wald::columns {

using ByteSpan = std::span<const char>;

template <class T>
inline T loaded_from(const char* at) {  // Arrow recommends aligned memory, and does not demand it
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

// Cells that lie apart are asked for in advance: kFar cells before they are read, and what they point to kNear before.
inline constexpr std::int64_t kFar = 24, kNear = 12;
inline bool lie_apart(const std::int64_t* cells, std::int64_t n) { return n > 1 && cells[n - 1] - cells[0] >= 2 * n; }

// Which cells are there: one bit each, beginning with bit `first`.
struct Validity {
    const std::uint8_t* bits = nullptr;  // null: all
    std::int64_t first = 0;
    std::int32_t null = 0;  // state of the others

    bool has(std::int64_t i) const {
        const std::int64_t bit = first + i;
        return bits == nullptr || (bits[bit >> 3] >> (bit & 7) & 1) != 0;
    }
};

// Texts one after the other. offsets: n + 1 of them, from that of the first cell.
template <class Offset>
struct TextCells {
    ByteSpan data;
    const char* offsets;
    Validity valid;

    bool states(const Keys& keys, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        return valid.bits == nullptr ? read<false>(keys, cells, n, out) : read<true>(keys, cells, n, out);
    }

private:
    template <bool kMayLack>
    bool read(const Keys& keys, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        const auto offset = [&](std::int64_t cell) {
            return static_cast<std::int64_t>(loaded_from<Offset>(offsets + cell * std::int64_t{sizeof(Offset)}));
        };
        const auto size = static_cast<std::int64_t>(data.size());
        const bool apart = lie_apart(cells, n);
        for (std::int64_t i = 0; i < n; ++i) {
            if (apart && i + kFar < n) {
                __builtin_prefetch(offsets + cells[i + kFar] * std::int64_t{sizeof(Offset)});
                if (const std::int64_t next = offset(cells[i + kNear]); next >= 0 && next < size)
                    __builtin_prefetch(data.data() + next);
            }
            if (kMayLack && !valid.has(cells[i])) {
                out[i] = valid.null;
                continue;
            }
            const std::int64_t start = offset(cells[i]), stop = offset(cells[i] + 1);
            if (start < 0 || stop < start || stop > size) return false;
            out[i] = keys.usual_text({data.data() + start, static_cast<std::size_t>(stop - start)}, data.data() + size);
        }
        return true;
    }
};

// Texts by views of 16 bytes: the length, and then a text of at most 12 bytes, or its first four bytes, the number of
// its buffer and where it begins there.
struct ViewCells {
    const char* views;
    std::int64_t n_views;
    std::span<const ByteSpan> data;
    Validity valid;

    bool states(const Keys& keys, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        const bool apart = lie_apart(cells, n);
        for (std::int64_t i = 0; i < n; ++i) {
            if (apart && i + kFar < n) {
                __builtin_prefetch(views + cells[i + kFar] * 16);
                prefetch_text(views + cells[i + kNear] * 16);
            }
            if (!valid.has(cells[i])) {
                out[i] = valid.null;
                continue;
            }
            const char* const view = views + cells[i] * 16;
            const auto size = loaded_from<std::int32_t>(view);
            if (size < 0) return false;
            const char *text = view + 4, *end = views + n_views * 16;
            if (size > 12) {
                const auto which = loaded_from<std::int32_t>(view + 8), start = loaded_from<std::int32_t>(view + 12);
                if (which < 0 || static_cast<std::size_t>(which) >= data.size() || start < 0) return false;
                const ByteSpan bytes = data[static_cast<std::size_t>(which)];
                if (static_cast<std::size_t>(start) + static_cast<std::size_t>(size) > bytes.size()) return false;
                text = bytes.data() + start;
                end = bytes.data() + bytes.size();
            }
            out[i] = keys.usual_text({text, static_cast<std::size_t>(size)}, end);
        }
        return true;
    }

private:
    void prefetch_text(const char* view) const {
        const auto which = loaded_from<std::int32_t>(view + 8), start = loaded_from<std::int32_t>(view + 12);
        const bool elsewhere = loaded_from<std::int32_t>(view) > 12 && which >= 0 && start >= 0;
        if (elsewhere && static_cast<std::size_t>(which) < data.size() &&
            static_cast<std::size_t>(start) < data[static_cast<std::size_t>(which)].size())
            __builtin_prefetch(data[static_cast<std::size_t>(which)].data() + start);
    }
};

// Texts of NumPy: as many code points of 4 bytes for each, and zeros behind a shorter one, which do not count.
struct WideCells {
    const std::byte* values;
    std::int64_t stride;  // in bytes
    std::int64_t width;   // in code points

    bool states(const Keys& keys, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        constexpr std::size_t kReadable = 16;
        std::vector<char> memory(static_cast<std::size_t>(width) * 4 + kReadable);
        const char* const end = memory.data() + memory.size();
        for (std::int64_t i = 0; i < n; ++i) {
            const std::byte* const from = values + cells[i] * stride;
            std::int64_t length = width;
            while (length > 0 && code_point(from, length - 1) == 0) --length;
            char* to = memory.data();
            for (std::int64_t k = 0; k < length; ++k) {
                const std::uint32_t c = code_point(from, k);
                if (c < 0x80) *to++ = static_cast<char>(c);
                else if (c <= 0x10ffff) to = encoded(c, to);
                else return false;
            }
            out[i] = keys.text({memory.data(), static_cast<std::size_t>(to - memory.data())}, end);
        }
        return true;
    }

private:
    static std::uint32_t code_point(const std::byte* from, std::int64_t k) {
        std::uint32_t c;
        std::memcpy(&c, from + 4 * k, sizeof(c));
        return c;
    }
    // Appends the UTF-8 of a code point that is not ASCII.
    static char* encoded(std::uint32_t c, char* to) {
        const int n_more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        constexpr std::uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
        *to++ = static_cast<char>(first[n_more] | c >> 6 * n_more);
        for (int k = n_more - 1; k >= 0; --k) *to++ = static_cast<char>(0x80 | (c >> 6 * k & 0x3f));
        return to;
    }
};

// Numbers, and booleans as single bytes, with any stride.
template <class T>
struct NumberCells {
    const std::byte* values;
    std::int64_t stride;  // in bytes
    Validity valid;

    bool states(const Keys& keys, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        for (std::int64_t i = 0; i < n; ++i) out[i] = valid.has(cells[i]) ? state(keys, at(cells[i])) : valid.null;
        return true;
    }
    T at(std::int64_t i) const {
        T value;
        std::memcpy(&value, values + i * stride, sizeof(T));
        return value;
    }
    const char* first(std::int64_t i) const { return reinterpret_cast<const char*>(values + i * stride); }
    void prefetch(std::int64_t i) const { __builtin_prefetch(values + i * stride); }

private:
    static std::int32_t state(const Keys& keys, T value) {
        if constexpr (std::is_floating_point_v<T>) return keys.real(value);
        else if constexpr (std::is_unsigned_v<T>) return keys.natural(value);
        else return keys.integer(value);
    }
};

// Codes of the entries of a dictionary, whose states are known. `entries[0]` is that of the code `lowest`.
template <class T>
struct CodeCells {
    NumberCells<T> codes;
    std::span<const std::int32_t> entries;
    std::int64_t lowest;

    bool states(const Keys&, const std::int64_t* cells, std::int64_t n, std::int32_t* out) const {
        const Validity& valid = codes.valid;
        const bool apart = lie_apart(cells, n);
        for (std::int64_t i = 0; i < n; ++i) {
            if (apart && i + kFar < n) codes.prefetch(cells[i + kFar]);
            const std::uint64_t entry = entry_of(codes.at(cells[i]));
            if (!valid.has(cells[i])) {
                out[i] = valid.null;
            } else {
                if (entry >= entries.size()) return false;
                out[i] = entries[entry];
            }
        }
        return true;
    }

    // out[i] = the value of the state of cell first + i, for n cells; `met` gains the flags of these states. False if
    // bits say which cells are there, or if a code is none of the entries.
    bool bytes(std::int64_t first, std::int64_t n, const std::uint8_t* values, const std::uint8_t* flags,
               std::uint8_t* out, std::uint8_t& met) const {
        if (codes.valid.bits != nullptr) return false;
        constexpr std::uint32_t kOutside = 1u << 16;
        const auto of_entry = [&](std::uint64_t entry) -> std::uint32_t {  // the value, and the flags above it
            if (entry >= entries.size()) return kOutside;
            const auto state = static_cast<std::size_t>(entries[entry]);
            return values[state] | std::uint32_t{flags[state]} << 8;
        };
        std::uint32_t found = 0;
        if constexpr (sizeof(T) == 1) {
            std::uint32_t table[256];
            for (std::uint32_t code = 0; code < 256; ++code) table[code] = of_entry(entry_of(static_cast<T>(code)));
            found = looked_up(first, n, [&](T code) { return table[static_cast<std::uint8_t>(code)]; }, out);
        } else {
            std::vector<std::uint32_t> table(entries.size() + 1, kOutside);
            for (std::size_t e = 0; e < entries.size(); ++e) table[e] = of_entry(e);
            const auto* const at = table.data();
            const std::uint64_t last = entries.size();
            found = looked_up(first, n, [&](T code) { return at[std::min(entry_of(code), last)]; }, out);
        }
        met |= static_cast<std::uint8_t>(found >> 8);
        return (found & kOutside) == 0;
    }

private:
    std::uint64_t entry_of(T code) const {
        return static_cast<std::uint64_t>(code) - static_cast<std::uint64_t>(lowest);
    }
    template <class Of>
    std::uint32_t looked_up(std::int64_t first, std::int64_t n, const Of& of, std::uint8_t* out) const {
        std::uint32_t found = 0;
        const auto each = [&](std::int64_t i, T code) {
            const std::uint32_t value = of(code);
            out[i] = static_cast<std::uint8_t>(value);
            found |= value;
        };
        if (codes.stride == static_cast<std::int64_t>(sizeof(T)))
            for (std::int64_t i = 0; i < n; ++i)
                each(i, loaded_from<T>(codes.first(first) + i * std::int64_t{sizeof(T)}));
        else
            for (std::int64_t i = 0; i < n; ++i) each(i, codes.at(first + i));
        return found;
    }
};

}  // namespace wald::columns
