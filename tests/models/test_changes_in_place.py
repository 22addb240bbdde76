"""Changes of a wrapped model in place are noticed where looking is cheap."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from wald.models import decompose

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0]
CLASSES = (Y > 0).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor().fit(X, Y),
        RandomForestRegressor(3).fit(X, Y),
        BaggingRegressor(n_estimators=3).fit(X, Y),
        GradientBoostingRegressor(n_estimators=3).fit(X, Y),
        DecisionTreeClassifier().fit(X, CLASSES),
        ExtraTreesClassifier(3).fit(X, CLASSES),
        GradientBoostingClassifier(n_estimators=3).fit(X, CLASSES),
        IsolationForest(n_estimators=3).fit(X),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees(model):
    read = decompose(model)
    assert read.changed() is None
    first = np.ravel(getattr(model, "estimators_", [model]))[0]
    kept = first.tree_.value[0].copy()
    first.tree_.value[0] = 7.0
    assert "the first tree of" in read.changed()
    first.tree_.value[0] = kept
    assert read.changed() is None


def test_nodes():
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, Y)
    read = decompose(model)
    model._predictors[0][0].nodes["value"][:] *= 2
    assert "nodes of TreePredictor was changed in place" in read.changed()


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    for model in (
        lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X, Y),
        lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, CLASSES),
    ):
        read = decompose(model)
        assert pickle.loads(pickle.dumps(read.watch)).changed() is None
        longer = lightgbm.LGBMRegressor(n_estimators=4, verbose=-1).fit(X, Y).booster_
        model.booster_.model_from_string(longer.model_to_string())
        assert "the number of trees of Booster changed" in read.changed()


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    for model in (
        xgboost.XGBRegressor(n_estimators=3).fit(X, Y),
        xgboost.XGBClassifier(n_estimators=3).fit(X, CLASSES),
    ):
        read = decompose(model)
        assert pickle.loads(pickle.dumps(read.watch)).changed() is None
        model.get_booster().update(xgboost.DMatrix(X, CLASSES), 3)
        assert "the number of rounds of Booster changed" in read.changed()


def test_catboost():
    catboost = pytest.importorskip("catboost")
    quiet = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    for make, target in ((catboost.CatBoostRegressor, Y), (catboost.CatBoostClassifier, CLASSES)):
        model = make(**quiet).fit(X, target)
        read = decompose(model)
        model.set_scale_and_bias(2, [0])
        assert "the scale or bias" in read.changed()
        read = decompose(model)
        model.shrink(2)
        assert "the number of trees" in read.changed()
        read = decompose(model)
        model.fit(X, 1 - target)
        assert read.changed() is not None
        plain = catboost.CatBoost({**quiet, "loss_function": "RMSE"}).fit(X, target)
        read = decompose(plain)
        plain.set_scale_and_bias(2, [0])
        assert "rounds of BoosterClassifier" in read.changed()
