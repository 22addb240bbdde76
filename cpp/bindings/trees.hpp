// Tree ensembles from Python: arrays of nodes and leaves, checked and packed.
#pragma once

#include "bindings/models.hpp"
#include "core/trees/check.hpp"

namespace wald::bindings {

using Words = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void check_order(std::span<const std::int64_t> order, std::int64_t n_trees) {
    std::vector<bool> seen(static_cast<std::size_t>(n_trees));
    for (const std::int64_t t : order) {
        if (t < 0 || t >= n_trees || seen[t]) throw nb::value_error("order must name trees, each once");
        seen[t] = true;
    }
}

inline Model tree_model(std::int64_t n_features, Longs order, Longs first_node, Longs first_leaf, Indices feature,
                        Doubles threshold, Indices left, Indices right, Bytes nan_left, Indices categories,
                        Longs first_bit_word, Indices n_categories, Bytes other_left, Words bits, Doubles leaves,
                        Indices output, Indices structure, Doubles base, Doubles bias, double scale, double divisor,
                        std::optional<Bytes> zero_is_missing, double missing, bool f32_rows, bool f32_sums,
                        bool absent_is_missing, bool truncates, bool refuses_nan, bool refuses_infinity) {
    TreesSpec s;
    s.n_features = n_features;
    s.first_node = span_of(first_node);
    s.first_leaf = span_of(first_leaf);
    s.feature = span_of(feature);
    s.threshold = span_of(threshold);
    s.left = span_of(left);
    s.right = span_of(right);
    s.nan_left = span_of(nan_left);
    s.categories = span_of(categories);
    s.first_bit_word = span_of(first_bit_word);
    s.n_categories = span_of(n_categories);
    s.other_left = span_of(other_left);
    s.bits = span_of(bits);
    s.leaves = span_of(leaves);
    s.output = span_of(output);
    s.structure = span_of(structure);
    s.base = span_of(base);
    s.bias = span_of(bias);
    s.scale = scale;
    s.divisor = divisor;
    s.truncates = truncates;
    s.refuses_nan = refuses_nan;
    s.refuses_infinity = refuses_infinity;
    s.zero_is_missing = span_of(zero_is_missing);
    s.missing = missing;
    s.f32_rows = f32_rows;
    s.f32_sums = f32_sums;
    s.absent_is_missing = absent_is_missing;
    require(n_features >= 1 && n_features <= kMaxFeatures, "n_features must lie in [1, 2^31)");
    require(base.size() >= 1 && base.size() <= kMaxClasses, "base needs one entry per output, at most 10 000");
    require(feature.size() + leaves.size() < (std::size_t{1} << 27), "there must be fewer than 2^27 nodes and leaves");
    const Unlocked unlocked;
    try {
        check_trees(s);
        check_order(span_of(order), s.n_trees());
        const std::shared_ptr<const PackedTrees> packed = pack(s, span_of(order));
        return {packed, packed};
    } catch (const std::invalid_argument& error) {
        throw nb::value_error(error.what());
    }
}

// The same trees in another order.
inline Model reordered(const Model& model, Longs order) {
    require(model.trees != nullptr, "only tree ensembles can be reordered");
    check_order(span_of(order), model.trees->n_trees());
    const std::shared_ptr<const PackedTrees> packed = model.trees->reordered(span_of(order));
    return {packed, packed};
}

inline nb::object leaves(const Model& model, BoundRows& b, int n_threads) {
    require(model.trees != nullptr, "only tree ensembles have leaves");
    check_rows(b, model.packed->shape());
    for (const Column& c : b.columns) require(c.data != nullptr || b.size() == 0, "leaves need every column");
    auto found =
        new_array<std::int32_t>({static_cast<std::size_t>(b.size()), static_cast<std::size_t>(model.n_terms())});
    {
        const Unlocked unlocked;
        model.trees->leaves(b.view(), b.id_data(), b.size(), n_threads, found.data());
    }
    return nb::cast(found);
}

inline void bind_trees(nb::class_<Model>& model) {
    using namespace nb::literals;
    model.def_static("trees", &tree_model, nb::kw_only(), "n_features"_a, "order"_a.noconvert(), "first_node"_a,
                     "first_leaf"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a, "nan_left"_a, "categories"_a,
                     "first_bit_word"_a, "n_categories"_a, "other_left"_a, "bits"_a, "leaves"_a, "output"_a,
                     "structure"_a, "base"_a, "bias"_a, "scale"_a, "divisor"_a, "zero_is_missing"_a.none(), "missing"_a,
                     "f32_rows"_a, "f32_sums"_a, "absent_is_missing"_a, "truncates"_a, "refuses_nan"_a,
                     "refuses_infinity"_a,
                     R"doc(Pack a tree ensemble.

Parameters
----------
n_features : int
order : int64 ndarray
    The trees of early stages, in the plan's order.
first_node : int64 ndarray of shape (n_structures + 1,)
    Structure s has the nodes ``first_node[s]`` to ``first_node[s + 1]``.
first_leaf : int64 ndarray of shape (n_trees + 1,)
    Tree t has the leaves ``first_leaf[t]`` to ``first_leaf[t + 1]``.
feature : int32 ndarray of shape (n_nodes,)
threshold : float64 ndarray of shape (n_nodes,)
    A row goes to the left if ``x[feature] <= threshold``.
left, right : int32 ndarray of shape (n_nodes,)
    Nodes of the same structure, behind their parent; leaf k is ``~k``.
nan_left : uint8 ndarray of shape (n_nodes,)
    Whether NaN goes to the left.
categories : int32 ndarray of shape (n_nodes,)
    The node's set of categories, which replaces its threshold, or -1.
first_bit_word : int64 ndarray of shape (n_sets,)
n_categories : int32 ndarray of shape (n_sets,)
other_left : uint8 ndarray of shape (n_sets,)
    Whether negative numbers and categories beyond the set go to the left.
bits : uint32 ndarray
    A set bit sends its category to the left.
leaves : float64 ndarray of shape (n_leaves,)
output : int32 ndarray of shape (n_trees,)
    The output that a tree is added to.
structure : int32 ndarray of shape (n_trees,)
    The structure of each tree; trees may share one.
base, bias : float64 ndarray of shape (n_outputs,)
scale, divisor : float
    An output is ``(base + leaves, tree by tree) * scale / divisor + bias``.
zero_is_missing : uint8 ndarray of shape (n_features,) or None
    Whether values of at most 1e-35 in size count as NaN.
missing : float
    A value that counts as NaN; NaN: none.
f32_rows : bool
    Round float64 rows to float32 first.
f32_sums : bool
    Add leaves in float32.
absent_is_missing : bool
    Values that CSR rows do not store are NaN instead of 0.
truncates : bool
    Numbers between -1 and 0 are category 0.
refuses_nan, refuses_infinity : bool
    Whether rows that hold such values, in a feature that is read, are not finite.)doc");
    model.def("reordered", &reordered, "order"_a.noconvert(),
              "Return the same tree ensemble with another order of its early stages' trees; nothing is packed again.");
    model.def("leaves", &leaves, "rows"_a, "n_threads"_a,
              nb::sig("def leaves(self, rows: Rows, n_threads: int) -> numpy.typing.NDArray[numpy.int32]"),
              R"doc(Find the leaf of each tree, in the order of the early stages.

Returns
-------
int32 ndarray of shape (n_rows, n_terms)
    Of leaves with the same value, one may stand for all.)doc");
}

}  // namespace wald::bindings
