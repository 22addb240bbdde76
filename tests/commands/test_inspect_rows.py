"""``wald inspect --rows`` measures transformers that are not taken apart; stages name the columns that they read."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import wald

pandas = pytest.importorskip("pandas")


def saved(model: Any, rows: Any, y: Any, path: Path) -> wald.EarlyExitClassifier:
    model.fit(rows[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(model, risk=0.05, planner=wald.Planner(cost="units"), random_state=0)
    fast.fit(rows[1000:4000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wald.save(fast, path, pipeline="skops")
    return fast


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and the rows of each: `opaque` runs a step in front of the engine, `columns` has none."""
    pytest.importorskip("skops")
    found, rng = tmp_path_factory.mktemp("inspect-rows"), np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(4050, 6)), columns=[f"x{i}" for i in range(6)])
    y = X.to_numpy() @ [3.0, 2, 1, 0.5, 0, 0] > 0
    saved(make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=2000)), X, y, found / "opaque.wald")
    X[4000:].to_csv(found / "opaque.csv", index=False)
    people = pandas.DataFrame({"city": rng.choice([3.0, 7.0], 4050), "age": rng.normal(45, 15, 4050)})
    bought = np.where((people["age"] - 45) / 5 + 3 * (people["city"] == 7) > 1, "yes", "no")
    steps = ColumnTransformer([("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["city"])])
    saved(make_pipeline(steps, LogisticRegression()), people, bought, found / "columns.wald")
    people[4000:].to_csv(found / "columns.csv", index=False)
    return found


def test_rows_say_how_much_of_the_time_transformers_take(folder: Path) -> None:
    words = "'polynomialfeatures' (PolynomialFeatures) runs as it is, in front of the engine"
    before = said("inspect", folder / "opaque.wald")["model"]
    assert (before["in_front"], before["time_in_front"]) == (words, None)
    after = said("inspect", folder / "opaque.wald", "--rows", folder / "opaque.csv")["model"]
    assert 0 < after["time_in_front"] <= 1
    assert after["in_front"].startswith(f"{words}, and takes {after['time_in_front']:.0%} of the time of predict")
    assert after["in_front"].endswith("(50 rows)")
    shown = " ".join(done("inspect", folder / "opaque.wald", "--rows", folder / "opaque.csv").stdout.split())
    assert f"{words}, and takes" in shown
    assert "of the time of predict (50 rows)." in shown


def test_rows_of_a_model_that_is_taken_apart_change_nothing(folder: Path) -> None:
    alone = done("inspect", folder / "columns.wald").stdout
    assert done("inspect", folder / "columns.wald", "--rows", folder / "columns.csv").stdout == alone
    assert "in front of the engine" not in alone
    facts = said("inspect", folder / "columns.wald", "--rows", folder / "columns.csv")["model"]
    assert (facts["in_front"], facts["time_in_front"]) == (None, None)


def test_rows_that_do_not_fit_are_named(folder: Path) -> None:
    assert "columns.csv" in refusal("inspect", folder / "opaque.wald", "--rows", folder / "columns.csv")
    assert "none.csv" in refusal("inspect", folder / "opaque.wald", "--rows", folder / "none.csv")


def test_stages_name_the_raw_columns_that_they_read(folder: Path) -> None:
    looks = said("inspect", folder / "columns.wald")["plan"]["looks"]
    assert [look["reads"] for look in looks] == [["age"], ["city"]]
    lines = [line.split() for line in done("inspect", folder / "columns.wald").stdout.splitlines()]
    assert next(line for line in lines if line[:1] == ["look"])[:3] == ["look", "reads", "units"]
    assert [line[:2] for line in lines if line[:1] in (["1"], ["all"])] == [["1", "age"], ["all", "city"]]
    first = said("inspect", folder / "opaque.wald")["plan"]["looks"][0]["reads"]
    assert {"x0", "x1"} & set(first)  # the names that the transformer gives its columns
