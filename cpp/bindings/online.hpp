// Online learners of linear models. The arguments are checked here.
#pragma once

#include <cmath>
#include <variant>

#include "bindings/fields.hpp"
#include "bindings/rows.hpp"
#include "online/dense_epoch.hpp"
#include "online/sparse_epoch.hpp"
#include "online/state.hpp"

namespace wald::bindings {

namespace online = wald::online;

// Calls f, and turns the exception for a row that is not finite into a ValueError.
template <class F>
auto checked(F f) {
    try {
        return f();
    } catch (const online::NotFinite& error) {
        refuse("row " + std::to_string(error.row) +
               " holds NaN or infinity, or is too large for this floating-point type");
    }
}

// A learner of rows of either floating-point type.
template <template <class> class L>
class BoundLearner {
public:
    explicit BoundLearner(const Described& settings) {
        Fields f(settings);
        online::Config c;
        f.read("n_features", c.n_features);
        require(c.n_features >= 1 && c.n_features < (std::int64_t{1} << 31), "n_features must lie in [1, 2^31)");
        const auto single = f.get<bool>("single");
        c.n_columns = online::dense_columns(c.n_features, single);
        c.rule =
            f.one_of<online::Rule>("rule", {"perceptron", "pa", "pa1", "pa2", "pegasos", "logistic", "exponential"});
        f.read("rate", c.rate);
        require(c.rate > 0 && std::isfinite(c.rate), "rate must be finite and positive");
        if constexpr (std::is_same_v<L<float>, online::Boosting<float>>) {
            f.read("negligible", c.negligible);
            require(c.negligible > 0 && c.negligible < 0.5, "negligible must lie in (0, 0.5)");
        }
        f.read("intercept", c.intercept), f.read("average", c.average), f.read("average_from", c.average_from);
        require(c.average_from >= 0, "average_from must not be negative");
        c.attention = f.one_of<online::Attention>("attention",
                                                  {"full", "budgeted", "centred", "printed", "bridge", "conditional"});
        c.order = f.one_of<online::Order>("order", {"random", "weight", "selected", "cost"});
        c.variance = f.one_of<online::Variance>("variance", {"independent", "empirical"});
        c.error = f.one_of<online::Error>("error", {"joint", "posterior", "conditional"});
        f.read("width", c.width);
        require(std::isfinite(c.width), "width must be finite");
        f.read("target", c.target), f.read("audit_rate", c.audit_rate);
        require(c.target >= 0 && c.target < 1 && c.audit_rate >= 0 && c.audit_rate <= 1,
                "target must lie in [0, 1), audit_rate in [0, 1]");
        f.read("budget", c.budget), f.read("warm_up", c.warm_up), f.read("ring", c.ring);
        require(c.budget >= 0 && c.warm_up >= 2 && c.ring >= c.warm_up && c.ring <= (1 << 16),
                "budget must not be negative, nor warm_up below 2 or above ring");
        f.read("unit", c.unit), f.read("line_offset", c.line_offset), f.read("seed", c.seed);
        require(c.unit >= 0 && c.line_offset >= 0 && c.line_offset < 64,
                "unit must not be negative, line_offset lies in [0, 64)");
        std::span<const double> given;
        require(!f.read_optional("costs", given) || std::ssize(given) == c.n_features,
                "costs must have one entry for every feature");
        for (double v : given) require(v > 0 && std::isfinite(v), "costs must be finite and positive");
        const std::vector<double> costs(given.begin(), given.end());
        const auto watch_all = f.get<bool>("watch_all");
        f.done();
        if (single) learner_ = std::make_unique<L<float>>(c, costs);
        else learner_ = std::make_unique<L<double>>(c, costs);
        std::visit([&](auto& l) { l->watch_all = watch_all; }, learner_);
    }

    Tuple<Made<double>, double> answer(bool average) const {
        return std::visit(
            [&](const auto& l) -> Tuple<Made<double>, double> {
                require(!average || l->config.average, "this learner keeps no average");
                auto coef = new_array<double>({static_cast<std::size_t>(l->config.n_features)});
                double intercept = 0;
                l->model.answer(l->config, l->step, average, coef.data(), &intercept);
                return tuple_of(coef, intercept);
            },
            learner_);
    }

    Described state() const {
        Described found;
        std::visit(
            [&](const auto& l) {
                online::visit(*l, [&](const std::string& name, auto& value) { found[name.c_str()] = saved(value); });
            },
            learner_);
        return found;
    }
    void restore(const Described& from) {
        std::visit(
            [&](auto& l) {
                auto next = std::make_unique<std::decay_t<decltype(*l)>>(l->config, l->costs);
                next->watch_all = l->watch_all;
                online::visit(*next, [&](const std::string& name, auto& value) {
                    if (!from.contains(name.c_str())) refuse("the state lacks " + name);
                    load(name, from[name.c_str()], value);
                });
                online::check_restored(*next);
                l = std::move(next);
            },
            learner_);
    }

    template <class F>
    auto with(F f) const {
        return std::visit([&](const auto& l) { return f(*l); }, learner_);
    }

protected:
    std::variant<std::unique_ptr<L<float>>, std::unique_ptr<L<double>>> learner_;

private:
    template <class V, class A>
    static nb::object saved(const std::vector<V, A>& v) {
        return nb::cast(copied(v.data(), v.size()));
    }
    static nb::object saved(double v) { return nb::float_(v); }
    static nb::object saved(std::int64_t v) { return nb::int_(v); }

    template <class V, class A>
    static void load(const std::string& name, nb::handle from, std::vector<V, A>& v) {
        nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu> a;
        if (!nb::try_cast(from, a, false))
            refuse("the state's " + name + " must be a 1-D array of the type that it was saved with");
        v.assign(a.data(), a.data() + a.size());
        for (const V& x : v) require(std::isfinite(static_cast<double>(x)), "a state must be finite");
    }
    template <class V>
        requires std::is_arithmetic_v<V>
    static void load(const std::string& name, nb::handle from, V& v) {
        if (!nb::try_cast(from, v)) refuse("the state's " + name + " must be a number");
        require(std::isfinite(static_cast<double>(v)), "a state must be finite");
    }
};

// Checks labels and weights of rows.
inline online::Labels labels_of(std::int64_t n_rows, const Bytes& positive, const std::optional<Doubles>& weights,
                                double negative_weight, double positive_weight,
                                const std::optional<MutableBytes>& unchanged, bool skips_unchanged) {
    require(static_cast<std::int64_t>(positive.size()) == n_rows, "there must be one label for every row");
    require(!weights || weights->size() == positive.size(), "there must be one weight for every row");
    require(negative_weight >= 0 && positive_weight >= 0 && std::isfinite(negative_weight + positive_weight),
            "class weights must be finite and not negative");
    if (weights)
        for (std::size_t i = 0; i < weights->size(); ++i)
            require(weights->data()[i] >= 0 && std::isfinite(weights->data()[i]),
                    "weights must be finite and not negative");
    require(!unchanged || unchanged->size() == positive.size(), "unchanged must have one entry for every row");
    require(unchanged || !skips_unchanged, "unchanged must be given if its rows are skipped");
    return {positive.data(),
            weights ? weights->data() : nullptr,
            {negative_weight, positive_weight},
            unchanged ? unchanged->data() : nullptr,
            skips_unchanged};
}

template <class T>
void check_dtype(const Rows& rows) {
    require(rows.dtype == (sizeof(T) == 4 ? Dtype::f32 : Dtype::f64),
            "rows must be of the learner's own floating-point type");
}
template <class T>
online::DenseBlock<T> dense_block(const Rows& rows, std::int64_t n_columns) {
    check_dtype<T>(rows);
    require(rows.layout == Rows::Layout::dense && rows.contiguous() &&
                rows.row_stride % static_cast<std::int64_t>(sizeof(T)) == 0,
            "dense rows must lie together, feature after feature");
    require(rows.n_columns == n_columns, "rows must have the learner's number of columns");
    return {reinterpret_cast<const T*>(rows.data), rows.n_rows, rows.row_stride / static_cast<std::int64_t>(sizeof(T))};
}
template <class T>
online::SparseBlock<T> sparse_block(const Rows& rows, std::int64_t n_features) {
    check_dtype<T>(rows);
    require(rows.n_columns == n_features, "rows must have the learner's number of features");
    return {reinterpret_cast<const T*>(rows.data), rows.indices, rows.indptr, rows.n_rows};
}

class OnlineLearner : public BoundLearner<online::Learner> {
public:
    using BoundLearner::BoundLearner;

    // Runs one epoch; returns the sum of the losses of the rows that were read.
    double train(const BoundRows& b, Bytes positive, std::optional<Doubles> weights, double negative_weight,
                 double positive_weight, std::optional<std::uint64_t> shuffle, std::optional<MutableBytes> unchanged,
                 bool skips_unchanged) {
        const Rows& rows = b.rows;
        require(!b.subset, "training takes whole rows, not some of them");
        const online::Labels labels =
            labels_of(rows.n_rows, positive, weights, negative_weight, positive_weight, unchanged, skips_unchanged);
        return std::visit([&](auto& l) { return epoch(*l, rows, labels, shuffle); }, learner_);
    }

    Tuple<Made<double>, Made<std::int64_t>> judge(const BoundRows& b, bool average, double width) const {
        require(!b.subset && b.rows.layout == Rows::Layout::dense, "judge takes whole dense rows");
        require(width >= 0 && std::isfinite(width), "width must be finite and not negative");
        auto margins = new_array<double>({static_cast<std::size_t>(b.rows.n_rows)});
        auto seen = new_array<std::int64_t>({static_cast<std::size_t>(b.rows.n_rows)});
        std::visit(
            [&](const auto& l) {
                require(!average || l->config.average, "this learner keeps no average");
                const auto block = dense_block<typename std::decay_t<decltype(*l)>::Value>(b.rows, l->config.n_columns);
                checked([&] {
                    const Unlocked unlocked;
                    l->judge(block, average, width, margins.data(), seen.data());
                });
            },
            learner_);
        return tuple_of(margins, seen);
    }

private:
    template <class T>
    static double epoch(online::Learner<T>& l, const Rows& rows, const online::Labels& labels,
                        std::optional<std::uint64_t> shuffle) {
        const auto run = [&](const auto& block) {
            return checked([&] {
                const Unlocked unlocked;
                return online::run_epoch(l, block, labels, shuffle);
            });
        };
        if (rows.layout == Rows::Layout::csr) return run(sparse_block<T>(rows, l.config.n_features));
        return run(dense_block<T>(rows, l.config.n_columns));
    }
};

// A row for each class, the negative one first. Columns: audited (or all) rows, stopped, needed, both.
inline Made<std::int64_t> counts_table(const std::array<online::Counts, 2>& counts) {
    auto table = new_array<std::int64_t>({2, 4});
    for (std::size_t y = 0; y < 2; ++y) {
        const online::Counts& c = counts[y];
        const std::int64_t row[4] = {c.rows, c.stopped, c.needed, c.wrong};
        std::copy(row, row + 4, table.data() + 4 * y);
    }
    return table;
}

// Names of the states of both classes' constant boundaries.
template <class L>
std::pair<std::string, std::string> range_names(const L& l) {
    constexpr const char* names[] = {"holds", "no spread", "at once", "seldom"};
    const auto name = [&](std::size_t y) { return std::string(names[static_cast<std::size_t>(l.range(y))]); };
    return {name(0), name(1)};
}

// Binds what all learners have in common.
template <class L>
nb::class_<L> bind_learner(nb::module_& m, const char* name, const char* doc) {
    using namespace nb::literals;
    return nb::class_<L>(m, name, doc)
        .def(nb::init<const Described&>(), "settings"_a)
        .def("answer", &L::answer, "average"_a, "Return weights and intercept, or their average over time.")
        .def("state", &L::state, "Return everything that training has changed.")
        .def("restore", &L::restore, "state"_a,
             "Put a state in place; ValueError if it is damaged or another learner's.")
        .def_prop_ro(
            "n_columns", [](const L& o) { return o.with([](const auto& l) { return l.config.n_columns; }); },
            "Columns that dense rows must have: the features, and zeros up to a register's width.")
        .def_prop_ro("n_steps", [](const L& o) { return o.with([](const auto& l) { return l.step; }); })
        .def_prop_ro("n_updates", [](const L& o) { return o.with([](const auto& l) { return l.updates; }); })
        .def_prop_ro("features_seen", [](const L& o) { return o.with([](const auto& l) { return l.features_seen; }); })
        .def_prop_ro("cost_seen", [](const L& o) { return o.with([](const auto& l) { return l.cost_seen; }); })
        .def_prop_ro(
            "audits", [](const L& o) { return o.with([](const auto& l) { return counts_table(l.audits); }); },
            nb::rv_policy::automatic,
            "Numbers by class of audited rows, and of those among them that were stopped, needed, or both: (2, 4).")
        .def_prop_ro(
            "ranges", [](const L& o) { return o.with([](const auto& l) { return range_names(l); }); },
            "State of each class's constant boundary: its formula \"holds\", there is \"no spread\", or the level was "
            "clamped and stops rows \"at once\" or \"seldom\".")
        .def_prop_ro(
            "truth", [](const L& o) { return o.with([](const auto& l) { return counts_table(l.truth); }); },
            nb::rv_policy::automatic, "The same counts over all rows after the warm-up, if `watch_all` is set.");
}

inline void bind_online(nb::module_& m) {
    using namespace nb::literals;
    bind_learner<OnlineLearner>(m, "OnlineLearner", "A binary online learner of features, with its boundaries.")
        .def("train", &OnlineLearner::train, "rows"_a, "positive"_a.noconvert(), "weights"_a.none(),
             "negative_weight"_a, "positive_weight"_a, "shuffle"_a.none(),
             "unchanged"_a.noconvert().none() = nb::none(), "skips_unchanged"_a = false,
             "Run one epoch, in the rows' order or shuffled by a seed; return the losses' sum. See `online::Labels`.")
        .def("judge", &OnlineLearner::judge, "rows"_a, "average"_a, "width"_a,
             "Margins of dense rows of unknown class, which stop once their sign is clear, and the number of features "
             "read of each.");
}

}  // namespace wald::bindings
