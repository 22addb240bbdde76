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
    // structure s has the nodes [first_node[s], first_node[s + 1]), tree t the leaves [first_leaf[t], first_leaf[t +
    // 1])
    std::span<const std::int64_t> first_node, first_leaf;
    std::span<const std::int32_t> feature, left, right;
    std::span<const double> threshold;
    std::span<const std::uint8_t> nan_left;
    // -1, or the index of the node's set of categories: the categories whose bit is set go to the left; the bits of set
    // s begin at first_bit_word[s], in words of 32. NaN goes where nan_left says, other numbers where other_left says.
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

    std::int64_t n_trees() const { return static_cast<std::int64_t>(output.size()); }
    std::int64_t n_structures() const { return static_cast<std::int64_t>(first_node.size()) - 1; }
    std::int64_t first_node_of(std::int64_t tree) const { return first_node[structure[tree]]; }
    std::int64_t last_node_of(std::int64_t tree) const { return first_node[structure[tree] + 1]; }
};

// A copy of trees with arrays of its own.
class OwnedTrees {
public:
    explicit OwnedTrees(const TreesSpec& spec) : spec_(spec) {
        own(spec_.first_node, spec_.first_leaf, spec_.feature, spec_.left, spec_.right, spec_.threshold, spec_.nan_left,
            spec_.categories, spec_.first_bit_word, spec_.n_categories, spec_.other_left, spec_.bits, spec_.leaves,
            spec_.output, spec_.structure, spec_.base, spec_.bias, spec_.zero_is_missing);
    }
    const TreesSpec& spec() const { return spec_; }

private:
    template <class... T>
    void own(std::span<const T>&... spans) {
        const auto copy = [&](auto& span) {
            using Value = typename std::remove_reference_t<decltype(span)>::value_type;
            const auto values = std::make_shared<const std::vector<Value>>(span.begin(), span.end());
            span = *values;
            arrays_.push_back(values);
        };
        (copy(spans), ...);
    }

    TreesSpec spec_;
    std::vector<std::shared_ptr<const void>> arrays_;
};

}  // namespace wald
