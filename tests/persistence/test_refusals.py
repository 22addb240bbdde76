"""Models that a file cannot hold are refused by name, and no file is left behind."""

import copy
import dataclasses
import os
import stat
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

import numpy as np
import pytest
from persistence.cases import X2, dense, made, wrap, y2
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier
from wald.early_exit import CompiledPlan
from wald.persistence import container
from wald.stopping import Boundary, Certificate, Ladder, Needs


@dataclass(frozen=True)
class OwnRule:
    """A user-defined rule."""

    readout: ClassVar[str] = "regressed"
    needs: ClassVar[Needs] = Needs()

    def boundary(self, walk):
        return Boundary.symmetric(walk.threshold, np.ones(walk.n_stages))


class Cautious(Ladder):
    """A subclass, whose behaviour may differ."""


class Subclass(EarlyExitClassifier):
    pass


def labelled(labels):
    return lambda: dense(LogisticRegression(), X2, np.array(labels, dtype=object)[y2])()[0]


def dated():
    model = LogisticRegression().fit(X2[:300], y2[:300])
    model.classes_ = np.array([date(2020, 1, 1), date(2021, 1, 1)], dtype=object)
    return wrap(model, X2[300:])


REFUSED = {
    "not fitted": (lambda: EarlyExitClassifier(FrozenEstimator(SVC())), NotFittedError, "not fitted"),
    "another class": (lambda: SVC().fit(X2[:300], y2[:300]), TypeError, "fitted EarlyExitClassifier, .* Got SVC"),
    "a subclass": (
        lambda: Subclass(FrozenEstimator(SVC().fit(X2[:300], y2[:300])), risk=0.1).fit(X2[300:]),
        TypeError,
        "Got Subclass",
    ),
    "a transformer": (
        lambda: dense(make_pipeline(PCA(5), SVC()))()[0],
        ValueError,
        r"steps 'pca' \(PCA\) cannot be saved",
    ),
    "a rule from elsewhere": (lambda: dense(SVC(), rule=OwnRule())()[0], ValueError, "rule cannot be saved.*OwnRule"),
    "a subclass of a rule": (lambda: dense(SVC(), rule=Cautious())()[0], ValueError, "rule cannot be saved.*Cautious"),
    "a generator": (
        lambda: dense(SVC(), random_state=np.random.RandomState(0))()[0],
        ValueError,
        "random_state must be an int or None to be saved. Got a RandomState",
    ),
    "a zero at the end of a label": (labelled(["a", "b\0"]), ValueError, "classes_ cannot be saved"),
    "half a character": (labelled(["a", "b\ud800"]), ValueError, "cannot be saved.*no character"),
    "a long label": (labelled(["a", "b" * 1001]), ValueError, "classes_ cannot be saved"),
    "dates": (dated, ValueError, "labels cannot be saved: classes_ has the dtype object"),
    "parameters out of range": (
        lambda: dense(LogisticRegression())()[0].set_params(confidence=2),
        ValueError,
        "confidence must be",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_saved_is_refused_by_name(name, path):
    make, error, message = REFUSED[name]
    model = make()
    with pytest.raises(error, match=message):
        wald.save(model, path)
    assert os.listdir(path.parent) == []


def test_a_header_beyond_all_measure_is_refused(path):
    fast = dense(LogisticRegression())()[0]
    fast.feature_groups = {"all": list(range(200_000))}
    with pytest.raises(ValueError, match="parameters of this model are too large"):
        wald.save(fast, path)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_model_that_changed_since_fit_is_refused(hidden, path):
    X = np.random.default_rng(0).normal(size=(4000, 30))
    model = SVC().fit(X[:1000], X[:1000, 0] > 0)
    fast = wrap(model, X[1000:], risk=0.2)
    model.support_vectors_[-1 if hidden else 0, -1 if hidden else 0] += 1.0
    with pytest.raises(ValueError, match=r"Call fit again|Fit again"):
        wald.save(fast, path)


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    wald.save(made("logistic")[0], path)
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError("No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(container.os, step, full_disk)
            with pytest.raises(OSError, match="No space"):
                wald.save(made("rbf")[0], path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


def test_a_file_that_is_replaced_stays_whole_for_its_readers(path):
    wald.save(made("logistic")[0], path)
    before = path.read_bytes()
    with path.open("rb") as reader:
        wald.save(made("rbf")[0], path)
        assert reader.read() == before
    assert path.read_bytes() != before


@pytest.mark.skipif(os.name == "nt", reason="modes and links are POSIX's")
def test_links_are_followed_and_modes_are_the_users(path, tmp_path):
    link = tmp_path / "link.wald"
    link.symlink_to(path)
    wald.save(made("logistic")[0], link)
    assert link.is_symlink()
    assert path.is_file()
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_paths_that_cannot_be_written_or_read(tmp_path):
    fast = made("logistic")[0]
    with pytest.raises(FileNotFoundError):
        wald.save(fast, tmp_path / "nowhere" / "model.wald")
    with pytest.raises(FileNotFoundError):
        wald.load(tmp_path / "model.wald")
    with pytest.raises(OSError):  # noqa: PT011  # each system says it in its own way
        wald.save(fast, tmp_path)
    assert os.listdir(tmp_path) == []
    wald.save(fast, str(tmp_path / "model.wald"))
    assert wald.load(str(tmp_path / "model.wald")).plan_.q == fast.plan_.q


def test_a_certificate_that_calls_lossless_what_is_not(path):
    """The parts of a classifier may have been exchanged."""
    fast = copy.copy(made("rbf")[0])
    fast.risk, made_by = 0, fast.compiled_plan_
    plan, promise = dataclasses.replace(fast.plan_, q=1.0), dataclasses.replace(made_by.promise, given_risk=0)
    fast.compiled_plan_ = CompiledPlan(
        made_by.model, plan, Certificate.lossless(), promise, made_by.validation, made_by.reader
    )
    with pytest.raises(ValueError, match=r"cannot be saved: .* thresholds that q moves\. Call fit again"):
        wald.save(fast, path)
    assert not path.exists()
