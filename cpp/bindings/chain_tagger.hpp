// Labels of sequences of named parts, from Python's objects to Python's objects in one call.
#pragma once

#include <atomic>

#include "bindings/chain.hpp"
#include "bindings/chain_names.hpp"

namespace wald::bindings {

// Does what hashing all parts to a CSR matrix, making a ChainGroup of it, and Chain::predict do together: the same
// columns, values and sums in the same order. A few sequences at a time are read and labelled, so that what was read is
// near, and their weights are on the way while more is read.
class ChainTagger {
public:
    using Answer = nb::typed<nb::list, nb::any>;

    // labels: the objects that answers are made of, one for each label of the chain.
    ChainTagger(nb::handle_t<Chain> chain, Answer labels, NumberTypes numbers, Flatten flatten)
        : keep_(nb::borrow(chain)), weights_(nb::cast<const Chain&>(chain).weights()), numbers_(numbers),
          flatten_(flatten) {
        for (const nb::handle label : labels) labels_.push_back(nb::borrow(label));
        require(weights_.n_groups() == 1 && weights_.shape().sizes[0] >= 1 &&
                    weights_.shape().sizes[0] <= std::numeric_limits<std::int32_t>::max(),
                "a tagger needs a chain of one group of hashed names");
        require(labels_.size() == static_cast<std::size_t>(weights_.n_labels()), "labels need an object per label");
    }

    // A list of labels for every sequence, which may be empty; None if something is no list of parts by name, or a
    // value is not finite: its other reader names it.
    std::optional<NamedSequences> predict(const nb::any& sequences, int n_threads) const {
        if (!PyList_CheckExact(sequences.ptr()) && !PyTuple_CheckExact(sequences.ptr())) return {};
        const nb::tuple all(nb::borrow(sequences));  // a list may change
        NamedSequences answers;
        const Lent lent(*this);
        Work& work = *lent.work;
        const std::size_t parts_at_once = n_threads == 1 ? kParts : 16 * kParts;
        std::int64_t locked = 0;
        for (std::size_t i = 0; i < all.size();) {
            work.clear();
            for (; i < all.size() && work.parts.size() < parts_at_once; ++i)
                if (!work.add(all[i])) return {};
            if (!work.read()) return {};
            locked += work.rows.size();
            work.label(n_threads, locked >= kUnlockFrom);
            if (locked >= kUnlockFrom) locked = 0;
            work.answer(answers);
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return answers;
    }
    std::optional<Answer> predict_one(const nb::any& sequence) const {
        const Lent lent(*this);
        Work& work = *lent.work;
        work.clear();
        if (!work.add(sequence) || !work.read()) return {};
        work.label(1, work.rows.size() >= kUnlockFrom);
        const std::int32_t* code = work.codes.data();
        return work.answer(code, work.lengths[0]);
    }
    ~ChainTagger() { delete spare_.load(); }
    ChainTagger(const ChainTagger&) = delete;

private:
    static constexpr std::int64_t kUnlockFrom = 4096;   // parts since the lock was last given to others
    static constexpr std::int64_t kMostKept = 1 << 14;  // parts; the memory of longer work is given back

    // Some sequences: their parts as rows, then their labels.
    struct Work {
        explicit Work(const ChainTagger& by)
            : tagger(by), reader(static_cast<std::int32_t>(by.weights_.shape().sizes[0]), by.numbers_, by.flatten_,
                                 weights_of_names(by.weights_)) {}

        void clear() {
            parts.clear();
            rows.clear();
            x.first.clear();
            x.ends.resize(1);
            lengths.clear();
        }
        // Adds a sequence. False for what is no list of parts.
        bool add(const nb::handle& sequence) {
            const nb::ft_object_guard guard(sequence);
            const auto before = static_cast<std::int64_t>(parts.size());
            if (!each_item(sequence.ptr(), [&](PyObject* part) { return parts.push_back(nb::borrow(part)), true; }))
                return false;
            const auto after = static_cast<std::int64_t>(parts.size());
            lengths.push_back(after - before);
            if (after == before) return true;
            x.first.push_back(before);
            x.ends.push_back(after);
            return true;
        }
        // Reads the parts of all sequences. False for parts without names, and for values that are not finite.
        bool read() {
            try {
                reader.add(parts, rows);
            } catch (nb::python_error& error) {
                if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
                return false;
            }
            return all_finite(rows.values().data(), rows.values().size());
        }
        void label(int n_threads, bool unlock) {
            const auto n = static_cast<std::size_t>(rows.size());
            if (n == 0) return;
            each.resize(n);
            for (std::size_t p = 0; p < n; ++p) each[p] = row(static_cast<std::int64_t>(p));
            states.assign(n, 0);
            codes.resize(n);
            scores.resize(x.first.size());
            x.features.assign(1, each.data());
            x.states = states.data();
            std::optional<Unlocked> unlocked;
            if (unlock) unlocked.emplace();
            chain::Inference(tagger.weights_).predict(x, n_threads, codes.data(), scores.data());
        }
        void answer(nb::list& answers) const {
            const std::int32_t* code = codes.data();
            for (const std::int64_t length : lengths) answers.append(answer(code, length));
        }
        Answer answer(const std::int32_t*& code, std::int64_t length) const {
            Answer labels = nb::steal<Answer>(PyList_New(length));
            if (!labels.is_valid()) throw nb::python_error();
            for (std::int64_t k = 0; k < length; ++k)
                PyList_SetItem(labels.ptr(), k,
                               nb::borrow(tagger.labels_[static_cast<std::size_t>(*code++)]).release().ptr());
            return labels;
        }

        const ChainTagger& tagger;
        NamedFeatures reader;
        std::vector<nb::object> parts;
        chain::NamedRows rows;
        chain::Sequences x{{}, nullptr, nullptr};
        std::vector<std::int64_t> lengths;  // of all sequences, empty ones included
        std::vector<chain::Row> each;
        chain::States states;
        std::vector<std::int32_t> codes;
        std::vector<float> scores;

    private:
        static std::span<const std::byte> weights_of_names(const chain::Weights& weights) {
            const float* const first = weights.row(weights.block_row(0, 0));
            return std::as_bytes(
                std::span(first, static_cast<std::size_t>(weights.shape().sizes[0] * weights.padded())));
        }
        chain::Row row(std::int64_t part) const {
            const std::int64_t at = rows.begin(part);
            return {rows.values().data() + at, rows.columns().data() + at, rows.end(part) - at};
        }
    };

    // Memory for the work of a call: what the last one left, unless another thread has it.
    struct Lent {
        explicit Lent(const ChainTagger& by) : owner(by), work(by.spare_.exchange(nullptr)) {
            if (work == nullptr) work = new Work(by);
        }
        ~Lent() {
            work->parts.clear();
            const bool keep = work->rows.size() <= kMostKept;
            delete (keep ? owner.spare_.exchange(work) : work);
        }
        Lent(const Lent&) = delete;

        const ChainTagger& owner;
        Work* work;
    };

    nb::object keep_;
    const chain::Weights& weights_;
    std::vector<nb::object> labels_;
    mutable std::atomic<Work*> spare_{nullptr};
    nb::tuple numbers_;
    nb::callable flatten_;
};

inline void bind_chain_tagger(nb::module_& m) {
    using namespace nb::literals;
    bind_chain_names(m);
    nb::class_<ChainTagger>(m, "ChainTagger",
                            "Labels of sequences of parts by name, in one call. Threads may share it.")
        .def(nb::init<nb::handle_t<Chain>, ChainTagger::Answer, NumberTypes, Flatten>(), "chain"_a, "labels"_a,
             "numbers"_a, "flatten"_a)
        .def(
            "predict", &ChainTagger::predict, "sequences"_a, "n_threads"_a,
            "Labels of every sequence; None for what are no lists of parts by name, or for values that are not finite.")
        .def("predict_one", &ChainTagger::predict_one, "sequence"_a, "Labels of one sequence, or None.");
}

}  // namespace wald::bindings
