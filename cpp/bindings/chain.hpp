// Linear chains: weights, and inference with them. The arguments are checked here.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings/chain_groups.hpp"
#include "chain/inference.hpp"

namespace wald::bindings {

// Weights, and inference with them.
class Chain {
public:
    explicit Chain(chain::Shape shape) : w_(chain::Weights(checked(std::move(shape)))) {}
    explicit Chain(chain::Weights w) : w_(std::move(w)) {}
    const chain::Weights& weights() const { return w_; }

    // The groups as the core reads them; they must have as many features as the model.
    chain::Features features(const ChainGroups& groups, std::int64_t n_parts) const {
        require(static_cast<int>(groups.size()) == w_.n_groups(), "the number of groups differs from the model's");
        chain::Features out;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            require(groups[g] != nullptr && static_cast<std::int64_t>(groups[g]->rows().size()) == n_parts,
                    "groups differ in their number of parts");
            require(groups[g]->n_features() == w_.shape().sizes[g],
                    "a group's number of features differs from the model's");
            out.push_back(groups[g]->rows().data());
        }
        return out;
    }

    // Below, `cheap` (all parts, n_labels) may hold the node scores of parts under the state of the first group alone,
    // as `scores` gives them.

    // Node scores (parts, n_labels) of the chosen sequences under the given states.
    nb::ndarray<nb::numpy, float> scores(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                                         const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                                         int n_threads) const {
        const chain::Sequences x = sequences(groups, states, offsets, chosen, cheap);
        auto out = new_array<float>({n_parts(x), n_labels()});
        const Unlocked unlocked;
        chain::Inference(w_).scores(x, n_threads, out.data());
        return out;
    }

    // Labels (parts,) and scores (sequences,) of the chosen sequences' best paths.
    nb::tuple predict(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                      const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                      int n_threads) const {
        const chain::Sequences x = sequences(groups, states, offsets, chosen, cheap);
        auto labels = new_array<std::int32_t>({n_parts(x)});
        auto best = new_array<float>({x.first.size()});
        {
            const Unlocked unlocked;
            chain::Inference(w_).predict(x, n_threads, labels.data(), best.data());
        }
        return nb::make_tuple(labels, best);
    }

    // Evidence (parts, Evidence::kColumns) for the chosen sequences' answers.
    nb::ndarray<nb::numpy, float> evidence(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                                           const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                                           float scale, int n_threads) const {
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        const chain::Sequences x = sequences(groups, states, offsets, chosen, cheap);
        auto out = new_array<float>({n_parts(x), static_cast<std::size_t>(chain::Evidence::kColumns)});
        const Unlocked unlocked;
        chain::Inference(w_).evidence(x, scale, n_threads, out.data());
        return out;
    }

    nb::tuple decode(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto labels = new_array<std::int32_t>({node.shape(0)});
        auto best = new_array<float>({ends.size() - 1});
        {
            const Unlocked unlocked;
            chain::Inference(w_).decode(node.data(), ends, n_threads, labels.data(), best.data());
        }
        return nb::make_tuple(labels, best);
    }

    // Labels (parts * k,): the k paths of a sequence, one after the other; scores (sequences, k).
    nb::tuple best_paths(const FloatMatrix& node, const Longs& offsets, int k, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(k >= 1 && k <= 1000, "k must lie in [1, 1000]");
        auto labels = new_array<std::int32_t>({node.shape(0) * static_cast<std::size_t>(k)});
        auto best = new_array<float>({ends.size() - 1, static_cast<std::size_t>(k)});
        {
            const Unlocked unlocked;
            chain::Inference(w_).best_paths(node.data(), ends, k, n_threads, labels.data(), best.data());
        }
        return nb::make_tuple(labels, best);
    }

    nb::ndarray<nb::numpy, float> max_marginals(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        const Unlocked unlocked;
        chain::Inference(w_).max_marginals(node.data(), ends, n_threads, out.data());
        return out;
    }

    nb::ndarray<nb::numpy, float> marginals(const FloatMatrix& node, const Longs& offsets, double scale,
                                            int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        const Unlocked unlocked;
        chain::Inference(w_).marginals(node.data(), ends, scale, n_threads, out.data());
        return out;
    }

    // Evidence from the parts' own scores (parts, n_labels): (parts, 2), or (parts, 2 + n_labels) with `every`.
    static nb::ndarray<nb::numpy, float> part_features(const FloatMatrix& node, bool every) {
        const std::size_t K = node.shape(1), width = every ? 2 + K : 2;
        require(K >= 1 && K <= 65536, "n_labels must lie in [1, 65536]");
        auto out = new_array<float>({node.shape(0), width});
        chain::own_evidence_each(node.data(), node.shape(0), static_cast<int>(K), every, out.data());
        return out;
    }

    nb::ndarray<nb::numpy, float> table() const {
        auto out = new_array<float>({static_cast<std::size_t>(w_.n_rows()), n_labels()});
        w_.copy_to(out.data());
        return out;
    }
    void fill(const FloatMatrix& table) {
        require(static_cast<std::int64_t>(table.shape(0)) == w_.n_rows() && table.shape(1) == n_labels(),
                "the table of another chain");
        require(usable(table.data(), n_labels()), "weights must be finite, or rule out labels and leave one");
        w_.copy_from(table.data());
    }
    // Rules out labels (n_labels,) at the beginning of a sequence, and steps (n_labels * n_labels,) from label to
    // label.
    void rule_out(const Bytes& first, const Bytes& steps) {
        const std::size_t K = n_labels();
        require(first.size() == K && steps.size() == K * K, "what is ruled out needs an entry per label, or pair");
        bool some = false;
        for (std::size_t k = 0; k < K; ++k) some |= first.data()[k] == 0 && steps.data()[k * K + k] == 0;
        require(some, "some label must be able to begin a sequence and to follow itself");
        const auto write = [&](std::int64_t row, const std::uint8_t* out) {
            float* const weights = w_.table().data() + row * w_.padded();
            for (std::size_t k = 0; k < K; ++k)
                if (out[k] != 0) weights[k] = -HUGE_VALF;
        };
        write(w_.first_row(), first.data());
        for (std::size_t p = 0; p < K; ++p) write(w_.step_row(static_cast<int>(p)), steps.data() + p * K);
    }
    bool finite() const { return usable(w_.table().data(), static_cast<std::size_t>(w_.padded())); }

private:
    static chain::Shape checked(chain::Shape shape) {
        require(shape.n_labels >= 1 && shape.n_labels <= 65536, "n_labels must lie in [1, 65536]");
        require(!shape.sizes.empty() && shape.sizes.size() <= 5, "there must be 1 to 5 groups");
        std::int64_t rows = shape.n_labels + 18;
        for (std::int64_t s : shape.sizes) {
            require(s >= 0 && s < (std::int64_t{1} << 31), "a group has fewer than 2^31 features");
            rows += s << (shape.own ? shape.sizes.size() - 1 : 0);
        }
        require(rows * round_up(shape.n_labels, kLanes<float>) < (std::int64_t{1} << 33),
                "the weights would take more than 32 GiB");
        return shape;
    }

    // Whether weights, with rows of this width, are finite but for what they rule out, and each sequence has a
    // labelling.
    bool usable(const float* table, std::size_t width) const {
        const auto row = [&](std::int64_t r) { return table + static_cast<std::size_t>(r) * width; };
        bool some = false;
        for (int k = 0; k < w_.n_labels(); ++k)
            some |= std::isfinite(row(w_.first_row())[k]) && std::isfinite(row(w_.step_row(k))[k]);
        for (std::int64_t r = 0; r < w_.n_rows() && some; ++r)
            some = w_.may_rule_out(r) ? all_below_infinity(row(r), width) : all_finite(row(r), width);
        return some;
    }
    static bool all_below_infinity(const float* values, std::size_t n) {  // nor NaN
        std::uint32_t bad = 0;
        for (std::size_t i = 0; i < n; ++i) bad |= values[i] < HUGE_VALF ? 0u : 1u;
        return bad == 0;
    }

    std::size_t n_labels() const { return static_cast<std::size_t>(w_.n_labels()); }
    static std::size_t n_parts(const chain::Sequences& x) { return static_cast<std::size_t>(x.ends.back()); }

    // The chosen sequences; all of them by default.
    chain::Sequences sequences(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                               const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap) const {
        require(!cheap || (cheap->shape(0) == states.size() && cheap->shape(1) == n_labels()),
                "cheap scores of other parts or labels");
        chain::Sequences x{features(groups, static_cast<std::int64_t>(states.size())), states.data(),
                           cheap ? cheap->data() : nullptr};
        const auto all = checked_offsets(offsets, static_cast<std::int64_t>(states.size()));
        const auto n = static_cast<std::int64_t>(all.size()) - 1;
        const auto add = [&](std::int64_t i) {
            x.first.push_back(all[i]);
            x.ends.push_back(x.ends.back() + all[i + 1] - all[i]);
            for (std::int64_t p = all[i]; p < all[i + 1]; ++p) check_part(x, p);
        };
        if (!chosen)
            for (std::int64_t i = 0; i < n; ++i) add(i);
        else
            for (const std::int64_t i : span_of(*chosen)) {
                require(i >= 0 && i < n, "chosen must name sequences");
                add(i);
            }
        return x;
    }
    void check_part(const chain::Sequences& x, std::int64_t part) const {
        require(x.states[part] < w_.n_states(), "states must be made of the groups that there are");
        for (int g = 0; g < w_.n_groups(); ++g)
            require(!chain::Weights::has(x.states[part], g) || x.features[g][part].known(),
                    "a part lacks features that its state has");
    }
    std::span<const std::int64_t> check_nodes(const FloatMatrix& node, const Longs& offsets) const {
        require(static_cast<int>(node.shape(1)) == w_.n_labels(), "node scores need one column per label");
        require(all_below_infinity(node.data(), node.size()), "node scores must be finite, or -infinity");
        return checked_offsets(offsets, static_cast<std::int64_t>(node.shape(0)));
    }

    chain::Weights w_;
};

inline void bind_chain(nb::module_& m) {
    using namespace nb::literals;
    using Pickle = std::tuple<int, std::vector<std::int64_t>, bool, FloatMatrix>;
    bind_chain_groups(m);
    nb::class_<Chain>(m, "Chain", R"doc(Weights of a linear chain, and inference with them; pickles.

Bit k of ``states`` (parts,) tells whether a part has costly group k. ``chosen`` names the sequences to answer for, in
order. ``cheap`` (all parts, n_labels) may hold the node scores of parts without costly groups, as from `scores`.)doc")
        .def(
            "__init__",
            [](Chain* self, int n_labels, std::vector<std::int64_t> sizes, bool own) {
                new (self) Chain(chain::Shape{n_labels, std::move(sizes), own});
            },
            "n_labels"_a, "sizes"_a, "own"_a)
        .def("scores", &Chain::scores, "groups"_a, "states"_a.noconvert(), "offsets"_a.noconvert(),
             "chosen"_a.noconvert().none(), "cheap"_a.noconvert().none(), "n_threads"_a,
             "Node scores (parts, n_labels).")
        .def(
            "predict", &Chain::predict, "groups"_a, "states"_a.noconvert(), "offsets"_a.noconvert(),
            "chosen"_a.noconvert().none(), "cheap"_a.noconvert().none(), "n_threads"_a,
            nb::sig("def predict(self, groups: collections.abc.Sequence[ChainGroup], states: "
                    "numpy.typing.NDArray[numpy.uint8], offsets: numpy.typing.NDArray[numpy.int64], chosen: "
                    "numpy.typing.NDArray[numpy.int64] | None, cheap: numpy.typing.NDArray[numpy.float32] | None, "
                    "n_threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float32]]"),
            "Labels (parts,) and scores (sequences,) of the best paths.")
        .def("decode", &Chain::decode, "node"_a.noconvert(), "offsets"_a.noconvert(), "n_threads"_a,
             nb::sig("def decode(self, node: numpy.typing.NDArray[numpy.float32], offsets: "
                     "numpy.typing.NDArray[numpy.int64], n_threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.float32]]"),
             "Labels (parts,) and scores (sequences,) of the best paths, from node scores.")
        .def("max_marginals", &Chain::max_marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "n_threads"_a,
             "Score (parts, n_labels) of the best path through each label.")
        .def("marginals", &Chain::marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "scale"_a, "n_threads"_a,
             "Probabilities (parts, n_labels) under exp(scale * score).")
        .def("evidence", &Chain::evidence, "groups"_a, "states"_a.noconvert(), "offsets"_a.noconvert(),
             "chosen"_a.noconvert().none(), "cheap"_a.noconvert().none(), "scale"_a, "n_threads"_a,
             "Evidence for the answers (parts, 11); see `ChainSession.evidence`.")
        .def_static("part_features", &Chain::part_features, "node"_a.noconvert(), "every"_a,
                    "Evidence from node scores (parts, 2 or 2 + n_labels); see `ChainSession.part_features`.")
        .def("best_paths", &Chain::best_paths, "node"_a.noconvert(), "offsets"_a.noconvert(), "k"_a, "n_threads"_a,
             nb::sig("def best_paths(self, node: numpy.typing.NDArray[numpy.float32], offsets: "
                     "numpy.typing.NDArray[numpy.int64], k: int, n_threads: int) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float32]]"),
             "Labels (parts * k,), the k paths of a sequence one after the other, and scores (sequences, k).")
        .def("finite", &Chain::finite, "Whether no weight is NaN or infinite, but for what is ruled out.")
        .def("rule_out", &Chain::rule_out, "first"_a.noconvert(), "steps"_a.noconvert(),
             "Rule out labels (n_labels,) at the beginning of a sequence, and steps (n_labels * n_labels,) from label "
             "to label: where an entry is not 0, the weight becomes -infinity.")
        .def("table", &Chain::table,
             "Weights (rows, n_labels): a row for each state, for the first and the last place, for each previous "
             "label, and for each feature of each block.")
        .def("fill", &Chain::fill, "table"_a.noconvert(), "Set the weights from such a table.")
        .def(
            "__getstate__",
            [](const Chain& c) {
                const chain::Shape& s = c.weights().shape();
                return nb::make_tuple(s.n_labels, s.sizes, s.own, c.table());
            },
            nb::sig("def __getstate__(self) -> tuple[int, list[int], bool, numpy.typing.NDArray[numpy.float32]]"))
        .def("__setstate__", [](Chain& self, const Pickle& p) {
            Chain made(chain::Shape{std::get<0>(p), std::get<1>(p), std::get<2>(p)});
            made.fill(std::get<3>(p));
            new (&self) Chain(std::move(made));
        });
}

}  // namespace wald::bindings
