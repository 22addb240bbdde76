// The hot loops of decision trees, as tables that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

// Rows are evaluated in panels: kPanelRows values of one column, then those of the next.
inline constexpr int kPanelRows = 64;
// Memory is requested so many rows ahead.
inline constexpr int kRowsAhead = 32;

// A split sends a row to the left if x <= threshold. `left` has a bit for every leaf of the left subtree among the 32
// leaves of a word; rows that go to the right cannot reach them.
template <class X>
struct Split {
    X threshold;
    std::int32_t column;
    std::uint32_t left;
};

// A split on categories sends a row to the left if the bit of its category is set. NaN goes where `nan_left` says,
// negative numbers and numbers from n_categories on where `other_left` says.
struct CategorySplit {
    std::int32_t column;
    std::uint32_t left;
    std::int32_t first_bit_word, n_categories;
    bool truncates;  // numbers in (-1, 0) are category 0
    bool other_left, nan_left;
};

// The splits that decide among 32 neighbouring leaves: NaN goes to the left in [first, nan_right), to the right in
// [nan_right, last).
struct LeafWord {
    std::int32_t first, nan_right, last;
    std::int32_t first_category, last_category;
};

// Walks: a node sends a row to the node left() or to the one behind it, or is a leaf.
template <class X>
struct WalkNode {
    X threshold;
    std::int32_t column;  // for a split on categories: ~its index among the category splits
    std::int32_t feature;
    std::int32_t next = -1;  // 2 * left + nan_left; for a leaf, ~its place in the tree

    bool is_leaf() const { return next < 0; }
    std::int32_t place() const { return ~next; }
    std::int32_t left() const { return next >> 1; }
    bool nan_left() const { return (next & 1) != 0; }
};

// The leaves of a tree are numbered from left to right: the first leaf that no split excludes is the row's leaf. A tree
// with more leaves than its words have bits is cut: exit e of its top is the node exits[first_exit + e] of a walk.
struct Tree {
    std::int32_t first_word, n_words;
    std::int32_t first_leaf, stride;  // leaf i has the value leaves[first_leaf + i * stride]
    std::int32_t first_exit;          // -1: the tree is not cut
    std::int32_t root;                // its first node for walks
    std::int32_t output;
    bool repeated;  // a row's leaf has the same place as in the tree before
    bool one_hot;   // each leaf has one value that is not 0: that of hot_leaves[first_leaf + place]; see TreesView
};

// The only value of a leaf that is not 0, and its output.
struct HotLeaf {
    double value;
    std::int32_t output;
};

// Trees as arrays. Leaf values are padded, so that 32 values may be read from a tree's first leaf on. Leaves of several
// values of which at most one is not 0, such as those of a forest grown to pure leaves, may be stored as hot leaves
// instead; only whole groups of repeated trees are then evaluated.
template <class X>
struct TreesView {
    const Split<X>* splits;
    const CategorySplit* category_splits;
    const std::uint32_t* category_bits;
    const LeafWord* words;
    const Tree* trees;
    const WalkNode<X>* nodes;
    const std::int32_t* exits;
    const double* leaves;
    const float* leaves_f32;
    const HotLeaf* hot_leaves;
};

template <class X>
struct TreeKernels {
    // Trees [first, last), rows [0, n) of a panel: adds each row's leaf to sums[output * kPanelRows + row], tree by
    // tree, in double or in float precision.
    void (*add)(const TreesView<X>&, int first, int last, const X* panel, int n, double* sums);
    void (*add_f32)(const TreesView<X>&, int first, int last, const X* panel, int n, float* sums);
    // Stores the leaf of tree t at values[(t - first) * kPanelRows + row].
    void (*values)(const TreesView<X>&, int first, int last, const X* panel, int n, float* values);
    void (*values_f64)(const TreesView<X>&, int first, int last, const X* panel, int n, double* values);
    // The same for one row, x[feature], with sums[output].
    void (*row_add)(const TreesView<X>&, int first, int last, const X* x, double* sums);
    void (*row_add_f32)(const TreesView<X>&, int first, int last, const X* x, float* sums);
    // For t = first .. last - 1: sums[output of tree t * output_stride + s] += weights[t * n_sums + s] * (leaf of tree
    // t) for s < n_sums, a multiple of a panel's lanes.
    void (*row_accumulate)(const TreesView<X>&, int first, int last, const X* x, const float* weights, int n_sums,
                           int output_stride, float* sums);
};

template <class X>
const TreeKernels<X>& tree_kernels();  // the table in use; see isa/dispatch.cpp

// Neighbouring columns of rows, at most 16, and their place in a panel.
struct PanelBlock {
    std::int32_t first, width, column;
};

// Values that a model refuses.
struct Refused {
    bool nan, infinity;
    explicit operator bool() const { return nan || infinity; }
};

struct PanelKernels {
    // Copies blocks of n rows, whose values are neighbours, to a panel. Rows [n, n_known) will be read next. Returns
    // whether each value is exact: a float64 value may not be a float32 number.
    bool (*read)(Dtype, const std::byte* const* rows, int n, int n_known, const PanelBlock* blocks, int n_blocks,
                 float* panel);
    bool (*read_f64)(Dtype, const std::byte* const* rows, int n, int n_known, const PanelBlock* blocks, int n_blocks,
                     double* panel);
    // Copies rows ids[0], ..., ids[n - 1] of a column; `stride` counts the bytes between rows. `neighbours`: these rows
    // follow each other. Row ids[n] will be read next if n_known > n.
    bool (*read_column)(Dtype, const std::byte* from, std::int64_t stride, const std::int64_t* ids, int n, int n_known,
                        bool neighbours, float* to);
    bool (*read_column_f64)(Dtype, const std::byte* from, std::int64_t stride, const std::int64_t* ids, int n,
                            int n_known, bool neighbours, double* to);
    // sums[row] += weights[j] * values[j * stride + row] for j = 0 .. m - 1, one after the other.
    void (*accumulate)(const float* values, std::int64_t stride, const float* weights, int m, int n, float* sums);
    // The same for the values of some columns of a panel only: which[j] * kPanelRows instead of j * stride.
    void (*accumulate_some)(const float* values, const std::int32_t* which, const float* weights, int m, int n,
                            float* sums);
    // The class with the largest score of each row, and its distance to the second; NaN where a score is NaN. Score k
    // of row i is scores[k * kPanelRows + i]; whole registers are written.
    void (*best_of)(const float* scores, int n_classes, int n, std::int32_t* codes, float* gaps);
    // Marks the rows that have a refused value in one of the columns: refused[row] |= 1, for a whole panel.
    void (*mark_refused)(const std::int32_t* columns, int n_columns, Refused, const float* panel,
                         std::uint8_t* refused);
    void (*mark_refused_f64)(const std::int32_t* columns, int n_columns, Refused, const double* panel,
                             std::uint8_t* refused);
};

const PanelKernels& panel_kernels();

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
