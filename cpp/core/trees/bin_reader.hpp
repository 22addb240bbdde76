// Reads rows of any layout and dtype as bins.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/arena.hpp"
#include "core/models/rows.hpp"
#include "core/trees/bins.hpp"

namespace wald {

// Some rows to read: ids[0..n), and ids[n..n_known), which will be read next.
struct RowIds {
    const std::int64_t* ids;
    int n, n_known;
    bool are_first;  // no earlier call has named these rows
};

class BinReader {
public:
    explicit BinReader(const TreesSpec& spec)
        : spec_(spec), rules_{{spec.f32_rows ? static_cast<float>(spec.missing) : spec.missing,
                               spec.zero_is_missing.empty() ? nullptr : spec.zero_is_missing.data()},
                              {spec.refuses_nan, spec.refuses_infinity}} {
        std::vector<bool> used(static_cast<std::size_t>(spec.n_features));
        for (const std::int32_t f : spec.feature) used[f] = true;
        slot_.assign(used.size(), -1);
        for (std::size_t f = 0; f < used.size(); ++f) {
            if (!used[f]) continue;
            slot_[f] = static_cast<std::int32_t>(features_.size());
            features_.push_back(static_cast<std::int32_t>(f));
        }
    }

    // The features that any tree reads.
    std::span<const std::int32_t> features() const { return features_; }
    // Values of type double that `read` needs as work space.
    std::int64_t work(const Rows& rows) const {
        return rows.layout == Rows::Layout::csr ? std::ssize(features_) * kPanelRows : 0;
    }
    bool refuses() const { return static_cast<bool>(rules_.refused); }

    // Writes the bins of n <= kTileRows rows, panel after panel, and marks rows that hold a refused value: refused[row]
    // != 0. `bins` has room for whole panels.
    void read(const Rows& rows, const RowIds& some, const Bins& columns, double* work, std::int8_t* bins,
              std::uint8_t* refused) const {
        std::fill_n(refused, round_up(some.n, kPanelRows), std::uint8_t{0});
        if (columns.n_columns() == 0) return;
        if (rows.layout == Rows::Layout::columns || (rows.layout == Rows::Layout::dense && !rows.contiguous()))
            read_columns(rows, some, columns, bins, refused);
        else if (is_f64(rows.dtype)) read_as<double>(rows, some, columns, work, bins, refused);
        else read_as<float>(rows, some, columns, reinterpret_cast<float*>(work), bins, refused);
    }

    // Whether some values are to be compared in float64: where rows hold float64 values that the model does not round
    // to float32. Other values are float32 numbers.
    bool compares_f64(const Rows& rows) const {
        if (rows.layout != Rows::Layout::columns) return is_f64(rows.dtype);
        return std::any_of(features_.begin(), features_.end(),
                           [&](std::int32_t f) { return is_f64(rows.columns[f].dtype); });
    }

    // ---- one row ---------------------------------------------------------------------------------------------------

    // Whether the values x[feature] of a row can be read where they are.
    template <class X>
    bool in_place(const Rows& rows) const {
        return rows.contiguous() && rows.element_bytes() == sizeof(X) && !rules_.missing;
    }
    // Copies features of a row to x[feature].
    template <class X>
    void read_row(const Rows& rows, std::int64_t r, std::span<const std::int32_t> features, X* x) const {
        const auto put = [&](std::int32_t f, double v) {
            const X value = static_cast<X>(v);
            const bool missing = static_cast<double>(value) == rules_.missing.missing ||
                                 (is_zero_missing(f) && std::fabs(static_cast<double>(value)) <= MissingRule::kTiny);
            x[f] = missing ? std::numeric_limits<X>::quiet_NaN() : value;
        };
        if (rows.layout == Rows::Layout::csr) {
            for (const std::int32_t f : features) {
                if (spec_.absent_is_missing) x[f] = std::numeric_limits<X>::quiet_NaN();
                else put(f, 0.0);
            }
            for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k)
                if (slot_[rows.indices[k]] >= 0) put(rows.indices[k], element(rows, k));
        } else {
            for (const std::int32_t f : features) {
                const Column c = rows.column(f);
                put(f, load_element<double>(c.data + r * c.stride, c.dtype));
            }
        }
    }
    // Whether x[feature] is refused for one of the features. The bits of |x| are compared as an integer: refused values
    // are those in [first, last]. The loop over the features has no branches.
    template <class X>
    bool is_refused(std::span<const std::int32_t> features, const X* x) const {
        if (!rules_.refused) return false;
        using Bits = std::conditional_t<sizeof(X) == 4, std::uint32_t, std::uint64_t>;
        constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<X>::infinity());  // NaN has larger bits
        constexpr Bits largest = std::numeric_limits<Bits>::max() >> 1;
        const Bits first = rules_.refused.infinity ? infinity : infinity + 1;
        const Bits last = rules_.refused.nan ? largest : infinity;
        bool refused = false;
        for (const std::int32_t f : features) refused |= (std::bit_cast<Bits>(x[f]) & largest) - first <= last - first;
        return refused;
    }

private:
    bool is_f64(Dtype dtype) const { return dtype == Dtype::f64 && !spec_.f32_rows; }
    bool is_zero_missing(std::int32_t f) const {
        return rules_.missing.zero_is_missing != nullptr && rules_.missing.zero_is_missing[f] != 0;
    }
    static double element(const Rows& rows, std::int64_t k) {
        return load_element<double>(rows.data + k * rows.element_bytes(), rows.dtype);
    }

    template <class X>
    void read_as(const Rows& rows, const RowIds& some, const Bins& columns, X* work, std::int8_t* bins,
                 std::uint8_t* refused) const {
        if (rows.layout == Rows::Layout::csr) read_csr(rows, some, columns, work, bins, refused);
        else read_rows<X>(rows, some, columns, bins, refused);
    }
    // Calls use(first row, number of rows, bins, refused) for each panel.
    template <class Use>
    static void each_panel(const RowIds& some, const Bins& columns, std::int8_t* bins, std::uint8_t* refused,
                           const Use& use) {
        for (int first = 0; first < some.n; first += kPanelRows, bins += columns.panel_bytes())
            use(first, std::min(kPanelRows, some.n - first), bins, refused + first);
    }

    template <class X>
    void read_rows(const Rows& rows, const RowIds& some, const Bins& columns, std::int8_t* bins,
                   std::uint8_t* refused) const {
        const std::vector<BinBlock>& blocks = columns.blocks();
        PanelRows panel;
        panel.dtype = rows.dtype;
        const std::int64_t span = (blocks.back().first_feature - blocks.front().first_feature) / kBlock + 1;
        panel.whole = 3 * std::ssize(blocks) >= span;
        each_panel(some, columns, bins, refused, [&](int first, int n, std::int8_t* to, std::uint8_t* bad) {
            panel.n = n;
            panel.n_known = std::min(some.n_known - first, n == kPanelRows ? 2 * kPanelRows : n);
            panel.is_first = first == 0 && some.are_first;
            for (int i = 0; i < panel.n_known; ++i) panel.rows[i] = rows.row(some.ids[first + i]);
            for (int i = panel.n_known; i < round_up(n, 16); ++i) panel.rows[i] = panel.rows[n - 1];
            bin_kernels<X>().bin_rows(columns.view<X>(), blocks.data(), static_cast<int>(blocks.size()), panel, rules_,
                                      bad, to);
        });
    }

    void read_columns(const Rows& rows, const RowIds& some, const Bins& columns, std::int8_t* bins,
                      std::uint8_t* refused) const {
        bool neighbours = true;
        for (int i = 1; i < some.n; ++i) neighbours &= some.ids[i] == some.ids[0] + i;
        const std::vector<std::int32_t>& features = columns.features();
        for (std::size_t i = 0; i < features.size(); ++i) {
            if (neighbours && i + kFeaturesAhead < features.size())
                request(rows.column(features[i + kFeaturesAhead]), some);
            const Column c = rows.column(features[i]);
            if (is_f64(c.dtype)) read_column<double>(c, i, some, neighbours, columns, bins, refused);
            else read_column<float>(c, i, some, neighbours, columns, bins, refused);
        }
    }
    template <class X>
    void read_column(const Column& c, std::size_t i, const RowIds& some, bool neighbours, const Bins& columns,
                     std::int8_t* bins, std::uint8_t* refused) const {
        const BinsView<X> view = columns.view<X>();
        const int begin = columns.first_of(i), end = columns.first_of(i + 1);
        const bool in_place = neighbours && !rules_.missing && !rules_.refused && c.stride == sizeof(X) &&
                              c.dtype == (std::is_same_v<X, double> ? Dtype::f64 : Dtype::f32);
        int panel = 0;
        if (in_place) {
            panel = some.n / kPanelRows;
            bin_kernels<X>().bin_panels(view, begin, end, reinterpret_cast<const X*>(c.data) + some.ids[0], panel,
                                        columns.panel_bytes(), bins);
        }
        alignas(kPanelBytes) X values[kPanelRows];
        for (int first = panel * kPanelRows; first < some.n; first += kPanelRows, ++panel) {
            const int n = std::min(kPanelRows, some.n - first);
            copy(c, some.ids + first, n, values);
            bin_kernels<X>().bin(view, begin, end, values, columns.features()[i], rules_, n, refused + first,
                                 bins + panel * columns.panel_bytes());
        }
    }
    static constexpr std::size_t kFeaturesAhead = 4;
    static void request(const Column& c, const RowIds& some) {
        const std::byte* const first = c.data + some.ids[0] * c.stride;
        const std::int64_t step =
            c.stride < 0 ? std::min<std::int64_t>(c.stride, -64) : std::max<std::int64_t>(c.stride, 64);
        for (std::int64_t at = 0; std::abs(at) < std::abs(some.n * c.stride); at += step)
            __builtin_prefetch(first + at);
    }
    template <class X>
    static void copy(const Column& c, const std::int64_t* ids, int n, X* values) {
        with_type(c.dtype, [&](auto type) {
            for (int i = 0; i < n; ++i) values[i] = static_cast<X>(loaded<decltype(type)>(c.data + ids[i] * c.stride));
        });
        std::fill(values + n, values + kPanelRows, X(0));
    }

    template <class X>
    void read_csr(const Rows& rows, const RowIds& some, const Bins& columns, X* work, std::int8_t* bins,
                  std::uint8_t* refused) const {
        const X absent = spec_.absent_is_missing ? std::numeric_limits<X>::quiet_NaN() : X(0);
        each_panel(some, columns, bins, refused, [&](int first, int n, std::int8_t* to, std::uint8_t* bad) {
            for (const std::int32_t f : columns.features())
                std::fill_n(work + std::int64_t{slot_[f]} * kPanelRows, kPanelRows, absent);
            for (int i = 0; i < n; ++i) {
                const std::int64_t r = some.ids[first + i];
                for (std::int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k)
                    if (const std::int64_t slot = slot_[rows.indices[k]]; slot >= 0)
                        work[slot * kPanelRows + i] = static_cast<X>(element(rows, k));
            }
            for (std::size_t i = 0; i < columns.features().size(); ++i) {
                const std::int32_t f = columns.features()[i];
                bin_kernels<X>().bin(columns.view<X>(), columns.first_of(i), columns.first_of(i + 1),
                                     work + std::int64_t{slot_[f]} * kPanelRows, f, rules_, n, bad, to);
            }
        });
    }

    const TreesSpec& spec_;
    ValueRules rules_;
    std::vector<std::int32_t> features_, slot_;  // slot_[feature]: its place in features_, or -1
};

}  // namespace wald
