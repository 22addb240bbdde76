"""Values, bands and outliers in scikit-learn's contract and in messages, as their own words call them."""

import copy

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.ensemble import IsolationForest as Forest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import wald
from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRanker, EarlyExitRegressor, Planner
from wald.early_exit.compiled.answer_columns import AnswerColumns

X = np.random.default_rng(0).normal(size=(2600, 3))
Y = X[:, 0] + X[:, 1] * X[:, 2]
MODEL = HistGradientBoostingRegressor(max_iter=15).fit(X[:500], Y[:500])
UNITS = Planner(cost="units")


@pytest.mark.one_in(3)
@pytest.mark.slow
@parametrize_with_checks(
    [
        EarlyExitRegressor(HistGradientBoostingRegressor(max_iter=5)),
        EarlyExitRegressor(LinearRegression()),
        EarlyExitOutlierDetector(Forest(n_estimators=5, random_state=0), risk=0, random_state=0),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def test_one_threshold_is_called_a_band_as_several_are(tmp_path):
    fast = EarlyExitRegressor(MODEL, bands=[0.0], risk=0.1, planner=UNITS, random_state=0).fit(X[500:])
    assert str(fast.certificate_).startswith("another band <= 10 %")
    wald.save(fast, tmp_path / "file")
    for each in (fast, wald.load(tmp_path / "file")):
        assert AnswerColumns.of(each.compiled_plan_).names == ("band",)
    full = EarlyExitRegressor(MODEL, bands=[0.0]).fit()
    assert "labels" not in str(full.certificate_)
    with pytest.raises(ValueError, match=r"risk says nothing of the rows of band 0: .* or every band a bound"):
        EarlyExitRegressor(MODEL, bands=[0.0], risk={1: 0.1}).fit(X[500:])


@pytest.mark.parametrize("tolerance", [1e300, 1e-320])
def test_tolerances_beyond_float32(tolerance):
    with pytest.raises(ValueError, match=r"out of the range of the float32 numbers .* between 1e-30 and 1e\+30"):
        EarlyExitRegressor(MODEL, tolerance=tolerance, risk=0.1).fit(X[500:])
    fast = EarlyExitRegressor(MODEL, tolerance=1e20, risk=0.1, planner=UNITS, random_state=0)
    with pytest.warns(UserWarning, match="larger than the range of the model's values"):
        fast.fit(X[500:])
    assert (fast.predict(X[:9], details=True).stages == 0).all()


def test_numbers_of_bands_have_no_score():
    model = HistGradientBoostingClassifier(max_iter=5).fit(X[:500], Y[:500] > 0)
    fast = EarlyExitClassifier(model, bands=[0.3, 0.6], risk=0).fit()
    with pytest.raises(ValueError, match="score is about labels, and with bands there are none"):
        fast.score(X, Y > 0)
    assert EarlyExitClassifier(model, risk=0).fit().score(X, Y > 0) == model.score(X, Y > 0)


def test_frozen_regressors_do_not_use_targets():
    frozen = FrozenEstimator(MODEL)
    own = cross_val_score(frozen, X, Y, cv=2)
    np.testing.assert_array_equal(cross_val_score(EarlyExitRegressor(frozen), X, Y, cv=2), own)
    with pytest.raises(ValueError, match="fitted already, so that y would be ignored"):
        EarlyExitRegressor(MODEL).fit(X, Y)


def test_tags_are_those_of_the_wrapped_model():
    forest, boosting = RandomForestRegressor(), HistGradientBoostingRegressor()
    assert get_tags(EarlyExitRegressor(boosting)).input_tags.allow_nan
    assert not get_tags(EarlyExitRegressor(LinearRegression())).input_tags.allow_nan
    assert get_tags(EarlyExitRegressor(forest)).target_tags.multi_output
    assert not get_tags(EarlyExitRegressor(forest, bands=[0.0])).target_tags.multi_output
    lightgbm = pytest.importorskip("lightgbm")
    assert get_tags(EarlyExitRanker(lightgbm.LGBMRanker())).input_tags.allow_nan


def test_outlier_detectors_have_the_offset():
    forest = Forest(n_estimators=5, random_state=0).fit(X[:500])
    fast = EarlyExitOutlierDetector(forest, risk=0).fit(X[500:])
    np.testing.assert_array_equal(fast.score_samples(X) - fast.offset_, fast.decision_function(X))


def test_no_rows_are_told_as_too_few():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X[:500], Y[:500])
    with pytest.raises(ValueError, match="n_samples=0"):
        EarlyExitRegressor(model, tolerance=0.1, risk=0.1).fit(X[:0])
    exact = EarlyExitRegressor(model).fit()  # a deep copy of a booster calls the last round -1, not 0
    np.testing.assert_array_equal(copy.deepcopy(exact).predict(X), model.predict(X))
