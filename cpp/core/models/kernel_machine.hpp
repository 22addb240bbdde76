// A kernel machine as a source of terms: the kernel values of its support vectors, in the order of a plan.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/arena.hpp"
#include "core/cascade/kernels.hpp"
#include "core/interruption.hpp"
#include "core/models/pair_scores.hpp"
#include "core/models/row_reader.hpp"
#include "core/models/rows.hpp"

namespace wald {

// A model as Python passes it, in the plan's order. The bindings have checked it.
struct KernelMachineSpec {
    KernelParams params;
    std::int64_t n_terms = 0, n_features = 0;  // features of a raw row
    const double* vectors = nullptr;           // (n_vectors, n_kept)
    const double* landmarks = nullptr;         // (any, n_kept); their indices start at n_vectors
    std::int64_t n_vectors = 0;
    std::span<const std::int64_t> order;   // (n_terms,): the vector or landmark of each term
    std::span<const std::uint8_t> linear;  // (n_terms,): 1 where the term is the plain dot product
    std::span<const double> coef;          // (n_outputs, n_terms)
    std::span<const double> intercept;     // (n_outputs,)
    std::span<const std::int32_t> kept;    // columns of `vectors` as feature numbers, ascending; empty: all
    std::span<const double> scale, shift;  // (n_features,): x * scale + shift replaces x; empty: x is unchanged
    // Norm of the largest values inside the wrapped model's scaling. They cancel, but their rounding errors do not.
    double scaling_magnitude = 0;
    std::span<const double> fill;  // (n_features,): replaces NaN, after scale and shift; empty: none

    std::int64_t n_kept() const { return kept.empty() ? n_features : static_cast<std::int64_t>(kept.size()); }
    const double* vector(std::int64_t term) const {
        const std::int64_t which = order[term];
        return which < n_vectors ? vectors + which * n_kept() : landmarks + (which - n_vectors) * n_kept();
    }
};

template <class T>
class KernelMachine {
public:
    using Scalar = T;
    static constexpr int L = kLanes<T>;
    static constexpr int kBlockRows = RowReader<T>::kBlockRows;
    // Rows to be prepared. Rows that are not CSR are read together.
    struct Block {
        typename RowReader<T>::Block dense;
        const Rows* csr;  // null: not CSR
        const std::int64_t* ids;
    };
    using Scratch = typename RowReader<T>::Scratch;
    struct Row {
        PreparedRow<T> prepared;
    };

    // The float64 machine shares the float32 machine's support vectors where float32 represents them exactly: few rows
    // come here, and they are bound by memory. It then computes full scores only, because landmarks (terms without a
    // coefficient) may have been rounded.
    explicit KernelMachine(const KernelMachineSpec& spec,
                           std::shared_ptr<const KernelMachine<float>> f32_machine = nullptr)
        : vectors_owner_(f32_machine != nullptr && fits_f32(spec) ? std::move(f32_machine) : nullptr),
          params_(spec.params), n_terms_(spec.n_terms),
          reader_(spec.n_features, spec.kept, spec.scale, spec.shift, spec.fill),
          n_outputs_(static_cast<int>(spec.intercept.size())),
          padded_outputs_(static_cast<int>(round_up(n_outputs_, L))),
          n_panels_(static_cast<int>(round_up(spec.n_terms, L) / L)), n_kept_(spec.n_kept()),
          panels_data_(vectors_owner_ != nullptr ? 0 : static_cast<std::size_t>(n_panels_) * n_kept_ * L),
          offset_(static_cast<std::size_t>(n_panels_) * L), linear_(static_cast<std::size_t>(n_panels_) * L),
          has_linear_(n_panels_), pairs_(PairScores<T>::of(spec.coef, n_outputs_, n_terms_)),
          weights_(pairs_ ? 0 : static_cast<std::size_t>(n_panels_) * L * (n_outputs_ == 1 ? 1 : padded_outputs_)),
          bias_(padded_outputs_), largest_(static_cast<std::size_t>(n_panels_) * L) {
        std::copy_n(reader_.segments(), kChains + 1, panels_.segments);
        for (std::int64_t j = 0; j < n_terms_; ++j) pack(spec, j);
        list_frequent(spec);
        for (int k = 0; k < n_outputs_; ++k) {
            bias_[k] = static_cast<T>(spec.intercept[k]);
            largest_bias_ = std::max(largest_bias_, std::fabs(spec.intercept[k]));
        }
        scaling_magnitude_ = spec.scaling_magnitude;
        panels_.data = panels_data_.data();
        if (vectors_owner_ != nullptr) panels_.narrow = vectors_owner_->packed();
        panels_.n_features = n_kept_;
        panels_.n_panels = n_panels_;
        panels_.frequent = frequent_.data();
        panels_.n_frequent = static_cast<int>(frequent_.size());
        panels_.offset = offset_.data();
        panels_.linear = linear_.data();
        panels_.has_linear = has_linear_.data();
    }

    const T* packed() const { return panels_data_.data(); }
    std::int64_t n_features() const { return reader_.n_features(); }
    std::int64_t n_terms() const { return n_terms_; }
    int n_outputs() const { return n_outputs_; }
    std::int64_t slot_width(std::int64_t terms) const { return round_up(terms, L); }
    std::int64_t evaluated(std::int64_t terms) const { return round_up(terms, L); }  // whole panels
    std::int64_t full_width() const { return static_cast<std::int64_t>(n_panels_) * L; }

    // Every term reads the whole row.
    std::optional<std::span<const std::int32_t>> columns_read(std::int64_t) const { return {}; }
    std::size_t row_bytes() const { return reader_.row_bytes(); }
    Scratch scratch(Arena& arena, std::int64_t rows) const { return reader_.scratch(arena, rows); }

    // Views rows r[0..n) for preparation or for the sparse-row path. The scratch memory must have room for n rows.
    Block block(const Rows& rows, const std::int64_t* r, int n, const Scratch& scratch) const {
        Block b;
        b.ids = r;
        b.csr = rows.layout == Rows::Layout::csr ? &rows : nullptr;
        if (b.csr == nullptr) b.dense = reader_.block(rows, r, n, scratch);
        return b;
    }
    // Prepares a row; false if it holds infinity, NaN without a fill value, or values whose square overflows.
    bool prepare(const Block& block, int i, Row& row, Scratch& scratch) const {
        if (block.csr != nullptr) return prepare(*block.csr, block.ids[i], row, scratch);
        reader_.read(block.dense, i, row.prepared, scratch);
        return is_finite(row);
    }
    bool prepare(const Rows& rows, std::int64_t r, Row& row, Scratch& scratch) const {
        reader_.read(rows, r, row.prepared, scratch);
        return is_finite(row);
    }

    bool has_sparse_row_path() const { return reader_.keeps_all() && vectors_owner_ == nullptr; }
    // The sparse-row path: writes the estimates of a block's first n rows from their first `terms` terms; NaN for rows
    // that have many non-zeros or are not finite.
    void first_estimates(const Block& block, int n, std::int64_t terms, const T* weights, T bias,
                         const Scratch& scratch, T* slot, T* z) const {
        const SparseFirstStage<T> task{&params_,
                                       &panels_,
                                       static_cast<int>(round_up(terms, L) / L),
                                       weights,
                                       bias,
                                       n_features(),
                                       static_cast<std::int32_t>(reader_.max_listed()),
                                       scratch.values,
                                       scratch.features,
                                       slot};
        RowReader<T>::by_type(block.dense.dtype, [&](const auto& kernels_of_rows, auto) {
            kernels_of_rows.sparse_first_stage(task, block.dense.row, n, z);
        });
    }

    int full_prefetch_rows() const { return 1 << 30; }
    void prefetch_full(const Row* const*, int) const {}  // slots are in the cache

    // Evaluates terms [begin, end), rounded out to panels, of prepared rows into their slots.
    void evaluate(const Row* const* rows, T* const* slots, int n, std::int64_t begin, std::int64_t end) const {
        const int first = static_cast<int>(begin / L), last = static_cast<int>(round_up(end, L) / L);
        const Kernels<T>& k = kernels<T>();
        constexpr int kGroup = 512;
        const PreparedRow<T>* lists[kGroup];
        const PreparedRow<T>* denses[kGroup];
        T *list_slots[kGroup], *dense_slots[kGroup];
        for (int at = 0; at < n; at += kGroup) {
            const int m = std::min(kGroup, n - at);
            int n_lists = 0, n_dense = 0;
            for (int r = at; r < at + m; ++r) {
                const PreparedRow<T>* p = &rows[r]->prepared;
                if (p->dense == nullptr) {
                    lists[n_lists] = p;
                    list_slots[n_lists++] = slots[r];
                } else {
                    denses[n_dense] = p;
                    dense_slots[n_dense++] = slots[r];
                }
            }
            const int some = panels_at_a_time(m);
            for (int from = first; from < last; from += some) {
                if (from > first) give_way();
                const int to = std::min(last, from + some);
                if (n_lists > 0) k.dots_sparse(panels_, from, to, lists, list_slots, n_lists);
                if (n_dense > 0) k.dots_dense(panels_, from, to, denses, dense_slots, n_dense);
                for (int r = at; r < at + m; ++r)
                    k.activate(params_, panels_, from, to, rows[r]->prepared.norm2, slots[r]);
            }
        }
    }

    // The full scores from a slot that holds every term. Returns a bound of their distance from those of the wrapped
    // model, whose unit roundoff is `working`.
    double full(const Rows&, std::int64_t, const Row& row, const T* slot, double working, double* f, T* work) const {
        const Kernels<T>& k = kernels<T>();
        if (pairs_) return error(row.prepared, pairs_->scores(slot, bias_.data(), f, work), working);
        if (n_outputs_ == 1) {
            f[0] = static_cast<double>(k.readout(slot, weights_.data(), n_panels_)) + static_cast<double>(bias_[0]);
        } else {
            const T* slots[1] = {slot};
            T* out[1] = {work};
            k.readouts(slots, 1, weights_.data(), bias_.data(), static_cast<int>(n_terms_), padded_outputs_, out);
            for (int o = 0; o < n_outputs_; ++o) f[o] = static_cast<double>(work[o]);
        }
        return error(row.prepared, static_cast<double>(k.absolute(slot, largest_.data(), n_panels_)), working);
    }
    // Whether full scores of rows without values so far are added up as the values of their terms are found.
    bool adds_up() const { return n_outputs_ == 1 && !pairs_; }
    // The full scores of n such rows, with the bits and errors of `full`. Calls use(number of the row, score, error).
    template <class Use>
    void full_sums(const Rows& from, const Row* const* rows, T* const* slots, int n, double working,
                   const Use& use) const {
        constexpr int kGroup = 512;
        const Row* some[kGroup];
        T* own_slots[kGroup];
        std::int32_t at[kGroup];
        for (int first = 0; first < n; first += kGroup) {
            const int last = std::min(n, first + kGroup);
            for (const bool listed : {true, false}) {
                int m = 0;
                for (int r = first; r < last; ++r)
                    if ((rows[r]->prepared.dense == nullptr) == listed)
                        some[m] = rows[r], own_slots[m] = slots[r], at[m++] = r;
                if (listed && m > 0) {
                    evaluate(some, own_slots, m, 0, n_terms_);
                    for (int i = 0; i < m; ++i) {
                        double score;
                        const double e = full(from, 0, *some[i], own_slots[i], working, &score, nullptr);
                        use(at[i], score, e);
                    }
                } else {
                    dense_sums(some, m, working, [&](int i, double score, double e) { use(at[i], score, e); });
                }
            }
        }
    }
    std::int64_t full_work() const { return pairs_ ? pairs_->work() : padded_outputs_; }

private:
    static constexpr std::int64_t kRare = 16;

    // Number of panels whose products with n rows stay in the second cache until they are kernel values, and take a few
    // milliseconds at most: signals are checked in between.
    int panels_at_a_time(int n) const {
        constexpr std::int64_t kProducts = std::int64_t{1} << 28, kBytes = 384 << 10, kLeast = 12;
        const std::int64_t kept = std::max<std::int64_t>(kLeast, kBytes / (L * sizeof(T) * n) / kLeast * kLeast);
        return static_cast<int>(
            std::clamp<std::int64_t>(std::min(kept, kProducts / (L * n * panels_.n_features)), 8, 1 << 20));
    }
    template <class Use>
    void dense_sums(const Row* const* rows, int n, double working, const Use& use) const {
        constexpr int kTogether = 96, kSums = 2 * kSumPanels * L;
        constexpr std::int64_t kBytes = 192 << 10;  // of panels that stay in the second cache for all of these rows
        const Kernels<T>& k = kernels<T>();
        const std::int64_t kept = kBytes / (kPanelBytes * n_kept_) / kSumPanels * kSumPanels;
        const int some = static_cast<int>(std::clamp<std::int64_t>(kept, 2 * kSumPanels, 1 << 20));
        alignas(kPanelBytes) T sums[kTogether * kSums];
        const PreparedRow<T>* prepared[kTogether];
        for (int first = 0; first < n; first += kTogether) {
            const int m = std::min(kTogether, n - first);
            for (int i = 0; i < m; ++i) prepared[i] = &rows[first + i]->prepared;
            std::fill_n(sums, m * kSums, T(0));
            for (int panel = 0; panel < n_panels_; panel += some) {
                if (panel > 0) give_way();
                k.add_values(params_, panels_, panel, std::min(panel + some, n_panels_), prepared, m, weights_.data(),
                             largest_.data(), sums);
            }
            for (int i = 0; i < m; ++i) {
                const T* const chains = sums + i * kSums;
                const double size = static_cast<double>(k.chains_sum(chains + kSumPanels * L));
                use(first + i, static_cast<double>(k.chains_sum(chains)) + static_cast<double>(bias_[0]),
                    error(*prepared[i], size, working));
            }
        }
    }
    static bool is_finite(const Row& row) { return row.prepared.norm2 <= std::numeric_limits<T>::max(); }

    static bool fits_f32(const KernelMachineSpec& spec) {
        const std::int64_t d = spec.n_kept(), n_outputs = static_cast<std::int64_t>(spec.intercept.size());
        for (std::int64_t j = 0; j < spec.n_terms; ++j) {
            bool has_coef = false;
            for (std::int64_t k = 0; k < n_outputs; ++k) has_coef = has_coef || spec.coef[k * spec.n_terms + j] != 0;
            const double* v = spec.vector(j);
            for (std::int64_t f = 0; has_coef && f < d; ++f)
                if (static_cast<double>(static_cast<float>(v[f])) != v[f]) return false;
        }
        return true;
    }

    void pack(const KernelMachineSpec& spec, std::int64_t j) {
        const std::int64_t panel = j / L, lane = j % L;
        const double* v = spec.vector(j);
        double norm2 = 0;
        for (std::int64_t f = 0; f < n_kept_; ++f) {
            if (vectors_owner_ == nullptr) panels_data_[(panel * n_kept_ + f) * L + lane] = static_cast<T>(v[f]);
            norm2 += v[f] * v[f];
        }
        const bool linear = !spec.linear.empty() && spec.linear[j];
        offset_[j] = static_cast<T>(-params_.gamma * kLog2E * norm2);
        linear_[j] = linear ? T(1) : T(0);
        has_linear_[panel] |= linear;
        if (!linear) longest_ = std::max(longest_, std::sqrt(norm2));
        double largest = 0;
        for (int k = 0; k < n_outputs_; ++k) {
            const double a = spec.coef[k * n_terms_ + j];
            if (!pairs_) weights_[n_outputs_ == 1 ? j : j * padded_outputs_ + k] = static_cast<T>(a);
            largest = std::max(largest, std::fabs(a));
        }
        largest_[j] = static_cast<T>(largest);
        total_ += largest;
    }

    // Lists the features that are non-zero in at least one of kRare vectors.
    void list_frequent(const KernelMachineSpec& spec) {
        std::vector<std::int64_t> having(static_cast<std::size_t>(n_kept_));
        for (std::int64_t j = 0; j < n_terms_; ++j) {
            const double* v = spec.vector(j);
            for (std::int64_t f = 0; f < n_kept_; ++f) having[f] += v[f] != 0;
        }
        for (std::int64_t f = 0; f < n_kept_; ++f)
            if (having[f] * kRare >= n_terms_) frequent_.push_back(static_cast<std::int32_t>(f));
    }

    // First-order rounding error bound, with a safety factor. `magnitude` is sum_j max_k |a_kj| |T_j|; u is the unit
    // roundoff of this machine, w that of the wrapped model.
    double error(const PreparedRow<T>& row, double magnitude, double working) const {
        const double u = std::numeric_limits<T>::epsilon() / 2, w = working, d = static_cast<double>(n_features());
        const double n = static_cast<double>(n_terms_);
        const double chain = static_cast<double>(reader_.longest_chain(row));
        // Error of squares that underflow, over all features.
        const double smallest = d * std::numeric_limits<T>::min();
        const double x = std::sqrt(static_cast<double>(row.norm2) + smallest), s = longest_ + std::sqrt(smallest),
                     both = x + s + 2 * scaling_magnitude_;
        const double reading = (sizeof(T) == 4 ? 2 * u : 0) + (reader_.scales() ? 10 * (u + w) : 0);
        // Error of gamma times the dot product, then of the exponent -gamma |x - s|^2, whose two norms are summed over
        // L lanes.
        const double dot =
            params_.gamma * ((chain + 8) * u * x * s + ((d + 20) * w + reading) * both * both + smallest);
        const double exponent = 2 * dot + params_.gamma * ((d / L + 12) * u * x * x + 8 * u * s * s);
        const double longest = n_outputs_ == 1 ? n / L : pairs_ ? static_cast<double>(pairs_->longest()) : n;
        const double sums = (longest + 24) * u + (n + 24) * w;
        // Without pairs, several outputs have one chain of n terms each, which starts from the bias.
        double e = magnitude * sums + largest_bias_ * ((n_outputs_ == 1 || pairs_ ? 8 : n + 8) * u + 8 * w);
        if (params_.activation == Activation::rbf) {
            if (!(exponent < 0.1)) return HUGE_VAL;
            e += magnitude * 1.1 * exponent + total_ * 4 * std::numeric_limits<T>::min();
        } else if (params_.activation == Activation::poly) {
            const double base = params_.gamma * both * both + std::fabs(params_.coef0), p = params_.degree;
            e += total_ * 1.1 * p * std::pow(base, std::max(0.0, p - 1)) * (dot + 8 * (u + w) * base);
        } else {
            const double base = params_.gamma * both * both + std::fabs(params_.coef0);
            e += total_ * 1.1 * (dot + 8 * (u + w) * (base + 1));
        }
        return e * 1.05 + (total_ > 0 ? n * std::numeric_limits<T>::min() : 0.0);
    }

    std::shared_ptr<const KernelMachine<float>> vectors_owner_;
    KernelParams params_;
    std::int64_t n_terms_;
    RowReader<T> reader_;
    int n_outputs_, padded_outputs_, n_panels_;
    std::int64_t n_kept_;
    Aligned<T> panels_data_, offset_, linear_;
    Aligned<std::uint8_t> has_linear_;
    std::vector<std::int32_t> frequent_;
    std::optional<PairScores<T>> pairs_;  // of one-vs-one machines; then there are no weights_
    Aligned<T> weights_, bias_, largest_;
    double scaling_magnitude_ = 0, longest_ = 0, total_ = 0, largest_bias_ = 0;
    Panels<T> panels_;
};

}  // namespace wald
