// The dependency parser: learning and parsing. The arguments are checked here.
#pragma once

#include <cmath>
#include <limits>

#include "bindings/fields.hpp"
#include "bindings/treebank.hpp"
#include "parser/learner.hpp"

namespace wald::bindings {

using Shorts = nb::ndarray<const std::uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// ---- trees ---------------------------------------------------------------------------------------------------------

// `sparse` selects the algorithm for few arcs.
inline auto decode_tree(FloatMatrix scores, bool projective, bool single_root, bool sparse) {
    require(scores.shape(0) == scores.shape(1) && scores.shape(0) >= 1,
            "scores are a square matrix, [head, modifier], the root first");
    const std::size_t n = scores.shape(0);
    require(n <= parser::kMostWords, "too many words");
    for (std::size_t i = 0; i < n * n; ++i)
        require(scores.data()[i] < std::numeric_limits<float>::infinity(),
                "scores must be finite, or minus infinity for arcs to leave out");
    auto heads = new_array<std::int32_t>({n - 1});
    std::vector<std::int32_t> all(n);
    bool found = false;
    {
        const Unlocked unlocked;
        found =
            parser::decode_scores(scores.data(), static_cast<int>(n) - 1, projective, single_root, sparse, all.data());
    }
    require(found, "no tree connects all words with the arcs that are left");
    std::copy(all.begin() + 1, all.end(), heads.data());
    return heads;
}

inline parser::FilterSettings arc_lengths(bool filter, double factor, double extra) {
    require(factor >= 0 && factor <= 1e4 && extra >= 0 && extra <= 1e6,
            "factor must lie in [0, 1e4], extra in [0, 1e6]");
    return {filter, factor, extra};
}

// ---- parsing -------------------------------------------------------------------------------------------------------

struct ParserModel {
    std::shared_ptr<const parser::Model> model;

    nb::tuple parse(const Treebank& t, bool projective, bool single_root, int n_groups, bool filter, double factor,
                    double extra, double margin, bool relations, int n_threads) const {
        check_groups(n_groups);
        require(!relations || !model->labels.empty(), "this parser has learned no relations");
        auto heads = new_array<std::int32_t>({t.words.size()});
        auto labels = new_array<std::int32_t>({relations ? t.words.size() : 0});
        auto times = new_array<double>({4});
        std::int64_t n_arcs = 0;
        {
            const Unlocked unlocked;
            n_arcs = parser::parse_all(*model, t, {projective, single_root, n_groups},
                                       choice(arc_lengths(filter, factor, extra), margin), n_threads, heads.data(),
                                       relations ? labels.data() : nullptr, times.data());
        }
        return nb::make_tuple(heads, labels, times, n_arcs);
    }

    // The arcs of a sentence that the length filter and the pruner leave.
    nb::tuple arcs(const Treebank& t, std::int64_t sentence, bool filter, double factor, double extra,
                   double margin) const {
        sentence_of(t, sentence);
        std::vector<std::int32_t> heads, modifiers;
        parser::list_arcs(*model, t, static_cast<std::size_t>(sentence),
                          choice(arc_lengths(filter, factor, extra), margin), heads, modifiers);
        return nb::make_tuple(copied(heads.data(), heads.size()), copied(modifiers.data(), modifiers.size()));
    }

    auto arc_scores(const Treebank& t, std::int64_t sentence, int group, Ints heads, Ints modifiers) const {
        const Treebank::Sentence& s = sentence_of(t, sentence);
        require(group == 0 || group == 1 || (group == parser::kPruner && model->pruner_or_null() != nullptr),
                "group 0 or 1, or the pruner, 2");
        require(heads.size() == modifiers.size(), "as many heads as modifiers");
        const std::int32_t n = static_cast<std::int32_t>(s.last - s.first);
        for (std::size_t i = 0; i < heads.size(); ++i) {
            const std::int32_t h = heads.data()[i], m = modifiers.data()[i];
            require(h >= 0 && h <= n && m >= 1 && m <= n && h != m, "an arc is out of the sentence");
        }
        auto out = new_array<float>({heads.size()});
        {
            const Unlocked unlocked;
            parser::score_arcs(*model, t, static_cast<std::size_t>(sentence), group, heads.data(), modifiers.data(),
                               heads.size(), out.data());
        }
        return out;
    }

    nb::tuple state() const {
        const parser::Model& m = *model;
        return nb::make_tuple(m.lexicon.fine.tags(), m.lexicon.coarse.tags(),
                              copied(m.filter.all().data(), m.filter.all().size()), m.weights.bits,
                              copied(m.weights.values.data(), m.weights.values.size()), m.labels, m.label_weights.bits,
                              copied(m.label_weights.values.data(), m.label_weights.values.size()), m.pruner.bits,
                              copied(m.pruner.values.data(), m.pruner.values.size()));
    }

    // A margin below 0 stands for no pruner.
    parser::Choice choice(const parser::FilterSettings& filter, double margin) const {
        require(!std::isnan(margin), "margin must not be NaN");
        return {filter.limits(model->filter), margin < 0 ? nullptr : model->pruner_or_null(),
                static_cast<float>(margin)};
    }

    static void check_groups(int n) { require(n == 1 || n == 2, "1 or 2 groups"); }
};

inline void check_tags(const std::vector<std::string>& tags) {
    require(tags.size() <= static_cast<std::size_t>(parser::TagNumbers::kMostTags) - 2, "too many tags");
}

// A state may come from a file, so sizes are checked before anything is indexed by them.
inline ParserModel parser_model(std::vector<std::string> fine, std::vector<std::string> coarse, Shorts longest,
                                int bits, Floats weights, std::vector<std::string> labels, int label_bits,
                                Floats label_weights, int pruner_bits, Floats pruner) {
    check_tags(fine);
    check_tags(coarse);
    require(bits >= 8 && bits <= 28, "a table of 2^8 to 2^28 weights");
    auto m = std::make_shared<parser::Model>();
    m->lexicon = {parser::TagNumbers(std::move(fine)), parser::TagNumbers(std::move(coarse))};
    const int n_tags = m->lexicon.fine.n_tags();
    require(longest.size() == static_cast<std::size_t>(n_tags) * n_tags * 2, "the length filter does not fit the tags");
    require(weights.size() == parser::Weights::size(bits, n_tags), "the weights do not fit the tags");
    m->filter = parser::LengthFilter(n_tags, {longest.data(), longest.data() + longest.size()});
    m->weights = parser::Weights(bits, n_tags);
    std::copy(weights.data(), weights.data() + weights.size(), m->weights.values.data());
    if (pruner.size() > 0) {
        require(pruner_bits >= 8 && pruner_bits <= 28, "a table of 2^8 to 2^28 weights");
        require(pruner.size() == parser::Weights::size(pruner_bits, n_tags),
                "the pruner's weights do not fit the tags");
        m->pruner = parser::Weights(pruner_bits, n_tags);
        std::copy(pruner.data(), pruner.data() + pruner.size(), m->pruner.values.data());
    }
    if (!labels.empty()) {
        require(label_bits >= 4 && label_bits <= 24 && labels.size() <= 10000,
                "a table of 2^4 to 2^24 rows, at most 10000 relations");
        const int n_labels = static_cast<int>(labels.size());
        require(label_weights.size() == parser::LabelWeights::size(label_bits, n_labels),
                "the relations' weights do not fit their number");
        m->label_weights = parser::LabelWeights(label_bits, n_labels);
        std::copy(label_weights.data(), label_weights.data() + label_weights.size(), m->label_weights.values.data());
    }
    m->labels = std::move(labels);
    // Larger weights could overflow in the sums over a sentence, so that no tree would be the best.
    for (const auto* v : {&m->weights.values, &m->label_weights.values, &m->pruner.values})
        for (std::size_t i = 0; i < v->size(); ++i)
            require(std::fabs((*v)[i]) <= 1e30f, "weights must be finite, and at most 1e30");
    return {std::move(m)};
}

// ---- learning ------------------------------------------------------------------------------------------------------

class ParserLearner {
public:
    ParserLearner(const Treebank& t, int bits, int label_bits, int pruner_bits)
        : learner_(checked(t, bits, label_bits, pruner_bits), bits, label_bits, pruner_bits), prunes_(pruner_bits > 0) {
    }

    void see(const Treebank& t) {
        check_trees(t);
        learner_.extend_filter(t);
    }
    void epoch(const Treebank& t, const Longs& order, const nb::dict& settings) {
        Fields f(settings);
        parser::LearnerSettings s;
        f.read("projective", s.parse.projective), f.read("single_root", s.parse.single_root);
        f.read("n_groups", s.parse.n_groups), f.read("mira", s.mira), f.read("step", s.step);
        f.read("random_states", s.random_states), f.read("by_head", s.by_head);
        f.read("loss_augmented", s.loss_augmented);
        const parser::FilterSettings lengths =
            arc_lengths(f.get<bool>("filter"), f.get<double>("factor"), f.get<double>("extra"));
        const auto seed = f.get<std::uint64_t>("seed");
        f.done();
        check_trees(t);
        ParserModel::check_groups(s.parse.n_groups);
        require(s.step > 0 && s.step <= 1e12, "step must lie in (0, 1e12]");
        for (const std::int64_t i : span_of(order)) sentence_of(t, i);
        const Unlocked unlocked;
        learner_.run_epoch(t, order.data(), static_cast<std::int64_t>(order.size()), lengths, s, seed);
    }
    void pruner_epoch(const Treebank& t, Longs order, bool filter, double factor, double extra, double rate) {
        require(prunes_, "this learner has no pruner");
        require(rate > 0 && rate <= 1e12, "rate must lie in (0, 1e12]");
        const parser::FilterSettings lengths = arc_lengths(filter, factor, extra);
        check_trees(t);
        for (const std::int64_t i : span_of(order)) sentence_of(t, i);
        const Unlocked unlocked;
        learner_.run_pruner_epoch(t, order.data(), static_cast<std::int64_t>(order.size()), lengths, rate);
    }
    ParserModel model() const {
        const Unlocked unlocked;
        return {std::make_shared<const parser::Model>(learner_.model())};
    }

private:
    static void check_trees(const Treebank& t) {
        for (const auto& w : t.words) require(w.head >= 0, "every word needs a head to learn from");
    }
    static const Treebank& checked(const Treebank& t, int bits, int label_bits, int pruner_bits) {
        require(pruner_bits == 0 || (pruner_bits >= 8 && pruner_bits <= 28), "a table of 2^8 to 2^28 weights");
        require(bits >= 8 && bits <= 28, "a table of 2^8 to 2^28 weights");
        require(label_bits == 0 || (label_bits >= 4 && label_bits <= 24), "a table of 2^4 to 2^24 rows");
        require(!t.sentences.empty(), "no sentence to learn from");
        return t;
    }
    parser::Learner learner_;
    bool prunes_;
};

inline nb::dict parser_templates() {
    const auto list = [](const auto& texts) {
        std::vector<std::string> out;
        for (const std::string_view t : texts) out.emplace_back(t);
        return out;
    };
    nb::dict d;
    d["tag_pairs"] = list(parser::kTagPairs);
    d["tag_words"] = list(parser::kTagUnigrams);
    d["word_pairs"] = list(parser::kWordPairs);
    d["word_words"] = list(parser::kWordUnigrams);
    d["relations"] = list(parser::kLabelPairs);
    return d;
}

inline void bind_parser(nb::module_& m) {
    using namespace nb::literals;
    bind_treebank(m);
    m.def("decode_tree", &decode_tree, "scores"_a.noconvert(), "projective"_a, "single_root"_a, "sparse"_a = false,
          "Heads of the words of the best tree over a matrix [head, modifier], word 0 the root.");
    m.def("parser_templates", &parser_templates, nb::sig("def parser_templates() -> dict[str, list[str]]"),
          "Return the templates of the parser's features, in the order of their numbers; relations from 4096 on.");
    nb::class_<ParserModel>(m, "ParserModel", "A trained parser. Never changes.")
        .def(nb::new_(&parser_model), "fine"_a, "coarse"_a, "longest"_a.noconvert(), "bits"_a, "weights"_a.noconvert(),
             "labels"_a, "label_bits"_a, "label_weights"_a.noconvert(), "pruner_bits"_a, "pruner"_a.noconvert())
        .def("state", &ParserModel::state, nb::sig("def state(self) -> tuple[typing.Any, ...]"),
             "Return what the constructor takes.")
        .def_prop_ro("labels", [](const ParserModel& p) { return p.model->labels; })
        .def_prop_ro(
            "prunes", [](const ParserModel& p) { return p.model->pruner_or_null() != nullptr; },
            "Whether there is a pruner.")
        .def_prop_ro(
            "n_tags",
            [](const ParserModel& p) {
                return std::make_pair(p.model->lexicon.fine.n_tags(), p.model->lexicon.coarse.n_tags());
            },
            "Numbers of fine and of coarse tags, with the root and the others.")
        .def("parse", &ParserModel::parse, "treebank"_a, nb::kw_only(), "projective"_a, "single_root"_a, "n_groups"_a,
             "filter"_a, "factor"_a, "extra"_a, "margin"_a, "relations"_a, "n_threads"_a,
             nb::sig("def parse(self, treebank: Treebank, *, projective: bool, single_root: bool, n_groups: int, "
                     "filter: bool, factor: float, extra: float, margin: float, relations: bool, n_threads: int) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.float64], int]"),
             R"doc(Parse all sentences.

Returns heads, numbers of relations, seconds (features, scores, decoding, relations) and the number of arcs that groups
scored. With a margin below 0 the pruner is not used.)doc")
        .def("arcs", &ParserModel::arcs, "treebank"_a, "sentence"_a, nb::kw_only(), "filter"_a, "factor"_a, "extra"_a,
             "margin"_a,
             nb::sig("def arcs(self, treebank: Treebank, sentence: int, *, filter: bool, factor: float, extra: float, "
                     "margin: float) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
             "Heads and modifiers of the arcs that the groups score.")
        .def("arc_scores", &ParserModel::arc_scores, "treebank"_a, "sentence"_a, "group"_a, "heads"_a.noconvert(),
             "modifiers"_a.noconvert(), "Scores of chosen arcs by one group of features, or by the pruner, 2.");
    nb::class_<ParserLearner>(m, "ParserLearner", "A learner of a parser's weights.")
        .def(nb::init<const Treebank&, int, int, int>(), "treebank"_a, nb::kw_only(), "bits"_a, "label_bits"_a,
             "pruner_bits"_a)
        .def("see", &ParserLearner::see, "treebank"_a, "Extend the length filter by the arcs of a treebank.")
        .def(
            "learn", &ParserLearner::epoch, "treebank"_a, "order"_a.noconvert(), "settings"_a,
            nb::sig("def learn(self, treebank: Treebank, order: numpy.typing.NDArray[numpy.int64], settings: "
                    "dict[str, typing.Any]) -> None"),
            "Run one epoch over sentences that were seen. Settings: projective, single_root, n_groups, filter, factor, "
            "extra, mira, step, random_states, by_head, loss_augmented, seed.")
        .def("learn_pruner", &ParserLearner::pruner_epoch, "treebank"_a, "order"_a.noconvert(), nb::kw_only(),
             "filter"_a, "factor"_a, "extra"_a, "rate"_a, "Run one epoch for the pruner.")
        .def("model", &ParserLearner::model, "Return the averaged weights.");
}

}  // namespace wald::bindings
