"""The front door: what it promises, on small data."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from wald import CostModel, EarlyExitClassifier
from wald.stopping import Budget, ConstantBoundary, Lossless


def make(n=6000, d=20, classes=2, seed=0):
    return make_classification(
        n, d, n_informative=8, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=seed
    )


def wrap(model, X, **params):
    params = {"risk": 0.02, "random_state": 0, "cost": "units"} | params
    return EarlyExitClassifier(FrozenEstimator(model), **params).fit(X)


X2, y2 = make()
X3, y3 = make(classes=4)
MODELS = {
    "rbf": (SVC().fit(X2[:800], y2[:800]), X2),
    "poly": (SVC(kernel="poly", degree=2, coef0=1.0).fit(X2[:800], y2[:800]), X2),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.01).fit(X2[:800], y2[:800]), X2),
    "nu": (NuSVC(nu=0.2).fit(X2[:800], y2[:800]), X2),
    "linear kernel": (SVC(kernel="linear").fit(X2[:800], y2[:800]), X2),
    "one-vs-one": (SVC().fit(X3[:800], y3[:800]), X3),
    "break_ties": (SVC(break_ties=True).fit(X3[:800], y3[:800]), X3),
    "logistic": (LogisticRegression().fit(X2[:800], y2[:800]), X2),
    "logistic multiclass": (LogisticRegression().fit(X3[:800], y3[:800]), X3),
    "ridge": (RidgeClassifier().fit(X3[:800], y3[:800]), X3),
    "scaled rbf": (make_pipeline(StandardScaler(), SVC()).fit(X2[:800], y2[:800]), X2),
    "scaled logistic": (make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X2[:800], y2[:800]), X2),
    "behind PCA": (make_pipeline(PCA(10), SVC()).fit(X2[:800], y2[:800]), X2),
    "threshold": (FixedThresholdClassifier(LogisticRegression(), threshold=0.3).fit(X2[:800], y2[:800]), X2),
    "calibrated": (CalibratedClassifierCV(LinearSVC(), ensemble=False).fit(X2[:800], y2[:800]), X2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_risk_is_kept_and_work_is_saved(name, dtype):
    model, X = MODELS[name]
    X = X.astype(dtype)
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X[5000:], return_cost=True)
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.verify()
    assert np.mean(labels != model.predict(X[5000:])) <= 0.03
    assert cost.dtype == np.float64
    assert cost.mean() < 0.9 * fast.plan_.full_cost


@pytest.mark.parametrize("name", MODELS)
def test_risk_0_gives_the_wrapped_models_own_labels(name):
    model, X = MODELS[name]
    for kwargs in ({}, {"cost": "time"}):
        fast = wrap(model, X[1000:3000], risk=0, **kwargs)
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))
        assert [fast.predict_one(x) for x in X[:50]] == model.predict(X[:50]).tolist()


def test_lossless_exits_of_a_linear_model_with_known_ranges():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (4000, 30)).astype(np.uint8)
    y = X[:, :5].sum(axis=1) > 640
    model = LogisticRegression(max_iter=1000).fit(X[:1000] / 255.0, y[:1000])
    model.coef_ /= 255.0
    fast = wrap(model, X[1000:2000], risk=0, rule=Lossless(low=0, high=255))
    labels, cost = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert cost.mean() < 0.8 * 30
    assert str(fast.certificate_) == "lossless: no row can differ"


@pytest.mark.parametrize("name", ["rbf", "one-vs-one", "logistic", "logistic multiclass", "scaled rbf"])
def test_a_rows_answer_depends_on_the_row_alone(name):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X, return_cost=True)
    order = np.random.default_rng(1).permutation(len(X))
    for n_jobs in (1, 2, 4):
        fast.n_jobs = n_jobs
        shuffled, shuffled_cost = fast.predict(X[order], return_cost=True)
        np.testing.assert_array_equal(shuffled, labels[order])
        np.testing.assert_array_equal(shuffled_cost, cost[order])
    for i in range(40):
        assert fast.predict_one(X[i], return_cost=True) == (labels[i], cost[i])
    views = (X[::-1][::-1], np.asfortranarray(X), X[:, ::-1].copy()[:, ::-1])
    for view in views:
        same, same_cost = fast.predict(view, return_cost=True)
        np.testing.assert_array_equal(same, labels)
        np.testing.assert_array_equal(same_cost, cost)


@pytest.mark.parametrize("name", ["rbf", "logistic", "logistic multiclass", "scaled logistic"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cost", ["units", "time"])
def test_data_frames_answer_like_arrays(name, library, cost):
    frames = pytest.importorskip(library)
    model, X = MODELS[name]
    names = [f"f{i}" for i in range(X.shape[1])]
    frame = frames.DataFrame({n: X[:, i] for i, n in enumerate(names)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wrapped model never saw names
        fast = wrap(model, frame[1000:5000], cost=cost)
        labels, units = fast.predict(frame, return_cost=True)
        array_labels, array_units = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, array_labels)
    np.testing.assert_array_equal(units, array_units)
    with pytest.raises(ValueError, match="feature names should match"):
        fast.predict(frame.rename(columns={"f0": "g0"}) if library == "pandas" else frame.rename({"f0": "g0"}))


def test_columns_that_the_plan_does_not_need_are_never_touched():
    pandas = pytest.importorskip("pandas")
    X, y = make(d=40)
    model = LogisticRegression().fit(X[:800], y[:800])
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(40)])
    fast = wrap(model, frame[1000:5000])
    assert fast.predict(frame[5000:]).shape == (1000,)
    read = fast.plan_.terms[: fast.plan_.stage_terms[0]]
    poisoned = frame[5000:].copy()
    labels, cost = fast.predict(poisoned, return_cost=True)
    poisoned.iloc[np.flatnonzero(cost == cost.min())[0], [i for i in range(40) if i not in read]] = np.nan
    np.testing.assert_array_equal(fast.predict(poisoned), labels)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["svc", "logistic"])
def test_sparse_rows_answer_like_dense_ones(kind, index):
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 60, 0.2, random_state=0, format="csr").astype(np.float64)
    y = np.asarray(X @ rng.normal(size=60) > 0.1, dtype=int)
    model = (SVC() if kind == "svc" else LogisticRegression()).fit(X[:500], y[:500])
    fast = wrap(model, X[500:2000], risk=0.05)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    labels, cost = fast.predict(X[2000:], return_cost=True)
    dense = fast.predict(X[2000:].toarray(), return_cost=True)
    np.testing.assert_array_equal(labels, dense[0])
    np.testing.assert_array_equal(cost, dense[1])
    assert np.mean(labels != model.predict(X[2000:])) <= 0.06
    for other in (X[2000:].tocsc(), X[2000:].tocoo(), sparse.csr_matrix(X[2000:])):
        np.testing.assert_array_equal(fast.predict(other), labels)


def test_text_goes_through_a_vectorizer_in_front():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(50)])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(1500)]
    y = np.array(["w1 " in t or "w2 " in t for t in texts])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:400], y[:400])
    fast = wrap(model, texts[400:1200], risk=0.05)
    assert np.mean(fast.predict(texts[1200:]) != model.predict(texts[1200:])) <= 0.06


def test_imputed_columns_take_nan():
    X, y = make()
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for last in (SVC(), LogisticRegression()):
        model = make_pipeline(SimpleImputer(), StandardScaler(), last).fit(X[:800], y[:800])
        fast = wrap(model, X[1000:5000])
        assert np.mean(fast.predict(X[5000:]) != model.predict(X[5000:])) <= 0.03
        assert wrap(model, X[1000:3000], risk=0).predict(X).tolist() == model.predict(X).tolist()


# ---- knobs -----------------------------------------------------------------------------------------------------------


def test_budget_is_kept_by_every_row_and_checked():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X[5000:], budget=10, return_cost=True)
    assert cost.max() <= 10
    assert np.mean(labels == model.predict(X[5000:])) > 0.8
    assert fast.predict_one(X[5000], budget=10, return_cost=True)[1] <= 10
    everything = fast.predict(X[5000:], budget=1e9, return_cost=True)
    np.testing.assert_array_equal(everything[1], fast.predict(X[5000:], return_cost=True)[1])
    for bad in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="budget must be at least"):
            fast.predict(X[5000:], budget=bad)


def test_budget_works_where_the_plan_evaluates_everything():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="certificate rows needed"):
        fast = wrap(model, X[1000:1100], risk=0.001)
    assert fast.plan_.evaluate_all
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.predict(X[5000:], budget=20, return_cost=True)[1].max() <= 20


@pytest.mark.parametrize("protect", ["positive", "negative", "each"])
def test_protect(protect):
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000], protect=protect, risk=0.05)
    full = model.predict(X[5000:])
    labels, cost = fast.predict(X[5000:], return_cost=True)
    early = cost < fast.plan_.full_cost
    if protect != "each":
        assert set(labels[early]) == {0 if protect == "positive" else 1}
    for label in (0, 1):
        assert np.mean(labels[full == label] != label) <= 0.07
    with pytest.raises(ValueError, match="two classes"):
        wrap(MODELS["one-vs-one"][0], X3[1000:3000], protect="positive")


@pytest.mark.parametrize("order", ["greedy", "random", "sorted", "array"])
@pytest.mark.parametrize("readout", ["regressed", "partial"])
def test_orders_and_readouts(order, readout):
    model, X = MODELS["logistic"]
    given = np.arange(X.shape[1])[::-1] if order == "array" else order
    fast = wrap(model, X[1000:5000], order=given, readout=readout, risk=0.05)
    if order == "array":
        np.testing.assert_array_equal(fast.plan_.order, given)
    assert np.mean(fast.predict(X[5000:]) != model.predict(X[5000:])) <= 0.07


def test_greedy_regressed_needs_fewer_terms_than_the_papers_way():
    model, X = MODELS["rbf"]
    ours, theirs = (
        wrap(model, X[1000:5000], **kw).predict(X[5000:], return_cost=True)[1].mean()
        for kw in ({}, {"order": "random", "readout": "partial"})
    )
    assert ours < theirs / 2


def test_rules_of_the_papers():
    model, X = MODELS["logistic"]
    measured = wrap(model, X[1000:5000], rule=ConstantBoundary(), risk=None, order="random")
    assert measured.certificate_.status == "measured"
    assert "not a promise" in str(measured.certificate_)
    certified = wrap(model, X[1000:5000], rule=ConstantBoundary(), order="random")
    assert certified.certificate_.status == "certified"
    capped = wrap(model, X[1000:5000], rule=Budget(7), risk=None)
    _, cost = capped.predict(X[5000:], return_cost=True)
    assert set(np.unique(cost)) <= {7.0, capped.plan_.full_cost}
    assert cost.mean() < 8
    for rule, risk in ((ConstantBoundary(), 0), (Budget(7), 0.1)):
        with pytest.raises(ValueError, match="risk"):
            wrap(model, X[1000:5000], rule=rule, risk=risk)


def test_feature_costs_and_groups():
    pandas = pytest.importorskip("pandas")
    model, X = MODELS["logistic"]
    names = [f"f{i}" for i in range(20)]
    frame = pandas.DataFrame(X, columns=names)
    costs = np.linspace(1, 20, 20)
    fast = wrap(model, X[1000:5000], feature_costs=costs)
    assert fast.plan_.full_cost == costs.sum()
    grouped = wrap(
        model, frame[1000:5000], feature_groups={"lab": ["f0", "f1", 2]}, feature_costs={"lab": 10.0, "f5": 3.0}
    )
    assert grouped.plan_.full_cost == 10 + 3 + 16
    together = [t for t in grouped.plan_.terms if t in (0, 1, 2)]
    assert together in ([], [0, 1, 2])
    bad = {
        "one cost per feature": {"feature_costs": np.ones(3)},
        "positive": {"feature_costs": np.r_[0.0, np.ones(19)]},
        "neither a feature name": {"feature_costs": {"nope": 1.0}},
        "no feature name": {"feature_groups": {"a": ["nope"]}},
        "one group": {"feature_groups": {"a": [0], "b": [0]}},
        "columns are indices": {"feature_groups": {"a": [99]}},
    }
    for message, params in bad.items():
        with pytest.raises(ValueError, match=message):
            wrap(model, X[1000:3000], **params)
    with pytest.raises(ValueError, match="need a linear model"):
        wrap(MODELS["rbf"][0], X2[1000:3000], feature_costs=np.ones(20))


def test_groups_stay_together_and_certify_one_row_each():
    model, X = MODELS["rbf"]
    groups = np.repeat(np.arange(800), 5)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, random_state=0, cost="units")
    fast.fit(X[1000:5000], groups=groups)
    assert fast.certificate_.grouped
    assert fast.certificate_.n_rows == 400
    with pytest.raises(ValueError, match="groups must have one entry"):
        fast.fit(X[1000:5000], groups=groups[:10])


def test_recertify_keeps_the_plan_and_this_object():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:4000])
    before = str(fast.certificate_)
    other = fast.recertify(X[4000:], risk=0.1, confidence=0.9)
    assert other.certificate_.risk == 0.1
    assert other.certificate_.n_rows == 2000
    assert str(fast.certificate_) == before
    np.testing.assert_array_equal(other.plan_.order, fast.plan_.order)
    assert other.plan_.q < fast.plan_.q
    assert other.predict(X, return_cost=True)[1].mean() < fast.predict(X, return_cost=True)[1].mean()


def test_a_cost_model_can_be_passed_in_and_full_evaluation_wins_where_it_is_cheaper():
    model, X = MODELS["rbf"]
    dear = CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=0.5)
    fast = wrap(model, X[1000:5000], cost=dear)
    assert fast.plan_.evaluate_all
    assert fast.plan_.cost_model == dear
    labels, cost = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert (cost == fast.plan_.full_cost).all()


@pytest.mark.parametrize("risk", [0, 0.02])
def test_a_trace_costs_what_predict_says_where_everything_is_evaluated(risk):
    model, X = MODELS["rbf"]
    dear = CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=0.5)
    fast = wrap(model, X[1000:5000], risk=risk, cost=dear)
    assert fast.plan_.evaluate_all
    assert fast.trace(X[0]).cost == fast.predict(X[:1], return_cost=True)[1][0] == fast.plan_.full_cost


def test_same_seed_same_plan():
    model, X = MODELS["rbf"]
    first, second = (wrap(model, X[1000:5000]) for _ in range(2))
    np.testing.assert_array_equal(first.plan_.terms, second.plan_.terms)
    assert first.plan_.q == second.plan_.q
    assert str(first.certificate_) == str(second.certificate_)


def test_trace_and_stage_scores_tell_the_walk_that_predict_takes():
    for name in ("rbf", "one-vs-one", "logistic"):
        model, X = MODELS[name]
        fast = wrap(model, X[1000:5000])
        scores, stage = fast.stage_scores(X[5000:5100])
        labels, cost = fast.predict(X[5000:5100], return_cost=True)
        np.testing.assert_array_equal(fast.plan_.stage_costs[stage], cost)
        _low, high = fast.plan_.thresholds()
        for i in range(20):
            walk = fast.trace(X[5000 + i])
            assert (walk.label, walk.cost) == (labels[i], cost[i])
            inside = (walk.scores[: walk.stage] <= high[: walk.stage]).all()
            assert inside
            assert scores.shape[1] == fast.plan_.n_stages + 1


# ---- trust -----------------------------------------------------------------------------------------------------------


def test_pickle_copy_and_clone():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    expected = fast.predict(X, return_cost=True)
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        got = other.predict(X, return_cost=True)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
    with pytest.raises(NotFittedError):
        clone(fast).predict(X)


def test_a_model_that_changed_after_fit_is_refused():
    X, y = make()
    model = LogisticRegression().fit(X[:800], y[:800])
    fast = wrap(model, X[1000:3000])
    model.coef_ *= 2
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)


def test_training_rows_are_noticed_and_a_few_duplicates_are_not():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="support vectors"):
        wrap(model, X[:3000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrap(model, np.vstack([X[1000:5000], model.support_vectors_[:3]]))


def test_too_few_rows_and_too_many_disagreements_are_told_apart():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="2 995 certificate rows needed, 500 given"):
        fast = wrap(model, X[1000:2000], risk=0.001)
    assert fast.certificate_.status == "too few rows"
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_metadata_reaches_the_estimator():
    X, y = make(n=1000)
    seen = {}

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["weights"] = sample_weight
            return super().fit(X, y, sample_weight)

    EarlyExitClassifier(Spy(), risk=0.1, random_state=0).fit(X, y, sample_weight=np.arange(1.0, 1001.0))
    assert seen["weights"].shape == (500,)
    with pytest.raises(ValueError, match="sample_weight"):
        EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(X, y))).fit(X, sample_weight=np.ones(1000))


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_an_estimator_that_is_not_frozen_says_what_to_do():
    X, y = make(n=500)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        EarlyExitClassifier(LogisticRegression().fit(X, y)).fit(X)
    with pytest.raises(ValueError, match="requires y"):
        EarlyExitClassifier(LogisticRegression()).fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"risk": 1.0}, "risk must be"),
        ({"risk": -0.1}, "risk must be"),
        ({"risk": "low"}, "risk must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"certificate_fraction": 0.0}, "certificate_fraction must be"),
        ({"order": "best"}, "order must be"),
        ({"order": np.array([0, 0])}, "order must be"),
        ({"order": np.array([99])}, "order must hold unit indices"),
        ({"readout": "none"}, "readout must be"),
        ({"rule": "wald"}, "rule must be"),
        ({"protect": "some"}, "protect must be"),
        ({"cost": "money"}, "cost must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_out_of_range(params, message):
    model, X = MODELS["logistic"]
    with pytest.raises(ValueError, match=message):
        wrap(model, X[1000:1500], **params)
    with pytest.raises(TypeError, match="rule must be"):
        wrap(model, X[1000:1500], rule=3)


@pytest.mark.parametrize("name", ["rbf", "logistic", "one-vs-one"])
def test_rows_that_do_not_fit(name):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:5000])
    for bad, message in (
        (X[:5, :3], "features"),
        (X[0], "2D array"),
        (np.full((3, 20), np.nan), "NaN"),
        (np.full((3, 20), np.inf), "infinity"),
        (np.array([["a"] * 20], dtype=object), "could not convert|float"),
        (X[:4] + 1j, "Complex|complex"),
    ):
        with pytest.raises(ValueError, match=message):
            fast.predict(bad)
    assert fast.predict(X[:0]).shape == (0,)
    assert fast.predict(X[:0]).dtype == fast.classes_.dtype
    assert fast.predict(X[:1]).shape == (1,)
    readonly = X[:100].copy()
    readonly.flags.writeable = False
    for same in (readonly, X[:100].tolist(), X[:200:2][:50], X[:100].astype(object)):
        np.testing.assert_array_equal(fast.predict(same), fast.predict(np.array(same, dtype=float)))
    with pytest.raises(ValueError, match="features"):
        fast.predict_one(X[0, :3])
    with pytest.raises(TypeError, match="float32, float64"):
        fast.predict_one(X[0].astype(int))
    with pytest.raises(ValueError, match="NaN"):
        fast.predict_one(np.full(20, np.nan))


def test_integers_and_bytes_are_read_as_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (3000, 12))
    y = X[:, 0] + X[:, 1] > 255
    model = SVC(gamma=1e-4).fit(X[:500], y[:500])
    fast = wrap(model, X[500:2500].astype(np.uint8), risk=0.05)
    expected = fast.predict(X[2500:].astype(np.float64))
    for dtype in (np.uint8, np.int16, np.int64, np.float32):
        np.testing.assert_array_equal(fast.predict(X[2500:].astype(dtype)), expected)


def test_a_memory_map_is_read_in_place(tmp_path):
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(fast.predict(mapped), fast.predict(X))


def test_features_far_from_zero_keep_their_labels():
    X, y = make()
    far = X + 1e4
    model = SVC(gamma=0.05).fit(far[:800], y[:800])
    fast = wrap(model, far[1000:5000].astype(np.float32))
    assert np.mean(fast.predict(far[5000:]) != model.predict(far[5000:])) <= 0.03


def test_html_repr_shows_the_wrapped_model():
    assert "SVC" in EarlyExitClassifier(SVC())._repr_html_()
