// Sources of votes of weak hypotheses: stumps are evaluated here, unit by unit; other votes come in tables.
#pragma once

#include "online/examples.hpp"
#include "online/units.hpp"

namespace wald::online {

// First hypothesis of every unit, and the number of hypotheses.
inline std::vector<std::int32_t> beginnings(const Units& units) {
    std::vector<std::int32_t> at{0};
    for (std::int32_t size : units.size) at.push_back(at.back() + size);
    return at;
}

// Hypothesis j votes 1 where x[features[j]] > thresholds[j], and -1 elsewhere.
template <class T>
struct Stumps {
    std::int64_t n_features = 0;
    std::vector<std::int32_t> features;
    std::vector<T> thresholds;
};

// Evaluates stumps on one row after the other, unit by unit.
template <class T>
class StumpVotes {
public:
    StumpVotes(const Stumps<T>& stumps, const Units& units, std::int64_t n_columns)
        : stumps_(stumps), begin_(beginnings(units)), votes_(static_cast<std::size_t>(n_columns)),
          available_(units.size.size()) {}

    void start(const T* x, std::int64_t id) {
        x_ = x;
        id_ = id;
        std::fill(available_.begin(), available_.end(), std::uint8_t{0});
    }
    const T* row() const { return votes_.data(); }
    // Computes the votes of a unit. Returns true: they are always available.
    bool read(std::int32_t unit) {
        const std::size_t u = static_cast<std::size_t>(unit);
        if (available_[u]) return true;
        available_[u] = 1;
        const std::size_t from = static_cast<std::size_t>(begin_[u]);
        if (!online_kernels<T>().stumps(&stumps_.features[from], &stumps_.thresholds[from], begin_[u + 1] - begin_[u],
                                        x_, &votes_[from]))
            throw NotFinite(id_);
        return true;
    }

private:
    const Stumps<T>& stumps_;
    const std::vector<std::int32_t> begin_;
    std::vector<T> votes_;
    std::vector<std::uint8_t> available_;
    const T* x_ = nullptr;
    std::int64_t id_ = 0;
};

// Access to the features of rows as contiguous arrays: dense rows in place, CSR rows expanded one at a time.
template <class T>
struct DenseFeatures {
    const DenseBlock<T>& block;
    std::int64_t n_rows() const { return block.n_rows; }
    template <class F>
    void with(std::int64_t r, F f) {
        f(block.data + r * block.stride);
    }
};

template <class T>
struct SparseFeatures {
    const SparseBlock<T>& block;
    std::vector<T> x;  // all zero between rows
    SparseFeatures(const SparseBlock<T>& b, std::int64_t n_features)
        : block(b), x(static_cast<std::size_t>(n_features)) {}
    std::int64_t n_rows() const { return block.n_rows; }
    template <class F>
    void with(std::int64_t r, F f) {
        const SparseRow<T> row = block.row(r);
        for (std::int64_t k = 0; k < row.n; ++k) x[static_cast<std::size_t>(row.features[k])] += row.values[k];
        f(x.data());
        for (std::int64_t k = 0; k < row.n; ++k) x[static_cast<std::size_t>(row.features[k])] = T(0);
    }
};

// Votes that the caller computes, unit by unit, for some rows at once. Missing ones are marked as requested.
template <class T>
struct Table {
    const T* votes;                 // [row][hypothesis], `n_columns` apart
    const std::uint8_t* available;  // [row][unit]
    std::uint8_t* requested;        // [row][unit]
    std::int64_t n_rows, n_columns, n_units;
};

template <class T>
class TableVotes {
public:
    TableVotes(const Table<T>& table, std::int64_t r)
        : votes_(table.votes + r * table.n_columns), available_(table.available + r * table.n_units),
          requested_(table.requested + r * table.n_units) {}
    const T* row() const { return votes_; }
    bool read(std::int32_t unit) {
        if (available_[unit]) return true;
        requested_[unit] = 1;
        return false;
    }

private:
    const T* votes_;
    const std::uint8_t* available_;
    std::uint8_t* requested_;
};

}  // namespace wald::online
