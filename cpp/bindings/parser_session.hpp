// Sentences that are parsed repeatedly, with more features each time. The arguments are checked here.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "bindings/parser.hpp"
#include "parser/session.hpp"

namespace wald::bindings {

class ParserSession {
public:
    ParserSession(const ParserModel& model, const Treebank& t, const ParserSettings& settings, int n_threads)
        : model_(model.model) {
        const parser::Settings s = parser_settings(settings);
        const Unlocked unlocked;
        session_.emplace(*model_, t, s, n_threads);
    }

    auto decode(Bytes state, std::optional<Longs> examples) {
        const ChosenSequences chosen = checked(state, examples);
        auto heads = new_array<std::int32_t>({static_cast<std::size_t>(chosen.ends.back())});
        run(state, chosen, heads.data(), nullptr);
        return heads;
    }
    auto evidence(Bytes state, std::optional<Longs> examples) {
        const ChosenSequences chosen = checked(state, examples);
        std::vector<std::int32_t> heads(static_cast<std::size_t>(chosen.ends.back()));
        auto evidence = new_array<float>({heads.size(), parser::kEvidence});
        run(state, chosen, heads.data(), evidence.data());
        return evidence;
    }
    auto features() const {
        auto out = new_array<float>(
            {static_cast<std::size_t>(session_->n_words()), static_cast<std::size_t>(session_->n_features())});
        std::fill_n(out.data(), out.size(), 0.0f);
        session_->features(out.data());
        return out;
    }

    auto seconds() {
        const std::lock_guard lock(mutex_);
        return std::make_pair(session_->seconds(0), session_->seconds(1));
    }
    std::int64_t extracted() {
        const std::lock_guard lock(mutex_);
        return session_->extracted();
    }

private:
    // The given sentences, or all. They must differ: two threads must not buy for the same one.
    ChosenSequences checked(const Bytes& state, const std::optional<Longs>& examples) const {
        require(state.size() == static_cast<std::size_t>(session_->n_words()), "the state has one entry per word");
        ChosenSequences chosen(session_->offsets(), examples, "examples must be sentences of this session");
        std::vector<char> seen(static_cast<std::size_t>(session_->n_sentences()));
        for (const std::int64_t i : chosen.ids)
            require(std::exchange(seen[static_cast<std::size_t>(i)], 1) == 0,
                    "examples must not name a sentence twice");
        return chosen;
    }
    void run(const Bytes& state, const ChosenSequences& chosen, std::int32_t* heads, float* evidence) {
        const Unlocked unlocked;
        if (user_.load() == std::this_thread::get_id())
            refuse("a signal handler must not use the session whose call it interrupts");
        const std::lock_guard lock(mutex_);
        const struct Using {
            std::atomic<std::thread::id>& user;
            explicit Using(std::atomic<std::thread::id>& u) : user(u) { user.store(std::this_thread::get_id()); }
            ~Using() { user.store({}); }
        } using_it(user_);
        session_->decode(state.data(), chosen.ids, chosen.ends, heads, evidence);
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
        .def(nb::init<const ParserModel&, const Treebank&, const ParserSettings&, int>(), "model"_a, "treebank"_a,
             "settings"_a, "n_threads"_a)
        .def("decode", &ParserSession::decode, "state"_a.noconvert(), "examples"_a.none().noconvert() = nb::none(),
             "Heads of the words of some sentences, in their order.")
        .def("evidence", &ParserSession::evidence, "state"_a.noconvert(), "examples"_a.none().noconvert() = nb::none(),
             "Evidence of the scores for every word of some sentences: (n_words, 10).")
        .def("features", &ParserSession::features, "Features of all words that need no parsing: (n_words, d).")
        .def_prop_ro("seconds", &ParserSession::seconds, "Seconds by group, over all threads.")
        .def_prop_ro("extracted", &ParserSession::extracted, "Words with the costly group.");
}

}  // namespace wald::bindings
