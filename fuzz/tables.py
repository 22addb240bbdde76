"""Targets: the files of rows that the commands read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald.commands.errors import UserError
from wald.commands.rows import Reading, RowSchema, read, read_whole

from .alterations import NUMBERS, bytes_altered, packed_altered, text_altered
from .scratch import written
from .target import Target

WIDTH = 3
NAMES = ("a", "b", "größe")
_rng = np.random.default_rng(0)
_X = _rng.normal(size=(40, WIDTH))
_MODEL = wald.EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(_X, _X[:, 0] > 0)), risk=0).fit(_X)

Parts = list[Any]


def _reader(name: str, *readings: Reading, names: tuple[str, ...] | None = None, nan: bool = False) -> Any:
    """Read a file in parts and at once, by each of the user's options; refused if all of them are."""
    schemas = [RowSchema(WIDTH, None, nan), RowSchema(WIDTH, names, nan, sparse=False)]

    def read_all(data: bytes) -> list[Parts]:
        path = written(data, name)
        found, refusal = [], None
        for schema in schemas:
            for reading in readings or (Reading(),):
                try:
                    parts = list(read(path, schema, reading))
                    found.append([*parts, read_whole(path, schema, reading)])
                except UserError as error:
                    refusal = error
        if not found and refusal is not None:
            raise refusal
        return found

    return read_all


def _use(nan: bool) -> Callable[[list[Parts]], None]:
    def use(found: list[Parts]) -> None:
        for *parts, whole in found:
            assert sum(_rows(part.rows).shape[0] for part in parts) == _rows(whole.rows).shape[0] > 0
            assert parts[-1].done == 1.0 or parts[-1].rows.shape[0]
            for part in (*parts, whole):
                rows = _rows(part.rows)
                assert rows.shape[1] == WIDTH
                assert part.groups is None or len(part.groups) == rows.shape[0]
                assert all(len(column) == rows.shape[0] for column in part.kept.values())
                values = rows.data if sparse.issparse(rows) else rows
                if not nan:
                    assert np.isfinite(values).all()
                    if rows.shape[0] < 1000 and abs(values).max(initial=0) < 1e300 and rows.dtype != np.float16:
                        assert np.isin(_MODEL.predict(rows), _MODEL.classes_).all()

    return use


def _rows(rows: Any) -> Any:
    return rows.to_numpy() if hasattr(rows, "to_numpy") else rows


_TEXT = [b",", b";", b"\t", b'"', b'""', b"nan", b"NA", b"inf", b"a", b"\r", b"\xef\xbb\xbf", b"\0", b"1_0", b"0x10"]
_TEXT += ["größe".encode(), "\u0663".encode(), b"\xff", b" ", b"#", b"\n\n"]
_NPY = [b"'<f4'", b"'|O'", b"'<M8[s]'", b"(2**62, 3)", b"(-1, 3)", b"(3,)", b"True", b"{", b"}", b"(", b"'", b"\x02"]
_SVM = [b"qid:1", b"0:1", b"1:1", b"3:1", b"4:1", b"-1:1", b"99999999999:1", b"#", b":", b"1:nan", b"1:1e999", b"\0"]
_ASIDE = Reading(groups="g", keep=("id",))

TARGETS = [
    Target(
        "csv",
        _reader("rows.csv", Reading(), _ASIDE, Reading(header=False, separator=";"), names=NAMES, nan=True),
        _use(True),
        (UserError,),
        packed_altered(text_altered([*NUMBERS, *_TEXT])),
    ),
    Target(
        "svmlight",
        _reader("rows.svm", Reading(), Reading(zero_based=True)),
        _use(False),
        (UserError,),
        packed_altered(text_altered([*NUMBERS, *_SVM])),
    ),
    Target("npy", _reader("rows.npy", Reading(), Reading(drop=("0",))), _use(False), (UserError,), bytes_altered(_NPY)),
    Target(
        "parquet", _reader("rows.parquet", Reading(), _ASIDE, names=NAMES), _use(False), (UserError,), bytes_altered()
    ),
]
