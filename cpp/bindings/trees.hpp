// Tree ensembles from Python: arrays of nodes and leaves, checked and packed.
#pragma once

#include "bindings/models.hpp"
#include "core/trees/check.hpp"

namespace wald::bindings {

inline void check_order(std::span<const std::int64_t> order, std::int64_t n_trees) {
    require_order(order, n_trees, "order must name trees, each once");
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

inline Made<std::int32_t> leaves(const Model& model, BoundRows& b, int n_threads) {
    require(model.trees != nullptr, "only tree ensembles have leaves");
    check_rows(b, model.packed->shape());
    b.require_columns("leaves need every column");
    auto found =
        new_array<std::int32_t>({static_cast<std::size_t>(b.size()), static_cast<std::size_t>(model.n_terms())});
    b.unlocked(n_threads, [&](const RowSet& set) { model.trees->leaves(set, found.data()); });
    return found;
}

inline void bind_trees(nb::class_<Model>& model) {
    using namespace nb::literals;
    model.def_static("trees", &tree_model, "terms"_a, "order"_a.noconvert(),
                     "Pack the attributes of a `wald.models.TreeTerms`, with an order of the trees of early stages.");
    model.def("reordered", &reordered, "order"_a.noconvert(),
              "Return the same tree ensemble with another order of its early stages' trees; nothing is packed again.");
    model.def("leaves", &leaves, "rows"_a, "n_threads"_a,
              "Find the leaf of each tree (n_rows, n_terms); of leaves with the same value, one may stand for all.");
}

}  // namespace wald::bindings
