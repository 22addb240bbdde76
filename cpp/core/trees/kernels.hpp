// The hot loop of regression trees, as a table that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

// Trees as arrays of splits and leaves; see forest.hpp. Two panels of rows share the load of a split.
inline constexpr int kForestRows = 2 * kLanes<float>;
struct ForestView {
    struct Split {
        float threshold;
        std::int32_t feature;
        std::uint32_t left;  // leaves of its left subtree, which rows above the threshold do not reach
    };
    struct Tree {
        std::int32_t first_split, last_split, first_leaf;  // the range of splits excludes the last
    };
    const Split* splits;
    const Tree* trees;
    const double* values;
    std::int32_t n_trees;
};

struct ForestKernels {
    // Adds to sums[row] the values of the leaves of kForestRows rows, x [feature][row], tree by tree.
    void (*add)(const ForestView&, const float* x, double* sums);
};

const ForestKernels& forest_kernels();  // the table in use; see isa/dispatch.cpp

}  // namespace wald
