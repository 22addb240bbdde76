// The structured perceptron with a Hamming margin, averaged (Collins, 2002).
#pragma once

#include "chain/examples.hpp"

namespace wald::chain {

class Perceptron {
public:
    explicit Perceptron(Weights start) : learned_(std::move(start)) {}

    // Runs one epoch over the sequences in this order. Returns the number of labels that were wrong given the margin.
    std::int64_t epoch(const Examples& data, std::span<const std::int64_t> order, std::uint64_t number, float margin) {
        std::int64_t wrong = 0;
        for (const std::int64_t sequence : order) {
            give_way();
            data.draw(sequence, number, states_);
            guess_.make(learned_.table, data, sequence, states_, margin);
            wrong += update(data, data.offsets[sequence]);
            learned_.before += 1;
        }
        return wrong;
    }

    const Weights& weights() const { return learned_.table; }
    Weights averaged() const { return learned_.mean(); }

private:
    void add(std::int64_t row, int label, float by) { learned_.change(learned_.table.place(row, label), by); }
    std::int64_t update(const Examples& data, std::int64_t first) {
        std::int64_t wrong = 0;
        const std::int64_t n = guess_.length();
        for (std::int64_t t = 0; t < n; ++t) {
            const int truth = guess_.truth()[t], label = guess_.labels()[t];
            if (truth != label) {
                ++wrong;
                learned_.table.each_input(data.features, first, n, t, states_[t], [&](std::int64_t row, float value) {
                    add(row, truth, value);
                    add(row, label, -value);
                });
            }
            if (t == 0) continue;
            const int before = guess_.truth()[t - 1], from = guess_.labels()[t - 1];
            if (truth == label && before == from) continue;
            add(learned_.table.step_row(before), truth, 1.0f);
            add(learned_.table.step_row(from), label, -1.0f);
        }
        return wrong;
    }

    Averaged<Weights> learned_;
    Guess guess_;
    States states_;
};

}  // namespace wald::chain
