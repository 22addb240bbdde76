// The hot loops of decision trees, as tables that each instruction set fills in.
#pragma once

#include "core/common.hpp"

namespace wald {

// Rows are evaluated in panels: kPanelRows bytes of one column, then those of the next. Up to kMaxPanels panels are
// evaluated together, so that the steps of one hide the latency of another's.
inline constexpr int kPanelRows = 64;
inline constexpr int kMaxPanels = 8;
inline constexpr int kTileRows = kMaxPanels * kPanelRows;

// ---- values to bins ------------------------------------------------------------------------------------------------

// Trees compare bins instead of values. A column holds at most kMaxThresholds thresholds of a feature, in ascending
// order. The bin of a value is the number of thresholds that lie below it, minus 128, so that the value is above
// threshold j where its bin is above j - 128. NaN has the highest bin or, in a column of splits that send it to the
// left, the lowest.
inline constexpr int kMaxThresholds = 255;

enum class BinKind : std::uint8_t {
    nan_right,       // the place of a value among thresholds, below NaN
    nan_left,        // the same, above NaN
    nan_both,        // the place among thresholds, below NaN; the next column has the same one, above NaN
    category_split,  // a split on categories
    category_group,  // the first column of a group of splits on categories
    computed,        // the second column of nan_both or a later one of a group, computed with the first
};

struct BinColumn {
    std::int32_t feature;
    std::int32_t first;  // place of its thresholds, see BinsView; or the index of its split or its group
    BinKind kind;
    std::int8_t steps;   // of a binary search among 2^steps - 1 thresholds
    bool apart = false;  // no two thresholds become equal where they are rounded down to float32, and none is denormal
};

// A split on categories sends a value to the left, to bin -1, if the bit of its category is set; else to bin 0.
// Negative numbers and numbers from n_categories on go where `other_left` says.
struct CategorySplit {
    std::int32_t feature;
    std::int32_t first_word, n_categories;
    bool truncates;  // numbers in (-1, 0) are category 0
    bool other_left, nan_left;
};

// Whether a value goes to the left. The function is static, so that each instruction set compiles its own.
template <class X>
static inline bool category_goes_left(const CategorySplit& split, const std::uint32_t* bits, X x) {
    if (x != x) return split.nan_left;
    const X number = x > X(0) ? x : X(0);  // (-1, 0) truncates to category 0; an empty set lacks even this
    if ((split.truncates ? x <= X(-1) : x < X(0)) || number >= static_cast<X>(split.n_categories))
        return split.other_left;
    const auto category = static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
    return bits[split.first_word + (category >> 5)] >> (category & 31) & 1;
}

// Splits of one feature, whose bins stand in neighbouring columns. Bit j of word c says whether split j sends category
// c to the left. The group has a word for each of n_categories categories, as many as its largest split has; then one
// for other numbers, one for numbers in (-1, 0), and one for NaN.
struct CategoryGroup {
    static constexpr int kMaxSplits = 64;
    std::int64_t first_word;
    std::int32_t n_categories, n_splits;
};

// Up to 2^kRegisterSteps - 1 thresholds of a column are padded with infinity to 2^kRegisterSteps values, which fill two
// AVX-512 registers. Longer lists of thresholds, padded to 2^steps values, follow 2^kRegisterSteps separators: the
// values that the first kRegisterSteps steps of the search compare. Behind the float ones stand the 32, 64 and 128
// values that each later step compares, in the order of the places that the steps before it find.
template <class X>
inline constexpr int kRegisterSteps = sizeof(X) == 4 ? 5 : 4;

template <class X>
struct BinsView {
    const BinColumn* columns;
    const X* thresholds;
    const CategorySplit* category_splits;
    const std::uint32_t* category_bits;  // of the splits
    const CategoryGroup* category_groups;
    const std::uint64_t* group_words;
    // The same columns for thresholds that are rounded down to float32.
    const BinColumn* rounded_columns;
    const float* rounded_thresholds;
};

// Neighbouring features, at most kBlock of them, and the columns whose bins are computed from them.
inline constexpr int kBlock = 16;
struct BinBlock {
    std::int32_t first_feature, width, first_column, last_column;
};

// Which values count as NaN: those equal to `missing`, if it is not NaN itself; and values of at most kTiny in size of
// the features for which zero_is_missing is set (null: of none).
struct MissingRule {
    static constexpr double kTiny = 1.0000000180025095e-35;  // float 1e-35, as LightGBM has it
    double missing;
    const std::uint8_t* zero_is_missing;
    explicit operator bool() const { return missing == missing || zero_is_missing != nullptr; }
};

// Values that a model refuses.
struct Refused {
    bool nan, infinity;
    explicit operator bool() const { return nan || infinity; }
};

// What happens to values on their way to bins.
struct ValueRules {
    MissingRule missing;
    Refused refused;
};

// The rows of a panel, where the values of a row lie side by side.
struct PanelRows {
    Dtype dtype;  // float64 if bins are of float64 values, else any
    const std::byte* rows[2 * kPanelRows];
    int n, n_known;  // rows [0, n) are read now, rows [n, n_known) next; entries are valid up to a multiple of 16
    bool whole;      // prefetch all cache lines from the first to the last block of a row, not only those of blocks
    bool is_first;   // these rows have not been prefetched
};

template <class X>
struct BinKernels {
    // Computes the bins of columns [first, last) for a panel: the values of feature f stand at values[(f - base) *
    // kPanelRows], and are changed where they count as NaN. Rows with a refused value are marked: refused[row] |= 1.
    void (*bin)(const BinsView<X>&, int first, int last, X* values, std::int32_t base, const ValueRules&, int n,
                std::uint8_t* refused, std::int8_t* bins);
    // The same for n neighbouring panels of values of one feature that stay as they are: no value counts as NaN or is
    // refused. The bins of a panel stand panel_bytes after those of the panel before.
    void (*bin_panels)(const BinsView<X>&, int first, int last, const X* values, int n, std::int64_t panel_bytes,
                       std::int8_t* bins);
    // Computes the bins of a panel from blocks of its rows, by the same rules.
    void (*bin_rows)(const BinsView<X>&, const BinBlock* blocks, int n_blocks, const PanelRows&, const ValueRules&,
                     std::uint8_t* refused, std::int8_t* bins);
};

template <class X>
const BinKernels<X>& bin_kernels();  // the table in use; see isa/dispatch.cpp

// ---- bins to leaves ------------------------------------------------------------------------------------------------

// The leaves of a tree are numbered as TreeLayout says, and every row starts at leaf 0. A node has a step, which moves
// rows from `leaf`, the first leaf below the node, to `to`, the first one below the child whose leaves come second, if
// their bin, with the bits of `flip` inverted, is above `bin`. All but the column are bytes, repeated four times.
struct Step {
    std::uint32_t column;  // place of its bins in a panel
    std::uint32_t bin, leaf, to, flip;
};

// A chain is a path downwards of up to kLongestChain nodes whose steps have the same leaf, so that one comparison tells
// the rows of all: rows that a node does not move stay for the next one below. Steps of a chain stand side by side, the
// lowest node first: rows that several of them would move go where the highest one says. The lowest has no `flip`.
inline constexpr int kLongestChain = 3;

enum class LeafKind : std::uint8_t {
    single,  // a leaf has one value
    vector,  // a leaf has a value for each of the tree's outputs, side by side
    hot,     // a leaf has a value for one of the outputs only, the others are 0
};

inline constexpr int kMaxStepLeaves = 256;  // a tree with more leaves is cut

struct Tree {
    // Steps [first_step, first_pair) are chains of three, those up to first_alone chains of two, the rest are alone.
    // Chains stand behind those of the nodes above them.
    std::int32_t first_step, first_pair, first_alone, last_step;
    std::int32_t first_exit;               // of a tree that is cut: see TreesView
    std::int32_t first_leaf, n_leaves;     // place of its leaves' values, see SumTables
    std::int32_t first_output, n_outputs;  // in TreesView::outputs
    LeafKind kind;
    bool oblivious;  // its steps are levels: a row's leaf is the sum of `to` over the levels at which it goes right
};

// The steps of a tree that is cut lead rows to its exits, the places of the cut; walks lead from there down to the
// leaves. Exit e is exits[first_exit + e]: a node or, below 0, the leaf ~exit.
struct TreesView {
    const Step* steps;
    const Tree* trees;
    const std::int32_t* exits;
    const std::int32_t* outputs;
};

// walk() follows n rows of a tile, from row `first` on, down to leaves: at[i] is a node or ~leaf, and becomes ~leaf.
struct Walks {
    void (*walk)(const void* rows, int first, int n, std::int32_t* at);
    const void* rows;
};

// What leaves add to sums, of which each output has n_sums. Leaf i of a tree adds to sum s, by the tree's kind:
// - single: values[first_leaf * n_sums + s * n_leaves + i];
// - vector, for output o of the tree: values[(first_leaf + i * n_outputs + o) * n_sums + s];
// - hot, for the output hot_outputs[first_leaf + i] only: hot[(first_leaf + i) * n_sums + s].
template <class V>
struct SumTables {
    const V *values, *hot;
    const std::int32_t* hot_outputs;
    int n_sums;
};

// A tile of n <= kTileRows rows: the bins of its panels, each of panel_bytes, and the rows themselves for walks.
struct Tile {
    const std::int8_t* bins;
    std::int64_t panel_bytes;
    int n;
    Walks walks;
};

struct TreeKernels {
    int longest_chain;  // nodes of a chain: kLongestChain or, where chains save no time, 1
    // Trees [first, last): adds each row's leaf to sums[output * n_sums + s][row], tree by tree.
    void (*add_tables)(const TreesView&, const SumTables<float>&, int first, int last, const Tile&, float* const* sums);
    // The same where each output has one sum, in double or in float precision.
    void (*add)(const TreesView&, const SumTables<double>&, int first, int last, const Tile&, double* const* sums);
    void (*add_f32)(const TreesView&, const SumTables<float>&, int first, int last, const Tile&, float* const* sums);
    // Stores each row's leaf at leaves[(t - first) * kTileRows + row].
    void (*leaves)(const TreesView&, int first, int last, const Tile&, std::int32_t* leaves);
};

const TreeKernels& tree_kernels();

// ---- estimates -----------------------------------------------------------------------------------------------------

struct EstimateKernels {
    // to[row] = bias + weights[j] * values[j][row] for j = 0 .. m - 1, one after the other. Whole registers of rows are
    // read and written.
    void (*mix)(float bias, const float* const* values, const float* weights, int m, int n, float* to);
    // values[row] becomes origin + (values[row] - origin) / sqrt(max(variances[row], least)). Whole registers are read
    // and written.
    void (*standardize)(const float* variances, float least, float origin, int n, float* values);
    // The class with the largest score of each row, and its distance to the second; NaN where a score is NaN. Score k
    // of row i is scores[k * stride + i]; whole registers are written.
    void (*best_of)(const float* scores, std::int64_t stride, int n_classes, int n, std::int32_t* codes, float* gaps);
};

const EstimateKernels& estimate_kernels();

}  // namespace wald
