"""Arrays and frames of other dtypes than float32 and float64 are read as the library reads them, at its thresholds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

from wald import EarlyExitClassifier

MODELS = {
    "LightGBM": LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1, random_state=0),
    "XGBoost": XGBClassifier(n_estimators=20, n_jobs=1),
    "histograms": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
}
DTYPES = {
    "long double": lambda X: X.astype(np.longdouble),
    "other byte order": lambda X: X.astype(">f8"),
    "float32 of the other byte order": lambda X: X.astype(">f4"),
    "float16": lambda X: X.astype(np.float16),
    "int64": lambda X: np.round(X * 1e9).astype(np.int64),
    "uint64": lambda X: np.abs(X).astype(np.uint64) + np.uint64(2**60),
    "bool": lambda X: X > 0,
    "frame of float16": lambda X: pd.DataFrame(X.astype(np.float16)),
    "frame of integers": lambda X: pd.DataFrame(np.round(X * 1e9).astype(np.int64)),
    "mixed frame": lambda X: pd.DataFrame(
        {0: X[:, 0].astype(np.float32), 1: X[:, 1], 2: np.round(X[:, 2]).astype(int)}
    ),
}


@pytest.fixture(scope="module")
def made():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    thresholds = np.sort(X, axis=0)
    # values between those of training, where libraries of scikit-learn put thresholds, and LightGBM's own
    rows = (thresholds[1:] + thresholds[:-1]) / 2
    fits = {name: model.fit(X, y) for name, model in MODELS.items()}
    trees = fits["LightGBM"].booster_.trees_to_dataframe()
    own = [trees[trees.split_feature == f"Column_{c}"].threshold.to_numpy() for c in range(3)]
    rng = np.random.default_rng(1)
    rows = np.vstack([rows, np.column_stack([rng.choice(values, 1500) for values in own])])
    return {name: (model, EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()) for name, model in fits.items()}, [
        rng.permutation(column) for column in rows.T
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODELS)
def test_rows_of_other_dtypes_are_read_as_by_the_library(made, name, dtype):
    models, columns = made
    model, fast = models[name]
    if name == "XGBoost" and "byte order" in dtype:
        pytest.skip("XGBoost reads the bytes in the wrong order")
    rows = DTYPES[dtype](np.column_stack(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own, probabilities = model.predict(rows), model.predict_proba(rows)
    np.testing.assert_array_equal(fast.predict(rows), own)
    np.testing.assert_allclose(fast.predict_proba(rows), probabilities, rtol=1e-6)
    if isinstance(rows, np.ndarray):
        assert [fast.predict_one(row) for row in rows[:200]] == own[:200].tolist()


# ---- Arrow tables of LightGBM --------------------------------------------------------------------------------------

ZERO = float(np.float32(1e-35))
#: Numbers on both sides of LightGBM's bounds of zero, which are thresholds of models that were trained on zeros.
NEAR_ZERO = [
    *(sign * size for size in (5e-324, 5e-36, 1e-35, np.nextafter(ZERO, 0), ZERO, 2e-35, 1.0) for sign in (1, -1)),
    *(np.nextafter(ZERO, 1), -np.nextafter(ZERO, 1), 0.0, -0.0),
]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("missing", [{}, {"use_missing": False}, {"zero_as_missing": True}], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lightgbm_reads_one_number_of_arrow_tables_otherwise_and_wald_does_not(missing, dtype):
    pyarrow = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) * (rng.random((3000, 3)) < 0.6)
    model = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1, **missing).fit(X, (X > 0).sum(axis=1) > 1)
    thresholds = model.booster_.trees_to_dataframe().threshold.to_numpy(dtype=float)
    assert np.isin([-ZERO, ZERO], thresholds).any(), "no bound of zero is among the thresholds"
    rows = rng.choice(np.array(NEAR_ZERO, dtype=dtype), size=(2000, 3))
    table = pyarrow.table({f"Column_{c}": rows[:, c] for c in range(3)})
    own = model.predict_proba(rows)
    differ = (model.predict_proba(table) != own).any(axis=1)
    assert differ.any() == ("zero_as_missing" not in missing)
    assert (rows[differ] == -ZERO).any(axis=1).all()
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    np.testing.assert_array_equal(fast.predict_proba(table), own)
    np.testing.assert_array_equal(fast.predict(table), model.predict(rows))
    others = np.where(rows == -ZERO, dtype(0), rows)
    table = pyarrow.table({f"Column_{c}": others[:, c] for c in range(3)})
    np.testing.assert_array_equal(fast.predict_proba(table), model.predict_proba(table))
