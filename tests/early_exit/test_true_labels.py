"""Promises about how often labels are wrong: `reference="labels"`."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier, Planner, Surrogate
from wald.displays import TradeoffDisplay
from wald.early_exit import Status
from wald.early_exit.fitting.truth import true_codes, true_labels
from wald.inspection.facts import certificate_facts
from wald.inspection.promises import broken_promise
from wald.stopping import Lossless, StageScores

NAMES = np.array(["ant", "bee", "cow"])
X, codes = make_classification(
    6000, 8, n_informative=6, n_classes=3, n_clusters_per_class=1, class_sep=1.2, flip_y=0.08, random_state=0
)
y = NAMES[codes]
TRAIN, FIT, TEST = slice(800), slice(800, 4800), slice(4800, 6000)
FAMILIES = {
    "trees": HistGradientBoostingClassifier(max_iter=10),
    "kernel": SVC(),
    "opaque": KNeighborsClassifier(5),
}


def wrapped(model, **params):
    given = {"risk": 0.02, "reference": "labels", "planner": Planner(cost="units"), "random_state": 0} | params
    if isinstance(model, KNeighborsClassifier):
        small = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X[TRAIN], y[TRAIN])
        given = {"surrogates": [Surrogate(small, cost=0.05)]} | given
    return EarlyExitClassifier(FrozenEstimator(model), **given)


@pytest.fixture(scope="module", params=FAMILIES)
def fitted(request):
    model = FAMILIES[request.param].fit(X[TRAIN], y[TRAIN])
    return model, wrapped(model).fit(X[FIT], y[FIT])


def counted(fast, rows, labels):
    """Rows that are worse and better than the model's own, at the certified thresholds."""
    early, own = fast.predict(rows) != labels, fast.estimator_.predict(rows) != labels
    return int((early & ~own).sum()), int((own & ~early).sum())


def test_certificate_counts_errors_against_those_of_the_model(fitted):
    _, fast = fitted
    certificate = fast.certificate_
    assert certificate.status == "certified"
    assert certificate.verify()
    assert str(certificate).startswith("at most 2 % more of the labels are wrong than of the model's own with 95 %")
    worse, better = counted(fast, X[TEST], y[TEST])
    assert worse - better <= 0.05 * len(y[TEST])


@pytest.fixture(scope="module")
def linear():
    return wrapped(LogisticRegression().fit(X[TRAIN], y[TRAIN])).fit(X[FIT], y[FIT])


def test_counts_are_those_of_predict(linear):
    again = linear.recertify(X[TEST], y=y[TEST], risk=0.03)
    assert again.certificate_.status == "certified"
    assert (again.certificate_.n_disagreements, again.certificate_.strata[0].n_better) == counted(
        again, X[TEST], y[TEST]
    )


def test_less_is_evaluated_than_for_the_models_own_labels():
    model = KNeighborsClassifier(5).fit(X[TRAIN], y[TRAIN])
    asked = {}
    for reference in ("model", "labels"):
        fast = wrapped(model, reference=reference).fit(X[FIT], y[FIT])
        asked[reference] = np.mean(fast.predict(X[TEST], details=True).status == Status.FULL)
    assert asked["labels"] < asked["model"] / 1.3


def test_the_reference_is_kept_in_pickles_and_files(fitted, tmp_path):
    _, fast = fitted
    for other in (pickle.loads(pickle.dumps(fast)), *read_again(fast, tmp_path)):
        assert other.reference == "labels"
        assert other.certificate_ == fast.certificate_
        assert other.predict(X[TEST]).tolist() == fast.predict(X[TEST]).tolist()
        assert other.recertify(X[TEST], y=y[TEST], risk=0.1).certificate_.reference == "labels"
        with pytest.raises(ValueError, match="compares answers with the truth"):
            other.recertify(X[TEST])


def read_again(fast, tmp_path):
    if isinstance(fast.estimator_, KNeighborsClassifier):
        return []
    wald.save(fast, tmp_path / "fast.wald")
    return [wald.load(tmp_path / "fast.wald")]


def test_a_file_of_the_models_own_labels_says_nothing_of_a_reference(tmp_path):
    fast = wrapped(LogisticRegression().fit(X[TRAIN], y[TRAIN]), reference="model").fit(X[FIT])
    wald.save(fast, tmp_path / "fast.wald")
    raw = (tmp_path / "fast.wald").read_bytes()
    assert b'"reference"' not in raw
    assert b'"n_better"' not in raw
    assert wald.load(tmp_path / "fast.wald").reference == "model"


def test_an_unfitted_estimator_is_trained_on_half_and_judged_on_the_other():
    fast = EarlyExitClassifier(
        LogisticRegression(), risk=0.03, reference="labels", planner=Planner(cost="units"), random_state=0
    ).fit(X, y)
    assert fast.certificate_.n_rows == 1800
    model = LogisticRegression().fit(X, y)
    with pytest.warns(UserWarning, match="Wrap the fitted one in FrozenEstimator"):
        EarlyExitClassifier(model, risk=0.03, reference="labels", random_state=0).fit(X, y)


def test_strata_are_rows_of_a_true_label():
    model = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    fast = wrapped(model, risk={"all": 0.03, "bee": 0.06}).fit(X[FIT], y[FIT])
    rows, bees = fast.certificate_.strata
    expected = rows.n_rows * np.mean(y[FIT] == "bee")
    assert bees.n_rows == pytest.approx(expected, rel=0.1)
    assert "6 % within rows labelled bee, all with 95 % confidence" in str(fast.certificate_)
    certificate = fast.recertify(X[TEST], y=y[TEST]).certificate_
    assert certificate.strata[1].n_rows == np.sum(y[TEST] == "bee") != np.sum(model.predict(X[TEST]) == "bee")
    shown = certificate_facts(certificate)
    assert shown["reference"] == "labels"
    assert shown["strata"][1]["n_better"] == certificate.strata[1].n_better


def test_one_row_of_each_group_counts():
    groups = np.repeat(np.arange(2000), 2)
    fast = wrapped(LogisticRegression().fit(X[TRAIN], y[TRAIN]), risk=0.05)
    certificate = fast.fit(X[FIT], y[FIT], groups=groups).certificate_
    assert certificate.n_rows < 2000
    assert "random row of a random group" in str(certificate)


def test_labels_may_be_any_column_and_unknown_ones_are_wrong_for_both():
    model = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    truth = y[FIT].astype(object)
    truth[::4] = "yak"
    given = (truth.tolist(), pd.Series(truth, index=range(9000, 13000)), truth[:, None])
    assert all((true_labels(labels, 4000) == truth).all() for labels in given)
    certificate = wrapped(model, risk=0.05).fit(X[FIT], given[1]).certificate_
    assert certificate.status == "certified"
    fewer = wrapped(model, risk=0.05).fit(X[FIT][truth != "yak"], truth[truth != "yak"]).certificate_
    assert certificate.n_rows > fewer.n_rows
    assert true_codes(truth[:5], model.classes_)[[0, 4]].tolist() == [-1, -1]
    assert np.array_equal(model.classes_.take(true_codes(truth[1:4], model.classes_)), truth[1:4])


def test_numbers_and_booleans_are_labels_like_others():
    assert true_codes(np.array([1.0, 0.0, 2.0]), np.array([0, 1])).tolist() == [1, 0, -1]
    assert true_codes(np.array([True, False]), np.array([0, 1])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "give the true label of each row as y, or reference='model'"),
        (y[FIT][:-1], "one"),
        (np.stack([y[FIT], y[FIT]], axis=1), r"one true label for each of the 4000 rows of X. Got shape \(4000, 2\)"),
        (np.arange(4000) + 7, "None of the labels in y, such as 7, is one of the model's: 'ant', 'bee', 'cow'"),
        ([None, *y[FIT][1:]], "has None for row 0"),
        ([*codes[FIT][:-1], np.nan], "nan.* for row 3999"),
    ],
)
@pytest.mark.parametrize("family", ["kernel", "opaque"])
def test_bad_truth_is_refused_before_the_model_is_asked(labels, message, family, monkeypatch):
    model = FAMILIES[family].fit(X[TRAIN], y[TRAIN])
    if labels is None or len(labels) != 4000 or "such as 7" not in message:
        monkeypatch.setattr(type(model), "predict", None)
    with pytest.raises(ValueError, match=message):
        wrapped(model).fit(X[FIT], labels)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reference": "truth"}, "reference must be 'model' or 'labels'"),
        ({"reference": None}, "reference must be 'model' or 'labels'"),
        ({"risk": 0}, "a proof compares with the model"),
        ({"planner": Planner(rule=Lossless())}, "a proof compares with the model"),
        ({"bands": [0.3, 0.5]}, "leave bands out"),
        ({"tolerance": 0.1}, "leave tolerance out"),
    ],
)
def test_what_labels_do_not_tell_is_refused(params, message):
    two = LogisticRegression().fit(X[TRAIN], codes[TRAIN] > 0)
    with pytest.raises(ValueError, match=message):
        wrapped(two, **params).fit(X[FIT], codes[FIT] > 0)


def test_labels_are_refused_by_recertify_where_the_plan_is_about_the_model():
    fast = wrapped(LogisticRegression().fit(X[TRAIN], y[TRAIN]), reference="model").fit(X[FIT])
    with pytest.raises(ValueError, match="this plan promises the model's own"):
        fast.recertify(X[TEST], y=y[TEST])


def test_nothing_is_promised_by_risk_none_and_the_difference_is_measured():
    fast = wrapped(LogisticRegression().fit(X[TRAIN], y[TRAIN]), risk=None).fit(X[FIT], y[FIT])
    assert "not a promise" in str(fast.certificate_)
    ((low, high),) = fast.certificate_.intervals
    assert -0.1 < low < high < 0.1


def test_audits_are_refused_and_stages_are_watched(linear):
    with pytest.raises(ValueError, match="this promise is about true labels, which no audit knows"):
        linear.watched(0.1)
    watched = linear.watched(0)
    watched.predict(X[TEST])
    assert watched.monitor_.n_rows == len(X[TEST])
    assert watched.monitor_.risk is None
    assert "the promise about true labels is not watched" in str(watched.monitor_)
    assert "is not watched" in str(pickle.loads(pickle.dumps(watched)).monitor_)


def test_a_model_that_answers_otherwise_when_asked_again_is_accepted():
    rng, model = np.random.default_rng(0), LogisticRegression().fit(X[TRAIN], y[TRAIN])

    def unsure(rows):
        labels = model.predict(rows)
        return np.where(rng.random(len(rows)) < 0.05, rng.choice(NAMES, len(rows)), labels)

    params = {"risk": 0.03, "surrogates": [Surrogate(model, cost=0.01)], "random_state": 0}
    with pytest.raises(ValueError, match="otherwise when it was asked again"):
        EarlyExitClassifier(unsure, **params).fit(X[FIT])
    fast = EarlyExitClassifier(unsure, reference="labels", **params).fit(X[FIT], y[FIT])
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.strata[0].n_better > fast.certificate_.n_disagreements


def test_a_poor_surrogate_is_not_certified_bolder_than_the_labels_allow():
    """Half of the cheap labels are wrong, so that hardly a row may leave."""
    model = KNeighborsClassifier(5).fit(X[TRAIN], y[TRAIN])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = wrapped(model, surrogates=[Surrogate(lambda rows: rng.random(len(rows)), cost=0.05)])
        fast.fit(X[FIT], y[FIT])
    assert np.mean(fast.predict(X[TEST]) == fast.estimator_.predict(X[TEST])) > 0.97


def test_stage_scores_of_new_rows_are_without_truth(linear):
    seen = linear.looks(X[TEST])
    assert isinstance(seen, StageScores)
    assert seen.truth is None


def test_true_labels_have_one_of_each_row():
    assert true_labels([1, 2], 2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="Got shape"):
        true_labels("ab", 2)


@pytest.mark.long
@pytest.mark.parametrize("rare", [False, True])
def test_promise_is_violated_in_few_redraws(rare):
    """The difference on many other rows, in 200 draws of the rows of `fit`; also for few distinct scores, and a class
    of 4 % of the rows.
    """
    weights = [0.04, 0.96] if rare else None
    rows, truth = make_classification(
        60_000, 5, n_informative=4, n_redundant=0, weights=weights, class_sep=0.8, flip_y=0.02, random_state=1
    )
    model = KNeighborsClassifier(9).fit(rows[:2000], truth[:2000])
    small = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(rows[:500], truth[:500])
    rows = np.column_stack([model.predict(rows), small.decision_function(rows)])  # what both say

    class Told:
        classes_ = np.array([0, 1])

        def predict(self, some):
            return some[:, 0].astype(int)

    def cheap(some):
        return np.round(2 * some[:, 1]) if rare else some[:, 1]

    violated, bold, risk = 0, 0, 0.004 if rare else 0.01  # below what all cheap labels together would lose
    pool, test = np.arange(2000, 40_000), slice(40_000, 60_000)
    right, rng = rows[test, 0] != truth[test], np.random.default_rng(2)
    for seed in range(200):
        drawn = rng.choice(pool, 2500, replace=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = EarlyExitClassifier(
                Told(), risk=risk, reference="labels", surrogates=[Surrogate(cheap, cost=0.01)], random_state=seed
            ).fit(rows[drawn], truth[drawn])
        bold += fast.certificate_.status == "certified"
        violated += np.mean((fast.predict(rows[test]) != truth[test]).astype(int) - right) > risk
    assert bold > 150
    assert violated <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_a_rare_true_label_at_whose_expense_the_promise_is_kept_is_named():
    rng = np.random.default_rng(0)
    rare = rng.random(12_000) < 0.02
    rows = np.column_stack([rng.normal(size=12_000), rng.normal(size=12_000) + 4 * rare])
    model = LogisticRegression().fit(rows[:2000], rare[:2000])

    def careless(some):  # it knows nothing of the rare rows
        return some[:, 0] * 1e-9 - 5

    params = {"reference": "labels", "surrogates": [Surrogate(careless, cost=0.01)], "random_state": 0}
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.03, **params)
    with pytest.warns(UserWarning, match="rare true class: class True, to which .* truly belong"):
        fast.fit(rows[2000:], rare[2000:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EarlyExitClassifier(FrozenEstimator(model), risk={"all": 0.03, True: 0.9}, **params).fit(
            rows[2000:], rare[2000:]
        )


def test_pages_and_checks_speak_of_wrong_labels(linear):
    page = wald.report(linear, X[TEST], timed=False)
    assert "right where the model is wrong" in page
    assert "labels are wrong for a share of new rows" in page
    own = np.zeros(4000, dtype=int)
    assert broken_promise(linear.certificate_, own, own + 1, own == 0, linear.classes_) is None
    assert TradeoffDisplay.from_estimator(linear, X[TEST]).risk is None


def test_strata_by_the_early_answer_are_refused():
    model = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    with pytest.raises(ValueError, match="name the true labels of rows"):
        wrapped(model, risk={"all": 0.03, "predicted bee": 0.05}).fit(X[FIT], y[FIT])


def test_few_calls_are_kept_to_where_the_classes_are_known():
    model = KNeighborsClassifier(5).fit(X[TRAIN], y[TRAIN])
    fast = wrapped(model, risk=0.05).fit(X[FIT], y[FIT], max_calls=1500)
    assert fast.n_calls_ <= 1500
    assert fast.certificate_.reference == "labels"
    with pytest.raises(ValueError, match="needs a model that says its classes"):
        EarlyExitClassifier(model.predict, reference="labels", surrogates=[Surrogate(model, cost=0.1)]).fit(
            X[FIT], y[FIT], max_calls=1500
        )
