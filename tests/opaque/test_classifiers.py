"""Classifiers that wald cannot read: asked as they are, for the rows of which surrogates are not sure."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner, Surrogate
from wald.early_exit import Status

RANDOM = np.random.default_rng(0)


class Counted(KNeighborsClassifier):
    """Nearest neighbours that count the rows they were asked about."""

    def predict(self, X):
        """Labels."""
        self.__dict__.setdefault("asked", []).append(len(X))
        return super().predict(X)


def made(n_classes: int = 3, n: int = 5000):
    sep = 2.0 if n_classes > 2 else 1.0  # of two classes that lie further apart, surrogates know all rows
    X, y = make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, class_sep=sep, random_state=0
    )
    return X, np.array(["ant", "bee", "cow"])[y]


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    X, y = made(request.param)
    model = Counted(5).fit(X[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.005, random_state=0).fit(X[500:4000])
    return model, fast, X[4000:]


def test_few_rows_reach_the_model_and_few_labels_differ(fitted):
    model, fast, X = fitted
    assert fast.certificate_.status == "certified"
    model.asked.clear()
    labels, cost = fast.predict(X, return_cost=True)
    assert sum(model.asked) < 0.5 * len(X)
    assert np.mean(labels != model.predict(X)) < 0.01
    assert cost.mean() == pytest.approx(np.where(cost > 1, 1, 0).mean(), abs=0.3)
    assert fast.classes_.tolist() == sorted(set(model.classes_))


def test_a_row_has_one_answer_at_every_door(fitted):
    model, fast, X = fitted
    labels = fast.predict(X)
    few = range(0, 200, 20)
    assert [fast.predict_one(X[i]) for i in few] == labels[few].tolist()
    assert (np.concatenate([fast.predict(X[i : i + 7]) for i in range(0, 70, 7)]) == labels[:70]).all()
    assert (fast.predict(np.asfortranarray(X)) == labels).all()
    assert (fast.predict(X[::-1])[::-1] == labels).all()
    other = pickle.loads(pickle.dumps(fast))
    assert (other.predict(X) == labels).all()
    assert fast.predict(X[:0]).shape == (0,)
    early = fast.predict(X, details=True).status == Status.EARLY
    assert 0 < early.sum() < len(X)
    assert (labels[~early] == model.predict(X[~early])).all()


def test_budget_keeps_rows_from_the_model(fitted):
    model, fast, X = fitted
    model.asked.clear()
    labels, cost = fast.predict(X, budget=float(fast.plan_.stage_costs[0]), return_cost=True)
    assert sum(model.asked) == 0
    assert (cost == fast.plan_.stage_costs[0]).all()
    assert np.mean(labels == model.predict(X)) > 0.8


def test_methods_of_the_model_stay_its_own(fitted):
    model, fast, X = fitted
    assert (fast.predict_proba(X) == model.predict_proba(X)).all()
    assert (fast.compiled_plan_.predict_in_full(X).labels == model.predict(X)).all()
    assert fast.watched(1.0).predict(X[:300]).shape == (300,)
    assert len(fast.trace(X[0]).scores) == fast.plan_.n_stages + 1


def test_frames_of_texts_and_numbers_reach_model_and_surrogates_as_they_are():
    X, y = made(2)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(colour=np.where(X[:, 0] > 0, "red", "blue"))

    class Model(GaussianNB):
        def predict(self, rows):
            assert list(rows.columns) == list(frame.columns)
            return super().predict(rows[list("abcdef")].to_numpy())

    model = Model().fit(X[:500], y[:500])

    def score(rows):
        return rows["a"].to_numpy() - rows["b"].to_numpy()

    surrogates = [Surrogate(score, cost=0.01, name="difference"), _on_columns(X, y)]
    fast = EarlyExitClassifier(model, surrogates=surrogates, risk=0.05, random_state=0).fit(frame[500:4000])
    assert np.mean(fast.predict(frame[4000:]) != model.predict(frame[4000:])) < 0.06
    one = fast.predict_one(frame.iloc[4001].to_dict())
    assert one == fast.predict(frame[4001:4002])[0]


def _on_columns(X, y):
    linear = LogisticRegression().fit(X[:500], y[:500])
    return Surrogate(lambda rows: linear.decision_function(rows[list("abcdef")].to_numpy()), cost=0.02, name="linear")


def test_texts_have_surrogates_of_their_own():
    rng = np.random.default_rng(0)
    words = np.array(["good", "fine", "bad", "poor", "film", "plot", "the", "a"])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(3000)]

    def opinion(texts):
        time.sleep(1e-4 * len(texts))
        liked = [t.count("good") + t.count("fine") > t.count("bad") + t.count("poor") for t in texts]
        return np.where(liked, "for", "against")

    fast = EarlyExitClassifier(opinion, risk=0.05, random_state=0).fit(texts)
    labels, cost = fast.predict(texts[:500], return_cost=True)
    assert fast.classes_.tolist() == ["against", "for"]
    assert np.mean(labels != opinion(texts[:500])) < 0.06
    assert cost.mean() < 1
    assert fast.predict_one(texts[0]) == labels[0]
    assert clone(fast).estimator is not None


def test_an_object_with_labels_is_asked():
    X, _ = made(2)

    class Server:
        classes_ = np.array(["ant", "bee"])

        def predict(self, rows):
            return np.where(rows @ np.arange(6.0) > 0, "bee", "ant")

    fast = EarlyExitClassifier(Server(), risk=0.05, random_state=0).fit(X[:4000])
    assert np.mean(fast.predict(X[4000:]) != Server().predict(X[4000:])) < 0.06


def test_given_surrogates_stand_before_a_model_that_wald_reads():
    X, y = made(3)
    model, small = SVC().fit(X[:1500], y[:1500]), LogisticRegression().fit(X[:1500], y[:1500])
    fast = EarlyExitClassifier(model, surrogates=[small], risk=0.02, random_state=0).fit(X[1500:4000])
    assert np.mean(fast.predict(X[4000:]) != model.predict(X[4000:])) < 0.03
    assert fast.plan_.n_stages <= 1


def test_a_surrogate_of_no_use_is_dropped():
    X, y = made(3)
    model = KNeighborsClassifier(5).fit(X[:500], y[:500])
    useful = LogisticRegression().fit(X[:500], y[:500])
    random = Surrogate(lambda rows: np.cos(1e6 * rows[:, :1]), cost=0.3, name="random")
    fast = EarlyExitClassifier(model, surrogates=[random], risk=0.01, random_state=0).fit(X[500:4000])
    assert fast.plan_.evaluate_all
    assert (fast.predict(X) == model.predict(X)).all()
    fast = EarlyExitClassifier(model, surrogates=[Surrogate(useful, cost=0.01), random], risk=0.05, random_state=0).fit(
        X[500:4000]
    )
    assert fast.plan_.order.tolist() == [0]


def test_stacks_and_polars():
    X, y = made(2)
    stack = StackingClassifier([("nb", GaussianNB()), ("knn", KNeighborsClassifier())])
    stack.fit(pl.DataFrame(X[:500], schema=list("abcdef")), y[:500])
    fast = EarlyExitClassifier(stack, risk=0.05, random_state=0).fit(pl.DataFrame(X[500:3000], schema=list("abcdef")))
    assert (
        np.mean(
            fast.predict(pl.DataFrame(X[3000:], schema=list("abcdef")))
            != stack.predict(pl.DataFrame(X[3000:], schema=list("abcdef")))
        )
        < 0.06
    )


def test_an_explanation_names_the_surrogates_that_were_asked(fitted):
    _, fast, X = fitted
    parts = [part.name for part in fast.explain(X[0]).parts]
    assert parts[-1] == "Counted"
    assert set(parts[:-1]) <= {"boosted trees", "500 landmarks"}


# ---- bad input -------------------------------------------------------------------------------------------------------


def asked(surrogates, model=None, **given):
    X, y = made(2, 1500)
    model = GaussianNB().fit(X[:300], y[:300]) if model is None else model
    return EarlyExitClassifier(model, surrogates=surrogates, random_state=0, **given).fit(X[300:])


@pytest.mark.parametrize(
    ("surrogates", "error", "message"),
    [
        ("cheap", TypeError, r"surrogates must be a list .* Got 'cheap'"),
        (LogisticRegression(), TypeError, "surrogates must be a list"),
        ([3.0], TypeError, "a fitted classifier, or a function from rows to numbers.* Got float"),
        ([LogisticRegression()], ValueError, "not fitted"),
        ([lambda rows: np.zeros(3)], ValueError, r"must give a number or a list of numbers for each of .* rows"),
        ([lambda rows: np.full(len(rows), np.nan)], ValueError, "gave nan for row 0"),
        ([lambda rows: np.full(len(rows), "a")], ValueError, "must give numbers"),
    ],
)
def test_bad_surrogates(surrogates, error, message):
    with pytest.raises(error, match=message):
        asked(surrogates)


@pytest.mark.parametrize("cost", [0, -1.0, np.nan, "cheap", True])
def test_bad_costs(cost):
    with pytest.raises(ValueError, match=r"Surrogate.cost must be a positive number"):
        Surrogate(np.ravel, cost=cost)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bands": [0.5]}, "bands needs a model that wald reads, and GaussianNB with .* leave surrogates out"),
        ({"feature_costs": np.ones(6)}, "feature_costs needs a model that wald reads"),
        ({"risk": 0}, "risk=0 needs a proof, and GaussianNB has no parts to make one of"),
    ],
)
def test_what_needs_the_parts_of_a_model_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        asked([lambda rows: rows[:, 0]], **given)


def test_what_needs_the_parts_of_a_model_names_one_that_has_them():
    X, y = made(2, 600)
    model = GaussianNB().fit(X[:300], y[:300])
    fast = EarlyExitClassifier(model, tolerance=0.1, risk=0.1, random_state=0)
    with pytest.raises(ValueError, match=r"tolerance needs a model that wald reads: GaussianNB is.*and wrap that"):
        fast.fit(X[300:])


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda labels: labels[:-1], "must give one label"), (lambda labels: np.full(len(labels), "dog"), "none of its")],
)
def test_a_model_that_changes_its_kind_of_answers_later_is_refused(change, message):
    X, y = made(2, 1500)

    class Model(Answering):
        pass

    random = Surrogate(lambda rows: np.cos(1e6 * rows[:, 0]), cost=5.0)
    model = Model().fit(X[:300], y[:300])
    fast = EarlyExitClassifier(model, surrogates=[random], risk=0.05, random_state=0).fit(X[300:])
    assert fast.plan_.evaluate_all
    Model.change = staticmethod(change)
    with pytest.raises(ValueError, match=message):
        fast.predict(X)


def test_rows_of_dicts_have_no_surrogates_to_learn():
    rows = [{"a": i} for i in range(1000)]
    fast = EarlyExitClassifier(lambda some: [row["a"] % 2 for row in some], risk=0.05, random_state=0).fit(rows)
    assert fast.plan_.evaluate_all
    assert fast.predict(rows[:4]).tolist() == [0, 1, 0, 1]


class Answering(GaussianNB):
    """A model whose answers are changed on their way out."""

    change = staticmethod(lambda labels: labels)

    def predict(self, X):
        return type(self).change(super().predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda labels: labels[:-1], "must give one label for each of"),
        (
            lambda labels: np.where(np.arange(len(labels)) == 1, "dog", labels),
            r"gave the label 'dog' for row \d+ of 1200, which is none",
        ),
        (lambda labels: RANDOM.permutation(labels), "answered .* of 32 rows otherwise when it was asked again"),
    ],
)
def test_bad_models(change, message):
    class Model(Answering):
        pass

    Model.change = staticmethod(change)
    X, y = made(2, 1500)
    with pytest.raises(ValueError, match=message):
        asked(None, Model().fit(X[:300], y[:300]), risk=0.05)


def test_a_surrogate_that_gives_other_numbers_later():
    width = [1]
    fast = asked([Surrogate(lambda rows: rows[:, : width[0]], cost=0.01)], risk=0.2)
    width[0] = 2
    if fast.plan_.evaluate_all:
        pytest.skip("the surrogate was dropped")
    with pytest.raises(ValueError, match="gave 1 numbers a row in fit, and now 2"):
        fast.predict(made(2, 100)[0])


def test_planner_of_units_plans_the_same_twice():
    X, y = made(3)
    model = KNeighborsClassifier(5).fit(X[:500], y[:500])
    surrogates = [Surrogate(LogisticRegression().fit(X[:500], y[:500]), cost=0.01)]
    one, two = (
        EarlyExitClassifier(model, surrogates=surrogates, risk=0.05, random_state=1, planner=Planner(cost="units")).fit(
            X[500:]
        )
        for _ in range(2)
    )
    assert one.plan_.q == two.plan_.q
    assert (one.predict(X) == two.predict(X)).all()
