"""Boosters without scikit-learn's interface, and files of libraries, behind `EarlyExitClassifier`."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from trees.libraries import random_data
from trees.texts import TEXTS

import wald
from wald.models import decompose
from wald.persistence.library import in_full

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

LIGHTGBM = {"binary": 2, "cross_entropy": 2, "multiclass": 3, "multiclassova": 3}
XGBOOST = {"binary:logistic": 2, "binary:logitraw": 2, "binary:hinge": 2, "multi:softprob": 3, "multi:softmax": 3}
CATBOOST = {"Logloss": 2, "CrossEntropy": 2, "MultiClass": 3, "MultiClassOneVsAll": 3}


def lightgbm_booster(objective: str, n_classes: int, **options: Any) -> tuple[Any, np.ndarray]:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, others = random_data(np.random.default_rng(n_classes), n_classes, nan=True)
    given = {"objective": objective, "verbose": -1, "num_leaves": 9, "num_threads": 1, **options}
    if objective.startswith("multi"):
        given["num_class"] = n_classes
    return lightgbm.train(given, lightgbm.Dataset(X, y), 12), others


def xgboost_booster(objective: str, n_classes: int, **options: Any) -> tuple[Any, np.ndarray]:
    xgboost = pytest.importorskip("xgboost")
    X, y, others = random_data(np.random.default_rng(n_classes), n_classes, nan=True)
    given = {"objective": objective, "max_depth": 4, "nthread": 1, **options}
    if objective.startswith("multi"):
        given["num_class"] = n_classes
    return xgboost.train(given, xgboost.DMatrix(X, y), 12), others


def catboost_model(loss: str, n_classes: int, **options: Any) -> tuple[Any, np.ndarray]:
    catboost = pytest.importorskip("catboost")
    X, y, others = random_data(np.random.default_rng(n_classes), n_classes, nan=True)
    given = {"iterations": 12, "depth": 4, "loss_function": loss, "verbose": 0, "allow_writing_files": False}
    return catboost.CatBoost({**given, "thread_count": 1, **options}).fit(X, y), others


def lightgbm_labels(booster: Any, X: np.ndarray) -> np.ndarray:
    p = booster.predict(X)
    return (p > 0.5).astype(int) if p.ndim == 1 else p.argmax(axis=1)


def xgboost_labels(booster: Any, X: np.ndarray, objective: str) -> np.ndarray:
    p = booster.inplace_predict(X)
    if objective == "multi:softmax":
        return p.astype(int)
    return (p > 0.5).astype(int) if p.ndim == 1 else p.argmax(axis=1)


def check_door(booster: Any, X: np.ndarray, own: np.ndarray) -> None:
    exact = clone(wald.EarlyExitClassifier(booster, risk=0)).fit(X[:400])
    np.testing.assert_array_equal(exact.predict(X), own)
    assert [exact.predict_one(x) for x in X[:5]] == own[:5].tolist()
    frozen = wald.EarlyExitClassifier(FrozenEstimator(booster), risk=0.2, random_state=0).fit(X)
    assert (frozen.predict(X) != own).mean() < 0.2
    again = pickle.loads(pickle.dumps(exact))
    np.testing.assert_array_equal(again.predict(X), own)
    assert decompose(booster).changed() is None


@pytest.mark.parametrize("objective", LIGHTGBM)
def test_a_booster_of_lightgbm(objective: str) -> None:
    booster, X = lightgbm_booster(objective, LIGHTGBM[objective])
    check_door(booster, X, lightgbm_labels(booster, X))


@pytest.mark.parametrize("objective", XGBOOST)
def test_a_booster_of_xgboost(objective: str) -> None:
    booster, X = xgboost_booster(objective, XGBOOST[objective])
    check_door(booster, X, xgboost_labels(booster, X, objective))


@pytest.mark.parametrize("loss", CATBOOST)
def test_a_catboost_without_the_classifier(loss: str) -> None:
    model, X = catboost_model(loss, CATBOOST[loss])
    check_door(model, X, model.predict(X, prediction_type="Class").ravel())


def test_a_booster_that_goes_on_learning_has_changed() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = random_data(np.random.default_rng(0), 2)
    booster = lightgbm.Booster({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, y))
    with pytest.raises(ValueError, match="has no trees"):
        wald.EarlyExitClassifier(booster).fit(X)
    booster.update()
    fast = wald.EarlyExitClassifier(booster, risk=0).fit(X)
    fast.predict(X)
    booster.update()
    with pytest.raises(ValueError, match="rounds of BoosterClassifier was replaced"):
        fast.predict(X)


def test_objectives_without_a_rule_are_refused() -> None:
    for made, words in (
        (lambda: lightgbm_booster("regression", 2)[0], "Booster is a regressor: wrap it in EarlyExitRegressor"),
        (lambda: xgboost_booster("reg:squarederror", 2)[0], "Booster is a regressor: wrap it in EarlyExitRegressor"),
        (lambda: catboost_model("RMSE", 2)[0], "CatBoost is a regressor: wrap it in EarlyExitRegressor"),
    ):
        booster = made()
        with pytest.raises(TypeError, match=words):
            wald.EarlyExitClassifier(booster).fit(np.zeros((9, 8)))


def test_names_of_columns_are_checked() -> None:
    pandas, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    X, y, _ = random_data(np.random.default_rng(0), 2)
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(frame, y), 3)
    fast = wald.EarlyExitClassifier(booster, risk=0).fit(frame)
    np.testing.assert_array_equal(fast.predict(frame), lightgbm_labels(booster, frame))
    with pytest.raises(ValueError, match="must have the columns of the model"):
        wald.EarlyExitClassifier(booster, risk=0).fit(frame[list("bacdefgh")])
    model = wald.read_model(booster.model_to_string().encode())
    with pytest.raises(ValueError, match="must have the columns of the model"):
        model.predict(frame[list("bacdefgh")])


# ---- files -----------------------------------------------------------------------------------------------------------


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    expected = np.asarray(expected)
    return float(np.max(np.abs(found.astype(np.float64) - expected) / np.spacing(np.abs(expected))))


def check_file(path: Path, X: np.ndarray, own: np.ndarray, probabilities: np.ndarray | None) -> None:
    model = wald.read_model(path)
    np.testing.assert_array_equal(model.predict(X), own)
    assert model.decision_function(X).shape[0] == len(X)
    if probabilities is None:
        assert not hasattr(model, "predict_proba")
    else:
        assert model.predict_proba(X).dtype == probabilities.dtype
        upper = slice(1, None) if model.reading.decision.kind == "sign" else slice(None)  # 1 - p loses bits
        assert ulps(model.predict_proba(X)[:, upper], probabilities[:, upper]) <= 1
    exact = wald.EarlyExitClassifier(model, risk=0).fit(X[:400])
    np.testing.assert_array_equal(exact.predict(X), own)
    loaded = wald.persistence.from_bytes(wald.persistence.to_bytes(exact))
    np.testing.assert_array_equal(loaded.predict(X), own)
    np.testing.assert_array_equal(loaded.estimator_.predict(X), own)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), own)


@pytest.mark.parametrize("objective", LIGHTGBM)
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_a_text_of_lightgbm(objective: str, boosting: str, tmp_path: Path) -> None:
    bagged = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6} if boosting == "rf" else {}
    booster, X = lightgbm_booster(objective, LIGHTGBM[objective], sigmoid=0.7, **bagged)
    booster.save_model(tmp_path / "model.txt")
    p = booster.predict(X)
    p = p if p.ndim == 2 else np.column_stack([1 - p, p])
    check_file(tmp_path / "model.txt", X, lightgbm_labels(booster, X), p)


@pytest.mark.parametrize("objective", XGBOOST)
@pytest.mark.parametrize("form", ["json", "ubj"])
def test_a_file_of_xgboost(objective: str, form: str, tmp_path: Path) -> None:
    booster, X = xgboost_booster(objective, XGBOOST[objective])
    booster.save_model(tmp_path / f"model.{form}")
    p = None
    if objective in ("binary:logistic", "multi:softprob"):
        p = booster.inplace_predict(X)
        p = p if p.ndim == 2 else np.column_stack([1 - p, p])
    elif objective == "multi:softmax":
        booster.set_param({"objective": "multi:softprob"})
        p = booster.inplace_predict(X)
        booster.set_param({"objective": "multi:softmax"})
    check_file(tmp_path / f"model.{form}", X, xgboost_labels(booster, X, objective), p)


def test_an_early_stopped_classifier_of_xgboost(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, others = random_data(np.random.default_rng(0), 2)
    model = xgboost.XGBClassifier(n_estimators=40, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    model.save_model(tmp_path / "model.ubj")
    read = wald.read_model(tmp_path / "model.ubj")
    own = model.predict(others, output_margin=True)
    np.testing.assert_array_equal(read.decision_function(others), own)


@pytest.mark.parametrize("loss", CATBOOST)
@pytest.mark.parametrize("form", ["json", "cbm"])
def test_a_file_of_catboost(loss: str, form: str, tmp_path: Path) -> None:
    model, X = catboost_model(loss, CATBOOST[loss])
    model.save_model(str(tmp_path / f"model.{form}"), format=form)
    own = model.predict(X, prediction_type="Class").ravel()
    read = wald.read_model(tmp_path / f"model.{form}")
    np.testing.assert_array_equal(read.predict(X), own)
    np.testing.assert_allclose(read.predict_proba(X), model.predict(X, prediction_type="Probability"), rtol=1e-14)


def test_texts_as_labels_of_catboost(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    X, y, others = random_data(np.random.default_rng(0), 3)
    model = catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False)
    model.fit(X, np.array(["ant", "bee", "cow"])[y]).save_model(str(tmp_path / "m.json"), format="json")
    read = wald.read_model(tmp_path / "m.json")
    assert read.classes_.tolist() == ["ant", "bee", "cow"]
    np.testing.assert_array_equal(read.predict(others), model.predict(others).ravel())


def test_files_of_regressors_hold_no_classifier(tmp_path: Path) -> None:
    lightgbm_booster("regression", 2)[0].save_model(tmp_path / "l.txt")
    xgboost_booster("reg:squarederror", 2)[0].save_model(tmp_path / "x.json")
    catboost_model("RMSE", 2)[0].save_model(str(tmp_path / "c.json"), format="json")
    for name in ("l.txt", "x.json", "c.json"):
        assert isinstance(wald.read_model(tmp_path / name), wald.models.TreeRegressor)
        assert isinstance(in_full(tmp_path / name, 1), wald.EarlyExitRegressor)


def test_sparse_rows_of_a_file() -> None:
    booster, X = xgboost_booster("binary:logistic", 2)
    thin = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0, np.nan_to_num(X)).astype(np.float32)
    model = wald.read_model(bytes(booster.save_raw("ubj")))
    rows = sparse.csr_matrix(thin)
    np.testing.assert_array_equal(model.decision_function(rows), booster.inplace_predict(rows, predict_type="margin"))


# ---- files without the libraries -------------------------------------------------------------------------------------


def test_a_text_is_read_without_its_library(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        path = tmp_path / name
        path.write_bytes(text)
        model = wald.read_model(path)
        X = np.array([[0.0, 0.0], [0.0, 1.0], [np.nan, np.nan], [9.0, 9.0]])
        np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
        assert len(set(model.predict(X))) == 2
        assert clone(model) is model
        with pytest.raises(TypeError, match="cannot be fitted"):
            model.fit(X)
        with pytest.raises(ValueError, match="expecting 2 features"):
            model.predict(np.zeros((1, 3)))


def test_fit_without_rows(tmp_path: Path) -> None:
    model = wald.read_model(TEXTS["model.txt"])
    X = np.random.default_rng(0).normal(size=(200, 2))
    fast = wald.EarlyExitClassifier(model, risk=0).fit()
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.n_features_in_ == 2
    assert fast.certificate_.status == "full"
    wald.save(fast, tmp_path / "fast.wald")
    loaded = wald.load(tmp_path / "fast.wald")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.estimator_.predict_proba(X), model.predict_proba(X))
    assert loaded.estimator_.feature_names_in_.tolist() == ["age", "income"]
    with pytest.raises(ValueError, match="has 3 features"):
        fast.predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="certified on rows"):
        wald.EarlyExitClassifier(model, risk=0.01).fit()
    with pytest.raises(ValueError, match=r"takes nothing else\. Got y"):
        fast.fit(None, [1])


def test_fit_without_rows_of_other_estimators() -> None:
    X, y, _ = random_data(np.random.default_rng(0), 3)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    fast = wald.EarlyExitClassifier(FrozenEstimator(forest), risk=0).fit()
    np.testing.assert_array_equal(fast.predict(X), forest.predict(X))
    linear = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="fit needs rows X"):
        wald.EarlyExitClassifier(FrozenEstimator(linear), risk=0).fit()
    with pytest.raises(ValueError, match="needs rows to train LogisticRegression"):
        wald.EarlyExitClassifier(LogisticRegression(), risk=0).fit()


def test_the_command_line_reads_library_files(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from commands.running import done, refusal

    X = np.random.default_rng(0).normal(size=(600, 2))
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="age,income", comments="")
    for name, text in TEXTS.items():
        model = wald.read_model(text)
        path = tmp_path / f"{name}.any"  # the kind is told by the contents
        path.write_bytes(text)
        done("fit", path, tmp_path / "rows.csv", "-o", tmp_path / "f.wald", "--risk", 0.05, "--force")
        for file in (path, tmp_path / "f.wald"):
            done("predict", file, tmp_path / "rows.csv", "-o", tmp_path / "out.csv", "--force")
            found = np.loadtxt(tmp_path / "out.csv", skiprows=1)
            assert (found != model.predict(X)).mean() <= 0.05
    (tmp_path / "bad.txt").write_bytes(TEXTS["model.txt"][:200])
    assert "LightGBM" in refusal("fit", tmp_path / "bad.txt", tmp_path / "rows.csv", "-o", tmp_path / "g.wald")
    assert "LightGBM" in refusal("predict", tmp_path / "bad.txt", tmp_path / "rows.csv", "-o", tmp_path / "o.csv")


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "multi:softmax"])
def test_probabilities_of_an_xgboost_classifier_outlive_a_file(objective: str, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, others = random_data(np.random.default_rng(0), XGBOOST[objective])
    model = xgboost.XGBClassifier(n_estimators=12, objective=objective, n_jobs=1).fit(X, y)
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(others)
    wald.save(fast, tmp_path / "model.wald")
    again, own = wald.load(tmp_path / "model.wald"), model.predict_proba(others)
    for each in (fast.predict_proba(others), again.predict_proba(others), again.estimator_.predict_proba(others)):
        assert each.dtype == own.dtype
        np.testing.assert_array_equal(each, own)
    np.testing.assert_array_equal(again.predict(others), model.predict(others))


def test_a_file_of_an_xgboost_classifier_has_its_probabilities(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, others = random_data(np.random.default_rng(0), 3)
    model = xgboost.XGBClassifier(n_estimators=12, objective="multi:softmax", n_jobs=1).fit(X, y)
    model.save_model(tmp_path / "model.json")
    read = wald.read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(others), model.predict_proba(others))
    np.testing.assert_array_equal(read.predict(others), model.predict(others))


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_labels_a_row_are_refused_for_what_they_are(strategy: str, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = xgboost.XGBClassifier(n_estimators=3, multi_strategy=strategy, n_jobs=1).fit(X, (X > 0).astype(int))
    model.save_model(tmp_path / "model.json")
    message = r"with 3 labels a row is not supported: a row has one label\."
    for wrapped in (model, model.get_booster()):
        with pytest.raises(TypeError, match=message):
            wald.EarlyExitClassifier(wrapped, risk=0).fit()
    with pytest.raises(ValueError, match=message):
        wald.read_model(tmp_path / "model.json")


def test_raw_scores_of_a_random_forest_are_sums():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    bagged = {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1, "n_estimators": 7}
    model = lightgbm.LGBMClassifier(**bagged, verbose=-1, n_jobs=1).fit(X, X[:, 0] > 0)
    own = model.predict(X, raw_score=True)
    read = wald.read_model(model.booster_.model_to_string())
    np.testing.assert_array_equal(read.decision_function(X), own)
    for wrapped in (model, read):
        again = wald.persistence.from_bytes(wald.persistence.to_bytes(wald.EarlyExitClassifier(wrapped, risk=0).fit()))
        np.testing.assert_array_equal(again.estimator_.decision_function(X), own)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
