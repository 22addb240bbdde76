"""Values of LightGBM's and XGBoost's regressors and rankers under each objective, bit for bit."""

import contextlib
import copy
import json

import numpy as np
import pytest

import wald
from wald import EarlyExitClassifier, EarlyExitRanker, EarlyExitRegressor

POSITIVE = ("poisson", "gamma", "tweedie", "reg:squaredlogerror", "count:poisson", "reg:gamma", "reg:tweedie")
LIGHTGBM = (
    *("regression", "regression_l1", "huber", "fair", "poisson", "gamma", "tweedie", "quantile", "mape"),
    *("cross_entropy", "cross_entropy_lambda"),
)
XGBOOST = (
    *("reg:squarederror", "reg:squaredlogerror", "reg:logistic", "reg:pseudohubererror", "reg:absoluteerror"),
    *("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox"),
)


def rows(objective="", n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1)
    z = X[:, 0] - 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    if "cross_entropy" in objective or objective == "reg:logistic":
        return X, 1 / (1 + np.exp(-z))
    return X, np.exp(z) if objective in (*POSITIVE, "survival:cox") else z


def lightgbm_model(objective, seed=0, **options):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows(objective, seed=seed)
    return lightgbm.LGBMRegressor(n_estimators=15, objective=objective, verbose=-1, n_jobs=1, **options).fit(X, y), X


def xgboost_model(objective, seed=0, **options):
    xgboost = pytest.importorskip("xgboost")
    X, y = rows(objective, seed=seed)
    return xgboost.XGBRegressor(n_estimators=15, objective=objective, n_jobs=1, **options).fit(X, y), X


def require_own(fast, model, X):
    for some in (X, X.astype(np.float32), X[:1], np.nan_to_num(X)):
        own = model.predict(some)
        found = fast.predict(some)
        assert found.dtype == own.dtype
        np.testing.assert_array_equal(found, own)
    one = fast.predict_one(X[4])
    np.testing.assert_array_equal(one, model.predict(X[4:5])[0])


@pytest.mark.parametrize("options", [{}, {"reg_sqrt": True}])
@pytest.mark.parametrize("objective", LIGHTGBM)
def test_lightgbm(objective, options):
    model, X = lightgbm_model(objective, **options)
    require_own(EarlyExitRegressor(model).fit(), model, X)


@pytest.mark.parametrize(
    "boosting", [{"boosting_type": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, {"boosting_type": "dart"}]
)
def test_lightgbm_boosting(boosting):
    model, X = lightgbm_model("regression", **boosting)
    require_own(EarlyExitRegressor(model).fit(), model, X)


@pytest.mark.parametrize("options", [{}, {"base_score": 0.5}, {"booster": "dart"}])
@pytest.mark.parametrize("objective", XGBOOST)
def test_xgboost(objective, options):
    model, X = xgboost_model(objective, **options)
    require_own(EarlyExitRegressor(model).fit(), model, X)


def test_xgboost_values_of_several_kinds():
    xgboost = pytest.importorskip("xgboost")
    X, y = rows()
    for model, target in (
        (xgboost.XGBRegressor(n_estimators=9, objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]), y),
        (xgboost.XGBRegressor(n_estimators=9), np.column_stack([y, -y])),
        (xgboost.XGBRFRegressor(n_estimators=9), y),
    ):
        model.fit(X, target)
        require_own(EarlyExitRegressor(model).fit(), model, X)
    early = xgboost.XGBRegressor(n_estimators=200, early_stopping_rounds=2)
    early.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    assert early.best_iteration < 199
    require_own(EarlyExitRegressor(early).fit(), early, X)


def test_large_margins():
    xgboost = pytest.importorskip("xgboost")
    X = np.arange(40.0)[:, None]
    model = xgboost.XGBRegressor(n_estimators=3, objective="count:poisson", base_score=1e30, max_delta_step=50).fit(
        X, np.where(X[:, 0] > 20, 1e30, 1e10)
    )
    np.testing.assert_array_equal(EarlyExitRegressor(model).fit().predict(X), model.predict(X))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_rankers(library):
    module = pytest.importorskip(library)
    X, y = rows()
    relevance = np.clip(np.round(y + 1), 0, 3).astype(int)
    objectives = ("lambdarank", "rank_xendcg") if library == "lightgbm" else ("rank:ndcg", "rank:pairwise")
    for objective in objectives:
        if library == "lightgbm":
            ranker = module.LGBMRanker(n_estimators=9, objective=objective, verbose=-1)
            ranker.fit(X, relevance, group=[100] * 5)
        else:
            ranker = module.XGBRanker(n_estimators=9, objective=objective)
            ranker.fit(X, relevance, qid=np.repeat(range(5), 100))
        fast = EarlyExitRanker(ranker).fit(X)
        require_own(fast, ranker, X)
        own = ranker.predict(X[:100])
        ranked = fast.rank(X[:100])
        np.testing.assert_array_equal(ranked, np.argsort(-own, kind="stable"))
        np.testing.assert_array_equal(fast.rank(X[:100], 7), ranked[:7])
        with pytest.raises(TypeError, match="is a ranker: wrap it in EarlyExitRanker"):
            EarlyExitClassifier(ranker, risk=0).fit()
    for k in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="k must be a positive whole number"):
            fast.rank(X, k)


@pytest.mark.parametrize("objective", ["regression", "poisson", "quantile", "lambdarank"])
def test_lightgbm_boosters_and_files(objective):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows(objective)
    y = (y > 0).astype(int) if objective == "lambdarank" else y
    data = lightgbm.Dataset(X, y, group=[100] * 5 if objective == "lambdarank" else None)
    booster = lightgbm.train({"objective": objective, "verbose": -1}, data, 9)
    shell = EarlyExitRanker if objective == "lambdarank" else EarlyExitRegressor
    read = wald.read_model(booster.model_to_string())
    assert isinstance(read, wald.models.TreeRegressor)
    for model in (booster, read):
        np.testing.assert_array_equal(shell(model).fit().predict(X), booster.predict(X))
    with pytest.raises(TypeError, match="wrap it in EarlyExitR"):
        EarlyExitClassifier(booster, risk=0).fit()


@pytest.mark.parametrize("objective", ["reg:squarederror", "count:poisson", "rank:ndcg"])
def test_xgboost_boosters_and_files(objective):
    xgboost = pytest.importorskip("xgboost")
    X, y = rows(objective)
    data = xgboost.DMatrix(X, (y > 0).astype(int) if objective.startswith("rank") else y)
    if objective.startswith("rank"):
        data.set_group([100] * 5)
    booster = xgboost.train({"objective": objective}, data, 9)
    shell = EarlyExitRanker if objective.startswith("rank") else EarlyExitRegressor
    for model in (booster, wald.read_model(bytes(booster.save_raw("json")))):
        np.testing.assert_array_equal(shell(model).fit().predict(X), booster.predict(xgboost.DMatrix(X)))


def test_categories():
    pd, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    X, y = rows()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["kind"] = pd.Categorical(np.random.default_rng(0).choice(["u", "v", "w"], len(X)))
    model = lightgbm.LGBMRegressor(n_estimators=9, verbose=-1).fit(frame, y)
    fast = EarlyExitRegressor(model).fit(frame)
    other = frame.assign(kind=pd.Categorical(np.resize(["w", "new", "u"], len(X))))
    for some in (frame, other):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))
    np.testing.assert_array_equal(fast.predict_one(frame.iloc[3].to_dict()), model.predict(frame[3:4])[0])


def test_objectives_of_ones_own():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    X, y = rows()

    def squares(y, z):
        return z - y, np.ones_like(y)

    model = lightgbm.LGBMRegressor(n_estimators=5, objective=squares, verbose=-1).fit(X, y)
    require_own(EarlyExitRegressor(model).fit(), model, X)
    model = xgboost.XGBRegressor(n_estimators=5, booster="gblinear").fit(np.nan_to_num(X), y)
    with pytest.raises(TypeError, match="gblinear"):
        EarlyExitRegressor(model).fit()
    model = lightgbm.LGBMRegressor(n_estimators=5, linear_tree=True, verbose=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"linear leaves \(linear_tree\).*Train it with linear_tree=False"):
        EarlyExitRegressor(model).fit()


def test_survival_times_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y = rows("survival:cox")
    data = xgboost.DMatrix(X)
    data.set_float_info("label_lower_bound", y)
    data.set_float_info("label_upper_bound", np.where(y > 1, np.inf, y))
    booster = xgboost.train({"objective": "survival:aft"}, data, 9)
    for model in (booster, wald.read_model(bytes(booster.save_raw("ubj")))):
        np.testing.assert_array_equal(EarlyExitRegressor(model).fit().predict(X), booster.predict(xgboost.DMatrix(X)))


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_targets_of_xgboost(strategy):
    xgboost = pytest.importorskip("xgboost")
    X, y = rows()
    for options in ({}, {"num_parallel_tree": 3}, {"grow_policy": "lossguide", "base_score": 0.3}, {"max_depth": 0}):
        model = xgboost.XGBRegressor(n_estimators=9, multi_strategy=strategy, **options)
        model.fit(X, np.column_stack([y, -y, y**2]))
        require_own(EarlyExitRegressor(model).fit(), model, X)
        read = wald.read_model(bytes(model.get_booster().save_raw("json")))
        np.testing.assert_array_equal(read.predict(X), model.predict(X))
    classes = np.digitize(y, [-1, 0])
    model = xgboost.XGBClassifier(n_estimators=9, multi_strategy=strategy).fit(X, classes)
    fast = EarlyExitClassifier(model, risk=0).fit()
    np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))


def test_damaged_trees_of_several_values():
    xgboost = pytest.importorskip("xgboost")
    X, y = rows()
    model = xgboost.XGBRegressor(n_estimators=1, max_depth=2, multi_strategy="multi_output_tree")
    whole = json.loads(model.fit(X, np.column_stack([y, -y])).get_booster().save_raw("json"))

    def damaged(change):
        other = copy.deepcopy(whole)
        change(other["learner"]["gradient_booster"]["model"]["trees"][0])
        return json.dumps(other)

    for change, words in (
        (lambda tree: tree.pop("leaf_weights"), "3.2 and later"),
        (lambda tree: tree["leaf_weights"].pop(), "no XGBoost model"),
        (lambda tree: tree["right_children"].__setitem__(-1, 99), "A leaf of this XGBoost model is out of range"),
        (lambda tree: tree["right_children"].__setitem__(0, -1), "do not fit together"),
    ):
        with pytest.raises(ValueError, match=words):
            wald.read_model(damaged(change))


def test_categories_that_are_declared_and_not_used():
    pd = pytest.importorskip("pandas")
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    X, y = rows()
    kinds = np.resize(["u", "v", "w", "v"], len(X))
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(kinds)})
    one = lightgbm.LGBMRegressor(n_estimators=9, verbose=-1)
    other = xgboost.XGBRegressor(n_estimators=9, enable_categorical=True)
    for model in (one.fit(frame, y), other.fit(frame, y)):
        fast = EarlyExitRegressor(model).fit(frame)
        for categories in (["new", "u", "v", "w"], ["w", "v", "u", "zebra"]):
            declared = frame.assign(kind=pd.Categorical(kinds, categories=categories))
            np.testing.assert_array_equal(fast.predict(declared), model.predict(frame))
            with contextlib.suppress(
                xgboost.core.XGBoostError
            ):  # it refuses the second ones, which are not used either
                np.testing.assert_array_equal(fast.predict(declared), model.predict(declared))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(400))
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    make, objectives = (lightgbm_model, LIGHTGBM) if seed % 2 else (xgboost_model, XGBOOST)
    options = {"learning_rate": float(rng.choice([0.01, 0.3, 1.0])), "max_depth": int(rng.integers(1, 9))}
    if make is lightgbm_model:
        options |= {"num_leaves": int(rng.integers(2, 60)), "min_child_samples": int(rng.integers(1, 40))}
    model, X = make(objectives[seed % len(objectives)], seed, **options)
    fast = EarlyExitRegressor(model).fit(X if rng.random() < 0.5 else None)
    new = rng.normal(size=(300, 5)) * rng.choice([1e-3, 1, 1e3])
    require_own(fast, model, X)
    require_own(fast, model, new)
