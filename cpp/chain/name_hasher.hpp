// Hashes named features to the columns of a CSR matrix, as scikit-learn's FeatureHasher does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/murmur.hpp"

namespace wald::chain {

// Rows of a CSR matrix, one after the other.
class NamedRows {
public:
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()) - 1; }
    std::int64_t begin(std::int64_t row) const { return ends_[row]; }
    std::int64_t end(std::int64_t row) const { return ends_[row + 1]; }
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
    // table: a row for every column, or nothing. A name's row is fetched as soon as the name is hashed.
    explicit NameHasher(std::int32_t n_columns, std::span<const std::byte> table = {})
        : n_columns_(static_cast<std::uint32_t>(n_columns)),
          mask_(std::has_single_bit(n_columns_) ? n_columns_ - 1 : 0), table_(table.data()),
          row_bytes_(table.size() / n_columns_), fetched_(std::min(row_bytes_, kMostFetched)), found_(kFew) {}

    // Begins a row, and discards the features of an unfinished one.
    void begin_row() { n_found_ = n_lasting_ = n_kept_ = 0; }
    // The text must stay until the row ends, or until `keep_texts`.
    void add(std::string_view name, double value) { add(murmur(name.data(), name.size()), value, {}, false, name); }
    // A name that is put together here.
    void add_joined(std::initializer_list<std::string_view> pieces, double value) {
        std::string& name = new_text();
        for (const std::string_view piece : pieces) name += piece;
        add(name, value);
    }
    // `prefix` is that of `head`, or of head and a colon. Both must stay as above.
    void add(std::string_view head, bool colon, const MurmurPrefix& prefix, std::string_view tail, double value) {
        add(prefix.hash(tail.data(), tail.size()), value, head, colon, tail);
    }
    // Copies the texts that are elsewhere.
    void keep_texts() {
        for (; n_lasting_ < n_found_; ++n_lasting_) {
            Entry& e = found_[n_lasting_];
            e.tail = new_text() = text(e);
            e.head = {};
            e.colon = false;
        }
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
        std::string_view head, tail;  // of the name
        std::uint32_t hash = 0;
        std::int32_t column = 0;
        float value = 0;      // with the sign of the hash
        bool counts = false;  // zeros do not
        bool colon = false;   // between head and tail
    };
    static constexpr std::size_t kFew = 16;                             // features that are sorted by counting
    static constexpr std::uint32_t kFewColumns = 1u << 26;              // times kFew, below 2^31
    static constexpr std::size_t kLine = 64, kMostFetched = 8 * kLine;  // bytes

    void add(std::uint32_t hash, double value, std::string_view head, bool colon, std::string_view tail) {
        Entry& e = add(hash, value);
        e.colon = colon;
        e.head = head;
        e.tail = tail;
    }
    Entry& add(std::uint32_t hash, double value) {
        if (n_found_ == found_.size()) found_.resize(2 * n_found_);
        Entry& e = found_[n_found_++];
        const bool negative = static_cast<std::int32_t>(hash) < 0;
        const std::uint32_t magnitude = negative ? 0u - hash : hash;
        e.hash = hash;
        e.column = static_cast<std::int32_t>(mask_ != 0 ? magnitude & mask_ : magnitude % n_columns_);
        e.value = static_cast<float>(negative ? -value : value);
        e.counts = value != 0;
        const std::byte* const row = table_ + static_cast<std::size_t>(e.column) * row_bytes_;
        for (std::size_t b = 0; b < fetched_; b += kLine) __builtin_prefetch(row + b);
        return e;
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
    static std::string text(const Entry& e) {
        std::string all(e.head);
        if (e.colon) all += ':';
        return all += e.tail;
    }
    std::string& new_text() {
        if (n_kept_ == kept_.size()) kept_.emplace_back();
        kept_[n_kept_].clear();
        return kept_[n_kept_++];
    }

    std::uint32_t n_columns_, mask_;  // the mask does as the division, where there is one, and takes less time
    const std::byte* table_;
    std::size_t row_bytes_, fetched_;  // bytes of a row; those that are fetched
    std::deque<std::string> kept_;     // texts that are not elsewhere; a deque does not move them
    std::vector<Entry> found_;
    std::size_t n_kept_ = 0, n_found_ = 0;  // of this row; the containers are longer
    std::size_t n_lasting_ = 0;             // features whose texts are kept, from the first on
    std::vector<std::uint64_t> order_;      // column, then index in found_
};

}  // namespace wald::chain
