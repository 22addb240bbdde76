// What becomes of the characters beyond ASCII, in pages of 256 code points. Whoever owns a `Characters` asks the
// running interpreter for a page when it is first needed, so that no version of Unicode is compiled in.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/common.hpp"

namespace wald {

// Of each code point whether tokens are made of it.
struct TokenPage {
    std::uint64_t bits[4] = {};
    bool operator[](std::uint32_t code) const { return bits[code >> 6 & 3] >> (code & 63) & 1; }
};

// Of each code point the characters that it becomes, in UTF-8. Sixteen bytes follow, which may be read.
struct MapPage {
    std::uint32_t begin[257] = {};
    std::vector<std::uint8_t> bytes;
};

// A text in lower case comes from `str.lower` where that depends on the characters around.
enum class Case : std::uint8_t { as_given, lowered };

// A page that is missing: of the characters of tokens, or of one of the maps.
struct MissingPage {
    enum class Of : std::uint8_t { tokens, map_as_given, map_lowered } of;
    std::uint32_t page;
    friend bool operator==(const MissingPage&, const MissingPage&) = default;
};
inline MissingPage::Of map_of(Case given) {
    return given == Case::lowered ? MissingPage::Of::map_lowered : MissingPage::Of::map_as_given;
}

// Pages are added while other threads read, and never change.
class CharacterPages {
public:
    static constexpr std::uint32_t kPages = 0x110000 / 256;

    const TokenPage* tokens(std::uint32_t code) const { return tokens_[code >> 8].load(std::memory_order_acquire); }
    const MapPage* map(Case given, std::uint32_t code) const {
        return maps_[static_cast<int>(given)][code >> 8].load(std::memory_order_acquire);
    }
    bool has(const MissingPage& missing) const {
        return missing.of == MissingPage::Of::tokens ? tokens(missing.page << 8) != nullptr
                                                     : map(case_of(missing), missing.page << 8) != nullptr;
    }
    void add(const MissingPage& missing, const TokenPage& page) {
        const std::lock_guard lock(mutex_);
        if (has(missing)) return;
        token_pages_.push_back(std::make_unique<const TokenPage>(page));
        tokens_[missing.page].store(token_pages_.back().get(), std::memory_order_release);
    }
    void add(const MissingPage& missing, MapPage page) {
        const std::lock_guard lock(mutex_);
        if (has(missing)) return;
        map_pages_.push_back(std::make_unique<const MapPage>(std::move(page)));
        maps_[static_cast<int>(case_of(missing))][missing.page].store(map_pages_.back().get(),
                                                                      std::memory_order_release);
    }

private:
    static Case case_of(const MissingPage& missing) {
        return missing.of == MissingPage::Of::map_lowered ? Case::lowered : Case::as_given;
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<const TokenPage>> token_pages_;
    std::vector<std::unique_ptr<const MapPage>> map_pages_;
    std::atomic<const TokenPage*> tokens_[kPages] = {};
    std::atomic<const MapPage*> maps_[2][kPages] = {};
};

// The code point that begins at a byte of valid UTF-8, beyond ASCII, and its number of bytes.
struct CodePoint {
    std::uint32_t code;
    int size;
};
inline CodePoint code_point(const std::uint8_t* p) {
    const auto next = [p](int i) { return static_cast<std::uint32_t>(p[i] & 0x3f); };
    if (p[0] < 0xe0) return {(p[0] & 0x1fu) << 6 | next(1), 2};
    if (p[0] < 0xf0) return {(p[0] & 0x0fu) << 12 | next(1) << 6 | next(2), 3};
    return {(p[0] & 0x07u) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4};
}

// Whether a byte of UTF-8 begins a code point.
inline bool begins(std::uint8_t byte) { return (byte & 0xc0) != 0x80; }

}  // namespace wald
