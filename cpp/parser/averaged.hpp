// Weights that are learned step by step, and their average over all steps.
#pragma once

#include "core/averaged.hpp"
#include "parser/scorer.hpp"

namespace wald::parser {

// The difference of two feature vectors, as a hash map from weights to values.
class Difference {
public:
    void clear() {
        if (++generation_ == 0) slots_.assign(slots_.size(), Slot{}), generation_ = 1;
        used_.clear();
    }
    void add(std::uint32_t index, float value) {
        if (2 * used_.size() >= slots_.size()) grow();
        Slot& s = find(index);
        if (s.generation != generation_) {
            s = {index, generation_, 0};
            used_.push_back(static_cast<std::uint32_t>(&s - slots_.data()));
        }
        s.value += value;
    }
    double norm2() const {
        double sum = 0;
        for (const std::uint32_t at : used_) sum += static_cast<double>(slots_[at].value) * slots_[at].value;
        return sum;
    }
    template <class Visit>
    void each(Visit&& visit) const {
        for (const std::uint32_t at : used_)
            if (slots_[at].value != 0) visit(slots_[at].index, slots_[at].value);
    }

private:
    struct Slot {
        std::uint32_t index = 0, generation = 0;
        float value = 0;
    };
    Slot& find(std::uint32_t index) {
        std::size_t at = (index * 0x9e3779b1u) >> shift_;
        while (slots_[at].generation == generation_ && slots_[at].index != index) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        std::vector<Slot> old = std::move(slots_);
        std::vector<std::uint32_t> used = std::move(used_);
        --shift_;
        slots_.assign(old.size() * 2, Slot{});
        used_.clear();
        for (const std::uint32_t at : used) {
            Slot& s = find(old[at].index);
            s = old[at];
            used_.push_back(static_cast<std::uint32_t>(&s - slots_.data()));
        }
    }
    std::vector<Slot> slots_ = std::vector<Slot>(1 << 13);
    int shift_ = 32 - 13;
    std::uint32_t generation_ = 1;
    std::vector<std::uint32_t> used_;
};

// A table of weights that is averaged over all steps, which weigh the same.
template <class Table>
class Averaged : wald::Averaged<Table> {
public:
    Averaged(int bits, int n) : wald::Averaged<Table>(Table(bits, n)) {}

    using wald::Averaged<Table>::change;
    const Table& weights() const { return this->table; }
    void add(const Difference& difference, double step) {
        difference.each([&](std::uint32_t i, float value) { change(i, static_cast<float>(step * value)); });
    }
    void end_step() { this->before += 1; }
    // The average leaves the first epoch out if there are more: early weights vary most.
    void begin_epoch() {
        if (++epochs_ != 2) return;
        this->before = 0;
        std::fill(this->late.data(), this->late.data() + this->late.size(), 0.0);
    }
    Table mean() const { return wald::Averaged<Table>::mean(std::max(1.0, this->before)); }

private:
    int epochs_ = 0;
};

}  // namespace wald::parser
