// Answers for rows of unknown class, from a model at rest: a row is left once its sign is clear.
#pragma once

#include <optional>

#include "online/boundary.hpp"
#include "online/examples.hpp"

namespace wald::online {

template <class T>
struct Prediction {
    Weights<T> w;
    Boundary<T> both;

    // Without a width, rows are read to the end; likewise if nothing is known of them.
    Prediction(Config c, const Units& units, const Weights<T>& model, std::int64_t step,
               const std::array<Boundary<T>, 2>& of, const std::array<Counts, 2>& audits, bool average,
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
        both.fit_both(c, units, w, of, share);
        both.width = *width;
    }

    // Whether the sign is clear after a look, and the margin as it then appears.
    bool clear(int look, const T* x, double* margin) const {
        const WeightedPieces<T>* at = &both.look(look);
        T z;
        online_kernels<T>().scores(&at, &x, 1, &z);
        *margin = static_cast<double>(z);
        return std::abs(*margin) > both.slack(look, 1);
    }
    double full(const Config& c, const T* x) const {
        return static_cast<double>(online_kernels<T>().dot(w.w.data(), x, c.n_features)) + w.b;
    }
};

}  // namespace wald::online
