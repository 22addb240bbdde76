// The known categories of a column, and which of them a text or a number equals.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

namespace wald::columns {

// What a cell is: the number of the category that it equals, or n_known + one of these.
enum Other : std::int32_t { kUnknown, kNone, kNan, kNa, kOther, kOthers };

// Each 64-bit half of the product of two numbers depends on all of their bits.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#ifdef __SIZEOF_INT128__
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return (a * b) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

// A hash table with open addressing, at most half full; a quarter where it is small. Up to 16 bytes of a text lie in
// its slot, with its length, so that the two are compared without another access. Longer texts are compared with their
// bytes. Where a text lands depends on a seed that nobody outside knows: rows that are made to collide do not.
class Keys {
public:
    // n: number of categories, all of which are added before the first is looked up.
    Keys(bool texts, std::size_t n, std::uint64_t seed = random_seed())
        : texts_(texts), seeds_{folded_product(seed ^ 0x9e3779b97f4a7c15u, 0xe7037ed1a0b428dbu),
                                folded_product(seed ^ 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u)},
          n_known_(static_cast<std::int32_t>(n)), slots_(std::bit_ceil((n <= kFew ? 4 : 2) * n + 2)),
          mask_(slots_.size() - 1) {}

    static constexpr std::size_t kMostKnown = std::size_t{1} << 30;
    static constexpr std::size_t kLongest = std::numeric_limits<std::uint32_t>::max();  // in bytes

    bool texts() const { return texts_; }
    std::int32_t n_known() const { return n_known_; }
    std::int32_t n_states() const { return n_known_ + kOthers; }
    std::int32_t state(Other other) const { return n_known_ + other; }

    // Add the next category; false if it equals one that is there.
    bool add_text(std::string_view text) {
        const Found found = find(text, text.data() + text.size());
        if (slots_[found.place].state >= 0) return false;
        Slot slot = found.key;
        if (text.size() > kInline) {
            slot.b = bytes_.size();
            bytes_.insert(bytes_.end(), text.begin(), text.end());
        }
        return put(found.place, slot);
    }
    bool add_integer(std::int64_t value) { return add_number(key_of(value)); }
    bool add_real(double value) { return add_number(key_of(value)); }

    // States of cells. Memory can be read up to `end`, which is faster where 16 bytes of a short text can be.
    std::int32_t text(std::string_view text) const { return this->text(text, text.data() + text.size()); }
    std::int32_t text(std::string_view text, const char* end) const {
        if (!texts_) return state(kOther);
        const std::int32_t known = slots_[find(text, end).place].state;
        return known < 0 ? state(kUnknown) : known;
    }
    // The same, faster for a short known text in the slot where it is sought first. Always inlined, as most are.
    [[gnu::always_inline]] std::int32_t usual_text(std::string_view text, const char* end) const {
        if (texts_ && text.size() <= kInline && end - text.data() >= static_cast<std::ptrdiff_t>(kInline)) {
            const Slot key = short_key_of_16(text.data(), text.size());
            const Slot& slot = slots_[mixed(key.a, key.b ^ key.size) & mask_];
            const bool known = slot.state >= 0;
            if ((((slot.a ^ key.a) | (slot.b ^ key.b) | (slot.size ^ key.size)) == 0) & known) return slot.state;
        }
        return this->text(text, end);
    }
    std::int32_t integer(std::int64_t value) const { return number(key_of(value), kUnknown); }
    std::int32_t natural(std::uint64_t value) const { return number(key_of(value), kUnknown); }
    std::int32_t real(double value) const {
        if (value != value) return state(kNan);
        return number(key_of(value), std::isinf(value) ? kOther : kUnknown);
    }

private:
    static constexpr std::size_t kInline = 16;  // bytes
    static constexpr std::size_t kFew = 512;    // their slots stay in the fastest cache

    // Texts of at most 16 bytes: a and b hold them. Longer ones: a is the hash, b where the bytes are. Numbers: a holds
    // the bits, and size says of what.
    struct Slot {
        std::uint64_t a = 0, b = 0;
        std::uint32_t size = 0;
        std::int32_t state = -1;  // -1: empty
    };
    struct Found {
        Slot key;
        std::size_t place;
    };
    enum Bits : std::uint32_t { of_integer, of_natural, of_real };

    template <class T>
    static std::uint64_t loaded(const char* from) {
        T value;
        std::memcpy(&value, from, sizeof(T));
        return value;
    }
    // The bytes of a short text as two numbers, filled up with zeros; with its size they tell it from all others.
    static Slot short_key(const char* p, std::size_t n) {
        Slot key;
        key.size = static_cast<std::uint32_t>(n);
        if constexpr (std::endian::native != std::endian::little) {
            char bytes[kInline] = {};
            if (n > 0) std::memcpy(bytes, p, n);
            key.a = loaded<std::uint64_t>(bytes);
            key.b = loaded<std::uint64_t>(bytes + 8);
        } else if (n > 8) {
            key.a = loaded<std::uint64_t>(p);
            key.b = loaded<std::uint64_t>(p + n - 8) >> 8 * (16 - n);
        } else if (n >= 4) {
            key.a = loaded<std::uint32_t>(p) | loaded<std::uint32_t>(p + n - 4) << 8 * (n - 4);
        } else if (n > 0) {
            key.a = loaded<std::uint8_t>(p) | loaded<std::uint8_t>(p + n / 2) << 8 * (n / 2) |
                    loaded<std::uint8_t>(p + n - 1) << 8 * (n - 1);
        }
        return key;
    }
    // The same without a branch, where 16 bytes can be read.
    static Slot short_key_of_16(const char* p, std::size_t n) {
        if constexpr (std::endian::native != std::endian::little) return short_key(p, n);
        return {loaded<std::uint64_t>(p) & kMasks[n].a, loaded<std::uint64_t>(p + 8) & kMasks[n].b,
                static_cast<std::uint32_t>(n), -1};
    }
    struct Mask {
        std::uint64_t a, b;
    };
    static constexpr auto kMasks = [] {  // the first n bytes
        std::array<Mask, kInline + 1> masks{};
        const auto bytes = [](std::size_t n) { return n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * n) - 1; };
        for (std::size_t n = 0; n <= kInline; ++n) masks[n] = {bytes(n), n < 8 ? 0 : bytes(n - 8)};
        return masks;
    }();
    static std::uint64_t random_seed() {
        static std::random_device random;
        return std::uint64_t{random()} << 32 | random();
    }
    std::uint64_t mixed(std::uint64_t a, std::uint64_t b) const { return folded_product(a ^ seeds_[0], b ^ seeds_[1]); }
    std::uint64_t long_hash(const char* p, std::size_t n) const {
        std::uint64_t h = n;
        for (std::size_t i = 0; i + kInline < n; i += kInline)
            h = mixed(loaded<std::uint64_t>(p + i) ^ h, loaded<std::uint64_t>(p + i + 8));
        return mixed(loaded<std::uint64_t>(p + n - 16) ^ h, loaded<std::uint64_t>(p + n - 8));
    }

    // The slot that holds a text, or the empty one where it would be. `end`: up to where memory can be read.
    Found find(std::string_view text, const char* end) const {
        const std::size_t n = text.size();
        if (n <= kInline) {
            const bool readable = end - text.data() >= static_cast<std::ptrdiff_t>(kInline);
            const Slot key = readable ? short_key_of_16(text.data(), n) : short_key(text.data(), n);
            return {key, place_of(key)};
        }
        Slot key;
        key.a = long_hash(text.data(), n);
        key.size = static_cast<std::uint32_t>(n);
        for (std::size_t i = key.a & mask_;; i = (i + 1) & mask_) {
            const Slot& slot = slots_[i];
            if (slot.state < 0) return {key, i};
            if (slot.a == key.a && slot.size == n && std::memcmp(bytes_.data() + slot.b, text.data(), n) == 0)
                return {key, i};
        }
    }
    // The same for what lies in a slot as a whole.
    std::size_t place_of(const Slot& key) const {
        for (std::size_t i = mixed(key.a, key.b ^ key.size) & mask_;; i = (i + 1) & mask_) {
            const Slot& slot = slots_[i];
            if (slot.state < 0 || (slot.a == key.a && slot.b == key.b && slot.size == key.size)) return i;
        }
    }
    bool put(std::size_t place, Slot slot) {
        slot.state = added_++;
        slots_[place] = slot;
        return true;
    }

    // Equal numbers have one key, whatever their types.
    static Slot number_key(std::uint64_t bits, Bits kind) { return {bits, 0, kind, -1}; }
    static Slot key_of(std::int64_t value) { return number_key(std::bit_cast<std::uint64_t>(value), of_integer); }
    static Slot key_of(std::uint64_t value) { return number_key(value, value >> 63 ? of_natural : of_integer); }
    static Slot key_of(double value) {
        if (value >= -0x1p63 && value < 0x1p63) {
            const auto whole = static_cast<std::int64_t>(value);
            if (static_cast<double>(whole) == value) return key_of(whole);
        } else if (value >= 0x1p63 && value < 0x1p64) {
            return key_of(static_cast<std::uint64_t>(value));
        }
        return number_key(std::bit_cast<std::uint64_t>(value), of_real);
    }
    bool add_number(const Slot& key) {
        const std::size_t place = place_of(key);
        return slots_[place].state < 0 && put(place, key);
    }
    std::int32_t number(const Slot& key, Other otherwise) const {
        if (texts_) return state(kOther);
        const std::int32_t known = slots_[place_of(key)].state;
        return known < 0 ? state(otherwise) : known;
    }

    bool texts_;
    std::uint64_t seeds_[2];
    std::int32_t n_known_, added_ = 0;
    std::vector<Slot> slots_;
    std::size_t mask_;
    std::vector<char> bytes_;  // of long texts
};

}  // namespace wald::columns
