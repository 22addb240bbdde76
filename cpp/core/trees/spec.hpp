// Decision trees as the readers of tree libraries hand them over: plain arrays, not trusted.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace wald {

// A tree is a structure, which sends a row to a leaf, and a value for each leaf. Trees may share a structure. A node
// sends a row to `left` if x[feature] <= threshold, else to `right`. A child >= 0 is a node of the same structure, a
// child < 0 is the leaf ~child. Node 0 is the root; a structure without nodes is the leaf 0.
struct TreesSpec {
    std::int64_t n_features = 0;
    // Structure s has the nodes from first_node[s] to first_node[s + 1] - 1.
    // Tree t has the leaves from first_leaf[t] to first_leaf[t + 1] - 1.
    std::span<const std::int64_t> first_node, first_leaf;
    std::span<const std::int32_t> feature, left, right;
    std::span<const double> threshold;
    std::span<const std::uint8_t> nan_left;
    // The node's set of categories, which replaces its threshold, or -1. Set s has n_categories[s] bits, in words of 32
    // from bits[first_bit_word[s]] on. A category whose bit is set goes to the left. NaN goes where nan_left says;
    // negative numbers, and numbers from n_categories[s] on, where other_left says.
    std::span<const std::int32_t> categories;
    std::span<const std::int64_t> first_bit_word;
    std::span<const std::int32_t> n_categories;
    std::span<const std::uint8_t> other_left;
    std::span<const std::uint32_t> bits;
    std::span<const double> leaves;
    std::span<const std::int32_t> output, structure;  // of each tree
    // An output is base + leaves, one after the other, then this sum * scale / divisor + bias.
    std::span<const double> base, bias;
    double scale = 1.0, divisor = 1.0;

    // Values that count as NaN: those of at most 1e-35 in size, where zero_is_missing is set (empty: nowhere), and
    // those equal to `missing` (NaN: none).
    std::span<const std::uint8_t> zero_is_missing;
    double missing = std::numeric_limits<double>::quiet_NaN();
    bool f32_rows = false;           // float64 values are rounded to float32 first
    bool f32_sums = false;           // leaves are added in float32
    bool absent_is_missing = false;  // values that CSR rows do not store are NaN, not 0
    bool refuses_nan = false, refuses_infinity = false;
    bool truncates = false;  // numbers in (-1, 0) are category 0

    // Calls use(name, array) for each array of nodes, leaves and sets.
    template <class Use>
    void each_array(const Use& use) {
        use("first_node", first_node), use("first_leaf", first_leaf), use("feature", feature), use("left", left);
        use("right", right), use("threshold", threshold), use("nan_left", nan_left), use("categories", categories);
        use("first_bit_word", first_bit_word), use("n_categories", n_categories), use("other_left", other_left);
        use("bits", bits), use("leaves", leaves), use("output", output), use("structure", structure);
    }

    std::int64_t n_trees() const { return static_cast<std::int64_t>(output.size()); }
    std::int64_t n_structures() const { return static_cast<std::int64_t>(first_node.size()) - 1; }
    std::int64_t first_node_of(std::int64_t tree) const { return first_node[structure[tree]]; }
    std::int64_t last_node_of(std::int64_t tree) const { return first_node[structure[tree] + 1]; }
};

// A copy of trees with arrays of its own.
class OwnedTrees {
public:
    explicit OwnedTrees(const TreesSpec& spec) : spec_(spec) {
        spec_.each_array([&](const char*, auto& array) { own(array); });
        own(spec_.base), own(spec_.bias), own(spec_.zero_is_missing);
    }
    const TreesSpec& spec() const { return spec_; }

private:
    template <class T>
    void own(std::span<const T>& array) {
        const auto values = std::make_shared<const std::vector<T>>(array.begin(), array.end());
        array = *values;
        arrays_.push_back(values);
    }

    TreesSpec spec_;
    std::vector<std::shared_ptr<const void>> arrays_;
};

}  // namespace wald
