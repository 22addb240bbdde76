"""Integers that no float holds, in place of numbers: each is refused by its name, or means without a limit."""

import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wald import EarlyExitClassifier, EarlyExitRanker, EarlyExitRegressor, Planner

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")
HUGE = 10**400
X = np.random.default_rng(0).normal(size=(1200, 3))
CLASSIFIER = HistGradientBoostingClassifier(max_iter=10).fit(X[:300], X[:300, 0] > 0)
REGRESSOR = HistGradientBoostingRegressor(max_iter=10).fit(X[:300], X[:300, 0])
GROUPS = np.repeat(np.arange(30), 40)
RANKER = LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1).fit(X[:300], (X[:300, 0] > 0).astype(int), group=[30] * 10)


@pytest.mark.parametrize("huge", [HUGE, -HUGE])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("confidence", lambda huge: {"risk": 0.1, "confidence": huge}),
        ("risk", lambda huge: {"risk": huge}),
        ("bands", lambda huge: {"bands": [huge], "risk": 0.1}),
        ("tolerance", lambda huge: {"tolerance": huge, "risk": 0.1}),
        ("feature_costs", lambda huge: {"risk": 0.1, "feature_costs": [huge, 1, 1]}),
        ("feature_costs", lambda huge: {"risk": 0.1, "feature_costs": {"f": huge}, "feature_groups": {"f": [0]}}),
        ("certificate_fraction", lambda huge: {"risk": 0.1, "planner": Planner(certificate_fraction=huge)}),
    ],
)
def test_a_parameter_is_refused_by_its_name(name, options, huge):
    with pytest.raises(ValueError, match=name):
        EarlyExitClassifier(CLASSIFIER, **options(huge)).fit(X[300:])


def test_a_budget_and_a_deadline_limit_nothing_or_are_refused():
    fast = EarlyExitClassifier(CLASSIFIER, risk=0.1, planner=Planner(cost="units"), random_state=0).fit(X[300:])
    near = EarlyExitRegressor(REGRESSOR, tolerance=0.5, risk=0.1, random_state=0).fit(X[300:])
    early = EarlyExitRanker(RANKER, k=3, risk=0.2, random_state=0).fit(X, groups=GROUPS)
    for ask in (fast, near):
        np.testing.assert_array_equal(ask.predict(X, budget=HUGE), ask.predict(X))
        np.testing.assert_array_equal(ask.predict(X, deadline=HUGE), ask.predict(X))
        assert ask.predict_one(X[0], budget=HUGE) == ask.predict_one(X[0])
        for limit in ("budget", "deadline"):
            with pytest.raises(ValueError, match=limit):
                ask.predict(X, **{limit: -HUGE})
    np.testing.assert_array_equal(early.rank(X[:40], 3, budget=HUGE), early.rank(X[:40], 3))
    for limit in ("budget", "deadline"):
        with pytest.raises(ValueError, match=limit):
            early.rank(X[:40], 3, **{limit: -HUGE})


def test_a_cell_is_refused_by_its_place_where_transformers_read_it():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:300], columns=list("abc")).assign(k=np.where(X[:300, 0] > 0, "x", "y"))
    columns = ColumnTransformer(
        [("one-hot", OneHotEncoder(), ["k"]), ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"])]
    )
    for last, y in ((Ridge(), X[:300, 0]), (LogisticRegression(), X[:300, 0] > 0)):
        model = make_pipeline(columns, last).fit(frame, y)
        shell = EarlyExitRegressor if isinstance(last, Ridge) else EarlyExitClassifier
        fast = shell(model, risk=0).fit(frame)
        row = frame.iloc[0].to_dict()
        for ask, given in (
            (fast.predict_one, {**row, "a": HUGE}),
            (fast.predict_records, [{**row, "b": HUGE}]),
            (fast.predict, frame[:1].assign(a=pd.Series([HUGE], dtype=object))),
        ):
            with pytest.raises(ValueError, match=r"column '[ab]'.*(row|record) 0|x\['a'\]"):
                ask(given)
