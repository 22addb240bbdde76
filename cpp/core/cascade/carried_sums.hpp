// The running sums that a chunk's rows carry from stage to stage, and the estimates that are made of them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arena.hpp"
#include "core/cascade/margins.hpp"
#include "core/cascade/running_sums.hpp"

namespace wald {

// A weighted sum of running sums, of which those without a weight are left out.
struct Mixture {
    float bias;
    std::vector<int> sums;
    std::vector<float> weights;

    template <class Weight>
    Mixture(double start, int first, int n, const Weight& weight) : bias(static_cast<float>(start)) {
        for (int s = 0; s < n; ++s) {
            if (weight(s) == 0) continue;
            sums.push_back(first + s);
            weights.push_back(static_cast<float>(weight(s)));
        }
    }
    int size() const { return static_cast<int>(sums.size()); }
};

// Sum s of an output has the number output * n_sums + s, and one value per row.
class CarriedSums {
public:
    CarriedSums(int n_outputs, int n_sums, std::int64_t capacity)
        : n_outputs_(n_outputs), n_sums_(n_sums), capacity_(capacity) {}

    std::size_t bytes() const {
        return Arena::bytes<float>(size() * capacity_) + Arena::bytes<float>(size() * kTileRows) +
               2 * Arena::bytes<float*>(size());
    }
    void take(Arena& arena) {
        sums_ = arena.take<float>(size() * capacity_);
        part_ = arena.take<float>(size() * kTileRows);
        pointers_ = arena.take<float*>(size());
        parts_ = arena.take<float*>(size());
    }

    std::int64_t size() const { return std::int64_t{n_outputs_} * n_sums_; }
    float* of(std::int64_t s) const { return sums_ + s * capacity_; }
    void clear(std::int64_t n_rows) {
        for (std::int64_t s = 0; s < size(); ++s) std::fill_n(of(s), n_rows, 0.0f);
    }
    void move(std::int64_t from, std::int64_t to) {
        for (std::int64_t s = 0; s < size(); ++s) of(s)[to] = of(s)[from];
    }

    // Adds the leaves of group g of the trees to the sums of a tile whose rows begin at `first`. Full tiles have
    // `tile_rows` rows.
    void add(const SummedTrees& trees, int g, const Tile& tile, std::int64_t first, int tile_rows) {
        float* const* const sums = of_trees(trees, [&](int s) { return of(s) + first; });
        if (tile_rows % kPanelRows == 0) return trees.add(g, tile, sums);
        const std::size_t n = static_cast<std::size_t>(n_outputs_) * trees.sums().size();
        for (std::size_t s = 0; s < n; ++s) {  // whole panels are written, also into the next tile's rows
            parts_[s] = part_ + static_cast<std::int64_t>(s) * kTileRows;
            std::copy_n(sums[s], tile.n, parts_[s]);
        }
        trees.add(g, tile, parts_);
        for (std::size_t s = 0; s < n; ++s) std::copy_n(parts_[s], tile.n, sums[s]);
    }
    // Pointers to the sums to which these trees add, where sum_of(s) points to sum s.
    template <class SumOf>
    float* const* of_trees(const SummedTrees& trees, const SumOf& sum_of) {
        float** to = pointers_;
        for (int k = 0; k < n_outputs_; ++k)
            for (const int s : trees.sums()) *to++ = sum_of(k * n_sums_ + s);
        return pointers_;
    }

    // The mixtures of n rows, where sum_of(s) points to their values of sum s. Whole registers are written.
    template <class SumOf>
    void mix(const Mixture& mixture, int n, float* to, const SumOf& sum_of) {
        for (int j = 0; j < mixture.size(); ++j) pointers_[j] = sum_of(mixture.sums[j]);
        estimate_kernels().mix(mixture.bias, pointers_, mixture.weights.data(), mixture.size(), n, to);
    }

private:
    int n_outputs_, n_sums_;
    std::int64_t capacity_;
    float *sums_ = nullptr, *part_ = nullptr;  // of all rows; of a tile whose rows share a panel with others
    float **pointers_ = nullptr, **parts_ = nullptr;
};

}  // namespace wald
