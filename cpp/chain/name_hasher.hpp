// Hashes named features to the columns of a CSR matrix, as scikit-learn's FeatureHasher does.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/murmur.hpp"

namespace wald::chain {

// Rows of a CSR matrix, one after the other.
class NamedRows {
public:
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()) - 1; }
    std::int64_t begin(std::int64_t row) const { return ends_[static_cast<std::size_t>(row)]; }
    std::int64_t end(std::int64_t row) const { return ends_[static_cast<std::size_t>(row) + 1]; }
    std::span<const float> values() const { return {values_.data(), n_}; }
    std::span<const std::int32_t> columns() const { return {columns_.data(), n_}; }
    std::span<const std::int64_t> indptr() const { return ends_; }

    void clear() {
        n_ = 0;
        ends_.resize(1);
    }
    // Makes room for more entries.
    void reserve(std::size_t more) {
        if (n_ + more <= values_.size()) return;
        values_.resize(2 * (n_ + more));
        columns_.resize(2 * (n_ + more));
    }
    // Appends an entry, for which there is room, to the row; or does nothing.
    void add(std::int32_t column, float value, bool counts = true) {
        columns_[n_] = column;
        values_[n_] = value;
        n_ += counts ? 1 : 0;
    }
    void end_row() { ends_.push_back(static_cast<std::int64_t>(n_)); }

private:
    std::vector<float> values_;
    std::vector<std::int32_t> columns_;
    std::size_t n_ = 0;  // entries; the vectors are longer
    std::vector<std::int64_t> ends_{0};
};

// Collects the features of one row, and appends them to the matrix when the row ends. Within a row columns ascend, the
// last value of a repeated name counts, and the values of different names in one column are added.
class NameHasher {
public:
    explicit NameHasher(std::int32_t n_columns)
        : n_columns_(static_cast<std::uint32_t>(n_columns)),
          mask_(std::has_single_bit(n_columns_) ? n_columns_ - 1 : 0), names_(kRoom), found_(kFew) {}

    // Begins a row, and discards the features of an unfinished one.
    void begin_row() {
        begin_ = end_ = n_found_ = 0;
        start_ = {};
    }
    // A name is put together from texts, and added with its value.
    void append(const char* text, std::size_t n) {
        if (end_ + n + kRoom > names_.size()) names_.resize(2 * (end_ + n + kRoom));
        copy(text, n, names_.data() + end_);
        end_ += n;
    }
    // The first text of a name, with its start.
    void append(const char* text, std::size_t n, const MurmurStart& start) {
        append(text, n);
        start_ = start;
    }
    void add(double value) {
        if (n_found_ == found_.size()) found_.resize(2 * n_found_);
        const std::uint32_t hash = murmur<true>(names_.data() + begin_, end_ - begin_, start_);
        const bool negative = static_cast<std::int32_t>(hash) < 0;
        const std::uint32_t magnitude = negative ? 0u - hash : hash;
        const std::uint32_t column = mask_ != 0 ? magnitude & mask_ : magnitude % n_columns_;
        found_[n_found_++] = {begin_,
                              end_ - begin_,
                              hash,
                              static_cast<std::int32_t>(column),
                              static_cast<float>(negative ? -value : value),
                              value != 0};
        begin_ = end_;
        start_ = {};
    }
    // The name so far; not valid after another is appended.
    std::string_view name() const { return {names_.data() + begin_, end_ - begin_}; }
    void discard_name() {
        end_ = begin_;
        start_ = {};
    }

    // Calls visit(name, column, negative) for the features of the row, as they came.
    template <class Visit>
    void each(const Visit& visit) const {
        for (std::size_t i = 0; i < n_found_; ++i) {
            const Entry& e = found_[i];
            visit(text(e), e.column, static_cast<std::int32_t>(e.hash) < 0);
        }
    }
    void end_row(NamedRows& to) {
        to.reserve(n_found_);
        if (n_found_ > kFew || n_columns_ > kFewColumns || !add_few(to)) add_many(to);
        to.end_row();
    }

private:
    struct Entry {
        std::size_t begin, size;  // of its name
        std::uint32_t hash;
        std::int32_t column;
        float value;  // with the sign of the hash
        bool counts;  // zeros do not
    };
    static constexpr std::size_t kRoom = 64;                // bytes beyond a name that may be read and written
    static constexpr std::size_t kFew = 16;                 // features that are sorted by counting
    static constexpr std::uint32_t kFewColumns = 1u << 26;  // times kFew, below 2^31

    static void copy(const char* from, std::size_t n, char* to) {
        if (n > 16) {
            std::memcpy(to, from, n);
        } else if (n >= 8) {
            std::memcpy(to + n - 8, from + n - 8, 8);  // the two may overlap
            std::memcpy(to, from, 8);
        } else if (n >= 4) {
            std::memcpy(to + n - 4, from + n - 4, 4);
            std::memcpy(to, from, 4);
        } else {
            for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
        }
    }

    // Appends at most kFew features. A feature's place is the number of smaller ones: no branches, and many at once.
    // Does nothing and returns false if a column is repeated.
    bool add_few(NamedRows& to) const {
        using Four = std::int32_t __attribute__((vector_size(16)));
        std::int32_t keys[kFew], places[kFew], sorted[kFew];
        for (std::size_t i = 0; i < kFew; ++i)
            keys[i] = i < n_found_ ? found_[i].column << 4 | static_cast<std::int32_t>(i)
                                   : std::numeric_limits<std::int32_t>::max();
        Four key[kFew / 4], place[kFew / 4] = {};
        std::memcpy(key, keys, sizeof key);
        for (std::size_t j = 0; j < n_found_; ++j)
            for (std::size_t i = 0; i < kFew / 4; ++i) place[i] -= key[i] > keys[j];  // true is -1
        std::memcpy(places, place, sizeof place);
        for (std::size_t i = 0; i < n_found_; ++i) sorted[places[i]] = keys[i];
        bool repeated = false;
        for (std::size_t k = 1; k < n_found_; ++k) repeated |= sorted[k] >> 4 == sorted[k - 1] >> 4;
        if (repeated) return false;
        for (std::size_t k = 0; k < n_found_; ++k) {
            const Entry& e = found_[static_cast<std::size_t>(sorted[k]) % kFew];
            to.add(e.column, e.value, e.counts);
        }
        return true;
    }

    // Appends any number of features.
    void add_many(NamedRows& to) {
        order_.clear();
        for (std::size_t i = 0; i < n_found_; ++i)
            order_.push_back(std::uint64_t{static_cast<std::uint32_t>(found_[i].column)} << 32 | i);
        std::sort(order_.begin(), order_.end());
        for (std::size_t first = 0, last = 0; first < n_found_; first = last) {
            const std::int32_t column = sorted(first).column;
            for (last = first; last < n_found_ && sorted(last).column == column;) ++last;
            float sum = 0;
            bool any = false;
            for (std::size_t k = first; k < last; ++k) {
                const Entry& e = sorted(k);
                if (!e.counts || named_again(k, last)) continue;
                sum = any ? sum + e.value : e.value;
                any = true;
            }
            to.add(column, sum, any);
        }
    }
    const Entry& sorted(std::size_t k) const { return found_[static_cast<std::size_t>(order_[k] & 0xffffffffu)]; }
    bool named_again(std::size_t k, std::size_t last) const {
        const Entry& e = sorted(k);
        for (std::size_t j = k + 1; j < last; ++j)
            if (sorted(j).hash == e.hash && text(sorted(j)) == text(e)) return true;
        return false;
    }
    std::string_view text(const Entry& e) const { return {names_.data() + e.begin, e.size}; }

    std::uint32_t n_columns_, mask_;  // the mask does as the division, where there is one, and takes less time
    std::vector<char> names_;         // of the row, one after the other
    std::size_t begin_ = 0, end_ = 0;
    MurmurStart start_;  // of the name so far
    std::vector<Entry> found_;
    std::size_t n_found_ = 0;
    std::vector<std::uint64_t> order_;  // column, then index in found_
};

}  // namespace wald::chain
