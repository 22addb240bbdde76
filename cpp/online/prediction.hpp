// Prediction for rows of unknown class with fixed weights: a row stops once the sign of its margin is certain.
#pragma once

#include <optional>

#include "online/boundary.hpp"
#include "online/examples.hpp"

namespace wald::online {

template <class T>
struct Prediction {
    Weights<T> w;
    Boundary<T> both;

    // Rows are read in full if `width` is missing or no boundary can be fitted.
    Prediction(Config c, const Units& units, const Weights<T>& model, std::int64_t step,
               const std::array<Boundary<T>, 2>& boundaries, const std::array<Counts, 2>& audits, bool average,
               std::optional<double> width)
        : w(c.n_features, false) {
        c.attention = Attention::conditional;
        c.order = Order::selected;
        std::vector<double> coef(static_cast<std::size_t>(c.n_features));
        model.answer(c, step, average, coef.data(), &w.b);
        for (std::size_t j = 0; j < coef.size(); ++j) w.w[j] = static_cast<T>(coef[j]);
        if (!width) return;
        double share[2];
        const std::int64_t rows[2] = {1 + audits[0].rows, 1 + audits[1].rows};
        for (int y = 0; y < 2; ++y) share[y] = static_cast<double>(rows[y]) / static_cast<double>(rows[0] + rows[1]);
        both.fit_both(c, units, w, boundaries, share);
        both.width = *width;
    }

    // Writes the estimated margin at a checkpoint, and returns whether its sign is certain.
    bool is_certain(int checkpoint, const T* x, double* margin) const {
        const WeightedPieces<T>* pieces = &both.at_checkpoint(checkpoint);
        T z;
        online_kernels<T>().scores(&pieces, &x, 1, &z);
        *margin = static_cast<double>(z);
        return std::abs(*margin) > both.half_width(checkpoint, 1);
    }
    double full(const Config& c, const T* x) const {
        return static_cast<double>(online_kernels<T>().dot(w.w.data(), x, c.n_features)) + w.b;
    }
};

}  // namespace wald::online
