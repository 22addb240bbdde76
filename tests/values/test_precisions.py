"""Models and rows of other precisions than float64: what rounding explains is no misreading."""

import numpy as np
import pytest
from early_exit.checked import misread
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from wald import EarlyExitClassifier, EarlyExitRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows equal"),
    pytest.mark.filterwarnings("ignore:no early exit"),
]


def rows():
    X = np.random.default_rng(0).normal(size=(400, 4))
    return X, np.exp(X[:, 0])


MODELS = [
    lambda: PoissonRegressor(),
    lambda: GammaRegressor(),
    lambda: make_pipeline(StandardScaler(), PoissonRegressor()),
    lambda: TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    lambda: TransformedTargetRegressor(Ridge(), func=np.cbrt, inverse_func=lambda v: v**3),
]


@pytest.mark.parametrize("trained_on", [np.float32, np.float64])
@pytest.mark.parametrize("looked_at", [np.float32, np.float64])
@pytest.mark.parametrize("make", MODELS)
def test_values_of_float32_behind_a_function_are_within_rounding(make, looked_at, trained_on):
    X, y = rows()
    model = make().fit(X.astype(trained_on), y)
    fast = EarlyExitRegressor(model, risk=0).fit(X.astype(looked_at))
    for dtype in (np.float32, np.float64):
        given = X.astype(dtype)
        np.testing.assert_allclose(fast.predict(given), model.predict(given), rtol=3e-6)


@pytest.mark.parametrize("trained_on", [np.float32, np.float64])
@pytest.mark.parametrize("make", MODELS[:2])
def test_a_value_that_rounding_does_not_explain_is_still_an_error(make, trained_on):
    X, y = rows()
    model = misread(make().fit(X.astype(trained_on), y), one_weight_is_larger)
    with pytest.raises(ValueError, match="wald misreads"):
        EarlyExitRegressor(model, risk=0).fit(X.astype(trained_on))


def one_weight_is_larger(model):
    model.coef_ = model.coef_ + np.array([1e-2, 0, 0, 0], dtype=model.coef_.dtype)


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is float64")
@pytest.mark.parametrize("last", [LogisticRegression(), SGDClassifier(random_state=0)], ids=repr)
@pytest.mark.parametrize("divisor", [3, 1])
def test_a_linear_classifier_behind_extended_precision(last, divisor):
    X, y = rows()

    def extended(Z):
        return np.asarray(Z).astype(np.longdouble) / np.longdouble(divisor) + np.longdouble(2) ** -60

    for head in (
        FunctionTransformer(extended),
        ColumnTransformer([("all", FunctionTransformer(extended), [0, 1, 2, 3])]),
    ):
        model = make_pipeline(head, last).fit(X, y > 1)
        fast = EarlyExitClassifier(model, risk=0).fit(X)
        for n in (1, 5, 400):
            np.testing.assert_array_equal(fast.predict(X[:n]), model.predict(X[:n]))
            np.testing.assert_array_equal(fast.decision_function(X[:n]), model.decision_function(X[:n]))
        assert fast.predict_one(X[0]) == model.predict(X[:1])[0]


def test_answers_of_no_rows_have_the_shape_of_others():
    xgboost = pytest.importorskip("xgboost")
    X, y = rows()
    classes = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, np.digitize(y, [0.5, 2]))
    pair = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, np.column_stack([y, -y]))
    probabilities = EarlyExitClassifier(classes, risk=0).fit().predict_proba(X[:0])
    values = EarlyExitRegressor(pair, risk=0).fit().predict(X[:0])
    assert (probabilities.shape, probabilities.dtype) == ((0, 3), np.float32)
    assert (values.shape, values.dtype) == ((0, 2), np.float32)
