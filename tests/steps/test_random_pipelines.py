"""Random pipelines in front of random models: at `risk=0` the answers are the pipeline's own, in every container."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier

pytestmark = pytest.mark.filterwarnings("ignore")

N_FAST, N_LONG, LONG_ROWS = 16, 500, 3000
#: Columns of texts, of whole numbers and of numbers without and with missing values.
TEXTS, WHOLE, NUMBERS, GAPS = ["city", "kind", "level"], ["month", "flag"], ["price", "speed"], ["gap"]
#: A column of sentences, which some pipelines read.
NOTE = "note"
WORDS = np.array(
    ["the", "a", "b", "cheap", "Cheap", "loud", "café", "straße", "İzmir", "very", "not", "und", "x1", "2nd"]
)


class Cubes(TransformerMixin, BaseEstimator):
    """A transformer of one's own."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return np.tanh(np.asarray(X, dtype=np.float64)) ** 3


def frame(n: int, seed: int, *, unknown: bool = False) -> pd.DataFrame:
    """Rows; `unknown`: with categories that no row of training has."""
    rng = np.random.default_rng(seed)
    cities = ["Ulm", "Köln", "", "Bonn", "Jena", "nan", "rare"]
    city = rng.choice(cities, n, p=[0.3, 0.2, 0.1, 0.2, 0.1, 0.08, 0.02]).astype(object)
    level = np.where(rng.random(n) < 0.15, None, rng.choice(["low", "high"], n)).astype(object)
    if unknown:
        city[rng.random(n) < 0.05] = "elsewhere"
    notes = np.random.default_rng([seed, 1])
    note = [" ".join(notes.choice(WORDS, notes.integers(0, 12))) for _ in range(n)]
    return pd.DataFrame(
        {
            NOTE: pd.Series(note, dtype=object),
            "city": pd.Series(city, dtype=object),
            "kind": pd.Series(rng.choice(["a", "b"], n), dtype=object),
            "level": pd.Series(level, dtype=object),
            "month": rng.integers(1, 9 if unknown else 7, n),
            "flag": rng.random(n) < 0.4,
            "price": np.exp(rng.normal(size=n)),
            "speed": rng.normal(100, 20, n).astype(np.float32),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def target(F: pd.DataFrame, n_classes: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    score = (
        np.log(F["price"])
        + (F["city"] == "Ulm")
        + 0.02 * (F["speed"] - 100)
        + 0.3 * (F["month"] % 3)
        + np.nan_to_num(F["gap"])
        + 0.5 * rng.normal(size=len(F))
    ).to_numpy()
    return np.array(["no", "yes", "zz"])[np.searchsorted(np.quantile(score, [0.5, 0.8][: n_classes - 1]), score)]


def of_texts(rng: np.random.Generator, *, whole: bool) -> Any:
    """An encoder of categories."""
    one_hot = {
        "min_frequency": rng.choice([None, 20, 0.05]),
        "max_categories": rng.choice([None, 3]),
        "sparse_output": bool(rng.random() < 0.5),
        "dtype": [np.float64, np.float32][int(rng.random() < 0.25)],
    }
    handle = str(rng.choice(["ignore", "error", "infrequent_if_exist"]))
    drop = [None, "first", "if_binary"][rng.integers(3)]
    encoders: list[Callable[[], Any]] = [
        lambda: OneHotEncoder(handle_unknown=handle, drop=drop, **one_hot),
        lambda: OneHotEncoder(handle_unknown="ignore", **one_hot),
        lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        lambda: OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=77, encoded_missing_value=-2, min_frequency=15
        ),
        lambda: OrdinalEncoder(encoded_missing_value=-1),
        lambda: TargetEncoder(random_state=0, smooth=[3.0, "auto"][rng.integers(2)]),
    ]
    encoder = encoders[rng.integers(len(encoders))]()
    if not whole and rng.random() < 0.3:
        constant = (
            {"strategy": "constant", "fill_value": "none"} if rng.random() < 0.5 else {"strategy": "most_frequent"}
        )
        encoder = make_pipeline(SimpleImputer(missing_values=None, **constant), encoder)
    if rng.random() < 0.2:
        encoder = make_pipeline(
            encoder, [MaxAbsScaler(), StandardScaler(with_mean=False), "passthrough"][rng.integers(3)]
        )
    return encoder


def of_numbers(rng: np.random.Generator) -> Any:
    """A transformer of numbers without missing ones."""
    made: list[Callable[[], Any]] = [
        StandardScaler,
        MinMaxScaler,
        lambda: MinMaxScaler(clip=True),
        MaxAbsScaler,
        RobustScaler,
        lambda: KBinsDiscretizer(3, encode=str(rng.choice(["onehot", "ordinal", "onehot-dense"]))),
        lambda: QuantileTransformer(n_quantiles=20),
        PowerTransformer,
        lambda: SplineTransformer(n_knots=3, extrapolation="linear"),
        lambda: Binarizer(threshold=1.0),
        lambda: PolynomialFeatures(2, include_bias=bool(rng.random() < 0.5)),
        Normalizer,
        lambda: FunctionTransformer(np.log1p),
        lambda: FunctionTransformer(),
        Cubes,
        lambda: "passthrough",
    ]
    first = made[rng.integers(len(made))]()
    if first != "passthrough" and rng.random() < 0.25:
        second = made[rng.integers(5)]() if not hasattr(first, "encode") else MaxAbsScaler()
        return make_pipeline(first, second)
    return first


def of_gaps(rng: np.random.Generator) -> Any:
    """A transformer of numbers with missing ones."""
    imputer = SimpleImputer(
        strategy=str(rng.choice(["mean", "median", "most_frequent"])), add_indicator=bool(rng.random() < 0.5)
    )
    if rng.random() < 0.2:
        return MissingIndicator()
    return imputer if rng.random() < 0.4 else make_pipeline(imputer, of_numbers_signed(rng))


def of_numbers_signed(rng: np.random.Generator) -> Any:
    made: list[Any] = [StandardScaler(), RobustScaler(), MinMaxScaler(), PolynomialFeatures(2), Cubes(), Binarizer()]
    return made[rng.integers(len(made))]


def of_notes(rng: np.random.Generator) -> Any:
    """A transformer of sentences."""
    common: dict[str, Any] = {
        "lowercase": bool(rng.random() < 0.7),
        "strip_accents": [None, "unicode"][rng.integers(2)],
        "analyzer": str(rng.choice(["word", "word", "char", "char_wb"])),
        "ngram_range": [(1, 1), (1, 2), (2, 2)][rng.integers(3)],
    }
    weighted = {"sublinear_tf": bool(rng.random() < 0.3), "norm": [None, "l1", "l2"][rng.integers(3)]}
    made: list[Callable[[], Any]] = [
        lambda: CountVectorizer(**common, dtype=[np.int64, np.float32][int(rng.random() < 0.2)]),
        lambda: TfidfVectorizer(**common, **weighted),
        lambda: make_pipeline(CountVectorizer(**common), TfidfTransformer(**weighted)),
        lambda: HashingVectorizer(**common, n_features=[7, 300, 5000][rng.integers(3)]),
        lambda: make_pipeline(TfidfVectorizer(**common), TruncatedSVD(3, random_state=0)),
        lambda: make_pipeline(CountVectorizer(**common), MaxAbsScaler()),
        lambda: FeatureUnion([("a", TfidfVectorizer(**common)), ("b", CountVectorizer())]),
        lambda: TfidfVectorizer(preprocessor=str.swapcase),
    ]
    return made[rng.integers(len(made))]()


def with_notes(front: ColumnTransformer, seed: int) -> bool:
    """Let some pipelines read sentences; says whether this one does."""
    rng = np.random.default_rng([seed, 2])
    if rng.random() < 0.5:
        return False
    place = int(rng.integers(len(front.transformers) + 1))
    front.transformers.insert(place, ("note", of_notes(rng), NOTE))
    if front.transformer_weights is not None and rng.random() < 0.5:
        front.transformer_weights["note"] = float(rng.choice([0.25, -2.0]))
    return True


def with_unions(front: ColumnTransformer, seed: int) -> None:
    """Let some pipelines put two transformers of the same columns side by side."""
    rng = np.random.default_rng([seed, 3])
    for i, (name, step, columns) in enumerate(front.transformers):
        if rng.random() < 0.75 or name in ("note", "dropped") or name not in ("numbers", "whole", "price again"):
            continue
        other = [StandardScaler(), OneHotEncoder(handle_unknown="ignore"), MinMaxScaler(), "drop"][rng.integers(4)]
        parts = [("a", step), ("b", other)][:: int(rng.choice([1, -1]))]
        weights = {"a": 0.3} if rng.random() < 0.3 else None
        front.transformers[i] = (name, FeatureUnion(parts, transformer_weights=weights), columns)


def front_of(rng: np.random.Generator) -> ColumnTransformer:
    parts: list[Any] = [("texts", of_texts(rng, whole=False), TEXTS[: rng.integers(1, 4)])]
    if rng.random() < 0.5:
        parts.append(("whole", of_texts(rng, whole=True), ["month"]))
    numbers: Any = list(NUMBERS)
    if rng.random() < 0.2:
        numbers = make_column_selector(pattern="price|speed")
    elif rng.random() < 0.3:
        numbers = [*NUMBERS, "month"]
    parts.append(("numbers", of_numbers(rng), numbers))
    if rng.random() < 0.6:
        parts.append(("gaps", of_gaps(rng), GAPS))
    if rng.random() < 0.2:
        parts.append(("price again", of_numbers(rng), ["price"]))
    if rng.random() < 0.2:
        parts.append(("dropped", "drop", ["speed"]))
    if rng.random() < 0.3:
        parts.append(("flags", "passthrough", ["flag"]))
    parts = [parts[i] for i in rng.permutation(len(parts))]
    named = [name for name, *_ in parts]
    weights = {name: float(rng.choice([0.5, 3.0])) for name in named if rng.random() < 0.5 and name != "dropped"}
    return ColumnTransformer(
        parts,
        transformer_weights=weights if rng.random() < 0.3 else None,
        sparse_threshold=float(rng.choice([0.0, 0.3, 1.0])),
        verbose_feature_names_out=bool(rng.random() < 0.5),
    )


def model_of(rng: np.random.Generator) -> tuple[Any, bool]:
    """A classifier, and whether it compares numbers with thresholds."""
    kind = rng.integers(9)
    models: list[Callable[[], Any]] = [
        lambda: LogisticRegression(max_iter=200),
        lambda: LogisticRegression(max_iter=200, C=0.1),
        lambda: LinearSVC(),
        lambda: SVC(),
        lambda: SVC(kernel="linear"),
        lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
        lambda: RandomForestClassifier(10, max_depth=6, random_state=0),
        lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
        lambda: LGBMClassifier(n_estimators=10, num_leaves=7, min_child_samples=5, verbose=-1, n_jobs=1),
    ]
    return models[kind](), kind >= 5


def pipeline_of(seed: int, n: int) -> tuple[Any, pd.DataFrame, bool]:
    """A fitted pipeline, the rows that fitted it, and whether its model is made of trees; skips if it fits none."""
    rng = np.random.default_rng(seed)
    F = frame(n, seed)
    front = front_of(rng)
    with_unions(front, seed)
    if not with_notes(front, seed):
        F = F.drop(columns=NOTE)
    later: list[Any] = []
    for _ in range(int(rng.choice([0, 1, 2], p=[0.5, 0.35, 0.15]))):
        choices: list[Any] = [
            VarianceThreshold(0.01),
            SelectKBest(k=3),
            MaxAbsScaler(),
            StandardScaler(with_mean=False),
            StandardScaler(),
            SimpleImputer(),
            PCA(2),
            TruncatedSVD(2, random_state=0),
            "passthrough",
        ]
        later.append(choices[rng.integers(len(choices))])
    if rng.random() < 0.2:
        front.set_params(remainder=[StandardScaler(), "passthrough"][rng.integers(2)])
        F = F[
            [c for c in F if c not in TEXTS or any(c in part[2] for part in front.transformers if part[0] == "texts")]
        ]
    model, is_trees = model_of(rng)
    y = target(frame(n, seed), 2 + int(rng.random() < 0.4), seed)
    pipeline = make_pipeline(front, *later, model)
    try:
        return pipeline.fit(F, y), F, is_trees
    except (TypeError, ValueError) as error:  # such as NaN that a selector or a model does not take
        pytest.skip(f"no pipeline: {str(error)[:80]}")


def containers(F: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    texts = [c for c in [*TEXTS, NOTE] if c in F]
    lists = F.to_dict("list")
    # a vectorizer does not read Arrow's texts: its error may come before or after that of another transformer
    arrow = {} if NOTE in F else {"pyarrow": lambda: pa.table(lists)}
    return arrow | {
        "pandas": lambda: F,
        "str": lambda: F.astype(dict.fromkeys(texts, "str")),
        "string": lambda: F.astype(dict.fromkeys(texts, "string")),
        "category": lambda: F.astype(dict.fromkeys(texts, "category")),
        "nullable": lambda: F.convert_dtypes(),
        "pd.NA": lambda: F.assign(**{c: F[c].where(F[c].notna(), pd.NA) for c in texts}),
        "nan": lambda: F.assign(**{c: F[c].where(F[c].notna(), np.nan) for c in texts}),
        "sliced": lambda: F.iloc[::2],
        "shuffled": lambda: F[F.columns[::-1]],
        "polars": lambda: pl.DataFrame(lists),
        "polars single": lambda: pl.DataFrame(lists).with_columns(pl.col("speed").cast(pl.Float32)),
        "objects": lambda: F.to_numpy(dtype=object),
        "one": lambda: F.iloc[:1],
    }


def outcome(call: Callable[[Any], Any], rows: Any) -> Any:
    """What a call gives, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(rows)
        except Exception as error:
            return type(error)


def refuses_arrow(pipeline: Any, rows: Any) -> bool:
    """Whether a pipeline passes columns on as they are, which scikit-learn does in no Arrow table."""
    try:
        pipeline.predict(rows)
    except Exception as error:
        return "registered adapter" in str(error) or "pyarrow" in str(error)  # its columns have no weights, either
    return False


def require_same(own: Any, theirs: Any, where: str, tolerance: float = 0.0) -> None:
    if isinstance(own, type) or isinstance(theirs, type):
        assert own is theirs, f"{where}: {own} and {theirs}"
    elif tolerance:
        np.testing.assert_allclose(theirs, own, rtol=0, atol=tolerance, err_msg=where)
    else:
        np.testing.assert_array_equal(theirs, own, err_msg=where)


def require_exact(seed: int) -> None:
    pipeline, F, is_trees = pipeline_of(seed, 400)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    has_shares = hasattr(pipeline, "predict_proba")
    for unknown in (False, True):
        X = frame(60, seed + 10_000, unknown=unknown)[F.columns.tolist()]
        for name, make in containers(X).items():
            rows = make()
            where = f"seed {seed}, {name}, unknown={unknown}"
            own = outcome(pipeline.predict, rows)
            if name == "pyarrow" and refuses_arrow(pipeline, rows):
                own = outcome(pipeline.predict, X.astype({"speed": np.float64}))
            require_same(own, outcome(fast.predict, rows), where)
            if has_shares and name in ("pandas", "polars", "category", "sliced"):
                own, theirs = (outcome(each.predict_proba, rows) for each in (pipeline, fast))
                require_same(own, theirs, f"{where}, proba", 0.0 if is_trees else 1e-12)
        records = X.head(8).to_dict("records")
        for i, record in enumerate(records):
            own = outcome(lambda row: pipeline.predict(row)[0], X.iloc[i : i + 1])
            theirs = outcome(fast.predict_one, record)
            require_same(own, theirs, f"seed {seed}, record {i}, unknown={unknown}")
        own = outcome(pipeline.predict, X.head(8))
        require_same(own, outcome(fast.predict, records), f"seed {seed}, records, unknown={unknown}")


def require_close(seed: int) -> None:
    pipeline, F, _ = pipeline_of(seed, LONG_ROWS)
    fast = EarlyExitClassifier(pipeline, risk=0.05, random_state=0).fit(frame(LONG_ROWS, seed + 1)[F.columns.tolist()])
    X = frame(LONG_ROWS, seed + 2)[F.columns.tolist()]
    labels = fast.predict(X)
    assert np.mean(labels != pipeline.predict(X)) <= 0.08, f"seed {seed}"
    np.testing.assert_array_equal(fast.predict(X[X.columns[::-1]]), labels, err_msg=f"seed {seed}, shuffled")
    for i in range(12):
        assert fast.predict(X.iloc[i : i + 1])[0] == labels[i], f"seed {seed}, row {i}"


#: Each takes more than a second: make test runs the even ones of those that `one_in` chooses, make check all of these.
SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed % 2)) for seed in (*range(N_FAST), 26, 31)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_pipelines_own(seed: int) -> None:
    require_exact(seed)


@pytest.mark.parametrize("seed", [0, 20])
def test_at_a_risk_few_labels_differ(seed: int) -> None:
    require_close(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(N_FAST, N_LONG))
def test_answers_of_many_are_the_pipelines_own(seed: int) -> None:
    require_exact(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(N_FAST, N_LONG))
def test_at_a_risk_few_labels_of_many_differ(seed: int) -> None:
    require_close(seed)
