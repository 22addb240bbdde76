"""Classifiers of every family with rows to report on, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from report.fitting import HOSTILE, Case, fitted
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC


@pytest.fixture(scope="session")
def rows() -> tuple[Any, Any]:
    return make_classification(3200, 12, n_informative=8, class_sep=1.5, random_state=0)


def reviews(n: int) -> tuple[list[str], Any]:
    """Texts that hold what would be elements of a page, and their labels."""
    rng = np.random.default_rng(0)
    common = [*(f"word{i}" for i in range(80)), "<script>alert(1)</script>", "</blockquote>", "&amp;"]
    telling = [["refund", "broken", "late"], ["thanks", "great", "love"]]
    kinds = rng.integers(2, size=n)

    def review(kind: int) -> str:
        words = rng.choice(common, rng.integers(3, 120))
        return " ".join(np.where(rng.random(len(words)) < 0.15, rng.choice(telling[kind], len(words)), words))

    return [review(kind) for kind in kinds], kinds


@pytest.fixture(scope="session")
def cases(rows: tuple[Any, Any]) -> dict[str, Case]:
    pandas = pytest.importorskip("pandas")
    X, y = rows
    X3, y3 = make_classification(3200, 12, n_informative=8, n_classes=3, random_state=0)
    frame = pandas.DataFrame(X, columns=[f'<b>"{i}"</b> & more' for i in range(12)])
    trees = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
    votes = VotingClassifier([("one", LogisticRegression()), ("two", GaussianNB())], voting="soft")
    texts, kinds = reviews(3200)
    people = frame[frame.columns[:3]].assign(city=np.array(["Cluj <b>", "Brno & more", "Graz"])[np.arange(len(X)) % 3])
    steps = ColumnTransformer(
        [("numbers", StandardScaler(), list(frame.columns[:3])), ("places", OneHotEncoder(), ["city"])]
    )
    bought = 2 * X[:, 0] + (people["city"] == "Graz") + X[:, 2] / 2 > 0.5
    return {
        "texts": fitted(make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)), texts, kinds),
        "columns": fitted(make_pipeline(steps, LogisticRegression()), people, bought.to_numpy()),
        "kernel": fitted(SVC(), X, y),
        "linear": fitted(LogisticRegression(), X, y),
        "trees": fitted(trees, frame, HOSTILE[y]),
        "votes": fitted(votes, X, y),
        "pipeline": fitted(make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=5000)), X, y),
        "multiclass": fitted(SVC(), X3, y3),
        "lossless": fitted(LogisticRegression(), X, y, risk=0),
        "measured": fitted(LogisticRegression(), X, y, risk=None),
        "positive": fitted(LogisticRegression(), X, y, risk={"positive": 0.05, "negative": 0}),
        "classes": fitted(LogisticRegression(), X, y, risk={"all": 0.05, 1: 0.03}),
    }


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; skips where it or Selenium is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()
