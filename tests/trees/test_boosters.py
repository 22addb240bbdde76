"""LightGBM, XGBoost and CatBoost: scores have the libraries' own bits, labels are the libraries' own."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from trees.libraries import check_reader, random_data

from wald.models import decompose

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
CLASSES = [2, 3, 5]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("boosting", ["gbdt", "dart", "rf", "goss"])
@pytest.mark.parametrize("seed", range(4))
def test_lightgbm(seed: int, boosting: str, n_classes: int) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes, nan=seed % 2 == 0)
    categorical = seed % 4 >= 2
    for rows in (X, others) if categorical else ():
        rows[:, 3] = np.round(rows[:, 3] / np.nanstd(X[:, 3]) * 3)
    X[:, 3] = np.abs(X[:, 3])
    bagged = {"bagging_freq": 1, "bagging_fraction": 0.6} if boosting == "rf" else {}
    for objective in ["binary", "cross_entropy"] if n_classes == 2 else ["multiclass", "multiclassova"]:
        model = lightgbm.LGBMClassifier(
            boosting_type=boosting,
            objective=objective,
            n_estimators=12,
            num_leaves=int(rng.integers(2, 60)),
            min_child_samples=5,
            zero_as_missing=seed == 1,
            use_missing=seed != 2,
            sigmoid=0.7,
            random_state=seed,
            n_jobs=1,
            verbose=-1,
            **bagged,
        )
        model.fit(X, y, categorical_feature=[3] if categorical else "auto")
        raw = model.predict(others, raw_score=True)
        own = raw / 12 if boosting == "rf" else raw
        check_reader(model, others, own)
        check_reader(model, others.astype(np.float32), None)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("seed", range(4))
def test_xgboost(seed: int, booster: str, n_classes: int) -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes, nan=seed % 2 == 0)
    two = ["binary:logistic", "binary:logitraw", "binary:hinge"]
    for objective in two if n_classes == 2 else ["multi:softprob", "multi:softmax"]:
        model = xgboost.XGBClassifier(
            booster=booster,
            objective=objective,
            n_estimators=12,
            max_depth=int(rng.integers(1, 8)),
            num_parallel_tree=1 + seed % 2,
            base_score=0.3 if seed % 3 == 0 else None,
            missing=1.0 if seed == 3 else np.nan,
            rate_drop=0.3 if booster == "dart" else None,
            random_state=seed,
            n_jobs=1,
        ).fit(X, y)
        single = others.astype(np.float32)
        own = model.get_booster().inplace_predict(single, predict_type="margin", missing=model.missing)
        check_reader(model, others, own)
        thin = np.where(rng.random(single.shape) < 0.5, 0, single)
        absent = np.where(thin == 0, np.nan, thin) if seed != 3 else np.where(thin == 0, 1.0, thin)
        rows = sparse.csr_matrix(thin)
        np.testing.assert_array_equal(decompose(model).terms.scores(rows), decompose(model).terms.scores(absent))


def test_xgboost_categories_and_early_stopping() -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X, y, others = random_data(rng, 2)
    X[:, 3], others[:, 3] = rng.integers(0, 40, len(X)), rng.integers(0, 60, len(others))
    y = y ^ (X[:, 3] % 3 == 0)
    for options in ({"max_cat_to_onehot": 1}, {"max_cat_to_onehot": 100}):
        model = xgboost.XGBClassifier(
            n_estimators=30,
            enable_categorical=True,
            feature_types=["q"] * 3 + ["c"] + ["q"] * 4,
            early_stopping_rounds=2,
            n_jobs=1,
            **options,
        )
        model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        own = model.get_booster().inplace_predict(
            others.astype(np.float32), predict_type="margin", iteration_range=(0, model.best_iteration + 1)
        )
        check_reader(model, others, own)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("seed", range(3))
def test_catboost(seed: int, policy: str, n_classes: int) -> None:
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes, nan=seed % 2 == 0)
    for loss in ["Logloss", "CrossEntropy"] if n_classes == 2 else ["MultiClass", "MultiClassOneVsAll"]:
        model = catboost.CatBoostClassifier(
            iterations=12,
            depth=int(rng.integers(1, 7)),
            grow_policy=policy,
            loss_function=loss,
            nan_mode="Max" if seed % 2 else "Min",
            random_seed=seed,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
        ).fit(X, y)
        own = model.predict(others.astype(np.float32), prediction_type="RawFormulaVal")
        check_reader(model, others, own)


def fitted_lightgbm(**options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = random_data(np.random.default_rng(0), 2)
    return lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1, **options).fit(X, y)


def test_lightgbm_models_that_cannot_be_read() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(TypeError, match="pred_early_stop"):
        decompose(fitted_lightgbm(pred_early_stop=True))
    with pytest.raises(ValueError, match="linear leaves"):
        decompose(fitted_lightgbm(linear_tree=True))
    with pytest.raises(TypeError, match=r"objective 'custom'|objective of its own"):
        decompose(fitted_lightgbm(objective=lambda y, score: (score - y, np.ones_like(y, dtype=float))))
    with pytest.raises(TypeError, match="Dataset is not supported"):
        decompose(lightgbm.Dataset(np.eye(4)))


def test_xgboost_models_that_cannot_be_read() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = random_data(np.random.default_rng(0), 2)
    for options, words in (
        ({"booster": "gblinear"}, "gblinear"),
        ({"objective": "reg:squarederror"}, "objective 'reg:squarederror'"),
        ({"missing": np.inf}, "infinite 'missing'"),
    ):
        with pytest.raises(TypeError, match=words):
            decompose(xgboost.XGBClassifier(n_estimators=2, **options).fit(X, y))


def test_catboost_models_that_cannot_be_read() -> None:
    catboost = pytest.importorskip("catboost")
    X, y, _ = random_data(np.random.default_rng(0), 2)
    rows = [[str(int(row[0])), *row[1:]] for row in X.tolist()]
    model = catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False)
    with pytest.raises(TypeError, match="cat features"):
        decompose(model.fit(rows, y, cat_features=[0]))


def test_damaged_texts_of_lightgbm_are_refused() -> None:
    from wald.models.readers.lightgbm import read_lightgbm_text

    text = fitted_lightgbm().booster_.model_to_string()
    read_lightgbm_text(text)
    rng = np.random.default_rng(1)
    for _ in range(300):
        at = int(rng.integers(len(text)))
        damaged = text[:at] if rng.random() < 0.3 else text[:at] + chr(int(rng.integers(32, 127))) + text[at + 1 :]
        with contextlib.suppress(ValueError):
            read_lightgbm_text(damaged).terms().scores(np.zeros((3, 8)))
    with pytest.raises(ValueError, match="no text of a LightGBM model"):
        read_lightgbm_text("tree\nversion=v4\n")


def test_damaged_models_of_xgboost_are_refused() -> None:
    xgboost = pytest.importorskip("xgboost")
    from wald.models.readers.xgboost import read_xgboost_model

    X, y, _ = random_data(np.random.default_rng(0), 2)
    booster = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y).get_booster()
    rng = np.random.default_rng(2)
    for form in ("ubj", "json"):
        raw = bytes(booster.save_raw(form))
        np.testing.assert_array_equal(
            read_xgboost_model(raw).terms().scores(X)[:, 0], booster.inplace_predict(X, predict_type="margin")
        )
        for _ in range(300):
            at = int(rng.integers(len(raw)))
            damaged = raw[:at] if rng.random() < 0.3 else raw[:at] + bytes([int(rng.integers(256))]) + raw[at + 1 :]
            with contextlib.suppress(ValueError, TypeError):
                read_xgboost_model(damaged).terms().scores(np.zeros((3, 8)))


def test_damaged_models_of_catboost_are_refused(tmp_path: Any) -> None:
    catboost = pytest.importorskip("catboost")
    from wald.models.readers.catboost import read_catboost_model

    X, y, _ = random_data(np.random.default_rng(0), 3)
    model = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False).fit(X, y)
    model.save_model(str(tmp_path / "model.json"), format="json")
    raw = (tmp_path / "model.json").read_bytes()
    document = json.loads(raw)
    for change in (
        lambda d: d["oblivious_trees"][0]["leaf_values"].pop(),
        lambda d: d["oblivious_trees"][0]["splits"][0].update(float_feature_index=99),
        lambda d: d["oblivious_trees"][0]["splits"][0].update(float_feature_index=-1),
        lambda d: d["oblivious_trees"][0]["splits"][0].update(split_type="OnlineCtr"),
        lambda d: d["oblivious_trees"][0]["splits"].extend(d["oblivious_trees"][0]["splits"] * 40),
        lambda d: d.update(scale_and_bias=[1.0]),
        lambda d: d.pop("features_info"),
    ):
        damaged = json.loads(json.dumps(document))
        change(damaged)
        with pytest.raises(ValueError, match="CatBoost"):
            read_catboost_model(json.dumps(damaged).encode())
    with pytest.raises(ValueError, match=r"JSON|Expecting|no CatBoost|Unterminated"):
        read_catboost_model(raw[: len(raw) // 2])
