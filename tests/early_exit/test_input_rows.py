"""Input rows: texts, names in any order, single rows, and the errors about invalid ones."""

import pickle
import re
import warnings

import numpy as np
import pytest
from early_exit.models import MODELS, X2, X3, wrap, wrapped, y2, y3
from early_exit.people import FRAME, LIBRARIES, NAMES, PEOPLE, buyer, pa, pd, people, pl
from kinds.estimators import ONE_A_FAMILY
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import wald.online
import wald.structured
from wald import EarlyExitClassifier, Planner

# ---- texts -----------------------------------------------------------------------------------------------------------

COLUMNS_OF_TEXT = {
    "tuple": tuple,
    "numpy str": np.array,
    "numpy object": lambda t: np.array(t, dtype=object),
    "numpy StringDType": lambda t: np.array(t, dtype=np.dtypes.StringDType()),
    "pandas object, another index": lambda t: pd.Series(t, dtype=object, index=np.arange(len(t))[::-1]),
    "pandas string": lambda t: pd.Series(t, dtype="string"),
    "pandas category": lambda t: pd.Series(t, dtype="category"),
    "pandas index": lambda t: pd.Index(t),
    "pandas Arrow": lambda t: pd.Series(t, dtype="string[pyarrow]"),
    "polars": lambda t: pl.Series(t, dtype=pl.String),
    "Arrow": lambda t: pa.array(t, type=pa.string()),
    "Arrow in chunks": lambda t: pa.chunked_array([t[:7], t[7:]], type=pa.string()),
}
#: The others are read in long tests.
EVERY_TIME = ("numpy object", "pandas object, another index", "polars", "Arrow in chunks")


def texts():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(50)])
    rows = [" ".join(rng.choice(words, 12)) for _ in range(1500)]
    return rows, np.array(["w1 " in t or "w2 " in t for t in rows])


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [kind if kind in EVERY_TIME else pytest.param(kind, marks=pytest.mark.long) for kind in COLUMNS_OF_TEXT],
)
def test_a_column_of_texts_is_read_like_a_list_of_them(kind):
    rows, y = texts()
    column = COLUMNS_OF_TEXT[kind]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows[:400], y[:400])
    groups = np.arange(800) // 2

    def answers(of):
        fast = wrap(model, of(rows[400:1200]), risk=0.05)
        late = of(rows[1200:])
        again = fast.recertify(of(rows[400:1200]), groups=groups)
        trained = EarlyExitClassifier(clone(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
            of(rows), y
        )
        yield from (fast.predict(late), fast.predict(of(rows[1200:1201])), fast.predict(of([])))
        yield from (fast.stage_scores(late)[0], fast.looks(late).full, fast.decision_function(late))
        yield from (fast.predict_proba(late), again.predict(late), trained.predict(late), [fast.predict_one(rows[0])])
        yield [fast.trace(rows[0]).label]

    for ours, expected in zip(answers(column), answers(list), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.filterwarnings("ignore:no early exit")
def test_labels_in_a_series_are_taken_by_place():
    order = np.random.default_rng(0).permutation(len(X2))
    frame, labels = FRAME.iloc[order], pd.Series(y2).iloc[order]
    by_place = EarlyExitClassifier(SVC(), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        frame, labels.to_numpy()
    )
    fast = EarlyExitClassifier(SVC(), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(frame, labels)
    np.testing.assert_array_equal(fast.decision_function(FRAME), by_place.decision_function(FRAME))


# ---- columns by name -------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("cost", ["units", pytest.param("time", marks=pytest.mark.long)])
@pytest.mark.parametrize("last", ONE_A_FAMILY.values(), ids=ONE_A_FAMILY)
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_the_model_takes_by_name_may_come_in_any_order(library, last, cost):
    model = buyer(library, last)
    fast = wrap(model, people(library, slice(800, 3000), [*reversed(PEOPLE), "more"]), cost=cost, risk=0.05)
    labels = fast.predict(people(library, slice(3000, 4000)))
    assert np.mean(labels != model.predict(people(library, slice(3000, 4000)))) < 0.08
    for names in ([*reversed(PEOPLE)], ["weight", "city", "age", "children"], [*reversed(PEOPLE), "more"]):
        frame = people(library, slice(3000, 4000), names)
        np.testing.assert_array_equal(fast.predict(frame), labels)
        np.testing.assert_array_equal(fast.stage_scores(frame)[0][:, -1] > 0, model.predict(frame))
    with pytest.raises(ValueError, match=r"columns are missing: \{'city'\}"):
        fast.predict(people(library, slice(3000, 4000), ["age", "weight", "children"]))


@pytest.mark.parametrize("around", [[], [StandardScaler()], [FunctionTransformer(), StandardScaler()]])
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_in_an_order_that_the_model_refuses_are_refused(library, around):
    def frame(names):
        return LIBRARIES[library]({name: FRAME[name].to_numpy() for name in names})

    turned = frame(NAMES[::-1])
    model = make_pipeline(*around, LogisticRegression()).fit(frame(NAMES)[:800], y2[:800])
    with pytest.raises(ValueError, match="feature names should match") as theirs:
        model.predict(turned)
    with pytest.raises(ValueError, match="feature names should match") as ours:
        wrap(model, turned)
    assert str(ours.value) == str(theirs.value)
    for rows in (frame(NAMES), X2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an array's missing names
            if rows is X2 and len(around) == 2:
                continue  # preprocessing would warn at each call
            fast = wrap(model, rows[1000:5000])
        for method in (fast.predict, fast.decision_function, fast.stage_scores, fast.recertify):
            with pytest.raises(ValueError, match="feature names should match") as ours:
                method(turned)
            assert str(ours.value) == str(theirs.value)


# ---- one row ---------------------------------------------------------------------------------------------------------

ROWS = {
    "list": list,
    "tuple": tuple,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "longdouble": lambda x: x.astype(np.longdouble),
    "int": lambda x: x.astype(int),
    "bool": lambda x: x > 0,
    "other byte order": lambda x: x.astype(">f8"),
    "object": lambda x: x.astype(object),
    "not aligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "pandas": pd.Series,
    "polars": pl.Series,
    "ints in a list": lambda x: [int(v) for v in x],
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", ["rbf", "logistic", "one-vs-one", "behind PCA"])
def test_a_row_may_come_in_anything_that_holds_numbers(name, kind):
    fast, X = wrapped(name), MODELS[name][1]
    for x in X[5000:5020]:
        row = ROWS[kind](x)
        expected = fast.predict(np.asarray(row, dtype=np.float64)[None], return_cost=True)
        assert fast.predict_one(row, return_cost=True) == (expected[0][0], expected[1][0])
        assert fast.trace(row).label == expected[0][0]


@pytest.mark.parametrize("name", ["rbf", "logistic", "behind PCA"])
@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ([1.0, 2.0], ValueError, "x must be one row of 20 features. Got 2."),
        ([], ValueError, "Got 0."),
        (np.zeros(3), ValueError, "x must be one row of 20 features. Got 3."),
        (
            np.zeros((1, 20)),
            ValueError,
            "in one dimension. Got shape (1, 20): use predict for several rows, or pass x[0]",
        ),
        (np.zeros((3, 20)), ValueError, "in one dimension. Got shape (3, 20): use predict"),
        ([[1.0] * 20], ValueError, "Got shape (1, 20)"),
        ([[1], [1, 2]], ValueError, "Got a nested list"),
        (pd.DataFrame(np.zeros((1, 20))), ValueError, "Got shape (1, 20)"),
        (sparse.csr_matrix((1, 20)), ValueError, "Got a sparse matrix of shape (1, 20): use predict"),
        (sparse.csr_array(X2[0]), ValueError, "Got a sparse matrix of shape (20,): pass x.toarray()"),
        (3, TypeError, "x must be one row of 20 features. Got int"),
        ("abc", TypeError, "Got 'abc'"),
        (None, TypeError, "Got None"),
        ({"f0": 1.0}, TypeError, "x is a dict, and neither the wrapped model nor the rows of fit had feature names"),
    ],
)
def test_what_is_no_row_is_refused_in_words_of_rows(name, row, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        wrapped(name).predict_one(row)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (np.zeros(20) + 1j, "x must hold real numbers. Got dtype complex128"),
        (np.zeros(20, dtype="M8[D]"), "x must hold real numbers. Got dtype datetime64"),
        ([1.0] * 19 + ["a"], "x[19] must be a number. Got 'a', a str"),
    ],
)
def test_rows_of_other_things_than_numbers_are_refused(row, message):
    fast = wrap(MODELS["rbf"][0], X2[1000:5000])
    with pytest.raises(ValueError, match=re.escape(message)):
        fast.predict_one(row)


def test_a_row_before_fit_and_a_budget_too_small():
    with pytest.raises(NotFittedError):
        EarlyExitClassifier(SVC()).predict_one(X2[0])
    with pytest.raises(ValueError, match="budget must be at least"):
        wrap(MODELS["rbf"][0], X2[1000:5000]).predict_one(X2[0], budget=0)


# ---- what is wrong with rows, and where ------------------------------------------------------------------------------


def spoilt(value):
    X = X2[:6000].copy()
    X[4017, 2] = value
    return X


CONTAINERS = {
    "array": lambda X: X,
    "Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "lists": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X .*feature names")
@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("name", ["rbf", "scaled rbf", "behind PCA"])
def test_nan_and_infinity_are_named_by_row_and_column(name, kind):
    model, _ = MODELS[name]
    fast, of = wrap(model, X2[1000:5000]), CONTAINERS[kind]
    column = "column 'f2' (2)" if kind in LIBRARIES else "column 2"
    for value, words in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity or a value too large")):
        X = of(spoilt(value))
        for call in (fast.predict, fast.recertify, fast.stage_scores, fast.stage_scores, lambda X: wrap(model, X)):
            with pytest.raises(ValueError, match=rf"{words}.* in row 4017, {re.escape(column)}\."):
                call(X)
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 0, column 2\."):
        fast.predict_one(spoilt(np.nan)[4017])
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 4017, "):
        EarlyExitClassifier(LogisticRegression()).fit(of(spoilt(np.nan)), y2)


def test_nan_in_sparse_rows_is_named():
    X = sparse.csr_matrix(spoilt(np.nan))
    model = LogisticRegression().fit(sparse.csr_matrix(X2[:800]), y2[:800])
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 4017, column 2\."):
        wrap(model, X)


@pytest.mark.parametrize("library", LIBRARIES)
def test_nan_that_an_imputer_takes_is_not_blamed(library):
    fast = wrap(buyer(library, SVC()), people(library, slice(800, 3000)), risk=0.05)
    columns = {name: column[3000:].copy() for name, column in PEOPLE.items()}
    columns["age"][3] = np.nan
    columns["weight"][17] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 17, column 'weight' \(2\)\."):
        fast.predict(LIBRARIES[library](columns))


TABLE = r"X must be a table: one row for each example, one column for each feature\. Got "
WORDS = pd.DataFrame(X2[:500], columns=NAMES).astype(object)
WORDS.loc[7, "f3"] = "red"
WRONG = [
    (X2[0], ValueError, TABLE + r"ndarray of shape \(20,\)\. For one row, use predict_one"),
    (X2[0].tolist(), ValueError, TABLE + r"list\. For one row, use predict_one"),
    (pd.Series(X2[0]), ValueError, TABLE + r"Series of shape \(20,\)\. For one row"),
    (X2[:400].reshape(200, 2, 20), ValueError, TABLE + r"ndarray of shape \(200, 2, 20\)\."),
    (sparse.coo_array(X2[0]), ValueError, TABLE + r"coo_array of shape \(20,\)\. For one row, use predict_one"),
    (sparse.csr_array(X2[0]), ValueError, TABLE + r"csr_array of shape \(20,\)\. For one row, use predict_one"),
    (sparse.coo_array(X2[:400].reshape(200, 2, 20)), ValueError, TABLE + r"coo_array of shape \(200, 2, 20\)\."),
    (np.array([]), ValueError, TABLE + r"ndarray of shape \(0,\)"),
    ([[1.0, 2.0], [1.0]], ValueError, TABLE + r"list. Its rows have different lengths"),
    (3.0, ValueError, TABLE + "float"),
    ("abc", TypeError, "X must be rows of features. Got one str"),
    (WORDS, ValueError, r"X must hold numbers: column 'f3' \(3\) holds 'red', a str, in row 7"),
    (WORDS.to_numpy(), ValueError, r"X must hold numbers: column 3 holds 'red', a str, in row 7"),
    (X2[:500] + 1j, ValueError, "Complex data not supported: X must hold real numbers. Got dtype complex128"),
    (["a text", "another"], ValueError, "X must be a table of numbers. Got a list of str: texts and dicts need a vect"),
    ([{"a": 1.0}, {"a": 2.0}], (TypeError, ValueError), "X must be a table of numbers. Got a list of dict"),
    (X2[:500, :3], ValueError, "X has 3 features, but .* is expecting 20 features"),
    (X2[:500, :0], ValueError, r"0 feature"),
]


@pytest.mark.filterwarnings("ignore:X .*feature names")
@pytest.mark.parametrize(("wrong", "error", "message"), WRONG)
@pytest.mark.parametrize("name", ["rbf", "logistic", "scaled rbf"])
def test_what_is_no_table_of_numbers_is_refused(name, wrong, error, message):
    for call in (wrapped(name).predict, lambda X: wrap(MODELS[name][0], X)):
        with pytest.raises(error, match=message):
            call(wrong)


@pytest.mark.parametrize("n", [3, 500])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["rbf", "logistic"])
@pytest.mark.filterwarnings("ignore:X .*feature names")
def test_dates_are_no_numbers(name, library, n):
    dates = FRAME[:n].assign(f3=np.datetime64("2020-01-01"), f4=np.timedelta64(3, "s"))
    fast = wrap(MODELS[name][0], X2[1000:5000])
    for some in (dates, dates[["f3"] * 20].set_axis(NAMES, axis=1)):
        with pytest.raises(ValueError, match=r"(?i)X must hold numbers. Got .* of dtype (datetime|duration|timedelta)"):
            fast.predict(LIBRARIES[library](some))


def test_no_rows_at_all_are_refused():
    model, X = MODELS["rbf"]
    with pytest.raises(ValueError, match=TABLE + "NoneType"):
        wrap(model, X[1000:5000]).predict(None)
    with pytest.raises(ValueError, match=r"risk=0\.02 is certified on rows: pass X, unlabelled rows"):
        wrap(model, None)


def test_labels_for_a_frozen_model_must_fit_and_are_not_used():
    model = MODELS["rbf"][0]
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, random_state=0, planner=Planner(cost="units"))
    labels = fast.fit(X2[1000:5000], 1 - y2[1000:5000]).predict(X2)
    np.testing.assert_array_equal(labels, wrap(model, X2[1000:5000]).predict(X2))
    with pytest.raises(ValueError, match=r"y must have one entry for each of the 4000 rows of X\. Got 10\."):
        fast.fit(X2[1000:5000], y2[:10])


# ---- scikit-learn's surface ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [EarlyExitClassifier(SVC()), wald.online.AttentivePegasos()])
def test_pictures_link_to_no_page_that_is_not_there(estimator):
    assert all("scikit-learn.org" in link for link in re.findall(r'href="([^"]+)', estimator._repr_html_()))
    assert estimator._get_doc_link() == ""
    for module in (wald, wald.online, wald.structured):
        for name in module.__all__:
            assert getattr(getattr(module, name), "_doc_link_module", "sklearn") == "sklearn"


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_pickles_keep_the_wrapped_scores(shape):
    model = SVC(decision_function_shape=shape).fit(X3[:800], y3[:800])
    again = pickle.loads(pickle.dumps(wrap(model, X3[1000:5000])))
    np.testing.assert_array_equal(again.decision_function(X3), model.decision_function(X3))
    linear = MODELS["logistic multiclass"][0]
    again = pickle.loads(pickle.dumps(wrap(linear, X3[1000:5000])))
    np.testing.assert_array_equal(again.predict_proba(X3), linear.predict_proba(X3))


@pytest.mark.filterwarnings("ignore:no early exit")
def test_scikit_learns_tools_take_it():
    fast = EarlyExitClassifier(SVC(), risk=0.05, planner=Planner(cost="units"), random_state=0)
    assert cross_val_score(fast, FRAME, pd.Series(y2), cv=3).min() > 0.9
    piped = make_pipeline(StandardScaler(), fast).set_output(transform="pandas").fit(FRAME, y2)
    assert piped[-1].feature_names_in_.tolist() == NAMES
    weight = (np.arange(len(y2)) < 500).astype(float)
    assert piped.score(FRAME, y2, sample_weight=weight) == pytest.approx(piped.score(FRAME[:500], y2[:500]))
    assert clone(piped).get_params()["earlyexitclassifier__estimator__C"] == 1.0
