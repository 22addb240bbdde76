"""Rows as records: names of one row, lists of dicts, and what is wrong with them."""

import re
import warnings
from collections import defaultdict, namedtuple
from fractions import Fraction

import numpy as np
import pytest
from early_exit.models import MODELS, X2, wrap, y2
from early_exit.people import FRAME, LIBRARIES, NAMES, PEOPLE, buyer, people
from kinds.estimators import ONE_A_FAMILY
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wald import EarlyExitClassifier


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("risk", [0.02, 0])
@pytest.mark.parametrize("last", ONE_A_FAMILY.values(), ids=ONE_A_FAMILY)
def test_names_of_a_row_are_matched(last, risk):
    fast = wrap(clone(last).fit(FRAME[:800], y2[:800]), FRAME[1000:5000], risk=risk)
    expected, cost = fast.predict(FRAME[5000:5050], return_cost=True)
    row_of = namedtuple("Row", NAMES)
    for i, x in enumerate(X2[5000:5050]):
        turned = dict(zip(NAMES[::-1], x[::-1].tolist(), strict=True))
        for row in (turned, row_of(*x), FRAME.iloc[5000 + i], FRAME.iloc[5000 + i][::-1]):
            assert fast.predict_one(row, return_cost=True) == (expected[i], cost[i])
        with warnings.catch_warnings():  # the wrapped model warns of a row without names
            warnings.simplefilter("ignore")
            assert fast.predict_one(x, return_cost=True) == (expected[i], cost[i])
        assert fast.trace(turned).label == expected[i]
    records = FRAME[5000:5050].to_dict("records")
    for ours, theirs in zip(fast.predict_records(records, return_cost=True), (expected, cost), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert fast.predict_records([]).shape == (0,)
    assert fast.predict_records([]).dtype == expected.dtype
    assert [part.shape for part in fast.predict_records([], return_cost=True)] == [(0,), (0,)]


GOOD = dict.fromkeys(NAMES, 1.0)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({n: 1.0 for n in NAMES if n not in ("f3", "f7")}, ValueError, " lacks 'f3', 'f7'."),
        (GOOD | {"zz": 1.0}, ValueError, " has 'zz', which the model does not know."),
        (GOOD | {"f3": None}, ValueError, "['f3'] is None"),
        (GOOD | {"f3": "1.5"}, ValueError, "['f3'] must be a number. Got '1.5', a str."),
        (GOOD | {"f3": [1]}, ValueError, "['f3'] must be a number. Got [1], a list."),
        (GOOD | {"f3": np.nan}, ValueError, "column 'f3' (3)"),
        (GOOD | {"f3": np.inf}, ValueError, "column 'f3' (3)"),
    ],
)
def test_wrong_records_are_named(bad, error, message):
    fast = wrap(LogisticRegression().fit(FRAME[:800], y2[:800]), FRAME[1000:5000], risk=0)  # reads every value
    with pytest.raises(error, match=re.escape(message)):
        fast.predict_one(bad)
    with pytest.raises(error, match=re.escape(message)) as raised:
        fast.predict_records([GOOD, GOOD, bad])
    assert re.search(r"records\[2\]|record 2,", str(raised.value))


def test_what_is_no_list_of_records_is_refused():
    fast = wrap(LogisticRegression().fit(FRAME[:800], y2[:800]), FRAME[1000:5000])
    for bad, message in ((GOOD, "use predict_one"), (FRAME, "use predict"), ("abc", "Got str"), ([3], "Got int")):
        with pytest.raises(TypeError, match=message):
            fast.predict_records(bad)
    with pytest.raises(TypeError, match="neither the wrapped model nor the rows of fit had feature names"):
        wrap(MODELS["rbf"][0], X2[1000:5000]).predict_records([GOOD])


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("error", "ignore:no early exit")
@pytest.mark.parametrize("last", ONE_A_FAMILY.values(), ids=ONE_A_FAMILY)
@pytest.mark.parametrize("library", LIBRARIES)
def test_records_for_a_column_transformer(library, last):
    model = buyer(library, last)
    fast = wrap(model, people(library, slice(800, 3000)), risk=0.05)
    expected = fast.predict(people(library, slice(3000, 3100)))
    records = [{name: column[i].item() for name, column in PEOPLE.items()} for i in range(3000, 3100)]
    for record in records[::2]:
        del record["number"]  # which no transformer reads
    np.testing.assert_array_equal(fast.predict_records(records), expected)
    assert [fast.predict_one(record) for record in records[:10]] == expected[:10].tolist()
    assert fast.predict_one([PEOPLE[name][3001].item() for name in PEOPLE]) == expected[1]
    keen = defaultdict(float, records[0])
    assert (fast.predict_one(keen), dict(keen)) == (expected[0], records[0])
    missing = records[0] | {"age": None}  # which the imputer takes
    assert fast.predict_records([missing]) == model.predict(LIBRARIES[library]({k: [v] for k, v in missing.items()}))
    no_city = {name: value for name, value in records[2].items() if name != "city"}
    with pytest.raises(ValueError, match=r"records\[1\] lacks 'city'"):
        fast.predict_records([records[0], no_city])
    with pytest.raises(ValueError, match=r"records\[1\] has 'town', which the model does not know"):
        fast.predict_records([records[0], records[2] | {"town": "a"}])


def test_records_for_a_dict_vectorizer():
    records = [{"age": a, "city": str(c)} for a, c in zip(PEOPLE["age"], PEOPLE["city"], strict=True)]
    y = PEOPLE["age"] + 5 * (PEOPLE["city"] == "a") > 40
    fast = wrap(
        make_pipeline(DictVectorizer(), LogisticRegression(max_iter=10_000)).fit(records[:800], y[:800]),
        records[800:3000],
        risk=0.05,
    )
    np.testing.assert_array_equal(fast.predict_records(records[3000:]), fast.predict(records[3000:]))
    keen = defaultdict(float, records[3000])
    for record in (records[3000], keen):
        assert fast.predict_one(record) == fast.predict(records[3000:3001])[0]
    assert dict(keen) == records[3000]


class OwnScaler(StandardScaler):
    """A transformer of one's own, so that the pipeline reads a data frame of the records."""


GAPS = {
    "kind": np.array(["a", "b", None, "b"] * 50, dtype=object),
    "size": np.array([1.0, np.nan, 2.0, 0.5] * 50),
    "n": np.array([0, 1, 2, 3, 4] * 40),
}
UNDEFINED = [None, float("nan"), np.float64("nan")]


def _gaps_in(library):
    """A pipeline fitted on a frame of a library, whose imputer fills in a constant, and whose labels say so."""
    make = LIBRARIES[library]
    numbers = make_pipeline(SimpleImputer(strategy="constant", fill_value=-1), OwnScaler())
    columns = [("size", numbers, ["size", "n"]), ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"])]
    frame = make(GAPS)
    model = make_pipeline(
        ColumnTransformer(columns), HistGradientBoostingClassifier(learning_rate=1.0, max_iter=3, min_samples_leaf=2)
    )
    model.fit(frame, np.isnan(GAPS["size"]).astype(int))
    return model, make, EarlyExitClassifier(model, risk=0).fit(frame)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_of_missing_values_alone_keeps_its_kind(library):
    model, make, fast = _gaps_in(library)
    for name in ("size", "kind"):
        rows = {key: np.repeat(values[4:5], 200) for key, values in GAPS.items()}
        rows[name] = np.where(np.arange(200) < 2, GAPS[name][1 if name == "size" else 2], GAPS[name])
        own = model.predict(make(rows))[:2].tolist()
        for missing in UNDEFINED:
            record = {key: values[0] for key, values in rows.items()} | {name: missing}
            assert fast.predict_one(record) == own[0], (name, missing)
            assert fast.predict_records([record, record]).tolist() == own, (name, missing)
            assert fast.predict([record, record]).tolist() == own, (name, missing)
            if name == "size":
                assert own == [1, 1]  # the imputer's constant, and not NaN


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": 1.5}, r"\['kind'\] must be a text, as in fit. Got 1.5, a float"),
        ({"kind": {}}, r"\['kind'\] must be a text"),
        ({"kind": [1]}, r"\['kind'\] must be a text"),
        ({"size": "large"}, r"\['size'\] must be a number. Got 'large', a str"),
        ({"size": 1j}, r"\['size'\] must be a number"),
        ({"n": b"1"}, r"\['n'\] must be a number"),
    ],
)
def test_records_that_no_frame_of_the_library_holds_are_named(library, wrong, message):
    pytest.importorskip(library)
    _, _, fast = _gaps_in(library)
    good = {"kind": "a", "size": 1.0, "n": 1}
    with pytest.raises(ValueError, match="^x" + message):
        fast.predict_one(good | wrong)
    with pytest.raises(ValueError, match=r"^records\[1\]" + message):
        fast.predict_records([good, good | wrong])
    mixed = [good | {"size": True}, good | {"size": Fraction(1, 2)}, good | {"size": None}, good]
    plain = [good | {"size": size} for size in (1.0, 0.5, float("nan"), 1.0)]
    assert fast.predict_records(mixed).tolist() == fast.predict_records(plain).tolist()
