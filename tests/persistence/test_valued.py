"""Regressors, rankers and outlier detectors in files: the answers are those of before, to the last bit."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from persistence.test_fuzz import mutated
from persistence.valued import MAKERS, TEXTS, X, Y, detector, made
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor, IsolationForest, VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

import wald
from wald import EarlyExitOutlierDetector, EarlyExitRegressor
from wald.early_exit.estimators import ESTIMATORS
from wald.models import TreeRegressor
from wald.persistence import FileFormatError, container, from_bytes, to_bytes
from wald.persistence.parameters import PARAMETERS

FUZZED = (
    *("hist poisson", "forest of several", "svr", "target of trees", "isolation forest", "one class"),
    *("gaussian process", "scaled vote", "bagging of columns"),
)


def same(one: Any, other: Any) -> None:
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", MAKERS)
def test_answers_come_back(name):
    fast, model, rows = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = to_bytes(fast)
    again = from_bytes(raw)
    assert type(again) is type(fast)
    same(again.predict(rows), fast.predict(rows))
    assert to_bytes(fast) == raw
    same(again.estimator_.predict(rows), model.predict(rows))
    assert again.get_params()["n_jobs"] is None
    if isinstance(fast, EarlyExitOutlierDetector):
        assert again.risk == fast.risk
        assert str(again.certificate_) == str(fast.certificate_)
        same(again.score_samples(rows), model.score_samples(rows))
        same(again.decision_function(rows), model.decision_function(rows))
        same(again.predict(rows, return_cost=True)[1], fast.predict(rows, return_cost=True)[1])
    elif rows is not TEXTS and isinstance(rows, np.ndarray):
        same(np.asarray(again.predict_one(rows[7])), np.asarray(fast.predict_one(rows[7])))


@pytest.mark.slow
def test_values_are_the_models_own_in_another_process(tmp_path):
    names = ["hist poisson", "forest of several", "target of trees", "isolation forest in full"]
    for name in names:
        fast, model, rows = made(name)
        wald.save(fast, tmp_path / f"{name}.wald")
        np.save(tmp_path / f"{name}.npy", model.predict(rows))
    np.save(tmp_path / "rows.npy", X)
    program = (
        "import sys, json, numpy as np, wald\n"
        "folder, names = sys.argv[1], json.loads(sys.argv[2])\n"
        "X = np.load(folder + '/rows.npy')\n"
        "for name in names:\n"
        "    found = wald.load(f'{folder}/{name}.wald').predict(X)\n"
        "    own = np.load(f'{folder}/{name}.npy')\n"
        "    assert found.dtype == own.dtype and (found == own).all(), name\n"
        "assert not {'lightgbm', 'xgboost'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), json.dumps(names)], check=True)


def test_rows_that_the_engine_refuses_are_the_models_own():
    fast, model, _ = made("hist poisson")
    odd = np.vstack([X[:5], np.full((2, 5), np.inf), np.full((1, 5), np.nan)])
    same(from_bytes(to_bytes(fast)).predict(odd), model.predict(odd))


def test_every_parameter_has_a_type():
    for shell in ESTIMATORS.values():
        assert {*shell._get_param_names()} - {"estimator", "planner", "surrogates"} <= {*PARAMETERS}, shell


# ---- what a file cannot describe -------------------------------------------------------------------------------------


class Own(Ridge):
    """A class that no file describes."""


def test_a_model_that_no_file_describes_is_needed():
    model = Own().fit(X, Y)
    fast = EarlyExitRegressor(model).fit()
    with pytest.warns(UserWarning, match=r"It promises the values of the estimator \(risk=0\), and is loaded by"):
        raw = to_bytes(fast)
    with pytest.raises(ValueError, match=r"promises the values of the estimator itself .*estimator=\.\.\."):
        from_bytes(raw)


def test_the_models_own_number_for_number(tmp_path):
    path, model = tmp_path / "own.wald", Own().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wald.save(EarlyExitRegressor(model).fit(), path)
    same(wald.load(path, estimator=model).predict(X), EarlyExitRegressor(model).fit().predict(X))
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=Own().fit(X, -Y))


def test_members_that_no_file_describes_are_said(tmp_path):
    model = VotingRegressor([("own", Own()), ("ridge", Ridge())]).fit(X, Y)
    with pytest.raises(ValueError, match=r"without its members.*Own is no class.*pipeline='skops'"):
        to_bytes(EarlyExitRegressor(model).fit())


def test_members_are_compared_number_for_number(tmp_path):
    fast, model, _ = made("vote")
    wald.save(fast, tmp_path / "vote.wald")
    same(wald.load(tmp_path / "vote.wald", estimator=model).predict(X), fast.predict(X))
    other = copy.deepcopy(model)
    other.estimators_[1].steps[-1][1].dual_coef_[0, 3] += 1e-9
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(tmp_path / "vote.wald", estimator=other)


def test_many_members_are_held_and_more_are_refused_before_they_are_written(monkeypatch):
    model = BaggingRegressor(SVR(), 30, max_samples=20, random_state=0).fit(X[:200], Y[:200])
    fast = EarlyExitRegressor(model).fit()
    same(from_bytes(to_bytes(fast)).predict(X), fast.predict(X))
    monkeypatch.setattr(container, "MOST_ARRAYS", 100)
    with pytest.raises(ValueError, match=r"too many parts for a file .* pickle or joblib"):
        to_bytes(fast)


def backwards(values: Any) -> Any:
    return values[:, ::-1] + 1


def test_functions_of_ones_own_are_not_left_out():
    model = TransformedTargetRegressor(Ridge(), transformer=FunctionTransformer(None, backwards), check_inverse=False)
    fast = EarlyExitRegressor(model.fit(X, Y)).fit()
    with pytest.warns(UserWarning, match="inverse_func of FunctionTransformer is no plain value"):
        to_bytes(fast)


def test_skops_holds_the_rest():
    pytest.importorskip("skops")
    fast, model, rows = made("columns of trees")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = to_bytes(fast, pipeline="skops")
    same(from_bytes(raw, trusted=["sklearn.tree._tree.Tree"]).predict(rows), model.predict(rows))


# ---- false content ---------------------------------------------------------------------------------------------------


def altered(name: str, change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(made(name)[0]))
    change(fields, arrays)
    return put_together(fields, arrays)


def kind(value: str) -> Any:
    return lambda fields, arrays: fields.update(kind=value)


def link(**values: Any) -> Any:
    return lambda fields, arrays: fields["estimator"]["link"].update(values)


def output(**values: Any) -> Any:
    return lambda fields, arrays: fields["model"]["output"].update(values)


def trees(value: str) -> Any:
    return lambda fields, arrays: fields["estimator"].update({"class": value})


def other_vectors(fields: Any, arrays: Any) -> None:
    arrays["estimator._n_support"][0] += 1


def fewer_members(fields: Any, arrays: Any) -> None:
    del fields["estimator"]["estimators_"][-1]
    for name in [name for name in arrays if name.startswith("estimator.estimators_.2.")]:
        del arrays[name]


def another_member(fields: Any, arrays: Any) -> None:
    arrays["estimator.estimators_.2.model.terms.coef"][0, 0] += 1e-9


def without_members(fields: Any, arrays: Any) -> None:
    fields["estimator"] = None


def other_rows(fields: Any, arrays: Any) -> None:
    arrays["estimator.alpha_"][3] += 1e-9


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("hist", kind("EarlyExitOutlierDetector"), "parameters has (no|an unknown)"),
        ("hist", kind("EarlyExitClassifier"), "parameters has (no|an unknown)"),
        ("isolation forest", kind("EarlyExitRegressor"), "parameters has (no|an unknown)"),
        ("hist", kind("EarlyExit"), "kind should be one of"),
        ("hist", link(kind="softmax"), "kind should be one of identity"),
        ("hist", link(type="Link"), "unknown|kind"),
        ("hist", trees("TreeDetector"), "a TreeDetector has another link"),
        ("hist", trees("Ridge"), "unknown"),
        ("hist", output(n_values=2), "shape"),
        ("hist", output(n_values=0), "n_values must be positive"),
        ("hist", output(n_values=10**9), "more than 10000 values"),
        ("isolation forest in full", link(usual=-1.0), "link does not fit the output"),
        ("svr", other_vectors, "does not add up"),
        ("vote", fewer_members, "other terms than the file"),
        ("vote", another_member, "other terms than the file"),
        ("vote", without_members, "lacks the members"),
        ("gaussian process", other_rows, "other terms than the file|does not answer"),
    ],
)
def test_false_content_is_refused(name, change, words):
    with pytest.raises(FileFormatError, match=words):
        from_bytes(altered(name, change))


def answer(loaded: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = X[:8, : loaded.n_features_in_]
        found = loaded.predict(rows, check_input=False) if rows.shape[1] == loaded.n_features_in_ else rows
    assert len(found) == 8


def mutate(names: Any, n: int) -> dict[str, int]:
    rng, outcomes = np.random.default_rng(4), {"refused": 0, "loaded": 0}
    files = [to_bytes(made(name)[0]) for name in names]
    parts = [(json.dumps(fields), arrays) for fields, arrays in map(taken_apart, files)]
    for i in range(n):
        try:
            loaded = from_bytes(mutated(files[i % len(files)], parts[i % len(files)], rng))
        except FileFormatError:
            outcomes["refused"] += 1
        except ValueError as error:
            if "estimator=..." not in str(error):
                raise
            outcomes["refused"] += 1
        else:
            outcomes["loaded"] += 1
            answer(loaded)
    return outcomes


def test_mutated_files():
    outcomes = mutate(FUZZED, 240)
    assert min(outcomes.values()) > 5, outcomes


@pytest.mark.long
def test_many_mutated_files():
    outcomes = mutate([name for name in FUZZED if name in MAKERS], 6000)
    assert min(outcomes.values()) > 100, outcomes


def test_depths_of_a_forest_need_no_rows_of_fit():
    fast = detector(lambda: IsolationForest(n_estimators=8, random_state=0), risk=0)()[0]
    assert type(from_bytes(to_bytes(fast)).estimator_).__name__ == "TreeDetector"
    hist = EarlyExitRegressor(HistGradientBoostingRegressor(max_iter=2).fit(X, Y)).fit()
    assert isinstance(from_bytes(to_bytes(hist)).estimator_, TreeRegressor)
