// A trained parser: everything that is saved, and parsing batches of sentences with it.
#pragma once

#include "parser/labels.hpp"
#include "parser/sentence.hpp"

namespace wald::parser {

struct Model {
    Lexicon lexicon;
    LengthFilter filter;
    Weights weights;
    std::vector<std::string> labels;  // empty: a parser without relations
    LabelWeights label_weights;
    Weights pruner;  // empty: a parser without a pruner

    const Weights* pruner_or_null() const { return pruner.values.size() == 0 ? nullptr : &pruner; }
    Choice choice(const Settings& s) const {
        return {s.limits(filter), s.margin < 0 ? nullptr : pruner_or_null(), static_cast<float>(s.margin)};
    }
};

// Fills heads and, unless null, labels of all words of all sentences. times[4] are the seconds of features, scores,
// decoding and labelling, summed over threads. Returns the number of arcs that all groups scored.
inline std::int64_t parse_all(const Model& model, const Treebank& t, const Settings& s, int n_threads,
                              std::int32_t* heads, std::int32_t* labels, double* times) {
    struct BatchWorker : Worker {
        Sentence sentence;
        Labeler labeler;
        std::int64_t n_arcs = 0;
    };
    std::vector<BatchWorker> workers(static_cast<std::size_t>(std::max(1, n_threads)));
    const Choice choice = model.choice(s);
    share_out(std::ssize(t.sentences), kShared, workers, [&](std::int64_t i, BatchWorker& w) {
        const Treebank::Sentence& range = t.sentences[i];
        Sentence& x = w.sentence;
        const Arcs& arcs = x.chosen.arcs;
        Stopwatch watch;
        with_error_location(i, range.line, [&] {
            x.atoms.read(t, static_cast<std::size_t>(i), model.lexicon);
            w.scorer.begin(x.atoms, model.weights, choice.pruner);
            watch.lap(w.seconds[0]);
            w.chooser.choose(w.scorer, choice, x.chosen);
            watch.lap(w.seconds[1]);
            for (int g = 0; g < s.n_groups; ++g) w.scorer.find_keys(g, arcs.view());
            watch.lap(w.seconds[0]);
            w.score_cheap(x);
            x.costly.resize(x.cheap.size());
            if (s.n_groups > 1) w.scorer.score(1, arcs.view(), x.costly.data());
            const auto bought = [&](int, int) { return s.n_groups > 1; };
            w.add_up(x, bought);
            watch.lap(w.seconds[1]);
            w.decode(x, model.weights, s, bought);
            watch.lap(w.seconds[2]);
        });
        w.n_arcs += arcs.size();
        std::copy(w.heads.begin() + 1, w.heads.end(), heads + range.first);
        if (labels != nullptr) w.labeler.label(x.atoms, w.heads.data(), model.label_weights, labels + range.first);
        watch.lap(w.seconds[3]);
    });
    std::fill(times, times + 4, 0.0);
    std::int64_t n_arcs = 0;
    for (const BatchWorker& w : workers) {
        for (int k = 0; k < 4; ++k) times[k] += w.seconds[k];
        n_arcs += w.n_arcs;
    }
    return n_arcs;
}

// The arcs of a sentence that the length filter and the pruner allow.
inline Arcs list_arcs(const Model& model, const Treebank& t, std::size_t sentence, const Settings& s) {
    Worker w;
    Sentence x;
    const Choice choice = model.choice(s);
    x.atoms.read(t, sentence, model.lexicon);
    w.choose(x, model.weights, choice);
    return x.chosen.arcs;
}

// Scores n arcs of a sentence, [head, modifier], by one group of features, or by the pruner (kPruner).
inline void score_arcs(const Model& model, const Treebank& t, std::size_t sentence, int group, const std::int32_t* ends,
                       std::size_t n, float* out) {
    Atoms atoms;
    Scorer scorer;
    Arcs arcs;
    atoms.read(t, sentence, model.lexicon);
    scorer.begin(atoms, model.weights, model.pruner_or_null());
    arcs.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
    for (std::size_t i = 0; i < n; ++i) arcs.add(ends[2 * i], ends[2 * i + 1]);
    arcs.find_contexts();
    scorer.score(group, arcs.view(), out);
}

}  // namespace wald::parser
