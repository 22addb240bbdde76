// Learners of linear chains. The arguments are checked here.
#pragma once

#include "bindings/chain.hpp"
#include "chain/frank_wolfe.hpp"
#include "chain/perceptron.hpp"

namespace wald::bindings {

// Labelled sequences, and the rule that draws their states. Owns or keeps alive its arrays.
class ChainLesson {
public:
    ChainLesson(const Chain& model, const GivenGroups& groups, const Indices& labels, const Longs& offsets, bool random,
                std::uint64_t seed)
        : shape_(model.weights().shape()), groups_(groups), labels_(labels.data(), labels.data() + labels.size()) {
        const auto n = static_cast<std::int64_t>(labels_.size());
        for (const std::int32_t label : labels_)
            require(label >= 0 && label < shape_.n_labels, "labels must lie in [0, n_labels)");
        const auto ends = checked_offsets(offsets, n);
        offsets_.assign(ends.begin(), ends.end());
        check_allowed(model.weights());
        examples_ = {model.features(pointers(groups_), n), labels_.data(), offsets_,
                     model.weights().n_groups(),           random,         seed};
        for (const chain::Row* rows : examples_.features)
            for (std::int64_t p = 0; p < n; ++p) require(rows[p].known(), "to learn, every part needs every group");
    }
    ChainLesson(const ChainLesson&) = delete;  // examples_ points into the others

    // The sequences, for a learner of such weights.
    const chain::Examples& examples(const chain::Weights& w) const {
        require(w.shape() == shape_, "a lesson for another chain");
        return examples_;
    }

private:
    void check_allowed(const chain::Weights& w) const {
        const auto allowed = [&](std::int64_t row, std::int32_t label) {
            require(std::isfinite(w.row(row)[label]), "labels must not be ruled out");
        };
        for (std::size_t i = 0; i + 1 < offsets_.size(); ++i) {
            allowed(w.first_row(), labels_[offsets_[i]]);
            for (std::int64_t p = offsets_[i] + 1; p < offsets_[i + 1]; ++p)
                allowed(w.step_row(labels_[p - 1]), labels_[p]);
        }
    }

    chain::Shape shape_;
    GivenGroups groups_;
    std::vector<std::int32_t> labels_;
    std::vector<std::int64_t> offsets_;
    chain::Examples examples_;
};

inline std::span<const std::int64_t> checked_order(const Longs& ids, std::int64_t limit) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        require(ids.data()[i] >= 0 && ids.data()[i] < limit, "order must name sequences");
    return span_of(ids);
}

template <class Learner>
class ChainLearner {
public:
    explicit ChainLearner(Learner learner) : learner_(std::move(learner)) {}
    Chain current() const { return Chain(learner_.weights()); }
    Chain averaged() const { return Chain(learner_.averaged()); }

protected:
    Learner learner_;
};

class ChainPerceptron : public ChainLearner<chain::Perceptron> {
public:
    explicit ChainPerceptron(const Chain& start) : ChainLearner(chain::Perceptron(start.weights())) {}
    std::int64_t epoch(const ChainLesson& lesson, const Longs& order, std::uint64_t epoch, float margin) {
        require(std::isfinite(margin) && margin >= 0, "margin must be finite and not negative");
        const chain::Examples& examples = lesson.examples(learner_.weights());
        const auto ids = checked_order(order, examples.size());
        const Unlocked unlocked;
        return learner_.epoch(examples, ids, epoch, margin);
    }
};

// The lesson must outlive it.
class ChainFrankWolfe : public ChainLearner<chain::FrankWolfe> {
public:
    ChainFrankWolfe(const Chain& start, const ChainLesson& lesson, double strength, int copies)
        : ChainLearner(chain::FrankWolfe(start.weights(), checked(strength, copies),
                                         lesson.examples(start.weights()).size(), copies)),
          examples_(lesson.examples(start.weights())), copies_(copies) {}
    void epoch(const Longs& order) {
        const auto ids = checked_order(order, examples_.size() * copies_);
        const Unlocked unlocked;
        learner_.epoch(examples_, ids);
    }
    double gap(bool average) {
        const Unlocked unlocked;
        return learner_.gap(examples_, average);
    }

private:
    static double checked(double strength, int copies) {
        require(std::isfinite(strength) && strength > 0, "strength must be finite and positive");
        require(copies >= 1 && copies <= 64, "there must be 1 to 64 copies");
        return strength;
    }

    const chain::Examples& examples_;
    int copies_;
};

inline void bind_chain_learners(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ChainLesson>(m, "ChainLesson",
                            "Labelled sequences, and the rule that draws the states under which they are seen.")
        .def(nb::init<const Chain&, const GivenGroups&, const Indices&, const Longs&, bool, std::uint64_t>(), "model"_a,
             "groups"_a, "labels"_a.noconvert(), "offsets"_a.noconvert(), "random"_a, "seed"_a);
    nb::class_<ChainPerceptron>(m, "ChainPerceptron", "The structured perceptron.")
        .def(nb::init<const Chain&>(), "start"_a)
        .def("epoch", &ChainPerceptron::epoch, "lesson"_a, "order"_a.noconvert(), "epoch"_a, "margin"_a,
             "Run one epoch over the sequences; return the number of labels that were wrong or within the margin.")
        .def(
            "__copy__", [](const ChainPerceptron& p) { return ChainPerceptron(p); }, "Return an independent copy.")
        .def("current", &ChainPerceptron::current, "Return the current weights.")
        .def("averaged", &ChainPerceptron::averaged, "Return the weights, averaged over all steps.");
    nb::class_<ChainFrankWolfe>(m, "ChainFrankWolfe", "The structural SVM by block-coordinate Frank-Wolfe.")
        .def(nb::init<const Chain&, const ChainLesson&, double, int>(), nb::keep_alive<1, 3>(), "start"_a, "lesson"_a,
             "strength"_a, "copies"_a)
        .def("epoch", &ChainFrankWolfe::epoch, "order"_a.noconvert(), "Run one epoch over sequence * copies + copy.")
        .def("gap", &ChainFrankWolfe::gap, "average"_a,
             "Return the duality gap of the last weights or of the averaged ones.")
        .def("current", &ChainFrankWolfe::current, "Return the current weights.")
        .def("averaged", &ChainFrankWolfe::averaged,
             "Return the weights, averaged over all steps; later steps count more.");
}

}  // namespace wald::bindings
