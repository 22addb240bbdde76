"""Rows as people have them: flights with columns of text, behind a ColumnTransformer, in every container."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from wald import EarlyExitClassifier

from .peers import ours
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

TITLE = "Flights that arrive late, 7 or 8 columns of text and 19 of numbers, whole pipelines at risk 0; 1 thread"
TEXTS = ["carrier", "origin", "dest", "type", "manufacturer", "model", "engine"]
NUMBERS = [
    *("month", "day", "sched_dep_time", "sched_arr_time", "flight", "distance", "hour", "minute", "temp", "dewp"),
    *("humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib", "built", "seats"),
]
TAIL = "tailnum"
TEST, TEST_TREES, TRAIN, ONE_ROWS = 200_000, 50_000, 60_000, 500
RARE = 50
RISK = 0.005


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    flights = joined_flights()
    late = (flights["arr_delay"] > 15).to_numpy()
    test = slice(how.rows(TEST, 20_000))
    train = slice(TEST, TEST + TRAIN)
    figures = []
    for name, encoder, texts, model, rows in _models(test):
        X = flights[texts + NUMBERS]
        others = ("numbers", _numbers(name), NUMBERS)
        pipeline = make_pipeline(ColumnTransformer([("texts", encoder, texts), others]), model)
        pipeline.fit(X[train], late[train])
        figures += _containers(name, pipeline, X[rows], texts, how)
        if isinstance(model, LogisticRegression):
            figures += _early(name, pipeline, X[train.stop :], X[rows], texts, how)
        figures += _one_dict(name, pipeline, X[:ONE_ROWS], how)
    return figures


def _models(test: slice) -> list[tuple[str, Any, list[str], Any, slice]]:
    from lightgbm import LGBMClassifier

    some, every = slice(min(test.stop, TEST_TREES)), [*TEXTS, TAIL]
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    rare = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE, sparse_output=False)
    return [
        ("one-hot, logistic", OneHotEncoder(handle_unknown="ignore"), TEXTS, LogisticRegression(max_iter=200), test),
        *(
            (f"ordinal, LightGBM {n}", ordinal, every, LGBMClassifier(n_estimators=n, n_jobs=1, verbose=-1), some)
            for n in (100, 500)
        ),
        ("one-hot, HistGradientBoosting", rare, every, HistGradientBoostingClassifier(random_state=0), some),
        ("target, HistGradientBoosting", TargetEncoder(), every, HistGradientBoostingClassifier(random_state=0), some),
    ]


def _numbers(name: str) -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler()) if "logistic" in name else "passthrough"


def _containers(name: str, pipeline: Any, X: pd.DataFrame, texts: list[str], how: Run) -> list[Figure]:
    """The same rows in four containers, each beside the pipeline's own `predict` of it."""
    figures = []
    for container, frame_of in FRAMES.items():
        frame = frame_of(X, texts)
        fast = EarlyExitClassifier(pipeline, risk=0, n_jobs=1).fit(frame[:2000])
        if not np.array_equal(fast.predict(frame), pipeline.predict(frame)):
            raise RuntimeError(f"{name}, {container}: labels differ from the pipeline's")
        peer = Task(partial(pipeline.predict, frame), 1)
        t = measure({"ours": ours(fast, frame, 1), "peer": peer}, how.repeats)
        each = {who: 1e9 * t[who].median / len(X) for who in t}
        figures.append(
            Figure(
                f"{name}: speed, {container}",
                each["peer"] / each["ours"],
                "x",
                "pipeline.predict",
                f"{each['ours']:.3g} ns a row; peer {each['peer']:.4g} ns; {len(X)} rows",
            )
        )
    return figures


def _early(name: str, pipeline: Any, fit: pd.DataFrame, X: pd.DataFrame, texts: list[str], how: Run) -> list[Figure]:
    """The same rows at a small risk, beside risk 0; fitted on rows that the pipeline has not seen."""
    figures = []
    for container, frame_of in FRAMES.items():
        frame, own = frame_of(X, texts), frame_of(fit, texts)
        exact = EarlyExitClassifier(pipeline, risk=0, n_jobs=1).fit(own[:2000])
        early = EarlyExitClassifier(pipeline, risk=RISK, n_jobs=1, random_state=0).fit(own)
        t = measure({"early": ours(early, frame, 1), "exact": ours(exact, frame, 1)}, how.repeats)
        differ = np.mean(early.predict(frame) != exact.predict(frame))
        figures.append(
            Figure(
                f"{name}, risk {RISK}: speed, {container}",
                t["exact"].median / t["early"].median,
                "x",
                "wald, risk=0",
                f"{1e9 * t['early'].median / len(X):.3g} ns a row; {100 * differ:.2g} % differ; {len(X)} rows",
            )
        )
    return figures


def _one_dict(name: str, pipeline: Any, X: pd.DataFrame, how: Run) -> list[Figure]:
    """Rows as dicts, one a call."""
    fast = EarlyExitClassifier(pipeline, risk=0, n_jobs=1).fit(X)
    records = [dict(zip(X.columns, row, strict=True)) for row in X.to_numpy(dtype=object).tolist()]
    frames = [pd.DataFrame([record]).astype(X.dtypes) for record in records[:20]]

    def seconds(call: Callable[[int], object], n: int) -> float:
        each_call(call, n, 1)
        return float(np.median(each_call(call, n, how.repeats)))

    own = seconds(lambda i: fast.predict_one(records[i]), len(records))
    peer = seconds(lambda i: pipeline.predict(frames[i]), len(frames))
    return [
        Figure(f"{name}: predict_one of a dict, median", 1e6 * own, "us", note=f"{len(records)} rows"),
        Figure(f"{name}: predict_one of a dict, speed", peer / own, "x", "pipeline.predict of a frame of one row"),
    ]


def _pandas(X: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    return X.astype(dict.fromkeys(texts, object))


def _polars(X: pd.DataFrame, texts: list[str]) -> pl.DataFrame:
    columns = {c: X[c].astype(object).where(X[c].notna(), None).tolist() for c in texts}
    return pl.DataFrame(columns | {c: X[c].to_numpy() for c in X.columns if c not in columns}).select(list(X.columns))


FRAMES: dict[str, Callable[[pd.DataFrame, list[str]], Any]] = {
    "pandas, object": _pandas,
    "pandas, str": lambda X, texts: X.astype(dict.fromkeys(texts, "str")),
    "pandas, category": lambda X, texts: X.astype(dict.fromkeys(texts, "category")),
    "polars": _polars,
}


def joined_flights() -> pd.DataFrame:
    """Flights that arrived, with the weather and the aircraft, in a random order; NaN where a text is missing."""
    folder = Path(os.environ["WALD_DATA"]) / "flights"
    flights, weather = pd.read_csv(folder / "flights.csv.zip"), pd.read_csv(folder / "weather.csv.gz")
    planes = pd.read_csv(folder / "planes.csv.gz").rename(columns={"year": "built"})
    hours = weather.drop(columns=["year", "month", "day", "hour"])
    joined = flights.merge(hours, on=["origin", "time_hour"], how="left").merge(planes, on=TAIL, how="left")
    joined = joined[joined["arr_delay"].notna()].sample(frac=1.0, random_state=0, ignore_index=True)
    return joined.astype(dict.fromkeys([*TEXTS, TAIL], object))
