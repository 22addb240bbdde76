// The structural SVM by block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher, 2013, algorithm 4):
//   min_w  lambda/2 |w|^2 + 1/n sum_i max_y [ H(y_i, y) - w . (psi(y_i) - psi(y)) ],  H the Hamming loss.
// The dual point of a sequence is stored as a mixture of paths, so that memory does not depend on the number of
// features.
#pragma once

#include "chain/examples.hpp"

namespace wald::chain {

class FrankWolfe {
public:
    // A sequence in several fixed states counts as several examples, `copies` of them.
    FrankWolfe(Weights start, double lambda, std::int64_t n_sequences, int copies)
        : learned_(std::move(start)), lambda_(lambda), n_(static_cast<double>(n_sequences) * copies), copies_(copies),
          mixes_(static_cast<std::size_t>(n_sequences) * copies) {}

    // Runs one epoch over examples, each given as sequence * copies + copy.
    void epoch(const Examples& data, std::span<const std::int64_t> order) {
        for (const std::int64_t id : order) {
            give_way();
            n_steps_ += 1;
            learned_.before = n_steps_ * (n_steps_ - 1);
            move(data, id);
        }
    }

    const Weights& weights() const { return learned_.table; }
    // Average over all steps, where step k has weight 2 k: the paper's "weighted averaging".
    Weights averaged() const { return learned_.mean(n_steps_ * (n_steps_ + 1)); }

    // Primal minus dual objective, of the last weights or of the averaged ones.
    double gap(const Examples& data, bool average) {
        const Weights w = average ? averaged() : weights();
        const double loss = average ? loss_ - late_loss_ / std::max(1.0, n_steps_ * (n_steps_ + 1)) : loss_;
        double square = 0, hinge = 0;
        for (std::size_t i = 0; i < w.values.size(); ++i)
            if (std::isfinite(w.values[i])) square += static_cast<double>(w.values[i]) * w.values[i];
        for (std::int64_t id = 0; id < static_cast<std::int64_t>(mixes_.size()); ++id) {
            give_way();
            decode(w, data, id);
            hinge += guess_.excess(guess_.labels().data());
        }
        return lambda_ * square + hinge / n_ - loss;
    }

private:
    struct Path {
        std::vector<std::int32_t> labels;
        double share;
    };
    struct Mix {
        std::vector<Path> paths;  // without the truth, which has the remaining share
        double loss = 0;          // expected Hamming loss, divided by n
    };
    struct WeightedLabel {
        int label;
        double weight;
    };
    struct WeightedStep {
        int from, to;
        double weight;
    };

    // Decodes an example in its fixed state. Of several copies, one has all groups, one no costly group, the others
    // random groups.
    void decode(const Weights& w, const Examples& data, std::int64_t id) {
        const std::int64_t sequence = id / copies_, copy = id % copies_;
        data.draw(sequence, static_cast<std::uint64_t>(copy), states_);
        if (copies_ > 1 && copy < 2)
            std::fill(states_.begin(), states_.end(), copy == 0 ? data.everything() : std::uint8_t{0});
        guess_.make(w, data, sequence, states_, 1.0f);
    }

    // Steps towards the most violating path, with exact line search on the dual.
    void move(const Examples& data, std::int64_t id) {
        decode(learned_.table, data, id);
        const std::int64_t first = data.offsets[id / copies_], n = guess_.length();
        Mix& mix = mixes_[id];
        difference(mix);
        double loss = 0, mixed = 0;
        for (std::int64_t t = 0; t < n; ++t) loss += guess_.labels()[t] != guess_.truth()[t];
        for (const Path& p : mix.paths) mixed += p.share * guess_.excess(p.labels.data());
        const double gain = (guess_.excess(guess_.labels().data()) - mixed) / n_;
        if (gain <= 0) return;
        const double size = squared(data, first, n) / (lambda_ * n_ * n_);
        const double gamma = size > 0 ? std::min(1.0, gain / size) : 1.0;
        apply(data, first, n, -gamma / (lambda_ * n_));
        const double more = gamma * (loss / n_ - mix.loss);
        mix.loss += more;
        loss_ += more;
        late_loss_ += learned_.before * more;
        for (Path& p : mix.paths) p.share *= 1 - gamma;
        std::erase_if(mix.paths, [](const Path& p) { return p.share == 0; });
        if (loss == 0) return;
        const auto same = std::find_if(mix.paths.begin(), mix.paths.end(),
                                       [&](const Path& p) { return p.labels == guess_.labels(); });
        if (same != mix.paths.end()) same->share += gamma;
        else mix.paths.push_back({guess_.labels(), gamma});
    }

    // Computes D = psi(guess) - E psi, as weighted labels of each part and weighted steps.
    void difference(const Mix& mix) {
        nodes_.resize(static_cast<std::size_t>(guess_.length()));
        for (auto& at : nodes_) at.clear();
        steps_.clear();
        double left = 1;
        for (const Path& p : mix.paths) left -= p.share;
        count(guess_.labels().data(), 1);
        for (const Path& p : mix.paths) count(p.labels.data(), -p.share);
        count(guess_.truth(), -left);
        for (auto& at : nodes_) std::erase_if(at, [](const WeightedLabel& d) { return std::abs(d.weight) < 1e-12; });
        std::sort(steps_.begin(), steps_.end(), [](const WeightedStep& a, const WeightedStep& b) {
            return a.from != b.from ? a.from < b.from : a.to < b.to;
        });
        std::size_t kept = 0;
        for (const WeightedStep& s : steps_) {
            if (kept > 0 && steps_[kept - 1].from == s.from && steps_[kept - 1].to == s.to)
                steps_[kept - 1].weight += s.weight;
            else steps_[kept++] = s;
        }
        steps_.resize(kept);
    }
    void count(const std::int32_t* labels, double by) {
        for (std::size_t t = 0; t < nodes_.size(); ++t) {
            auto& at = nodes_[t];
            const auto known =
                std::find_if(at.begin(), at.end(), [&](const WeightedLabel& d) { return d.label == labels[t]; });
            if (known == at.end()) at.push_back({labels[t], by});
            else known->weight += by;
            if (t > 0) steps_.push_back({labels[t - 1], labels[t], by});
        }
    }

    // |D|^2 in the space of the weights: two parts contribute where they share features and labels.
    double squared(const Examples& data, std::int64_t first, std::int64_t n) const {
        double sum = 0;
        for (const WeightedStep& s : steps_) sum += s.weight * s.weight;
        for (std::int64_t t = 0; t < n; ++t)
            for (std::int64_t u = t; u < n; ++u) {
                double labels = 0;
                for (const WeightedLabel& a : nodes_[t])
                    for (const WeightedLabel& b : nodes_[u])
                        if (a.label == b.label) labels += a.weight * b.weight;
                if (labels == 0) continue;
                const bool same = states_[t] == states_[u];
                double features = same ? 1 : 0;  // biases
                if (t == u) features += (t == 0) + (t == n - 1);
                for (int g = 0; g < learned_.table.n_groups(); ++g)
                    if (Weights::has(states_[t], g) && Weights::has(states_[u], g) && (same || !learned_.table.own()))
                        features += product(data.features[g][first + t], data.features[g][first + u]);
                sum += (t == u ? 1 : 2) * labels * features;
            }
        return sum;
    }
    static double product(const Row& a, const Row& b) {
        double sum = 0;
        if (a.indices == nullptr && b.indices == nullptr)
            for (std::int64_t i = 0; i < std::min(a.n, b.n); ++i) sum += static_cast<double>(a.values[i]) * b.values[i];
        else if (a.indices == nullptr) return product(b, a);
        else if (b.indices == nullptr)
            for (std::int64_t i = 0; i < a.n; ++i) sum += static_cast<double>(a.values[i]) * b.values[a.indices[i]];
        else
            for (std::int64_t i = 0, j = 0; i < a.n && j < b.n;) {
                if (a.indices[i] == b.indices[j]) sum += static_cast<double>(a.values[i++]) * b.values[j++];
                else if (a.indices[i] < b.indices[j]) ++i;
                else ++j;
            }
        return sum;
    }

    void add(std::int64_t row, int label, float by) { learned_.change(learned_.table.place(row, label), by); }
    void apply(const Examples& data, std::int64_t first, std::int64_t n, double by) {
        for (std::int64_t t = 0; t < n; ++t)
            for (const WeightedLabel& d : nodes_[t]) {
                const auto scaled = static_cast<float>(by * d.weight);
                learned_.table.each_input(data.features, first, n, t, states_[t],
                                          [&](std::int64_t row, float value) { add(row, d.label, scaled * value); });
            }
        for (const WeightedStep& s : steps_)
            add(learned_.table.step_row(s.from), s.to, static_cast<float>(by * s.weight));
    }

    Averaged<Weights> learned_;
    double lambda_, n_;
    int copies_;
    std::vector<Mix> mixes_;
    double n_steps_ = 0, loss_ = 0, late_loss_ = 0;
    Guess guess_;
    States states_;
    std::vector<std::vector<WeightedLabel>> nodes_;
    std::vector<WeightedStep> steps_;
};

}  // namespace wald::chain
