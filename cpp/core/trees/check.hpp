// Checks trees that come from outside: every node and leaf is in exactly one place of its tree.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/trees/spec.hpp"

namespace wald {

inline constexpr std::int32_t kMostCategories = 1 << 24;  // float32 holds these numbers exactly

// Throws std::invalid_argument with a message about the first tree that is wrong.
inline void check_trees(const TreesSpec& spec) {
    const auto fail = [](const std::string& message) { throw std::invalid_argument(message); };
    const std::int64_t n_nodes = std::ssize(spec.feature), n_leaves = std::ssize(spec.leaves), n_trees = spec.n_trees();
    const std::int64_t n_sets = std::ssize(spec.n_categories), n_words = std::ssize(spec.bits);
    const auto cut = [&](std::span<const std::int64_t> first, std::int64_t n) {
        if (std::ssize(first) < 2 || first.front() != 0 || first.back() != n) return false;
        for (std::size_t t = 0; t + 1 < first.size(); ++t)
            if (first[t] > first[t + 1]) return false;
        return true;
    };
    if (n_trees < 1) fail("there must be at least one tree");
    if (!cut(spec.first_node, n_nodes) || !cut(spec.first_leaf, n_leaves))
        fail("first_node and first_leaf must ascend from 0 to the numbers of nodes and leaves");
    if (std::ssize(spec.first_leaf) != n_trees + 1 || std::ssize(spec.structure) != n_trees)
        fail("trees need one first_leaf, output and structure each");
    if (std::ssize(spec.left) != n_nodes || std::ssize(spec.right) != n_nodes ||
        std::ssize(spec.threshold) != n_nodes || std::ssize(spec.nan_left) != n_nodes ||
        std::ssize(spec.categories) != n_nodes)
        fail("nodes need one feature, threshold, left, right, nan_left and categories each");
    if (std::ssize(spec.first_bit_word) != n_sets || std::ssize(spec.other_left) != n_sets)
        fail("sets of categories need one first_bit_word, n_categories and other_left each");
    if (n_words > std::numeric_limits<std::int32_t>::max()) fail("there are too many bits of categories");
    for (std::int64_t s = 0; s < n_sets; ++s) {
        if (spec.n_categories[s] < 0 || spec.first_bit_word[s] < 0 || spec.first_bit_word[s] > n_words ||
            (std::int64_t{spec.n_categories[s]} + 31) / 32 > n_words - spec.first_bit_word[s])
            fail("a set of categories lies outside the bits");
        if (spec.n_categories[s] > kMostCategories) fail("a set has more than 2^24 categories");
    }
    if (!spec.zero_is_missing.empty() && std::ssize(spec.zero_is_missing) != spec.n_features)
        fail("zero_is_missing needs one entry per feature");
    for (std::int64_t k = 0; k < n_leaves; ++k)
        if (!std::isfinite(spec.leaves[k])) fail("leaves must be finite");
    if (spec.bias.size() != spec.base.size()) fail("base and bias need one entry per output");
    for (const std::span<const double>& numbers : {spec.base, spec.bias})
        for (double v : numbers)
            if (!std::isfinite(v)) fail("base and bias must be finite");
    if (!std::isfinite(spec.scale) || !std::isfinite(spec.divisor) || spec.divisor == 0)
        fail("scale and divisor must be finite, and divisor not 0");

    for (std::int64_t t = 0; t < n_trees; ++t) {
        const std::string tree = "tree " + std::to_string(t) + ": ";
        if (spec.structure[t] < 0 || spec.structure[t] >= spec.n_structures())
            fail(tree + "its structure is out of range");
        if (spec.output[t] < 0 || spec.output[t] >= std::ssize(spec.base)) fail(tree + "its output is out of range");
        if (spec.first_leaf[t + 1] - spec.first_leaf[t] != spec.last_node_of(t) - spec.first_node_of(t) + 1)
            fail(tree + "it must have one leaf more than nodes");
    }
    std::vector<bool> node_seen, leaf_seen;
    for (std::int64_t s = 0; s < spec.n_structures(); ++s) {
        const std::string tree = "structure " + std::to_string(s) + ": ";
        const std::int64_t first = spec.first_node[s], nodes = spec.first_node[s + 1] - first, leaves = nodes + 1;
        node_seen.assign(static_cast<std::size_t>(nodes), false);
        leaf_seen.assign(static_cast<std::size_t>(leaves), false);
        if (nodes > 0) node_seen[0] = true;
        for (std::int64_t n = 0; n < nodes; ++n) {
            const std::int64_t at = first + n;
            if (spec.feature[at] < 0 || spec.feature[at] >= spec.n_features)
                fail(tree + "a feature is out of range: " + std::to_string(spec.feature[at]));
            if (spec.categories[at] < -1 || spec.categories[at] >= n_sets)
                fail(tree + "its categories are out of range");
            if (spec.categories[at] < 0 && std::isnan(spec.threshold[at])) fail(tree + "a threshold is NaN");
            for (const std::int64_t child : {std::int64_t{spec.left[at]}, std::int64_t{spec.right[at]}}) {
                // A parent comes before its children, so that there is no cycle.
                if (child >= nodes || ~child >= leaves || (child >= 0 && child <= n))
                    fail(tree + "a child is out of range, or comes before its parent");
                std::vector<bool>& seen = child >= 0 ? node_seen : leaf_seen;
                const auto place = static_cast<std::size_t>(child >= 0 ? child : ~child);
                if (seen[place]) fail(tree + "two nodes share a child");
                seen[place] = true;
            }
        }
    }
}

}  // namespace wald
