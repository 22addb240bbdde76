// A trained parser: everything that is saved, and parsing batches of sentences with it.
#pragma once

#include <memory>

#include "core/interruption.hpp"
#include "core/thread_pool.hpp"
#include "parser/labels.hpp"
#include "parser/sentence_parser.hpp"

namespace wald::parser {

struct Model {
    Lexicon lexicon;
    LengthFilter filter;
    Weights weights;
    std::vector<std::string> labels;  // empty: a parser without relations
    LabelWeights label_weights;
    Weights pruner;  // empty: a parser without a pruner

    const Weights* pruner_or_null() const { return pruner.values.size() == 0 ? nullptr : &pruner; }
};

struct FilterSettings {
    bool use = true;
    double factor = 1.5, extra = 2;
    Limits limits(const LengthFilter& f) const { return Limits(f, use, factor, extra); }
};

// Fills heads and, unless null, labels of all words of all sentences. times[4] are the seconds of features, scores,
// decoding and labelling, summed over threads. Returns the number of arcs that all groups scored.
inline std::int64_t parse_all(const Model& model, const Treebank& t, const Settings& s, const Choice& choice,
                              int n_threads, std::int32_t* heads, std::int32_t* labels, double* times) {
    struct Worker {
        SentenceParser parser;
        Labeler labeler;
        std::vector<std::int32_t> padded;
        double times[4] = {};
        std::int64_t n_arcs = 0;
    };
    constexpr std::size_t kShare = 32;  // sentences per task
    const std::int64_t shares = static_cast<std::int64_t>((t.sentences.size() + kShare - 1) / kShare);
    std::vector<Worker> workers(static_cast<std::size_t>(std::max(1, n_threads)));
    parallel_for(shares, n_threads, [&](std::int64_t share, int worker) {
        Worker& w = workers[static_cast<std::size_t>(worker)];
        const std::size_t first = static_cast<std::size_t>(share) * kShare,
                          last = std::min(first + kShare, t.sentences.size());
        for (std::size_t i = first; i < last; ++i) {
            give_way();
            const std::uint32_t at = t.sentences[i].first;
            with_error_location(t, i, [&] {
                w.n_arcs += w.parser.parse(t, i, model.lexicon, model.weights, choice, s, heads + at, w.times);
            });
            if (labels == nullptr) continue;
            Stopwatch watch;
            w.padded.assign(1, -1);
            w.padded.insert(w.padded.end(), heads + at, heads + t.sentences[i].last);
            w.labeler.label(w.parser.atoms(), w.padded.data(), model.label_weights, labels + at);
            watch.lap(w.times[3]);
        }
    });
    for (int k = 0; k < 4; ++k) {
        times[k] = 0;
        for (const Worker& w : workers) times[k] += w.times[k];
    }
    std::int64_t n_arcs = 0;
    for (const Worker& w : workers) n_arcs += w.n_arcs;
    return n_arcs;
}

// Lists heads and modifiers of the arcs of a sentence that the length filter and the pruner allow.
inline void list_arcs(const Model& model, const Treebank& t, std::size_t sentence, const Choice& choice,
                      std::vector<std::int32_t>& heads, std::vector<std::int32_t>& modifiers) {
    SentenceParser p;
    p.begin(t, sentence, model.lexicon, model.weights, model.pruner_or_null());
    ChosenArcs chosen;
    chosen.choose(p.scorer(), choice);
    for (int i = 0; i < chosen.arcs().size(); ++i) {
        heads.push_back(chosen.arcs().head(i));
        modifiers.push_back(chosen.arcs().modifier(i));
    }
}

// Scores n arcs of a sentence by one group of features, or by the pruner (kPruner).
inline void score_arcs(const Model& model, const Treebank& t, std::size_t sentence, int group,
                       const std::int32_t* heads, const std::int32_t* modifiers, std::size_t n, float* out) {
    SentenceParser p;
    p.begin(t, sentence, model.lexicon, model.weights, model.pruner_or_null());
    Arcs arcs;
    arcs.begin(p.atoms().tags(), p.atoms().coarse_tags(), p.atoms().n());
    for (std::size_t i = 0; i < n; ++i) arcs.add(heads[i], modifiers[i]);
    arcs.find_contexts();
    p.scorer().score(group, arcs.view(), out);
}

}  // namespace wald::parser
