"""Sparse matrices, and frames of pandas' sparse columns: what the wrapped model makes of them, or refuses."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor, load, save

pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows equal (support vectors|rows)"),
    pytest.mark.filterwarnings("ignore:no early exit"),
    pytest.mark.filterwarnings("ignore:The file holds"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names"),
]
NAMES = ["b", "a", "c", "d"]


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(5, 2, size=(300, 4)), 1)
    X[rng.random(X.shape) < 0.4] = 0
    return X, X[:, 0] - X[:, 1] + rng.normal(size=300)


def with_nan(X):
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    return X


def dense(X):
    return pd.DataFrame(X, columns=NAMES)


def thin(X, fill=0.0):
    return pd.DataFrame({name: pd.arrays.SparseArray(X[:, c], fill_value=fill) for c, name in enumerate(NAMES)})


def shell(model, X):
    kind = EarlyExitClassifier if hasattr(model, "classes_") else EarlyExitRegressor
    return (EarlyExitOutlierDetector if hasattr(model, "score_samples") else kind)(model, risk=0).fit(X)


METHODS = ("predict", "predict_proba", "decision_function", "score_samples")
TREES = [
    DecisionTreeClassifier(max_depth=4, random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
    IsolationForest(n_estimators=7, random_state=0),
]


@pytest.mark.parametrize("model", TREES, ids=repr)
def test_a_stored_nan_goes_where_scikit_learn_sends_it(model):
    X, y = rows()
    X = with_nan(X)
    model.fit(dense(X), y if isinstance(model, ExtraTreesRegressor) else y > 0)
    fast, moved = shell(model, dense(X)), 0
    for size in (1, 5, 300):
        given = thin(X[:size])
        for method in filter(lambda name: hasattr(model, name), METHODS):
            own = getattr(model, method)(given)
            np.testing.assert_array_equal(getattr(fast, method)(given), own)
            moved += (own != getattr(model, method)(dense(X[:size]))).sum()
    assert moved > 20  # than in dense rows
    np.testing.assert_array_equal(fast.predict(dense(X)), model.predict(dense(X)))
    np.testing.assert_array_equal(fast.predict(thin(np.nan_to_num(X))), model.predict(thin(np.nan_to_num(X))))


def test_an_isolation_forest_takes_stored_nan_in_matrices_and_others_refuse_it():
    X, y = rows()
    matrix = sparse.csr_array(with_nan(X))
    forest = IsolationForest(n_estimators=7, random_state=0).fit(with_nan(X))
    fast = shell(forest, None)
    for method in ("predict", "decision_function", "score_samples"):
        for given in (matrix, matrix.tocsc(), matrix.astype(np.float32)):
            np.testing.assert_array_equal(getattr(fast, method)(given), getattr(forest, method)(given))
    assert (forest.score_samples(matrix) != forest.score_samples(with_nan(X))).any()
    votes = VotingClassifier([("a", DecisionTreeClassifier(max_depth=2)), ("b", RandomForestClassifier(3))])
    for model in (*TREES[:2], BaggingClassifier(DecisionTreeClassifier(), 3), votes):
        model.fit(with_nan(X), y > 0)
        fast = shell(model, with_nan(X))
        for method in ("predict", "predict_proba") if hasattr(model, "predict_proba") else ("predict",):
            for ask in (fast, model):
                with pytest.raises(ValueError, match="NaN"):
                    getattr(ask, method)(matrix)


def test_a_file_of_trees_refuses_stored_nan(tmp_path):
    X, _ = rows()
    forest = IsolationForest(n_estimators=7, random_state=0).fit(with_nan(X))
    save(shell(forest, None), tmp_path / "forest.wald")
    fast = load(tmp_path / "forest.wald")
    for given in (sparse.csr_array(with_nan(X)), thin(with_nan(X))):
        for method in ("predict", "decision_function"):
            with pytest.raises(ValueError, match=r"sparse and stores NaN.*toarray"):
                getattr(fast, method)(given)
    vote = VotingRegressor([("a", ExtraTreesRegressor(3)), ("b", DecisionTreeRegressor())]).fit(with_nan(X), rows()[1])
    save(shell(vote, None), tmp_path / "vote.wald")
    with pytest.raises(ValueError, match=r"sparse and stores NaN.*toarray"):  # its members are read from a file
        load(tmp_path / "vote.wald").predict(thin(with_nan(X)))
    own = forest.predict(sparse.csr_array(X))
    np.testing.assert_array_equal(fast.predict(sparse.csr_array(X)), own)


def test_a_fill_that_is_not_zero_is_refused_as_scikit_learn_does():
    X, y = rows()
    model = DecisionTreeClassifier(random_state=0).fit(dense(with_nan(X)), y > 0)
    fast = shell(model, None)
    for ask in (model, fast):
        with pytest.raises(ValueError, match="fill value must be 0"):
            ask.predict(thin(with_nan(X), fill=np.nan))


CENTRED = [
    make_pipeline(RobustScaler(), Ridge()),
    TransformedTargetRegressor(make_pipeline(RobustScaler(), Ridge()), transformer=StandardScaler()),
    make_pipeline(RobustScaler(), LogisticRegression()),
    make_pipeline(RobustScaler(), SGDOneClassSVM(random_state=0)),
]


@pytest.mark.parametrize("model", CENTRED, ids=lambda model: repr(model)[:60])
@pytest.mark.parametrize("kind", [thin, sparse.csr_matrix, sparse.csc_array])
def test_a_robust_scaler_leaves_sparse_rows_uncentred(model, kind):
    X, y = rows()
    fitted_on = dense(X) if kind is thin else X
    if "logistic" in repr(model).lower():
        y = y > 0
    model.fit(fitted_on, y)
    fast = shell(model, fitted_on)
    for size in (1, 5, 300):
        given = kind(X[:size])
        np.testing.assert_allclose(fast.predict(given), model.predict(given), rtol=1e-12)
    assert (model.predict(kind(X)) != model.predict(fitted_on)).any()
    np.testing.assert_allclose(fast.predict(fitted_on), model.predict(fitted_on), rtol=1e-9)


def test_a_standard_scaler_refuses_sparse_rows_before_a_regressor():
    X, y = rows()
    model = make_pipeline(StandardScaler(), Ridge()).fit(dense(X), y)
    fast = shell(model, dense(X))
    for given in (thin(X), sparse.csr_matrix(X), thin(X[:1])):
        for ask in (model, fast):
            with pytest.raises(ValueError, match=r"[Cc]annot center sparse"):
                ask.predict(given)


DENSE_ONLY = [
    SVC(),
    SVC(kernel="linear"),
    NuSVC(),
    SVR(),
    OneClassSVM(),
    make_pipeline(MaxAbsScaler(), SVC()),
    HistGradientBoostingClassifier(max_iter=3),
    HistGradientBoostingRegressor(max_iter=3),
]


@pytest.mark.parametrize("model", DENSE_ONLY, ids=lambda model: repr(model)[:40])
def test_what_takes_dense_rows_only_refuses_sparse_ones(model, tmp_path):
    X, y = rows()
    model.fit(dense(X), y > 0)
    fast = shell(model, dense(X))
    asked = [fast]
    if "Hist" not in repr(model):  # of which a file holds the trees alone
        save(fast, tmp_path / "model.wald")
        asked.append(load(tmp_path / "model.wald"))
    for given in (thin(X), sparse.csr_matrix(X), sparse.csc_array(X[:1])):
        for ask in asked:
            for method in filter(lambda name: hasattr(model, name) and hasattr(ask, name), METHODS):
                with pytest.raises((TypeError, ValueError)):
                    getattr(model, method)(given)
                with pytest.raises(ValueError, match=r"(?i)sparse.*toarray|sparse input|dense data is required"):
                    getattr(ask, method)(given)
    with pytest.raises((TypeError, ValueError), match=r"(?i)sparse (input|data)|X is sparse"):
        type(fast)(model, risk=0).fit(sparse.csr_matrix(X))


def test_kernel_ridge_takes_sparse_rows_after_dense_ones():
    X, y = rows()
    model = KernelRidge(kernel="rbf", gamma=0.1).fit(X, y)
    fast = EarlyExitRegressor(model, risk=0).fit(X)
    np.testing.assert_allclose(fast.predict(sparse.csr_matrix(X)), model.predict(sparse.csr_matrix(X)), atol=1e-8)
