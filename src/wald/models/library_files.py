"""Files of LightGBM, XGBoost and CatBoost, read without these libraries."""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..sources.schema import Library
from .readers.catboost import catboost_json, read_catboost_model, require_numeric
from .readers.catboost_values import catboost_reading
from .readers.library_values import lightgbm_reading, xgboost_reading
from .readers.lightgbm import read_lightgbm_text
from .readers.xgboost import read_xgboost_model
from .reading import Reading
from .tree_classifier import TreeClassifier
from .tree_regressor import TreeRegressor
from .trees import TreeTerms

#: The first bytes of LightGBM's text, of CatBoost's binary format, and of gzip.
TEXT, BINARY, GZIP = b"tree\n", b"CBM1", b"\x1f\x8b\x08"

#: Byte order marks, and the encodings that they stand for.
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

#: A compressed file may be so many times as large when it is read.
MOST_EXPANSION = 200

MOST_CHARACTERS = 1000  #: Of a message.

SAVE = (
    "wald reads LightGBM's model.txt (Booster.save_model), XGBoost's .json and .ubj (save_model) and CatBoost's .json "
    "(save_model(path, format='json'))"
)


def is_library_file(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a library's model.

    Parameters
    ----------
    start : bytes
        The first 512 bytes, or all there are.
    """
    if start.startswith(GZIP):
        try:
            start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, 16)
        except zlib.error:
            return False
    start = _without_mark(start[: len(start) & ~1] if start[:2] in MARKS else start)
    return start.replace(b"\r", b"").startswith((TEXT, BINARY)) or start.lstrip()[:1] == b"{"


def read_model(source: str | os.PathLike[str] | bytes) -> TreeClassifier | TreeRegressor:
    """Read a classifier from a file of LightGBM, XGBoost or CatBoost, without its library.

    The kind of file is told by its contents.

    Parameters
    ----------
    source : path, str or bytes
        LightGBM's ``model.txt``; XGBoost's ``.json`` or ``.ubj``; CatBoost's ``.json``. Or its contents. A byte order
        mark is left out, and gzip is unpacked. CatBoost's ``.cbm`` is read by CatBoost itself, which must be installed;
        read such a file only if you trust it.

    Returns
    -------
    TreeClassifier or TreeRegressor
        Its answers are those of the library. `EarlyExitClassifier`, `EarlyExitRegressor` and `EarlyExitRanker` take it
        as it is.

    Raises
    ------
    ValueError
        If it is no such file, is damaged, or holds a model whose objective wald does not know.
    ImportError
        For a ``.cbm`` file, if CatBoost is not installed.
    OSError
        If the file cannot be read.

    See Also
    --------
    wald.EarlyExitClassifier : Serves the model, with early exits.
    """
    raw = _contents(source)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused where it matters
            return _read(raw)
    except (TypeError, ValueError) as error:
        message = str(error)  # which may quote the file
        if isinstance(error, ValueError) and len(message) <= MOST_CHARACTERS:
            raise
        raise ValueError(message[:MOST_CHARACTERS] + "…" * (len(message) > MOST_CHARACTERS)) from None
    except (ZeroDivisionError, RecursionError) as error:
        raise ValueError(f"This model file cannot be read: {error}.") from None


def _contents(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        raw = bytes(source)
    elif isinstance(source, str) and ("\n" in source or source.lstrip()[:1] == "{"):
        raw = source.encode()
    elif isinstance(source, str) and len(source) > MOST_CHARACTERS:
        raise ValueError(f"source is a text of {len(source)} characters, which is neither a path nor a model: {SAVE}.")
    else:
        raw = Path(source).read_bytes()
    if raw.startswith(GZIP):
        raw = _unpacked(raw)
    return _without_mark(raw)


def _unpacked(raw: bytes) -> bytes:
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpacking.decompress(raw, MOST_EXPANSION * len(raw))
    except zlib.error as error:
        raise ValueError(f"This gzip file is damaged: {error}.") from None
    if not unpacking.eof:
        state = "cut off" if not unpacking.unconsumed_tail else f"more than {MOST_EXPANSION} times as large inside"
        raise ValueError(f"This gzip file is {state}. Unpack it first.")
    return found


def _without_mark(raw: bytes) -> bytes:
    for mark, encoding in MARKS.items():
        if raw.startswith(mark):
            try:
                return raw[len(mark) :] if encoding == "utf-8" else raw[len(mark) :].decode(encoding).encode()
            except UnicodeDecodeError as error:
                raise ValueError(f"This text of a model is damaged: {error.reason}.") from None
    return raw


def _read(raw: bytes) -> TreeClassifier | TreeRegressor:
    if raw[:7].replace(b"\r", b"").startswith(TEXT):
        return _lightgbm(raw)
    if raw.startswith(BINARY):
        return _catboost(_from_binary(raw))
    if raw.lstrip()[:1] == b"{":
        # CatBoost's documents have these two members, and XGBoost's have others.
        if b'"features_info"' in raw and b'"scale_and_bias"' in raw:
            return _catboost(raw)
        _refuse_dumps(raw)
        return _xgboost(raw)
    raise ValueError(f"This is no model of LightGBM, XGBoost or CatBoost: {SAVE}.")


def _refuse_dumps(raw: bytes) -> None:
    """Raise ValueError for JSON that describes a model, and is none."""
    if b'"tree_info"' in raw and b'"learner"' not in raw:
        found = "what LightGBM's dump_model writes, which LightGBM cannot read back"
    elif b"learner" not in raw:
        found = "no model of LightGBM, XGBoost or CatBoost"
    elif b'"learner"' in raw and b'"trees"' not in raw and b'"weights"' not in raw:
        found = "XGBoost's settings (save_config) without its trees"
    else:
        return
    raise ValueError(f"This JSON is {found}: {SAVE}.")


def _lightgbm(raw: bytes) -> TreeClassifier | TreeRegressor:
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"This text of a LightGBM model is damaged: {error}.") from None
    return _made(lightgbm_reading(read_lightgbm_text(text), "This LightGBM file"), "lightgbm")


def _xgboost(raw: bytes) -> TreeClassifier | TreeRegressor:
    read = read_xgboost_model(raw)
    if read.best_iteration is not None:
        read = read_xgboost_model(raw, read.best_iteration)
    return _made(xgboost_reading(read, "An XGBoost file"), "xgboost")


def _catboost(raw: bytes) -> TreeClassifier | TreeRegressor:
    return _made(catboost_reading(read_catboost_model(raw), "A CatBoost file"), "catboost")


def _made(reading: Reading, library: Library) -> TreeClassifier | TreeRegressor:
    if reading.decision.valued:
        return TreeRegressor(reading, library)
    mean = library == "lightgbm" and isinstance(reading.terms, TreeTerms) and reading.terms.divisor != 1
    return TreeClassifier(reading, library, summed=mean)  # LightGBM's raw scores of a random forest are sums


def _from_binary(raw: bytes) -> bytes:
    """Convert CatBoost's binary format to JSON, by CatBoost."""
    try:
        import catboost  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            "This is CatBoost's binary format (.cbm), which needs catboost, which is not installed: pip install "
            "catboost. Or save the model there by save_model(path, format='json')."
        ) from None
    model: Any = catboost.CatBoost()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        path.write_bytes(raw)
        try:
            model.load_model(str(path))
        except catboost.CatBoostError as error:
            raise ValueError(f"CatBoost cannot read this file: {error}.") from None
    require_numeric(model)
    return catboost_json(model)
