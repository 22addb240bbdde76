// Single rows that are dicts, read, answered and scored without a table in between.
#pragma once

#include <algorithm>
#include <cmath>

#include "bindings/fields.hpp"
#include "bindings/fixed_calls.hpp"
#include "bindings/keys.hpp"

namespace wald::bindings {

// Reads a dict into the columns of a model. Immutable, so that threads may share it. What it does not read, it leaves
// to others, who read it or say what is wrong with it.
class RecordReader {
public:
    using Names = nb::typed<nb::list, nb::str>;
    using Parts = nb::typed<nb::list, Described>;

    RecordReader(const Names& names, const Parts& described, std::size_t width) : names_(names), width_(width) {
        require(names_.size() >= 1, "records need names");
        require(width >= 1 && width <= static_cast<std::size_t>(kMaxFeatures), "width is out of range");
        for (const nb::handle name : names_) require(PyUnicode_CheckExact(name.ptr()), "names must be texts");
        for (const nb::handle each : described) parts_.push_back(part(Fields(each)));
    }
    std::size_t width() const { return width_; }

    // Writes the columns of a row, of which columns that no part writes stay as they are. False if this is no dict of
    // these names, or a value is none that is read here.
    bool read(nb::handle x, double* row) const {
        if (!PyDict_CheckExact(x.ptr())) return false;
        const nb::ft_object_guard guard(x);  // free-threaded: what is borrowed below stays there
        if (PyDict_Size(x.ptr()) != static_cast<Py_ssize_t>(names_.size())) return false;
        std::vector<nb::object> found(names_.size());  // references: what is called below may change the dict
        for (std::size_t i = 0; i < found.size(); ++i) {
            found[i] = nb::borrow(PyDict_GetItemWithError(x.ptr(), nb::handle(names_[i]).ptr()));
            if (!found[i].is_valid()) {
                if (PyErr_Occurred() != nullptr) throw nb::python_error();
                return false;
            }
        }
        for (const Part& p : parts_) {
            PyObject* const value = found[p.name].ptr();
            double number = 0;
            if (p.keys == nullptr) {
                if (!number_of(value, p.booleans, number)) return false;
                for (const Step& s : p.steps) apply(s, number);
                if (!p.cut) {
                    row[p.written[0]] = number;
                    continue;
                }
                if (!std::isfinite(number)) return false;
            }
            const auto state = p.cut ? above(p, number) : static_cast<std::size_t>(state_of(p, value));
            const std::int64_t r = p.rows[state];
            if (r < 0) return false;
            if (p.noted[state]) p.note(p.name);
            const double* const from = p.values.data() + static_cast<std::size_t>(r) * p.written.size();
            for (std::size_t k = 0; k < p.written.size(); ++k) row[p.written[k]] = from[k];
        }
        return true;
    }

private:
    enum class Op { fill, subtract, divide, multiply, add };
    struct Step {
        Op op;
        double by;
    };
    struct Part {
        std::size_t name = 0;
        std::vector<std::size_t> written;
        std::vector<Step> steps;          // of a number, which is written to one column
        const BoundKeys* keys = nullptr;  // of a category
        nb::object owner;                 // keeps the keys alive
        std::vector<std::int64_t> rows;   // by state; below 0: refused
        std::vector<double> values;       // (n_rows, written)
        bool cut = false;                 // a number has as state how many of the edges it exceeds, after the steps
        bool booleans = false;            // whether True and False are 1 and 0
        bool reaches = false;             // whether a number that equals an edge counts as above it
        std::vector<double> edges;        // ascending
        std::vector<bool> noted;          // by state: whether `note` is called, with the number of the name
        nb::object note;
    };

    Part part(Fields f) const {
        Part p;
        const auto name = f.get<std::int64_t>("name");
        require(name >= 0 && name < static_cast<std::int64_t>(names_.size()), "name must be the number of a name");
        p.name = static_cast<std::size_t>(name);
        const auto written = f.get<Longs>("written");
        for (const std::int64_t c : span_of(written)) {
            require(c >= 0 && c < static_cast<std::int64_t>(width_), "written must be numbers of columns");
            p.written.push_back(static_cast<std::size_t>(c));
        }
        p.owner = f.get<nb::object>("keys");
        const auto steps = f.get<std::vector<std::pair<std::string, double>>>("steps");
        const auto rows = f.get<Longs>("rows");
        const auto values = f.get<Matrix>("values");
        const auto noted = f.get<Longs>("noted");
        p.note = f.get<nb::object>("note");
        const auto edges = f.get<nb::object>("edges");
        p.reaches = f.get<bool>("reaches");
        p.booleans = f.get<bool>("booleans");
        f.done();
        for (const auto& [op, by] : steps) p.steps.push_back({op_of(op), by});
        p.cut = !edges.is_none();
        if (p.owner.is_none() && !p.cut) {
            require(p.written.size() == 1, "a number is written to one column");
            return p;
        }
        std::size_t n_states = 0;
        if (p.cut) {
            require(p.owner.is_none(), "a column has keys or edges");
            const auto held = nb::cast<Doubles>(edges);
            for (const double edge : span_of(held)) {
                require(std::isfinite(edge) && (p.edges.empty() || edge >= p.edges.back()), "edges must ascend");
                p.edges.push_back(edge);
            }
            n_states = p.edges.size() + 1;
        } else {
            require(nb::isinstance<BoundKeys>(p.owner), "keys must be Keys");
            p.keys = nb::inst_ptr<BoundKeys>(p.owner);
            n_states = static_cast<std::size_t>(p.keys->keys().n_states());
        }
        require(rows.size() == n_states, "every state needs a row");
        require(values.shape(1) == p.written.size(), "values need a column for each that is written");
        for (const std::int64_t r : span_of(rows)) {
            require(r < static_cast<std::int64_t>(values.shape(0)), "rows must lie within the values");
            p.rows.push_back(r);
        }
        p.values.assign(values.data(), values.data() + values.size());
        p.noted.assign(p.rows.size(), false);
        for (const std::int64_t s : span_of(noted)) {
            require(s >= 0 && s < static_cast<std::int64_t>(p.rows.size()), "noted must be states");
            p.noted[static_cast<std::size_t>(s)] = true;
        }
        require(noted.size() == 0 || PyCallable_Check(p.note.ptr()), "note must be callable");
        return p;
    }
    static Op op_of(const std::string& name) {
        constexpr std::pair<const char*, Op> kOps[] = {{"fill", Op::fill},
                                                       {"subtract", Op::subtract},
                                                       {"divide", Op::divide},
                                                       {"multiply", Op::multiply},
                                                       {"add", Op::add}};
        for (const auto& [known, op] : kOps)
            if (name == known) return op;
        refuse("there is no step " + name);
    }

    static std::int32_t state_of(const Part& p, PyObject* value) {
        if (p.booleans && PyBool_Check(value)) return p.keys->keys().integer(value == Py_True ? 1 : 0);
        return p.keys->state_of(value);
    }
    // Numbers that a column of floats or of integers holds as they are, and booleans.
    static bool number_of(PyObject* value, bool booleans, double& number) {
        if (PyFloat_Check(value)) {
            number = PyFloat_AsDouble(value);
            return !std::isinf(number);  // transformers refuse it, and models in their own words
        }
        if (value == Py_None) {
            number = std::numeric_limits<double>::quiet_NaN();
            return true;
        }
        if (booleans && PyBool_Check(value)) {
            number = value == Py_True ? 1 : 0;
            return true;
        }
        if (!PyLong_CheckExact(value)) return false;
        int overflow = 0;
        const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        constexpr long long kExact = 1ll << 53;
        if (overflow != 0 || whole > kExact || whole < -kExact) return false;
        number = static_cast<double>(whole);
        return true;
    }
    // How many edges a number exceeds.
    static std::size_t above(const Part& p, double x) {
        const auto first = p.edges.begin(), last = p.edges.end();
        return static_cast<std::size_t>(
            (p.reaches ? std::upper_bound(first, last, x) : std::lower_bound(first, last, x)) - first);
    }
    static void apply(const Step& s, double& x) {
        switch (s.op) {
            case Op::fill:
                if (x != x) x = s.by;
                break;
            case Op::subtract: x -= s.by; break;
            case Op::divide: x /= s.by; break;
            case Op::multiply: x *= s.by; break;
            case Op::add: x += s.by; break;
        }
    }

    nb::tuple names_;
    std::size_t width_;
    std::vector<Part> parts_;
};

// Labels of dicts.
class Record {
public:
    Record(const RecordReader::Names& names, const RecordReader::Parts& described, std::size_t width,
           FixedCalls answers)
        : reader_(names, described, width), answers_(std::move(answers)) {
        require(answers_.n_features() == static_cast<std::int64_t>(width), "the model must read as many columns");
    }

    // The label of a row, or its label and cost; None if this is no dict of these names, or a value is none that it
    // reads.
    nb::any label(nb::handle x, bool with_cost) const {
        LineVector<double> row(reader_.width());
        if (!reader_.read(x, row.data())) return as_any(nb::none());
        return answers_.label_of(row.data(), with_cost);
    }
    // Code, stage, cost and status; None in the same cases.
    std::optional<BoundEngine::OneAnswer> decided(nb::handle x) const {
        LineVector<double> row(reader_.width());
        if (!reader_.read(x, row.data())) return {};
        return answers_.decided_row(row.data());
    }

private:
    RecordReader reader_;
    FixedCalls answers_;
};

// Columns and full scores of dicts.
class RecordScores {
public:
    RecordScores(const RecordReader::Names& names, const RecordReader::Parts& described, std::size_t width,
                 const Model* model, const std::optional<Matrix>& coef, const std::optional<Doubles>& intercept)
        : reader_(names, described, width) {
        require(coef.has_value() == intercept.has_value(), "coef and intercept belong together");
        require(model == nullptr || !coef, "either a model is given, or coef and intercept");
        if (model != nullptr) {
            require(model->n_features() == static_cast<std::int64_t>(width), "the model must read as many columns");
            packed_ = model->packed;
            n_outputs_ = static_cast<std::size_t>(model->n_outputs());
        }
        if (coef) {
            require(coef->shape(1) == width && coef->shape(0) >= 1 && coef->shape(0) == intercept->size(),
                    "coef needs a row for each number of intercept, and a column for each column of the model");
            n_outputs_ = coef->shape(0);
            coef_.assign(coef->data(), coef->data() + coef->size());
            intercept_.assign(intercept->data(), intercept->data() + intercept->size());
        }
    }

    // The columns as a table of one row.
    std::optional<Made<double>> values(nb::handle x) const {
        auto row = new_array<double>({1, reader_.width()});
        std::fill_n(row.data(), reader_.width(), 0.0);
        if (!reader_.read(x, row.data())) return {};
        return row;
    }
    std::optional<Made<double>> scores(nb::handle x) const {
        require(n_outputs_ > 0, "scores need a model, or coef and intercept");
        LineVector<double> row(reader_.width());
        if (!reader_.read(x, row.data())) return {};
        auto scores = new_array<double>({1, n_outputs_});
        if (packed_ != nullptr) score(row, scores.data());
        else sum(row, scores.data());
        for (std::size_t k = 0; k < n_outputs_; ++k)
            if (!std::isfinite(scores.data()[k])) return {};
        return scores;
    }

private:
    void score(const LineVector<double>& row, double* scores) const {
        Rows rows;
        rows.dtype = Dtype::f64;
        rows.n_rows = 1;
        rows.n_columns = static_cast<std::int64_t>(row.size());
        rows.data = reinterpret_cast<const std::byte*>(row.data());
        rows.column_stride = sizeof(double);
        double error;
        packed_->scores({rows, nullptr, 1}, 0.0, false, scores, &error);
    }
    // One product after the other, in the order of the columns, as SciPy adds those of sparse rows.
    void sum(const LineVector<double>& row, double* scores) const {
        for (std::size_t k = 0; k < n_outputs_; ++k) {
            const double* const weights = coef_.data() + k * row.size();
            double total = 0;
            for (std::size_t c = 0; c < row.size(); ++c)
                if (row[c] != 0) total += row[c] * weights[c];  // NaN is not 0
            scores[k] = total + intercept_[k];
        }
    }

    RecordReader reader_;
    std::shared_ptr<const PackedModel> packed_;
    std::vector<double> coef_, intercept_;
    std::size_t n_outputs_ = 0;
};

inline void bind_record(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Record>(
        m, "Record",
        "Single rows that are dicts, read as `described` says and answered by an engine. Threads may share it.")
        .def(nb::init<const RecordReader::Names&, const RecordReader::Parts&, std::size_t, FixedCalls>(), "names"_a,
             "described"_a, "width"_a, "answers"_a)
        .def("label", &Record::label, "x"_a.none(), "with_cost"_a,
             "Return the label of a row, or a tuple of label and cost; None for what others must read.")
        .def("decided", &Record::decided, "x"_a.none(),
             "Code, stage, cost and status of a row, or None in the same cases.");
    nb::class_<RecordScores>(
        m, "RecordScores",
        "Single rows that are dicts, read as for `Record` and scored in full by a model, or by coef and intercept.")
        .def(nb::init<const RecordReader::Names&, const RecordReader::Parts&, std::size_t, const Model*,
                      const std::optional<Matrix>&, const std::optional<Doubles>&>(),
             "names"_a, "described"_a, "width"_a, "model"_a.none() = nb::none(), "coef"_a.none() = nb::none(),
             "intercept"_a.none() = nb::none())
        .def("values", &RecordScores::values, "x"_a.none(),
             "Return the columns of a row, (1, width); None for what others must read.")
        .def("scores", &RecordScores::scores, "x"_a.none(),
             "Return the full scores of a row, (1, n_outputs); None for what others must read, and if one is not "
             "finite.");
}

}  // namespace wald::bindings
