"""The memory that a file takes is bounded by its size; files that would take more are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from persistence.cases import made
from persistence.forge import put_together, taken_apart
from persistence.test_estimators import made as made_other
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

import wald
from wald.codec import room
from wald.online import AttentivePerceptron
from wald.persistence import FileFormatError, from_bytes, to_bytes

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
#: Of the interpreter and a thread: modules that are loaded late, a header that is parsed, scratch memory.
SLACK = 24 << 20


def opened(name: str) -> Any:
    """Header and arrays of a file without its estimator and without the stage scores of rows."""
    fields, arrays = taken_apart(to_bytes(made(name)[0]))
    fields["estimator"] = None
    arrays = {name: array for name, array in arrays.items() if not name.startswith("estimator.")}
    for name in [name for name in arrays if name.startswith("stage_scores.")]:
        arrays[name] = arrays[name][:0]
    return fields, arrays


def with_stages(fields: Any, arrays: Any, stage_terms: Any, n_outputs: int) -> bytes:
    n = len(stage_terms)
    arrays["plan.early.terms"] = np.asarray(stage_terms, dtype=np.int64)
    arrays["plan.stages"] = np.append(arrays["plan.early.terms"], stage_terms[-1]).astype(np.int64)
    arrays["plan.stage_costs"], arrays["plan.reached"] = np.linspace(0, 1, n + 1), np.linspace(1, 0, n + 1)
    arrays["plan.early.weights"] = np.zeros(n_outputs * sum(stage_terms))
    arrays["plan.early.bias"], arrays["plan.early.spread_bias"] = np.zeros((n, n_outputs)), np.ones(n)
    for column in ("low_center", "low_scale", "high_center", "high_scale"):
        arrays[f"plan.boundary.{column}"] = np.zeros(n)
    for name in ("stage_scores.margins", "stage_scores.answers", "stage_scores.margins"):
        if name in arrays:
            arrays[name] = np.zeros((0, n), dtype=arrays[name].dtype)
    return put_together(fields, arrays)


def walk(n_terms: int, n_stages: int) -> bytes:
    """Stages that read nothing, and one that reads everything: a table of all stages by all terms."""
    fields, arrays = opened("logistic")
    fields["model"]["n_columns"] = n_terms
    arrays |= {"model.terms.coef": np.ones((1, n_terms)), "model.terms.coef_bound": np.ones((1, n_terms))}
    arrays |= {"plan.order": np.arange(n_terms), "plan.terms": np.arange(n_terms)}
    return with_stages(fields, arrays, [0] * (n_stages - 1) + [n_terms], 1)


def stages_of_many_outputs(n_stages: int) -> bytes:
    fields, arrays = opened("logistic multiclass")
    return with_stages(fields, arrays, [0] * (n_stages - 1) + [3], 4)


def thin(n_vectors: int, n_features: int, value: float = 0.1) -> bytes:
    """Support vectors with a single non-zero each, in different features."""
    fields, arrays = opened("sparse and wide")
    fields["model"]["terms"]["n_features"] = fields["model"]["n_columns"] = n_features
    arrays |= {
        "model.terms.coef": np.ones((1, n_vectors)),
        "model.terms.support_vectors.data": np.full(n_vectors, value),
    }
    arrays["model.terms.support_vectors.indices"] = np.linspace(0, n_features - 1, n_vectors).astype(np.int32)
    arrays["model.terms.support_vectors.indptr"] = np.arange(n_vectors + 1, dtype=np.int32)
    arrays["plan.order"] = arrays["plan.terms"] = np.arange(1)
    # which the model may have or not, by the rounding of the machine
    arrays["plan.surrogates.vectors"] = np.zeros((0, 0))
    return with_stages(fields, arrays, [1], 1)


def long_vector(n_features: int) -> bytes:
    fields, arrays = opened("rbf in float64")
    fields["model"]["terms"]["n_features"] = fields["model"]["n_columns"] = n_features
    fields["model"]["terms"]["gamma"] = 0.1
    arrays |= {"model.terms.coef": np.ones((1, 1)), "model.terms.support_vectors": np.full((1, n_features), 0.1)}
    arrays["plan.order"] = arrays["plan.terms"] = np.arange(1)
    # which the model may have or not, by the rounding of the machine
    arrays["plan.surrogates.vectors"] = np.zeros((0, 0))
    return with_stages(fields, arrays, [1], 1)


def many_classes(n: int) -> bytes:
    """Many classes, hence many pairs of classes as outputs, and one support vector."""
    fields, arrays = opened("one-vs-one")
    n_outputs = n * (n - 1) // 2
    fields["model"]["output"]["n_classes"] = n
    arrays |= {
        "model.terms.coef": np.ones((n_outputs, 1)),
        "model.terms.intercept": np.zeros(n_outputs),
        "model.classes": np.arange(n),
    }
    arrays |= {
        "model.terms.support_vectors": arrays["model.terms.support_vectors"][:1],
        "plan.order": np.arange(1),
        "plan.terms": np.arange(1),
    }
    arrays["plan.surrogates.vectors"] = np.zeros((0, 0))
    return with_stages(fields, arrays, [1, 1, 1], n_outputs)


def chain(n_groups: int, size: int, own: bool) -> bytes:
    """One label, whose weights are padded to a register."""
    fields, arrays = taken_apart(to_bytes(made_other("chain of groups")[0]))
    fields["groups"] = [fields["groups"][0] | {"name": f"g{i}"} for i in range(n_groups)]
    fields |= {"sizes": [size] * n_groups, "own": own, "n_labels": 1}
    fields["parameters"]["own_weights"] = own
    arrays["classes"], arrays["group_costs"] = arrays["classes"][:1], np.ones(n_groups)
    n_states = 2 ** (n_groups - 1)
    n_blocks = n_states * (n_groups + 1) // 2 if own else n_groups
    arrays["table"] = np.zeros((n_states + 3 + size * n_blocks, 1), dtype=np.float32)
    return put_together(fields, arrays)


def learner(n_features: int, unit: int | None, **params: Any) -> Any:
    X, y = make_classification(60, n_features, random_state=0)
    params = {"warm_up": 16, "ring_size": 16, "audit_rate": 0.2, "max_iter": 1, "tol": None, "random_state": 0} | params
    return AttentivePerceptron(run_length=unit, **params).fit(X.astype(np.float32), y)


def learner_of_classes(n: int) -> Any:
    X, y = np.random.default_rng(0).normal(size=(2 * n, 3)), np.tile(np.arange(n), 2)
    return AttentivePerceptron(max_iter=1, tol=None, random_state=0).fit(X, y)


def parser_of_texts() -> bytes:
    """A file that holds little more than names of relations, each of a few bytes."""
    fields, arrays = taken_apart(to_bytes(made_other("parser")[0]))
    arrays["labels"] = np.full(1_000_000, "ω")
    return put_together(fields, arrays)


def repeated(n: int) -> bytes:
    """Many stages at the same unit, which is as wide as the row."""
    fields, arrays = taken_apart(to_bytes(learner(2000, 1000)))
    names = vectors_of(learner(2000, 1000))
    order = np.zeros(n, dtype=np.int32)
    lengths = arrays["lengths"].copy()
    for of in ("negative.", "positive."):
        for what, array in {
            "order": order,
            "checkpoints": np.arange(1, n + 1, dtype=np.int32),
            "factors": np.zeros(n * (n + 1) // 2),
            "spread": np.ones(n),
        }.items():
            arrays[f"state.{of}{what}"] = array
            lengths[0, names.index(f"{of}{what}")] = len(array)
    arrays["lengths"] = lengths
    return put_together(fields, arrays)


def vectors_of(model: Any) -> list[str]:
    """The arrays of a learner, in their order."""
    return [name for name, value in model.problems_[0].learner.state().items() if isinstance(value, np.ndarray)]


#: Content, and what the refusal says; None where the file is to be loaded, and must stay within bounds.
FILES: dict[str, Any] = {
    "intact linear": (lambda: to_bytes(made("logistic")[0]), None),
    "intact kernel": (lambda: to_bytes(made("rbf")[0]), None),
    "intact sparse": (lambda: to_bytes(made("sparse and wide")[0]), None),
    "intact parser": (lambda: to_bytes(made_other("parser")[0]), None),
    "intact chain": (lambda: to_bytes(made_other("chain")[0]), None),
    "intact learner": (lambda: to_bytes(made_other("perceptron")[0]), None),
    "a walk through many stages": (lambda: walk(10_000, 10_000), "10000 stages"),
    "a walk through fewer stages": (lambda: walk(1000, 5000), None),
    "stages of many outputs": (lambda: stages_of_many_outputs(10_000), None),
    "as many features as there can be": (lambda: thin(3, 2**25 - 1), "3 support vectors of 3 features"),
    "many features": (lambda: thin(3, 2**20), None),
    "thin support vectors": (lambda: thin(8000, 8000), "8000 support vectors of 8000 features"),
    "fewer thin support vectors": (lambda: thin(1500, 1500 * 100), None),
    "thin support vectors that fit single precision": (lambda: thin(1500, 1500 * 100, 0.5), None),
    "one long support vector": (lambda: long_vector(300_000), None),
    "many classes": (lambda: many_classes(300), None),
    "a chain of one label": (lambda: chain(5, 5000, True), None),
    "a chain of one label and shared weights": (lambda: chain(4, 100_000, False), None),
    "a learner of many units": (lambda: to_bytes(learner(9000, 1)), "audited rows"),
    "a learner of wide units": (lambda: to_bytes(learner(9000, None)), None),
    "a learner of many classes": (lambda: to_bytes(learner_of_classes(400)), None),
    "many short texts": (parser_of_texts, "relations"),
    "stages at the same unit again": (lambda: repeated(300), "order' names something twice"),
}


@pytest.fixture(scope="module")
def peaks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, int, int]]:
    """The error, the growth of memory in bytes, and the size, for every file."""
    folder = tmp_path_factory.mktemp("peaks")
    paths = [folder / f"{i}.wald" for i in range(len(FILES))]
    for path, (content, _) in zip(paths, FILES.values(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path.write_bytes(content())
    script = Path(__file__).with_name("peak.py")
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, script, *paths], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return {
        name: (*found, path.stat().st_size)
        for name, path, found in zip(FILES, paths, json.loads(ran.stdout), strict=True)
    }


@pytest.mark.one_in(3)
@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("name", FILES)
def test_memory_is_bounded_by_the_size_of_a_file(name: str, peaks: dict[str, tuple[str, int, int]]) -> None:
    error, rise, size = peaks[name]
    message = FILES[name][1]
    times = room.TIMES_SPARSE if "thin" in name else room.TIMES
    assert (message in error) if message else error == ""
    assert rise <= max(room.LEAST, times * size) + 8 * size + SLACK


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name == "a learner of many classes" else name
        for name, (_, message) in FILES.items()
        if message is None
    ],
)
def test_what_is_counted_is_no_less_than_what_is_taken(name: str, peaks: dict[str, tuple[str, int, int]]) -> None:
    _, rise, size = peaks[name]
    counted = needed_bytes(FILES[name][0]())
    assert rise <= counted + 8 * size + SLACK


def needed_bytes(raw: bytes) -> int:
    """Raise ``max_bytes`` to the value in each refusal until the file loads, and return the last value."""
    counted = 1
    while True:
        try:
            from_bytes(raw, max_bytes=counted)
            return counted
        except FileFormatError as error:
            more = int(str(error).split("max_bytes=")[1].split(")")[0])
            assert more > counted
            counted = more


@pytest.fixture(scope="module")
def texts() -> Any:
    """A machine of 600 texts, each with 100 of 25 000 words: packed, it takes 200 times its file."""
    rng = np.random.default_rng(0)
    words = (25_000 * rng.random((1400, 100)) ** 2).astype(int)
    X = sparse.csr_matrix((rng.random(140_000), words.ravel(), np.arange(0, 140_001, 100)), shape=(1400, 25_000))
    X.sum_duplicates()
    y = (X @ rng.normal(size=25_000) > 0).astype(int)
    model = FrozenEstimator(SVC(C=10).fit(X[:600], y[:600]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return wald.EarlyExitClassifier(model, risk=0.4, planner=wald.Planner(cost="units"), random_state=0).fit(
            X[600:]
        ), X


@pytest.mark.slow
def test_valid_machines_of_texts_load(texts: Any, tmp_path: Path) -> None:
    fast, X = texts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wald.save(fast, tmp_path / "texts.wald")
    assert np.array_equal(wald.load(tmp_path / "texts.wald").predict(X[:50]), fast.predict(X[:50]))


def test_save_says_what_load_will_need(tmp_path: Path, texts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, X = texts
    path = tmp_path / "texts.wald"
    monkeypatch.setattr(room, "TIMES_SPARSE", 64)  # as if there were few words in a text
    with pytest.warns(UserWarning, match=r"takes .* MiB of memory, .* loaded by wald.load\(path, max_bytes=") as record:
        wald.save(fast, path)
    needed = int(str(record[0].message).split("max_bytes=")[1].split(")")[0])
    assert record[0].filename == __file__
    with pytest.raises(FileFormatError, match=r"texts.wald: its .* support vectors of .* max_bytes="):
        wald.load(path)
    with pytest.raises(FileFormatError, match="allowed by max_bytes"):
        wald.load(path, max_bytes=needed - 1)
    assert np.array_equal(wald.load(path, max_bytes=needed).predict(X[:5]), fast.predict(X[:5]))


@pytest.mark.parametrize(
    ("given", "error"), [("64 MiB", TypeError), (1.5, TypeError), (True, TypeError), (0, ValueError)]
)
def test_max_bytes_is_checked(given: Any, error: type[Exception], tmp_path: Path) -> None:
    wald.save(made("logistic")[0], tmp_path / "model.wald")
    with pytest.raises(error, match="max_bytes must be"):
        wald.load(tmp_path / "model.wald", max_bytes=given)
