"""Promises for single classes, and the warning about rare classes without one."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from early_exit.models import MODELS, wrap
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.early_exit.compiled.rare_classes import rare_classes
from wald.outputs.words import LABELS
from wald.stopping import Certificate, Lossless, StageScores
from wald.stopping.core.certificate import Stratum


def rare_rows(n=9000, share=0.01, seed=0):
    """Two named classes, one of them rare."""
    X, y = make_classification(n, 20, n_informative=8, weights=[1 - share], flip_y=0, class_sep=1.0, random_state=seed)
    return X, np.where(y, "fraud", "fine")


def rare_model(share=0.01):
    X, y = rare_rows(share=share)
    return SVC(C=10).fit(X[:2000], y[:2000]), X[2000:]


def test_binary_and_several_classes_keep_their_own_risks():
    for name, named in (("rbf", {1: 0.01}), ("one-vs-one", {0: 0.02, 3: 0.03})):
        model, X = MODELS[name]
        fast = wrap(model, X[800:4800], risk={"all": 0.05, **named}, n_splits=1)
        certificate = fast.certificate_
        assert certificate.status == "certified"
        assert certificate.verify()
        assert (certificate.about, certificate.risk) == ("classes", 0.05)
        assert [s.risk for s in certificate.strata] == [None, *named.values()]
        assert certificate.strata[0].n_rows == certificate.n_rows == 2000
        full, early = model.predict(X[4800:]), fast.predict(X[4800:])
        for label, own in named.items():
            assert np.mean(early[full == label] != label) <= own + 0.03
            assert f"<= {100 * own:g} % within class {label}" in str(certificate)


def test_a_stricter_risk_for_one_class_makes_the_plan_more_cautious():
    model, X = MODELS["rbf"]
    alone, shared = (wrap(model, X[800:], risk={"all": 0.05} | own, n_splits=1) for own in ({}, {1: 0.004}))
    assert shared.certificate_.strata[1].n_disagreements < 0.004 * shared.certificate_.strata[1].n_rows
    assert shared.predict(X, return_cost=True)[1].mean() > alone.predict(X, return_cost=True)[1].mean()


def test_too_few_rows_are_reported_by_class():
    model, X = MODELS["one-vs-one"]
    with pytest.warns(
        UserWarning, match=r"no early exit: 299 certificate rows of class 1 needed, 2\d\d given, which"
    ) as caught:
        fast = wrap(model, X[800:2800], risk={"all": 0.05, 0: 0.05, 1: 0.01}, n_splits=1)
    assert "class 0" not in str(caught[0].message)
    assert fast.certificate_.status == "too few rows"
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_it_travels_with_recertify_copies_and_parameters():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[800:4000], risk={"all": 0.05, 1: 0.03})
    for again, overall in (
        (fast.recertify(X[4000:]), 0.05),
        (fast.recertify(X[4000:], risk={"all": 0.1, 1: 0.03}), 0.1),
    ):
        assert [s.risk for s in again.certificate_.strata] == [None, 0.03]
        assert (again.certificate_.risk, again.certificate_.n_rows) == (overall, 2000)
        assert again.risk == {"all": overall, 1: 0.03}
    assert [s.name for s in fast.recertify(X[4000:], risk=0.1).certificate_.strata] == ["rows"]
    assert pickle.loads(pickle.dumps(fast)).certificate_ == fast.certificate_
    copied = clone(fast)
    assert copied.get_params(deep=False)["risk"] == {"all": 0.05, 1: 0.03}
    refitted = copied.set_params(risk={"all": 0.05, 0: 0.02}).fit(X[800:4000])
    assert refitted.certificate_.strata[1].name == "rows of class 0"
    strict = wrap(model, X[800:4000], risk={"all": 0.05, 1: 0.03}, rule=Lossless())
    np.testing.assert_array_equal(strict.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        ({}, "risk names no stratum"),
        ({"all": 0.02, 1: 1.0}, r"risk\[1\] must be None or a number at least 0 and below 1. Got 1.0"),
        ({"all": 0.02, 1: -0.1}, r"risk\[1\] must be None or a number at least 0 and below 1"),
        ({"all": 0.02, 1: float("nan")}, r"risk\[1\] must be None or a number at least 0 and below 1"),
        ({"all": 0.02, 1: True}, r"risk\[1\] must be None or a number"),
        ({"all": 0.02, 1: "0.1"}, r"risk\[1\] must be None or a number"),
        ({"all": "0.1"}, r"risk\['all'\] must be None or a number"),
        ({"all": 0.02, "1": 0.1}, "risk names '1', which is none of the classes 0, 1"),
        ({"all": 0.02, 7: 0.1}, "none of the classes 0, 1"),
        ({"some": 0.02}, "risk names 'some', which is none of the classes 0, 1"),
        ({"all": None, 1: 0.1}, "promises some strata and measures others"),
        ({"all": 0.1, "each": None}, "promises some strata and measures others"),
        ({"all": 0, 1: 0.1}, r'risk\["all"\] is 0, so that no row of any class may differ'),
        ({"all": 0.1, 0: 0, 1: 0}, "lets no row of any class differ"),
        ({"all": 0.1, "each": 0}, "lets no row of any class differ"),
        ({"all": 0.1, "positive": 0.01, 1: 0.2}, "the rows of class 1 twice"),
        ({1: 0.1}, 'says nothing of the rows of class 0: give "all", "each", or every class a bound'),
        ({1: None}, "says nothing of the rows of class 0"),
        (["each"], "risk must be None or a number"),
        ("each", "risk must be None or a number"),
    ],
    ids=str,
)
def test_what_is_no_risk_of_a_class_is_refused(risk, message):
    model, X = MODELS["rbf"]
    with pytest.raises(ValueError, match=message):
        wrap(model, X[800:2000], risk=risk)


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        ({"all": 0.1, 2: 0}, "rows of class 2 by 0, which needs two classes, not 4: give a bound above 0"),
        ({"each": 0.1, 2: 0}, "rows of class 2 by 0, which needs two classes, not 4"),
        (
            {"positive": 0.1, "negative": 0.1},
            r"risk\['positive'\] needs two classes, not 4: name each by itself",
        ),
        ({0: 0.1, 1: 0.1, 3: 0.1}, "says nothing of the rows of class 2"),
        ({0: None, 1: None, 3: None}, "says nothing of the rows of class 2"),
    ],
    ids=str,
)
def test_what_is_no_risk_of_several_classes_is_refused(risk, message):
    model, X = MODELS["one-vs-one"]
    with pytest.raises(ValueError, match=message):
        wrap(model, X[800:2000], risk=risk)


@pytest.mark.parametrize(
    ("name", "risk", "bounds"),
    [
        ("rbf", {"each": 0.1, 1: 0.05}, [0.1, 0.05]),
        ("rbf", {"positive": 0.05, "negative": 0.1}, [0.1, 0.05]),
        ("rbf", {1: 0.05, 0: 0.1}, [0.1, 0.05]),
        ("one-vs-one", {"each": 0.1, 2: 0.05}, [0.1, 0.1, 0.05, 0.1]),
        ("one-vs-one", {3: 0.1, 2: 0.05, 1: 0.1, 0: 0.08}, [0.08, 0.1, 0.05, 0.1]),
    ],
    ids=str,
)
def test_each_class_keeps_a_bound_of_its_own(name, risk, bounds):
    model, X = MODELS[name]
    fast = wrap(model, X[800:4800], risk=risk, n_splits=1)
    certificate = fast.certificate_
    assert (certificate.status, certificate.about, certificate.risk) == ("certified", "each", 0.1)
    assert certificate.verify()
    assert [s.name for s in certificate.strata] == [f"rows of class {label}" for label in range(len(bounds))]
    assert [s.risk for s in certificate.strata] == bounds
    assert sum(s.n_rows for s in certificate.strata) == 2000
    full, early = model.predict(X[4800:]), fast.predict(X[4800:])
    for label, bound in enumerate(bounds):
        assert np.mean(early[full == label] != label) <= bound + 0.03
    watched = [line.risk for line in fast.watched(0.1).monitor_.lines]
    assert watched == bounds


def test_equal_bounds_of_every_class_are_those_of_each():
    model, X = MODELS["one-vs-one"]
    each, named = (wrap(model, X[800:4800], risk=r) for r in ({"each": 0.05}, dict.fromkeys(range(4), 0.05)))
    assert each.certificate_ == named.certificate_
    assert [s.risk for s in each.certificate_.strata] == [None] * 4
    assert "within each class <= 5 %" in str(each.certificate_)


def test_a_class_of_which_no_row_may_differ_next_to_a_bound_for_all_rows():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[800:4800], risk={"all": 0.05, 0: 0})
    assert (fast.certificate_.status, fast.certificate_.about) == ("certified", "all")
    labels, cost = fast.predict(X, return_cost=True)
    assert set(labels[cost < fast.plan_.full_cost]) == {0}
    full = model.predict(X)
    assert (labels[full == 0] == 0).all()
    assert 0 < np.mean(labels != full) <= 0.07


def test_strata_without_bounds_are_measured():
    model, X = MODELS["one-vs-one"]
    fast = wrap(model, X[800:4800], risk={"each": None})
    assert (fast.certificate_.status, fast.certificate_.about) == ("measured", "each")
    assert [s.name for s in fast.certificate_.strata] == [f"rows of class {label}" for label in range(4)]


@pytest.mark.parametrize("word", ["all", "each"])
def test_a_label_that_is_also_a_word_is_refused_where_it_is_named(word):
    model, X = MODELS["rbf"]
    words = clone(model).fit(X[:800], np.where(model.predict(X[:800]) == 1, word, "Other"))
    with pytest.raises(ValueError, match=rf"risk\['{word}'\] may mean the class of this name.*rename the class"):
        wrap(words, X[800:4800], risk={word: 0.05})
    assert wrap(words, X[800:4800], risk=0.05).certificate_.status == "certified"
    each = {"Other": 0.05, "each" if word == "all" else "all": 0.05}
    assert wrap(words, X[800:4800], risk=each).certificate_.status == "certified"


def test_a_label_goes_before_the_word_for_one_of_two_classes():
    model, X = MODELS["rbf"]
    words = clone(model).fit(X[:800], np.where(model.predict(X[:800]) == 1, "unknown", "positive"))
    fast = wrap(words, X[800:4800], risk={"all": 0.05, "positive": 0})  # classes_[0], so that rows leave as it alone
    labels, cost = fast.predict(X, return_cost=True)
    assert set(labels[cost < fast.plan_.full_cost]) == {"positive"}


# ---- rare classes ----------------------------------------------------------------------------------------------------


def test_a_rare_class_is_reported_and_its_own_risk_is_named():
    model, X = rare_model(0.004)
    with pytest.warns(UserWarning, match=r"rare class: class fraud, which .*risk=\{'all': 0\.01, 'fraud': \.\.\.\}"):
        wrap(model, X, risk=0.01)


def test_a_rare_class_that_loses_one_row_in_twenty_is_reported():
    model, X = rare_model(0.05)
    with pytest.warns(UserWarning, match=r"class fraud, which .*\((\d+) of them answered otherwise\)"):
        wrap(model, X, risk=0.01)  # allows less than a quarter


@pytest.mark.parametrize("share", [0.0025, 0.005])
def test_a_rare_class_that_the_default_risk_could_pay_for_is_named_with_its_part(share):
    scores = certified_scores(6_000, {1: share})
    warning = rare_classes(*scores)
    assert f"the risk is {100 * 0.001 / share:.0f} % of it" in warning
    assert "class 1, which the model gives to" in warning
    assert "risk={'all': 0.001, 1: ...}" in warning


def test_one_of_several_rare_classes_is_named_alone():
    warning = rare_classes(*certified_scores(6_000, {1: 0.2, 2: 0.3, 3: 0.005}, n_classes=4))
    assert "class 3, which" in warning
    assert "class 1," not in warning
    assert "class 2," not in warning


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2, 0.5])
def test_classes_of_which_the_risk_is_less_than_a_tenth_draw_no_warning(share):
    assert rare_classes(*certified_scores(30_000, {1: share})) is None


def test_a_class_whose_rows_rule_it_out_draws_no_warning():
    assert rare_classes(*certified_scores(200_000, {1: 0.005})) is None  # no row of 1 000 differs


def certified_scores(n, shares, n_classes=2):
    """A model, its certificate at the default risk, its plan and stage scores without a disagreement."""
    full = np.zeros(n, dtype=np.int32)
    start = 0
    for code, share in shares.items():
        full[start : start + round(share * n)] = code
        start += round(share * n)
    plan = SimpleNamespace(evaluate_all=False, thresholds=lambda: (np.array([-1.0]), np.array([1.0])))
    if n_classes == 2:
        rows = StageScores(full=full, margins=np.where(full == 1, 2.0, -2.0)[:, None])
    else:
        rows = StageScores(full=full, answers=full[:, None], margins=np.full((n, 1), 2.0))
    model = SimpleNamespace(classes=np.arange(n_classes), strata=np.arange(n_classes), words=LABELS)
    return model, Certificate("certified", 0.001, 0.95, q=1.0, strata=(Stratum("rows", n, 0),)), plan, rows


def test_recertify_reports_it_too():
    model, X = rare_model(0.004)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = wrap(model, X, risk=0.01)
    with pytest.warns(UserWarning, match="rare class: class fraud"):
        fast.recertify(X)


def test_nothing_is_reported_where_a_class_has_its_own_risk_or_is_common():
    model, X = rare_model(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrap(model, X, risk=0.003)  # at most a twelfth, and few of them
        wrap(model, X, risk={"each": 0.1})
        wrap(model, X, risk={"all": 0.1, "fraud": 0.05})
        several, rows = MODELS["one-vs-one"]
        wrap(several, rows[800:], risk=0.1)  # all classes are equally rare


def test_a_rare_class_is_kept_by_its_own_risk():
    model, X = rare_model(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lossy, kept = (wrap(model, X[:5000], risk={"all": 0.03} | own) for own in ({}, {"fraud": 0.1}))
    lost = {}
    for name, fast in (("lossy", lossy), ("kept", kept)):
        full = model.predict(X[5000:]) == "fraud"
        lost[name] = np.mean(fast.predict(X[5000:])[full] != "fraud")
    assert lost["lossy"] > 2 * lost["kept"]
    assert lost["kept"] <= 0.1


def test_labels_of_other_kinds():
    X, y = make_classification(3000, random_state=0)
    for labels, named in (
        (y.astype(bool), {True: 0.1}),
        (y * 2.0, {2.0: 0.1}),
        (y.astype(np.int8), {np.int64(1): 0.1}),
    ):
        model = LogisticRegression().fit(X[:500], labels[:500])
        fast = EarlyExitClassifier(
            FrozenEstimator(model), risk={"all": 0.1, **named}, planner=Planner(cost="units"), random_state=0
        )
        assert len(fast.fit(X[500:]).certificate_.strata) == 2
