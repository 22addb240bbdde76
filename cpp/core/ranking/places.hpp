// The estimates around the last of some places.
#pragma once

#include <algorithm>
#include <functional>

#include "core/arena.hpp"

namespace wald {

struct Places {
    float last, next;  // the estimates on the last place, and on the one behind it
};

class PlaceFinder {
public:
    explicit PlaceFinder(std::int64_t capacity) : capacity_(capacity) {}
    std::size_t bytes() const { return Arena::bytes<float>(capacity_); }
    void take(Arena& arena) { sorted_ = arena.take<float>(capacity_); }

    // Of n estimates, more than there are places. Few places are kept in a heap, whose top is the smallest: most
    // estimates are compared with it alone.
    Places of(const float* z, std::int64_t n, std::int64_t places) {
        const std::greater<float> above;
        std::copy_n(z, n, sorted_);
        if (places > kHeapPlaces) {
            std::nth_element(sorted_, sorted_ + places - 1, sorted_ + n, above);
            return {sorted_[places - 1], *std::max_element(sorted_ + places, sorted_ + n)};
        }
        float* const end = sorted_ + places + 1;
        std::make_heap(sorted_, end, above);
        for (std::int64_t i = places + 1; i < n; ++i) {
            if (!(z[i] > sorted_[0])) continue;
            std::pop_heap(sorted_, end, above);
            end[-1] = z[i];
            std::push_heap(sorted_, end, above);
        }
        return {places > 1 ? std::min(sorted_[1], sorted_[2]) : sorted_[1], sorted_[0]};
    }

private:
    static constexpr std::int64_t kHeapPlaces = 32;

    std::int64_t capacity_;
    float* sorted_ = nullptr;
};

}  // namespace wald
