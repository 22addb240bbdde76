"""Warnings name the line of the user's code that called wald, at every door."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands.running import done
from kinds.parameters import nested
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier, Planner
from wald.monitoring import DriftWarning, Monitor
from wald.online import AttentivePerceptron

PACKAGE = Path(wald.__file__).parent
X, y = make_classification(8000, 6, n_informative=4, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.fixture(scope="module")
def fast() -> EarlyExitClassifier:
    model = LogisticRegression().fit(FRAME[:1000], y[:1000])
    early = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), random_state=0).fit(
        FRAME[1000:7000]
    )
    assert not early.plan_.evaluate_all
    return early


def served_until_it_warns(predict: Callable[[EarlyExitClassifier, np.ndarray], object]) -> Callable[[Any], object]:
    """Calls of `predict` with rows that are not like those of fit."""
    rows = np.zeros((400, 6))

    def serve(fast: EarlyExitClassifier) -> None:
        watched = fast.watched(0.0)
        for _ in range(5):
            predict(watched, rows)

    return serve


DOORS: dict[str, Callable[[EarlyExitClassifier, np.ndarray], object]] = {
    "predict": lambda fast, rows: fast.predict(rows),
    "predict of a frame": lambda fast, rows: fast.predict(pd.DataFrame(rows, columns=list("abcdef"))),
    "predict_one": lambda fast, rows: [fast.predict_one(row) for row in rows],
    "predict_one of a dict": lambda fast, rows: [fast.predict_one(dict(zip("abcdef", r, strict=True))) for r in rows],
    "predict_records": lambda fast, rows: fast.predict_records([dict(zip("abcdef", r, strict=True)) for r in rows]),
}


def caught_from(call: Callable[[], object], category: type[Warning]) -> list[str]:
    """Files that the warnings of a call name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [w.filename for w in caught if issubclass(w.category, category)]


@pytest.mark.parametrize("door", DOORS)
def test_news_of_the_monitor_name_the_line_that_predicts(fast, door) -> None:
    assert caught_from(lambda: served_until_it_warns(DOORS[door])(fast), DriftWarning) == [__file__]


def test_news_in_a_job_name_the_line_that_runs_it(fast, tmp_path) -> None:
    pytest.importorskip("pyarrow")
    from wald.jobs.run import Options, run

    (tmp_path / "rows").mkdir()
    pd.DataFrame(np.zeros((2000, 6)), columns=list("abcdef")).to_parquet(tmp_path / "rows" / "a.parquet")
    watched = fast.watched(0.0)

    def job() -> None:
        run(watched, [str(tmp_path / "rows")], tmp_path / "out", model="m", options=Options())

    assert caught_from(job, DriftWarning) == [__file__]


def test_commands_print_the_news_as_a_line(fast, tmp_path) -> None:
    wald.save(fast.watched(0.0), tmp_path / "m.wald")
    np.save(tmp_path / "rows.npy", np.zeros((2000, 6)))
    told = done("predict", tmp_path / "m.wald", tmp_path / "rows.npy", "-o", tmp_path / "labels.npy")
    lines = [line for line in told.stderr.splitlines() if "Served rows are not like" in line]
    assert len(lines) == 1
    assert lines[0].startswith("wald predict: ")


def test_news_in_the_service_do_not_name_its_own_code(fast) -> None:
    pytest.importorskip("starlette")
    httpx = pytest.importorskip("httpx")
    import asyncio

    app = wald.serving.create_app(fast.watched(0.0))

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://wald") as asking:
            for _ in range(5):
                await asking.post("/predict", json={"rows": np.zeros((400, 6)).tolist()})

    (found,) = caught_from(lambda: asyncio.run(ask()), DriftWarning)
    assert PACKAGE not in Path(found).parents


def test_news_of_a_monitor_by_itself_name_the_line_that_records() -> None:
    broken, fresh = (Monitor(0.01, [1, 2], [90, 10], audit_rate=1.0) for _ in range(2))
    assert caught_from(lambda: broken.record([100, 0], 100, 50), DriftWarning) == [__file__]
    assert caught_from(lambda: fresh.merge(broken), DriftWarning) == [__file__]


def frozen(model: Any, **params: Any) -> EarlyExitClassifier:
    return EarlyExitClassifier(FrozenEstimator(model), **nested(random_state=0, **params))


def own_class() -> EarlyExitClassifier:
    class Own(LogisticRegression):
        """A class that no file describes."""

    return frozen(Own().fit(X[:500], y[:500]), risk=0.05).fit(X[500:])


SVC_FITTED = SVC().fit(X[:1000], y[:1000])
CALLS: dict[str, tuple[Callable[[], object], type[Warning]]] = {
    "fit: too few rows": (lambda: frozen(SVC_FITTED, risk=0.001).fit(X[1000:1100]), UserWarning),
    "fit: training rows": (lambda: frozen(SVC_FITTED, risk=0.05).fit(X[:1000]), UserWarning),
    "recertify: too few rows": (
        lambda: frozen(SVC_FITTED, risk=0.05, cost="units").fit(X[1000:6000]).recertify(X[6000:6010]),
        UserWarning,
    ),
    "fit: the estimator is fitted": (
        lambda: EarlyExitClassifier(LogisticRegression().fit(X, y), risk=0.05, random_state=0).fit(X, y),
        UserWarning,
    ),
    "online: not converged": (
        lambda: AttentivePerceptron(max_iter=1, random_state=0).fit(X[:500], y[:500]),
        ConvergenceWarning,
    ),
    "save: terms alone": (lambda: wald.persistence.to_bytes(own_class()), UserWarning),
}


@pytest.mark.parametrize("what", CALLS)
def test_other_warnings_name_the_line_that_calls(what) -> None:
    call, category = CALLS[what]
    found = caught_from(call, category)
    assert found
    assert set(found) == {__file__}


def test_a_rare_class_is_told_at_the_line_of_fit() -> None:
    rows, labels = make_classification(20_000, 6, n_informative=4, weights=[0.97], flip_y=0, random_state=0)
    forest = RandomForestClassifier(20, random_state=0).fit(rows[:2000], labels[:2000])
    found = caught_from(lambda: frozen(forest, risk=0.02, cost="units").fit(rows[2000:]), UserWarning)
    assert set(found) == {__file__}


def test_no_part_of_the_package_counts_frames_by_hand() -> None:
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text if "warnings.warn" in text else "")):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                raise AssertionError(f"{file}:{node.lineno}: use wald.utils.warn.warn_caller")
