// Shared by the whole C++ core: row dtypes, memory aligned to cache lines, a test for finite values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wald {

inline constexpr std::size_t kPanelBytes = 64;  // one cache line, one AVX-512 register
template <class T>
inline constexpr int kLanes = static_cast<int>(kPanelBytes / sizeof(T));

enum class Dtype : std::uint8_t { f32, f64, u8 };
inline constexpr std::int64_t bytes_of(Dtype dtype) { return dtype == Dtype::f32 ? 4 : dtype == Dtype::f64 ? 8 : 1; }

inline constexpr std::int64_t divided_up(std::int64_t n, std::int64_t divisor) { return (n + divisor - 1) / divisor; }
inline constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

// Whether all values are finite. Branch-free, so that it runs at the speed of memory.
inline bool all_finite(const float* values, std::size_t n) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto exponent = std::bit_cast<std::uint32_t>(values[i]) & 0x7f800000u;
        bad |= exponent == 0x7f800000u ? 1u : 0u;
    }
    return bad == 0;
}

struct AlignedDelete {
    void operator()(void* p) const noexcept { ::operator delete(p, std::align_val_t{kPanelBytes}); }
};

// Allocates on a cache-line boundary.
template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{kPanelBytes})); }
    void deallocate(T* p, std::size_t) { AlignedDelete{}(p); }
    friend bool operator==(LineAllocator, LineAllocator) { return true; }
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// A zeroed array on a cache-line boundary.
template <class T>
class Aligned {
public:
    Aligned() = default;
    explicit Aligned(std::size_t n) : size_(n) {
        if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
        data_.reset(static_cast<T*>(::operator new(n * sizeof(T) + kPanelBytes, std::align_val_t{kPanelBytes})));
        std::memset(static_cast<void*>(data_.get()), 0, n * sizeof(T) + kPanelBytes);
    }
    Aligned(const Aligned& other) : Aligned(other.size_) {
        if (size_ > 0) std::memcpy(static_cast<void*>(data_.get()), other.data_.get(), size_ * sizeof(T));
    }
    Aligned(Aligned&&) = default;
    Aligned& operator=(Aligned other) noexcept {
        data_ = std::move(other.data_);
        size_ = other.size_;
        return *this;
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

private:
    std::unique_ptr<T[], AlignedDelete> data_;
    std::size_t size_ = 0;
};

}  // namespace wald
