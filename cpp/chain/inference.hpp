// Inference for many sequences in parallel: node scores, best paths, marginals and evidence.
#pragma once

#include <optional>
#include <span>

#include "chain/evidence.hpp"
#include "chain/marginals.hpp"
#include "core/share_out.hpp"

namespace wald::chain {

// Sequences whose node scores come from features. The parts of sequence i start at first[i]; results for them have the
// indices [ends[i], ends[i + 1]).
struct Sequences {
    Features features;
    const std::uint8_t* states;  // of all parts
    const float* cheap;          // (all parts, n_labels): node scores of parts with the first group only, or null
    std::vector<std::int64_t> first{}, ends{0};
};

// Sequences of given node scores (parts, n_labels).
struct Nodes {
    const float* scores;
    std::span<const std::int64_t> ends;
};

class Inference {
public:
    explicit Inference(const Weights& weights) : w_(weights) {}

    // out (parts, n_labels)
    void scores(const Sequences& x, int n_threads, float* out) const {
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            const Lattice found = lattice(x, i, worker);
            for (std::int64_t t = 0; t < found.length; ++t)
                std::copy_n(found.node + t * w_.padded(), w_.n_labels(), out + (x.ends[i] + t) * w_.n_labels());
        });
    }

    // Best paths of sequences of either kind: labels (parts,), best (sequences,).
    template <class Source>
    void predict(const Source& x, int n_threads, std::int32_t* labels, float* best) const {
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            best[i] = worker.decoder.best(lattice(x, i, worker), labels + x.ends[i]);
        });
    }

    // out (parts, Evidence::kColumns)
    void evidence(const Sequences& x, float scale, int n_threads, float* out) const {
        const Evidence evidence(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            evidence(worker.decoder, lattice(x, i, worker), worker.scratch, out + x.ends[i] * Evidence::kColumns);
        });
    }

    // labels: the k paths of a sequence, one after the other; best (sequences, k)
    void best_paths(const Nodes& x, int k, int n_threads, std::int32_t* labels, float* best) const {
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            worker.decoder.best_paths(lattice(x, i, worker), k, best + i * k, labels + x.ends[i] * k);
        });
    }

    // out (parts, n_labels)
    void max_marginals(const Nodes& x, int n_threads, float* out) const {
        const Aligned<float> back = transposed(w_.steps(), w_.n_labels(), w_.padded());
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            worker.decoder.max_marginals(lattice(x, i, worker), back.data(), out + x.ends[i] * w_.n_labels());
        });
    }

    // out (parts, n_labels)
    void marginals(const Nodes& x, double scale, int n_threads, float* out) const {
        const Marginals start(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i) {
            if (!worker.marginals) worker.marginals = start;
            (*worker.marginals)(lattice(x, i, worker), out + x.ends[i] * w_.n_labels());
        });
    }

private:
    static constexpr std::int64_t kSharedSequences = 16;  // that a thread takes at a time

    // A thread's scratch memory.
    struct Worker {
        Decoder decoder;
        std::optional<Marginals> marginals;
        Evidence::Scratch scratch;
        Aligned<float> node;
    };

    // Calls visit(worker, sequence) for every sequence.
    template <class Visit>
    void each(std::span<const std::int64_t> ends, int n_threads, const Visit& visit) const {
        const std::int64_t n = std::ssize(ends) - 1;
        std::int64_t longest = 0;
        for (std::int64_t i = 0; i < n; ++i) longest = std::max(longest, ends[i + 1] - ends[i]);
        std::vector<Worker> workers(static_cast<std::size_t>(threads_for(n, n_threads)));
        share_out(n, kSharedSequences, workers, [&](std::int64_t i, Worker& worker) {
            if (worker.node.size() == 0) worker.node = Aligned<float>(static_cast<std::size_t>(longest) * w_.padded());
            visit(worker, i);
        });
    }

    Lattice lattice(const Sequences& x, std::int64_t i, Worker& worker) const {
        const std::int64_t first = x.first[i], length = x.ends[i + 1] - x.ends[i];
        const float* const cheap = x.cheap == nullptr ? nullptr : x.cheap + first * w_.n_labels();
        w_.score(x.features, first, length, x.states + first, worker.node.data(), cheap);
        return {worker.node.data(), w_.steps(), length, w_.n_labels(), w_.padded()};
    }
    Lattice lattice(const Nodes& x, std::int64_t i, Worker& worker) const {
        const std::int64_t length = x.ends[i + 1] - x.ends[i];
        for (std::int64_t t = 0; t < length; ++t)
            std::copy_n(x.scores + (x.ends[i] + t) * w_.n_labels(), w_.n_labels(),
                        worker.node.data() + t * w_.padded());
        return {worker.node.data(), w_.steps(), length, w_.n_labels(), w_.padded()};
    }

    const Weights& w_;
};

}  // namespace wald::chain
