// The dependency parser: learning and parsing. The arguments are checked here.
#pragma once

#include <cmath>
#include <limits>

#include "bindings/fields.hpp"
#include "bindings/treebank.hpp"
#include "parser/learner.hpp"

namespace wald::bindings {

using ParserSettings = Described;
using ArcTable = nb::ndarray<const std::int32_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Shorts = nb::ndarray<const std::uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// `sparse` selects the algorithm for few arcs.
inline auto decode_tree(FloatMatrix scores, bool projective, bool single_root, bool sparse) {
    require(scores.shape(0) == scores.shape(1) && scores.shape(0) >= 1,
            "scores are a square matrix, [head, modifier], the root first");
    const std::size_t n = scores.shape(0);
    require(n <= parser::kMostWords, "too many words");
    for (std::size_t i = 0; i < n * n; ++i)
        require(scores.data()[i] < std::numeric_limits<float>::infinity(),
                "scores must be finite, or minus infinity for arcs to leave out");
    const auto decoder = !projective ? parser::Decoder::edmonds
                         : sparse    ? parser::Decoder::sparse_eisner
                                     : parser::Decoder::eisner;
    std::vector<std::int32_t> heads(n);
    {
        const Unlocked unlocked;
        if (!parser::Trees().best(static_cast<int>(n), scores.data(), decoder, single_root, heads.data()))
            heads.clear();
    }
    require(!heads.empty(), "no tree connects all words with the arcs that are left");
    return copied(heads.data() + 1, n - 1);
}

inline parser::Settings parser_settings(const ParserSettings& fields) {
    Fields f(fields);
    parser::Settings s;
    f.read("projective", s.projective), f.read("single_root", s.single_root), f.read("second_order", s.second_order);
    f.read("by_head", s.by_head);
    f.read("n_groups", s.n_groups), f.read("filter", s.filter), f.read("factor", s.factor), f.read("extra", s.extra);
    f.read("margin", s.margin), f.read("mira", s.mira), f.read("step", s.step);
    f.read("random_states", s.random_states), f.read("loss_augmented", s.loss_augmented);
    f.done();
    require(s.n_groups == 1 || s.n_groups == 2, "1 or 2 groups");
    require(s.factor >= 0 && s.factor <= 1e4 && s.extra >= 0 && s.extra <= 1e6,
            "factor must lie in [0, 1e4], extra in [0, 1e6]");
    require(!std::isnan(s.margin), "margin must not be NaN");
    require(s.step > 0 && s.step <= 1e12, "step must lie in (0, 1e12]");
    return s;
}

struct ParserModel {
    std::shared_ptr<const parser::Model> model;

    auto parse(const Treebank& t, const ParserSettings& settings, int n_threads) const {
        const parser::Settings s = parser_settings(settings);
        const bool relations = !model->labels.empty();
        auto heads = new_array<std::int32_t>({t.words.size()});
        auto labels = new_array<std::int32_t>({relations ? t.words.size() : 0});
        auto times = new_array<double>({4});
        std::int64_t n_arcs = 0;
        {
            const Unlocked unlocked;
            n_arcs = parser::parse_all(*model, t, s, n_threads, heads.data(), relations ? labels.data() : nullptr,
                                       times.data());
        }
        return std::make_tuple(heads, labels, times, n_arcs);
    }

    auto arcs(const Treebank& t, std::int64_t sentence, const ParserSettings& settings) const {
        sentence_of(t, sentence);
        const parser::Arcs arcs =
            parser::list_arcs(*model, t, static_cast<std::size_t>(sentence), parser_settings(settings));
        auto out = new_array<std::int32_t>({static_cast<std::size_t>(arcs.size()), 2});
        for (int i = 0; i < arcs.size(); ++i)
            out.data()[2 * i] = arcs.head(i), out.data()[2 * i + 1] = arcs.modifier(i);
        return out;
    }

    auto arc_scores(const Treebank& t, std::int64_t sentence, int group, const ArcTable& arcs) const {
        const Treebank::Sentence& s = sentence_of(t, sentence);
        require(group == 0 || group == 1 || (group == parser::kPruner && model->pruner_or_null() != nullptr),
                "group 0 or 1, or the pruner, 2");
        const std::int32_t n = static_cast<std::int32_t>(s.last - s.first);
        for (std::size_t i = 0; i < arcs.shape(0); ++i)
            require(
                arcs(i, 0) >= 0 && arcs(i, 0) <= n && arcs(i, 1) >= 1 && arcs(i, 1) <= n && arcs(i, 0) != arcs(i, 1),
                "an arc is out of the sentence");
        auto out = new_array<float>({arcs.shape(0)});
        const Unlocked unlocked;
        parser::score_arcs(*model, t, static_cast<std::size_t>(sentence), group, arcs.data(), arcs.shape(0),
                           out.data());
        return out;
    }

    nb::typed<nb::tuple, nb::any, nb::ellipsis> state() const {
        const parser::Model& m = *model;
        const auto array = [](const auto& values) { return copied(values.data(), values.size()); };
        return nb::make_tuple(m.lexicon.fine.tags(), m.lexicon.coarse.tags(), array(m.filter.all()), m.weights.bits,
                              array(m.weights.values), m.labels, m.label_weights.bits, array(m.label_weights.values),
                              m.pruner.bits, array(m.pruner.values));
    }
};

inline void check_bits(int bits, int least, int most) {
    require(bits >= least && bits <= most, "a table of 2^8 to 2^28 weights, or of 2^4 to 2^24 relations");
}

// A table from values that may come from a file: sizes are checked before anything is indexed by them.
template <class Table>
Table parser_table(int bits, int least_bits, int most_bits, int n, Floats values, const char* misfit) {
    check_bits(bits, least_bits, most_bits);
    require(values.size() == Table::size(bits, n), misfit);
    Table table(bits, n);
    // Larger weights could overflow in the sums over a sentence, so that no tree would be the best.
    for (std::size_t i = 0; i < values.size(); ++i)
        require(std::fabs(table.values[i] = values.data()[i]) <= 1e30f, "weights must be finite, and at most 1e30");
    return table;
}

inline ParserModel parser_model(std::vector<std::string> fine, std::vector<std::string> coarse, Shorts longest,
                                int bits, Floats weights, std::vector<std::string> labels, int label_bits,
                                Floats label_weights, int pruner_bits, Floats pruner) {
    for (const auto* tags : {&fine, &coarse})
        require(tags->size() <= static_cast<std::size_t>(parser::TagNumbers::kMostTags) - 2, "too many tags");
    require(labels.size() <= 10000, "at most 10000 relations");
    auto m = std::make_shared<parser::Model>();
    m->lexicon = {parser::TagNumbers(std::move(fine)), parser::TagNumbers(std::move(coarse))};
    const int n_tags = m->lexicon.fine.n_tags();
    require(longest.size() == static_cast<std::size_t>(n_tags) * n_tags * 2, "the length filter does not fit the tags");
    m->filter = parser::LengthFilter(n_tags, {longest.data(), longest.data() + longest.size()});
    m->weights = parser_table<parser::Weights>(bits, 8, 28, n_tags, weights, "the weights do not fit the tags");
    if (pruner.size() > 0)
        m->pruner = parser_table<parser::Weights>(pruner_bits, 8, 28, n_tags, pruner,
                                                  "the pruner's weights do not fit the tags");
    if (!labels.empty())
        m->label_weights =
            parser_table<parser::LabelWeights>(label_bits, 4, 24, static_cast<int>(labels.size()), label_weights,
                                               "the relations' weights do not fit their number");
    m->labels = std::move(labels);
    return {std::move(m)};
}

class ParserLearner {
public:
    ParserLearner(const Treebank& t, int bits, int label_bits, int pruner_bits)
        : learner_(checked(t, bits, label_bits, pruner_bits), bits, label_bits, pruner_bits) {}

    void see(const Treebank& t) {
        check(t, {});
        learner_.extend_filter(t);
    }
    void epoch(const Treebank& t, const Longs& order, const ParserSettings& settings, std::uint64_t seed,
               double pruner_rate) {
        const parser::Settings s = parser_settings(settings);
        require(pruner_rate >= 0 && pruner_rate <= 1e12, "pruner_rate must lie in [0, 1e12]");
        check(t, span_of(order));
        const Unlocked unlocked;
        learner_.run_epoch(t, span_of(order), s, seed, pruner_rate);
    }
    ParserModel model() const {
        const Unlocked unlocked;
        return {std::make_shared<const parser::Model>(learner_.model())};
    }

private:
    static void check(const Treebank& t, std::span<const std::int64_t> order) {
        for (const auto& w : t.words) require(w.head >= 0, "every word needs a head to learn from");
        for (const std::int64_t i : order) sentence_of(t, i);
    }
    static const Treebank& checked(const Treebank& t, int bits, int label_bits, int pruner_bits) {
        check_bits(bits, 8, 28);
        if (pruner_bits != 0) check_bits(pruner_bits, 8, 28);
        if (label_bits != 0) check_bits(label_bits, 4, 24);
        require(!t.sentences.empty(), "no sentence to learn from");
        return t;
    }
    parser::Learner learner_;
};

inline auto parser_templates() {
    nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>> d;
    for (const auto& [name, templates] :
         {std::pair{"tag_pairs", parser::kTagPairs}, std::pair{"tag_words", parser::kTagUnigrams},
          std::pair{"word_pairs", parser::kWordPairs}, std::pair{"word_words", parser::kWordUnigrams},
          std::pair{"grandparents", parser::kGrandparents}, std::pair{"siblings", parser::kSiblings},
          std::pair{"relations", parser::kLabelPairs}}) {
        const std::vector<std::string_view> texts = parser::split(templates, '|');
        d[name] = std::vector<std::string>(texts.begin(), texts.end());
    }
    return d;
}

inline void bind_parser(nb::module_& m) {
    using namespace nb::literals;
    bind_treebank(m);
    m.def("decode_tree", &decode_tree, "scores"_a.noconvert(), "projective"_a, "single_root"_a, "sparse"_a = false,
          "Heads of the words of the best tree over a matrix [head, modifier], word 0 the root.");
    m.def("parser_templates", &parser_templates,
          "Return the templates of the parser's features, in the order of their numbers; relations from 4096 on.");
    nb::class_<ParserModel>(m, "ParserModel", "A trained parser. Never changes.")
        .def(nb::new_(&parser_model), "fine"_a, "coarse"_a, "longest"_a.noconvert(), "bits"_a, "weights"_a.noconvert(),
             "labels"_a, "label_bits"_a, "label_weights"_a.noconvert(), "pruner_bits"_a, "pruner"_a.noconvert())
        .def("state", &ParserModel::state, "Return what the constructor takes.")
        .def_prop_ro("labels", [](const ParserModel& p) { return p.model->labels; })
        .def_prop_ro(
            "prunes", [](const ParserModel& p) { return p.model->pruner_or_null() != nullptr; },
            "Whether there is a pruner.")
        .def("parse", &ParserModel::parse, "treebank"_a, "settings"_a, "n_threads"_a,
             "Parse all sentences: heads, numbers of relations, seconds by work, and the number of arcs that were "
             "scored.")
        .def("arcs", &ParserModel::arcs, "treebank"_a, "sentence"_a, "settings"_a,
             "Heads and modifiers of the arcs that the groups score.")
        .def("arc_scores", &ParserModel::arc_scores, "treebank"_a, "sentence"_a, "group"_a, "arcs"_a.noconvert(),
             "Scores of chosen arcs by one group of features, or by the pruner, 2.");
    nb::class_<ParserLearner>(m, "ParserLearner", "A learner of a parser's weights.")
        .def(nb::init<const Treebank&, int, int, int>(), "treebank"_a, nb::kw_only(), "bits"_a, "label_bits"_a,
             "pruner_bits"_a)
        .def("see", &ParserLearner::see, "treebank"_a, "Extend the length filter by the arcs of a treebank.")
        .def("learn", &ParserLearner::epoch, "treebank"_a, "order"_a.noconvert(), "settings"_a, "seed"_a,
             "pruner_rate"_a = 0.0,
             "Run one epoch over sentences that were seen; with a rate, for the pruner, too, if there is one.")
        .def("model", &ParserLearner::model, "Return the averaged weights.");
}

}  // namespace wald::bindings
