"""What files hold for a pipeline, as its fitted transformers say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
import pandas
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from wald.models.column_kinds import ColumnKind, Holds, column_kinds, vectorizes
from wald.models.file_columns import BadCellError, FileColumns, Guess

N = 30
X = pandas.DataFrame(
    {
        "text": ["a", "b", "1"] * 10,
        "lacks": ["a", np.nan, "b"] * 10,
        "whole": [1, 2, 3] * 10,
        "part": [0.5, np.nan, 2.0] * 10,
        "flag": [True, False, True] * 10,
        "post": ["some words", "more", "words"] * 10,
    }
)
NAMES = list(X.columns)
ENCODER = OneHotEncoder(handle_unknown="ignore")


def kinds(*steps: Any) -> dict[str, ColumnKind]:
    fitted = make_pipeline(*steps, LogisticRegression()).fit(X, [0, 1] * 15)
    return dict(zip(NAMES, column_kinds([step for _, step in fitted.steps[:-1]], NAMES), strict=True))


def filled(encoder: Any, strategy: str = "most_frequent") -> Any:
    return make_pipeline(SimpleImputer(strategy=strategy), encoder)


def test_every_column_of_a_column_transformer() -> None:
    found = kinds(
        ColumnTransformer(
            [
                ("texts", ENCODER, ["text", "lacks"]),
                ("whole", ENCODER, slice("whole", "whole")),
                ("part", filled(StandardScaler(), "mean"), [3]),
                ("flag", ENCODER, ["flag"]),
                ("post", CountVectorizer(), "post"),
            ]
        )
    )
    assert [kind.holds for kind in found.values()] == [
        *(Holds.TEXTS, Holds.TEXTS, Holds.NUMBERS, Holds.NUMBERS, Holds.BOOLEANS, Holds.DOCUMENTS)
    ]
    assert found["text"].known == {"a", "b", "1"}
    assert not found["text"].knows_missing
    assert found["lacks"].knows_missing
    assert math.isnan(found["lacks"].missing)
    assert found["whole"].whole


def test_what_an_encoder_says_counts_more_than_what_others_say() -> None:
    twice = ColumnTransformer(
        [
            ("own", FunctionTransformer(len_of), ["text"]),
            ("texts", filled(ENCODER), ["text", "lacks"]),
            ("numbers", StandardScaler(), ["flag", "whole"]),
            ("flag", OrdinalEncoder(), ["flag"]),
            ("rest", "passthrough", ["part"]),
            ("post", "drop", ["post"]),
            ("filled", SimpleImputer(), ["part"]),
        ]
    )
    found = kinds(twice, SimpleImputer())
    assert [kind.holds for kind in found.values()][:5] == [
        *(Holds.TEXTS, Holds.TEXTS, Holds.NUMBERS, Holds.NUMBERS, Holds.BOOLEANS)
    ]
    assert found["text"].knows_missing  # the imputer does


def len_of(frame: Any) -> Any:
    return frame.map(len) if hasattr(frame, "map") else np.zeros((len(frame), 1))


def test_nested_transformers() -> None:
    inner = ColumnTransformer([("t", ENCODER, [0, 1])])
    found = kinds(
        ColumnTransformer(
            [
                ("union", FeatureUnion([("one", ENCODER), ("two", OrdinalEncoder())]), ["text"]),
                ("nested", inner, ["whole", "lacks"]),
                ("log", FunctionTransformer(np.log1p), ["part"]),
                ("own", FunctionTransformer(len_of), ["post"]),
            ],
        ),
        SimpleImputer(),
    )
    assert [found[name].holds for name in ("text", "whole", "lacks", "part", "post")] == [
        *(Holds.TEXTS, Holds.NUMBERS, Holds.TEXTS, Holds.NUMBERS, Holds.ANYTHING)
    ]


def test_columns_behind_which_an_encoder_stands() -> None:
    passing = ColumnTransformer([("as they are", "passthrough", ["text", "lacks"])])
    found = kinds(passing, SimpleImputer(strategy="most_frequent"), ENCODER)
    assert found["text"].holds == Holds.ANYTHING  # so that the file's cells say it


def test_steps_that_read_texts() -> None:
    assert vectorizes(make_pipeline(FeatureUnion([("one", CountVectorizer())])))
    assert not vectorizes(StandardScaler())


# ---- cells ----------------------------------------------------------------------------------------------------------


def column(cells: list[str], guess: Guess | None = None, **about: Any) -> Any:
    columns = FileColumns(("c",), (ColumnKind(**about),))
    return columns.from_cells(0, np.array(cells, dtype=object), guess)


def test_cells_of_numbers() -> None:
    assert column(["1", "", "NA", " 2 "], holds=Holds.NUMBERS).tolist()[::3] == [1.0, 2.0]
    assert column(["1", "2"], holds=Holds.NUMBERS).dtype == np.float64
    assert column(["1", "2"], holds=Holds.NUMBERS, whole=True).dtype == np.int64
    assert column(["1", str(2**63)], holds=Holds.NUMBERS, whole=True).dtype == np.float64
    assert column(["True", "false"], holds=Holds.NUMBERS).dtype == bool
    assert column(["True", "2"], holds=Holds.NUMBERS).tolist() == [1.0, 2.0]
    assert column(["1", "", "2.5"], holds=Holds.NUMBERS, objects=True, missing=None).tolist() == [1, None, 2.5]
    with pytest.raises(BadCellError, match=r"^'1_0' is not a number\.$") as told:
        column(["1", "", "1_0"], holds=Holds.NUMBERS)
    assert told.value.row == 2


def test_cells_of_texts() -> None:
    about: dict[str, Any] = {"holds": Holds.TEXTS, "known": frozenset(["NA", "1"])}
    found = column(["NA", "null", "", "1", " x"], **about)
    assert pandas.isna(found).tolist() == [False, True, True, False, False]
    assert column(["NA", "null", ""], **about, missing=None).tolist() == ["NA", None, None]
    assert column(["", "null"], holds=Holds.TEXTS, known=frozenset([""])).tolist()[0] == ""
    assert column(["", "null"], holds=Holds.DOCUMENTS).tolist() == ["", "null"]


@pytest.mark.parametrize(
    ("blocks", "holds", "whole"),
    [
        ([["1", "2"], ["3"]], Holds.NUMBERS, True),
        ([["1", ""], ["3"]], Holds.NUMBERS, False),
        ([["1"], ["3.5"]], Holds.NUMBERS, False),
        ([["1"], ["x"]], Holds.ANYTHING, False),
        ([["x"], ["1"]], Holds.ANYTHING, False),
        ([["True", "FALSE"], ["", "true"]], Holds.BOOLEANS, False),
        ([["True"], ["1"]], Holds.ANYTHING, False),
    ],
)
def test_guesses_are_those_of_pandas(blocks: list[list[str]], holds: Holds, whole: bool, tmp_path: Any) -> None:
    guess: Guess | None = None
    for cells in blocks:
        new = Guess.of(np.array(cells, dtype=object))
        assert new is not None
        guess = new if guess is None else guess.joined(new)
    assert guess is not None
    assert guess.holds == holds
    assert holds != Holds.NUMBERS or guess.whole == whole
    cells = [cell for block in blocks for cell in block]
    (tmp_path / "x.csv").write_text("c,d\n" + "".join(f"{cell},0\n" for cell in cells))
    expected = pandas.read_csv(tmp_path / "x.csv")["c"]
    found = pandas.Series(column(cells, guess, holds=Holds.ANYTHING))
    assert found.dtype == expected.dtype
    assert found.isna().tolist() == expected.isna().tolist()
    assert found.dropna().tolist() == expected.dropna().tolist()
