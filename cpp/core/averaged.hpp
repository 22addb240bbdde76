// Weights that are learned step by step, and their average over all steps.
#pragma once

#include <algorithm>

#include "core/large_array.hpp"

namespace wald {

// A learner chooses the weight of each step in the average. A change is missing from the weights of all earlier steps.
template <class Table>
struct Averaged {
    Table table;  // with an array of `values`
    LargeArray<double> late;
    double before = 0;  // total weight of all earlier steps

    explicit Averaged(Table start) : table(std::move(start)), late(table.values.size()) {}

    void change(std::size_t i, float by) {
        table.values[i] += by;
        late[i] += before * static_cast<double>(by);
    }
    // Leaves all earlier steps out of the average.
    void restart() {
        before = 0;
        std::fill_n(late.data(), late.size(), 0.0);
    }
    // `all`: total weight of all steps.
    Table mean(double all) const {
        Table out = table;
        all = std::max(1.0, all);
        for (std::size_t i = 0; i < late.size(); ++i) out.values[i] = static_cast<float>(out.values[i] - late[i] / all);
        return out;
    }
    Table mean() const { return mean(before); }
};

}  // namespace wald
