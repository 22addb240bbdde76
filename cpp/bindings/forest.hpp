// Boosted trees, as scikit-learn fits them. Everything is checked here.
#pragma once

#include <algorithm>
#include <cmath>

#include "../core/forest.hpp"
#include "chain.hpp"

namespace wald::bindings {

// Trees one behind the other, tree t with nodes ends[t] to ends[t + 1], the root first. left and right count within the tree, and
// point ahead; both are 0 at a leaf.
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
        require(a.left.size() == n && a.right.size() == n && a.threshold.size() == n && a.value.size() == n, "a forest's arrays must have one entry per node");
        require(a.ends.size() >= 1 && a.ends.data()[0] == 0 && a.ends.data()[a.ends.size() - 1] == static_cast<std::int64_t>(n), "ends must lead from 0 to the number of nodes");
        require(n < (std::size_t{1} << 30) && a.n_features >= 1 && a.n_features < (std::int64_t{1} << 31), "a forest this large");
        require(std::isfinite(a.base), "base must be finite");
        for (std::size_t t = 0; t + 1 < a.ends.size(); ++t) {
            require(a.ends.data()[t] < a.ends.data()[t + 1] && a.ends.data()[t + 1] <= static_cast<std::int64_t>(n), "every tree needs a node");
            const std::int32_t root = forest_.add();
            forest_.add_tree({root, grow(a, a.ends.data()[t], a.ends.data()[t + 1] - a.ends.data()[t], root)});
        }
    }

    nb::ndarray<nb::numpy, double> operator()(const FloatMatrix& rows) const {
        require(static_cast<std::int64_t>(rows.shape(1)) == n_features_, "rows with another number of features than the forest's");
        require(all_finite(rows.data(), rows.size()), "rows must be finite");
        auto out = new_array<double>({rows.shape(0)});
        nb::gil_scoped_release release;
        forest_(rows.data(), static_cast<std::int64_t>(rows.shape(0)), n_features_, out.data());
        return out;
    }

private:
    // Copies a tree whose root has a place already; its depth. Every node is reached once: a child has one parent, before it.
    std::int32_t grow(const ForestArrays& a, std::int64_t first, std::int64_t n, std::int32_t root) {
        struct Todo {
            std::int64_t from;
            std::int32_t to, depth;
        };
        std::vector<Todo> todo{{0, root, 0}};
        std::vector<bool> reached(static_cast<std::size_t>(n));
        std::int32_t deepest = 0;
        while (!todo.empty()) {
            const auto [from, to, depth] = todo.back();
            todo.pop_back();
            require(!reached[static_cast<std::size_t>(from)], "a node has two parents");
            reached[static_cast<std::size_t>(from)] = true;
            deepest = std::max(deepest, depth);
            const std::int64_t left = a.left.data()[first + from], right = a.right.data()[first + from];
            if (left == 0 && right == 0) {
                require(std::isfinite(a.value.data()[first + from]), "values must be finite");
                forest_.value(to) = a.value.data()[first + from];
                continue;
            }
            require(left > from && left < n && right > from && right < n, "children must lie behind their parent, in the same tree");
            const std::int32_t feature = a.feature.data()[first + from];
            require(feature >= 0 && feature < n_features_, "a feature that rows do not have");
            const double threshold = a.threshold.data()[first + from];
            require(!std::isnan(threshold), "thresholds must not be NaN");
            const std::int32_t left_to = forest_.add(), right_to = forest_.add();
            forest_.node(to) = {below(threshold), feature, left_to};
            todo.push_back({left, left_to, depth + 1});
            todo.push_back({right, right_to, depth + 1});
        }
        return deepest;
    }
    // The largest float that is at most x: a float is at most one exactly if it is at most the other.
    static float below(double x) {
        if (x >= static_cast<double>(std::numeric_limits<float>::max())) return std::numeric_limits<float>::max();
        if (x < -static_cast<double>(std::numeric_limits<float>::max())) return -std::numeric_limits<float>::infinity();
        const float near = static_cast<float>(x);
        return static_cast<double>(near) <= x ? near : std::nextafter(near, -std::numeric_limits<float>::infinity());
    }

    std::int64_t n_features_;
    Forest forest_;
};

inline void bind_forest(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundForest>(m, "Forest")
        .def("__init__", [](BoundForest* self, double base, Longs ends, Indices feature, Doubles threshold, Indices left, Indices right, Doubles value,
                            std::int64_t n_features) { new (self) BoundForest({base, ends, feature, left, right, threshold, value, n_features}); },
             nb::kw_only(), "base"_a, "ends"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
             "value"_a.noconvert(), "n_features"_a)
        .def("__call__", &BoundForest::operator(), "rows"_a.noconvert());
}

}  // namespace wald::bindings
