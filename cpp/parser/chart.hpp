// The tables of Eisner's algorithm, laid out so that every maximum over split points reads two contiguous rows.
#pragma once

#include <cstdint>

namespace wald::parser {

// Six tables of scores of spans over positions 0..n, initially minus infinity, indexed by the ends of the span.
class Chart {
public:
    Chart(float* memory, int n) : memory_(memory), step_(stride(n)), table_((n + 1) * step_) {}
    static std::int64_t stride(int n) { return (n + 1 + 15) / 16 * 16 + 16; }
    static std::int64_t size(int n) { return 6 * (n + 1) * stride(n) + 16; }

    float* right(int i) const { return at(0, i); }       // [i][j] complete, head i, ends at j
    float* right_to(int j) const { return at(1, j); }    // [j][i] the same, transposed
    float* left(int j) const { return at(2, j); }        // [j][i] complete, head j, begins at i
    float* left_from(int i) const { return at(3, i); }   // [i][j] the same, transposed
    float* open_right(int i) const { return at(4, i); }  // [i][j] incomplete, with the arc i -> j
    float* open_left(int j) const { return at(5, j); }   // [j][i] incomplete, with the arc j -> i

private:
    float* at(int table, int row) const { return memory_ + table * table_ + row * step_; }
    float* memory_;
    std::int64_t step_, table_;
};

}  // namespace wald::parser
