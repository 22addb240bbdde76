// Boosted trees of buying policies. The arguments are checked here.
#pragma once

#include <algorithm>
#include <bitset>
#include <cmath>

#include "bindings/arrays.hpp"
#include "core/trees/forest.hpp"

namespace wald::bindings {

// Trees as arrays: tree t has the nodes ends[t] to ends[t + 1], the root first. Children are indices within the tree,
// larger than their parent's; both are 0 at a leaf.
struct ForestArrays {
    double base;
    Longs ends;
    Indices feature, left, right;
    Doubles threshold, value;
    std::int64_t n_features;
};

class BoundForest {
public:
    explicit BoundForest(const ForestArrays& a) : n_features_(a.n_features), forest_(a.base) {
        const std::size_t n = a.feature.size();
        require(a.left.size() == n && a.right.size() == n && a.threshold.size() == n && a.value.size() == n,
                "a forest's arrays must have one entry per node");
        require(a.ends.size() >= 1 && a.ends.data()[0] == 0 &&
                    a.ends.data()[a.ends.size() - 1] == static_cast<std::int64_t>(n),
                "ends must lead from 0 to the number of nodes");
        require(n < (std::size_t{1} << 30) && a.n_features >= 1 && a.n_features < (std::int64_t{1} << 20),
                "a forest this large");
        require(std::isfinite(a.base), "base must be finite");
        for (std::size_t t = 0; t + 1 < a.ends.size(); ++t) {
            require(a.ends.data()[t] < a.ends.data()[t + 1] && a.ends.data()[t + 1] <= static_cast<std::int64_t>(n),
                    "every tree needs a node");
            forest_.add_tree();
            Tree whole{a, a.ends.data()[t], a.ends.data()[t + 1] - a.ends.data()[t], {}, 0};
            require(whole.n < 2 * Forest::kMaxLeaves, "a tree has at most 32 leaves");
            grow(whole, 0);
        }
    }

    nb::ndarray<nb::numpy, double> operator()(const FloatMatrix& rows) const {
        require(static_cast<std::int64_t>(rows.shape(1)) == n_features_,
                "rows with another number of features than the forest's");
        require(all_finite(rows.data(), rows.size()), "rows must be finite");
        auto out = new_array<double>({rows.shape(0)});
        const Unlocked unlocked;
        {
            Forest::Batch batch(forest_, n_features_);
            for (std::size_t i = 0; i < rows.shape(0); ++i) {
                if (i % kForestRows == 0) give_way();
                batch.add(rows.data() + i * rows.shape(1), out.data() + i);
            }
        }
        return out;
    }
    std::int64_t n_features() const { return n_features_; }
    const Forest& forest() const { return forest_; }

private:
    // A tree of n nodes, the first of which is node `first` of all, and its number of leaves so far.
    struct Tree {
        const ForestArrays& a;
        std::int64_t first, n;
        std::bitset<2 * Forest::kMaxLeaves> reached;
        int n_leaves;
    };
    // Adds the subtree of a node; returns its leaves, one bit each. Children lie behind their parent and have one
    // parent only, so that the recursion ends.
    std::uint32_t grow(Tree& tree, std::int64_t node) {
        require(!tree.reached[static_cast<std::size_t>(node)], "a node has two parents");
        tree.reached[static_cast<std::size_t>(node)] = true;
        const std::int64_t at = tree.first + node, left = tree.a.left.data()[at], right = tree.a.right.data()[at];
        if (left == 0 && right == 0) {
            require(std::isfinite(tree.a.value.data()[at]), "values must be finite");
            require(++tree.n_leaves <= Forest::kMaxLeaves, "a tree has at most 32 leaves");
            return forest_.add_leaf(tree.a.value.data()[at]);
        }
        require(left > node && left < tree.n && right > node && right < tree.n,
                "children must lie behind their parent, in the same tree");
        const std::int32_t feature = tree.a.feature.data()[at];
        require(feature >= 0 && feature < n_features_, "a feature that rows do not have");
        const double threshold = tree.a.threshold.data()[at];
        require(!std::isnan(threshold), "thresholds must not be NaN");
        const std::uint32_t on_left = grow(tree, left);
        forest_.add_split(threshold, feature, on_left);
        return on_left | grow(tree, right);
    }

    std::int64_t n_features_;
    Forest forest_;
};

inline void bind_forest(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundForest>(m, "Forest", R"doc(Sums of regression trees, for finite rows.

Parameters
----------
base : float
    The number to which the trees' values are added.
ends : int64 ndarray of shape (n_trees + 1,)
    Tree t has the nodes ``ends[t]`` to ``ends[t + 1]``, the root first.
feature, left, right : int32 ndarray of shape (n_nodes,)
    Children are indices within the tree; both are 0 at a leaf.
threshold, value : float64 ndarray of shape (n_nodes,)
    A row goes left where its feature is at most the threshold.
n_features : int)doc")
        .def(
            "__init__",
            [](BoundForest* self, double base, Longs ends, Indices feature, Doubles threshold, Indices left,
               Indices right, Doubles value, std::int64_t n_features) {
                new (self) BoundForest({base, ends, feature, left, right, threshold, value, n_features});
            },
            nb::kw_only(), "base"_a, "ends"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(),
            "left"_a.noconvert(), "right"_a.noconvert(), "value"_a.noconvert(), "n_features"_a)
        .def("__call__", &BoundForest::operator(), "rows"_a.noconvert(),
             "Sums (n,) for rows (n, n_features) in C order; the values of the trees are added in their order.");
}

}  // namespace wald::bindings
