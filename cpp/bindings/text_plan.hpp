// Plans for linear models behind vectorizers of texts: from strings to labels.
#pragma once

#include "bindings/text.hpp"
#include "core/text/text_plan.hpp"

namespace wald::bindings {

class BoundTextPlan {
public:
    BoundTextPlan(nb::typed<nb::object, BoundText> text, const Described& described)
        : BoundTextPlan(std::move(text), Fields(described)) {}

    Tuple<Made<std::int32_t>, Made<std::int32_t>, Made<double>, Made<std::uint8_t>> decide(const Objects& texts,
                                                                                           std::int64_t n_stages,
                                                                                           bool ends, int n_threads) {
        require(0 <= n_stages && n_stages <= std::ssize(plan_.spec().looks), "n_stages must be a number of looks");
        LentTexts lent(texts, text_.interpreter());
        const std::size_t n = lent.size();
        auto codes = new_array<std::int32_t>({n}), stages = new_array<std::int32_t>({n});
        auto paid = new_array<double>({n});
        auto statuses = new_array<std::uint8_t>({n});
        const auto store = [&](std::size_t i, const TextDecision& d) {
            codes.data()[i] = d.code;
            stages.data()[i] = d.stage;
            paid.data()[i] = d.paid;
            statuses.data()[i] = static_cast<std::uint8_t>(d.status);
        };
        for (std::size_t i = 0; i < n; ++i) store(i, plan_.unread());
        text_.run(lent, n_threads, [&](std::size_t i, TextScratch& s) {
            TextDecision found;
            const ReadStatus status = plan_.decide(lent[i], s, static_cast<std::size_t>(n_stages), ends, found);
            if (status == ReadStatus::read) store(i, found);
            return status;
        });
        return tuple_of(codes, stages, paid, statuses);
    }
    nb::any label(nb::handle x, bool with_cost) {
        constexpr Py_ssize_t kLong = Py_ssize_t{1} << 16;  // characters, for which Python's lock is given to others
        if (!PyUnicode_Check(x.ptr()) || PyUnicode_GetLength(x.ptr()) > kLong) return as_any(nb::none());
        TextDecision found;
        const bool read = text_.run_one(
            x, [&](const TextView& view, TextScratch& s) { return plan_.decide(view, s, reach_, false, found); });
        if (!read || found.status >= Status::handed_over || found.code >= std::ssize(labels_))
            return as_any(nb::none());
        nb::object label = labels_[found.code];
        return as_any(with_cost ? nb::make_tuple(label, found.paid) : label);
    }

private:
    BoundTextPlan(nb::object text, Fields fields)
        : owner_(std::move(text)), text_(nb::cast<BoundText&>(owner_)),
          plan_(text_.model(), made(fields, text_.model().spec().n_outputs)), labels_(fields.get<nb::tuple>("labels")),
          reach_(static_cast<std::size_t>(fields.get<std::int64_t>("reach"))) {
        require(reach_ <= plan_.spec().looks.size(), "reach must be a number of looks");
        fields.done();
    }

    static TextPlanSpec made(Fields& f, std::int64_t n_outputs) {
        TextPlanSpec spec;
        const auto looks = f.get<Longs>("looks");
        const auto block = f.get<std::int64_t>("block");
        BoundText::require_looks(looks, block);
        const std::size_t n = looks.size();
        spec.looks.assign(looks.data(), looks.data() + n);
        spec.block = static_cast<std::size_t>(block);
        for (const auto& [name, to] : {std::pair{"weights", &spec.weights}, std::pair{"bias", &spec.bias}}) {
            const auto values = f.get<Matrix>(name);
            require(values.shape(0) == n && std::cmp_equal(values.shape(1), n_outputs),
                    "weights and bias must have a row for each look, and a column for each output");
            to->assign(values.data(), values.data() + values.size());
        }
        for (const auto& [name, to] : {std::pair{"low", &spec.low}, std::pair{"high", &spec.high}}) {
            const auto values = f.get<Doubles>(name);
            require(values.size() == n, "low and high must have a value for each look");
            to->assign(values.data(), values.data() + n);
        }
        spec.n_stages = f.get<std::int32_t>("n_stages");
        spec.cost = f.get<std::optional<double>>("cost");
        f.read("threshold", spec.threshold);
        f.read("tie_positive", spec.tie_positive);
        f.read("saturation", spec.saturation);
        f.read("tie_margin", spec.tie_margin);
        f.read("error_factor", spec.error_factor);
        f.read("error_rest", spec.error_rest);
        return spec;
    }

    nb::object owner_;
    BoundText& text_;
    TextPlan plan_;
    nb::tuple labels_;
    std::size_t reach_;
};

inline void bind_text_plan(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundTextPlan>(m, "TextPlan", "A plan for a `Text`: from strings to labels. Threads may share it.")
        .def(nb::init<nb::typed<nb::object, BoundText>, const Described&>(), "text"_a, "described"_a)
        .def("decide", &BoundTextPlan::decide, "texts"_a, "n_stages"_a, "ends"_a = false, "n_threads"_a = 1,
             "Codes, stages, costs and statuses by the first looks, or in full; with ``ends``, texts leave at the last "
             "of these.")
        .def("label", &BoundTextPlan::label, "x"_a.none(), "with_cost"_a,
             "Return the label of a text, or a tuple of label and cost; None for long texts, and for what is left "
             "without.");
}

}  // namespace wald::bindings
