// Cells of a column in the memory of another library, and their states. Each form reads a block of cells at a time, and
// returns false if an offset or a code of them points outside: other libraries wrote these, and nobody has seen them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/columns/keys.hpp"

namespace wald::columns {

using ByteSpan = std::span<const char>;

template <class T>
inline T loaded_from(const char* at) {  // Arrow recommends aligned memory, and does not demand it
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

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

    bool states(const Keys& keys, std::int64_t begin, std::int64_t n, std::int32_t* out) const {
        return valid.bits == nullptr ? read<false>(keys, begin, n, out) : read<true>(keys, begin, n, out);
    }

private:
    template <bool kMayLack>
    bool read(const Keys& keys, std::int64_t begin, std::int64_t n, std::int32_t* out) const {
        const auto offset = [&](std::int64_t i) {
            return static_cast<std::int64_t>(loaded_from<Offset>(offsets + (begin + i) * std::int64_t{sizeof(Offset)}));
        };
        const auto size = static_cast<std::int64_t>(data.size());
        std::int64_t start = offset(0);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t stop = offset(i + 1);
            if (kMayLack && !valid.has(begin + i)) {
                out[i] = valid.null;
            } else {
                if (start < 0 || stop < start || stop > size) return false;
                out[i] = keys.text({data.data() + start, static_cast<std::size_t>(stop - start)});
            }
            start = stop;
        }
        return true;
    }
};

// Texts by views of 16 bytes: the length, and then a text of at most 12 bytes, or its first four bytes, the number of
// its buffer and where it begins there.
struct ViewCells {
    const char* views;
    std::span<const ByteSpan> data;
    Validity valid;

    bool states(const Keys& keys, std::int64_t begin, std::int64_t n, std::int32_t* out) const {
        for (std::int64_t i = 0; i < n; ++i) {
            if (!valid.has(begin + i)) {
                out[i] = valid.null;
                continue;
            }
            const char* const view = views + (begin + i) * 16;
            const auto size = loaded_from<std::int32_t>(view);
            if (size < 0) return false;
            const char* text = view + 4;
            if (size > 12) {
                const auto which = loaded_from<std::int32_t>(view + 8), start = loaded_from<std::int32_t>(view + 12);
                if (which < 0 || static_cast<std::size_t>(which) >= data.size() || start < 0) return false;
                const ByteSpan bytes = data[static_cast<std::size_t>(which)];
                if (static_cast<std::size_t>(start) + static_cast<std::size_t>(size) > bytes.size()) return false;
                text = bytes.data() + start;
            }
            out[i] = keys.text({text, static_cast<std::size_t>(size)});
        }
        return true;
    }
};

// Numbers, and booleans as single bytes, with any stride.
template <class T>
struct NumberCells {
    const std::byte* values;
    std::int64_t stride;  // in bytes
    Validity valid;

    bool states(const Keys& keys, std::int64_t begin, std::int64_t n, std::int32_t* out) const {
        for (std::int64_t i = 0; i < n; ++i) out[i] = valid.has(begin + i) ? state(keys, at(begin + i)) : valid.null;
        return true;
    }
    T at(std::int64_t i) const {
        T value;
        std::memcpy(&value, values + i * stride, sizeof(T));
        return value;
    }

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

    bool states(const Keys&, std::int64_t begin, std::int64_t n, std::int32_t* out) const {
        const Validity& valid = codes.valid;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::uint64_t entry =
                static_cast<std::uint64_t>(codes.at(begin + i)) - static_cast<std::uint64_t>(lowest);
            if (!valid.has(begin + i)) {
                out[i] = valid.null;
            } else {
                if (entry >= entries.size()) return false;
                out[i] = entries[entry];
            }
        }
        return true;
    }
};

}  // namespace wald::columns
