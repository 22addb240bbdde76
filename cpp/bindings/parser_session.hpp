// Sentences that are parsed repeatedly, with more features each time. The arguments are checked here.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "bindings/parser.hpp"
#include "parser/session.hpp"

namespace wald::bindings {

class ParserSession {
public:
    ParserSession(const ParserModel& model, const Treebank& t, bool projective, bool single_root, bool by_head,
                  bool filter, double factor, double extra, double margin, int n_threads)
        : model_(model.model) {
        const Unlocked unlocked;
        session_.emplace(*model_, t, model.choice(arc_lengths(filter, factor, extra), margin),
                         parser::Settings{projective, single_root, parser::kGroups}, by_head, n_threads);
    }

    auto decode(Bytes state, std::optional<Longs> examples) {
        auto heads = new_array<std::int32_t>({words_of(state, examples)});
        run(state, examples, heads.data(), nullptr);
        return heads;
    }
    nb::tuple evidence(Bytes state, std::optional<Longs> examples) {
        const std::size_t n = words_of(state, examples);
        auto heads = new_array<std::int32_t>({n});
        auto evidence = new_array<float>({n, parser::kEvidence});
        run(state, examples, heads.data(), evidence.data());
        return nb::make_tuple(heads, evidence);
    }
    nb::tuple observe() const {
        const std::size_t n = static_cast<std::size_t>(session_->n_words());
        auto tags = new_array<std::uint8_t>({n}), coarse = new_array<std::uint8_t>({n});
        auto n_arcs = new_array<std::int32_t>({n});
        auto gaps = new_array<float>({n});
        session_->observe(tags.data(), coarse.data(), n_arcs.data(), gaps.data());
        return nb::make_tuple(tags, coarse, n_arcs, gaps);
    }

    auto offsets() const {
        const std::vector<std::int64_t>& o = session_->offsets();
        return copied(o.data(), o.size());
    }
    nb::tuple seconds() {
        const std::lock_guard lock(mutex_);
        return nb::make_tuple(session_->seconds(0), session_->seconds(1));
    }
    std::int64_t extracted() {
        const std::lock_guard lock(mutex_);
        return session_->extracted();
    }

private:
    // Number of words of the given sentences, which must differ: two threads must not buy for the same one.
    std::size_t words_of(const Bytes& state, const std::optional<Longs>& examples) const {
        require(state.size() == static_cast<std::size_t>(session_->n_words()), "the state has one entry per word");
        std::vector<char> seen(static_cast<std::size_t>(session_->n_sentences()));
        for (const std::int64_t i : span_of(examples)) {
            require(i >= 0 && i < session_->n_sentences(), "examples must be sentences of this session");
            require(!seen[static_cast<std::size_t>(i)], "examples must not name a sentence twice");
            seen[static_cast<std::size_t>(i)] = 1;
        }
        return static_cast<std::size_t>(
            examples ? session_->words_of(examples->data(), static_cast<std::int64_t>(examples->size()))
                     : session_->n_words());
    }
    void run(const Bytes& state, const std::optional<Longs>& examples, std::int32_t* heads, float* evidence) {
        static constexpr std::int64_t none = 0;
        const std::int64_t n = examples ? static_cast<std::int64_t>(examples->size()) : 0;
        const std::int64_t* which = !examples ? nullptr : n > 0 ? examples->data() : &none;
        const Unlocked unlocked;
        if (user_.load() == std::this_thread::get_id())
            refuse("a signal handler must not use the session whose call it interrupts");
        const std::lock_guard lock(mutex_);
        const struct Using {
            std::atomic<std::thread::id>& user;
            explicit Using(std::atomic<std::thread::id>& u) : user(u) { user.store(std::this_thread::get_id()); }
            ~Using() { user.store({}); }
        } using_it(user_);
        session_->decode(state.data(), which, n, heads, evidence);
    }

    std::shared_ptr<const parser::Model> model_;
    std::optional<parser::Session> session_;
    std::mutex mutex_;
    std::atomic<std::thread::id> user_;  // the thread that holds the mutex
};

inline void bind_parser_session(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ParserSession>(m, "ParserSession",
                              "Sentences that are parsed repeatedly, under states with one byte for every word.")
        .def(nb::init<const ParserModel&, const Treebank&, bool, bool, bool, bool, double, double, double, int>(),
             "model"_a, "treebank"_a, nb::kw_only(), "projective"_a, "single_root"_a, "by_head"_a, "filter"_a,
             "factor"_a, "extra"_a, "margin"_a, "n_threads"_a)
        .def("decode", &ParserSession::decode, "state"_a.noconvert(), "examples"_a.none().noconvert() = nb::none(),
             "Heads of the words of some sentences, in their order.")
        .def("evidence", &ParserSession::evidence, "state"_a.noconvert(), "examples"_a.none().noconvert() = nb::none(),
             nb::sig("def evidence(self, state: numpy.typing.NDArray[numpy.uint8], examples: "
                     "numpy.typing.NDArray[numpy.int64] | None=None) -> tuple[numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.float32]]"),
             "Heads of the words of some sentences, and the evidence of the scores for every word: (n_words, 10).")
        .def("observe", &ParserSession::observe,
             nb::sig("def observe(self) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.uint8], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float32]]"),
             "Fine tags, coarse tags, numbers of arcs and gaps between the two best cheap scores of all words.")
        .def("offsets", &ParserSession::offsets)
        .def_prop_ro("seconds", &ParserSession::seconds, nb::sig("def seconds(self) -> tuple[float, float]"),
                     "Seconds by group, over all threads.")
        .def_prop_ro("extracted", &ParserSession::extracted, "Words with the costly group.");
}

}  // namespace wald::bindings
