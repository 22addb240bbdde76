"""Classifiers of every family with rows to report on, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from report.fitting import HOSTILE, Case, fitted
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC


@pytest.fixture(scope="session")
def rows() -> tuple[Any, Any]:
    return make_classification(3200, 12, n_informative=8, class_sep=1.5, random_state=0)


@pytest.fixture(scope="session")
def cases(rows: tuple[Any, Any]) -> dict[str, Case]:
    pandas = pytest.importorskip("pandas")
    X, y = rows
    X3, y3 = make_classification(3200, 12, n_informative=8, n_classes=3, random_state=0)
    frame = pandas.DataFrame(X, columns=[f'<b>"{i}"</b> & more' for i in range(12)])
    trees = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
    votes = VotingClassifier([("one", LogisticRegression()), ("two", GaussianNB())], voting="soft")
    return {
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
