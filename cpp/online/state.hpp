// The state of a learner as named values, to save and restore it.
#pragma once

#include <string>

#include "online/boosting.hpp"
#include "online/learner.hpp"

namespace wald::online {

// Calls v(name, value) for everything that training changes. The names are part of the file format.
template <class L, class V>
void visit(L& l, V&& v) {
    v("step", l.step), v("updates", l.updates), v("next_fit", l.next_fit), v("n_fits", l.n_fits),
        v("features_seen", l.features_seen);
    v("cost_seen", l.cost_seen), v("weights", l.model.w), v("late", l.model.late), v("intercept", l.model.b),
        v("late_intercept", l.model.late_b);
    v("clock", l.model.clock);
    for (std::size_t y = 0; y < 2; ++y) {
        const std::string prefix = y ? "positive." : "negative.";
        v(prefix + "rows", l.rows_of[y]);
        for (Counts* c : {&l.audits[y], &l.truth[y]}) {
            const std::string name = prefix + (c == &l.audits[y] ? "audits." : "truth.");
            v(name + "rows", c->rows), v(name + "stopped", c->stopped), v(name + "needed", c->needed),
                v(name + "wrong", c->wrong);
        }
        auto& b = l.boundary[y];
        v(prefix + "ring", b.audited.rows), v(prefix + "seen", b.audited.seen), v(prefix + "sum", b.audited.sum),
            v(prefix + "squares", b.audited.squares);
        v(prefix + "width", b.width), v(prefix + "order", b.order), v(prefix + "checkpoints", b.checkpoints),
            v(prefix + "factors", b.factors);
        v(prefix + "spread", b.spread), v(prefix + "mean", b.mean), v(prefix + "variance", b.variance),
            v(prefix + "scale", b.scale);
        if constexpr (requires { l.sparse; }) {
            auto& s = l.sparse[y];
            const std::string csr = prefix + "csr.";
            v(csr + "features", s.features), v(csr + "values", s.values), v(csr + "length", s.length),
                v(csr + "slot", s.slot);
            v(csr + "seen", s.seen), v(csr + "width", s.width), v(csr + "start", s.start), v(csr + "factor", s.factor);
            v(csr + "spread", s.spread), v(csr + "middle", s.middle), v(csr + "sigma", s.sigma),
                v(csr + "scale", s.scale);
            v(csr + "intercept", s.intercept);
        }
    }
}

// True if a restored boundary is consistent with the configuration.
template <class T>
bool fits(const SparseBoundary<T>& s, const Config& c) {
    const auto n = [](const auto& a) { return static_cast<std::int64_t>(a.size()); };
    bool good = s.slot >= 0 && s.slot <= kLongest && s.seen >= 0 && n(s.length) == std::min(s.seen, c.ring) &&
                s.scale > 0 && n(s.features) == n(s.length) * s.slot && n(s.values) == n(s.features) &&
                (s.start.empty() || n(s.start) == kShares - 1) && n(s.factor) == n(s.start) &&
                n(s.spread) == n(s.start);
    for (std::int64_t m : s.length) good = good && m > 0 && m <= s.slot;
    for (std::int32_t j : s.features) good = good && j >= 0 && j < c.n_features;
    return good;
}

template <template <class> class L, class T>
void check_restored(L<T>& l) {
    const auto n = [](const auto& a) { return static_cast<std::int64_t>(a.size()); };
    const std::int64_t padded = round_up(l.config.n_features, kLanes<T>);
    bool good = n(l.model.w) == padded && n(l.model.late) == (l.config.average ? padded : 0) && l.step >= 0;
    good = good && l.model.clock == static_cast<double>(std::max<std::int64_t>(
                                        0, l.step - std::max<std::int64_t>(0, l.config.average_from - 1)));
    for (std::size_t y = 0; y < 2 && good; ++y) {
        const Boundary<T>& b = l.boundary[y];
        const std::int64_t columns = b.audited.seen > 0 ? l.config.n_columns : 0;
        good = b.audited.seen >= 0 &&
               n(b.audited.rows) == std::min(b.audited.seen, l.config.ring) * l.config.n_columns &&
               n(b.audited.sum) == columns && n(b.audited.squares) == (keeps_squares(l.config) ? columns : 0) &&
               b.width >= 0 && b.scale > 0;
        std::int64_t factors = 0;
        std::int32_t before = 0;
        for (std::int32_t m : b.checkpoints) {
            good = good && m > before && m <= n(b.order);
            factors += m;
            before = m;
        }
        for (std::int32_t u : b.order) good = good && u >= 0 && u < l.units.count();
        if (b.ready() && good) {
            good = n(b.mean) == padded && n(b.variance) == (keeps_squares(l.config) ? padded : 0);
            good = good && (b.walks(l.config)
                                ? n(b.spread) == 1 && n(b.order) == n(b.checkpoints) + 1
                                : n(b.spread) == n(b.checkpoints) && n(b.factors) == factors && n(b.order) == before);
        }
        if constexpr (requires { l.sparse; }) good = good && fits(l.sparse[y], l.config);
    }
    if (!good) throw std::invalid_argument("this state belongs to another learner, or is damaged");
    for (int y = 0; y < 2; ++y) {
        l.boundary[static_cast<std::size_t>(y)].lay_out(l.config, l.units);
        l.boundary[static_cast<std::size_t>(y)].refresh(l.config, l.model, sign(y));
    }
}

}  // namespace wald::online
