"""Bands: the number of the band of a probability, a value or an outlier score, exactly and early."""

import pickle

import numpy as np
import pytest
from outputs.redraws import require_kept
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, SGDOneClassSVM
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVR, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import wald
from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor, Planner
from wald.early_exit import Status
from wald.stopping import Lossless

# bands in the middle are small, so that little of a risk is a large part of them
pytestmark = pytest.mark.filterwarnings("ignore:The certificate's risk of:UserWarning")
UNITS = Planner(cost="units")
CUTS = [0.1, 0.3, 0.6]


def rows(n=2000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * np.geomspace(1, 0.1, d), 2)
    return X, (X.sum(axis=1) + 0.5 * rng.normal(size=n) > 0).astype(int)


def band(numbers, cuts):
    return np.searchsorted(np.array(cuts, dtype=numbers.dtype), numbers, side="right")


def calibrated(method):
    X, y = rows(500, seed=1)
    frozen = FrozenEstimator(HistGradientBoostingClassifier(max_iter=10).fit(X, y))
    return CalibratedClassifierCV(frozen, method=method, ensemble=False)


TREES = {
    "hist": HistGradientBoostingClassifier(max_iter=15),
    "boosting": GradientBoostingClassifier(n_estimators=10),
    "forest": RandomForestClassifier(9, random_state=0, max_depth=4),
    "tree": DecisionTreeClassifier(max_depth=3),
    "sigmoid": calibrated("sigmoid"),
    "isotonic": calibrated("isotonic"),
    "a threshold": FixedThresholdClassifier(HistGradientBoostingClassifier(max_iter=10), threshold=0.3),
}
SUMS = {
    "linear": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "calibrated linear": CalibratedClassifierCV(LogisticRegression(), ensemble=False),
}


def attained(numbers, n=4):
    """Numbers that rows have, as thresholds."""
    inside = np.unique(numbers[(numbers > 0) & (numbers < 1)] if numbers.min() < 1 else numbers)
    return [float(number) for number in np.unique(inside[np.linspace(0, len(inside) - 1, n).astype(int)])]


@pytest.mark.parametrize("name", TREES)
def test_trees_in_full(name):
    X, y = rows()
    model = TREES[name].fit(X, y)
    numbers = model.predict_proba(X)[:, 1]
    for cuts in (CUTS, attained(numbers), [0.5], [0.999999]):
        fast = EarlyExitClassifier(model, bands=cuts, risk=0).fit()
        np.testing.assert_array_equal(fast.predict(X), band(numbers, cuts))
        assert fast.classes_.tolist() == list(range(len(cuts) + 1))
    assert str(fast.certificate_).startswith("the model's own answers, by proof")
    np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))
    assert fast.predict(X).dtype == np.int64


@pytest.mark.parametrize("name", SUMS)
def test_sums_in_full(name):
    X, y = rows()
    model = SUMS[name].fit(X, y)
    numbers = model.predict_proba(X)[:, 1]
    for cuts in (CUTS, attained(numbers)):
        fast = EarlyExitClassifier(model, bands=cuts, risk=0, random_state=0).fit(X)
        clear = np.abs(numbers[:, None] - cuts).min(axis=1) > 1e-12  # own numbers depend on the batch
        np.testing.assert_array_equal(fast.predict(X)[clear], band(numbers, cuts)[clear])


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_libraries_in_full(library, tmp_path):
    module = pytest.importorskip(library)
    X, y = rows()
    quiet = {"verbose": -1} if library == "lightgbm" else {}
    maker = module.LGBMClassifier if library == "lightgbm" else module.XGBClassifier
    model = maker(n_estimators=10, n_jobs=1, **quiet).fit(X, y)
    numbers = model.predict_proba(X)[:, 1]
    booster = model.booster_ if library == "lightgbm" else model.get_booster()
    for cuts in (CUTS, attained(numbers), [0.7]):
        booster.save_model(tmp_path / "model.json")
        for asked in (model, wald.read_model(tmp_path / "model.json")):
            fast = EarlyExitClassifier(asked, bands=cuts, risk=0).fit()
            np.testing.assert_array_equal(fast.predict(X), band(numbers, cuts))
    with pytest.raises(ValueError, match=r"a booster has no such method: wrap its LGBMClassifier"):
        EarlyExitClassifier(booster, bands=CUTS, risk=0).fit()
    maker = module.LGBMRegressor if library == "lightgbm" else module.XGBRegressor
    objectives = ("regression", "poisson") if library == "lightgbm" else ("reg:squarederror", "count:poisson")
    for objective in objectives:
        model = maker(n_estimators=10, n_jobs=1, objective=objective, **quiet).fit(X, np.exp(X[:, 0]))
        numbers = model.predict(X)
        cuts = attained(numbers)
        np.testing.assert_array_equal(EarlyExitRegressor(model, bands=cuts).fit().predict(X), band(numbers, cuts))


REGRESSORS = {
    "hist": HistGradientBoostingRegressor(max_iter=10),
    "hist poisson": HistGradientBoostingRegressor(max_iter=10, loss="poisson"),
    "boosting": GradientBoostingRegressor(n_estimators=10),
    "forest": RandomForestRegressor(5, random_state=0),
    "logarithms": TransformedTargetRegressor(HistGradientBoostingRegressor(), func=np.log, inverse_func=np.exp),
    "standardized": TransformedTargetRegressor(HistGradientBoostingRegressor(), transformer=StandardScaler()),
}
VALUED_SUMS = {
    "ridge": Ridge(),
    "poisson": PoissonRegressor(),
    "svr": SVR(),
    "scaled": make_pipeline(StandardScaler(), Ridge()),
}


@pytest.mark.parametrize("name", REGRESSORS | VALUED_SUMS)
def test_regressors_in_full(name):
    X, _ = rows(seed=1)
    model = (REGRESSORS | VALUED_SUMS)[name].fit(X[:400], np.exp(X[:400, 0]))
    X, _ = rows()
    numbers = model.predict(X)
    cuts = attained(numbers)
    fast = EarlyExitRegressor(model, bands=cuts)
    fast = fast.fit(X) if name in VALUED_SUMS else fast.fit()
    clear = np.abs(numbers[:, None] - cuts).min(axis=1) > (1e-12 if name in VALUED_SUMS else -1)
    np.testing.assert_array_equal(fast.predict(X)[clear], band(numbers, cuts)[clear])
    assert fast.predict_one(X[0]) == fast.predict(X[:1])[0]
    with pytest.raises(ValueError, match="score is about values"):
        fast.score(X, X[:, 0])


def test_outlier_scores_in_full():
    X, _ = rows()
    forest = IsolationForest(n_estimators=20, random_state=0).fit(X[:500])
    for offset in (forest.offset_, 1.0):  # all rows are outliers
        forest.offset_ = offset
        numbers = forest.decision_function(X)
        cuts = [float(cut) for cut in np.unique(numbers)[[3, 50, -40]]]
        fast = EarlyExitOutlierDetector(forest, bands=cuts, risk=0).fit()
        np.testing.assert_array_equal(fast.predict(X), band(numbers, cuts))
        np.testing.assert_array_equal(fast.score_samples(X), forest.score_samples(X))
    for model in (OneClassSVM(nu=0.2), SGDOneClassSVM(nu=0.2, random_state=0)):
        numbers = model.fit(rows(300, seed=1)[0]).decision_function(X)
        cuts = np.quantile(numbers, [0.1, 0.5]).tolist()
        fast = EarlyExitOutlierDetector(model, bands=cuts, risk=0, random_state=0).fit(X)
        np.testing.assert_array_equal(fast.predict(X), band(numbers, cuts))


# ---- early -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def early():
    X, y = rows(9000, 8)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[:2000], y[:2000])
    return model, EarlyExitClassifier(model, bands=CUTS, risk=0.03, planner=UNITS, random_state=0).fit(X[2000:])


def test_bands_are_planned_certified_and_predicted(early):
    model, fast = early
    X, _ = rows(4000, 8, seed=2)
    own = band(model.predict_proba(X)[:, 1], CUTS)
    answers = fast.predict(X, details=True)
    assert str(fast.certificate_).startswith("another band <= 3 % with 95 % confidence")
    assert 0 < (answers.labels != own).mean() < 0.035
    assert answers.costs.mean() < 0.7 * fast.plan_.full_cost
    assert (answers.labels == own)[answers.status == Status.FULL].all()
    assert [fast.predict_one(x) for x in X[:50]] == answers.labels[:50].tolist()
    cheap, cost = fast.predict(X, budget=10, return_cost=True)
    assert cost.max() <= 10
    assert (cheap == own).mean() > 0.6
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.predict(X), answers.labels)
    looks = fast.looks(X)
    np.testing.assert_array_equal(looks.leave(*fast.plan_.thresholds())[0], answers.labels)
    assert fast.trace(X[0]).stage == answers.stages[0]


def test_bands_are_watched(early):
    model, fast = early
    X, _ = rows(2000, 8, seed=3)
    watched = fast.watched(1.0)
    lost = (watched.predict(X) != band(model.predict_proba(X)[:, 1], CUTS)).sum()
    assert (watched.monitor_.n_audits, watched.monitor_.n_disagreements) == (2000, lost)
    assert watched.monitor_.state == "holding"


def test_a_risk_by_band(early):
    model, _ = early
    X, _ = rows(8000, 8, seed=4)
    fast = EarlyExitClassifier(model, bands=CUTS, risk={"all": 0.05, 3: 0.02}, planner=UNITS, random_state=0).fit(X)
    assert str(fast.certificate_).startswith("another band <= 5 %, <= 2 % within band 3, all with")
    own, labels = band(model.predict_proba(X)[:, 1], CUTS), fast.predict(X)
    assert (labels != own)[own == 3].mean() < 0.02
    with pytest.raises(ValueError, match="names 4, which is none of the bands 0, 1, 2, 3"):
        EarlyExitClassifier(model, bands=CUTS, risk={"all": 0.05, 4: 0.02}).fit(X)
    one = EarlyExitClassifier(model, bands=[0.3], risk={1: 0.05, 0: 0}, planner=UNITS, random_state=0).fit(X)
    high = model.predict_proba(X)[:, 1] >= 0.3
    assert (one.predict(X)[~high] == 0).all()  # no row of the lower band is called one of the upper


def test_exits_by_proof():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 12)) * np.geomspace(1, 0.02, 12)
    model = LogisticRegression(C=100).fit(X[:400], X[:400].sum(axis=1) > 0)
    planner = Planner(rule=Lossless(low=-1, high=1), cost="units")
    fast = EarlyExitClassifier(model, bands=CUTS, risk=0, planner=planner, random_state=0).fit(X[400:])
    answers = fast.predict(X, details=True)
    np.testing.assert_array_equal(answers.labels, band(model.predict_proba(X)[:, 1], CUTS))
    assert (answers.status == Status.EARLY).mean() > 0.3
    assert str(fast.certificate_) == "lossless: no row can differ"


def test_other_numbers_early():
    X, _ = rows(6000, 12)
    X = X[:, ::-1].copy()
    model = PoissonRegressor().fit(X[:1000], np.exp(X[:1000, -1]))
    fast = EarlyExitRegressor(model, bands=[0.5, 1, 2], risk=0.05, planner=UNITS, random_state=0).fit(X[1000:4000])
    labels, cost = fast.predict(X[4000:], return_cost=True)
    assert (labels != band(model.predict(X[4000:]), [0.5, 1, 2])).mean() < 0.06
    assert cost.mean() < 8
    forest = IsolationForest(n_estimators=30, random_state=0).fit(X[:1000])
    fast = EarlyExitOutlierDetector(forest, bands=[-0.02, 0.05], risk=0.05, planner=UNITS, random_state=0)
    labels, cost = fast.fit(X[1000:4000]).predict(X[4000:], return_cost=True)
    assert (labels != band(forest.decision_function(X[4000:]), [-0.02, 0.05])).mean() < 0.06
    assert str(fast.certificate_).startswith("another band <= 5 %")


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        ([], "list of one or more"),
        (0.5, "list of one or more"),
        ([0.1, np.nan], "finite numbers"),
        ([True], "finite numbers"),
        (["a"], "finite numbers"),
        ([0.5, 0.1], r"holds 0.5 before 0.1: sort"),
        ([0.5, 0.5], "holds twice 0.5"),
        ([0, 0.5], "between 0 and 1 and neither of them. Got 0"),
        ([0.5, 1.5], r"Got 1\.5"),
    ],
)
def test_bad_bands(bands, message):
    X, y = rows(200)
    with pytest.raises(ValueError, match=message):
        EarlyExitClassifier(LogisticRegression(), bands=bands, risk=0.1).fit(X, y)


def test_models_without_bands():
    X, y = rows(300)
    tree = DecisionTreeClassifier(max_depth=3)
    with pytest.raises(ValueError, match="knows 3 classes: leave bands out"):
        EarlyExitClassifier(tree.fit(X, y + (X[:, 0] > 1)), bands=CUTS, risk=0).fit()
    with pytest.raises(ValueError, match="LinearSVC has none: wrap a CalibratedClassifierCV"):
        EarlyExitClassifier(LinearSVC().fit(X, y), bands=CUTS, risk=0).fit(X)
    with pytest.raises(TypeError, match="Ridge is a regressor: wrap it in EarlyExitRegressor"):
        EarlyExitClassifier(Ridge().fit(X, y), bands=CUTS, risk=0).fit(X)
    with pytest.raises(ValueError, match="Ridge has 2: leave bands out"):
        EarlyExitRegressor(Ridge().fit(X, np.column_stack([y, y])), bands=CUTS).fit(X)
    odd = TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"PowerTransformer.*known to rise"):
        EarlyExitRegressor(odd, bands=CUTS).fit(X)


@pytest.mark.long
@pytest.mark.parametrize("name", ["hist", "few distinct probabilities", "linear"])
def test_certificates_hold(name):
    X, y = rows(22_000, 8, seed=7)
    model = {
        "hist": HistGradientBoostingClassifier(max_iter=20),
        "few distinct probabilities": RandomForestClassifier(12, max_depth=2, max_leaf_nodes=3, random_state=0),
        "linear": LogisticRegression(),
    }[name].fit(X[:2000], y[:2000])
    cuts = attained(model.predict_proba(X)[:, 1]) if name.startswith("few") else CUTS
    fast = EarlyExitClassifier(model, bands=cuts, risk=0.05, planner=UNITS, random_state=0).fit(X[2000:6000])
    require_kept(fast, X[6000:], 0.05, 1500)


def test_texts():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["one", "two", "three", "four"], 5)) for _ in range(400)]
    y = np.array([text.count("one") for text in texts])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:200], y[:200] > 1)
    fast = EarlyExitClassifier(model, bands=CUTS, risk=0).fit()
    own = band(model.predict_proba(texts)[:, 1], CUTS)
    np.testing.assert_array_equal(fast.predict(texts), own)
    assert fast.predict_one(texts[3]) == own[3]
    model = make_pipeline(TfidfVectorizer(), Ridge()).fit(texts[:200], y[:200])
    fast = EarlyExitRegressor(model, bands=[0.5, 1.5]).fit()
    np.testing.assert_array_equal(fast.predict(texts), band(model.predict(texts), [0.5, 1.5]))
