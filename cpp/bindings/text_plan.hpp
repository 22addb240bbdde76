// Plans for linear models behind vectorizers of texts: from strings to labels.
#pragma once

#include "bindings/text.hpp"
#include "core/text/text_plan.hpp"

namespace wald::bindings {

class BoundTextPlan {
public:
    BoundTextPlan(nb::object text, nb::dict described) : BoundTextPlan(std::move(text), Fields(described)) {}

    std::tuple<nb::ndarray<nb::numpy, std::int32_t>, nb::ndarray<nb::numpy, std::int32_t>,
               nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, std::uint8_t>>
    decide(const nb::list& texts, std::int64_t n_stages, bool ends, int n_threads) {
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
        return {codes, stages, paid, statuses};
    }
    nb::object label(nb::handle x, bool with_cost) {
        constexpr Py_ssize_t kLong = Py_ssize_t{1} << 16;  // characters, for which Python's lock is given to others
        if (!PyUnicode_Check(x.ptr()) || PyUnicode_GetLength(x.ptr()) > kLong) return nb::none();
        TextDecision found;
        const bool read = text_.run_one(
            x, [&](const TextView& view, TextScratch& s) { return plan_.decide(view, s, reach_, false, found); });
        if (!read || found.status >= Status::handed_over || found.code >= std::ssize(labels_)) return nb::none();
        nb::object label = labels_[found.code];
        return with_cost ? nb::make_tuple(label, found.paid) : label;
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
    nb::class_<BoundTextPlan>(m, "TextPlan",
                              R"doc(A plan for a `Text`: from strings to labels. Threads may share it.

At look t, the estimates are ``bias[t] + weights[t] * scores``, with the scores of `Text.prefixes`. A text leaves there
if the single estimate is below ``low[t]`` or above ``high[t]``, or if the best of several lies more than ``high[t]``
above the second. One that comes to its end is scored in full.

Parameters
----------
text : Text
described : dict
    looks : int64 array of shape (n_looks,)
    block : int
        As for `Text.prefixes`.
    weights, bias : float64 arrays of shape (n_looks, n_outputs)
    low, high : float64 arrays of shape (n_looks,)
    n_stages : int
        The stage of texts that no look decides.
    reach : int
        Number of looks at which single texts may leave.
    cost : float or None
        Cost of every text; None: the characters that were read.
    threshold : float
        A single score above it has the label 1; of several, the first of the largest wins.
    tie_positive : bool
    saturation, tie_margin : float
        The wrapped model decides where a score is larger than the one, or as near to another label as the other.
    error_factor, error_rest : float
        Times the one and plus the other, the bounds of `Text.scores` are those of the wrapped model's scores.
    labels : tuple
        The label of each code.)doc")
        .def(nb::init<nb::object, nb::dict>(), "text"_a, "described"_a,
             nb::sig("def __init__(self, text: Text, described: dict[str, typing.Any]) -> None"))
        .def(
            "decide", &BoundTextPlan::decide, "texts"_a, "n_stages"_a, "ends"_a = false, "n_threads"_a = 1,
            nb::sig("def decide(self, texts: list[typing.Any], n_stages: int, ends: bool = False, "
                    "n_threads: int = 1) -> tuple[numpy.typing.NDArray[numpy.int32], "
                    "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                    "numpy.typing.NDArray[numpy.uint8]]"),
            R"doc(Decide texts by the first looks, or in full; with ``ends``, all that reach the last of these leave there.

Returns
-------
codes : int32 array of shape (n_texts,)
stages : int32 array of shape (n_texts,)
    Where texts left. One that was read whole leaves at the first look at its end or behind that lets its label leave.
paid : float64 array of shape (n_texts,)
status : uint8 array of shape (n_texts,)
    `HANDED_OVER` for texts that the wrapped model must label, or that cannot be read; the latter cost 0 characters.)doc")
        .def("label", &BoundTextPlan::label, "x"_a.none(), "with_cost"_a,
             nb::sig("def label(self, x: typing.Any, with_cost: bool) -> typing.Any"),
             R"doc(Return the label of a text, or a tuple of label and cost.

None stands for everything but a str of at most 65 536 characters, and for a text that is left without a label.)doc");
}

}  // namespace wald::bindings
