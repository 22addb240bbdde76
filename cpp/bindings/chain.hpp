// Linear chains: features by group, weights, inference and learners. Everything is checked here.
#pragma once

#include <algorithm>
#include <cmath>

#include "../core/chain/frank_wolfe.hpp"
#include "../core/chain/perceptron.hpp"
#include "../core/thread_pool.hpp"
#include "arrays.hpp"

namespace wald::bindings {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// One group's features and the parts that have them, kept alive.
struct ChainGroup {
    chain::Group view;
    std::int64_t n_rows = 0, n_parts = 0;
    std::vector<nb::object> owners;
};

inline void check_group_rows(ChainGroup& g, const Longs& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
        require(row.data()[i] >= -1 && row.data()[i] < g.n_rows, "row must name rows of the features, or -1");
    g.view.row = row.data();
    g.n_parts = static_cast<std::int64_t>(row.size());
    g.owners.push_back(nb::cast(row));
}

inline ChainGroup dense_group(FloatMatrix values, Longs row) {
    ChainGroup g;
    g.n_rows = static_cast<std::int64_t>(values.shape(0));
    g.view.n_features = static_cast<std::int64_t>(values.shape(1));
    require(g.view.n_features < (std::int64_t{1} << 31), "a group has fewer than 2^31 features");
    g.view.values = values.data();
    for (std::size_t i = 0; i < values.size(); ++i) require(std::isfinite(values.data()[i]), "features must be finite");
    g.owners.push_back(nb::cast(values));
    check_group_rows(g, row);
    return g;
}

inline ChainGroup csr_group(Floats values, Indices indices, Longs indptr, std::int64_t n_features, Longs row) {
    ChainGroup g;
    require(indptr.size() >= 1 && n_features >= 0 && n_features < (std::int64_t{1} << 31), "CSR features need an indptr, and fewer than 2^31 columns");
    g.n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    const auto n = static_cast<std::int64_t>(std::min(values.size(), indices.size()));
    for (std::int64_t r = 0; r < g.n_rows; ++r) {
        const std::int64_t begin = indptr.data()[r], end = indptr.data()[r + 1];
        require(begin >= 0 && begin <= end && end <= n, "CSR indptr must not fall, nor point behind the values");
        for (std::int64_t i = begin; i < end; ++i) {
            require(indices.data()[i] >= 0 && indices.data()[i] < n_features && (i == begin || indices.data()[i] > indices.data()[i - 1]),
                    "CSR indices must ascend within a row, below n_features");
            require(std::isfinite(values.data()[i]), "features must be finite");
        }
    }
    g.view = {values.data(), n_features, indptr.data(), indices.data(), nullptr};
    g.owners = {nb::cast(values), nb::cast(indices), nb::cast(indptr)};
    check_group_rows(g, row);
    return g;
}

inline std::span<const std::int64_t> checked_offsets(const Longs& offsets, std::int64_t n_parts) {
    require(offsets.size() >= 1 && offsets.data()[0] == 0, "offsets start at 0");
    for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets.data()[i] > offsets.data()[i - 1], "sequences have at least one part each");
    require(offsets.data()[offsets.size() - 1] == n_parts, "the last offset is the number of parts");
    return span_of(offsets);
}

// Weights, and inference with them.
class Chain {
public:
    Chain(int n_labels, std::vector<std::int64_t> sizes, bool own) {
        require(n_labels >= 1 && n_labels <= 65536, "n_labels must lie in [1, 65536]");
        require(!sizes.empty() && sizes.size() <= 5, "there must be 1 to 5 groups");
        for (std::int64_t s : sizes)
            require(s >= 0 && s * round_up(n_labels, 16) * (std::int64_t{1} << (sizes.size() - 1)) < (std::int64_t{1} << 33),
                    "the weights of a group would take more than 32 GiB");
        w_ = chain::Weights(n_labels, std::move(sizes), own);
    }
    explicit Chain(chain::Weights w) : w_(std::move(w)) {}
    const chain::Weights& weights() const { return w_; }

    std::int64_t check(const std::vector<ChainGroup*>& groups) const {
        require(static_cast<int>(groups.size()) == w_.n_groups(), "the number of groups differs from the model's");
        for (int g = 0; g < w_.n_groups(); ++g) {
            require(groups[g] != nullptr && groups[g]->n_parts == groups[0]->n_parts, "groups differ in their number of parts");
            if (groups[g]->view.n_features != w_.size(g))
                refuse("group " + std::to_string(g) + " has " + std::to_string(groups[g]->view.n_features) + " features, the model has " +
                       std::to_string(w_.size(g)));
        }
        for (std::int64_t p = 0; p < groups[0]->n_parts; ++p) require(groups[0]->view.row[p] >= 0, "every part needs the first group");
        return groups[0]->n_parts;
    }
    static std::vector<chain::Group> views(const std::vector<ChainGroup*>& groups) {
        std::vector<chain::Group> out;
        for (const ChainGroup* g : groups) out.push_back(g->view);
        return out;
    }

    // Node scores (parts, n_labels); a part has the groups that have a row for it.
    nb::ndarray<nb::numpy, float> scores(const std::vector<ChainGroup*>& groups, int n_threads) const {
        const std::int64_t n = check(groups);
        const auto seen = views(groups);
        const auto K = static_cast<std::size_t>(w_.n_labels());
        auto out = new_array<float>({static_cast<std::size_t>(n), K});
        nb::gil_scoped_release release;
        pieces(n, 64, n_threads, [&](std::int64_t begin, std::int64_t end) {
            Aligned<float> at(static_cast<std::size_t>(w_.padded()));
            for (std::int64_t p = begin; p < end; ++p) {
                w_.score(seen, p, state_of(seen, p), at.data());
                std::copy(at.data(), at.data() + K, out.data() + static_cast<std::size_t>(p) * K);
            }
        });
        return out;
    }

    nb::tuple predict(const std::vector<ChainGroup*>& groups, const Longs& offsets, int n_threads) const {
        const std::int64_t n = check(groups);
        const auto ends = checked_offsets(offsets, n);
        const auto seen = views(groups);
        auto labels = new_array<std::int32_t>({static_cast<std::size_t>(n)});
        auto best = new_array<float>({ends.size() - 1});
        {
            nb::gil_scoped_release release;
            sequences(ends, n_threads, [&](chain::Decoder& decoder, Aligned<float>& node, std::int64_t s) {
                const std::int64_t first = ends[s], length = ends[s + 1] - first;
                for (std::int64_t t = 0; t < length; ++t) w_.score(seen, first + t, state_of(seen, first + t), node.data() + t * w_.padded());
                best.data()[s] = decoder.best(lattice(node, length), labels.data() + first);
            });
        }
        return nb::make_tuple(labels, best);
    }

    nb::tuple decode(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto labels = new_array<std::int32_t>({node.shape(0)});
        auto best = new_array<float>({ends.size() - 1});
        {
            nb::gil_scoped_release release;
            read_sequences(node, ends, n_threads, [&](chain::Decoder& d, const chain::Lattice& x, std::int64_t s) {
                best.data()[s] = d.best(x, labels.data() + ends[s]);
            });
        }
        return nb::make_tuple(labels, best);
    }

    nb::ndarray<nb::numpy, float> max_marginals(const FloatMatrix& node, const Longs& offsets, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        nb::gil_scoped_release release;
        read_sequences(node, ends, n_threads, [&](chain::Decoder& d, const chain::Lattice& x, std::int64_t s) {
            d.max_marginals(x, out.data() + ends[s] * w_.n_labels());
        });
        return out;
    }

    nb::ndarray<nb::numpy, float> marginals(const FloatMatrix& node, const Longs& offsets, float scale, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(std::isfinite(scale) && scale > 0, "scale must be finite and positive");
        auto out = new_array<float>({node.shape(0), node.shape(1)});
        nb::gil_scoped_release release;
        read_sequences(node, ends, n_threads, [&](chain::Decoder& d, const chain::Lattice& x, std::int64_t s) {
            d.marginals(x, scale, out.data() + ends[s] * w_.n_labels());
        });
        return out;
    }

    // Labels (parts * k), the k paths of a sequence one behind the other; scores (sequences, k).
    nb::tuple best_paths(const FloatMatrix& node, const Longs& offsets, int k, int n_threads) const {
        const auto ends = check_nodes(node, offsets);
        require(k >= 1 && k <= 1000, "k must lie in [1, 1000]");
        auto labels = new_array<std::int32_t>({node.shape(0) * static_cast<std::size_t>(k)});
        auto best = new_array<float>({ends.size() - 1, static_cast<std::size_t>(k)});
        {
            nb::gil_scoped_release release;
            read_sequences(node, ends, n_threads, [&](chain::Decoder& d, const chain::Lattice& x, std::int64_t s) {
                d.best_paths(x, k, best.data() + s * k, labels.data() + ends[s] * k);
            });
        }
        return nb::make_tuple(labels, best);
    }

    // Plain arrays, for whoever keeps them: (biases (states, K), steps (K, K), blocks: one (features, K) or empty each).
    nb::tuple arrays() const {
        const auto K = static_cast<std::size_t>(w_.n_labels());
        auto biases = new_array<float>({static_cast<std::size_t>(w_.n_states()), K});
        for (std::size_t s = 0; s < w_.biases().size(); ++s) std::copy_n(w_.biases()[s].data(), K, biases.data() + s * K);
        auto steps = new_array<float>({K, K});
        for (std::size_t p = 0; p < K; ++p) std::copy_n(w_.steps() + p * static_cast<std::size_t>(w_.padded()), K, steps.data() + p * K);
        nb::list blocks;
        for (const auto& b : w_.blocks()) {
            const std::size_t rows = b.size() / static_cast<std::size_t>(w_.padded());
            auto block = new_array<float>({rows, K});
            for (std::size_t f = 0; f < rows; ++f) std::copy_n(b.data() + f * static_cast<std::size_t>(w_.padded()), K, block.data() + f * K);
            blocks.append(block);
        }
        return nb::make_tuple(biases, steps, blocks);
    }
    void fill(const FloatMatrix& biases, const FloatMatrix& steps, const std::vector<FloatMatrix>& blocks) {
        const auto K = static_cast<std::size_t>(w_.n_labels()), wide = static_cast<std::size_t>(w_.padded());
        require(biases.shape(0) == w_.biases().size() && biases.shape(1) == K && steps.shape(0) == K && steps.shape(1) == K &&
                    blocks.size() == w_.blocks().size(),
                "arrays of another chain");
        const auto copy = [&](const FloatMatrix& from, float* to) {
            for (std::size_t i = 0; i < from.size(); ++i) require(std::isfinite(from.data()[i]), "weights must be finite");
            for (std::size_t r = 0; r < from.shape(0); ++r) std::copy_n(from.data() + r * K, K, to + r * wide);
        };
        for (std::size_t b = 0; b < blocks.size(); ++b)
            require(blocks[b].shape(0) * wide == w_.blocks()[b].size() && blocks[b].shape(1) == K, "arrays of another chain");
        for (std::size_t s = 0; s < w_.biases().size(); ++s) {
            for (std::size_t k = 0; k < K; ++k) require(std::isfinite(biases.data()[s * K + k]), "weights must be finite");
            std::copy_n(biases.data() + s * K, K, w_.biases()[s].data());
        }
        copy(steps, w_.steps());
        for (std::size_t b = 0; b < blocks.size(); ++b) copy(blocks[b], w_.blocks()[b].data());
    }

private:
    int state_of(const std::vector<chain::Group>& groups, std::int64_t part) const {
        int state = 0;
        for (int g = 1; g < w_.n_groups(); ++g)
            if (groups[g].row[part] >= 0) state |= 1 << (g - 1);
        return state;
    }
    chain::Lattice lattice(const Aligned<float>& node, std::int64_t length) const {
        return {node.data(), w_.steps(), length, w_.n_labels(), w_.padded()};
    }
    std::span<const std::int64_t> check_nodes(const FloatMatrix& node, const Longs& offsets) const {
        require(static_cast<int>(node.shape(1)) == w_.n_labels(), "node scores need one column per label");
        for (std::size_t i = 0; i < node.size(); ++i) require(std::isfinite(node.data()[i]), "node scores must be finite");
        return checked_offsets(offsets, static_cast<std::int64_t>(node.shape(0)));
    }
    template <class Piece>
    static void pieces(std::int64_t n, std::int64_t size, int n_threads, Piece&& piece) {
        parallel_for((n + size - 1) / size, n_threads, [&](std::int64_t i, int) { piece(i * size, std::min(n, (i + 1) * size)); });
    }
    template <class Visit>
    void sequences(std::span<const std::int64_t> ends, int n_threads, Visit&& visit) const {
        pieces(static_cast<std::int64_t>(ends.size()) - 1, 16, n_threads, [&](std::int64_t begin, std::int64_t end) {
            chain::Decoder decoder;
            std::int64_t longest = 0;
            for (std::int64_t s = begin; s < end; ++s) longest = std::max(longest, ends[s + 1] - ends[s]);
            Aligned<float> node(static_cast<std::size_t>(longest) * w_.padded());
            for (std::int64_t s = begin; s < end; ++s) visit(decoder, node, s);
        });
    }
    template <class Visit>
    void read_sequences(const FloatMatrix& from, std::span<const std::int64_t> ends, int n_threads, Visit&& visit) const {
        const auto K = static_cast<std::size_t>(w_.n_labels());
        sequences(ends, n_threads, [&](chain::Decoder& decoder, Aligned<float>& node, std::int64_t s) {
            const std::int64_t length = ends[s + 1] - ends[s];
            for (std::int64_t t = 0; t < length; ++t)
                std::copy_n(from.data() + static_cast<std::size_t>(ends[s] + t) * K, K, node.data() + t * w_.padded());
            visit(decoder, lattice(node, length), s);
        });
    }

    chain::Weights w_;
};

// What both learners are given at every turn.
struct ChainLesson {
    chain::Examples examples;
    std::vector<nb::object> owners;

    ChainLesson(const Chain& model, const std::vector<ChainGroup*>& groups, const Indices& labels, const Longs& offsets,
                const std::string& states, std::uint64_t seed) {
        const std::int64_t n = model.check(groups);
        require(static_cast<std::int64_t>(labels.size()) == n, "labels need one entry per part");
        for (std::size_t i = 0; i < labels.size(); ++i)
            require(labels.data()[i] >= 0 && labels.data()[i] < model.weights().n_labels(), "labels must lie in [0, n_labels)");
        require(states == "full" || states == "random", "states must be full or random");
        for (const ChainGroup* g : groups)
            for (std::int64_t p = 0; p < n; ++p) require(g->view.row[p] >= 0, "to learn, every part needs every group");
        examples = {Chain::views(groups), labels.data(), checked_offsets(offsets, n),
                    states == "full" ? chain::States::full : chain::States::random, seed};
        for (ChainGroup* g : groups) owners.insert(owners.end(), g->owners.begin(), g->owners.end());
        owners.push_back(nb::cast(labels));
        owners.push_back(nb::cast(offsets));
    }
    std::span<const std::int64_t> order(const Longs& ids, std::int64_t limit) const {
        for (std::size_t i = 0; i < ids.size(); ++i) require(ids.data()[i] >= 0 && ids.data()[i] < limit, "order must name sequences");
        return span_of(ids);
    }
};

class ChainPerceptron {
public:
    ChainPerceptron(const Chain& start, float margin) : learner_(start.weights(), checked(margin)) {}
    std::int64_t epoch(const ChainLesson& lesson, const Longs& order, std::uint64_t turn) {
        const auto ids = lesson.order(order, lesson.examples.size());
        nb::gil_scoped_release release;
        return learner_.epoch(lesson.examples, ids, turn);
    }
    Chain current() const { return Chain(learner_.weights()); }
    Chain averaged() const { return Chain(learner_.averaged()); }

private:
    static float checked(float margin) {
        require(std::isfinite(margin) && margin >= 0, "margin must be finite and not negative");
        return margin;
    }
    chain::Perceptron learner_;
};

class ChainFrankWolfe {
public:
    ChainFrankWolfe(const Chain& start, double strength, std::int64_t n_sequences, int copies)
        : n_(n_sequences), copies_(copies), learner_(start.weights(), checked(strength, n_sequences, copies), n_sequences, copies) {}
    double epoch(const ChainLesson& lesson, const Longs& order) {
        require(lesson.examples.size() == n_, "the learner was made for another number of sequences");
        const auto ids = lesson.order(order, n_ * copies_);
        nb::gil_scoped_release release;
        return learner_.epoch(lesson.examples, ids);
    }
    double gap(const ChainLesson& lesson) {
        require(lesson.examples.size() == n_, "the learner was made for another number of sequences");
        nb::gil_scoped_release release;
        return learner_.gap(lesson.examples);
    }
    Chain current() const { return Chain(learner_.weights()); }

private:
    static double checked(double strength, std::int64_t n, int copies) {
        require(std::isfinite(strength) && strength > 0, "lambda must be finite and positive");
        require(n >= 1 && copies >= 1 && copies <= 64, "there must be sequences, and 1 to 64 copies");
        return strength;
    }
    std::int64_t n_;
    int copies_;
    chain::FrankWolfe learner_;
};

inline void bind_chain(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ChainGroup>(m, "ChainGroup")
        .def_static("dense", &dense_group, "values"_a.noconvert(), "row"_a.noconvert())
        .def_static("csr", &csr_group, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_features"_a, "row"_a.noconvert());
    nb::class_<Chain>(m, "Chain")
        .def(nb::init<int, std::vector<std::int64_t>, bool>(), "n_labels"_a, "sizes"_a, "own"_a)
        .def("scores", &Chain::scores, "groups"_a, "n_threads"_a)
        .def("predict", &Chain::predict, "groups"_a, "offsets"_a.noconvert(), "n_threads"_a)
        .def("decode", &Chain::decode, "node"_a.noconvert(), "offsets"_a.noconvert(), "n_threads"_a)
        .def("max_marginals", &Chain::max_marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "n_threads"_a)
        .def("marginals", &Chain::marginals, "node"_a.noconvert(), "offsets"_a.noconvert(), "scale"_a, "n_threads"_a)
        .def("best_paths", &Chain::best_paths, "node"_a.noconvert(), "offsets"_a.noconvert(), "k"_a, "n_threads"_a)
        .def("arrays", &Chain::arrays)
        .def("fill", &Chain::fill, "biases"_a, "steps"_a, "blocks"_a);
    nb::class_<ChainLesson>(m, "ChainLesson")
        .def(nb::init<const Chain&, const std::vector<ChainGroup*>&, const Indices&, const Longs&, const std::string&, std::uint64_t>(),
             "model"_a, "groups"_a, "labels"_a.noconvert(), "offsets"_a.noconvert(), "states"_a, "seed"_a);
    nb::class_<ChainPerceptron>(m, "ChainPerceptron")
        .def(nb::init<const Chain&, float>(), "start"_a, "margin"_a)
        .def("epoch", &ChainPerceptron::epoch, "lesson"_a, "order"_a.noconvert(), "turn"_a)
        .def("current", &ChainPerceptron::current)
        .def("averaged", &ChainPerceptron::averaged);
    nb::class_<ChainFrankWolfe>(m, "ChainFrankWolfe")
        .def(nb::init<const Chain&, double, std::int64_t, int>(), "start"_a, "strength"_a, "n_sequences"_a, "copies"_a)
        .def("epoch", &ChainFrankWolfe::epoch, "lesson"_a, "order"_a.noconvert())
        .def("gap", &ChainFrankWolfe::gap, "lesson"_a)
        .def("current", &ChainFrankWolfe::current);
}

}  // namespace wald::bindings
