// Rows that are prepared and evaluated together.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/arena.hpp"
#include "core/cascade/terms.hpp"
#include "core/models/rows.hpp"
#include "core/thread_pool.hpp"

namespace wald {

inline constexpr std::size_t kScratchBytes = 12u << 20;  // per thread
inline constexpr std::int64_t kBatchRows = 512;

// Calls batch(begin, end) for batches of at most `most` of n rows; for each thread there is one of `least` rows or
// more.
template <class Use>
void each_batch(std::int64_t n, std::int64_t least, std::int64_t most, int n_threads, const Use& batch) {
    const std::int64_t shares = std::clamp<std::int64_t>(n / least, 1, n_threads);
    each_piece(n, std::clamp<std::int64_t>((n + shares - 1) / shares, 1, most), n_threads,
               [&](std::int64_t begin, std::int64_t end, int) { batch(begin, end); });
}

// A source that adds up the full scores of rows without values so far, with the same bits.
template <class S>
concept AddingSource = TermSource<S> && requires(const S& source) {
    { source.adds_up() } -> std::same_as<bool>;
};

// A source that evaluates several rows that are not CSR in full faster than one after the other, with the same bits.
template <class S>
concept BlockSource = TermSource<S> && requires(const S& source, const Rows& rows, const std::int64_t* ids, int n,
                                                double working, double* values) {
    { source.full_rows() } -> std::same_as<int>;
    // Writes the scores (n, n_outputs) and the bounds of their errors; `values` are scores, errors and work space.
    source.full_block(rows, ids, n, working, values, values, values);
};

// The rows are numbered in the order in which they were added. The state of a row lives in its slot.
template <TermSource Source>
class Batch {
public:
    using T = typename Source::Scalar;
    using Row = typename Source::Row;

    // Number of rows, at most `most`, whose slots of `width` values fit the scratch memory.
    static std::int64_t fitting(const Source& source, std::int64_t width, std::int64_t most) {
        const std::size_t row =
            Arena::bytes<T>(width) + Arena::bytes<T>(padded_outputs(source)) + source.row_bytes() + 64;
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(kScratchBytes / row), 1, most);
    }

    Batch(const Source& source, const RowSet& set, std::int64_t n, std::int64_t width)
        : source_(source), set_(set), width_(std::max<std::int64_t>(width, 1)), outputs_(padded_outputs(source)) {
        const std::int64_t work = std::max(outputs_, source.full_work());
        Arena& arena = thread_arena();
        arena.reset(static_cast<std::size_t>(n) * source.row_bytes() + Arena::bytes<T>(n * width_) +
                    Arena::bytes<T>(n * outputs_) + Arena::bytes<Row>(n) + 16 * kPanelBytes +
                    3 * Arena::bytes<void*>(n) + Arena::bytes<std::int64_t>(n) + Arena::bytes<T>(work) +
                    2 * Arena::bytes<double>(work));
        row_storage_ = arena.take<Row>(n);
        rows_ = arena.take<const Row*>(n);
        slots_ = arena.take<T*>(n);
        scores_ = arena.take<T*>(n);
        positions_ = arena.take<std::int64_t>(n);
        slot_storage_ = arena.take<T>(n * width_);
        score_storage_ = arena.take<T>(n * outputs_);
        work_ = arena.take<T>(work);
        full_ = arena.take<double>(work);
        votes_ = arena.take<double>(work);
        scratch_ = source.scratch(arena, n);
    }

    // Prepares the row at a position and returns its number; -1 if it is not finite.
    int add(std::int64_t position) {
        return added(position, source_.prepare(set_.rows, set_.row(position), row_storage_[n_], scratch_));
    }
    // Prepares the rows at n positions. Calls added(i, r): the i-th position is row r; or refused(position) for a row
    // that is not finite.
    template <class Position, class Added, class Refused>
    void read(std::int64_t n, const Position& position, const Added& use, const Refused& refused) {
        constexpr int kBlockRows = Source::kBlockRows;
        for (std::int64_t at = 0; at < n; at += kBlockRows) {
            const int m = static_cast<int>(std::min<std::int64_t>(kBlockRows, n - at));
            std::int64_t ids[kBlockRows];
            for (int i = 0; i < m; ++i) ids[i] = set_.row(position(at + i));
            const auto block = source_.block(set_.rows, ids, m, scratch_);
            for (int i = 0; i < m; ++i) {
                const std::int64_t p = position(at + i);
                const int r = added(p, source_.prepare(block, i, row_storage_[n_], scratch_));
                if (r >= 0) use(at + i, r);
                else refused(p);
            }
        }
    }

    int size() const { return n_; }
    std::int64_t position(int r) const { return positions_[r]; }
    const Row* const* rows() const { return rows_; }
    T* const* slots() const { return slots_; }
    // Room for the estimates of each row, one for each output.
    T* const* scores() const { return scores_; }
    T* work() const { return work_; }

    // Row r becomes row `to`, which is not after it.
    void move(int r, int to) {
        rows_[to] = rows_[r];
        std::swap(slots_[to], slots_[r]);
        positions_[to] = positions_[r];
    }
    void shrink(int n) { n_ = n; }

    // Evaluates rows in full whose slots hold the first `done` terms. Calls use(position, scores, error, work), where
    // `work` has room for a value of each class.
    template <class Use>
    void full(std::int64_t done, double working, const Use& use) {
        if constexpr (AddingSource<Source>) {
            if (done == 0 && source_.adds_up())
                return source_.full_sums(set_.rows, rows_, slots_, n_, working, [&](int r, double score, double e) {
                    full_[0] = score;
                    use(positions_[r], full_, e, votes_);
                });
        }
        if constexpr (BlockSource<Source>) {
            if (n_ > 1 && set_.rows.layout != Rows::Layout::csr) return full_blocks(working, use);
        }
        if (n_ > 0 && source_.full_width() > done) source_.evaluate(rows_, slots_, n_, done, source_.n_terms());
        const int prefetched = source_.full_prefetch_rows();
        for (int r = 0; r < n_; ++r) {
            if (r % prefetched == 0) source_.prefetch_full(rows_ + r, std::min(prefetched, n_ - r));
            const std::int64_t at = positions_[r];
            const double e = source_.full(set_.rows, set_.row(at), *rows_[r], slots_[r], working, full_, work_);
            use(at, full_, e, votes_);
        }
    }

private:
    template <class Use>
    void full_blocks(double working, const Use& use) {
        std::int64_t ids[Source::kFullRows];
        double errors[Source::kFullRows];
        const int n_outputs = source_.n_outputs();
        for (int first = 0; first < n_; first += source_.full_rows()) {
            const int n = std::min(source_.full_rows(), n_ - first);
            for (int i = 0; i < n; ++i) ids[i] = set_.row(positions_[first + i]);
            source_.full_block(set_.rows, ids, n, working, full_, errors, work_);
            for (int i = 0; i < n; ++i) use(positions_[first + i], full_ + i * n_outputs, errors[i], votes_);
        }
    }
    static std::int64_t padded_outputs(const Source& source) { return round_up(source.n_outputs(), kLanes<T>); }

    int added(std::int64_t position, bool finite) {
        if (!finite) return -1;
        rows_[n_] = row_storage_ + n_;
        slots_[n_] = slot_storage_ + n_ * width_;
        scores_[n_] = score_storage_ + n_ * outputs_;
        positions_[n_] = position;
        return n_++;
    }

    const Source& source_;
    const RowSet& set_;
    std::int64_t width_, outputs_;
    int n_ = 0;
    typename Source::Scratch scratch_;
    Row* row_storage_;
    const Row** rows_;
    T **slots_, **scores_;
    std::int64_t* positions_;
    T *slot_storage_, *score_storage_, *work_;
    double *full_, *votes_;
};

// A source that evaluates many rows in full faster than one after the other, with the same bits.
template <class S>
concept TileSource =
    TermSource<S> && requires(const S& source, const RowSet& set, std::int64_t n, int i, double working, Arena& arena) {
        // Largest number of rows in a tile, and bytes of arena memory that i rows need.
        { source.tile_rows() } -> std::same_as<int>;
        { source.tile_bytes(i) } -> std::same_as<std::size_t>;
        // Those of the rows at positions [n, n + i).
        { source.full_tile(set, n, i, working, arena) } -> std::same_as<ScoredTile>;
    };

// Calls use(first position, number of rows, tile, work) for all tiles; `work` has room for a value of each class.
template <TileSource Source, class Use>
void each_tile(const Source& source, const RowSet& set, double working, const Use& use) {
    const std::int64_t outputs = round_up(source.n_outputs(), kLanes<double>);
    constexpr std::int64_t kLeast = 64;  // fewer rows are not worth another thread
    const std::int64_t share = std::max((set.n + set.n_threads - 1) / set.n_threads, kLeast);
    const std::int64_t rows = std::min<std::int64_t>(share, source.tile_rows());
    each_piece(set.n, rows, set.n_threads, [&](std::int64_t begin, std::int64_t end, int) {
        const int n = static_cast<int>(end - begin);
        Arena& arena = thread_arena();
        arena.reset(source.tile_bytes(n) + Arena::bytes<double>(outputs));
        double* const work = arena.take<double>(outputs);
        use(begin, n, source.full_tile(set, begin, n, working, arena), work);
    });
}

// Evaluates rows in full. Calls use(position, scores, error, work) as a batch does, with null for the scores of a row
// that is not finite.
template <TermSource Source, class Use>
void each_full(const Source& source, const RowSet& set, double working, const Use& use) {
    if constexpr (TileSource<Source>) {
        if (set.n > 1)
            return each_tile(source, set, working, [&](std::int64_t begin, int n, const auto& tile, double* work) {
                for (int i = 0; i < n; ++i) use(begin + i, tile.scores + i * tile.stride, tile.errors[i], work);
            });
    }
    const std::int64_t width = source.full_width(), most = Batch<Source>::fitting(source, width, kBatchRows);
    each_batch(set.n, 1, most, set.n_threads, [&](std::int64_t begin, std::int64_t end) {
        Batch<Source> batch(source, set, end - begin, width);
        batch.read(
            end - begin, [&](std::int64_t i) { return begin + i; }, [](std::int64_t, int) {},
            [&](std::int64_t at) { use(at, static_cast<const double*>(nullptr), HUGE_VAL, nullptr); });
        batch.full(0, working, use);
    });
}

}  // namespace wald
