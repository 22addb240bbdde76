// Columns of bins: the thresholds of some trees by feature, and the place of each split among them.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/trees/kernels.hpp"
#include "core/trees/spec.hpp"

namespace wald {

// The largest number of type X that is at most the threshold: x <= threshold holds for the same values x of type X.
inline double rounded_down(double threshold, double) { return threshold; }
inline float rounded_down(double threshold, float) {
    const auto near = static_cast<float>(threshold);
    return static_cast<double>(near) > threshold ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

// A split on a set of categories of the spec; its bits stay there, since many nodes may name one set.
inline CategorySplit category_split(const TreesSpec& spec, std::int32_t feature, std::int32_t set, bool nan_left) {
    return {feature,
            static_cast<std::int32_t>(spec.first_bit_word[set]),
            spec.n_categories[set],
            spec.truncates,
            spec.other_left[set] != 0,
            nan_left};
}

// What a node compares: its column, and the bin above which rows go to the right.
struct BinSplit {
    std::int32_t column;
    std::int8_t bin;

    bool operator==(const BinSplit&) const = default;
};

// Columns of bins, by feature.
class Bins {
public:
    int n_columns() const { return static_cast<int>(f32_.columns.size()); }
    std::int64_t panel_bytes() const { return std::int64_t{n_columns()} * kPanelRows; }
    // The features that are read, in ascending order; features()[i] has the columns [first_of(i), first_of(i + 1)).
    const std::vector<std::int32_t>& features() const { return features_; }
    int first_of(std::size_t i) const { return first_of_[i]; }
    // The blocks of features that hold these columns.
    const std::vector<BinBlock>& blocks() const { return blocks_; }

    // For values of type X. The tables of double have no thresholds where the model rounds values to float32.
    template <class X>
    BinsView<X> view() const {
        const Tables<X>& tables = this->tables(X{});
        return {tables.columns.data(),   tables.thresholds.data(), category_splits_.data(), bits_,
                category_groups_.data(), group_words_.data(),      f32_.columns.data(),     f32_.thresholds.data()};
    }

private:
    friend class BinsBuilder;

    template <class X>
    struct Tables {
        std::vector<BinColumn> columns;
        std::vector<X> thresholds;
    };
    const Tables<float>& tables(float) const { return f32_; }
    const Tables<double>& tables(double) const { return f64_; }

    template <class X>
    static void add_column(Tables<X>& tables, BinColumn column, std::span<const double> thresholds) {
        constexpr int kInRegisters = kRegisterSteps<X>;
        if (thresholds.empty()) {
            tables.columns.push_back(column);
            return;
        }
        column.steps = 1;
        while ((std::size_t{1} << column.steps) - 1 < thresholds.size()) ++column.steps;
        const std::size_t size = std::size_t{1} << std::max<int>(column.steps, kInRegisters);
        std::vector<X> sorted(size, std::numeric_limits<X>::infinity());
        std::transform(thresholds.begin(), thresholds.end(), sorted.begin(),
                       [](double t) { return rounded_down(t, X{}); });
        column.first = static_cast<std::int32_t>(tables.thresholds.size());
        column.apart = are_apart(thresholds);
        tables.columns.push_back(column);
        const auto add_each = [&](std::size_t first, std::size_t distance) {
            for (std::size_t i = first; i < size; i += distance) tables.thresholds.push_back(sorted[i]);
        };
        std::size_t distance = size >> kInRegisters;
        if (distance > 1) add_each(distance - 1, distance);
        add_each(0, 1);
        for (; sizeof(X) == sizeof(float) && distance > 1; distance /= 2) add_each(distance / 2 - 1, distance);
    }
    static bool are_apart(std::span<const double> thresholds) {
        float before = std::numeric_limits<float>::quiet_NaN();
        return std::ranges::all_of(thresholds, [&](double threshold) {
            const float rounded = rounded_down(threshold, float{});
            return std::fpclassify(rounded) != FP_SUBNORMAL && std::exchange(before, rounded) != rounded;
        });
    }

    Tables<float> f32_;
    Tables<double> f64_;
    std::vector<CategorySplit> category_splits_;
    const std::uint32_t* bits_ = nullptr;  // owned by the spec, which lives as long
    std::vector<CategoryGroup> category_groups_;
    std::vector<std::uint64_t> group_words_;
    std::vector<std::int32_t> features_;
    std::vector<int> first_of_;
    std::vector<BinBlock> blocks_;
};

// Gives each distinct split of the nodes a place in a column. `nodes` may name a node more than once.
class BinsBuilder {
public:
    BinsBuilder(const TreesSpec& spec, const std::vector<std::int64_t>& nodes) : spec_(spec) {
        bins_.bits_ = spec.bits.data();
        for (const std::int64_t n : nodes) keys_.push_back(key(n));
        std::sort(keys_.begin(), keys_.end());
        keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
        places_.resize(keys_.size());
        for (std::size_t begin = 0, end = 0; begin < keys_.size(); begin = end) {
            if (keys_[begin].set >= 0) {
                end = std::min(keys_.size(), begin + CategoryGroup::kMaxSplits);
                while (keys_[end - 1].feature != keys_[begin].feature) --end;
                add_categories(begin, end);
            } else {
                end = end_of_feature(begin);
                if (keys_[begin].nan_left != keys_[end - 1].nan_left && end - begin <= kMaxThresholds) {
                    add_both(begin, end);
                    continue;
                }
                end = begin;
                while (end < keys_.size() && end - begin < kMaxThresholds && keys_[end].same_kind(keys_[begin])) ++end;
                add_thresholds(begin, end);
            }
        }
        bins_.first_of_.push_back(bins_.n_columns());
        if (bins_.n_columns() >= kMaxColumns) throw std::invalid_argument("trees compare too many features");
    }

    BinSplit split(std::int64_t node) const {
        return places_[std::lower_bound(keys_.begin(), keys_.end(), key(node)) - keys_.begin()];
    }
    Bins take() { return std::move(bins_); }

private:
    static constexpr int kMaxColumns = 1 << 24;  // kernels multiply columns by kPanelRows, in 32 bits
    // A group of splits has at most kFewCategories categories, or kCategoriesPerSplit for each split if that is more.
    // Splits with more categories are evaluated one by one, because the words of a group would take too much memory.
    static constexpr int kFewCategories = 256, kCategoriesPerSplit = 64;

    struct Key {
        std::int32_t feature, set;  // set of categories, or -1
        bool nan_left;
        double threshold;

        auto operator<=>(const Key&) const = default;
        bool same_kind(const Key& o) const { return feature == o.feature && set == o.set && nan_left == o.nan_left; }
    };
    Key key(std::int64_t n) const {
        const std::int32_t set = spec_.categories[n];
        return {spec_.feature[n], set, spec_.nan_left[n] != 0 && !spec_.refuses_nan,
                set >= 0 ? 0.0 : spec_.threshold[n]};
    }

    // Columns for the splits on categories of keys [begin, end), which are of one feature.
    void add_categories(std::size_t begin, std::size_t end) {
        const std::size_t first = bins_.category_splits_.size();
        std::int32_t n_categories = 0;
        for (std::size_t i = begin; i < end; ++i) {
            bins_.category_splits_.push_back(category_split(spec_, keys_[i].feature, keys_[i].set, keys_[i].nan_left));
            n_categories = std::max(n_categories, bins_.category_splits_.back().n_categories);
        }
        const bool grouped =
            n_categories <= std::max(kFewCategories, kCategoriesPerSplit * static_cast<int>(end - begin));
        for (std::size_t i = begin; i < end; ++i) {
            places_[i] = {bins_.n_columns(), -1};
            const BinKind kind = !grouped     ? BinKind::category_split
                                 : i == begin ? BinKind::category_group
                                              : BinKind::computed;
            const std::size_t place = grouped ? bins_.category_groups_.size() : first + i - begin;
            add_column({keys_[i].feature, static_cast<std::int32_t>(place), kind, 0}, {});
        }
        if (grouped) add_group(std::span(bins_.category_splits_).subspan(first), n_categories);
    }
    void add_group(std::span<const CategorySplit> splits, std::int32_t n_categories) {
        bins_.category_groups_.push_back(
            {std::ssize(bins_.group_words_), n_categories, static_cast<std::int32_t>(splits.size())});
        const auto add_word = [&](double x) {
            std::uint64_t word = 0;
            for (std::size_t j = 0; j < splits.size(); ++j)
                word |= std::uint64_t{category_goes_left(splits[j], bins_.bits_, x)} << j;
            bins_.group_words_.push_back(word);
        };
        for (std::int32_t c = 0; c < n_categories; ++c) add_word(c);
        for (const double x : {-1.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) add_word(x);
    }
    // The end of the thresholds of a feature that begin with key `begin`.
    std::size_t end_of_feature(std::size_t begin) const {
        std::size_t end = begin;
        while (end < keys_.size() && keys_[end].feature == keys_[begin].feature && keys_[end].set < 0) ++end;
        return end;
    }
    // Two columns, each for all thresholds of keys [begin, end), which are of one feature: one search finds the bins of
    // both.
    void add_both(std::size_t begin, std::size_t end) {
        std::vector<double> thresholds;
        for (std::size_t i = begin; i < end; ++i) thresholds.push_back(keys_[i].threshold);
        std::sort(thresholds.begin(), thresholds.end());
        thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
        for (std::size_t i = begin; i < end; ++i) {
            const auto at = std::lower_bound(thresholds.begin(), thresholds.end(), keys_[i].threshold);
            places_[i] = {bins_.n_columns() + keys_[i].nan_left,
                          static_cast<std::int8_t>(static_cast<int>(at - thresholds.begin()) - 128)};
        }
        add_column({keys_[begin].feature, 0, BinKind::nan_both, 0}, thresholds);
        add_column({keys_[begin].feature, 0, BinKind::computed, 0}, {});
    }
    // A column for the thresholds of keys [begin, end), which are of one feature.
    void add_thresholds(std::size_t begin, std::size_t end) {
        std::vector<double> thresholds;
        for (std::size_t i = begin; i < end; ++i) {
            places_[i] = {bins_.n_columns(), static_cast<std::int8_t>(static_cast<int>(i - begin) - 128)};
            thresholds.push_back(keys_[i].threshold);
        }
        const BinKind kind = keys_[begin].nan_left ? BinKind::nan_left : BinKind::nan_right;
        add_column({keys_[begin].feature, 0, kind, 0}, thresholds);
    }

    void add_column(BinColumn column, std::span<const double> thresholds) {
        add_place(column.feature);
        Bins::add_column(bins_.f32_, column, thresholds);
        Bins::add_column(bins_.f64_, column, spec_.f32_rows ? std::span<const double>{} : thresholds);
    }
    // Adds the next column to its feature, and to its block.
    void add_place(std::int32_t feature) {
        const std::int32_t first = feature / kBlock * kBlock;
        const auto width = static_cast<std::int32_t>(std::min<std::int64_t>(kBlock, spec_.n_features - first));
        if (bins_.features_.empty() || bins_.features_.back() != feature) {
            bins_.features_.push_back(feature);
            bins_.first_of_.push_back(bins_.n_columns());
        }
        if (bins_.blocks_.empty() || bins_.blocks_.back().first_feature != first)
            bins_.blocks_.push_back({first, width, bins_.n_columns(), bins_.n_columns()});
        ++bins_.blocks_.back().last_column;
    }

    const TreesSpec& spec_;
    std::vector<Key> keys_;
    std::vector<BinSplit> places_;  // of each key
    Bins bins_;
};

}  // namespace wald
