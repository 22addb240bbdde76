"""Models behind surrogates in files: the plan and the surrogates are there, and the model is given again."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import wald
from wald import Calls, EarlyExitClassifier, Surrogate
from wald.clusters.shipping import receive, ship
from wald.persistence import FileFormatError, from_bytes, to_bytes

X, y = make_classification(
    1500, 6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1, class_sep=2.0, random_state=0
)
LABELS = np.array(["egg", "ham", "spam"])[y]
MODEL = GaussianNB().fit(X[:500], LABELS[:500])


class Own(GaussianNB):
    """A classifier that wald does not read."""


OWN = Own().fit(X[:500], LABELS[:500])


def served(rows):
    """Labels, as a function gives them."""
    return MODEL.predict(rows)


def lean(rows):
    """What a function says of rows."""
    return rows[:, :2]


def written(fast, path, **given):
    """Save, and give what `save` warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        wald.save(fast, path, **given)
    return [str(each.message) for each in found]


def require_equal(loaded, fast, rows=X):
    """Both give the same answers, and make the same promise."""
    one, other = loaded.predict(rows, details=True), fast.predict(rows, details=True)
    for name in ("labels", "costs", "stages", "status"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.labels.dtype == other.labels.dtype
    assert str(loaded.certificate_) == str(fast.certificate_)
    assert loaded.classes_.tolist() == fast.classes_.tolist()


@cache
def learnt(n_classes=3):
    """With trees and landmarks."""
    few = np.arange(500, 1500)[y[500:] < n_classes]
    model = Own().fit(X[:500][y[:500] < n_classes], LABELS[:500][y[:500] < n_classes])
    return model, EarlyExitClassifier(model, surrogates="auto", risk=0.05, random_state=0).fit(X[few])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_surrogates_that_wald_has_learnt_are_numbers(n_classes, tmp_path):
    model, fast = learnt(n_classes)
    assert len(fast.compiled_plan_.model.preprocessing.surrogates) > 1
    said = written(fast, tmp_path / "a.wald")
    assert said == [
        "The file holds no numbers of Own, which is asked as it is: it is loaded by wald.load(path, estimator=...)."
    ]
    loaded = wald.load(tmp_path / "a.wald", estimator=model)
    require_equal(loaded, fast)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.surrogates is None
    assert written(loaded, tmp_path / "b.wald") == said
    assert (tmp_path / "b.wald").read_bytes() == (tmp_path / "a.wald").read_bytes()
    assert [p.name for p in loaded.explain(X[0]).parts] == [p.name for p in fast.explain(X[0]).parts]


def test_classifiers_that_wald_reads_are_described(tmp_path):
    surrogates = [
        Surrogate(LogisticRegression().fit(X[:500], LABELS[:500]), cost=0.01, name="line"),
        Surrogate(SVC().fit(X[:300], LABELS[:300]), cost=0.2),
    ]
    fast = EarlyExitClassifier(OWN, surrogates=surrogates, risk=0.05, random_state=0).fit(X[500:])
    assert len(written(fast, tmp_path / "a.wald")) == 1
    loaded = wald.load(tmp_path / "a.wald", estimator=OWN)
    require_equal(loaded, fast)
    assert [each.title for each in loaded.surrogates] == ["line", "SVC"]


def test_functions_are_given_again(tmp_path):
    surrogates = [Surrogate(lean, cost=0.01), Surrogate(MODEL, cost=0.1)]
    calls = Calls(served, name="server", batch_size=100)
    fast = EarlyExitClassifier(calls, surrogates=surrogates, risk=0.05, random_state=0).fit(X[500:])
    path = tmp_path / "a.wald"
    assert written(fast, path) == [
        "The file holds no numbers of server, which is asked as it is, nor of the surrogates 'lean', 'GaussianNB': it "
        "is loaded by wald.load(path, estimator=..., surrogates=[...])."
    ]
    again = Calls(served, name="server")
    require_equal(wald.load(path, estimator=again, surrogates=[lean, MODEL]), fast)
    for given, message in (
        ({}, r"holds the surrogates of server, and not .*estimator=..., surrogates=\[lean, GaussianNB\]\)"),
        ({"estimator": served}, r"was saved for server, and estimator is served: .*Calls\(function, name='server'\)"),
        ({"estimator": OWN}, "was saved for server, and estimator is Own: give the one"),
        ({"estimator": again}, r"needs as surrogates \[lean, GaussianNB\], which it does not hold. Got \[\]"),
        ({"estimator": again, "surrogates": [MODEL, lean]}, r"Got \[GaussianNB, lean\]: give them in this order"),
    ):
        with pytest.raises(ValueError, match=message):
            wald.load(path, **given)
    with pytest.raises(TypeError, match="The model must be a fitted classifier"):
        wald.load(path, estimator=3)
    with pytest.raises(ValueError, match="A function is in no file: leave pipeline out"):
        wald.save(fast, path, pipeline="skops")


def test_texts(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array(["good", "fine", "bad", "poor", "film", "plot", "the", "a"])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(2000)]

    def opinion(texts):
        return ["for" if t.count("good") + t.count("fine") > t.count("bad") + t.count("poor") else "no" for t in texts]

    fast = EarlyExitClassifier(opinion, risk=0.2, random_state=0).fit(texts)
    assert len(written(fast, tmp_path / "a.wald")) == 1
    require_equal(wald.load(tmp_path / "a.wald", estimator=opinion), fast, texts[:200])


def test_names_and_monitors(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = Own().fit(frame[:500], LABELS[:500])
    fast = EarlyExitClassifier(model, surrogates="auto", risk=0.05, random_state=0).fit(frame[500:])
    watched = fast.watched(0.5)
    watched.predict(frame)
    written(watched, tmp_path / "a.wald")
    loaded = wald.load(tmp_path / "a.wald", estimator=model)
    assert loaded.monitor_.n_rows == watched.monitor_.n_rows == len(X)
    require_equal(loaded.unwatched(), fast, frame)
    assert loaded.predict_one(frame.iloc[3].to_dict()) == fast.predict_one(frame.iloc[3].to_dict())
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def test_the_model_inside_by_skops(tmp_path):
    pytest.importorskip("skops")
    fast = EarlyExitClassifier(MODEL, surrogates="auto", risk=0.2, random_state=0).fit(X[500:])
    assert written(fast, tmp_path / "a.wald", pipeline="skops") == []
    loaded = wald.load(tmp_path / "a.wald")
    require_equal(loaded, fast)
    assert np.array_equal(loaded.predict_proba(X), MODEL.predict_proba(X))
    require_equal(receive(ship(fast, pipeline="skops")[0]), fast)
    with (
        pytest.warns(UserWarning, match="no numbers"),
        pytest.raises(ValueError, match=r"Workers load this model from the bytes of its file.*Pass it"),
    ):
        ship(fast)


def test_what_has_no_surrogates(tmp_path):
    fast = EarlyExitClassifier(LogisticRegression().fit(X[:500], LABELS[:500]), risk=0.1, random_state=0).fit(X[500:])
    wald.save(fast, tmp_path / "a.wald")
    with pytest.raises(TypeError, match="without surrogates in front of it: leave surrogates out"):
        wald.load(tmp_path / "a.wald", surrogates=[lean])
    with pytest.raises(ValueError, match=r"with the classes \['egg', 'ham', 'spam'\], and those of estimator"):
        wald.load(_saved(tmp_path), estimator=Own().fit(X, y))


def _saved(folder):
    written(learnt()[1], folder / "b.wald")
    return folder / "b.wald"


# ---- hostile files ---------------------------------------------------------------------------------------------------


@cache
def raw():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_bytes(learnt()[1])


CHANGES = {
    "n_classes": lambda behind: behind.update(n_classes=10**6),
    "two classes": lambda behind: behind.update(n_classes=2),
    "no columns": lambda behind: behind.update(n_columns=0),
    "other columns": lambda behind: behind.update(n_columns=7),
    "no list": lambda behind: behind.update(surrogates={}),
    "title": lambda behind: behind.update(title=3),
    "learnt": lambda behind: behind.update(learnt="yes"),
    "one less": lambda behind: behind["surrogates"].pop(),
    "wide": lambda behind: behind["surrogates"][0].update(width=10**12),
    "other width": lambda behind: behind["surrogates"][0].update(width=4),
    "cost": lambda behind: behind["surrogates"][0].update(cost=-1.0),
    "no number": lambda behind: behind["surrogates"][0].update(cost="nan"),
    "bound": lambda behind: behind["surrogates"][0].update(bound=-1.0),
    "family": lambda behind: behind["surrogates"][0]["scores"][0].update(family="votes"),
    "no scores": lambda behind: behind["surrogates"][0].update(scores=[]),
    "outputs": lambda behind: behind["surrogates"][0]["scores"][0].update(n_outputs=2),
    "unknown": lambda behind: behind.update(more=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_altered_files_are_refused(change):
    fields, arrays = taken_apart(raw())
    CHANGES[change](fields["behind"])
    with pytest.raises(FileFormatError):
        from_bytes(put_together(fields, arrays))


def test_arrays_of_surrogates_are_checked():
    fields, arrays = taken_apart(raw())
    names = [name for name, array in arrays.items() if name.startswith("behind.surrogates") and array.size]
    assert len(names) > 4
    for name in names:
        for array in (arrays[name][..., :-1], arrays[name].astype(np.complex128)):
            with pytest.raises(FileFormatError):
                from_bytes(put_together(fields, arrays | {name: array}))
