// Online learning of averaged arc weights, sentence by sentence.
//
// Averaged structured perceptron: M. Collins, EMNLP 2002. k = 1 MIRA with loss-augmented decoding: McDonald, Crammer
// and Pereira, ACL 2005, section 2.3; the step is min(C, (loss - margin) / |difference of features|^2).
#pragma once

#include <map>
#include <optional>

#include "parser/model.hpp"
#include "parser/pruner.hpp"

namespace wald::parser {

struct LearnerSettings {
    Settings parse;
    bool mira = true;            // or perceptron
    double step = 0.01;          // MIRA's C; the perceptron's learning rate
    bool random_states = false;  // words get the costly group at random, with p ~ U(0, 1), 0 or 1 per sentence
    bool by_head = false;        // a word's state is that of the arcs it is the head of
    bool loss_augmented = true;
    double label_step = 0.05;
};

class Learner {
public:
    // Takes tags and relations from the first treebank. With label_bits = 0 no relations are learnt.
    Learner(const Treebank& t, int table_bits, int label_bits, int pruner_bits)
        : lexicon_(Lexicon::of(t)), filter_(lexicon_.fine.n_tags()), groups_(table_bits, lexicon_.fine.n_tags()) {
        if (pruner_bits > 0) pruner_.emplace(pruner_bits, lexicon_.fine.n_tags());
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

    // Runs one epoch over sentences in the given order. Call extend_filter() with all of them first.
    void run_epoch(const Treebank& t, const std::int64_t* order, std::int64_t n, const FilterSettings& f,
                   const LearnerSettings& s, std::uint64_t seed) {
        if (++epochs_ == 2) groups_.restart();
        const Limits limits = f.limits(filter_);
        for (std::int64_t k = 0; k < n; ++k) {
            give_way();
            const auto sentence = static_cast<std::size_t>(order[k]);
            with_error_location(t, sentence,
                                [&] { learn(t, sentence, limits, s, mix(seed + static_cast<std::uint64_t>(k))); });
            groups_.end_step();
        }
    }
    // Runs one epoch for the pruner, which does not use the feature groups.
    void run_pruner_epoch(const Treebank& t, const std::int64_t* order, std::int64_t n, const FilterSettings& f,
                          double rate) {
        pruner_->begin_epoch();
        const Limits limits = f.limits(filter_);
        Atoms atoms;
        for (std::int64_t k = 0; k < n; ++k) {
            give_way();
            const Treebank::Sentence& range = t.sentences[static_cast<std::size_t>(order[k])];
            atoms.read(t, static_cast<std::size_t>(order[k]), lexicon_);
            read_gold(t, range);
            with_error_location(t, static_cast<std::size_t>(order[k]),
                                [&] { pruner_->learn(atoms, gold_.data(), limits, rate); });
        }
    }

    // Returns the weights averaged over all steps, without the first epoch if there are more: early weights vary most.
    Model model() const {
        Model m{lexicon_, filter_, groups_.mean(), labels_, {}, {}};
        if (pruner_) m.pruner = pruner_->mean();
        if (label_learner_) {
            m.label_weights = LabelWeights(label_learner_->weights().bits, label_learner_->weights().n_labels);
            label_learner_->average(m.label_weights.values.data());
        }
        return m;
    }

private:
    void read_gold(const Treebank& t, const Treebank::Sentence& range) {
        gold_.assign(1, -1);
        for (std::uint32_t w = range.first; w < range.last; ++w) gold_.push_back(t.words[w].head);
    }

    void learn(const Treebank& t, std::size_t sentence, const Limits& limits, const LearnerSettings& s,
               std::uint64_t random) {
        const Treebank::Sentence& range = t.sentences[sentence];
        parser_.begin(t, sentence, lexicon_, groups_.weights(), nullptr);
        const int N = parser_.atoms().n();
        read_gold(t, range);
        if (label_learner_) learn_labels(t, range, s);
        choose_state(s, N, random);
        score(limits, s);

        const Arcs& arcs = parser_.chosen().arcs();
        std::vector<float>& scores = parser_.scores();
        first_.assign(1, 0);
        for (int m = 1, i = 0; m <= N; ++m) {
            while (i < arcs.size() && arcs.modifier(i) < m) ++i;
            first_.push_back(i);
        }
        if (s.loss_augmented)
            for (int i = 0; i < arcs.size(); ++i) {
                scores[i] += 1.0f;
                if (arcs.head(i) == gold_[arcs.modifier(i)]) scores[i] -= 1.0f;
            }
        const auto score_of = [&](int h, int m) {
            for (int i = first_[m]; i < first_[m + 1]; ++i)
                if (arcs.head(i) == h) return scores[i];
            return -std::numeric_limits<float>::infinity();
        };
        heads_.resize(static_cast<std::size_t>(N));
        if (!parser_.decode(s.parse, heads_.data())) return;

        difference_.clear();
        int loss = 0;
        double violation = 0;  // loss - margin
        for (int m = 1; m < N; ++m) {
            if (heads_[m] == gold_[m]) continue;
            ++loss;
            violation += static_cast<double>(score_of(heads_[m], m)) - score_of(gold_[m], m);
            change(heads_[m], m, -1.0f, s);
            change(gold_[m], m, 1.0f, s);
        }
        if (loss == 0) return;
        if (!s.loss_augmented) violation += loss;
        double step = s.step;
        if (s.mira) {
            const double norm2 = difference_.norm2();
            if (!(violation > 0) || norm2 == 0) return;
            step = std::min(step, violation / norm2);
        }
        groups_.add(difference_, step);
    }

    void learn_labels(const Treebank& t, const Treebank::Sentence& range, const LearnerSettings& s) {
        gold_labels_.assign(1, -1);
        for (std::uint32_t w = range.first; w < range.last; ++w) {
            const auto at = label_numbers_.find(t.field(w, kDeprel));
            gold_labels_.push_back(at == label_numbers_.end() ? -1 : at->second);
        }
        label_learner_->learn(parser_.atoms(), gold_.data(), gold_labels_.data(), s.label_step);
    }

    void choose_state(const LearnerSettings& s, int N, std::uint64_t random) {
        state_.assign(static_cast<std::size_t>(N), s.parse.n_groups > 1);
        if (!s.random_states || s.parse.n_groups < 2) return;
        auto uniform = [&] { return static_cast<double>((random = mix(random)) >> 11) * 0x1p-53; };
        const double kind = uniform(), p = kind < 0.1 ? 0.0 : kind < 0.2 ? 1.0 : uniform();
        for (int i = 0; i < N; ++i) state_[i] = uniform() < p;
    }

    void score(const Limits& limits, const LearnerSettings& s) {
        if (!s.random_states || s.parse.n_groups < 2) return parser_.score({limits}, s.parse.n_groups);
        parser_.score_some({limits}, [&](int h, int m) { return state_[owner_of(h, m, s.by_head)] != 0; });
    }

    void change(int h, int m, float value, const LearnerSettings& s) {
        changed_.begin(parser_.atoms().tags(), parser_.atoms().coarse_tags(), parser_.atoms().n());
        changed_.add(h, m);
        changed_.find_contexts();
        for (int g = 0; g < s.parse.n_groups; ++g)
            if (g == 0 || state_[owner_of(h, m, s.by_head)] != 0)
                parser_.scorer().features(g, changed_, 0, [&](std::uint32_t i) { difference_.add(i, value); });
    }

    Lexicon lexicon_;
    LengthFilter filter_;
    std::map<std::string, std::int32_t, std::less<>> label_numbers_;
    std::vector<std::string> labels_;
    std::optional<LabelLearner> label_learner_;
    AveragedWeights groups_;
    std::optional<PrunerLearner> pruner_;
    int epochs_ = 0;
    SentenceParser parser_;
    Arcs changed_;
    Difference difference_;
    std::vector<std::int32_t> gold_, gold_labels_, heads_;
    std::vector<int> first_;  // [modifier] index of its first arc
    std::vector<char> state_;
};

}  // namespace wald::parser
