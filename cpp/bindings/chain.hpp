// Linear chains: features by group, weights and inference. Everything is checked here.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "bindings/arrays.hpp"
#include "chain/evidence.hpp"
#include "chain/marginals.hpp"
#include "core/thread_pool.hpp"

namespace wald::bindings {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Whether all exponents are those of finite numbers; without a branch, so that it runs at the speed of memory.
inline bool all_finite(const float* values, std::size_t n) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto exponent = std::bit_cast<std::uint32_t>(values[i]) & 0x7f800000u;
        bad |= exponent == 0x7f800000u ? 1u : 0u;
    }
    return bad == 0;
}

// One group's features of some sequences, as far as they are known. What was added is kept alive, stays where it is,
// and must not be changed.
class ChainGroup {
public:
    ChainGroup(std::int64_t n_parts, std::int64_t n_features) : n_features_(n_features) {
        require(n_parts >= 0 && n_parts <= PTRDIFF_MAX / static_cast<std::int64_t>(sizeof(chain::Row)),
                "n_parts must not be negative");
        require(n_features >= 0 && n_features < (std::int64_t{1} << 31), "a group has fewer than 2^31 features");
        rows_.resize(static_cast<std::size_t>(n_parts));
    }

    // Both return -1, or the first row that is not finite: nothing is added then.
    std::int64_t add_dense(FloatMatrix values, Longs parts) {
        check_parts(parts, values.shape(0));
        require(static_cast<std::int64_t>(values.shape(1)) == n_features_, "features of another number of columns");
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (!all_finite(values.data() + i * values.shape(1), values.shape(1))) return static_cast<std::int64_t>(i);
        for (std::size_t i = 0; i < parts.size(); ++i)
            row(parts, i) = {values.data() + i * values.shape(1), nullptr, n_features_};
        dense_.push_back(std::move(values));
        return -1;
    }
    std::int64_t add_csr(Floats values, Indices indices, Longs indptr, Longs parts) {
        require(indptr.size() >= 1, "CSR features need an indptr");
        check_parts(parts, indptr.size() - 1);
        const auto n = static_cast<std::int64_t>(std::min(values.size(), indices.size()));
        std::int64_t bad = -1;
        for (std::size_t r = 0; r < parts.size(); ++r) {
            const std::int64_t begin = indptr.data()[r], end = indptr.data()[r + 1];
            require(begin >= 0 && begin <= end && end <= n, "CSR indptr must not fall, nor point behind the values");
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int32_t at = indices.data()[i];
                require(at >= 0 && at < n_features_ && (i == begin || at > indices.data()[i - 1]),
                        "CSR indices must ascend within a row, below n_features");
                if (bad < 0 && !std::isfinite(values.data()[i])) bad = static_cast<std::int64_t>(r);
            }
        }
        if (bad >= 0) return bad;
        for (std::size_t r = 0; r < parts.size(); ++r) {
            const std::int64_t begin = indptr.data()[r];
            row(parts, r) = {values.data() + begin, indices.data() + begin, indptr.data()[r + 1] - begin};
        }
        sparse_.emplace_back(std::move(values), std::move(indices));
        return -1;
    }

    std::int64_t n_features() const { return n_features_; }
    const std::vector<chain::Row>& rows() const { return rows_; }

private:
    void check_parts(const Longs& parts, std::size_t n) const {
        require(parts.size() == n, "parts need one entry per row of the features");
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t p = parts.data()[i];
            require(p >= 0 && p < static_cast<std::int64_t>(rows_.size()) && (i == 0 || p > parts.data()[i - 1]),
                    "parts must ascend, below n_parts");
            require(!rows_[static_cast<std::size_t>(p)].known(), "a part has its features already");
        }
    }
    chain::Row& row(const Longs& parts, std::size_t i) { return rows_[static_cast<std::size_t>(parts.data()[i])]; }

    std::int64_t n_features_;
    std::vector<chain::Row> rows_;
    std::vector<FloatMatrix> dense_;
    std::vector<std::pair<Floats, Indices>> sparse_;
};

using ChainGroups = std::vector<ChainGroup*>;

inline std::span<const std::int64_t> checked_offsets(const Longs& offsets, std::int64_t n_parts) {
    require(offsets.size() >= 1 && offsets.data()[0] == 0, "offsets start at 0");
    for (std::size_t i = 1; i < offsets.size(); ++i)
        require(offsets.data()[i] > offsets.data()[i - 1], "sequences have at least one part each");
    require(offsets.data()[offsets.size() - 1] == n_parts, "the last offset is the number of parts");
    return span_of(offsets);
}

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

    // Here and below, `cheap` (all parts, n_labels), if it is there, has the node scores of parts under the state of
    // the first group alone; it must be what `scores` gives for them.

    // Node scores (parts, n_labels) of the chosen sequences' parts under a state each.
    nb::ndarray<nb::numpy, float> scores(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                                         const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                                         int n_threads) const {
        const Asked a(*this, groups, states, offsets, chosen, cheap);
        const auto K = static_cast<std::size_t>(w_.n_labels());
        auto out = new_array<float>({static_cast<std::size_t>(a.ends.back()), K});
        const Unlocked unlocked;
        each(a.ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
            const float* node = a.score(w_, i, with.node);
            for (std::int64_t t = 0; t < length; ++t)
                std::copy_n(node + t * w_.padded(), K, out.data() + static_cast<std::size_t>(a.ends[i] + t) * K);
        });
        return out;
    }

    // Labels (parts,) and scores (sequences,) of the chosen sequences' best paths.
    nb::tuple predict(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                      const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                      int n_threads) const {
        const Asked a(*this, groups, states, offsets, chosen, cheap);
        auto labels = new_array<std::int32_t>({static_cast<std::size_t>(a.ends.back())});
        auto best = new_array<float>({a.ends.size() - 1});
        {
            const Unlocked unlocked;
            each(a.ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
                best.data()[i] =
                    with.decoder.best(lattice(a.score(w_, i, with.node), length), labels.data() + a.ends[i]);
            });
        }
        return nb::make_tuple(labels, best);
    }

    nb::tuple decode(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto labels = new_array<std::int32_t>({node.shape(0)});
        auto best = new_array<float>({ends.size() - 1});
        {
            const Unlocked unlocked;
            each(ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
                best.data()[i] = with.decoder.best(padded(node, ends[i], length, with.node), labels.data() + ends[i]);
            });
        }
        return nb::make_tuple(labels, best);
    }

    nb::ndarray<nb::numpy, float> max_marginals(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        const Unlocked unlocked;
        Aligned<float> back(static_cast<std::size_t>(w_.n_labels()) * w_.padded());
        for (int p = 0; p < w_.n_labels(); ++p)
            for (int k = 0; k < w_.n_labels(); ++k)
                back[static_cast<std::size_t>(k) * w_.padded() + p] =
                    w_.steps()[static_cast<std::int64_t>(p) * w_.padded() + k];
        each(ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
            with.decoder.max_marginals(padded(node, ends[i], length, with.node), back.data(),
                                       out.data() + ends[i] * w_.n_labels());
        });
        return out;
    }

    nb::ndarray<nb::numpy, float> marginals(const FloatMatrix& node, const Longs& offsets, double scale,
                                            int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        const Unlocked unlocked;
        const chain::Marginals start(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
            if (!with.marginals) with.marginals = start;
            (*with.marginals)(padded(node, ends[i], length, with.node), out.data() + ends[i] * w_.n_labels());
        });
        return out;
    }

    // What the chosen sequences' answers rest on: (parts, Evidence::kColumns).
    nb::ndarray<nb::numpy, float> evidence(const ChainGroups& groups, const Bytes& states, const Longs& offsets,
                                           const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& cheap,
                                           float scale, int n_threads) const {
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        const Asked a(*this, groups, states, offsets, chosen, cheap);
        constexpr auto e = static_cast<std::size_t>(chain::Evidence::kColumns);
        auto out = new_array<float>({static_cast<std::size_t>(a.ends.back()), e});
        const Unlocked unlocked;
        const chain::Evidence evidence(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(a.ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
            evidence(with.decoder, lattice(a.score(w_, i, with.node), length), with.scratch,
                     out.data() + static_cast<std::size_t>(a.ends[i]) * e);
        });
        return out;
    }

    // What parts' own scores (parts, n_labels) say: (parts, 2), or (parts, 2 + n_labels) with `every`.
    static nb::ndarray<nb::numpy, float> part_features(const FloatMatrix& node, bool every) {
        const std::size_t K = node.shape(1), width = every ? 2 + K : 2;
        require(K >= 1 && K <= 65536, "n_labels must lie in [1, 65536]");
        auto out = new_array<float>({node.shape(0), width});
        for (std::size_t i = 0; i < node.shape(0); ++i)
            chain::alone(node.data() + i * K, static_cast<int>(K), every, out.data() + i * width);
        return out;
    }

    // Labels (parts * k), the k paths of a sequence one behind the other; scores (sequences, k).
    nb::tuple best_paths(const FloatMatrix& node, const Longs& offsets, int k, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(k >= 1 && k <= 1000, "k must lie in [1, 1000]");
        auto labels = new_array<std::int32_t>({node.shape(0) * static_cast<std::size_t>(k)});
        auto best = new_array<float>({ends.size() - 1, static_cast<std::size_t>(k)});
        {
            const Unlocked unlocked;
            each(ends, n_threads, [&](Worker& with, std::int64_t i, std::int64_t length) {
                with.decoder.best_paths(padded(node, ends[i], length, with.node), k, best.data() + i * k,
                                        labels.data() + ends[i] * k);
            });
        }
        return nb::make_tuple(labels, best);
    }

    nb::ndarray<nb::numpy, float> table() const {
        const auto K = static_cast<std::size_t>(w_.n_labels());
        auto out = new_array<float>({static_cast<std::size_t>(w_.n_rows()), K});
        for (std::int64_t r = 0; r < w_.n_rows(); ++r)
            std::copy_n(w_.row(r), K, out.data() + static_cast<std::size_t>(r) * K);
        return out;
    }
    void fill(const FloatMatrix& table) {
        const auto K = static_cast<std::size_t>(w_.n_labels());
        require(static_cast<std::int64_t>(table.shape(0)) == w_.n_rows() && table.shape(1) == K,
                "the table of another chain");
        require(all_finite(table.data(), table.size()), "weights must be finite");
        for (std::size_t r = 0; r < table.shape(0); ++r)
            std::copy_n(table.data() + r * K, K, w_.table().data() + r * static_cast<std::size_t>(w_.padded()));
    }
    bool finite() const { return all_finite(w_.table().data(), w_.table().size()); }

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

    // What a call asks for: sequences, and where the answers for their parts go.
    struct Asked {
        chain::Features features;
        const std::uint8_t* states;
        const float* cheap;
        std::vector<std::int64_t> first, ends;

        Asked(const Chain& model, const ChainGroups& groups, const Bytes& s, const Longs& offsets,
              const std::optional<Longs>& chosen, const std::optional<FloatMatrix>& given)
            : features(model.features(groups, static_cast<std::int64_t>(s.size()))), states(s.data()),
              cheap(given ? given->data() : nullptr), ends{0} {
            require(!given || (given->shape(0) == s.size() && static_cast<int>(given->shape(1)) == model.w_.n_labels()),
                    "cheap scores of other parts or labels");
            const auto all = checked_offsets(offsets, static_cast<std::int64_t>(s.size()));
            const auto n = static_cast<std::int64_t>(all.size()) - 1;
            const auto take = [&](std::int64_t i) {
                first.push_back(all[i]);
                ends.push_back(ends.back() + all[i + 1] - all[i]);
                for (std::int64_t p = all[i]; p < all[i + 1]; ++p) {
                    require(states[p] < model.w_.n_states(), "states must be made of the groups that there are");
                    for (int g = 0; g < model.w_.n_groups(); ++g)
                        require(!chain::Weights::has(states[p], g) || features[g][p].known(),
                                "a part lacks features that its state has");
                }
            };
            if (!chosen)
                for (std::int64_t i = 0; i < n; ++i) take(i);
            else
                for (std::size_t i = 0; i < chosen->size(); ++i) {
                    require(chosen->data()[i] >= 0 && chosen->data()[i] < n, "chosen must name sequences");
                    take(chosen->data()[i]);
                }
        }
        const float* score(const chain::Weights& w, std::int64_t i, Aligned<float>& node) const {
            w.score(features, first[i], ends[i + 1] - ends[i], states + first[i], node.data(),
                    cheap == nullptr ? nullptr : cheap + first[i] * w.n_labels());
            return node.data();
        }
    };
    // What a thread needs for itself.
    struct Worker {
        chain::Decoder decoder;
        std::optional<chain::Marginals> marginals;
        chain::Evidence::Scratch scratch;
        Aligned<float> node;
    };

    chain::Lattice lattice(const float* node, std::int64_t length) const {
        return {node, w_.steps(), length, w_.n_labels(), w_.padded()};
    }
    chain::Lattice padded(const FloatMatrix& from, std::int64_t first, std::int64_t length,
                          Aligned<float>& node) const {
        const auto K = static_cast<std::size_t>(w_.n_labels());
        for (std::int64_t t = 0; t < length; ++t)
            std::copy_n(from.data() + static_cast<std::size_t>(first + t) * K, K, node.data() + t * w_.padded());
        return lattice(node.data(), length);
    }
    std::span<const std::int64_t> check_nodes(const FloatMatrix& node, const Longs& offsets) const {
        require(static_cast<int>(node.shape(1)) == w_.n_labels(), "node scores need one column per label");
        require(all_finite(node.data(), node.size()), "node scores must be finite");
        return checked_offsets(offsets, static_cast<std::int64_t>(node.shape(0)));
    }
    // Calls visit(worker, sequence, length) for all sequences, some at a time.
    template <class Visit>
    void each(std::span<const std::int64_t> ends, int n_threads, Visit&& visit) const {
        constexpr std::int64_t share = 16;
        const auto n = static_cast<std::int64_t>(ends.size()) - 1;
        parallel_for((n + share - 1) / share, n_threads, [&](std::int64_t piece, int) {
            const std::int64_t begin = piece * share, end = std::min(n, begin + share);
            std::int64_t longest = 0;
            for (std::int64_t i = begin; i < end; ++i) longest = std::max(longest, ends[i + 1] - ends[i]);
            Worker worker;
            worker.node = Aligned<float>(static_cast<std::size_t>(longest) * w_.padded());
            for (std::int64_t i = begin; i < end; ++i) {
                give_way();
                visit(worker, i, ends[i + 1] - ends[i]);
            }
        });
    }

    chain::Weights w_;
};

inline void bind_chain(nb::module_& m) {
    using namespace nb::literals;
    using Pickle = std::tuple<int, std::vector<std::int64_t>, bool, FloatMatrix>;
    nb::class_<ChainGroup>(
        m, "ChainGroup",
        "Features of one group, as far as they are known; what is added is not copied and must not be changed.")
        .def(nb::init<std::int64_t, std::int64_t>(), "n_parts"_a, "n_features"_a)
        .def("add_dense", &ChainGroup::add_dense, "values"_a.noconvert(), "parts"_a.noconvert(),
             "Take rows (n, n_features), C order, for n ascending parts without any; -1, or the first row not finite.")
        .def("add_csr", &ChainGroup::add_csr, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
             "parts"_a.noconvert(),
             "Take CSR rows, indices ascending within a row; -1, or the first row that is not finite.")
        .def_prop_ro("n_features", &ChainGroup::n_features, "Number of features.");
    nb::class_<Chain>(m, "Chain", R"doc(Weights of a linear chain, and inference with them; pickles.

``states`` (parts,): bit k says whether a part has costly group k. ``chosen``: sequences to answer for, in order.
``cheap`` (all parts, n_labels): node scores, as `scores` gives them, of parts without costly groups, if known.)doc")
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
             "The same from node scores.")
        .def("max_marginals", &Chain::max_marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "n_threads"_a,
             "Score (parts, n_labels) of the best path through each label.")
        .def("marginals", &Chain::marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "scale"_a, "n_threads"_a,
             "Probabilities (parts, n_labels) under exp(scale * score).")
        .def("evidence", &Chain::evidence, "groups"_a, "states"_a.noconvert(), "offsets"_a.noconvert(),
             "chosen"_a.noconvert().none(), "cheap"_a.noconvert().none(), "scale"_a, "n_threads"_a,
             "What the answers rest on (parts, 11); see `ChainSession.evidence`.")
        .def_static("part_features", &Chain::part_features, "node"_a.noconvert(), "every"_a,
                    "What node scores say (parts, 2 or 2 + n_labels); see `ChainSession.part_features`.")
        .def("best_paths", &Chain::best_paths, "node"_a.noconvert(), "offsets"_a.noconvert(), "k"_a, "n_threads"_a,
             nb::sig("def best_paths(self, node: numpy.typing.NDArray[numpy.float32], offsets: "
                     "numpy.typing.NDArray[numpy.int64], k: int, n_threads: int) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float32]]"),
             "Labels (parts * k,), the k paths of a sequence one behind the other, and scores (sequences, k).")
        .def("finite", &Chain::finite, "Whether no weight is NaN or infinite.")
        .def("table", &Chain::table,
             "Weights (rows, n_labels): a row for each state, first and last place, label before, feature of each "
             "block.")
        .def("fill", &Chain::fill, "table"_a.noconvert(), "Take over such a table.")
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
