"""What the libraries answer at the ends of their parameters' ranges, and of what they fitted."""

from __future__ import annotations

import gzip
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB

import wald
from wald import EarlyExitClassifier, Planner, persistence

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

X = np.random.default_rng(0).normal(size=(600, 3))
SCORE = X[:, 0] + X[:, 1] ** 2 + np.random.default_rng(1).normal(size=600)
TWO, THREE = (SCORE > 1).astype(int), np.digitize(SCORE, [0.0, 1.5])
CATBOOST: dict[str, Any] = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


def exact(model: Any) -> EarlyExitClassifier:
    return EarlyExitClassifier(model if hasattr(model, "num_trees") else FrozenEstimator(model), risk=0).fit()


def check(model: Any, rows: Any = X) -> None:
    fast = exact(model)
    np.testing.assert_array_equal(fast.predict(rows), np.asarray(model.predict(rows)).ravel())
    if hasattr(model, "predict_proba") and getattr(model, "voting", "soft") == "soft":
        np.testing.assert_allclose(fast.predict_proba(rows), model.predict_proba(rows), rtol=0, atol=3e-7)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_early_stopping_that_is_asked_of_a_fitted_lightgbm_is_noticed(y: Any) -> None:
    early = {"pred_early_stop": True, "pred_early_stop_freq": 1, "pred_early_stop_margin": 0.1}
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(X, y)
    fast, before = exact(model), model.predict(X)
    loaded = pickle.loads(pickle.dumps(fast))
    model.set_params(**early)
    assert (model.predict(X) != before).any()
    with pytest.raises(ValueError, match="pred_early_stop of LGBMClassifier was replaced after wald read the model"):
        fast.predict(X)
    loaded.estimator_.set_params(**early)
    with pytest.raises(ValueError, match="pred_early_stop of LGBMClassifier was replaced"):
        loaded.predict(X)
    with pytest.raises(TypeError, match="made with pred_early_stop, pred_early_stop_freq, pred_early_stop_margin"):
        exact(model)
    model.set_params(pred_early_stop=False, pred_early_stop_freq=0, pred_early_stop_margin=0)
    check(model)
    fast = exact(model)
    model.booster_.best_iteration = 3
    with pytest.raises(ValueError, match="best_iteration of Booster changed after wald read the model"):
        fast.predict(X)
    check(model)


# ---- no rounds, and trees without splits -----------------------------------------------------------------------------


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("options", [{}, {"base_score": 0.2}, {"base_score": 0.8}, {"base_score": 0.5}], ids=str)
def test_no_rounds_of_xgboost(y: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """The answer is the base score; the default one is no probability before the first round."""
    model = xgboost.XGBClassifier(n_estimators=0, n_jobs=1, **options).fit(X, y)
    check(model)
    assert [exact(model).predict_one(row) for row in X[:3]] == model.predict(X[:3]).tolist()
    assert_file_answers(model)
    model.save_model(tmp_path / "model.ubj")
    np.testing.assert_array_equal(wald.read_model(tmp_path / "model.ubj").predict(X), model.predict(X))
    check(xgboost.XGBRFClassifier(n_estimators=1, gamma=1e9, n_jobs=1).fit(X, y))


def assert_file_answers(model: Any) -> None:
    loaded = persistence.from_bytes(persistence.to_bytes(exact(model)))
    assert isinstance(loaded, EarlyExitClassifier)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=0, atol=3e-7)
    np.testing.assert_allclose(loaded.predict_proba_one(X[0]), model.predict_proba(X[:1])[0], rtol=0, atol=3e-7)


def test_no_rounds_of_dart_fail_in_xgboost_itself() -> None:
    model = xgboost.XGBClassifier(n_estimators=0, booster="dart", n_jobs=1).fit(X, TWO)
    with pytest.raises(xgboost.core.XGBoostError):
        model.predict(X)
    with pytest.raises(ValueError, match="has no trees"):
        exact(model)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("n", [1, 3])
def test_trees_without_splits(y: Any, n: int) -> None:
    for model in (
        lightgbm.LGBMClassifier(n_estimators=n, min_child_samples=10_000, verbose=-1, n_jobs=1),
        xgboost.XGBClassifier(n_estimators=n, gamma=1e9, n_jobs=1),
        HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=10_000),
    ):
        check(model.fit(X, y))
        assert_file_answers(model)


# ---- the fitted object is asked --------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_the_best_iteration_of_a_callback_a_file_and_a_hand(y: Any, booster: str, tmp_path: Path) -> None:
    model = xgboost.XGBClassifier(
        n_estimators=20,
        booster=booster,
        learning_rate=1,
        n_jobs=1,
        callbacks=[xgboost.callback.EarlyStopping(rounds=2)],
    )
    model.fit(X[:200], y[:200], eval_set=[(X[200:400], y[200:400])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    check(model)
    model.save_model(tmp_path / "model.ubj")
    loaded = xgboost.XGBClassifier()
    loaded.load_model(tmp_path / "model.ubj")
    check(loaded)
    np.testing.assert_array_equal(wald.read_model(tmp_path / "model.ubj").predict(X), loaded.predict(X))
    loaded.get_booster().best_iteration = 0
    check(loaded)
    loaded.get_booster().best_iteration = -1  # all rounds, as in XGBoost
    check(loaded)


def test_a_best_iteration_that_is_set_later_is_noticed() -> None:
    model = xgboost.XGBClassifier(n_estimators=6, n_jobs=1).fit(X, TWO)
    fast = exact(model)
    model.get_booster().best_iteration = 0
    with pytest.raises(ValueError, match="best_iteration of Booster changed"):
        fast.predict(X)
    model.get_booster().best_iteration = 50
    with pytest.raises(ValueError, match="best_iteration 50 and 6 rounds"):
        exact(model)


def test_objectives_whose_predict_gives_no_labels_are_refused() -> None:
    table = xgboost.XGBClassifier(n_estimators=2, objective="multi:softprob", num_class=2, n_jobs=1).fit(X, TWO)
    assert table.predict(X).shape == (600, 2)
    with pytest.raises(TypeError, match="two columns and no labels"):
        exact(table)


@pytest.mark.parametrize("member", [None, LogisticRegression()], ids=["trees", "others"])
@pytest.mark.parametrize("n_estimators", [2, 9])
def test_bagging_asks_as_many_members_as_its_parameter_says(member: Any, n_estimators: int) -> None:
    model = (
        BaggingClassifier(member, n_estimators=6, random_state=0).fit(X, THREE).set_params(n_estimators=n_estimators)
    )
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_allclose(fast.predict_proba(X), model.predict_proba(X), rtol=1e-12)


# ---- the ends of the ranges ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [0.0, 1e-30, 1e-8, 1e-6, 1 - 1e-6, 1 - 1e-7, 1.0])
def test_base_scores_near_0_and_1(base: float) -> None:
    rows = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = rows[:, 0].astype(int)
    model = xgboost.XGBClassifier(n_estimators=1, learning_rate=0.3, min_child_weight=0, base_score=base, n_jobs=1)
    model.fit(rows, y)
    check(model, rows)
    raw = bytes(model.get_booster().save_raw("json"))
    np.testing.assert_array_equal(
        wald.read_model(raw).decision_function(rows).astype(np.float32), model.predict(rows, output_margin=True)
    )


def test_a_base_score_that_is_no_probability() -> None:
    raw = bytes(xgboost.XGBClassifier(n_estimators=1, n_jobs=1).fit(X, TWO).get_booster().save_raw("json"))
    document = json.loads(raw)
    document["learner"]["learner_model_param"]["base_score"] = "[2E0]"
    with pytest.raises(ValueError, match="no probability"):
        wald.read_model(json.dumps(document).encode())


# ---- one class -------------------------------------------------------------------------------------------------------

ONE_CLASS = {
    "forest": RandomForestClassifier(2),
    "AdaBoost": AdaBoostClassifier(n_estimators=2),
    "bagging": BaggingClassifier(RandomForestClassifier(2), n_estimators=2),
    "votes": VotingClassifier([("one", RandomForestClassifier(2))]),
    "naive Bayes": MultinomialNB(),
    "LightGBM": lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1),
    "LightGBM, three scores": lightgbm.LGBMClassifier(
        n_estimators=2, verbose=-1, n_jobs=1, objective="multiclass", num_class=3
    ),
    "XGBoost": xgboost.XGBClassifier(n_estimators=2, n_jobs=1),
    "XGBoost, another label": xgboost.XGBClassifier(n_estimators=2, n_jobs=1, base_score=0.99),
    "CatBoost": catboost.CatBoostClassifier(**CATBOOST, allow_const_label=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", ONE_CLASS.values(), ids=ONE_CLASS)
@pytest.mark.parametrize("risk", [0.0, 0.05])
def test_models_of_one_class(model: Any, risk: float) -> None:
    rows = np.abs(X)
    model.fit(rows, np.zeros(len(rows), dtype=int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, random_state=0).fit(rows)
        own = np.asarray(model.predict(rows)).ravel()
        np.testing.assert_array_equal(fast.predict(rows), own)
        assert fast.predict_one(rows[0]) == own[0]
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(fast.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", ONE_CLASS.values(), ids=ONE_CLASS)
@pytest.mark.parametrize("risk", [0.0, 0.05])
def test_files_of_one_class(model: Any, risk: float, tmp_path: Path) -> None:
    """A file holds the label, and no scores; with the estimator it answers everything, and at risk 0 it asks for it."""
    rows = np.abs(X)
    model.fit(rows, np.zeros(len(rows), dtype=int))
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0).fit(
        rows
    )
    wald.save(fast, tmp_path / "model.wald")
    given = wald.load(tmp_path / "model.wald", estimator=model)
    own = np.asarray(model.predict(rows)).ravel()
    for method in ("predict_proba", "decision_function"):
        assert hasattr(given, method) == hasattr(fast, method)
        if hasattr(fast, method):
            np.testing.assert_array_equal(getattr(given, method)(rows), getattr(model, method)(rows))
    loaded = [given]
    try:
        loaded.append(wald.load(tmp_path / "model.wald"))
    except ValueError as error:
        assert risk == 0  # naive Bayes is rebuilt from its file, the others are not
        assert "promises the labels of the estimator itself" in str(error)  # noqa: PT017
    for one in loaded:
        np.testing.assert_array_equal(one.predict(rows), own)
        assert one.predict_one(rows[0]) == own[0]
        if isinstance(one.estimator_, persistence.SavedModel):
            assert not hasattr(one, "decision_function")
            assert not hasattr(one, "predict_proba")
            with pytest.raises(AttributeError, match="A saved model of one class has no decision_function"):
                one.estimator_.decision_function(rows)


# ---- CatBoost's classes and sums -------------------------------------------------------------------------------------

CLASSES = {
    "two texts": (["yes", "no"], np.array(["no", "yes"])[TWO]),
    "texts of numbers": (None, np.array(["10", "9"])[TWO]),
    "two numbers": ([1, 0], TWO),
    "three numbers": ([2, 0, 1], THREE),
    "floats": (None, np.array([0.0, 1.0, 2.0])[THREE]),
}


@pytest.mark.parametrize(("names", "y"), CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("risk", [0.0, 0.05])
def test_classes_in_an_order_of_catboosts_own(names: Any, y: Any, risk: float, tmp_path: Path) -> None:
    model = catboost.CatBoostClassifier(class_names=names, **CATBOOST).fit(X, y)
    own = model.predict(X).ravel()
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, random_state=0).fit(X)
    assert list(fast.classes_) == list(model.classes_)
    assert (fast.predict(X) != own).mean() <= risk
    np.testing.assert_allclose(fast.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    loaded = persistence.from_bytes(persistence.to_bytes(fast))
    np.testing.assert_array_equal(loaded.predict(X), fast.predict(X))
    model.save_model(tmp_path / "model.json", format="json")
    read = wald.read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict(X).astype(own.dtype), own)
    assert read.classes_.dtype.kind == np.array(list(model.classes_)).dtype.kind


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("loss", [None, "MultiClassOneVsAll"])
def test_sums_of_catboost_models(y: Any, loss: str | None) -> None:
    settings = CATBOOST if loss is None or len(set(y)) == 2 else {**CATBOOST, "loss_function": loss}
    parts = [catboost.CatBoostClassifier(random_seed=seed, **settings).fit(X, y) for seed in (0, 1)]
    total = catboost.sum_models(parts, weights=[0.3, 2.0])
    own = np.asarray(total.predict(X, prediction_type="Class")).ravel()
    for model in (total, FrozenEstimator(catboost.to_classifier(total))):
        np.testing.assert_array_equal(EarlyExitClassifier(model, risk=0).fit().predict(X).astype(own.dtype), own)


# ---- values ----------------------------------------------------------------------------------------------------------

VALUES = [np.inf, -np.inf, np.nan, -0.0, 1e-35, -1e-35, 1.0000001e-35, 1e-40, 5e-324, 3.4028235e38, 3.5e38, -1e300]
TIES = {
    "LightGBM": lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=2, verbose=-1, n_jobs=1),
    "XGBoost": xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1),
    "CatBoost": catboost.CatBoostClassifier(**CATBOOST),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", TIES.values(), ids=TIES)
def test_infinity_and_the_ends_of_the_numbers_at_ties(model: Any, n_classes: int) -> None:
    rows = np.repeat(np.random.default_rng(0).integers(0, 2, size=(60, 2)), n_classes, axis=0).astype(float)
    model.fit(rows, np.arange(len(rows)) % n_classes)  # every row has all labels: all scores tie
    odd = np.random.default_rng(1).choice(VALUES, size=(500, 2))
    own = np.asarray(model.predict(odd)).ravel()
    for fast in (exact(model), EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(odd)):
        np.testing.assert_array_equal(fast.predict(odd), own)
        assert [fast.predict_one(row) for row in odd[:20]] == own[:20].tolist()


@pytest.mark.parametrize("n_classes", [3, 10, 30])
def test_probabilities_of_many_classes_have_the_bits_of_the_models_own(n_classes: int) -> None:
    y = np.random.default_rng(0).integers(0, n_classes, len(X))
    for model in (
        HistGradientBoostingClassifier(max_iter=2),
        GradientBoostingClassifier(n_estimators=2),
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1),
        xgboost.XGBClassifier(n_estimators=2, max_depth=3, n_jobs=1),
    ):
        model.fit(X, y)
        largest = np.spacing(model.predict_proba(X))
        assert (np.abs(exact(model).predict_proba(X) - model.predict_proba(X)) <= largest).all()


# ---- files -----------------------------------------------------------------------------------------------------------


def test_names_of_lightgbm_with_tabs_blanks_and_the_word_tree() -> None:
    names = ["a\tb", "c\u00a0d", "Tree=0"]
    booster = lightgbm.train(
        {"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, TWO, feature_name=names), num_boost_round=3
    )
    assert booster.feature_name() == names
    read = wald.read_model(booster.model_to_string().encode())
    assert list(read.feature_names_in_) == names
    np.testing.assert_array_equal(read.predict(X), (booster.predict(X) > 0.5).astype(int))
    np.testing.assert_array_equal(exact(booster).predict(X), read.predict(X))


def test_marks_gzip_and_texts(tmp_path: Path) -> None:
    booster = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, TWO).booster_
    text, document = (
        booster.model_to_string(),
        bytes(xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, TWO).get_booster().save_raw("json")),
    )
    mark, pretty = b"\xef\xbb\xbf", json.dumps(json.loads(document), indent=1)
    for plain, others in (
        (text.encode(), (text, mark + text.encode(), text.encode("utf-16"), gzip.compress(mark + text.encode()))),
        (
            document,
            (document.decode(), mark + document, gzip.compress(document), pretty.replace("\n", "\r\n").encode()),
        ),
    ):
        scores = wald.read_model(plain).decision_function(X)
        for other in others:
            np.testing.assert_array_equal(wald.read_model(other).decision_function(X), scores)
    (tmp_path / "model.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert wald.models.is_library_file((tmp_path / "model.txt.gz").read_bytes()[:512])
    assert not wald.models.is_library_file(gzip.compress(b"\x80\x04pickle"))


BAD_FILES = {
    "cut off": (gzip.compress(b"tree\n" * 100)[:-10], "cut off"),
    "large inside": (gzip.compress(b"0" * 10_000_000), "times as large inside"),
    "damaged": (b"\x1f\x8b\x08" + b"x" * 50, "damaged"),
    "a long word": ("a" * 100_000, "neither a path nor a model"),
    "other JSON": (b'{"a": 1}', "save_model"),
}


@pytest.mark.parametrize(("source", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_are_none(source: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        wald.read_model(source)
    assert len(str(error.value)) < 400


def test_dumps_are_called_by_their_names() -> None:
    dump = json.dumps(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, TWO).booster_.dump_model())
    with pytest.raises(ValueError, match=r"LightGBM's dump_model.*Booster\.save_model"):
        wald.read_model(dump.encode())
    booster = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, TWO).get_booster()
    with pytest.raises(ValueError, match=r"XGBoost's settings \(save_config\).*save_model"):
        wald.read_model(booster.save_config().encode())


def test_refusals_are_short() -> None:
    model = GaussianNB().fit(X, TWO)
    with pytest.raises(TypeError, match="GaussianNB is not supported") as error:
        exact(model)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_texts_that_are_numbers_are_refused_in_frames_as_the_library_refuses_them(name: str, library: str) -> None:
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip(library)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = X.a + X.b * X.c > 0
    made = pytest.importorskip(name)
    model = (
        made.LGBMClassifier(n_estimators=5, verbose=-1) if name == "lightgbm" else made.XGBClassifier(n_estimators=5)
    )
    model.fit(X, y)
    exact = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    texts: dict[str, Any] = {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": ["red", "2.5"]}
    for rows in ({**texts, "c": ["1.5", "2.5"]}, {**texts, "c": [None, "2.5"]}):
        frame = frames.DataFrame(rows) if library != "pyarrow" else frames.table(rows)
        for ask in (exact.predict, exact.predict_proba):
            with pytest.raises(ValueError, match=r"column 'c' holds the text '.\.5' in row [01], and .* no texts"):
                ask(frame)
    frame = frames.DataFrame(texts) if library != "pyarrow" else frames.table(texts)
    with pytest.raises(ValueError, match="X must hold numbers: column 'c'"):
        exact.predict(frame)
    missing = pd.DataFrame({**texts, "c": np.array([None, 2.5], dtype=object)})  # a number is one in objects, too
    np.testing.assert_array_equal(exact.predict(missing), model.predict(missing.astype(float)))
