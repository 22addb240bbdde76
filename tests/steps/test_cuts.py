"""Numbers that are cut at thresholds, as states of a sum and as columns in front of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner
from wald.models import decompose
from wald.sources import source_of
from wald.steps import ByColumn, Chain, RawColumns
from wald.steps.cuts import Cuts

pytestmark = pytest.mark.filterwarnings("ignore")


class OwnBinarizer(Binarizer):
    """A subclass may do anything."""


def numbers(n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(1)
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)


def bins(encode: str, n_bins: int = 5, **options: Any) -> Any:
    return KBinsDiscretizer(n_bins, encode=encode, quantile_method="averaged_inverted_cdf", **options)


CUTTING: dict[str, Any] = {
    "above 0": lambda: Binarizer(),
    "above a tenth": lambda: Binarizer(threshold=0.1),  # which is another number in float32
    "above a tenth in double precision": lambda: Binarizer(threshold=np.float64(0.1)),
    "ordinal": lambda: bins("ordinal"),
    "one-hot": lambda: bins("onehot-dense"),
    "sparse": lambda: bins("onehot", 4),
    "in float32": lambda: bins("ordinal", 6, dtype=np.float32),
    "many": lambda: bins("ordinal", 300, strategy="uniform"),
    "some": lambda: bins("onehot-dense", 40, strategy="uniform"),
    "filled": lambda: make_pipeline(SimpleImputer(), bins("ordinal")),
    "filled by the most frequent": lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), bins("ordinal")),
    "scaled": lambda: make_pipeline(SimpleImputer(), StandardScaler(), Binarizer(threshold=0.3)),
}
MODELS = {"linear": lambda: LogisticRegression(), "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0)}


def thresholds(transformer: Any) -> Any:
    step = transformer[-1] if hasattr(transformer, "steps") else transformer
    return [float(step.threshold)] * 3 if type(step) is Binarizer else step.bin_edges_


def near(transformer: Any) -> Any:
    """Rows at the thresholds and beside them, in both precisions, and zeros of both signs."""
    columns = []
    for edges in thresholds(transformer):
        at = np.asarray(edges, dtype=np.float64).ravel()
        around = [at, np.nextafter(at, 9), np.nextafter(at, -9), at.astype(np.float32), np.array([0.0, -0.0])]
        columns.append(np.concatenate(around))
    return np.column_stack([np.resize(each, max(map(len, columns))) for each in columns])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CUTTING)
def test_alone_in_front_of_a_model(name: str, model: str) -> None:
    X, y = numbers()
    if name == "sparse" and model == "tree":
        return
    pipeline = make_pipeline(*flat(CUTTING[name]()), MODELS[model]()).fit(X, y)
    step: Any = decompose(pipeline).preprocessing
    assert isinstance(step, RawColumns if model == "linear" else ByColumn)
    assert [type(part) for part in step.parts] == [Cuts]
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, planner=Planner(cost="units")).fit(X)
    Z = near(pipeline[-2])
    every = [Z, Z.astype(np.float32), np.asfortranarray(Z), Z[:1], X[::2], (3 * X).astype(np.int64), X > 0]
    if name == "filled by the most frequent":  # which takes no booleans
        refused = every.pop()
        with pytest.raises(ValueError, match="bool"):
            fast.predict(refused)
    for rows in every:
        np.testing.assert_array_equal(fast.predict(rows), pipeline.predict(rows))
        np.testing.assert_allclose(fast.predict_proba(rows), pipeline.predict_proba(rows), atol=1e-6)
        if model == "tree":
            written = np.column_stack([np.asarray(c) for c in step.transform(source_of(rows)).columns])
            np.testing.assert_array_equal(written, Chain(step.steps).transform(source_of(rows)))


def flat(transformer: Any) -> list[Any]:
    return [each for _, each in transformer.steps] if hasattr(transformer, "steps") else [transformer]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CUTTING)
@pytest.mark.parametrize("weight", [None, 0.3])
def test_beside_other_columns(name: str, model: str, weight: float | None) -> None:
    X, y = numbers()
    kinds = np.array(["a", "b", "c"], dtype=object)[np.arange(len(X)) % 3]
    F = pd.DataFrame({"x": X[:, 0], "kind": kinds, "y": X[:, 1], "z": X[:, 2]})
    columns = [("cut", CUTTING[name](), ["x", "y", "z"]), ("code", OrdinalEncoder(), ["kind"])]
    weights = None if weight is None else {"cut": weight}
    front = ColumnTransformer(columns, transformer_weights=weights, sparse_threshold=0)
    pipeline = make_pipeline(front, MODELS[model]()).fit(F, y)
    step: Any = decompose(pipeline).preprocessing
    assert isinstance(step.parts[0], Cuts)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, planner=Planner(cost="units")).fit(F)
    Z = near(pipeline[0].named_transformers_["cut"])
    G = pd.DataFrame({"x": Z[:, 0], "kind": "b", "y": Z[:, 1], "z": Z[:, 2]})
    single = G.astype({"x": np.float32, "y": np.float32, "z": np.float32})
    frames = [G, G[["z", "y", "kind", "x"]], single, G.astype({"x": np.float32}), single.astype({"z": np.int16})]
    frames += [pl.from_pandas(frame) for frame in frames]
    for rows in frames:
        np.testing.assert_array_equal(fast.predict(rows), pipeline.predict(rows))
        if model == "tree":
            found = step.transform(source_of(rows))
            own = Chain(step.steps).transform(source_of(rows))
            assert found.dtype == own.dtype
            np.testing.assert_array_equal(np.column_stack([np.asarray(c) for c in found.columns]), own)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CUTTING)
def test_records(name: str, model: str) -> None:
    X, y = numbers()
    F = pd.DataFrame({"x": X[:, 0], "kind": np.array(["a", "b"], dtype=object)[np.arange(len(X)) % 2], "y": X[:, 1]})
    columns = [("cut", CUTTING[name](), ["x", "y"]), ("code", OrdinalEncoder(), ["kind"])]
    front = ColumnTransformer(columns, transformer_weights={"cut": 0.3}, sparse_threshold=0)
    pipeline = make_pipeline(front, MODELS[model]()).fit(F, y)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, planner=Planner(cost="units")).fit(F)
    if name != "in float32":
        described = decompose(pipeline).preprocessing.of_records("pandas")  # type: ignore[union-attr]
        assert described is not None
        assert [each["keys"] is None for each in described] == [True, True, False]
    Z = near(front.named_transformers_["cut"])[:24]
    G = pd.DataFrame({"x": Z[:, 0], "kind": "b", "y": Z[:, 1]})
    assert [fast.predict_one(row) for row in G.to_dict("records")] == pipeline.predict(G).tolist()
    row = {"x": np.nan, "kind": "a", "y": 1.0}
    if name in ("filled", "filled by the most frequent", "scaled"):
        assert fast.predict_one(row) == pipeline.predict(pd.DataFrame([row]))[0]
    else:
        with pytest.raises(ValueError, match="NaN"):
            fast.predict_one(row)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CUTTING)
def test_numbers_that_are_refused_raise_the_error_of_scikit_learn(name: str, model: str, bad: float) -> None:
    X, y = numbers()
    if name == "sparse" and model == "tree":
        return
    pipeline = make_pipeline(*flat(CUTTING[name]()), MODELS[model]()).fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, planner=Planner(cost="units")).fit(X)
    Z = X[:20].copy()
    Z[5] = bad  # no row leaves before all of its columns
    try:
        own = pipeline.predict(Z)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).split("\n")[0].rstrip(".")[:20]):
            fast.predict(Z)
    else:
        np.testing.assert_array_equal(fast.predict(Z), own)


def test_scalers_after_bins() -> None:
    X, y = numbers()
    pipeline = make_pipeline(bins("ordinal"), StandardScaler(), LogisticRegression()).fit(X, y)
    assert isinstance(decompose(pipeline).preprocessing, RawColumns)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(X)
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))
    F = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": np.where(X[:, 2] > 0, "a", "b")})
    front = ColumnTransformer([("cut", bins("ordinal"), ["x", "y"]), ("code", OrdinalEncoder(), ["kind"])])
    for model in MODELS.values():
        pipeline = make_pipeline(front, StandardScaler(), model()).fit(F, y)
        assert isinstance(decompose(pipeline).preprocessing, ByColumn)
        fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(F)
        np.testing.assert_array_equal(fast.predict(F), pipeline.predict(F))


@pytest.mark.parametrize("risk", [0, 0.1])
def test_sparse_rows_are_binarized_by_scikit_learn(risk: float) -> None:
    X, y = numbers()
    rows = sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0))
    pipeline = make_pipeline(Binarizer(threshold=0.9), LogisticRegression()).fit(rows, y)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, random_state=0).fit(rows)
    np.testing.assert_array_equal(fast.predict(rows), pipeline.predict(rows))
    dense = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, random_state=0).fit(rows.toarray())
    np.testing.assert_array_equal(dense.predict(rows), pipeline.predict(rows))


def test_what_is_not_known_is_left_alone() -> None:
    X, y = numbers()
    edited = bins("ordinal").fit(X)
    edited.bin_edges_[0] = edited.bin_edges_[0][::-1]
    for step in (OwnBinarizer(), Binarizer().set_output(transform="pandas"), Binarizer(threshold=np.float32(0.1))):
        pipeline = make_pipeline(step, LogisticRegression()).fit(X, y)
        assert type(decompose(pipeline).preprocessing) is Chain
    assert Cuts.of([edited], [0, 1, 2], 0, None) is None


# ---- BernoulliNB -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 0.1, 1.0, np.float64(0.1)])
def test_naive_bayes_binarizes_without_a_binarizer_in_front(threshold: float) -> None:
    X, y = numbers()
    model = BernoulliNB(binarize=threshold).fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(X)
    assert fast.compiled_plan_.in_front is None  # whatever was measured
    Z = np.concatenate([X, np.full((1, 3), 0.1), np.full((1, 3), np.float32(0.1)), np.full((1, 3), -0.0)])
    rows: list[Any] = [Z, Z.astype(np.float32), np.asfortranarray(Z), Z[:1], (2 * Z).astype(int), sparse.csr_matrix(Z)]
    rows += [sparse.csc_array(Z.astype(np.float32)), sparse.csr_array((2 * Z).astype(int)), pd.DataFrame(Z)]
    for each in rows:
        np.testing.assert_array_equal(fast.predict(each), model.predict(each))


def test_naive_bayes_refuses_what_it_refuses() -> None:
    X, y = numbers()
    fast = EarlyExitClassifier(FrozenEstimator(BernoulliNB(binarize=0.5).fit(X, y)), risk=0).fit(X)
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity") as error:
            fast.predict(Z)
        assert "Binarizer" not in str(error.value)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fast.predict(sparse.csr_matrix(np.abs(Z)))


def test_only_what_a_user_wrote_is_named() -> None:
    X, y = numbers()
    pipeline = make_pipeline(OwnBinarizer(threshold=0.2), BernoulliNB()).fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(X)
    assert fast.compiled_plan_.in_front.steps == ("'ownbinarizer' (OwnBinarizer)",)


def test_a_threshold_that_was_changed_is_noticed() -> None:
    X, y = numbers()
    for step, change in ((Binarizer(), {"threshold": 1.0}), (bins("ordinal"), {"bin_edges_": [np.arange(6.0)] * 3})):
        pipeline = make_pipeline(step, LogisticRegression()).fit(X, y)
        read = decompose(pipeline)
        assert read.changed() is None
        vars(pipeline[0]).update(change)
        assert read.changed() is not None
