"""skrub's TableVectorizer in front of a model: it runs as it is, and `inspect` names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from wald import EarlyExitClassifier, Planner

pd = pytest.importorskip("pandas")
skrub = pytest.importorskip("skrub")

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = {
    "linear": lambda: LogisticRegression(max_iter=300),
    "trees": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
}


def rows(n: int = 400, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "price": rng.normal(size=n),
            "size": rng.integers(0, 9, n),
            "city": rng.choice(["Graz", "Linz", "Wien", "N/A"], n),
            "new": rng.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_table_vectorizer_stays_in_front(model: str) -> None:
    F = rows()
    y = (F["price"] + (F["city"] == "Wien") + F["size"] / 9 > 1).to_numpy()
    pipeline = make_pipeline(skrub.TableVectorizer(), MODELS[model]()).fit(F, y)
    fast = EarlyExitClassifier(pipeline, risk=0, planner=Planner(cost="units")).fit(F)
    X = rows(200, 1)
    X.loc[:3, "city"] = ["Rom", None, "N/A", ""]
    X.loc[4, "price"] = 0.0
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))
    np.testing.assert_allclose(fast.predict_proba(X), pipeline.predict_proba(X), rtol=1e-6)
    assert fast.predict_one(X.iloc[9].to_dict()) == pipeline.predict(X.iloc[9:10])[0]
    shown = str(fast.compiled_plan_.in_front)  # which `inspect` shows
    assert "TableVectorizer with " in shown
    assert "DatetimeEncoder" in shown
    assert "OneHotEncoder" in shown
    assert "PassThrough" not in shown


def test_its_share_of_the_time_is_measured() -> None:
    F = rows()
    y = (F["price"] > 0.2).to_numpy()
    pipeline = make_pipeline(skrub.TableVectorizer(), MODELS["linear"]()).fit(F, y)
    fast = EarlyExitClassifier(pipeline, risk=0, random_state=0).fit(rows(300, 2))
    in_front = fast.compiled_plan_.in_front
    assert in_front is not None
    assert in_front.share is not None
    assert 0.3 < in_front.share <= 1
    assert "of the time of predict" in str(in_front)
