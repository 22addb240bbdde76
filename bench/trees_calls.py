"""How rows arrive: one row a call, a hundred, and whole data frames, with the LightGBM model of `trees_wide`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from wald import EarlyExitClassifier

from .frames import FRAMES
from .models import CACHE, RISK, digits, kept, wrap
from .peers import optional, ours, with_threads
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure
from .tree_plans import OneRow, Rows
from .trees_wide import TRAIN, digit_lightgbm

TITLE = "LightGBM, 500 trees, digit 8 against the rest: one row, 100 rows and frames; 1 thread"
RISKS = (0.0, RISK)
ONE_ROWS, FEW_ROWS = 1000, 100

Plans = dict[float, EarlyExitClassifier]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data, model = digits(), digit_lightgbm()
    plans = {risk: with_threads(wrap(model, data.X[TRAIN:], risk=risk), 1) for risk in RISKS}
    X = data.X_test[: how.rows(10_000, 2_000)]
    return [
        *_one_row(plans, model.booster_, X, how),
        *_few_rows(plans, model.booster_, X, how),
        *_frames(model, data.X[TRAIN:], X, how),
    ]


def _one_row(plans: Plans, booster: Any, X: Rows, how: Run) -> list[Figure]:
    tables = [X[i : i + 1] for i in range(ONE_ROWS)]
    calls: dict[str, OneRow] = {
        f"risk {100 * risk:g} %: predict_one": lambda row, fast=fast: fast.predict_one(row[0])  # type: ignore[misc]
        for risk, fast in plans.items()
    }
    peers = _one_row_peers(booster)
    times = {name: _seconds(call, tables, how) for name, call in {**calls, **peers}.items()}
    return [
        Figure(f"{name}, median", 1e6 * times[name], "us", note=f"{ONE_ROWS} rows") for name in (*calls, *peers)
    ] + [Figure(f"{name}, speed", times[peer] / times[name], "x", peer) for name in calls for peer in peers]


def _seconds(call: OneRow, tables: list[Rows], how: Run) -> float:
    """Median over the rows; the first pass is not counted."""
    each_call(lambda i: call(tables[i]), len(tables), 1)
    return float(np.median(each_call(lambda i: call(tables[i]), len(tables), how.repeats)))


def _one_row_peers(booster: Any) -> dict[str, OneRow]:
    """Peers that are installed."""
    peers: dict[str, OneRow] = {"Booster.predict": lambda row: booster.predict(row, num_threads=1)}
    if (daal4py := optional("daal4py")) is not None and (convert := optional("daal4py.mb")) is not None:
        daal4py.daalinit(1)
        peers["oneDAL"] = convert.convert_model(booster).predict
    if optional("lleaves") is not None:
        compiled = _lleaves(booster)
        peers["lleaves"] = lambda row: compiled.predict(row, n_jobs=1)
    if optional("onnxruntime") is not None and optional("onnxmltools") is not None:
        session = _onnx(booster)
        peers["ONNX Runtime"] = lambda row: session.run(["label"], {"X": row})
    return peers


def _lleaves(booster: Any) -> Any:
    """Compile the model with lleaves, which takes a minute, or load what it compiled before."""
    import lleaves

    library = CACHE / f"trees-lightgbm-{version('lightgbm')}-lleaves-{version('lleaves')}.o"
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "model.txt"
        booster.save_model(text)
        compiled = lleaves.Model(model_file=str(text))
        compiled.compile(cache=str(library))
    return compiled


def _onnx(booster: Any) -> Any:
    """Convert the model to ONNX, whose runtime compares in float32."""
    import onnxruntime

    def convert() -> bytes:
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        columns = FloatTensorType([None, booster.num_feature()])
        onnx = convert_lightgbm(booster, initial_types=[("X", columns)], zipmap=False)
        return bytes(onnx.SerializeToString())

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        kept("trees-lightgbm-onnx", convert, "onnxmltools"), options, providers=["CPUExecutionProvider"]
    )


def _few_rows(plans: Plans, booster: Any, X: Rows, how: Run) -> list[Figure]:
    batches = [X[i : i + FEW_ROWS] for i in range(0, len(X), FEW_ROWS)]

    def cycling(predict: Callable[[Rows], object]) -> Task:
        rows = cycle(batches)
        return Task(lambda: predict(next(rows)), 1)

    tasks = {f"ours {risk}": cycling(fast.predict) for risk, fast in plans.items()}
    t = measure({**tasks, "peer": cycling(lambda rows: booster.predict(rows, num_threads=1))}, how.repeats)
    return [
        Figure(
            f"risk {100 * risk:g} %: speed, {FEW_ROWS} rows a call",
            t["peer"].median / t[f"ours {risk}"].median,
            "x",
            "Booster.predict",
            f"{1e6 * t[f'ours {risk}'].median:.4g} us; peer {1e6 * t['peer'].median:.4g} us",
        )
        for risk in plans
    ]


def _frames(model: Any, X_fit: Rows, X: Rows, how: Run) -> list[Figure]:
    """Frames, with plans that were made for rows in the same form."""
    figures, booster = [], model.booster_
    for library, frame_of in FRAMES.items():
        frame, frame_fit = frame_of(X), frame_of(X_fit)
        plans = {risk: with_threads(wrap(model, frame_fit, risk=risk), 1) for risk in RISKS}
        theirs = frame.to_arrow() if library == "polars" else frame
        tasks = {f"ours {risk}": ours(fast, frame, 1) for risk, fast in plans.items()}
        tasks["peer"] = Task(lambda theirs=theirs: booster.predict(theirs, num_threads=1), 1)  # type: ignore[misc]
        t = measure(tasks, how.repeats)
        figures += [
            Figure(
                f"risk {100 * risk:g} %: speed, {library} frame of {len(X)} rows",
                t["peer"].median / t[f"ours {risk}"].median,
                "x",
                "Booster.predict of its Arrow table" if library == "polars" else "Booster.predict of the frame",
                f"{1e3 * t[f'ours {risk}'].median:.4g} ms; peer {1e3 * t['peer'].median:.4g} ms",
            )
            for risk in plans
        ]
    return figures
