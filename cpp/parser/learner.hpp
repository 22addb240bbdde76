// Online learning of averaged arc weights, sentence by sentence.
//
// Averaged structured perceptron: M. Collins, EMNLP 2002. k = 1 MIRA with loss-augmented decoding: McDonald, Crammer
// and Pereira, ACL 2005, section 2.3; the step is min(C, (loss - margin) / |difference of features|^2).
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "parser/difference.hpp"
#include "parser/model.hpp"

namespace wald::parser {

class Learner {
public:
    // Takes tags and relations from the first treebank. With label_bits = 0 no relations are learnt.
    Learner(const Treebank& t, int table_bits, int label_bits, int pruner_bits)
        : lexicon_(Lexicon::of(t)), filter_(lexicon_.fine.n_tags()),
          groups_(Weights(table_bits, lexicon_.fine.n_tags())) {
        if (pruner_bits > 0) pruner_.emplace(Weights(pruner_bits, lexicon_.fine.n_tags()));
        if (label_bits == 0) return;
        for (std::size_t w = 0; w < t.words.size(); ++w) label_numbers_.emplace(t.field(w, kDeprel), 0);
        for (auto& [name, number] : label_numbers_) {
            number = static_cast<std::int32_t>(labels_.size());
            labels_.push_back(name);
        }
        label_learner_.emplace(label_bits, static_cast<int>(labels_.size()));
    }

    // Extends the length filter to the arcs of this treebank.
    void extend_filter(const Treebank& t) {
        Atoms atoms;
        for (std::size_t i = 0; i < t.sentences.size(); ++i) {
            atoms.read(t, i, lexicon_);
            for (int m = 1; m < atoms.n(); ++m) {
                const int h = t.words[t.sentences[i].first + static_cast<std::uint32_t>(m) - 1].head;
                filter_.add(atoms.tags()[h], atoms.tags()[m], m > h, std::abs(m - h));
            }
        }
    }

    // Runs one epoch over sentences in the given order and, with a rate, one for the pruner, which does not use the
    // feature groups. Call extend_filter() with all sentences first.
    void run_epoch(const Treebank& t, std::span<const std::int64_t> order, const Settings& s, std::uint64_t seed,
                   double pruner_rate) {
        const Choice choice{s.limits(filter_)};
        // The averages leave the first epoch out if there are more: early weights vary most.
        if (++epochs_ == 2) groups_.restart();
        each_sentence(t, order, [&](std::size_t k) {
            if (label_learner_) learn_labels(t, t.sentences[static_cast<std::size_t>(order[k])]);
            learn(choice, s, mix(seed + k));
            groups_.before += 1;
        });
        if (!pruner_ || pruner_rate == 0) return;
        if (++pruner_epochs_ == 2) pruner_->restart();
        each_sentence(t, order, [&](std::size_t) { learn_pruner(choice.limits, pruner_rate); });
    }

    Model model() const {
        return {lexicon_,
                filter_,
                groups_.mean(),
                labels_,
                label_learner_ ? label_learner_->mean() : LabelWeights(),
                pruner_ ? pruner_->mean() : Weights()};
    }

private:
    // Reads one sentence after the other, and calls work(index in the order) for each.
    template <class Work>
    void each_sentence(const Treebank& t, std::span<const std::int64_t> order, Work&& work) {
        for (std::size_t k = 0; k < order.size(); ++k) {
            give_way();
            const auto i = static_cast<std::size_t>(order[k]);
            const Treebank::Sentence& range = t.sentences[i];
            x_.atoms.read(t, i, lexicon_);
            gold_.assign(1, -1);
            for (std::uint32_t w = range.first; w < range.last; ++w) gold_.push_back(t.words[w].head);
            with_error_location(order[k], range.line, [&] { work(k); });
        }
    }

    void learn(const Choice& choice, const Settings& s, std::uint64_t random) {
        const int N = x_.atoms.n();
        const Arcs& arcs = x_.chosen.arcs;
        std::vector<float>& scores = w_.scores;
        w_.choose(x_, groups_.table, choice);
        w_.score_cheap(x_);
        x_.costly.resize(x_.cheap.size());
        choose_state(s, N, random);
        const auto bought = [&](int h, int m) { return state_[owner_of(h, m, s.by_head)] != 0; };
        w_.score_some(w_.scorer, 1, arcs, x_.costly.data(), bought);
        w_.add_up(x_, bought);

        first_.assign(static_cast<std::size_t>(N) + 1, 0);
        arcs.each_word([&](int m, int first, int last) { first_[m] = first, first_[m + 1] = last; });
        if (s.loss_augmented)
            for (int i = 0; i < arcs.size(); ++i) {
                scores[i] += 1.0f;
                if (arcs.head(i) == gold_[arcs.modifier(i)]) scores[i] -= 1.0f;
            }
        const auto score_of = [&](int h, int m) {
            for (int i = first_[m]; i < first_[m + 1]; ++i)
                if (arcs.head(i) == h) return scores[i];
            return kNoTree;
        };
        if (!w_.decode(x_, groups_.table, s, bought)) return;

        difference_.clear();
        int loss = 0;
        double violation = 0;  // loss - margin
        for (int m = 1; m < N; ++m) {
            const int head = w_.heads[m];
            if (head == gold_[m]) continue;
            ++loss;
            violation += static_cast<double>(score_of(head, m)) - score_of(gold_[m], m);
            change(head, m, -1.0f, bought(head, m));
            change(gold_[m], m, 1.0f, bought(gold_[m], m));
        }
        if (loss == 0) return;
        if (s.second_order) violation += change_pairs(bought);
        if (!s.loss_augmented) violation += loss;
        double step = s.step;
        if (s.mira) {
            const double norm2 = difference_.norm2();
            if (!(violation > 0) || norm2 == 0) return;
            step = std::min(step, violation / norm2);
        }
        difference_.add_to(groups_, step);
    }

    void learn_labels(const Treebank& t, const Treebank::Sentence& range) {
        gold_labels_.assign(1, -1);
        for (std::uint32_t w = range.first; w < range.last; ++w) {
            const auto at = label_numbers_.find(t.field(w, kDeprel));
            gold_labels_.push_back(at == label_numbers_.end() ? -1 : at->second);
        }
        label_learner_->learn(x_.atoms, gold_.data(), gold_labels_.data(), kLabelStep);
    }

    // The pruner is a softmax over the heads of each word, by maximum likelihood: one step of gradient descent. A model
    // that is trained on whole trees parses better, but ranks the heads of a word worse.
    void learn_pruner(const Limits& limits, double rate) {
        constexpr float kNegligible = 1e-3f;
        Arcs& arcs = x_.chosen.arcs;
        std::vector<float>& scores = w_.scores;
        w_.scorer.begin(x_.atoms, pruner_->table, &pruner_->table);
        arcs.begin(x_.atoms.tags(), x_.atoms.coarse_tags(), x_.atoms.n());
        arcs.list<false>(limits);
        scores.resize(static_cast<std::size_t>(arcs.size()));
        w_.scorer.score(kPruner, arcs.view(), scores.data());
        difference_.clear();
        arcs.each_word([&](int m, int first, int last) {
            const float best = *std::max_element(scores.begin() + first, scores.begin() + last);
            float sum = 0;
            for (int i = first; i < last; ++i) sum += scores[i] = std::exp(scores[i] - best);
            for (int i = first; i < last; ++i) {
                const float gradient = (arcs.head(i) == gold_[m]) - scores[i] / sum;
                if (std::abs(gradient) < kNegligible) continue;
                w_.scorer.features(kPruner, arcs, i, [&](std::uint32_t at) { difference_.add(at, gradient); });
            }
        });
        difference_.add_to(*pruner_, rate);
        pruner_->before += 1;
    }

    // Draws the words that have the costly group.
    void choose_state(const Settings& s, int N, std::uint64_t random) {
        state_.assign(static_cast<std::size_t>(N), s.n_groups > 1);
        if (!s.random_states || s.n_groups < 2) return;
        const auto draw = [&] { return uniform(random = mix(random)); };
        const double kind = draw(), p = kind < 0.1 ? 0.0 : kind < 0.2 ? 1.0 : draw();
        for (int i = 0; i < N; ++i) state_[i] = draw() < p;
    }

    void change(int h, int m, float value, bool costly) {
        changed_.begin(x_.atoms.tags(), x_.atoms.coarse_tags(), x_.atoms.n());
        changed_.add(h, m);
        changed_.find_contexts();
        for (int g = 0; g <= (costly ? 1 : 0); ++g)
            w_.scorer.features(g, changed_, 0, [&](std::uint32_t i) { difference_.add(i, value); });
    }

    // Adds the pairs of the right tree that the other one lacks to the difference, and subtracts those that it has
    // instead. Returns their loss of score.
    template <class Bought>
    double change_pairs(Bought&& bought) {
        double loss = 0;
        w_.second_order.list(w_.heads.data(), wrong_pairs_);
        w_.second_order.list(gold_.data(), right_pairs_);
        const auto count = [&](const ArcPairs& p, float value) {
            if (!bought(p.head, p.modifier)) return;
            loss -= value * static_cast<double>(w_.second_order.score(p));
            w_.second_order.features(p, [&](std::uint32_t i) { difference_.add(i, value); });
        };
        for (std::size_t m = 1; m < right_pairs_.size(); ++m)
            if (wrong_pairs_[m] != right_pairs_[m]) count(wrong_pairs_[m], -1.0f), count(right_pairs_[m], 1.0f);
        return loss;
    }

    static constexpr double kLabelStep = 0.05;
    Lexicon lexicon_;
    LengthFilter filter_;
    std::map<std::string, std::int32_t, std::less<>> label_numbers_;
    std::vector<std::string> labels_;
    std::optional<LabelLearner> label_learner_;
    Averaged<Weights> groups_;
    std::optional<Averaged<Weights>> pruner_;
    int epochs_ = 0, pruner_epochs_ = 0;
    Worker w_;
    Sentence x_;
    Arcs changed_;
    Difference difference_;
    std::vector<std::int32_t> gold_, gold_labels_;  // of the words, behind the root's -1
    std::vector<int> first_;                        // [modifier] index of its first arc
    std::vector<ArcPairs> wrong_pairs_, right_pairs_;
    std::vector<char> state_;  // whether a word has the costly group
};

}  // namespace wald::parser
