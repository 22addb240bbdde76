// The hot loop of regression trees, as a table that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

// Trees whose questions strike out leaves; see forest.hpp. Two panels of rows share the reading of a question.
inline constexpr int kForestRows = 2 * kLanes<float>;
struct ForestView {
    struct Question {
        float threshold;
        std::int32_t feature;
        std::uint32_t left;  // leaves on its left, which rows above the threshold do not reach
    };
    struct Tree {
        std::int32_t first_question, last_question, first_leaf;  // up to, but not with, the last
    };
    const Question* questions;
    const Tree* trees;
    const double* values;
    std::int32_t n_trees;
};

struct ForestKernels {
    // Adds to sums[row] the values of the leaves that kForestRows rows, x [feature][row], arrive at.
    void (*add)(const ForestView&, const float* x, double* sums);
};

const ForestKernels& forest_kernels();  // of the instruction set in use; see isa/dispatch.cpp

}  // namespace wald
