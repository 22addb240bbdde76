// Linear chains: weights, and inference with them. The arguments are checked here.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings/chain_groups.hpp"
#include "chain/inference.hpp"

namespace wald::bindings {

using FloatArray = Made<float>;
using LabelsAndScores = std::pair<Made<std::int32_t>, FloatArray>;

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

    // Node scores (parts, n_labels) of sequences.
    FloatArray scores(const chain::Sequences& x, int n_threads) const {
        return filled({n_parts(x), n_labels()}, [&](float* out) { inference().scores(x, n_threads, out); });
    }

    // Labels (parts,) and scores (sequences,) of the best paths.
    template <class Source>
    LabelsAndScores predict(const Source& x, int n_threads) const {
        return found({n_parts(x)}, {x.ends.size() - 1},
                     [&](std::int32_t* labels, float* best) { inference().predict(x, n_threads, labels, best); });
    }

    // Evidence (parts, Evidence::kColumns) for answers.
    FloatArray evidence(const chain::Sequences& x, float scale, int n_threads) const {
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        return filled({n_parts(x), static_cast<std::size_t>(chain::Evidence::kColumns)},
                      [&](float* out) { inference().evidence(x, scale, n_threads, out); });
    }

    // Labels (parts * k,): the k paths of a sequence, one after the other; scores (sequences, k).
    LabelsAndScores best_paths(const chain::Nodes& x, int k, int n_threads) const {
        require(k >= 1 && k <= 1000, "k must lie in [1, 1000]");
        const auto each = static_cast<std::size_t>(k);
        return found({n_parts(x) * each}, {x.ends.size() - 1, each},
                     [&](std::int32_t* labels, float* best) { inference().best_paths(x, k, n_threads, labels, best); });
    }

    FloatArray max_marginals(const chain::Nodes& x, int n_threads) const {
        return filled({n_parts(x), n_labels()}, [&](float* out) { inference().max_marginals(x, n_threads, out); });
    }

    FloatArray marginals(const chain::Nodes& x, double scale, int n_threads) const {
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        return filled({n_parts(x), n_labels()}, [&](float* out) { inference().marginals(x, scale, n_threads, out); });
    }

    // The sequences that are chosen, all of them by default. `cheap` (all parts, n_labels) may hold the node scores of
    // parts under the state of the first group alone, as `scores` gives them.
    chain::Sequences sequences(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                               const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap) const {
        require(!cheap || (cheap->shape(0) == states.size() && cheap->shape(1) == n_labels()),
                "cheap scores of other parts or labels");
        const auto n = static_cast<std::int64_t>(states.size());
        chain::Sequences x{features(groups, n), states.data(), cheap ? cheap->data() : nullptr};
        ChosenSequences found(checked_offsets(offsets, n), chosen, "chosen must name sequences");
        x.first = std::move(found.first), x.ends = std::move(found.ends);
        for (std::size_t i = 0; i < x.first.size(); ++i)
            for (std::int64_t t = 0; t < x.ends[i + 1] - x.ends[i]; ++t) check_part(x, x.first[i] + t);
        return x;
    }
    // Sequences whose node scores are given.
    chain::Nodes nodes(const FloatMatrix& scores, const Longs& offsets) const {
        require(scores.shape(1) == n_labels(), "node scores need one column per label");
        require(all_below_infinity(scores.data(), scores.size()), "node scores must be finite, or -infinity");
        return {scores.data(), checked_offsets(offsets, static_cast<std::int64_t>(scores.shape(0)))};
    }

    // Evidence from the parts' own scores (parts, n_labels): (parts, 2), or (parts, 2 + n_labels) with `every`.
    static FloatArray part_features(const FloatMatrix& node, bool every) {
        const std::size_t K = node.shape(1), width = every ? 2 + K : 2;
        require(K >= 1 && K <= 65536, "n_labels must lie in [1, 65536]");
        auto out = new_array<float>({node.shape(0), width});
        chain::own_evidence_each(node.data(), node.shape(0), static_cast<int>(K), every, out.data());
        return out;
    }

    FloatArray table() const {
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
            float* const weights = w_.values.data() + row * w_.padded();
            for (std::size_t k = 0; k < K; ++k)
                if (out[k] != 0) weights[k] = -HUGE_VALF;
        };
        write(w_.first_row(), first.data());
        for (std::size_t p = 0; p < K; ++p) write(w_.step_row(static_cast<int>(p)), steps.data() + p * K);
    }
    bool finite() const { return usable(w_.values.data(), static_cast<std::size_t>(w_.padded())); }

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
    static std::size_t n_parts(const auto& x) { return static_cast<std::size_t>(x.ends.back()); }

    void check_part(const chain::Sequences& x, std::int64_t part) const {
        require(x.states[part] < w_.n_states(), "states must be made of the groups that there are");
        for (int g = 0; g < w_.n_groups(); ++g)
            require(!chain::Weights::has(x.states[part], g) || x.features[g][part].known(),
                    "a part lacks features that its state has");
    }
    chain::Inference inference() const { return chain::Inference(w_); }
    // An array, and a pair of arrays, that `fill` writes without the lock.
    template <class Fill>
    static FloatArray filled(std::vector<std::size_t> shape, const Fill& fill) {
        auto out = new_array<float>(std::move(shape));
        const Unlocked unlocked;
        fill(out.data());
        return out;
    }
    template <class Fill>
    static LabelsAndScores found(std::vector<std::size_t> labels, std::vector<std::size_t> scores, const Fill& fill) {
        LabelsAndScores out{new_array<std::int32_t>(std::move(labels)), new_array<float>(std::move(scores))};
        const Unlocked unlocked;
        fill(out.first.data(), out.second.data());
        return out;
    }

    chain::Weights w_;
};

// Python's methods that answer for sequences, and for given node scores.
template <class Answer, class... Rest>
auto of_sequences(Answer (Chain::*answer)(const chain::Sequences&, Rest...) const) {
    return [answer](const Chain& c, const GivenGroups& groups, const Bytes& states, const Longs& offsets,
                    const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap, Rest... rest) {
        return (c.*answer)(c.sequences(pointers(groups), states, offsets, chosen, cheap), rest...);
    };
}
template <class Answer, class... Rest>
auto of_nodes(Answer (Chain::*answer)(const chain::Nodes&, Rest...) const) {
    return [answer](const Chain& c, const FloatMatrix& node, const Longs& offsets, Rest... rest) {
        return (c.*answer)(c.nodes(node, offsets), rest...);
    };
}

inline void bind_chain(nb::module_& m) {
    using namespace nb::literals;
    using Pickle = std::tuple<int, std::vector<std::int64_t>, bool, FloatMatrix>;
    bind_chain_groups(m);
    nb::class_<Chain> bound(m, "Chain", "Weights of a linear chain, and inference with them; pickles.");
    const auto def_of_sequences = [&](const char* name, auto answer, auto... rest) {
        bound.def(name, of_sequences(answer), "groups"_a, "states"_a.noconvert(), "offsets"_a.noconvert(),
                  "chosen"_a.noconvert().none(), "cheap"_a.noconvert().none(), rest...);
    };
    const auto def_of_nodes = [&](const char* name, auto answer, auto... rest) {
        bound.def(name, of_nodes(answer), "node"_a.noconvert(), "offsets"_a.noconvert(), rest...);
    };
    def_of_sequences("scores", &Chain::scores, "n_threads"_a, "Node scores (parts, n_labels).");
    def_of_sequences("predict", &Chain::predict<chain::Sequences>, "n_threads"_a,
                     "Labels (parts,) and scores (sequences,) of the best paths.");
    def_of_sequences("evidence", &Chain::evidence, "scale"_a, "n_threads"_a,
                     "Evidence for the answers (parts, 11); see `ChainSession.evidence`.");
    def_of_nodes("decode", &Chain::predict<chain::Nodes>, "n_threads"_a,
                 "Labels (parts,) and scores (sequences,) of the best paths, from node scores.");
    def_of_nodes("max_marginals", &Chain::max_marginals, "n_threads"_a,
                 "Score (parts, n_labels) of the best path through each label.");
    def_of_nodes("marginals", &Chain::marginals, "scale"_a, "n_threads"_a,
                 "Probabilities (parts, n_labels) under exp(scale * score).");
    def_of_nodes("best_paths", &Chain::best_paths, "k"_a, "n_threads"_a,
                 "Labels (parts * k,), the k paths of a sequence one after the other, and scores (sequences, k).");
    bound
        .def(
            "__init__",
            [](Chain* self, int n_labels, std::vector<std::int64_t> sizes, bool own) {
                new (self) Chain(chain::Shape{n_labels, std::move(sizes), own});
            },
            "n_labels"_a, "sizes"_a, "own"_a)
        .def_static("part_features", &Chain::part_features, "node"_a.noconvert(), "every"_a,
                    "Evidence from node scores (parts, 2 or 2 + n_labels); see `ChainSession.part_features`.")
        .def("finite", &Chain::finite, "Whether no weight is NaN or infinite, but for what is ruled out.")
        .def("rule_out", &Chain::rule_out, "first"_a.noconvert(), "steps"_a.noconvert(),
             "Rule out labels (n_labels,) at the beginning of a sequence, and steps (n_labels * n_labels,) from label "
             "to label: where an entry is not 0, the weight becomes -infinity.")
        .def("table", &Chain::table,
             "Weights (rows, n_labels): a row for each state, for the first and the last place, for each previous "
             "label, and for each feature of each block.")
        .def("fill", &Chain::fill, "table"_a.noconvert(), "Set the weights from such a table.")
        .def("__getstate__",
             [](const Chain& c) {
                 const chain::Shape& s = c.weights().shape();
                 return std::make_tuple(s.n_labels, s.sizes, s.own, c.table());
             })
        .def("__setstate__", [](Chain& self, const Pickle& p) {
            Chain made(chain::Shape{std::get<0>(p), std::get<1>(p), std::get<2>(p)});
            made.fill(std::get<3>(p));
            new (&self) Chain(std::move(made));
        });
}

}  // namespace wald::bindings
