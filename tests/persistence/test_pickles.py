"""pickle, joblib, deepcopy and clone, of fitted and of loaded classifiers."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from persistence.cases import dense, made
from persistence.compare import near_ties, same_answers
from persistence.forge import without_estimator
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import wald


def by_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "pickle 2": lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": by_joblib,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", ["logistic", "rbf", "one-vs-one", "sparse and wide", "imputed rbf", "groups"])
@pytest.mark.parametrize("loaded", [False, True])
def test_copies_give_the_same_bits(way, name, loaded, tmp_path):
    fast, X = made(name)
    if loaded:
        wald.save(fast, tmp_path / "model.wald")
        fast = wald.load(tmp_path / "model.wald")
    same_answers(fast, COPIES[way](fast), X)


@pytest.mark.parametrize("way", COPIES)
def test_copies_of_a_loaded_model_decide_ties_alike(way, tmp_path):
    fast, X = near_ties()
    wald.save(fast, tmp_path / "model.wald")
    loaded = wald.load(tmp_path / "model.wald")
    np.testing.assert_array_equal(COPIES[way](loaded).predict(X), loaded.predict(X))
    scores = loaded.decision_function(X)
    np.testing.assert_array_equal(COPIES[way](loaded).decision_function(X), scores)


@pytest.mark.parametrize("way", COPIES)
def test_transformers_travel_by_pickle(way):
    fast, X = dense(make_pipeline(PCA(5), SVC()))()
    same_answers(fast, COPIES[way](fast), X)


def test_a_copy_can_be_saved(tmp_path):
    fast, _ = made("rbf")
    wald.save(fast, tmp_path / "one")
    wald.save(pickle.loads(pickle.dumps(fast)), tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_clones_are_not_fitted_and_have_the_parameters(tmp_path):
    fast, _ = made("groups")
    wald.save(fast, tmp_path / "model.wald")
    without_estimator(tmp_path / "model.wald")
    for model in (fast, wald.load(tmp_path / "model.wald")):
        again = clone(model)
        assert not hasattr(again, "plan_")
        given, taken = again.get_params(), model.get_params()
        for name in taken.keys() - {"planner"}:  # its own parameters are among these
            np.testing.assert_equal(given[name], taken[name])
    stand_in = model.estimator_
    assert clone(stand_in) is stand_in
