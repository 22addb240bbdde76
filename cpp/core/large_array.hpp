// Zeroed memory for random access, on huge pages where the system provides them and the array is not small.
#pragma once

#include "core/common.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace wald {

template <class T>
class LargeArray {
public:
    LargeArray() = default;
    explicit LargeArray(std::size_t n) : size_(n) {
        if (n > (PTRDIFF_MAX - kPage) / sizeof(T)) throw std::bad_alloc();
        const std::size_t wanted = n * sizeof(T), page = wanted < kSmall ? kPanelBytes : kPage;
        const std::size_t bytes = (wanted + page) / page * page;
        data_ = {static_cast<T*>(::operator new(bytes, std::align_val_t{page})), Delete{page}};
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (page == kPage) (void)madvise(data_.get(), bytes, MADV_HUGEPAGE);  // a hint, which may fail
#endif
        std::memset(static_cast<void*>(data_.get()), 0, bytes);
    }
    LargeArray(const LargeArray& other) : LargeArray(other.size_) {
        if (size_ > 0) std::memcpy(static_cast<void*>(data_.get()), other.data_.get(), size_ * sizeof(T));
    }
    LargeArray(LargeArray&&) = default;
    LargeArray& operator=(LargeArray other) noexcept {
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
    static constexpr std::size_t kPage = std::size_t{1} << 21, kSmall = std::size_t{1} << 18;
    struct Delete {
        std::size_t page = kPanelBytes;
        void operator()(T* p) const noexcept { ::operator delete(p, std::align_val_t{page}); }
    };
    std::unique_ptr<T[], Delete> data_;
    std::size_t size_ = 0;
};

}  // namespace wald
