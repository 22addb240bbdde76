// Learns which arcs deserve all features: a softmax over the heads of each word, from the tags of single words and
// between them, trained by maximum likelihood. A model trained on whole trees parses better, but ranks the heads of a
// word worse.
#pragma once

#include <cmath>

#include "parser/averaged.hpp"

namespace wald::parser {

class PrunerLearner {
public:
    PrunerLearner(int table_bits, int n_tags) : weights_(table_bits, n_tags) {}

    void begin_epoch() { weights_.begin_epoch(); }
    // One step of gradient descent; heads[m] is the right head of word m.
    void learn(const Atoms& atoms, const std::int32_t* heads, const Limits& limits, double rate) {
        scorer_.begin(atoms, weights_.weights(), &weights_.weights());
        arcs_.begin(atoms.tags(), atoms.coarse_tags(), atoms.n());
        arcs_.list<false>(limits);
        scores_.resize(static_cast<std::size_t>(arcs_.size()));
        scorer_.score(kPruner, arcs_.view(), scores_.data());
        difference_.clear();
        arcs_.each_word([&](int m, int first, int last) {
            const float best = *std::max_element(scores_.begin() + first, scores_.begin() + last);
            float sum = 0;
            for (int i = first; i < last; ++i) sum += scores_[i] = std::exp(scores_[i] - best);
            for (int i = first; i < last; ++i) {
                const float gradient = (arcs_.head(i) == heads[m]) - scores_[i] / sum;
                if (std::abs(gradient) < kNegligible) continue;
                scorer_.features(kPruner, arcs_, i, [&](std::uint32_t at) { difference_.add(at, gradient); });
            }
        });
        weights_.add(difference_, rate);
        weights_.end_step();
    }
    Weights mean() const { return weights_.mean(); }

private:
    static constexpr float kNegligible = 1e-3f;

    Averaged<Weights> weights_;
    Scorer scorer_;
    Arcs arcs_;
    Difference difference_;
    std::vector<float> scores_;
};

}  // namespace wald::parser
