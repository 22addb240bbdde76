// The structured perceptron with a Hamming margin, averaged (Collins, 2002).
#pragma once

#include "examples.hpp"

namespace wald::chain {

class Perceptron {
public:
    Perceptron(Weights weights, float margin) : w_(std::move(weights)), margin_(margin) {
        for (const auto& b : w_.blocks()) block_sums_.emplace_back(b.size());
        for (const auto& b : w_.biases()) bias_sums_.emplace_back(b.size());
        step_sums_ = Aligned<double>(w_.n_steps());
    }

    // One turn over the sequences, in this order. Returns the labels that it got wrong, margin included.
    std::int64_t epoch(const Examples& data, std::span<const std::int64_t> order, std::uint64_t turn) {
        std::int64_t wrong = 0;
        for (const std::int64_t sequence : order) {
            count_ += 1;
            data.draw(sequence, turn, w_.n_groups(), states_);
            scored_.read(w_, data, sequence, states_, margin_);
            guess_.resize(static_cast<std::size_t>(scored_.length()));
            decoder_.best(scored_.lattice(), guess_.data());
            wrong += update(data, data.offsets[sequence]);
        }
        return wrong;
    }

    const Weights& weights() const { return w_; }
    Weights averaged() const {
        Weights mean = w_;
        const auto settle = [&](Aligned<float>& to, const Aligned<double>& sums) {
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(to[i] - sums[i] / std::max(1.0, count_));
        };
        for (std::size_t i = 0; i < block_sums_.size(); ++i) settle(mean.blocks()[i], block_sums_[i]);
        for (std::size_t i = 0; i < bias_sums_.size(); ++i) settle(mean.biases()[i], bias_sums_[i]);
        for (std::size_t i = 0; i < w_.n_steps(); ++i)
            mean.steps()[i] = static_cast<float>(mean.steps()[i] - step_sums_[i] / std::max(1.0, count_));
        return mean;
    }

private:
    std::int64_t update(const Examples& data, std::int64_t first) {
        std::int64_t wrong = 0;
        const std::int64_t n = scored_.length();
        for (std::int64_t t = 0; t < n; ++t) {
            const int truth = data.labels[first + t], guess = guess_[t];
            if (truth != guess) {
                ++wrong;
                move(data, first + t, states_[t], truth, 1.0f);
                move(data, first + t, states_[t], guess, -1.0f);
            }
            if (t > 0 && (truth != guess || data.labels[first + t - 1] != guess_[t - 1])) {
                shift(w_.steps(), step_sums_, static_cast<std::int64_t>(data.labels[first + t - 1]) * w_.padded() + truth, 1.0f);
                shift(w_.steps(), step_sums_, static_cast<std::int64_t>(guess_[t - 1]) * w_.padded() + guess, -1.0f);
            }
        }
        return wrong;
    }
    // What is added at turn c is missing from the c - 1 sums before: averages subtract it again, c - 1 times.
    void shift(float* w, Aligned<double>& sums, std::int64_t at, float by) {
        w[at] += by;
        sums[static_cast<std::size_t>(at)] += (count_ - 1) * static_cast<double>(by);
    }
    void move(const Examples& data, std::int64_t part, int state, int label, float by) {
        shift(w_.bias(state), bias_sums_[static_cast<std::size_t>(state)], label, by);
        for (int g = 0; g < w_.n_groups(); ++g) {
            if (!Weights::has(state, g)) continue;
            float* block = w_.block(state, g);
            Aligned<double>& sums = block_sums_[static_cast<std::size_t>(w_.block_index(state, g))];
            Weights::each_run(data.groups[g], part, [&](std::int64_t from, const float* values, int n) {
                for (int i = 0; i < n; ++i)
                    if (values[i] != 0) shift(block, sums, (from + i) * w_.padded() + label, by * values[i]);
            });
        }
    }

    Weights w_;
    float margin_;
    double count_ = 0;
    std::vector<Aligned<double>> block_sums_, bias_sums_;
    Aligned<double> step_sums_;
    Decoder decoder_;
    Scored scored_;
    std::vector<int> states_;
    std::vector<std::int32_t> guess_;
};

}  // namespace wald::chain
