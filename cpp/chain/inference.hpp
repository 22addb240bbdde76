// Inference for many sequences in parallel: node scores, best paths, marginals and evidence.
#pragma once

#include <optional>
#include <span>

#include "chain/evidence.hpp"
#include "chain/marginals.hpp"
#include "core/interruption.hpp"
#include "core/thread_pool.hpp"

namespace wald::chain {

// Sequences whose node scores come from features. The parts of sequence i start at first[i]; results for them have the
// indices [ends[i], ends[i + 1]).
struct Sequences {
    Features features;
    const std::uint8_t* states;  // of all parts
    const float* cheap;          // (all parts, n_labels): node scores of parts with the first group only, or null
    std::vector<std::int64_t> first{}, ends{0};
};

class Inference {
public:
    explicit Inference(const Weights& weights) : w_(weights) {}

    // out (parts, n_labels)
    void scores(const Sequences& x, int n_threads, float* out) const {
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            const float* const node = score(x, i, worker);
            for (std::int64_t t = 0; t < length; ++t)
                std::copy_n(node + t * w_.padded(), w_.n_labels(), out + (x.ends[i] + t) * w_.n_labels());
        });
    }

    // labels (parts,), best (sequences,)
    void predict(const Sequences& x, int n_threads, std::int32_t* labels, float* best) const {
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            best[i] = worker.decoder.best(lattice(score(x, i, worker), length), labels + x.ends[i]);
        });
    }

    // out (parts, Evidence::kColumns)
    void evidence(const Sequences& x, float scale, int n_threads, float* out) const {
        const Evidence evidence(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(x.ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            evidence(worker.decoder, lattice(score(x, i, worker), length), worker.scratch,
                     out + x.ends[i] * Evidence::kColumns);
        });
    }

    // The functions below take node scores (parts, n_labels); sequence i has the parts [ends[i], ends[i + 1]).

    void decode(const float* node, std::span<const std::int64_t> ends, int n_threads, std::int32_t* labels,
                float* best) const {
        each(ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            best[i] = worker.decoder.best(padded(node, ends[i], length, worker), labels + ends[i]);
        });
    }

    // labels: the k paths of a sequence, one after the other; best (sequences, k)
    void best_paths(const float* node, std::span<const std::int64_t> ends, int k, int n_threads, std::int32_t* labels,
                    float* best) const {
        each(ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            worker.decoder.best_paths(padded(node, ends[i], length, worker), k, best + i * k, labels + ends[i] * k);
        });
    }

    // out (parts, n_labels)
    void max_marginals(const float* node, std::span<const std::int64_t> ends, int n_threads, float* out) const {
        const Aligned<float> back = transposed_steps();
        each(ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            worker.decoder.max_marginals(padded(node, ends[i], length, worker), back.data(),
                                         out + ends[i] * w_.n_labels());
        });
    }

    // out (parts, n_labels)
    void marginals(const float* node, std::span<const std::int64_t> ends, double scale, int n_threads,
                   float* out) const {
        const Marginals start(w_.steps(), w_.n_labels(), w_.padded(), scale);
        each(ends, n_threads, [&](Worker& worker, std::int64_t i, std::int64_t length) {
            if (!worker.marginals) worker.marginals = start;
            (*worker.marginals)(padded(node, ends[i], length, worker), out + ends[i] * w_.n_labels());
        });
    }

private:
    static constexpr std::int64_t kTaskSequences = 16;

    // Scratch memory of a task.
    struct Worker {
        Decoder decoder;
        std::optional<Marginals> marginals;
        Evidence::Scratch scratch;
        Aligned<float> node;
    };

    // Calls visit(worker, sequence, length) for every sequence.
    template <class Visit>
    void each(std::span<const std::int64_t> ends, int n_threads, const Visit& visit) const {
        const auto n = static_cast<std::int64_t>(ends.size()) - 1;
        parallel_for((n + kTaskSequences - 1) / kTaskSequences, n_threads, [&](std::int64_t task, int) {
            const std::int64_t begin = task * kTaskSequences, end = std::min(n, begin + kTaskSequences);
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

    const float* score(const Sequences& x, std::int64_t i, Worker& worker) const {
        const float* const cheap = x.cheap == nullptr ? nullptr : x.cheap + x.first[i] * w_.n_labels();
        w_.score(x.features, x.first[i], x.ends[i + 1] - x.ends[i], x.states + x.first[i], worker.node.data(), cheap);
        return worker.node.data();
    }
    Lattice lattice(const float* node, std::int64_t length) const {
        return {node, w_.steps(), length, w_.n_labels(), w_.padded()};
    }
    Lattice padded(const float* node, std::int64_t first, std::int64_t length, Worker& worker) const {
        for (std::int64_t t = 0; t < length; ++t)
            std::copy_n(node + (first + t) * w_.n_labels(), w_.n_labels(), worker.node.data() + t * w_.padded());
        return lattice(worker.node.data(), length);
    }
    Aligned<float> transposed_steps() const {
        Aligned<float> back(static_cast<std::size_t>(w_.n_labels()) * w_.padded());
        for (int p = 0; p < w_.n_labels(); ++p)
            for (int k = 0; k < w_.n_labels(); ++k)
                back[static_cast<std::size_t>(k) * w_.padded() + p] =
                    w_.steps()[static_cast<std::int64_t>(p) * w_.padded() + k];
        return back;
    }

    const Weights& w_;
};

}  // namespace wald::chain
