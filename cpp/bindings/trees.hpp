// Tree ensembles from Python: arrays of nodes and leaves, checked and packed.
#pragma once

#include "bindings/models.hpp"
#include "core/trees/check.hpp"

namespace wald::bindings {

inline void check_order(std::span<const std::int64_t> order, std::int64_t n_trees) {
    std::vector<bool> seen(static_cast<std::size_t>(n_trees));
    for (const std::int64_t t : order) {
        if (t < 0 || t >= n_trees || seen[t]) throw nb::value_error("order must name trees, each once");
        seen[t] = true;
    }
}

inline Model tree_model(nb::handle terms, const Longs& order) {
    Fields sums(terms), trees = sums.part("trees");
    TreesSpec s;
    trees.read("n_features", s.n_features);
    s.each_array([&](const char* name, auto& array) { trees.read(name, array); });
    sums.read("base", s.base), sums.read("bias", s.bias), sums.read("scale", s.scale);
    sums.read("divisor", s.divisor), sums.read("missing", s.missing), sums.read("truncates", s.truncates);
    sums.read("f32_rows", s.f32_rows), sums.read("f32_sums", s.f32_sums);
    sums.read("absent_is_missing", s.absent_is_missing);
    sums.read_optional("zero_is_missing", s.zero_is_missing);
    s.refuses_nan = !sums.get<bool>("nan");
    s.refuses_infinity = !sums.get<bool>("infinity");
    require(s.n_features >= 1 && s.n_features <= kMaxFeatures, "n_features must lie in [1, 2^31)");
    require(s.base.size() >= 1 && s.base.size() <= kMaxClasses, "base needs one entry per output, at most 10 000");
    require(s.feature.size() + s.leaves.size() < (std::size_t{1} << 27),
            "there must be fewer than 2^27 nodes and leaves");
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
        const Rows rows = b.view();
        model.trees->leaves(b.set(rows, n_threads), found.data());
    }
    return nb::cast(found);
}

inline void bind_trees(nb::class_<Model>& model) {
    using namespace nb::literals;
    model.def_static("trees", &tree_model, "terms"_a, "order"_a.noconvert(),
                     R"doc(Pack a tree ensemble.

Parameters
----------
terms : object
    The attributes of `wald.models.TreeTerms`, whose `trees` has those of `wald.models.Trees`.
order : int64 ndarray
    The trees of early stages, in the plan's order.)doc");
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
