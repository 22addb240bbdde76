"""Saved models load, and answer with the same bits."""

import dataclasses
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from persistence.cases import MAKERS, X2, dense, made
from persistence.compare import near_ties, same_answers, same_array
from persistence.forge import taken_apart, without_estimator
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import wald
from wald.early_exit.compiled.predictor import Predictor
from wald.persistence import SavedModel
from wald.sources import source_of
from wald.steps import Folded

terms_only = pytest.mark.filterwarnings("ignore:The file holds the terms")  # of trees, which files hold exactly

PARAMETERS = ("risk", "confidence", "planner__rule", "planner__cost", "planner__certificate_fraction", "n_jobs")


@pytest.mark.one_in(3)
@terms_only
@pytest.mark.parametrize("name", MAKERS)
def test_a_loaded_model_gives_the_same_bits(name, path):
    fast, X = made(name)
    wald.save(fast, path)
    loaded = wald.load(path)
    assert not isinstance(loaded.estimator_, SavedModel)
    same_answers(fast, loaded, X)
    same_array(loaded.plan_, fast.plan_)
    same_array(loaded.compiled_plan_.validation.scores, fast.compiled_plan_.validation.scores)
    same_array(loaded.classes_, fast.classes_)
    assert loaded.certificate_ == fast.certificate_
    assert loaded.n_features_in_ == fast.n_features_in_
    assert loaded.estimator_.n_features_in_ == fast.n_features_in_
    same_array(getattr(loaded, "feature_names_in_", None), getattr(fast, "feature_names_in_", None))
    ours, theirs = fast.get_params(), loaded.get_params()
    for parameter in PARAMETERS:
        assert theirs[parameter] == ours[parameter]
    for parameter in ("planner__order", "feature_costs", "feature_groups"):
        np.testing.assert_equal(theirs[parameter], ours[parameter])


def test_the_cases_are_what_their_names_say():
    plans = {name: made(name)[0].plan_ for name in ("rbf", "rbf in float64", "rbf with landmarks")}
    assert [plan.precision for plan in plans.values()] == ["float32", "float64", "float32"]
    assert len(plans["rbf with landmarks"].surrogates.vectors) > 0
    for name in MAKERS:
        if name not in ("frame", "groups", "measured times"):
            assert made(name)[0].plan_.evaluate_all == name.startswith("evaluates everything")
    assert sparse.issparse(made("sparse")[0].compiled_plan_.model.terms.support_vectors)
    assert made("words as objects")[0].classes_.dtype == object


@pytest.mark.one_in(3)
@terms_only
@pytest.mark.parametrize("name", MAKERS)
def test_with_its_estimator_it_is_the_one_that_was_saved(name, path):
    fast, X = made(name)
    wald.save(fast, path)
    for estimator in (fast.estimator_, FrozenEstimator(fast.estimator_)):
        loaded = wald.load(path, estimator=estimator)
        assert loaded.estimator_ is fast.estimator_
        same_answers(fast, loaded, X)
    if hasattr(fast, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), fast.predict_proba(X))


@pytest.mark.parametrize("name", ["logistic", "rbf with landmarks", "sparse and wide", "groups", "words as objects"])
def test_saving_again_gives_the_same_bytes(name, path):
    fast, _ = made(name)
    wald.save(fast, path)
    first = path.read_bytes()
    wald.save(wald.load(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["logistic", "rbf", "one-vs-one", "imputed logistic"])
def test_a_loaded_model_can_be_certified_again(name, path):
    fast, X = made(name)
    wald.save(fast, path)
    ours, theirs = fast.recertify(X, risk=0.1), wald.load(path).recertify(X, risk=0.1)
    assert ours.certificate_ == theirs.certificate_
    same_answers(ours, theirs, X)


class InFloat64:
    """A wrapped estimator that decides by the engine's score in float64."""

    def __init__(self, model, plan):
        self.decision, self.classes = model.decision, model.classes
        self.packed = model.terms.pack(plan.terms, plan.surrogates, plan.precision)

    def predict(self, X):
        scores, _ = self.packed.scores(X, lambda dtype: 0.0, 1)
        return self.classes[self.decision.answers(scores)]


def twin(fast):
    """The same classifier with ties decided in float64."""
    own = fast.compiled_plan_.model
    folded = own.folded and Folded(centres=own.folded.centres)
    model = dataclasses.replace(own, estimator=InFloat64(own, fast.plan_), leaf=None, folded=folded)
    return Predictor(model, fast.plan_, fast.compiled_plan_.by_proof)


def test_ties_are_decided_in_float64_unless_the_estimator_is_there(path):
    fast, X = near_ties()
    wald.save(fast, path)
    without_estimator(path)
    loaded = wald.load(path)
    codes, ledger = twin(fast).predict(source_of(X), 1, None)
    labels, cost = loaded.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, fast.classes_[codes])
    np.testing.assert_array_equal(cost, fast.plan_.stage_costs[ledger.stages])
    assert [loaded.predict_one(x) for x in X[:200]] == labels[:200].tolist()
    assert (labels != fast.predict(X)).any()  # or this test shows nothing
    np.testing.assert_array_equal(wald.load(path, estimator=fast.estimator_).predict(X), fast.predict(X))


def test_a_row_decides_alone_also_near_ties(path):
    fast, X = near_ties()
    wald.save(fast, path)
    without_estimator(path)
    loaded = wald.load(path)
    labels = loaded.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(loaded.predict(X[order]), labels[order])
    everything = loaded.estimator_.predict(X)
    assert [loaded.estimator_.predict(x[None])[0] for x in X[:100]] == everything[:100].tolist()
    np.testing.assert_array_equal(loaded.estimator_.set_params(n_jobs=2).predict(X), everything)


# ---- the stand-in ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "rbf", "logistic multiclass", "scaled rbf", "imputed logistic"])
def test_the_stand_in_scores_like_the_estimator(name, path):
    fast, X = made(name)
    wald.save(fast, path)
    without_estimator(path)
    loaded = wald.load(path)
    np.testing.assert_allclose(loaded.decision_function(X), fast.decision_function(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(loaded.estimator_.predict(X), fast.estimator_.predict(X))


def test_pairwise_scores_are_libsvms(path):
    fast, X = made("one-vs-one")
    wald.save(fast, path)
    without_estimator(path)
    pairs = clone(fast.estimator_).set_params(decision_function_shape="ovo")
    pairs.__dict__.update({k: v for k, v in vars(fast.estimator_).items() if k.endswith("_") or k.startswith("_")})
    np.testing.assert_allclose(wald.load(path).decision_function(X), pairs.decision_function(X), atol=1e-9)


def test_the_stand_in_has_no_probabilities_and_says_why(path):
    fast, X = made("logistic")
    wald.save(fast, path)
    without_estimator(path)
    loaded = wald.load(path)
    assert not hasattr(loaded, "predict_proba")
    with pytest.raises(AttributeError, match=r"wald\.load\(path, estimator=") as error:
        loaded.estimator_.predict_proba(X)
    assert "probabilities" in str(error.value)
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
        loaded.predict_proba(X)


def test_a_loaded_model_cannot_be_fitted_and_says_so(path):
    fast, X = made("logistic")
    wald.save(fast, path)
    without_estimator(path)
    with pytest.raises(TypeError, match="SavedModel is not supported"):
        wald.load(path).fit(X)
    with pytest.raises(TypeError, match="cannot be fitted"):
        wald.load(path).estimator_.fit(X)
    again = wald.load(path, estimator=fast.estimator_).fit(X[:500])
    assert again.certificate_.status == "certified"


@pytest.mark.parametrize("name", ["logistic", "evaluates everything"])
def test_rows_that_are_not_finite_are_refused(name, path):
    fast, X = made(name)
    wald.save(fast, path)
    X = X.copy()
    X[3, :] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        wald.load(path).predict(X)


def test_feature_names_are_checked(path):
    fast, X = made("frame")
    wald.save(fast, path)
    loaded = wald.load(path)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(X.rename(columns={"größe 0": "other"}))
    with pytest.raises(ValueError, match="now missing"):
        loaded.predict(X.iloc[:, 1:])


def test_tags_are_those_of_the_model(path):
    for name, sparse_rows, nan in (("sparse", True, False), ("scaled rbf", False, False), ("imputed rbf", False, True)):
        wald.save(made(name)[0], path)
        without_estimator(path)
        tags = wald.load(path).__sklearn_tags__()
        assert (tags.input_tags.sparse, tags.input_tags.allow_nan) == (sparse_rows, nan)


# ---- risk 0 ----------------------------------------------------------------------------------------------------------


def test_risk_0_needs_its_estimator(path):
    fast, X = dense(SVC(), risk=0)()
    wald.save(fast, path)
    without_estimator(path)
    with pytest.raises(ValueError, match="promises the labels of the estimator itself") as error:
        wald.load(path)
    assert type(error.value) is ValueError  # the file is as it should be
    loaded = wald.load(path, estimator=fast.estimator_)
    np.testing.assert_array_equal(loaded.predict(X), fast.estimator_.predict(X))
    same_answers(fast, loaded, X)


@pytest.mark.parametrize("name", ["rbf", "logistic", "sparse", "threshold", "words"])
def test_another_estimator_is_refused(name, path):
    fast, _ = made(name)
    wald.save(fast, path)
    others = [made(other)[0].estimator_ for other in ("poly", "logistic multiclass", "calibrated", "sparse and wide")]
    nearly = clone(fast.estimator_).fit(*fit_rows(name))
    for other in (*others, nearly):
        with pytest.raises(ValueError, match="was saved for another model"):
            wald.load(path, estimator=other)
    with pytest.raises(TypeError, match="not supported"):
        wald.load(path, estimator=object())


def fit_rows(name):
    fast, X = made(name)
    labels = fast.estimator_.predict(X)
    return X[:250], labels[:250]


def test_one_bit_makes_another_estimator(path):
    X, y = X2[:300], (X2[:300].sum(axis=1) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(X2), path)
    wald.load(path, estimator=model)
    model.coef_ = np.nextafter(model.coef_, 9)
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=model)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_another_process_answers_alike_and_needs_no_pickle(path, tmp_path):
    fast, X = made("one-vs-one")
    wald.save(fast, path)
    np.save(tmp_path / "X.npy", X)
    program = (
        "import sys, numpy, wald, pickle\n"
        "pickle.Unpickler = pickle.loads = pickle.load = None\n"
        "loaded = wald.load(sys.argv[1])\n"
        "labels, cost = loaded.predict(numpy.load(sys.argv[2]), return_cost=True)\n"
        "numpy.savez(sys.argv[3], labels=labels, cost=cost)\n"
    )
    places = [str(path), str(tmp_path / "X.npy"), str(tmp_path / "answers.npz")]
    source = pathlib.Path(wald.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-c", program, *places], check=True, env=environment)
    labels, cost = fast.predict(X, return_cost=True)
    with np.load(tmp_path / "answers.npz") as answers:
        same_array((answers["labels"], answers["cost"]), (labels, cost))


def test_every_parameter_is_in_the_file(path):
    fast, _ = made("groups")
    wald.save(fast, path)
    fields, _ = taken_apart(path.read_bytes())
    not_given = {"bands", "reference", "surrogates", "tolerance"}  # or as they usually are
    assert set(fields["parameters"]) | {"estimator"} == set(fast.get_params(deep=False)) - not_given
