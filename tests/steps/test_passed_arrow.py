"""Arrow tables behind a ColumnTransformer with `passthrough`, which scikit-learn itself refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

UNITS = Planner(cost="units")
#: What passes columns through as they are.
PASSED = {
    "as it is": "passthrough",
    "in a pipeline": make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), StandardScaler()),
    "in a union": FeatureUnion([("scaled", StandardScaler()), ("as it is", "passthrough")]),
}
MODELS = {
    "boosting": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
    "forest": RandomForestClassifier(n_estimators=8, max_depth=5, random_state=0),
    "linear": LogisticRegression(),
}


def frame(n: int = 300, seed: int = 0, missing: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    F = pd.DataFrame(
        {"unread": "x", "a": rng.normal(size=n), "c": rng.choice(list("pqr"), n), "b": rng.integers(0, 9, n)}
    )
    if missing:
        F["a"] = F["a"].where(rng.random(n) > 0.1)
        F["c"] = F["c"].where(rng.random(n) > 0.1)
    return F


def pipeline(encoder: Any, passed: Any, model: Any, missing: bool = False) -> Any:
    F = frame(missing=missing)
    y = (F["a"].fillna(0.3) + 0.1 * F["b"] + (F["c"] == "p") > 0.8).astype(int)
    front = ColumnTransformer([("c", encoder, ["c"]), ("n", passed, ["a", "b"])])
    return make_pipeline(front, model).fit(F, y)


def ordinal() -> OrdinalEncoder:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


@pytest.mark.parametrize("passed", PASSED)
@pytest.mark.parametrize("encoder", ["ordinal", "onehot"])
@pytest.mark.parametrize("model", MODELS)
def test_answers_are_those_of_the_frame(model: str, encoder: str, passed: str) -> None:
    encoding = ordinal() if encoder == "ordinal" else OneHotEncoder(handle_unknown="ignore")
    own = pipeline(encoding, PASSED[passed], MODELS[model])
    fast = EarlyExitClassifier(own, risk=0, planner=UNITS, random_state=0).fit(frame(seed=2))
    F = frame(200, seed=1)
    F.loc[3, "c"] = "never met"
    table = pa.Table.from_pandas(F, preserve_index=False)
    with pytest.raises(ValueError, match="adapter"):
        own.predict(table)
    expected = own.predict(F)
    assert 0 < expected.mean() < 1
    for given in (table, table.select(["c", "b", "a"]), pa.concat_tables([table[:7], table[7:]])):
        np.testing.assert_array_equal(fast.predict(given), expected)
    np.testing.assert_array_equal(fast.predict_proba(table), fast.predict_proba(F))
    encoded = table.set_column(table.column_names.index("c"), "c", table["c"].dictionary_encode())
    np.testing.assert_array_equal(fast.predict(encoded), expected)
    assert fast.predict(table[:0]).shape == (0,)


def test_a_null_is_what_was_missing_in_fit() -> None:
    own = pipeline(ordinal(), "passthrough", MODELS["boosting"], missing=True)
    F = frame(200, seed=1, missing=True)
    fast = EarlyExitClassifier(own, risk=0, planner=UNITS).fit()
    table = pa.Table.from_pandas(F, preserve_index=False)
    assert table["c"].null_count
    assert table["a"].null_count
    np.testing.assert_array_equal(fast.predict(table), own.predict(F))


def test_tables_with_other_columns_are_refused() -> None:
    own = pipeline(ordinal(), "passthrough", DecisionTreeClassifier(max_depth=3, random_state=0))
    fast = EarlyExitClassifier(own, risk=0, planner=UNITS).fit()
    table = pa.Table.from_pandas(frame(20), preserve_index=False)
    with pytest.raises(ValueError, match="missing"):
        fast.predict(table.drop_columns(["a"]))
    with pytest.raises(ValueError, match=r"unique|[Dd]uplicate"):
        fast.predict(table.append_column("a", table["a"]))


def test_an_unknown_category_is_the_encoders_own_error() -> None:
    own = pipeline(OrdinalEncoder(), "passthrough", MODELS["boosting"])
    fast = EarlyExitClassifier(own, risk=0, planner=UNITS).fit()
    F = frame(20)
    F.loc[3, "c"] = "never met"
    with pytest.raises(ValueError, match="Found unknown categories"):
        fast.predict(pa.Table.from_pandas(F, preserve_index=False))
