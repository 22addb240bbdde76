// The difference of two feature vectors, by which weights are changed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/averaged.hpp"

namespace wald::parser {

// A hash map from weights to values.
class Difference {
public:
    void clear() {
        for (const std::uint32_t at : used_) slots_[at] = Slot{};
        used_.clear();
    }
    void add(std::uint32_t index, float value) {
        if (2 * used_.size() >= slots_.size()) grow();
        Slot& s = find(index);
        if (s.index == kNone) {
            s.index = index;
            used_.push_back(place_of(s));
        }
        s.value += value;
    }
    double norm2() const {
        double sum = 0;
        for (const std::uint32_t at : used_) sum += static_cast<double>(slots_[at].value) * slots_[at].value;
        return sum;
    }
    template <class Table>
    void add_to(Averaged<Table>& learned, double step) const {
        for (const std::uint32_t at : used_)
            if (const Slot& s = slots_[at]; s.value != 0) learned.change(s.index, static_cast<float>(step * s.value));
    }

private:
    static constexpr std::uint32_t kNone = 0xffffffffu;  // larger than the index of any weight
    static constexpr int kBits = 13;
    struct Slot {
        std::uint32_t index = kNone;
        float value = 0;
    };
    Slot& find(std::uint32_t index) {
        std::size_t at = (index * 0x9e3779b1u) >> shift_;
        while (slots_[at].index != kNone && slots_[at].index != index) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    std::uint32_t place_of(const Slot& s) const { return static_cast<std::uint32_t>(&s - slots_.data()); }
    void grow() {
        const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        --shift_;
        for (std::uint32_t& at : used_) {
            Slot& s = find(old[at].index);
            s = old[at];
            at = place_of(s);
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(1 << kBits);
    int shift_ = 32 - kBits;
    std::vector<std::uint32_t> used_;
};

}  // namespace wald::parser
