// Scratch memory that a thread keeps between calls, so that repeated predictions allocate nothing.
#pragma once

#include "core/common.hpp"

namespace wald {

class Arena {
public:
    // Frees all arrays taken so far and makes room for `bytes`.
    void reset(std::size_t bytes) {
        if (bytes > memory_.size()) memory_ = Aligned<std::byte>(bytes);
        used_ = 0;
    }
    template <class T>
    static std::size_t bytes(std::int64_t n) {
        return static_cast<std::size_t>(round_up(n * static_cast<std::int64_t>(sizeof(T)), kPanelBytes)) + kPanelBytes;
    }
    // Returns an uninitialised array of n values, followed by one spare panel, so that whole panels can be stored at
    // its end.
    template <class T>
    T* take(std::int64_t n) {
        const std::size_t size = bytes<T>(n);
        if (used_ + size > memory_.size()) throw std::logic_error("wald: scratch memory was sized too small");
        T* p = reinterpret_cast<T*>(memory_.data() + used_);
        used_ += size;
        return p;
    }

private:
    Aligned<std::byte> memory_;
    std::size_t used_ = 0;
};

inline Arena& thread_arena() {
    static thread_local Arena arena;
    return arena;
}

}  // namespace wald
