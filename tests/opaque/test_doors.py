"""Models that are asked, through every door: frames, dicts, sparse rows, services, event loops, fetched rows."""

from __future__ import annotations

import asyncio
import json
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from wald import CallError, Calls, EarlyExitClassifier, LazyRows, Surrogate, answer, load, report, save
from wald.early_exit import Status

X, y = make_classification(2000, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
LABELS = np.array(["ham", "spam"])[y]
NAMES = list("abcdef")
MODEL = GaussianNB().fit(X[:300], LABELS[:300])
LOOK = Surrogate(
    lambda rows: MODEL.predict_joint_log_proba(rows) @ [-1.0, 1.0] + 3 * rows[:, 0], cost=0.01, name="odds"
)
NEW = X[1600:]
TREES = HistGradientBoostingClassifier(max_iter=10).fit(X[:300], y[:300])


async def later(rows):
    """Labels, as a coroutine gives them."""
    await asyncio.sleep(0)
    return MODEL.predict(np.asarray(rows))


@cache
def of_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    model = KNeighborsClassifier(3).fit(frame[:300], LABELS[:300])
    fast = EarlyExitClassifier(model, risk=0.1, random_state=0).fit(frame[300:1600])
    return model, fast, frame[1600:]


def test_frames_of_any_library_and_dicts():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    _, fast, new = of_frames()
    labels = fast.predict(new)
    assert (fast.predict(new, details=True).status == Status.EARLY).sum() > 0
    assert np.array_equal(fast.predict(pl.from_pandas(new)), labels)
    assert np.array_equal(fast.predict(pa.Table.from_pandas(new, preserve_index=False)), labels)
    records = [dict(reversed(row.items())) for row in new[:9].to_dict("records")]
    assert np.array_equal(fast.predict_records(records), labels[:9])
    assert [fast.predict_one(row) for row in records] == labels[:9].tolist()
    assert fast.predict_one(new.iloc[3]) == labels[3]
    for wrong in (new[NAMES[::-1]], new.assign(g=0.0), new[NAMES[:5]]):  # as scikit-learn's own
        with pytest.raises(ValueError, match="feature names should match"):
            fast.predict(wrong)
    with pytest.raises(ValueError, match="'f'"):
        fast.predict_records([dict.fromkeys(NAMES[:5], 0.0)])


def test_probabilities_are_the_models_own():
    model, fast, new = of_frames()
    own = model.predict_proba(new)
    assert np.array_equal(fast.predict_proba(new), own)
    assert np.array_equal(fast.predict_proba_one(new.iloc[3].to_dict()), own[3])
    assert np.array_equal(fast.predict_proba_records(new[:3].to_dict("records")), own[:3])
    served = EarlyExitClassifier(later, surrogates=[LOOK], risk=0.2, random_state=0).fit(X[300:1600])
    assert not hasattr(served, "predict_proba")


def test_sparse_rows():
    rows = sparse.csr_matrix(np.where(np.abs(X) < 1, 0, X))
    model = KNeighborsClassifier(5).fit(rows[:300], LABELS[:300])
    fast = EarlyExitClassifier(model, risk=0.2, random_state=0).fit(rows[300:1600])
    labels = fast.predict(rows[1600:])
    for form in (sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array):
        assert np.array_equal(fast.predict(form(rows[1600:])), labels)


def test_another_promise_for_the_same_plan():
    _, fast, new = of_frames()
    other = fast.recertify(new, risk=0.3)
    assert other.certificate_.risk == 0.3
    assert np.array_equal(other.predict(new), fast.predict(new))


def test_inside_a_running_event_loop():
    """As in a notebook."""

    async def cell():
        fast = EarlyExitClassifier(later, surrogates=[LOOK], risk=0.2, random_state=0).fit(X[300:1600])
        found = answer(NEW, later, surrogates=[LOOK], risk=0.2, random_state=0).labels
        one, marked = fast.predict_one(NEW[0]), fast.predict(NEW, deadline=60.0)
        lazy = LazyRows(len(NEW), {"all": lambda ids: _after(NEW[ids])}, columns={"all": [0, 1, 2, 3, 4, 5]})
        return fast, one, marked, found, fast.predict(lazy)

    fast, one, marked, found, fetched = asyncio.run(cell())
    labels = fast.predict(NEW)
    assert one == labels[0]
    assert np.array_equal(marked, labels)
    assert np.array_equal(fetched, labels)
    assert np.mean(found != MODEL.predict(NEW)) <= 0.2


async def _after(rows):
    await asyncio.sleep(0)
    return rows


# ---- services --------------------------------------------------------------------------------------------------------


def test_a_service():
    testclient = pytest.importorskip("starlette.testclient")
    from wald.serving import create_app

    _, fast, new = of_frames()
    client, labels = testclient.TestClient(create_app(fast)), fast.predict(new[:3]).tolist()
    assert client.post("/predict", json={"record": new.iloc[0].to_dict()}).json() == {"label": labels[0]}
    records = client.post("/predict?proba=true&cost=true", json={"records": new[:3].to_dict("records")}).json()
    assert records["labels"] == labels
    assert records["proba"] == fast.predict_proba(new[:3]).tolist()
    assert client.post("/predict", json={"rows": new[:3].to_numpy().tolist()}).json()["labels"] == labels
    assert client.get("/certificate").status_code == 200


def test_a_service_whose_model_does_not_answer():
    testclient = pytest.importorskip("starlette.testclient")
    from wald.serving import create_app

    down = [False]

    async def served(rows):
        if down[0]:
            raise ConnectionError("secret.example:5432 is down")
        return await later(rows)

    fast = EarlyExitClassifier(served, surrogates=[LOOK], risk=0.02, random_state=0).fit(X[300:1600])
    with pytest.raises(ValueError, match="X has 4 features, but EarlyExitClassifier is expecting 6"):
        fast.predict(NEW[:, :4])
    found = fast.predict(NEW, details=True)
    client = testclient.TestClient(create_app(fast))
    early, full = (int(np.flatnonzero(found.status == s)[0]) for s in (Status.EARLY, Status.FULL))
    assert client.post("/predict", json={"row": NEW[full].tolist()}).json() == {"label": found.labels[full]}
    down[0] = True
    assert client.post("/predict", json={"row": NEW[early].tolist()}).json() == {"label": found.labels[early]}
    refused = client.post("/predict", json={"rows": NEW[[early, full]].tolist()})
    assert refused.status_code == 503
    assert "secret" not in json.dumps(refused.json())


def test_rows_of_one_request_are_asked_about_together():
    testclient = pytest.importorskip("starlette.testclient")
    from wald.serving import create_app

    sizes, hangs = [], [False]

    async def served(rows):
        sizes.append(len(rows))
        await asyncio.sleep(60.0 if hangs[0] else 0.0)
        return await later(rows)

    fast = EarlyExitClassifier(served, surrogates=[LOOK], risk=0.02, random_state=0).fit(X[300:1600])
    found, some = fast.predict(NEW, details=True), NEW[:50].tolist()
    client = testclient.TestClient(create_app(fast))
    sizes.clear()
    assert client.post("/predict", json={"rows": some}).json()["labels"] == found.labels[:50].tolist()
    assert sizes == [(found.status[:50] == Status.FULL).sum()]
    hangs[0], first = True, float(fast.plan_.stage_costs[0])
    late = client.post("/predict?deadline=0.05&cost=true", json={"rows": some})
    assert late.json()["costs"] == [first] * 50
    assert late.json()["labels"] == fast.predict(NEW[:50], budget=first).tolist()
    one = client.post("/predict?deadline=0.05", json={"row": some[0]})
    assert one.json() == {"label": late.json()["labels"][0]}
    for query in ("deadline=soon", "deadline=0"):
        assert client.post(f"/predict?{query}", json={"rows": some}).status_code == 400


def test_one_row_and_dicts_have_deadlines():
    _, fast, new = of_frames()
    records = new[:5].to_dict("records")
    assert np.array_equal(fast.predict_records(records, deadline=60.0), fast.predict(new[:5]))
    assert fast.predict_one(records[0], deadline=60.0) == fast.predict_one(records[0])
    one = fast.predict_one(records[0], deadline=60.0, return_cost=True)
    assert one == fast.predict_one(records[0], return_cost=True)
    assert fast.predict_one(records[0], deadline=60.0, details=True).labels.shape == (1,)


@pytest.mark.slow
def test_a_report_calls_a_function_for_its_answers_alone(tmp_path):
    asked = []

    def served(rows):
        asked.extend(row.tobytes() for row in rows)
        return MODEL.predict(rows)

    fast = EarlyExitClassifier(served, surrogates=[LOOK], risk=0.1, random_state=0).fit(X[300:1600])
    asked.clear()
    assert "it was not called to be timed" in str(report(fast, NEW))
    assert len(asked) < 4 * len(NEW)


# ---- columns that are fetched ----------------------------------------------------------------------------------------


def test_probabilities_and_scores_of_rows_that_are_fetched():
    asked, left = [], [200]

    def fetch(ids):
        if len(ids) > left[0]:
            raise ConnectionError("no route")
        left[0] -= len(ids)
        asked.extend(ids.tolist())
        return NEW[ids, 3:]

    groups = {"free": NEW[:, :3], "bought": Calls(fetch, batch_size=50)}
    columns = {"free": [0, 1, 2], "bought": [3, 4, 5]}
    linear = LogisticRegression().fit(X[:300], LABELS[:300])
    for model, method in (
        (linear, "decision_function"),
        (linear, "predict_proba"),
        (HistGradientBoostingClassifier(max_iter=5).fit(X[:300], LABELS[:300]), "predict_proba"),
        (MODEL, "predict_proba"),
    ):
        given = {"surrogates": [LOOK]} if model is MODEL else {}
        fast = EarlyExitClassifier(model, risk=0.1, random_state=0, **given).fit(X[300:1600])
        lazy, left[0] = LazyRows(len(NEW), groups, columns=columns), 200
        asked.clear()
        with pytest.raises(CallError, match="'bought' failed for row 200, 201") as found:
            getattr(fast, method)(lazy)
        assert found.value.partial is None
        left[0] = 10**6
        assert np.allclose(getattr(fast, method)(lazy), getattr(model, method)(NEW), rtol=0, atol=1e-12)
        assert sorted(asked) == list(range(len(NEW)))


@pytest.mark.parametrize("given", [None, [Surrogate(TREES, cost=0.001)]])
@pytest.mark.filterwarnings("ignore:The file holds no numbers")
def test_a_number_that_is_missing_as_in_no_row_of_fit_is_the_models(given, tmp_path):
    near = KNeighborsClassifier(5).fit(X[:300], y[:300])
    fast = EarlyExitClassifier(near, surrogates=given, risk=0.1, random_state=0).fit(X[300:])
    row = X[np.flatnonzero(fast.predict(X, details=True).status == Status.EARLY)[0]].copy()
    row[1] = np.nan
    save(fast, tmp_path / "a.wald")
    for each in (fast, pickle.loads(pickle.dumps(fast)), load(tmp_path / "a.wald", estimator=near)):
        with pytest.raises(ValueError, match="contains NaN in row 1, column 1"):
            each.predict(np.stack([X[0], row]))
        with pytest.raises(ValueError, match="contains NaN"):
            each.predict_one(row)


@pytest.mark.parametrize("given", [{}, {"budget": 0.5}, {"deadline": 60.0}])
def test_rows_of_which_surrogates_say_nothing_are_asked_about_with_the_others(given):
    asked = []

    def served(rows):
        asked.append(rows)
        if np.isnan(rows).any() and fails:
            raise ConnectionError("no route")
        return MODEL.predict(np.nan_to_num(rows))

    fails, trees = False, Surrogate(TREES, cost=0.01)
    fast = EarlyExitClassifier(served, surrogates=[trees], risk=0.1, random_state=0).fit(X[300:1600])
    rows, early = NEW.copy(), np.flatnonzero(fast.predict(NEW, details=True).status == Status.EARLY)[5]
    rows[early, 5] = np.nan
    asked.clear()
    answers = fast.predict(rows, details=True, **given)
    assert answers.labels[early] == MODEL.predict(np.nan_to_num(rows[early : early + 1]))[0]
    if not given:
        assert answers.status[early] == Status.FULL
        assert len(asked) == 1
    fails = True
    with pytest.raises(CallError) as found:
        fast.predict(rows, **given)
    assert early in found.value.rows
