// Linear models behind vectorizers of texts.
#pragma once

#include <mutex>
#include <numeric>
#include <tuple>

#include "bindings/fields.hpp"
#include "bindings/text_characters.hpp"
#include "core/text/text_model.hpp"
#include "core/thread_pool.hpp"

namespace wald::bindings {

// A float64 or float32 array of a field, as float64.
class Weights {
public:
    Weights(Fields& from, const char* name, std::size_t ndim) {
        const auto given = from.get<nb::object>(name);
        using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
        Array array;
        require(nb::try_cast(given, array, false) && array.ndim() == ndim,
                (std::string(name) + " must be a " + std::to_string(ndim) + "-D array in C order").c_str());
        single_ = array.dtype() == nb::dtype<float>();
        if (!single_ && array.dtype() != nb::dtype<double>())
            throw nb::type_error((std::string(name) + " must be of float64 or float32").c_str());
        for (std::size_t d = 0; d < ndim; ++d) shape_.push_back(array.shape(d));
        values_.resize(array.size());
        if (single_) std::copy_n(static_cast<const float*>(array.data()), values_.size(), values_.begin());
        else std::copy_n(static_cast<const double*>(array.data()), values_.size(), values_.begin());
    }
    bool single() const { return single_; }
    std::size_t shape(std::size_t d) const { return shape_[d]; }
    std::span<const double> values() const { return values_; }
    bool fit_float32() const {
        return std::all_of(values_.begin(), values_.end(), [](double v) { return static_cast<float>(v) == v; });
    }

private:
    bool single_ = false;
    std::vector<std::size_t> shape_;
    std::vector<double> values_;
};

// The strings of a list, as long as this object lives. One that has no UTF-8 is left out of `found`.
struct Strings {
    nb::object items;
    std::vector<std::string_view> found;
    std::vector<std::size_t> places;

    explicit Strings(const nb::list& from, const char* name) : items(nb::steal(PyList_AsTuple(from.ptr()))) {
        if (!items.is_valid()) throw nb::python_error();
        const nb::tuple all = nb::borrow<nb::tuple>(items);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!PyUnicode_Check(all[i].ptr()))
                throw nb::type_error((std::string(name) + " must be a list of strings").c_str());
            try {
                found.push_back(utf8(all[i]));
                places.push_back(i);
            } catch (const nb::python_error& error) {
                if (!error.matches(PyExc_UnicodeEncodeError)) throw;
            }
        }
    }
};

class BoundText {
public:
    explicit BoundText(nb::dict described) : BoundText(Fields(described)) {}

    std::tuple<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>> scores(const nb::list& texts,
                                                                                      int n_threads) {
        LentTexts lent(texts, interpreter_);
        const std::size_t n = lent.size(), n_outputs = static_cast<std::size_t>(model_.spec().n_outputs);
        auto found = new_array<double>({n, n_outputs});
        auto errors = new_array<double>({n});
        std::fill_n(found.data(), n * n_outputs, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(errors.data(), n, std::numeric_limits<double>::infinity());
        run(lent, n_threads, [&](std::size_t i, TextScratch& s) {
            return model_.scores(lent[i], s, found.data() + i * n_outputs, errors.data() + i);
        });
        return {found, errors};
    }
    nb::ndarray<nb::numpy, double> exact_scores(const nb::list& texts, int n_threads) {
        require(same_bits(), "the scores of this model are near those of scikit-learn, not the same: see `same_bits`");
        return std::get<0>(scores(texts, n_threads));
    }
    std::tuple<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, std::int64_t>>
    prefixes(const nb::list& texts, const Longs& looks, std::int64_t block, int n_threads) {
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
        return {found, errors, characters};
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
    std::tuple<nb::ndarray<nb::numpy, std::int32_t>, nb::ndarray<nb::numpy, std::int32_t>> counts(nb::str text) {
        std::vector<std::int32_t> columns, counts;
        read_one(text, [&](const TextView& view, TextScratch& s) {
            const ReadStatus status = model_.reader().read(view, s.reading);
            if (status != ReadStatus::read) return status;
            CountAll sink{s.counts};
            model_.count(s, sink);
            s.counts.drain([&](std::int32_t column, std::int32_t count) {
                columns.push_back(column);
                counts.push_back(count);
            });
            return status;
        });
        return {copied(columns.data(), columns.size()), copied(counts.data(), counts.size())};
    }
    nb::list tokens(nb::str text) {
        nb::list found;
        std::vector<std::string> all;
        read_one(text, [&](const TextView& view, TextScratch& s) {
            const ReadStatus status = model_.reader().read(view, s.reading);
            if (status == ReadStatus::read)
                model_.each_token(s, [&](const std::uint8_t* bytes, std::size_t n) {
                    all.emplace_back(reinterpret_cast<const char*>(bytes), n);
                });
            return status;
        });
        for (const std::string& token : all) found.append(nb::str(token.data(), token.size()));
        return found;
    }

private:
    using Scratches = std::vector<std::unique_ptr<TextScratch>>;

    explicit BoundText(Fields fields) : owned_(made(fields)), model_(*owned_), interpreter_(model_.reader().rules()) {}

    static ReadingRules read_rules(Fields& f) {
        ReadingRules rules;
        rules.analyzer = f.one_of<Analyzer>("analyzer", {"word", "char", "char_wb"});
        rules.lower = f.get<bool>("lowercase");
        const auto accents = f.get<std::optional<std::string>>("strip_accents");
        require(!accents || *accents == "ascii" || *accents == "unicode",
                "strip_accents must be None, 'ascii' or 'unicode'");
        if (accents) rules.accents = *accents == "ascii" ? Accents::to_ascii : Accents::stripped;
        const auto [token, shortest] = f.get<std::tuple<std::string, int>>("token");
        require((token == "word" && shortest >= 1) || (token == "space" && shortest == 1),
                "token must be ('word', k) with k of at least 1, or ('space', 1)");
        rules.token = token == "word" ? Token::word : Token::not_space;
        rules.shortest = shortest;
        std::tie(rules.least, rules.most) = f.get<std::tuple<int, int>>("ngram_range");
        require(1 <= rules.least && rules.least <= rules.most, "ngram_range must be two ascending numbers from 1 on");
        return rules;
    }
    static std::unique_ptr<TextModel> made(Fields& f) {
        TextSpec spec;
        spec.rules = read_rules(f);
        const Weights coef(f, "coef", 2), intercept(f, "intercept", 1);
        require(coef.shape(0) >= 1 && coef.shape(0) <= kMaxClasses && coef.shape(1) >= 1 &&
                    coef.shape(1) <= static_cast<std::size_t>(kMaxFeatures),
                "coef must have a row for each output, and a column for each feature");
        spec.n_outputs = static_cast<std::int64_t>(coef.shape(0));
        spec.n_columns = static_cast<std::int64_t>(coef.shape(1));
        require(intercept.shape(0) == coef.shape(0), "intercept must have a value for each row of coef");
        require(!f.read_optional("idf", spec.idf) || std::ssize(spec.idf) == spec.n_columns,
                "idf must be None, or have a value for each column of coef");
        read_vocabulary(f, spec);
        spec.values.binary = f.get<bool>("binary");
        spec.values.single = f.get<bool>("single");
        if (f.get<bool>("sublinear_tf")) spec.values.logarithms = logarithms(spec.values.single);
        const auto norm = f.get<std::optional<std::string>>("norm");
        require(!norm || *norm == "l1" || *norm == "l2", "norm must be None, 'l1' or 'l2'");
        if (norm) spec.values.norm = *norm == "l1" ? Norm::l1 : Norm::l2;
        spec.values.weight = f.get<double>("weight");
        require(std::isfinite(spec.values.weight), "weight must be finite");
        const auto bound = f.get<std::optional<Matrix>>("coef_bound");
        if (bound) {
            require(bound->shape(0) == coef.shape(0) && bound->shape(1) == coef.shape(1),
                    "coef_bound must be None, or have the shape of coef");
            spec.bound = span_of(*bound);
        }
        spec.coef = coef.values();
        spec.intercept.assign(intercept.values().begin(), intercept.values().end());
        for (const double b : spec.intercept) spec.bias = std::max(spec.bias, std::abs(b));
        spec.single_sums = spec.values.single && coef.single();
        spec.single_intercept = intercept.single();
#if defined(__x86_64__)  // elsewhere compilers fuse the multiplications and additions of SciPy's loops
        spec.same_bits = !bound && !(spec.values.single && !coef.single() && coef.fit_float32());
#else
        spec.same_bits = false;
#endif
        f.done();
        return std::make_unique<TextModel>(std::move(spec));
    }
    static void read_vocabulary(Fields& f, TextSpec& spec) {
        const Strings stop_words(f.get<nb::list>("stop_words"), "stop_words");
        Vocabulary::Terms terms;
        terms.stop_words = stop_words.found;
        const auto hashing = f.get<std::optional<nb::dict>>("hashing");
        const auto given = f.get<std::optional<nb::list>>("vocabulary");
        const auto ids = f.get<std::optional<Longs>>("ids");
        if (hashing) {
            Fields h(*hashing);
            require(h.get<std::int64_t>("n_features") == spec.n_columns,
                    "n_features must be the number of columns of coef");
            spec.hashing = true;
            spec.alternate_sign = h.get<bool>("alternate_sign");
            h.done();
            spec.vocabulary = Vocabulary(terms, 1, 1);
            return;
        }
        require(given && ids, "either vocabulary and ids must be given, or hashing");
        const Strings strings(*given, "vocabulary");
        require(given->size() == ids->size(), "ids must have a value for each string of vocabulary");
        for (std::size_t i = 0; i < ids->size(); ++i)
            require(ids->data()[i] >= 0 && ids->data()[i] < spec.n_columns, "ids must be numbers of columns of coef");
        std::vector<std::size_t> order(strings.found.size());  // what has the least idf is the most frequent
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto column = [&](std::size_t i) { return ids->data()[strings.places[i]]; };
        if (!spec.idf.empty())
            std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
                return spec.idf[static_cast<std::size_t>(column(i))] < spec.idf[static_cast<std::size_t>(column(j))];
            });
        std::vector<std::string_view> words;
        std::vector<std::int64_t> columns;
        for (const std::size_t i : order) {
            words.push_back(strings.found[i]);
            columns.push_back(column(i));
        }
        std::vector<std::string_view> sorted = words;
        std::sort(sorted.begin(), sorted.end());
        require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a string of vocabulary is repeated");
        terms.terms = words;
        terms.columns = columns;
        spec.vocabulary =
            Vocabulary(terms, spec.rules.least, spec.rules.analyzer == Analyzer::word ? spec.rules.most : 1);
    }
    // 1 + log(count) by count, with the bits of NumPy's loop; its logarithms differ from those of other libraries.
    static std::vector<double> logarithms(bool single) {
        constexpr int kCounts = 1 << 16;
        const nb::object numpy = nb::module_::import_("numpy");
        const nb::object counts = numpy.attr("arange")(1, kCounts, nb::arg("dtype") = single ? "float32" : "float64");
        numpy.attr("log")(counts, counts);
        const nb::object shifted = numpy.attr("add")(counts, 1).attr("astype")("float64");
        const auto values = nb::cast<Doubles>(shifted);
        std::vector<double> all{0.0};
        all.insert(all.end(), values.data(), values.data() + values.size());
        return all;
    }

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
    nb::class_<BoundText>(
        m, "Text",
        R"doc(A linear model behind a vectorizer of texts, from strings to scores. Threads may share it.

Parameters
----------
described : dict
    analyzer : {"word", "char", "char_wb"}
    lowercase : bool
    strip_accents : {None, "ascii", "unicode"}
    token : tuple
        ``("word", k)``: the longest runs of letters, digits and underscores, of at least k characters; or
        ``("space", 1)``: what is between white space. For words only.
    stop_words : list of str
    ngram_range : tuple of two ints
    vocabulary : list of str, or None
    ids : int64 array, or None
        The column of each string of ``vocabulary``.
    hashing : dict, or None
        ``n_features`` and ``alternate_sign``, in place of a vocabulary.
    binary, sublinear_tf : bool
    idf : float64 array of shape (n_features,), or None
    norm : {None, "l1", "l2"}
    weight : float
        By which all values are multiplied at last.
    single : bool
        Whether the vectorizer's dtype is float32.
    coef : float64 or float32 array of shape (n_outputs, n_features)
    intercept : float64 or float32 array of shape (n_outputs,)
        In the dtypes of the model, which its sums have as well.
    coef_bound : float64 array of the shape of coef, or None
        Bounds of the summands where ``coef`` is not what the model itself multiplies with: scores are then near its
        own, not the same.)doc")
        .def(nb::init<nb::dict>(), "described"_a,
             nb::sig("def __init__(self, described: dict[str, typing.Any]) -> None"))
        .def(
            "scores", &BoundText::scores, "texts"_a, "n_threads"_a = 1,
            nb::sig("def scores(self, texts: list[typing.Any], n_threads: int = 1) -> "
                    "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
            R"doc(Return scores of shape (n_texts, n_outputs), and bounds of their distance to scikit-learn's, (n_texts,).

A score is NaN, and its bound infinite, where scikit-learn must be asked: for what is no str, a str with lone
surrogates, or a text of 2 GB.)doc")
        .def("exact_scores", &BoundText::exact_scores, "texts"_a, "n_threads"_a = 1,
             nb::sig("def exact_scores(self, texts: list[typing.Any], n_threads: int = 1) -> "
                     "numpy.typing.NDArray[numpy.float64]"),
             "Return the scores alone, which have scikit-learn's bits; ValueError unless `same_bits`.")
        .def("prefixes", &BoundText::prefixes, "texts"_a, "looks"_a, "block"_a = 0, "n_threads"_a = 1,
             nb::sig("def prefixes(self, texts: list[typing.Any], looks: numpy.typing.NDArray[numpy.int64], "
                     "block: int = 0, n_threads: int = 1) -> tuple[numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int64]]"),
             R"doc(Return scores of parts of texts, (n_texts, n_looks + 1, n_outputs).

Look t scores the tokens that end in the first ``looks[t]`` bytes of the text, as it is in lower case, without accents,
and, for slices of characters, with one blank for several. With a block, in bytes, it scores those of the first
``looks[t] / block`` blocks in the order 0, the middle, the quarters, the eighths, ...: of such as begin there, moved to
the beginnings of words, and no token reaches from one block to the next. The last scores and their bounds, (n_texts,),
are those of `scores`. The third array, (n_texts, n_looks + 1), has the numbers of characters that were read. It has 0,
and so have the scores, for looks at the end of a text and behind it.)doc")
        .def_prop_ro("same_bits", &BoundText::same_bits,
                     "Whether the scores are scikit-learn's to the last bit, so that all bounds are 0.")
        .def("counts", &BoundText::counts, "text"_a,
             nb::sig("def counts(self, text: str) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
             "Return the columns that a text has, ascending, and how often (hashing: the sum of the signs).")
        .def("tokens", &BoundText::tokens, "text"_a, nb::sig("def tokens(self, text: str) -> list[str]"),
             "Return the tokens of a text as ``vectorizer.build_analyzer()`` does, in its order.");
}

}  // namespace wald::bindings
