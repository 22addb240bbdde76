// Where the votes of weak hypotheses on a row come from: stumps are evaluated as units are read, others come in tables.
#pragma once

#include "online/examples.hpp"
#include "online/units.hpp"

namespace wald::online {

// Where units of hypotheses begin.
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

// The votes of stumps on one row after the other.
template <class T>
class StumpVotes {
public:
    StumpVotes(const Stumps<T>& stumps, const Units& units, std::int64_t n_columns)
        : stumps_(stumps), begin_(beginnings(units)), votes_(static_cast<std::size_t>(n_columns)),
          there_(units.size.size()) {}

    void start(const T* x, std::int64_t id) {
        x_ = x;
        id_ = id;
        std::fill(there_.begin(), there_.end(), std::uint8_t{0});
    }
    const T* row() const { return votes_.data(); }
    // A unit's votes; false if they cannot be had yet, which does not happen here.
    bool read(std::int32_t unit) {
        const std::size_t u = static_cast<std::size_t>(unit);
        if (there_[u]) return true;
        there_[u] = 1;
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
    std::vector<std::uint8_t> there_;
    const T* x_ = nullptr;
    std::int64_t id_ = 0;
};

// The features of rows, side by side: dense rows as they lie, CSR rows written out one at a time.
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

// Votes that are worked out elsewhere, unit by unit, for some rows at once: what is missing is asked for.
template <class T>
struct Table {
    const T* votes;             // [row][hypothesis], `n_columns` apart
    const std::uint8_t* there;  // [row][unit]
    std::uint8_t* wanted;       // [row][unit]
    std::int64_t n_rows, n_columns, n_units;
};

template <class T>
class TableVotes {
public:
    TableVotes(const Table<T>& table, std::int64_t r)
        : votes_(table.votes + r * table.n_columns), there_(table.there + r * table.n_units),
          wanted_(table.wanted + r * table.n_units) {}
    const T* row() const { return votes_; }
    bool read(std::int32_t unit) {
        if (there_[unit]) return true;
        wanted_[unit] = 1;
        return false;
    }

private:
    const T* votes_;
    const std::uint8_t* there_;
    std::uint8_t* wanted_;
};

}  // namespace wald::online
