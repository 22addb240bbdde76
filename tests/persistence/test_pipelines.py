"""Whole pipelines in files: round trips, refusals before anything is built, and archives with false content."""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import wald
from wald.persistence import FileFormatError, from_bytes, to_bytes

pytest.importorskip("skops")

X, Y = make_classification(1500, 8, n_informative=6, class_sep=1.5, random_state=0)


class Doubled(TransformerMixin, BaseEstimator):
    """A user-defined step."""

    built: ClassVar[list[str]] = []

    def __setstate__(self, state: Any) -> None:
        self.built.append("built")
        self.__dict__.update(state)

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return 2 * np.asarray(X)


OWN = f"{Doubled.__module__}.Doubled"


def texts() -> Any:
    rng = np.random.default_rng(0)
    words = np.array([f"wort{i}" for i in range(300)])
    y = rng.integers(0, 2, 1500)
    rows = [" ".join(words[(300 * rng.random(20) ** (1 + 2 * label)).astype(int)]) for label in y]
    return rows, np.array(["nein", "ja"])[y]


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(X, columns=[f"größe {i}" for i in range(8)])
    table["ort"] = rng.choice(["Köln", "Bonn"], 1500)
    steps = ColumnTransformer([("zahl", StandardScaler(), list(table.columns[:8])), ("ort", OneHotEncoder(), ["ort"])])
    return table, Y, make_pipeline(steps, LogisticRegression())


def model_of(name: str) -> Any:
    if name == "texts":
        return *texts(), make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    if name == "texts in three steps":
        return *texts(), make_pipeline(CountVectorizer(), TfidfTransformer(), SVC(C=10, kernel="rbf"))
    if name == "a frame":
        return frame()
    if name == "columns":
        steps = ColumnTransformer([("a", StandardScaler(), [0, 1, 2, 3]), ("b", "passthrough", [5, 6])])
        return X, Y, make_pipeline(steps, SVC())
    if name == "products":
        return X.astype(np.float32), Y, make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=2000))
    return X, Y, make_pipeline(Doubled(), LogisticRegression())


THIN = ["scipy.sparse._csr.csr_matrix"]
NAMES = ("texts", "texts in three steps", "a frame", "columns", "products")


def some(rows: Any, part: slice) -> Any:
    return rows.iloc[part] if hasattr(rows, "iloc") else rows[part]


@cache
def made(name: str) -> Any:
    rows, y, model = model_of(name)
    model.fit(some(rows, slice(0, 500)), y[:500])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.2, planner=wald.Planner(cost="units"), random_state=0
    )
    return fast.fit(some(rows, slice(500, 1300))), some(rows, slice(1300, 1500))


def quietly(fast: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return to_bytes(fast, pipeline="skops")


def forged(name: str, change: Any) -> bytes:
    """A file with another archive in place of its own."""
    fields, arrays = taken_apart(quietly(made(name)[0]))
    raw = change(arrays["estimator.skops"].tobytes())
    return put_together(fields, arrays | {"estimator.skops": np.frombuffer(raw, dtype=np.uint8)})


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_pipeline_comes_back(name: str, tmp_path: Path) -> None:
    fast, rows = made(name)
    path = tmp_path / "fast.wald"
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        wald.save(fast, path, pipeline="skops")
    thin = name == "texts in three steps"  # skops does not trust sparse support vectors either
    assert [str(w.message).count(f"trusted={THIN!r}") for w in record] == [1] * thin
    loaded = wald.load(path, trusted=THIN if thin else [])
    assert loaded.certificate_ == fast.certificate_
    assert loaded.estimator_ is not fast.estimator_
    for n in (1, 5, 200):
        call = some(rows, slice(0, n))
        labels, costs = fast.predict(call, return_cost=True)
        again, same = loaded.predict(call, return_cost=True)
        assert np.array_equal(labels, again)
        assert np.array_equal(costs, same)
        assert again.dtype == labels.dtype
    if hasattr(fast, "predict_proba"):
        assert np.array_equal(fast.predict_proba(rows), loaded.predict_proba(rows))
    assert hasattr(loaded, "predict_proba") == hasattr(fast, "predict_proba")
    for attribute in ("n_features_in_", "feature_names_in_"):
        assert np.array_equal(getattr(loaded, attribute, None), getattr(fast, attribute, None))
    once_more = from_bytes(quietly(loaded), trusted=THIN)
    assert np.array_equal(once_more.predict(rows), fast.predict(rows))


def test_it_is_put_into_files_on_request_only(tmp_path: Path) -> None:
    fast, _ = made("texts in three steps")
    with pytest.raises(ValueError, match=r"'tfidftransformer' \(TfidfTransformer\).*pipeline='skops'"):
        wald.save(fast, tmp_path / "fast.wald")
    with pytest.raises(ValueError, match=r"pipeline must be 'skops' or None\. Got 'pickle'"):
        wald.save(fast, tmp_path / "fast.wald", pipeline="pickle")
    assert not list(tmp_path.iterdir())


def test_models_that_need_no_archive_get_none() -> None:
    model = FrozenEstimator(make_pipeline(StandardScaler(), SVC()).fit(X[:500], Y[:500]))
    fast = wald.EarlyExitClassifier(model, risk=0.2, planner=wald.Planner(cost="units"), random_state=0).fit(X[500:])
    assert to_bytes(fast, pipeline="skops") == to_bytes(fast)


def test_types_that_nobody_trusts_are_refused_by_name(tmp_path: Path) -> None:
    fast, rows = made("own")
    path = tmp_path / "fast.wald"
    with pytest.warns(UserWarning, match=rf"trusted=\['{OWN}'\]") as record:
        wald.save(fast, path, pipeline="skops")
    assert record[0].filename == __file__
    Doubled.built.clear()
    for trusted in ([], ["os.system"]):
        with pytest.raises(
            ValueError, match=rf"harmless: {OWN}\. Nothing of it was built.*trusted=\['{OWN}'\]"
        ) as error:
            wald.load(path, trusted=trusted)
        assert not isinstance(error.value, FileFormatError)
        assert str(path) in str(error.value)
    assert not Doubled.built
    assert np.array_equal(wald.load(path, trusted=[OWN]).predict(rows), fast.predict(rows))
    assert Doubled.built
    with pytest.raises(TypeError, match="trusted must be a list of names"):
        wald.load(path, trusted=OWN)


def test_a_hostile_type_is_refused_by_name() -> None:
    def hostile(raw: bytes) -> bytes:
        schema = zipfile.ZipFile(io.BytesIO(raw)).read("schema.json").decode()
        assert '"TfidfVectorizer"' in schema
        changed = schema.replace('"TfidfVectorizer"', '"system"').replace('"sklearn.feature_extraction.text"', '"os"')
        return archive({**members(raw), "schema.json": changed.encode()})

    with pytest.raises(ValueError, match=r"not known to be harmless: .*os\.system") as error:
        from_bytes(forged("texts", hostile))
    assert "Nothing of it was built" in str(error.value)


def members(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def archive(content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as opened:
        for name, raw in content.items():
            opened.writestr(name, raw)
    return file.getvalue()


def long_array() -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    return file.getvalue()


def compressed(array: Any) -> bytes:
    file = io.BytesIO()
    sparse.save_npz(file, array)
    return file.getvalue()


BOMB = bytes(64 << 20)
LIES = {
    "a bomb": (lambda raw: archive({**members(raw), "bomb": BOMB}), "pipeline, unpacked, would bring .* MiB"),
    "a bomb in an array": (
        lambda raw: archive({**members(raw), "1.npz": compressed(sparse.csr_array(np.ones((1, 1 << 23))))}),
        "pipeline, unpacked, would bring .* MiB",
    ),
    "a long array": (lambda raw: archive({**members(raw), "1.npy": long_array()}), "should have the shape"),
    "another compression": (lambda raw: archive(members(raw), zipfile.ZIP_LZMA), "compressed in another way"),
    "archives within archives": (
        lambda raw: archive({"a": archive({"b": archive({"c": b"d"})})}),
        "archives within archives",
    ),
    "no archive": (lambda raw: b"\x80\x04\x95", "no archive of skops"),
    "cut off": (lambda raw: raw[: len(raw) // 2], "no archive of skops"),
    "no schema": (lambda raw: archive({"a": b"b"}), "no archive of skops"),
    "no JSON": (lambda raw: archive({**members(raw), "schema.json": b"[" * 100_000}), "no archive of skops"),
    "another object": (lambda raw: dumped({"a": 1}), "no model that wald reads"),
    "another model": (lambda raw: dumped(made("columns")[0].estimator_), "other terms than the file"),
    "the last step alone": (lambda raw: dumped(made("texts")[0].estimator_[-1]), "other terms than the file"),
}


def dumped(value: Any) -> bytes:
    from skops.io import dumps

    return bytes(dumps(value))


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", LIES)
def test_archives_that_lie_are_refused(name: str) -> None:
    change, message = LIES[name]
    with pytest.raises(FileFormatError, match=message):
        from_bytes(forged("texts", change))


@pytest.mark.slow
def test_altered_archives_are_refused_or_answer() -> None:
    rng = np.random.default_rng(0)
    _, rows = made("columns")
    problems: list[ValueError] = []

    def altered(raw: bytes) -> bytes:
        changed = bytearray(raw)
        for at in rng.integers(len(raw), size=3):
            changed[at] ^= 1 << rng.integers(8)
        return bytes(changed)

    for _ in range(60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                from_bytes(forged("columns", altered)).predict(rows[:3])
            except ValueError as error:
                problems.append(error)
    assert problems
    # also of types that nobody trusts
    assert all(isinstance(e, FileFormatError) or "not known to be harmless" in str(e) for e in problems)


FIELDS = [
    ("an unknown library", lambda f: f["estimator"].update(archive="pickle"), "archive should be one of skops"),
    ("more than an archive", lambda f: f["estimator"].update({"class": "SVC"}), "unknown 'class'"),
    ("columns that are none", lambda f: f["estimator"].update(n_features_in=-1), "is no number of columns"),
    ("other columns", lambda f: f["estimator"].update(n_features_in=7), "other terms than the file"),
    ("no archive", lambda f: f.update(estimator=None), "n_columns fits no coefficients|unknown"),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])
def test_headers_that_lie_are_refused(change: Any, message: str) -> None:
    fields, arrays = taken_apart(quietly(made("columns")[0]))
    change(fields)
    with pytest.raises(FileFormatError, match=message):
        from_bytes(put_together(fields, arrays))


def test_a_file_with_its_pipeline_takes_no_estimator(tmp_path: Path) -> None:
    fast, _ = made("columns")
    wald.save(fast, tmp_path / "fast.wald", pipeline="skops")
    with pytest.raises(ValueError, match="holds its whole pipeline: load it without 'estimator'"):
        wald.load(tmp_path / "fast.wald", estimator=fast.estimator_)


def test_missing_skops_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, _ = made("columns")
    raw = to_bytes(fast, pipeline="skops")
    import skops

    with monkeypatch.context() as patched:
        patched.setattr(skops, "__version__", "0.9.post1")
        with pytest.raises(ImportError, match=r"need skops 0\.13 or later, and 0\.9\.post1 is installed"):
            from_bytes(raw)
    monkeypatch.setitem(sys.modules, "skops", None)
    for call in (lambda: from_bytes(raw), lambda: to_bytes(fast, pipeline="skops")):
        with pytest.raises(ImportError, match=r"not installed: pip install '\.\[cli\]' in a checkout"):
            call()
