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
from wald.persistence.container import FORMAT
from wald.stopping import ConstantBoundary

FILES = Path(__file__).parent / "files"


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


def main(library: str) -> None:
    wald.__version__ = library
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
