// Hashes named features to the columns of a CSR matrix, as scikit-learn's FeatureHasher does.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/murmur.hpp"

namespace wald::chain {

// Collects the features of one row, and appends them to the matrix when the row ends. Within a row columns ascend, the
// last value of a repeated name counts, and the values of different names in one column are added.
class NameHasher {
public:
    explicit NameHasher(std::int32_t n_columns) : n_columns_(n_columns) {}

    // Begins a row, and discards the features of an unfinished one.
    void begin_row() {
        names_.clear();
        found_.clear();
    }
    // The names of the row, concatenated. The caller appends a name, and then adds it by its position.
    std::string& names() { return names_; }
    void add(std::size_t begin, double value) { found_.push_back({begin, names_.size() - begin, value, 0}); }

    void end_row() {
        order_.clear();
        for (std::size_t i = 0; i < found_.size(); ++i) {
            Entry& e = found_[i];
            e.hash = murmur(names_.data() + e.begin, e.size);
            const auto h = static_cast<std::int32_t>(e.hash);
            const auto magnitude = h < 0 ? 0u - e.hash : e.hash;
            order_.push_back(std::uint64_t{magnitude % static_cast<std::uint32_t>(n_columns_)} << 32 | i);
        }
        std::sort(order_.begin(), order_.end());
        for (std::size_t first = 0, last = 0; first < order_.size(); first = last) {
            const auto column = static_cast<std::int32_t>(order_[first] >> 32);
            for (last = first; last < order_.size() && static_cast<std::int32_t>(order_[last] >> 32) == column;) ++last;
            add_column(column, first, last);
        }
        ends_.push_back(static_cast<std::int64_t>(values_.size()));
    }

    const std::vector<float>& values() const { return values_; }
    const std::vector<std::int32_t>& columns() const { return columns_; }
    const std::vector<std::int64_t>& indptr() const { return ends_; }

private:
    struct Entry {
        std::size_t begin, size;  // of its name
        double value;
        std::uint32_t hash;
    };

    // Appends the sum of the entries [first, last) in sorted order, with the signs of their hashes. Zeros do not count.
    void add_column(std::int32_t column, std::size_t first, std::size_t last) {
        float sum = 0;
        bool any = false;
        for (std::size_t k = first; k < last; ++k) {
            const Entry& e = sorted(k);
            if (e.value == 0 || named_again(k, last)) continue;
            const float value = static_cast<float>(static_cast<std::int32_t>(e.hash) >= 0 ? e.value : -e.value);
            sum = any ? sum + value : value;
            any = true;
        }
        if (!any) return;
        columns_.push_back(column);
        values_.push_back(sum);
    }
    const Entry& sorted(std::size_t k) const { return found_[static_cast<std::size_t>(order_[k] & 0xffffffffu)]; }
    bool named_again(std::size_t k, std::size_t last) const {
        const Entry& e = sorted(k);
        for (std::size_t j = k + 1; j < last; ++j)
            if (sorted(j).hash == e.hash && sorted(j).size == e.size &&
                names_.compare(sorted(j).begin, e.size, names_, e.begin, e.size) == 0)
                return true;
        return false;
    }

    std::int32_t n_columns_;
    std::string names_;
    std::vector<Entry> found_;
    std::vector<std::uint64_t> order_;  // column, then index in found_
    std::vector<float> values_;
    std::vector<std::int32_t> columns_;
    std::vector<std::int64_t> ends_{0};
};

}  // namespace wald::chain
