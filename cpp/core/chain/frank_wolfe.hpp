// The structural SVM by block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher, 2013, algorithm 4):
//   min_w  lambda/2 |w|^2 + 1/n sum_i max_y [ H(y_i, y) - w . (psi(y_i) - psi(y)) ],  H the Hamming loss.
// The dual point of a sequence is kept as the paths that it mixes, so that memory does not depend on the number of features.
#pragma once

#include "examples.hpp"

namespace wald::chain {

class FrankWolfe {
public:
    // The same sequence under several fixed states counts as several examples: `copies` of them.
    FrankWolfe(Weights weights, double lambda, std::int64_t n_sequences, int copies)
        : w_(std::move(weights)), lambda_(lambda), n_(static_cast<double>(n_sequences) * copies), copies_(copies),
          mixes_(static_cast<std::size_t>(n_sequences) * copies) {}

    // One turn over (sequence, copy), given as sequence * copies + copy. Returns the duality gap summed on the way, which is exact
    // only if no step was taken: see `gap`.
    double epoch(const Examples& data, std::span<const std::int64_t> order) {
        double gap = 0;
        for (const std::int64_t id : order) gap += visit(data, id, true);
        return gap;
    }
    // The duality gap of the weights as they are.
    double gap(const Examples& data) {
        double gap = 0;
        for (std::int64_t id = 0; id < static_cast<std::int64_t>(mixes_.size()); ++id) gap += visit(data, id, false);
        return gap;
    }
    const Weights& weights() const { return w_; }

private:
    struct Path {
        std::vector<std::int32_t> labels;
        double share;
    };
    struct Mix {
        std::vector<Path> paths;  // besides the truth, whose share is what is left
        double loss = 0;          // expected Hamming loss, divided by n
    };
    struct Weighted {
        int label;
        double by;
    };

    double visit(const Examples& data, std::int64_t id, bool move) {
        const std::int64_t sequence = id / copies_, first = data.offsets[sequence];
        const std::int32_t* truth = data.labels + first;
        draw(data, sequence, static_cast<int>(id % copies_));
        scored_.read(w_, data, sequence, states_, 1.0f);
        const std::int64_t n = scored_.length();
        guess_.resize(static_cast<std::size_t>(n));
        decoder_.best(scored_.lattice(), guess_.data());
        Mix& mix = mixes_[static_cast<std::size_t>(id)];
        difference(mix, truth, n);  // psi(guess) - E psi, label by label and step by step
        double loss = 0, along = 0;
        for (std::int64_t t = 0; t < n; ++t) {
            loss += guess_[t] != truth[t];
            // scores hold the margin, which is no part of the model
            for (const Weighted& d : nodes_[t]) along += d.by * (scored_.node(t, d.label) - (d.label != truth[t] ? 1.0 : 0.0));
        }
        for (const auto& [at, by] : steps_) along += by * w_.steps()[at];
        const double gain = along / n_ - mix.loss + loss / n_;
        if (!move || gain <= 0) return std::max(0.0, gain);
        const double size = squared(data, first, n) / (lambda_ * n_ * n_);
        const double gamma = size > 0 ? std::min(1.0, gain / size) : 1.0;
        apply(data, first, n, static_cast<float>(-gamma / (lambda_ * n_)));
        for (Path& p : mix.paths) p.share *= 1 - gamma;
        mix.loss = (1 - gamma) * mix.loss + gamma * loss / n_;
        std::erase_if(mix.paths, [](const Path& p) { return p.share == 0; });
        if (loss > 0) {
            const auto same = std::find_if(mix.paths.begin(), mix.paths.end(), [&](const Path& p) { return p.labels == guess_; });
            if (same != mix.paths.end()) same->share += gamma;
            else mix.paths.push_back({guess_, gamma});
        }
        return gain;
    }

    // Fixed states: everything, nothing costly, then random ones.
    void draw(const Examples& data, std::int64_t sequence, int copy) {
        data.draw(sequence, static_cast<std::uint64_t>(copy), w_.n_groups(), states_);
        if (copies_ > 1 && copy < 2) std::fill(states_.begin(), states_.end(), copy == 0 ? (1 << (w_.n_groups() - 1)) - 1 : 0);
    }

    void difference(const Mix& mix, const std::int32_t* truth, std::int64_t n) {
        nodes_.resize(static_cast<std::size_t>(n));
        for (auto& at : nodes_) at.clear();
        steps_.clear();
        double left = 1;
        for (const Path& p : mix.paths) left -= p.share;
        const auto count = [&](const std::int32_t* labels, double by) {
            for (std::int64_t t = 0; t < n; ++t) {
                auto& at = nodes_[t];
                const auto known = std::find_if(at.begin(), at.end(), [&](const Weighted& d) { return d.label == labels[t]; });
                if (known == at.end()) at.push_back({labels[t], by});
                else known->by += by;
                if (t > 0) steps_.push_back({static_cast<std::int64_t>(labels[t - 1]) * w_.padded() + labels[t], by});
            }
        };
        count(guess_.data(), 1);
        for (const Path& p : mix.paths) count(p.labels.data(), -p.share);
        count(truth, -left);
        for (auto& at : nodes_) std::erase_if(at, [](const Weighted& d) { return std::abs(d.by) < 1e-12; });
        std::sort(steps_.begin(), steps_.end());
        std::size_t kept = 0;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (kept > 0 && steps_[kept - 1].first == steps_[i].first) steps_[kept - 1].second += steps_[i].second;
            else steps_[kept++] = steps_[i];
        }
        steps_.resize(kept);
    }

    // |D|^2 of the difference, in the space of the weights: parts meet where they share features and labels.
    double squared(const Examples& data, std::int64_t first, std::int64_t n) const {
        double sum = 0;
        for (const auto& [at, by] : steps_) sum += by * by;
        for (std::int64_t t = 0; t < n; ++t)
            for (std::int64_t u = t; u < n; ++u) {
                double labels = 0;
                for (const Weighted& a : nodes_[t])
                    for (const Weighted& b : nodes_[u])
                        if (a.label == b.label) labels += a.by * b.by;
                if (labels == 0) continue;
                double features = states_[t] == states_[u] ? 1 : 0;  // biases
                for (int g = 0; g < w_.n_groups(); ++g)
                    if (Weights::has(states_[t], g) && Weights::has(states_[u], g) && (!w_.own() || states_[t] == states_[u]))
                        features += product(data.groups[g], first + t, first + u);
                sum += (t == u ? 1 : 2) * labels * features;
            }
        return sum;
    }
    static double product(const Group& g, std::int64_t a, std::int64_t b) {
        double sum = 0;
        const std::int64_t i = g.row[a], j = g.row[b];
        if (g.indptr == nullptr) {
            for (std::int64_t f = 0; f < g.n_features; ++f)
                sum += static_cast<double>(g.values[i * g.n_features + f]) * g.values[j * g.n_features + f];
            return sum;
        }
        for (std::int64_t p = g.indptr[i], q = g.indptr[j]; p < g.indptr[i + 1] && q < g.indptr[j + 1];) {
            if (g.indices[p] == g.indices[q]) sum += static_cast<double>(g.values[p++]) * g.values[q++];
            else if (g.indices[p] < g.indices[q]) ++p;
            else ++q;
        }
        return sum;
    }

    void apply(const Examples& data, std::int64_t first, std::int64_t n, float by) {
        for (std::int64_t t = 0; t < n; ++t)
            for (const Weighted& d : nodes_[t]) {
                const float scaled = by * static_cast<float>(d.by);
                w_.bias(states_[t])[d.label] += scaled;
                for (int g = 0; g < w_.n_groups(); ++g) {
                    if (!Weights::has(states_[t], g)) continue;
                    float* block = w_.block(states_[t], g);
                    Weights::each_run(data.groups[g], first + t, [&](std::int64_t from, const float* values, int m) {
                        for (int i = 0; i < m; ++i) block[(from + i) * w_.padded() + d.label] += scaled * values[i];
                    });
                }
            }
        for (const auto& [at, d] : steps_) w_.steps()[at] += by * static_cast<float>(d);
    }

    Weights w_;
    double lambda_, n_;
    int copies_;
    std::vector<Mix> mixes_;
    Decoder decoder_;
    Scored scored_;
    std::vector<int> states_;
    std::vector<std::int32_t> guess_;
    std::vector<std::vector<Weighted>> nodes_;
    std::vector<std::pair<std::int64_t, double>> steps_;
};

}  // namespace wald::chain
