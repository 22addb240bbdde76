"""Targets: model files of wald's own, of LightGBM, of XGBoost and of CatBoost."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
from persistence.forge import put_together, sealed, taken_apart
from scipy import sparse

import wald
from wald.datasets import make_trees
from wald.models.readers.ubjson import read_ubjson
from wald.structured import ChainClassifier, DependencyParser

from .alterations import NUMBERS, alter_member, bytes_altered, document_altered, text_altered
from .scratch import written
from .target import LONGEST, Target

_TREES = make_trees(2, random_state=0)
_ROWS = np.array([[0.0], [1.0], [-1.5], [1e300], [-1e-320], [0.25]])
_FILE_NUMBERS = (0, 1, -1, 2, 7, 127, 2**31 - 1, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e-320, 1e300, 0.5)


def _rows(d: int) -> Any:
    """A few rows of d features; one sparse row if they are very many."""
    if d > 10_000:
        return sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, d))
    return np.tile(_ROWS, (1, d)) * np.where(np.arange(d) % 2, 1.0, -0.5)


def predict(model: Any) -> None:
    """Check that a model answers: a known label for every row, and finite costs."""
    if isinstance(model, DependencyParser):
        assert model.predict(_TREES).n_words == _TREES.n_words
        return
    if isinstance(model, ChainClassifier):
        (labels,) = model.predict([np.zeros((3, size), dtype=np.float32) for size in model._sizes][:1])
        assert np.isin(labels, model.classes_).all()
        return
    X = _rows(model.n_features_in_)
    if not sparse.issparse(X) and not isinstance(model, wald.EarlyExitClassifier):
        X = np.clip(X, -1e30, 1e30)  # forests refuse what overflows in float32
    if not hasattr(model, "classes_"):  # of a regressor or ranker
        values = model.predict(X, check_input=False)
        assert len(values) == X.shape[0]
        return
    if isinstance(model, wald.EarlyExitClassifier | wald.EarlyExitOutlierDetector):
        names = getattr(model, "feature_names_in_", None)
        if names is not None and sparse.issparse(X):
            return
        labels, cost = model.predict(X, return_cost=True, check_input=False)
        assert np.isin(cost, model.plan_.stage_costs).all()
        if not sparse.issparse(X):
            assert model.predict_one(X[0]) in model.classes_
    else:
        labels = model.predict(X)
    assert labels.shape == (X.shape[0],)
    assert np.isin(labels, model.classes_).all()


def _load(data: bytes) -> Any:
    return wald.load(written(data, "model.wald"))


def _altered_arrays(arrays: dict[str, Any], rng: random.Random) -> None:
    names = list(arrays)
    if not names:
        return
    name = rng.choice(names)
    array = arrays[name]
    match rng.randrange(6):
        case 0 | 1 | 2 if array.size and array.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                value = np.array(float(rng.choice(_FILE_NUMBERS))).astype(array.dtype)
            array.reshape(-1)[rng.randrange(array.size)] = value
        case 3 if array.size:
            array.reshape(-1).view(np.uint8)[rng.randrange(array.nbytes)] ^= np.uint8(1 << rng.randrange(8))
        case 4 if array.ndim:
            arrays[name] = array[: rng.randrange(len(array) + 1)]
        case 5 if array.ndim:
            arrays[name] = np.concatenate([array, array[:1]]) if rng.random() < 0.5 else arrays[rng.choice(names)]


def _sealed_altered(data: bytes, rng: random.Random) -> bytes:
    """Alter the header or the arrays of a file, or its bytes; the checksum is mended most of the time."""
    way = rng.random()
    if way < 0.7:
        try:
            fields, arrays = taken_apart(data)
            for _ in range(rng.choice((1, 1, 2))):
                if way < 0.4:
                    alter_member(fields, rng)
                else:
                    _altered_arrays(arrays, rng)
            return put_together(fields, arrays)[:LONGEST]
        except Exception:  # of bytes that are no file of wald's any more
            pass
    altered = bytes_altered()(data, rng)
    return sealed(altered) if rng.random() < 0.8 else altered


def _plain(value: Any) -> Any:
    """A document of UBJSON as lists and dicts."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(member) for member in value] if isinstance(value, list) else value


def _ubjson(value: Any) -> bytes:
    """Write any document of JSON; lists of numbers as typed arrays, as XGBoost does."""
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
        return b"SL" + struct.pack(">q", len(raw)) + raw
    if isinstance(value, dict):
        return b"{" + b"".join(_ubjson(key)[1:] + _ubjson(member) for key, member in value.items()) + b"}"
    if isinstance(value, list):
        kinds = {type(member) for member in value}
        if kinds == {float}:
            return b"[$d#L" + struct.pack(f">q{len(value)}f", len(value), *value)
        if kinds <= {int} and all(-(2**31) <= member < 2**31 for member in value):
            return b"[$l#L" + struct.pack(f">q{len(value)}i", len(value), *value)
        return b"[" + b"".join(map(_ubjson, value)) + b"]"
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    return b"D" + struct.pack(">d", value) if isinstance(value, float) else b"L" + struct.pack(">q", value)


_LIGHTGBM = [b"num_cat=1", b"decision_type=", b"tree\n", b"Tree=0\n", b"multiclass num_class:3", b"objective=", b"="]
_UBJSON = [b"[$d#L", b"[$l#i", b"[#U", b"$", b"#", b"L" + bytes(8), b"L" + b"\xff" * 8, b"Z", b"{", b"}", b"]", b"S"]

TARGETS = [
    Target("wald", _load, predict, (ValueError, TypeError), _sealed_altered),
    Target("lightgbm", wald.read_model, predict, (ValueError,), text_altered([*NUMBERS, *_LIGHTGBM])),
    Target("xgboost-json", wald.read_model, predict, (ValueError,), document_altered()),
    Target(
        "xgboost-ubj",
        wald.read_model,
        predict,
        (ValueError,),
        document_altered(lambda raw: _plain(read_ubjson(raw)), _ubjson, bytes_altered(_UBJSON)),
    ),
    Target("catboost-json", wald.read_model, predict, (ValueError,), document_altered()),
]
