"""`check_step` accepts every step of wald and a step of one's own, and names the clause that another one breaks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from wald.models import decompose
from wald.sources import source_of
from wald.steps import Chain, Codes, ColumnMap, Step, check_step

from .material import NAMES, front, rows

X, y = rows(60)


class Ratios(Step):
    """A step of one's own: each of two columns in proportion to a third."""

    reads, width = (0, 3, 5), 2

    def transform(self, source: Any) -> Any:
        values = source.array()
        return values[:, [0, 3]] / (1.0 + np.abs(values[:, [5]]))


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    city = np.array(["ulm", "bonn", "kiel"])[np.digitize(X[:, 5], [-0.5, 0.5])]
    return pandas.DataFrame(X, columns=NAMES).assign(city=city)


def chain(*steps: Any, given: Any = X) -> tuple[Step, Any]:
    made = given
    for step in steps:
        made = step.fit(made, y).transform(made)
    return Chain([(str(i), step) for i, step in enumerate(steps)]), given


def mixed(kind: Any = ColumnTransformer) -> Any:
    return kind([("s", StandardScaler(), NAMES[:4]), ("c", OneHotEncoder(sparse_output=False), ["city"])])


def codes() -> tuple[Step, Any]:
    given = frame().astype({"city": "category"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(given, y)
    step = decompose(model).preprocessing
    assert isinstance(step, Codes)
    return step, given


def lightgbm_codes() -> tuple[Step, Any]:
    lightgbm = pytest.importorskip("lightgbm")
    given = frame().astype({"city": "category"})
    step = decompose(lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(given, y)).preprocessing
    assert isinstance(step, Codes)
    return step, given


def polars() -> tuple[Step, Any]:
    given = pytest.importorskip("polars").DataFrame(frame().to_dict("list"))
    return chain(mixed(), given=given)


def binarizer() -> tuple[Step, Any]:
    step = decompose(BernoulliNB(binarize=0.1).fit(X, y)).preprocessing
    assert step is not None
    return step, X


ALL: dict[str, Callable[[], tuple[Step, Any]]] = {
    "one's own": lambda: (Ratios(), X),
    "affine": lambda: (ColumnMap(np.linspace(1, 2, 12), np.ones(12), np.zeros(12)), X),
    "affine, of sparse rows": lambda: (ColumnMap(np.linspace(1, 2, 12), np.ones(12)), sparse.csr_array(np.round(X))),
    "chain": lambda: chain(SimpleImputer(), MinMaxScaler(clip=True)),
    "chain of branches": lambda: chain(front(columns=list(range(12)))),
    "branches before a scaler": lambda: chain(front(columns=list(range(12))), MinMaxScaler(clip=True)),
    "branches of a frame": lambda: chain(mixed(), given=frame()),
    "branches of polars": polars,
    "texts": lambda: chain(TfidfVectorizer(), given=[f"word{i % 7} word{i % 3}" for i in range(60)]),
    "sparse columns": lambda: chain(OneHotEncoder(handle_unknown="ignore"), given=np.round(X)),
    "codes of scikit-learn": codes,
    "codes of LightGBM": lightgbm_codes,
    "binarizer": binarizer,
}


@pytest.mark.parametrize("name", ALL)
def test_a_step_keeps_the_contract(name: str) -> None:
    step, given = ALL[name]()
    check_step(step, source_of(given))
    for branch in step.branches:
        check_step(branch, source_of(given))


def test_branches_joined_are_a_step() -> None:
    parts = [(str(c), StandardScaler(), [c, 11 - c]) for c in range(4)]
    step, given = chain(ColumnTransformer(parts), MinMaxScaler(clip=True))
    assert isinstance(step, Chain)
    first, _, third, last = step.branches
    joined = last.joined([first, third], step)
    check_step(joined, source_of(given))
    np.testing.assert_array_equal(
        joined.transform(source_of(given)), step.transform(source_of(given))[:, joined.columns]
    )
    assert list(joined.reads) == [0, 2, 3, 8, 9, 11]


def test_what_is_taken_apart() -> None:
    columns = list(range(12))
    apart: list[Any] = [
        (front(columns=columns),),
        (front(columns=columns), StandardScaler(), SimpleImputer()),
        (mixed(),),
    ]
    together: list[Any] = [
        (front(columns=columns), OrdinalEncoder()),
        (front(columns=columns), SimpleImputer(add_indicator=True)),
        (mixed().set_output(transform="pandas"),),
        (ColumnTransformer([("a", OneHotEncoder(), [0]), ("b", OneHotEncoder(), [1])]),),
        (ColumnTransformer([("a", StandardScaler(), columns), ("b", "drop", [])]),),
        (make_pipeline(front(columns=columns)),),
    ]
    for steps in apart:
        assert len(chain(*steps, given=rows_for(steps[0]))[0].branches) == 2
    for steps in together:
        assert chain(*steps, given=rows_for(steps[0]))[0].branches == ()


def rows_for(step: Any) -> Any:
    """Rows with names for a step that knows columns by name."""
    return frame() if isinstance(getattr(step, "transformers", [("", None, [0])])[0][2][0], str) else X


class Broken(Ratios):
    """A step that breaks one clause."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong

    reads = property(lambda self: self.wrong.get("reads", (0, 3, 5)))  # type: ignore[assignment]
    width = property(lambda self: self.wrong.get("width", 2))  # type: ignore[assignment]

    def transform(self, source: Any) -> Any:
        return self.wrong.get("transform", super().transform)(source)


def changed(source: Any) -> Any:
    source.array()[0, 0] += 1
    return source.array()[:, [0, 3]]


@pytest.mark.parametrize(
    ("clause", "wrong"),
    [
        ("kind", {"reads": (3, 0)}),
        ("kind", {"reads": (0, 12)}),
        ("kind", {"width": 0}),
        ("columns", {"width": 3}),
        ("columns", {"transform": lambda source: source.array()[1:, [0, 3]]}),
        ("again", {"transform": lambda source: np.random.default_rng().random((source.n_rows, 2))}),
        ("again", {"transform": changed}),
        ("rows", {"transform": lambda source: (v := source.array()[:, [0, 3]]) - v.mean(axis=0)}),
        ("reads", {"reads": (0, 3)}),
    ],
)
def test_the_clause_that_does_not_hold_is_named(clause: str, wrong: dict[str, Any]) -> None:
    check_step(Broken(), source_of(X.copy()))
    with pytest.raises(AssertionError, match=rf"^\[{clause}\]"):
        check_step(Broken(**wrong), source_of(X.copy()))


def test_branches_that_write_something_else_are_found() -> None:
    step, given = chain(front(columns=list(range(12))))
    assert isinstance(step, Chain)
    vars(step)["branches"] = step.branches[::-1]
    with pytest.raises(AssertionError, match=r"^\[branches\]"):
        check_step(step, source_of(given))
