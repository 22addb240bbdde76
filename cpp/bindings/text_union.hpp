// Linear models behind several vectorizers of the same texts, whose columns lie side by side.
#pragma once

#include "bindings/text.hpp"

namespace wald::bindings {

// The scores are those of the first part, to which the products of the others are added one after the other, in the
// order of their columns, and at last the intercept of the last part.
class TextUnion {
public:
    explicit TextUnion(const nb::typed<nb::list, BoundText>& parts) {
        const nb::tuple all(parts);  // a list may change
        require(all.size() >= 1, "a union needs parts");
        for (const nb::handle each : all) {
            if (!nb::isinstance<BoundText>(each)) throw nb::type_error("the parts of a union are of the type Text");
            owners_.push_back(nb::borrow(each));
            parts_.push_back(nb::inst_ptr<BoundText>(each));
        }
        for (const BoundText* part : parts_) {
            const TextSpec &spec = part->spec(), &first = parts_[0]->spec();
            require(spec.n_outputs == first.n_outputs, "the parts of a union have as many outputs as each other");
            same_bits_ &= spec.same_bits && spec.single_sums == first.single_sums;
            bias_ = std::max(bias_, spec.bias);
            if (part != parts_.back())
                require(spec.bias == 0, "the intercept belongs to the last part of a union; that of others must be 0");
        }
    }

    Tuple<Made<double>, Made<double>> scores(const Objects& given, int n_threads) {
        Objects texts;  // the same for all parts
        for (const nb::handle text : nb::tuple(given)) texts.append(text);
        const std::size_t n = texts.size(), n_outputs = static_cast<std::size_t>(parts_[0]->spec().n_outputs);
        auto found = new_array<double>({n, n_outputs});
        auto errors = new_array<double>({n});
        std::fill_n(found.data(), n * n_outputs, 0.0);
        std::vector<TextSums> sizes(n);
        for (BoundText* part : parts_) part->add_to(texts, n_threads, found.data(), sizes.data());
        for (std::size_t i = 0; i < n; ++i) {
            const bool finite = parts_.back()->add_intercept(found.data() + i * n_outputs);
            sizes[i].n += 32 * std::ssize(parts_);
            errors.data()[i] = !finite      ? std::numeric_limits<double>::infinity()
                               : same_bits_ ? 0
                                            : sizes[i].bound(bias_);
        }
        return tuple_of(found, errors);
    }
    bool same_bits() const { return same_bits_; }

private:
    std::vector<nb::object> owners_;  // keep the parts alive
    std::vector<BoundText*> parts_;
    bool same_bits_ = true;
    double bias_ = 0;
};

inline void bind_text_union(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<TextUnion>(m, "TextUnion",
                          "A linear model behind several vectorizers of the same texts. Threads may share it.")
        .def(nb::init<const nb::typed<nb::list, BoundText>&>(), "parts"_a)
        .def("scores", &TextUnion::scores, "texts"_a, "n_threads"_a = 1,
             "Return scores and bounds of their distance to scikit-learn's, as `Text.scores` does.")
        .def_prop_ro("same_bits", &TextUnion::same_bits,
                     "Whether the scores are scikit-learn's to the last bit, so that all bounds are 0.");
}

}  // namespace wald::bindings
