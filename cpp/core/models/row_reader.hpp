// Reads rows of any layout and dtype for a kernel machine: scales them, fills NaN, and stores them as a list of
// non-zeros or as dense values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/models/rows.hpp"

namespace wald {

template <class T>
class RowReader {
public:
    static constexpr int L = kLanes<T>;
    static constexpr Dtype kNative = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
    static constexpr int kBlockRows = 32;
    static constexpr std::int64_t kOneChain =
        64;  // most features whose products are one chain in rows that are not sparse

    // Memory for prepared rows, used from front to back, so that only the part that is needed is touched.
    struct Scratch {
        T* values;
        std::int32_t* features;
        T* dense;
        bool expect_list = true;  // a prediction from the previous row: it affects speed, never results
    };

    // Rows to be read: in place with their native dtype, or already loaded to scratch memory.
    struct Block {
        const void* row[kBlockRows];
        int n;
        Dtype dtype;
        bool loaded;
    };

    // `kept`: the features in use, ascending; empty: all. x * scale + shift replaces x, then `fill` replaces NaN;
    // empty: unchanged.
    RowReader(std::int64_t n_features, std::span<const std::int32_t> kept, std::span<const double> scale,
              std::span<const double> shift, std::span<const double> fill)
        : n_features_(n_features), n_kept_(kept.empty() ? n_features : static_cast<std::int64_t>(kept.size())),
          scale_(scale.begin(), scale.end()), shift_(shift.begin(), shift.end()), fill_(fill.begin(), fill.end()) {
        if (!kept.empty()) {
            position_.assign(n_features_, -1);
            for (std::size_t k = 0; k < kept.size(); ++k) position_[kept[k]] = static_cast<std::int32_t>(k);
        }
        for (int s = 1; s <= kChains; ++s) segments_[s] = n_kept_ <= kOneChain ? n_kept_ : n_kept_ * s / kChains;
    }

    std::int64_t n_features() const { return n_features_; }
    const std::int64_t* segments() const { return segments_; }  // chain boundaries of rows that are not sparse
    bool scales() const { return !scale_.empty(); }
    bool keeps_all() const { return position_.empty(); }
    // Largest number of non-zeros of a sparse row.
    std::int64_t max_listed() const { return (n_features_ * 2 - 1) / 5; }

    std::size_t row_bytes() const {
        return Arena::bytes<T>(n_features_) + Arena::bytes<T>(n_kept_ + L) + Arena::bytes<std::int32_t>(n_kept_ + L);
    }
    Scratch scratch(Arena& arena, std::int64_t rows) const {
        Scratch s;
        s.values = arena.take<T>(rows * (n_kept_ + L));
        s.features = arena.take<std::int32_t>(rows * (n_kept_ + L));
        s.dense = arena.take<T>(rows * n_features_);
        return s;
    }

    // Reads rows r[0..n) of a dense matrix or a frame. Uses the scratch memory from its current position until the last
    // of these rows is prepared.
    Block block(const Rows& rows, const std::int64_t* r, int n, const Scratch& scratch) const {
        Block b;
        b.n = n;
        b.loaded = !(is_identity() && rows.contiguous() && (keeps_all() || rows.dtype == kNative));
        b.dtype = b.loaded ? kNative : rows.dtype;
        for (int i = 0; i < n; ++i)
            b.row[i] = b.loaded ? static_cast<const void*>(scratch.dense + i * n_features_) : rows.row(r[i]);
        if (b.loaded) load(rows, r, n, scratch.dense);
        return b;
    }
    void read(const Block& block, int i, PreparedRow<T>& row, Scratch& scratch) const {
        if (keeps_all()) list_or_dense(block, i, row, scratch);
        else list_kept(static_cast<const T*>(block.row[i]), row, scratch);
    }
    void read(const Rows& rows, std::int64_t r, PreparedRow<T>& row, Scratch& scratch) const {
        if (rows.layout == Rows::Layout::csr) read_csr(rows, r, row, scratch);
        else read(block(rows, &r, 1, scratch), 0, row, scratch);
    }

    // Calls visit(row kernels of a dtype, value of this dtype).
    template <class Visit>
    static void by_type(Dtype dtype, const Visit& visit) {
        switch (dtype) {
            case Dtype::f32: return visit(kernels<T>().rows_f32, float{});
            case Dtype::f64: return visit(kernels<T>().rows_f64, double{});
            default: return visit(kernels<T>().rows_u8, std::uint8_t{});
        }
    }

    // Length of the longest chain of multiply-adds in this row's dot products; bounds the rounding error. Multiplying
    // by zero does not round, so only non-zeros count, and the list and the dense form of a row give the same length.
    std::int64_t longest_chain(const PreparedRow<T>& row) const {
        const bool sparse = row.dense == nullptr && is_sparse(row.chain_ends[kChains]);
        std::int64_t longest = 0;
        for (int s = 0; s < kChains; ++s) {
            if (sparse) longest = std::max<std::int64_t>(longest, row.chain_ends[s + 1] - row.chain_ends[s]);
            else longest = std::max(longest, segments_[s + 1] - segments_[s]);
        }
        return longest;
    }

private:
    bool is_identity() const { return scale_.empty() && fill_.empty(); }
    bool is_sparse(std::int64_t nonzeros) const { return nonzeros <= max_listed(); }

    T mapped(double v, std::int64_t f) const {
        if (v != v && !fill_.empty()) return static_cast<T>(fill_[f]);
        return static_cast<T>(scale_.empty() ? v : v * scale_[f] + shift_[f]);
    }

    // Calls use(sample, convert): `sample` has the stored dtype; convert(value, feature) gives the value that the
    // machine was trained on.
    template <class Use>
    void with_conversion(Dtype dtype, const Use& use) const {
        with_type(dtype, [&](auto s) {
            using S = decltype(s);
            if (is_identity()) use(s, [](S v, std::int64_t) { return static_cast<T>(v); });
            else if (fill_.empty())
                use(s, [&](S v, std::int64_t f) {
                    return static_cast<T>(static_cast<double>(v) * scale_[f] + shift_[f]);
                });
            else use(s, [&](S v, std::int64_t f) { return mapped(static_cast<double>(v), f); });
        });
    }

    // Column-major input is loaded a few features at a time for all rows, since neighbouring rows share cache lines.
    void load(const Rows& rows, const std::int64_t* r, int n, T* out) const {
        if (rows.layout == Rows::Layout::dense && std::abs(rows.column_stride) <= std::abs(rows.row_stride)) {
            for (int i = 0; i < n; ++i) copy(rows.row(r[i]), rows.column_stride, rows.dtype, out + i * n_features_);
            return;
        }
        constexpr std::int64_t kAcross = kPanelBytes / sizeof(T), kAhead = 16;
        for (std::int64_t first = 0; first < n_features_; first += kAcross) {
            for (std::int64_t f = first; f < std::min(first + kAcross, n_features_); ++f) {
                if (f + kAhead < n_features_) {
                    const Column later = rows.column(f + kAhead);
                    for (int i = 0; i < n; i += 8) __builtin_prefetch(later.data + r[i] * later.stride);
                }
                const Column c = rows.column(f);
                with_conversion(c.dtype, [&](auto s, const auto& map) {
                    for (int i = 0; i < n; ++i)
                        out[i * n_features_ + f] =
                            map(*reinterpret_cast<const decltype(s)*>(c.data + r[i] * c.stride), f);
                });
            }
        }
    }
    void copy(const std::byte* row, std::int64_t stride, Dtype dtype, T* out) const {
        with_conversion(dtype, [&](auto s, const auto& map) {
            using S = decltype(s);
            if (stride == static_cast<std::int64_t>(sizeof(S))) {  // contiguous: vectorizes
                for (std::int64_t f = 0; f < n_features_; ++f) out[f] = map(reinterpret_cast<const S*>(row)[f], f);
            } else {
                for (std::int64_t f = 0; f < n_features_; ++f)
                    out[f] = map(*reinterpret_cast<const S*>(row + f * stride), f);
            }
        });
    }

    // Stores the row as a list if it has few non-zeros, else as dense values.
    void list_or_dense(const Block& block, int i, PreparedRow<T>& p, Scratch& scratch) const {
        const bool native = block.dtype == kNative;
        const T* x = native ? static_cast<const T*>(block.row[i]) : nullptr;
        const auto converted = [&] {
            copy(static_cast<const std::byte*>(block.row[i]), bytes_of(block.dtype), block.dtype, scratch.dense);
            return scratch.dense;
        };
        if (!scratch.expect_list) {
            if (x == nullptr) x = converted();
            std::int64_t nonzeros = 0;
            p.norm2 = kernels<T>().scan(x, n_features_, &nonzeros);
            scratch.expect_list = is_sparse(nonzeros);
        }
        if (scratch.expect_list) {
            std::int32_t listed = 0;
            by_type(block.dtype, [&](const auto& kernels_of_rows, auto s) {
                const auto* from = static_cast<const decltype(s)*>(block.row[i]);
                const auto* next = static_cast<const decltype(s)*>(block.row[std::min(i + 1, block.n - 1)]);
                p.norm2 = kernels_of_rows.list(from, n_features_, next, scratch.values, scratch.features, &listed);
            });
            scratch.expect_list = is_sparse(listed);
            if (scratch.expect_list) return keep_list(p, listed, scratch);
        }
        if (x == nullptr) x = converted();
        // Earlier rows became lists: the dense copy moves to the front of the free memory.
        if (block.loaded && x != scratch.dense) {
            std::copy_n(x, n_features_, scratch.dense);
            x = scratch.dense;
        }
        p.dense = x;
        if (x == scratch.dense) scratch.dense += n_features_;
    }

    void list_kept(const T* x, PreparedRow<T>& row, Scratch& scratch) const {
        std::int64_t nonzeros = 0;
        row.norm2 = kernels<T>().scan(x, n_features_, &nonzeros);
        std::int32_t listed = 0;
        for (std::int64_t f = 0; f < n_features_; ++f)
            if (x[f] != T(0) && position_[f] >= 0) append(scratch, listed, position_[f], x[f]);
        keep_list(row, listed, scratch);
    }

    void read_csr(const Rows& rows, std::int64_t r, PreparedRow<T>& row, Scratch& scratch) const {
        T squares[L] = {};
        const bool fused = kernels<T>().fused;
        std::int32_t listed = 0;
        for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k) {
            const std::int64_t f = rows.indices[k];
            const T v = mapped(load_element<double>(rows.data + k * rows.element_bytes(), rows.dtype), f);
            squares[f % L] = fused ? std::fma(v, v, squares[f % L]) : squares[f % L] + v * v;
            const std::int64_t at = keeps_all() ? f : position_[f];
            if (v != T(0) && at >= 0) append(scratch, listed, at, v);
        }
        keep_list(row, listed, scratch);
        for (int half = L / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) squares[i] += squares[i + half];
        row.norm2 = squares[0];
    }

    static void append(const Scratch& scratch, std::int32_t& listed, std::int64_t at, T v) {
        scratch.values[listed] = v;
        scratch.features[listed++] = static_cast<std::int32_t>(at);
    }

    // The chains of a sparse list have equal lengths; those of any other list are the segments that the dense row would
    // have, so that both forms sum in the same order.
    void keep_list(PreparedRow<T>& p, std::int32_t listed, Scratch& scratch) const {
        p.dense = nullptr;
        p.values = scratch.values;
        p.features = scratch.features;
        if (is_sparse(listed)) {
            cut_evenly(listed, p.chain_ends);
        } else {
            p.chain_ends[0] = 0;
            for (int s = 1; s <= kChains; ++s) {
                const auto* end = std::lower_bound(p.features, p.features + listed, segments_[s]);
                p.chain_ends[s] = static_cast<std::int32_t>(end - p.features);
            }
        }
        const std::int64_t used = round_up(listed, L);
        scratch.values += used;
        scratch.features += used;
    }

    std::int64_t n_features_, n_kept_;
    std::int64_t segments_[kChains + 1] = {};
    std::vector<std::int32_t> position_;
    std::vector<double> scale_, shift_, fill_;
};

}  // namespace wald
