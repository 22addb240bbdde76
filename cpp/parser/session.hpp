// Sentences that are parsed again whenever words get the costly group. They are read and scored by the cheap group
// once; costly scores are added word by word.
#pragma once

#include <cmath>
#include <span>

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
    Session(const Model& model, const Treebank& t, const Settings& settings, int n_threads)
        : model_(model), settings_(settings), workers_(static_cast<std::size_t>(std::max(1, n_threads))),
          sentences_(t.sentences.size()), bought_(t.words.size()) {
        offsets_.push_back(0);
        for (const auto& s : t.sentences) offsets_.push_back(s.last);
        const Choice choice = model.choice(settings);
        share_out(n_sentences(), kShared, workers_, [&](std::int64_t i, Worker& w) {
            Stopwatch watch;
            Opened& s = sentences_[i];
            s.atoms.read(t, static_cast<std::size_t>(i), model_.lexicon);
            with_error_location(i, t.sentences[i].line, [&] { w.choose(s, model_.weights, choice); });
            w.score_cheap(s);
            s.chosen.arcs.trim();
            s.missing = s.atoms.n() - 1;
            watch.lap(w.seconds[0]);
        });
    }

    std::int64_t n_words() const { return offsets_.back(); }
    std::int64_t n_sentences() const { return static_cast<std::int64_t>(sentences_.size()); }
    const std::vector<std::int64_t>& offsets() const { return offsets_; }
    double seconds(int group) const {
        double sum = 0;
        for (const Worker& w : workers_) sum += w.seconds[group];
        return sum;
    }
    std::int64_t extracted() const {  // words with the costly group
        return std::count(bought_.begin(), bought_.end(), 1);
    }

    // Decodes sentences under a state, one byte per word of all sentences; words that newly have the costly group are
    // scored first. Writes heads and, unless null, evidence [word][kEvidence] of the k-th of the given sentences from
    // word starts[k] on.
    void decode(const std::uint8_t* state, std::span<const std::int64_t> examples, std::span<const std::int64_t> starts,
                std::int32_t* heads, float* evidence) {
        share_out(std::ssize(examples), kShared, workers_, [&](std::int64_t k, Worker& w) {
            const std::int64_t i = examples[k];
            Opened& s = sentences_[i];
            const std::uint8_t* bits = state + offsets_[i];
            const auto owner = [&](int h, int m) { return owner_of(h, m, settings_.by_head) - 1; };
            buy(s, bits, bought_.data() + offsets_[i], owner, w);
            const auto is_bought = [&](int h, int m) { return bits[owner(h, m)] != 0; };
            w.add_up(s, is_bought);
            with_error_location(i, 0, [&] { w.decode(s, model_.weights, settings_, is_bought); });
            std::copy(w.heads.begin() + 1, w.heads.end(), heads + starts[k]);
            if (evidence != nullptr) write_evidence(s, w, evidence + starts[k] * kEvidence);
        });
    }

    // Numbers that describe a word without parsing: indicators of its fine tag and of the coarse tags before and behind
    // it, the logarithm of the number of its arcs, and the margin of the best arc's cheap score over the next one's.
    std::int64_t n_features() const { return model_.lexicon.fine.n_tags() + 2 * model_.lexicon.coarse.n_tags() + 2; }
    // Writes them for every word, into zeros.
    void features(float* out) const {
        const int n_fine = model_.lexicon.fine.n_tags(), n_coarse = model_.lexicon.coarse.n_tags();
        for (const Opened& s : sentences_) {
            const auto coarse = [&](int m) { return m < s.atoms.n() ? s.atoms.coarse_tags()[m] : TagNumbers::kRoot; };
            float* const first_row = out;
            for (int m = 1; m < s.atoms.n(); ++m, out += n_features()) {
                out[s.atoms.tags()[m]] = out[n_fine + coarse(m - 1)] = out[n_fine + n_coarse + coarse(m + 1)] = 1;
                out[n_features() - 1] = kNoRival;
            }
            s.chosen.arcs.each_word([&](int m, int first, int last) {
                float best = kNoTree, next = kNoTree;
                for (int k = first; k < last; ++k)
                    if (s.cheap[k] > best) next = best, best = s.cheap[k];
                    else next = std::max(next, s.cheap[k]);
                float* const numbers = first_row + m * n_features() - 2;
                numbers[0] = static_cast<float>(std::log(last - first));
                if (last - first > 1) numbers[1] = best - next;
            });
        }
    }

private:
    struct Opened : Sentence {
        std::unique_ptr<Scorer> scorer;  // from the first purchase to the last
        int missing = 0;                 // words without the costly group
    };

    template <class Owner>
    void buy(Opened& s, const std::uint8_t* state, char* bought, Owner&& owner, Worker& w) {
        int missing = 0;
        for (int m = 0; s.missing > 0 && m < s.atoms.n() - 1; ++m) missing += state[m] && !bought[m];
        if (missing == 0) return;
        Stopwatch watch;
        s.costly.resize(s.cheap.size());
        if (s.scorer == nullptr) {
            s.scorer = std::make_unique<Scorer>();
            s.scorer->begin(s.atoms, model_.weights);
        }
        w.score_some(*s.scorer, 1, s.chosen.arcs, s.costly.data(), [&](int h, int m) {
            const int word = owner(h, m);
            return state[word] && !bought[word];
        });
        for (int m = 0; m < s.atoms.n() - 1; ++m)
            if (state[m]) bought[m] = 1;
        s.missing -= missing;
        if (s.missing == 0) s.scorer.reset();
        watch.lap(w.seconds[1]);
    }

    void write_evidence(const Sentence& s, const Worker& w, float* out) const {
        const auto of = [&](int m) { return out + (m - 1) * kEvidence; };
        for (int m = 1; m < s.atoms.n(); ++m) {
            const int h = w.heads[m];
            const float is_root = h == 0, before = h < m, distance = std::log(static_cast<float>(std::abs(h - m)));
            const float single[kEvidence] = {kNoRival, 1, 0, 0, is_root, before, distance, 0, kNoRival, kNoRival};
            std::copy(single, single + kEvidence, of(m));
        }
        s.chosen.arcs.each_word([&](int m, int first, int last) {
            float chosen = kNoTree, rival = kNoTree, best = kNoTree, sum = 0, weighted = 0, rivals = -1;
            for (int k = first; k < last; ++k) {
                const float score = w.scores[k];
                best = std::max(best, score);
                if (s.chosen.arcs.head(k) == w.heads[m]) chosen = score;
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
    std::vector<Worker> workers_;
    std::vector<Opened> sentences_;
    std::vector<char> bought_;
    std::vector<std::int64_t> offsets_;
};

}  // namespace wald::parser
