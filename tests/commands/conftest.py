"""A model, its rows in every format, and the file that ``wald fit`` makes from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, digits: Any) -> Path:
    """A folder; do not write into it."""
    skops, pandas = pytest.importorskip("skops.io"), pytest.importorskip("pandas")
    from commands.running import done  # skips where there is no command line

    folder = tmp_path_factory.mktemp("commands")
    names = [f"pixel{i}" for i in range(64)]
    fit, test = (pandas.DataFrame(X, columns=names) for X in (digits.X_fit, digits.X_test))
    svc = SVC(gamma=0.3, C=10).fit(digits.X_train, digits.y_train)
    named = SVC(gamma=0.3, C=10).fit(pandas.DataFrame(digits.X_train, columns=names), digits.y_train)
    words = SVC(gamma=0.3, C=10).fit(digits.X_train, np.where(digits.y_train % 2, "odd", "even").astype(object))
    skops.dump(svc, folder / "svc.skops")
    skops.dump(named, folder / "named.skops")
    skops.dump(words, folder / "words.skops")
    joblib.dump(svc, folder / "svc.joblib", compress=3)
    np.save(folder / "fit.npy", digits.X_fit)
    np.save(folder / "test.npy", digits.X_test)
    np.save(folder / "train.npy", digits.X_train)
    fit.assign(label=digits.y_fit, writer=np.arange(len(fit)) // 2).to_csv(folder / "fit.csv", index=False)
    test[names[::-1]].to_csv(folder / "test.csv", index=False)
    dump_svmlight_file(digits.X_test, digits.y_test, str(folder / "test.svm"), zero_based=False)
    for name in ("svc", "words"):
        options = ("--risk", 0.05, "--cost", "units")
        done("fit", folder / f"{name}.skops", folder / "fit.npy", "-o", folder / f"{name}.wald", *options)
    return folder
