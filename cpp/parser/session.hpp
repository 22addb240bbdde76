// Sentences that are parsed again whenever words get the costly group. They are read and scored by the cheap group
// once; costly scores are added word by word.
#pragma once

#include <cmath>

#include "parser/model.hpp"

namespace wald::parser {

// Evidence for each word of a decoded sentence, in this order.
enum Evidence : int {
    kMargin,           // score of the chosen head less that of the word's best other head
    kProbability,      // of the chosen head among the word's heads, by the exponentials of their scores
    kEntropy,          // of these probabilities, in nats
    kRivals,           // number of other heads whose scores are within 2 of the best one's
    kFromRoot,         // whether the head is the root
    kToTheLeft,        // whether the head stands before the word
    kLength,           // logarithm of the distance to the head
    kDependents,       // number of dependents of the word
    kHeadMargin,       // the margin of the head's own head
    kDependentMargin,  // the smallest margin among the dependents
    kEvidence
};

// The margin of a word with a single possible head.
inline constexpr float kNoRival = 16.0f;

class Session {
public:
    // The model must outlive the session, the treebank need not.
    Session(const Model& model, const Treebank& t, const Choice& choice, const Settings& settings, bool by_head,
            int n_threads)
        : model_(model), settings_(settings), by_head_(by_head), n_threads_(std::max(1, n_threads)),
          workers_(static_cast<std::size_t>(n_threads_)), sentences_(t.sentences.size()), bought_(t.words.size()) {
        offsets_.push_back(0);
        for (const auto& s : t.sentences) offsets_.push_back(s.last);
        for_each(nullptr, static_cast<std::int64_t>(sentences_.size()), [&](std::size_t i, std::int64_t, Worker& w) {
            Stopwatch watch;
            Sentence& s = sentences_[i];
            s.atoms.read(t, i, model_.lexicon);
            w.scorer.begin(s.atoms, model_.weights, choice.pruner);
            with_error_location(t, i, [&] { w.chosen.choose(w.scorer, choice); });
            s.arcs = w.chosen.arcs();
            s.certain = w.chosen.certain();
            s.spare = w.chosen.spare();
            s.cheap.resize(static_cast<std::size_t>(s.arcs.size()));
            w.scorer.score(0, s.arcs.view(), s.cheap.data());
            s.missing = s.atoms.n() - 1;
            watch.lap(w.seconds[0]);
        });
    }

    std::int64_t n_words() const { return static_cast<std::int64_t>(bought_.size()); }
    std::int64_t n_sentences() const { return static_cast<std::int64_t>(sentences_.size()); }
    const std::vector<std::int64_t>& offsets() const { return offsets_; }
    double seconds(int group) const {
        double sum = 0;
        for (const Worker& w : workers_) sum += w.seconds[group];
        return sum;
    }
    std::int64_t extracted() const {  // words with the costly group
        std::int64_t n = 0;
        for (const char b : bought_) n += b;
        return n;
    }
    std::int64_t words_of(const std::int64_t* examples, std::int64_t n) const {
        if (examples == nullptr) return n_words();
        std::int64_t words = 0;
        for (std::int64_t k = 0; k < n; ++k) words += offsets_[examples[k] + 1] - offsets_[examples[k]];
        return words;
    }

    // Decodes some sentences (null: all) under a state, one byte per word of all sentences; words that newly have the
    // costly group are scored first. Writes heads and, unless null, evidence [word][kEvidence] in the order of the
    // given sentences.
    void decode(const std::uint8_t* state, const std::int64_t* examples, std::int64_t n, std::int32_t* heads,
                float* evidence) {
        for_each(examples, examples == nullptr ? n_sentences() : n, [&](std::size_t i, std::int64_t at, Worker& w) {
            Sentence& s = sentences_[i];
            const std::uint8_t* bits = state + offsets_[i];
            buy(s, bits, bought_.data() + offsets_[i], w);
            add_up(s, bits, w);
            w.heads.resize(static_cast<std::size_t>(s.atoms.n()));
            try {
                w.trees.best(
                    s.atoms.n(), s.arcs, w.scores.data(), s.certain, [&] { return s.spare; }, settings_,
                    w.heads.data());
            } catch (const TooLarge& e) {
                throw std::length_error("sentence " + std::to_string(i) + " " + e.what() + ".");
            }
            std::copy(w.heads.begin() + 1, w.heads.end(), heads + at);
            if (evidence != nullptr) write_evidence(s, w, evidence + at * kEvidence);
        });
    }

    // Writes for every word its fine and its coarse tag, the number of its arcs, and the margin of the best arc's cheap
    // score over the next one's.
    void observe(std::uint8_t* tags, std::uint8_t* coarse, std::int32_t* n_arcs, float* gaps) const {
        for (std::size_t i = 0; i < sentences_.size(); ++i) {
            const Sentence& s = sentences_[i];
            const std::int64_t at = offsets_[i] - 1;
            for (int m = 1; m < s.atoms.n(); ++m) {
                tags[at + m] = s.atoms.tags()[m];
                coarse[at + m] = s.atoms.coarse_tags()[m];
                n_arcs[at + m] = 1;
                gaps[at + m] = kNoRival;
            }
            each_word(s, [&](int m, int first, int last) {
                float best = -kInfinity, next = -kInfinity;
                for (int k = first; k < last; ++k) update_best_two(s.cheap[k], best, next);
                n_arcs[at + m] = last - first;
                if (last - first > 1) gaps[at + m] = best - next;
            });
        }
    }

private:
    static constexpr float kInfinity = std::numeric_limits<float>::infinity();

    struct Sentence {
        Atoms atoms;
        Arcs arcs;  // modifier by modifier
        std::vector<ScoredArc> certain, spare;
        std::vector<float> cheap, costly;
        std::unique_ptr<Scorer> scorer;  // from the first purchase to the last
        int missing = 0;                 // words without the costly group
    };
    struct Worker {
        Scorer scorer;
        ChosenArcs chosen;
        Arcs arcs;
        std::vector<int> where;
        std::vector<float> scores, extra;
        std::vector<std::int32_t> heads;
        Trees trees;
        double seconds[kGroups] = {};
    };

    static void update_best_two(float score, float& best, float& next) {
        if (score > best) next = best, best = score;
        else if (score > next) next = score;
    }
    // Calls visit(modifier, first arc, past its last arc).
    template <class Visit>
    static void each_word(const Sentence& s, Visit&& visit) {
        for (int first = 0, last = 0; first < s.arcs.size(); first = last) {
            while (last < s.arcs.size() && s.arcs.modifier(last) == s.arcs.modifier(first)) ++last;
            visit(s.arcs.modifier(first), first, last);
        }
    }

    // Calls work(sentence, index of its first word in the output, worker).
    template <class Work>
    void for_each(const std::int64_t* examples, std::int64_t n, Work&& work) {
        starts_.assign(1, 0);
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t i = examples == nullptr ? k : examples[k];
            starts_.push_back(starts_.back() + offsets_[i + 1] - offsets_[i]);
        }
        constexpr std::int64_t kShare = 32;  // sentences per task
        parallel_for((n + kShare - 1) / kShare, n_threads_, [&](std::int64_t share, int worker) {
            for (std::int64_t k = share * kShare; k < std::min(n, (share + 1) * kShare); ++k) {
                give_way();
                work(static_cast<std::size_t>(examples == nullptr ? k : examples[k]), starts_[k],
                     workers_[static_cast<std::size_t>(worker)]);
            }
        });
    }

    void buy(Sentence& s, const std::uint8_t* state, char* bought, Worker& w) {
        if (s.missing == 0) return;
        int missing = 0;
        for (int m = 0; m < s.atoms.n() - 1; ++m) missing += state[m] && !bought[m];
        if (missing == 0) return;
        Stopwatch watch;
        s.costly.resize(s.cheap.size());
        w.arcs.clear();
        w.where.clear();
        for (int k = 0; k < s.arcs.size(); ++k) {
            const int owner = owner_of(s.arcs.head(k), s.arcs.modifier(k), by_head_) - 1;
            if (!state[owner] || bought[owner]) continue;
            w.arcs.add(s.arcs, k);
            w.where.push_back(k);
        }
        w.arcs.find_contexts();
        if (s.scorer == nullptr) {
            s.scorer = std::make_unique<Scorer>();
            s.scorer->begin(s.atoms, model_.weights);
        }
        w.extra.resize(w.where.size());
        s.scorer->score(1, w.arcs.view(), w.extra.data());
        for (std::size_t k = 0; k < w.where.size(); ++k) s.costly[w.where[k]] = w.extra[k];
        for (int m = 0; m < s.atoms.n() - 1; ++m)
            if (state[m]) bought[m] = 1;
        s.missing -= missing;
        if (s.missing == 0) s.scorer.reset();
        watch.lap(w.seconds[1]);
    }

    void add_up(const Sentence& s, const std::uint8_t* state, Worker& w) const {
        w.scores.resize(s.cheap.size());
        for (int k = 0; k < s.arcs.size(); ++k)
            w.scores[k] =
                s.cheap[k] + (state[owner_of(s.arcs.head(k), s.arcs.modifier(k), by_head_) - 1] ? s.costly[k] : 0.0f);
    }

    void write_evidence(const Sentence& s, const Worker& w, float* out) const {
        const auto of = [&](int m) { return out + (m - 1) * kEvidence; };
        for (int m = 1; m < s.atoms.n(); ++m) {
            const int h = w.heads[m];
            const float is_root = h == 0, before = h < m, distance = std::log(static_cast<float>(std::abs(h - m)));
            const float single[kEvidence] = {kNoRival, 1, 0, 0, is_root, before, distance, 0, kNoRival, kNoRival};
            std::copy(single, single + kEvidence, of(m));
        }
        each_word(s, [&](int m, int first, int last) {
            float chosen = -kInfinity, rival = -kInfinity, best = -kInfinity, sum = 0, weighted = 0, rivals = -1;
            for (int k = first; k < last; ++k) {
                const float score = w.scores[k];
                best = std::max(best, score);
                if (s.arcs.head(k) == w.heads[m]) chosen = score;
                else rival = std::max(rival, score);
            }
            for (int k = first; k < last; ++k) {
                const float below = w.scores[k] - best, e = std::exp(below);
                sum += e;
                weighted += e * below;
                rivals += below > -2.0f;
            }
            float* o = of(m);
            if (last - first > 1) o[kMargin] = std::max(chosen - rival, -kNoRival);
            o[kProbability] = std::exp(chosen - best) / sum;
            o[kEntropy] = std::log(sum) - weighted / sum;
            o[kRivals] = rivals;
        });
        for (int m = 1; m < s.atoms.n(); ++m) {
            const int h = w.heads[m];
            if (h == 0) continue;
            of(m)[kHeadMargin] = of(h)[kMargin];
            of(h)[kDependents] += 1;
            of(h)[kDependentMargin] = std::min(of(h)[kDependentMargin], of(m)[kMargin]);
        }
    }

    const Model& model_;
    Settings settings_;
    bool by_head_;
    int n_threads_;
    std::vector<Worker> workers_;
    std::vector<Sentence> sentences_;
    std::vector<char> bought_;
    std::vector<std::int64_t> offsets_, starts_;
};

}  // namespace wald::parser
