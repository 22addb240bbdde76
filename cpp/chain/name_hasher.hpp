// Hashes named features to the columns of a CSR matrix, as scikit-learn's FeatureHasher does.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <vector>

#include "core/murmur.hpp"

namespace wald::chain {

// Rows of a CSR matrix, one after the other.
struct NamedRows {
    std::vector<float> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> ends{0};

    std::int64_t size() const { return static_cast<std::int64_t>(ends.size()) - 1; }
    void clear() {
        values.clear();
        columns.clear();
        ends.resize(1);
    }
};

// Collects the features of one row, and appends them to the matrix when the row ends. Within a row columns ascend, the
// last value of a repeated name counts, and the values of different names in one column are added.
class NameHasher {
public:
    explicit NameHasher(std::int32_t n_columns)
        : n_columns_(static_cast<std::uint32_t>(n_columns)), names_(kRoom), found_(kFew) {}

    // Begins a row, and discards the features of an unfinished one.
    void begin_row() { begin_ = end_ = n_found_ = 0; }
    // A name is put together from texts, and added with its value.
    void append(const char* text, std::size_t n) {
        if (end_ + n + kRoom > names_.size()) names_.resize(2 * (end_ + n + kRoom));
        copy(text, n, names_.data() + end_);
        end_ += n;
    }
    void add(double value) {
        if (n_found_ == found_.size()) found_.resize(2 * n_found_);
        const std::uint32_t hash = murmur<true>(names_.data() + begin_, end_ - begin_);
        found_[n_found_++] = {begin_, end_ - begin_, value, hash, column_of(hash)};
        begin_ = end_;
    }
    // The name so far; not valid after another is appended.
    std::string_view name() const { return {names_.data() + begin_, end_ - begin_}; }
    void discard_name() { end_ = begin_; }

    void end_row(NamedRows& to) {
        sort();
        for (std::size_t k = 0; k < n_found_; ++k) {
            const Entry& e = sorted(k);
            const std::size_t last = end_of_column(k);
            if (last > k + 1) {
                add_column(e.column, k, last, to);
                k = last - 1;
            } else if (e.value != 0) {
                to.columns.push_back(e.column);
                to.values.push_back(e.signed_value());
            }
        }
        to.ends.push_back(static_cast<std::int64_t>(to.values.size()));
    }

private:
    struct Entry {
        std::size_t begin, size;  // of its name
        double value;
        std::uint32_t hash;
        std::int32_t column;

        float signed_value() const { return static_cast<float>(static_cast<std::int32_t>(hash) >= 0 ? value : -value); }
    };
    static constexpr std::size_t kRoom = 64;  // bytes beyond a name that may be read and written
    static constexpr std::size_t kFew = 32;   // features that are sorted by counting
    static constexpr std::uint32_t kFewColumns = 1u << 26;

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
    std::int32_t column_of(std::uint32_t hash) const {
        const std::uint32_t magnitude = static_cast<std::int32_t>(hash) < 0 ? 0u - hash : hash;
        const bool mask = std::has_single_bit(n_columns_);  // a division takes longer
        return static_cast<std::int32_t>(mask ? magnitude & (n_columns_ - 1) : magnitude % n_columns_);
    }

    // Fills order_ with the indices of the features, by column, and those of a column as they came.
    void sort() {
        if (n_found_ <= kFew / 2 && n_columns_ <= kFewColumns) return rank<kFew / 2>();
        if (n_found_ <= kFew && n_columns_ <= kFewColumns) return rank<kFew>();
        order_.clear();
        for (std::size_t i = 0; i < n_found_; ++i)
            order_.push_back(std::uint64_t{static_cast<std::uint32_t>(found_[i].column)} << 32 | i);
        std::sort(order_.begin(), order_.end());
        for (std::uint64_t& o : order_) o &= 0xffffffffu;
    }
    // A feature's place is the number of smaller ones: no branches, and many at once.
    template <std::size_t kMost>
    void rank() {
        std::int32_t keys[kMost], places[kMost] = {};
        for (std::size_t i = 0; i < kMost; ++i)
            keys[i] = i < n_found_ ? found_[i].column << 5 | static_cast<std::int32_t>(i)
                                   : std::numeric_limits<std::int32_t>::max();
        for (std::size_t j = 0; j < n_found_; ++j)
            for (std::size_t i = 0; i < kMost; ++i) places[i] += keys[i] > keys[j];
        order_.resize(kMost);
        for (std::size_t i = 0; i < n_found_; ++i) order_[static_cast<std::size_t>(places[i])] = i;
    }
    std::size_t end_of_column(std::size_t k) const {
        const std::int32_t column = sorted(k).column;
        for (++k; k < n_found_ && sorted(k).column == column;) ++k;
        return k;
    }

    // Appends the sum of the entries [first, last) in sorted order, with the signs of their hashes. Zeros do not count.
    void add_column(std::int32_t column, std::size_t first, std::size_t last, NamedRows& to) const {
        float sum = 0;
        bool any = false;
        for (std::size_t k = first; k < last; ++k) {
            const Entry& e = sorted(k);
            if (e.value == 0 || named_again(k, last)) continue;
            sum = any ? sum + e.signed_value() : e.signed_value();
            any = true;
        }
        if (!any) return;
        to.columns.push_back(column);
        to.values.push_back(sum);
    }
    const Entry& sorted(std::size_t k) const { return found_[static_cast<std::size_t>(order_[k])]; }
    bool named_again(std::size_t k, std::size_t last) const {
        const Entry& e = sorted(k);
        for (std::size_t j = k + 1; j < last; ++j)
            if (sorted(j).hash == e.hash && text(sorted(j)) == text(e)) return true;
        return false;
    }
    std::string_view text(const Entry& e) const { return {names_.data() + e.begin, e.size}; }

    std::uint32_t n_columns_;
    std::vector<char> names_;  // of the row, one after the other
    std::size_t begin_ = 0, end_ = 0;
    std::vector<Entry> found_;
    std::size_t n_found_ = 0;
    std::vector<std::uint64_t> order_;
};

}  // namespace wald::chain
