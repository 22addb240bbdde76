// Linear models behind vectorizers of texts.
#pragma once

#include <mutex>
#include <tuple>

#include "bindings/text_characters.hpp"
#include "bindings/text_spec.hpp"
#include "core/thread_pool.hpp"

namespace wald::bindings {

class BoundText {
public:
    explicit BoundText(const Described& described) : BoundText(Fields(described)) {}

    Tuple<Made<double>, Made<double>> scores(const Objects& texts, int n_threads) {
        LentTexts lent(texts, interpreter_);
        const std::size_t n = lent.size(), n_outputs = static_cast<std::size_t>(model_.spec().n_outputs);
        auto found = new_array<double>({n, n_outputs});
        auto errors = new_array<double>({n});
        std::fill_n(found.data(), n * n_outputs, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(errors.data(), n, std::numeric_limits<double>::infinity());
        run(lent, n_threads, [&](std::size_t i, TextScratch& s) {
            return model_.scores(lent[i], s, found.data() + i * n_outputs, errors.data() + i);
        });
        return tuple_of(found, errors);
    }
    Tuple<Made<double>, Made<double>, Made<std::int64_t>> prefixes(const Objects& texts, const Longs& looks,
                                                                   std::int64_t block, int n_threads) {
        require_looks(looks, block);
        LentTexts lent(texts, interpreter_);
        const std::size_t n = lent.size(), n_outputs = static_cast<std::size_t>(model_.spec().n_outputs);
        const std::size_t each = looks.size() + 1;
        auto found = new_array<double>({n, each, n_outputs});
        auto errors = new_array<double>({n});
        auto characters = new_array<std::int64_t>({n, each});
        std::fill_n(found.data(), n * each * n_outputs, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(errors.data(), n, std::numeric_limits<double>::infinity());
        std::fill_n(characters.data(), n * each, 0);
        const TextLooks at{{looks.data(), looks.size()}, static_cast<std::size_t>(block)};
        run(lent, n_threads, [&](std::size_t i, TextScratch& s) {
            return model_.prefixes(lent[i], s, at, found.data() + i * each * n_outputs, errors.data() + i,
                                   characters.data() + i * each);
        });
        return tuple_of(found, errors, characters);
    }
    static void require_looks(const Longs& looks, std::int64_t block) {
        require(looks.size() <= 10000, "there must be at most 10000 looks");
        require(0 <= block && block < std::int64_t{1} << 31, "block must be a number of bytes, or 0");
        for (std::size_t t = 0; t < looks.size(); ++t) {
            require(looks.data()[t] >= (t == 0 ? 1 : looks.data()[t - 1] + 1),
                    "looks must be ascending numbers of bytes, from 1 on");
            require(block == 0 || looks.data()[t] % block == 0, "looks must be after whole blocks");
        }
    }
    // Calls read(i, scratch) for the texts that can be read, by threads without Python's lock, and again for those that
    // Python must lower, or after a page was missing.
    template <class Read>
    void run(LentTexts& lent, int n_threads, const Read& read) {
        std::vector<std::size_t> pending = lent.readable();
        const int threads = threads_for(static_cast<std::int64_t>(pending.size()), n_threads);
        Scratches scratches(static_cast<std::size_t>(threads));
        while (!pending.empty()) {
            const auto n = static_cast<std::int64_t>(pending.size());
            std::vector<ReadStatus> statuses(pending.size());
            {
                Unlocked here;
                each_piece(n, std::clamp<std::int64_t>(n / (8 * threads), 1, 16), threads,
                           [&](std::int64_t begin, std::int64_t end, int worker) {
                               auto& scratch = scratches[static_cast<std::size_t>(worker)];
                               if (scratch == nullptr) scratch = taken();
                               for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                                   statuses[i] = read(pending[i], *scratch);
                                   if (i % 4 == 3) give_way();
                               }
                           });
            }
            std::vector<std::size_t> again;
            for (std::size_t i = 0; i < pending.size(); ++i) {
                if (statuses[i] == ReadStatus::needs_lowering) lent.lower(pending[i]);
                if (statuses[i] == ReadStatus::needs_lowering || statuses[i] == ReadStatus::needs_pages)
                    again.push_back(pending[i]);
            }
            for (const auto& scratch : scratches) {
                if (scratch == nullptr) continue;
                for (const MissingPage& page : scratch->reading.missing()) interpreter_.add_page(page, model_.pages());
                scratch->reading.missing().clear();
            }
            pending = std::move(again);
        }
        give_back(scratches);
    }
    // Calls read(view, scratch) for one text, with Python's lock. Returns whether it was read.
    template <class Read>
    bool run_one(nb::handle text, const Read& read) {
        TextView view;
        if (!interpreter_.is_text(text) || !LentTexts::view(text, view)) return false;
        nb::object lowered;
        Scratches scratches;
        scratches.push_back(taken());
        TextScratch& s = *scratches.front();
        ReadStatus status = read(view, s);
        while (status == ReadStatus::needs_lowering || status == ReadStatus::needs_pages) {
            if (status == ReadStatus::needs_lowering) {
                lowered = Interpreter::lowered(text);
                if (!LentTexts::view(lowered, view)) break;
                view.given = Case::lowered;
            }
            for (const MissingPage& page : s.reading.missing()) interpreter_.add_page(page, model_.pages());
            s.reading.missing().clear();
            status = read(view, s);
        }
        give_back(scratches);
        return status == ReadStatus::read;
    }
    const TextModel& model() const { return model_; }
    const Interpreter& interpreter() const { return interpreter_; }
    bool same_bits() const { return model_.spec().same_bits; }
    const TextSpec& spec() const { return model_.spec(); }
    // Adds to the sums of texts, (n_texts, n_outputs). Those of what cannot be read are NaN then.
    void add_to(const nb::list& texts, int n_threads, double* sums, TextSums* sizes) {
        LentTexts lent(texts, interpreter_);
        const auto n_outputs = static_cast<std::size_t>(spec().n_outputs);
        std::vector<bool> read(lent.size());
        for (const std::size_t i : lent.readable()) read[i] = true;
        for (std::size_t i = 0; i < lent.size(); ++i)
            if (!read[i]) std::fill_n(sums + i * n_outputs, n_outputs, std::numeric_limits<double>::quiet_NaN());
        run(lent, n_threads, [&](std::size_t i, TextScratch& s) {
            const ReadStatus status = model_.add(lent[i], s, sums + i * n_outputs, sizes[i]);
            if (status == ReadStatus::refused)
                std::fill_n(sums + i * n_outputs, n_outputs, std::numeric_limits<double>::quiet_NaN());
            return status;
        });
    }
    bool add_intercept(double* sums) const { return model_.add_intercept(sums); }
    Tuple<Made<std::int32_t>, Made<std::int32_t>> counts(nb::str text) {
        std::vector<std::int32_t> columns, counts;
        read_one(text, [&](const TextView& view, TextScratch& s) {
            const ReadStatus status = model_.reader().read(view, s.reading);
            if (status != ReadStatus::read) return status;
            CountAll sink{s.counts};
            model_.counter().count(s, sink);
            s.counts.drain([&](std::int32_t column, std::int32_t count) {
                columns.push_back(column);
                counts.push_back(count);
            });
            return status;
        });
        return tuple_of(copied(columns.data(), columns.size()), copied(counts.data(), counts.size()));
    }
    std::vector<std::string> tokens(nb::str text) {
        std::vector<std::string> all;
        read_one(text, [&](const TextView& view, TextScratch& s) {
            const ReadStatus status = model_.reader().read(view, s.reading);
            if (status == ReadStatus::read)
                model_.counter().each_token(s, [&](const std::uint8_t* bytes, std::size_t n) {
                    all.emplace_back(reinterpret_cast<const char*>(bytes), n);
                });
            return status;
        });
        return all;
    }

private:
    using Scratches = std::vector<std::unique_ptr<TextScratch>>;

    explicit BoundText(Fields fields)
        : owned_(text_model(fields)), model_(*owned_), interpreter_(model_.reader().rules()) {}

    template <class Read>
    void read_one(const nb::str& text, const Read& read) {
        nb::list texts;
        texts.append(text);
        LentTexts lent(texts, interpreter_);
        if (lent.readable().empty()) {
            utf8(text);  // raises the error of a lone surrogate
            throw nb::type_error("text must be a str, not an object of a subclass");
        }
        run(lent, 1, [&](std::size_t i, TextScratch& s) { return read(lent[i], s); });
    }
    std::unique_ptr<TextScratch> taken() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return std::make_unique<TextScratch>(model_.spec());
        std::unique_ptr<TextScratch> scratch = std::move(idle_.back());
        idle_.pop_back();
        return scratch;
    }
    // Keeps memory for the next call, but not what a very long text has needed.
    void give_back(Scratches& scratches) {
        constexpr std::size_t kLargest = std::size_t{1} << 25;
        const std::lock_guard lock(mutex_);
        for (auto& scratch : scratches)
            if (scratch != nullptr && scratch->memory() <= kLargest) idle_.push_back(std::move(scratch));
    }

    std::unique_ptr<TextModel> owned_;
    TextModel& model_;
    Interpreter interpreter_;
    std::mutex mutex_;
    Scratches idle_;  // whose counts are all 0
};

inline void bind_text(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundText>(m, "Text",
                          "A linear model behind a vectorizer of texts, from strings to scores. Threads may share it.")
        .def(nb::init<const Described&>(), "described"_a)
        .def("scores", &BoundText::scores, "texts"_a, "n_threads"_a = 1,
             "Return scores (n_texts, n_outputs), and bounds of their distance to scikit-learn's; NaN for what it must "
             "be asked.")
        .def("prefixes", &BoundText::prefixes, "texts"_a, "looks"_a, "block"_a = 0, "n_threads"_a = 1,
             "Return scores of parts of texts (n_texts, n_looks + 1, n_outputs), bounds of the last, and characters "
             "read.")
        .def_prop_ro("same_bits", &BoundText::same_bits,
                     "Whether the scores are scikit-learn's to the last bit, so that all bounds are 0.")
        .def("counts", &BoundText::counts, "text"_a,
             "Return the columns that a text has, ascending, and how often (hashing: the sum of the signs).")
        .def("tokens", &BoundText::tokens, "text"_a,
             "Return the tokens of a text as ``vectorizer.build_analyzer()`` does, in its order.");
}

}  // namespace wald::bindings
