"""Make the files that later versions must read: ``python tests/persistence/make_files.py`` in a new format version.

Each holds a small model, and ``v*-answers.json`` what it answers for some rows. Files of a format version are made
once, by the version of wald that introduced it, and are never made again.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import wald
from wald.datasets import make_chains
from wald.online import AttentivePerceptron
from wald.persistence.container import FORMAT
from wald.stopping import ConstantBoundary
from wald.structured import HOG, ChainClassifier, DependencyParser, FeatureGroup, from_words

FILES = Path(__file__).parent / "files"
WORDS = [("Cats", "NOUN", "NNS"), ("sleep", "VERB", "VBP"), ("Dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP")]


def rows(classes: int) -> tuple[Any, Any]:
    return make_classification(
        700, 6, n_informative=5, n_redundant=0, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )


def models() -> dict[str, Any]:
    X, y = rows(2)
    X3, y3 = rows(3)
    linear = LogisticRegression().fit(X[:100], np.array(["no", "yes"])[y[:100]])
    rbf = make_pipeline(StandardScaler(), SVC()).fit(X[:100], y[:100])
    pairs = SVC(gamma=0.1).fit(X3[:100], y3[:100])
    poly = SVC(kernel="poly", degree=2, coef0=1.0).fit(sparse.csr_array(X[:100]), y[:100])
    options = {"risk": 0.03, "cost": "units", "random_state": 0}
    return {
        "linear": wald.EarlyExitClassifier(FrozenEstimator(linear), rule=ConstantBoundary(), **options).fit(X[100:]),
        "rbf": wald.EarlyExitClassifier(FrozenEstimator(rbf), **options).fit(X[100:]),
        "sparse": wald.EarlyExitClassifier(FrozenEstimator(poly), **options).fit(X[100:]),
        "one-vs-one": wald.EarlyExitClassifier(FrozenEstimator(pairs), **options).fit(X3[100:550]),
    }


def estimators() -> dict[str, tuple[Any, Any]]:
    """Models that do not wrap another classifier, and rows for them."""
    bank = from_words([[("Dogs", "NOUN", "NNS", 2, "nsubj"), ("bark", "VERB", "VBP", 0, "root")]] * 9)
    photos, kinds = make_chains(40, n_features=6, random_state=0)
    groups = [FeatureGroup("pixels"), FeatureGroup("hog", HOG((3, 2), 1, 2, 2), cost=3.0)]
    X, y = rows(3)
    short = {"max_iter": 2, "tol": None, "random_state": 0, "warm_up": 16, "ring_size": 16}
    learner = AttentivePerceptron(run_length=2, audit_rate=0.2, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, **short)
    parser = DependencyParser(table_bits=8, n_epochs=1, relations=False, features="tags", random_state=0)
    return {
        "parser": (parser.fit(bank), [[list(word[:3]) for word in WORDS]]),
        "chain": (ChainClassifier(groups, max_iter=3, random_state=0).fit(photos, kinds), np.round(photos[0], 3)),
        "online": (learner.fit(X, y), X[:30].round(3)),
    }


def labels_of(model: Any, rows: Any) -> Any:
    """The answers of a model for the rows of a file."""
    if isinstance(model, DependencyParser):
        return model.predict(rows).heads.tolist()
    if isinstance(model, ChainClassifier):
        return model.predict([np.array(rows)])[0].tolist()
    return model.predict(np.array(rows)).tolist()


def main(library: str) -> None:
    wald.__version__ = library
    found: dict[str, Any] = {}
    for name, (model, given) in estimators().items():
        path = FILES / f"v{FORMAT}-{name}.wald"
        if path.exists():
            sys.exit(f"{path} is there: files of a format version are made once.")
        wald.save(model, path)
        plain = np.asarray(given).tolist()
        found[path.name] = {"rows": plain, "labels": labels_of(model, plain)}
    (FILES / f"v{FORMAT}-estimators.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    answers: dict[str, Any] = {}
    for name, fast in models().items():
        path = FILES / f"v{FORMAT}-{name}.wald"
        if path.exists():
            sys.exit(f"{path} is there: files of a format version are made once.")
        wald.save(fast, path)
        X = rows(3)[0][:30].round(3)
        labels, cost = fast.predict(X, return_cost=True)
        answers[path.name] = {
            "rows": X.tolist(),
            "labels": labels.tolist(),
            "cost": cost.tolist(),
            "stages": fast.stage_scores(X)[1].tolist(),
            "scores": fast.stage_scores(X)[0].round(5).tolist(),
            "certificate": str(fast.certificate_),
        }
    (FILES / f"v{FORMAT}-answers.json").write_text(json.dumps(answers) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(sys.argv[1])
