// What a model's scores mean: its decision, checked.
#pragma once

#include <cmath>

#include "bindings/fields.hpp"
#include "core/cascade/decision.hpp"
#include "core/limits.hpp"

namespace wald::bindings {

inline Decision make_decision(Fields f) {
    Decision d;
    d.kind = f.one_of<DecisionKind>("kind", {"sign", "argmax", "votes", "values", "bands"});
    if (d.kind == DecisionKind::values) {
        f.read("n_outputs", d.n_classes);
        require(d.n_classes >= 1 && d.n_classes <= kMaxClasses, "n_outputs must be 1 to 10000");
        d.margin =
            f.one_of<MarginKind>("margin", {"bands", "none", "constant", "relative", "exp", "logistic", "softmax"});
        require(d.margin != MarginKind::bands, "values have no thresholds");
        if (d.margin == MarginKind::none) return d;
        if (d.n_classes == 1) {
            f.read("tolerance", d.tolerance), f.read("slope", d.slope), f.read("offset", d.offset);
            d.tolerances = {d.tolerance};
            require(d.margin != MarginKind::softmax, "softmax is for several values");
            require(d.slope > 0 && d.slope < HUGE_VAL && std::isfinite(d.offset),
                    "slope must be positive, and slope and offset finite");
        } else {
            d.tolerances = f.get<std::vector<double>>("tolerances");
            require(d.tolerances.size() == static_cast<std::size_t>(d.n_classes),
                    "several values need a tolerance for each");
        }
        for (const double tolerance : d.tolerances)
            require(tolerance > 0 && tolerance < HUGE_VAL, "tolerances must be positive and finite");
        return d;
    }
    if (d.kind == DecisionKind::bands) {
        d.thresholds = f.get<std::vector<double>>("thresholds");
        d.inclusive = f.get<std::vector<bool>>("inclusive");
        const std::size_t n = d.thresholds.size();
        require(n >= 1 && n < kMaxClasses && d.inclusive.size() == n,
                "there must be 1 to 9999 thresholds, each inclusive or not");
        d.n_classes = static_cast<int>(n) + 1;
        for (std::size_t j = 0; j < n; ++j)
            require(j == 0 ? !std::isnan(d.thresholds[j]) : d.thresholds[j] >= d.thresholds[j - 1],
                    "thresholds must not fall, nor be NaN");
        return d;
    }
    f.read("n_classes", d.n_classes), f.read("threshold", d.threshold), f.read("saturation", d.saturation);
    f.read("tie_positive", d.tie_positive), f.read("break_ties", d.break_ties);
    const bool sign = d.kind == DecisionKind::sign;
    if (sign && d.threshold == HUGE_VAL && d.n_classes == 1) d.n_classes = 2;  // every row has the same label
    require(d.n_classes >= (d.kind == DecisionKind::votes ? 3 : 2) && d.n_classes <= (sign ? 2 : kMaxClasses),
            "n_classes must be 2 for sign, 2 to 10000 for argmax, 3 to 10000 for votes");
    require(d.saturation > 0, "saturation must be positive");
    return d;
}

}  // namespace wald::bindings
