"""`BudgetedPredictor` with a risk: it predicts as it was certified, and keeps its promise."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import check_random_state

from wald.datasets import fetch_ocr, make_chains
from wald.structured import HOG, BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.certificate import certify_structures
from wald.structured.certified_answers import Family, place_thresholds
from wald.structured.policies import IteratedPolicy, UniformPolicy
from wald.structured.policies.base import Policy

X, Y = make_chains(3000, n_features=12, noise=1.5, random_state=0)
GROUPS = [FeatureGroup("sketch", lambda parts: parts[:, ::3], cost=1), FeatureGroup("detail", cost=9)]
LOSSES = ["disagreement", "clipped gap", "gap"]


class LeastConfident(Policy):
    """A policy without training that buys where the answer without costly groups has a small margin."""

    def priority(self, session, state, examples):
        return -np.repeat(session.confidence(state & False, examples)[:, None], state.shape[1], axis=1).astype(float)


class Silent(LeastConfident):
    """A slow policy, which must not be called once its thresholds are known."""

    silent, seconds = False, 0.0

    def priority(self, session, state, examples):
        assert not self.silent
        time.sleep(self.seconds)
        return super().priority(session, state, examples)


@pytest.fixture(scope="module")
def model():
    return ChainClassifier(GROUPS, max_iter=10, random_state=0).fit(X[:400], Y[:400])


@pytest.fixture(scope="module")
def policies(model):
    return {
        "confidence": LeastConfident().fit(model),
        "uniform": UniformPolicy().fit(model),
        "iterated": IteratedPolicy(max_iter=20, random_state=0).fit(model, X[:400], Y[:400]),
    }


def fitted(model, policy, n=1600, **parameters):
    parameters = {"risk": 0.04, "random_state": 0, **parameters}
    return BudgetedPredictor(model, policy, **parameters).fit(X[400 : 400 + n], Y[400 : 400 + n])


def lost(model, fast, X, y, loss):
    """Loss of each example, from the predictor's own answers."""
    session = model.open(X)
    codes = session.codes(fast.predict(X))
    everything = session.decode(session.state())
    return model.output_.lost(loss, codes, everything, session.offsets, session.codes(y))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["confidence", "uniform", "iterated"])
@pytest.mark.parametrize("loss", LOSSES)
def test_served_is_what_was_certified(model, policies, name, loss):
    fast = fitted(model, policies[name], loss=loss)
    certificate = fast.certificate_
    assert certificate.status == "certified"
    assert certificate.verify()
    assert certificate.n_examples == 1280
    assert fast.threshold_ == certificate.threshold > -np.inf
    members = 400 + check_random_state(0).permutation(1600)[:1280]
    X_kept, y_kept = [X[i] for i in members], [Y[i] for i in members]
    np.testing.assert_array_equal(lost(model, fast, X_kept, y_kept, loss), certificate.gaps)
    assert [len(x) for x in X_kept] == certificate.n_parts.tolist()
    assert 1 < fast.mean_cost_ < 10
    cost = fast.predict(X_kept, return_cost=True)[1]
    assert cost.sum() / certificate.n_parts.sum() == pytest.approx(fast.mean_cost_)
    fresh = lost(model, fast, X[2000:], Y[2000:], loss)
    assert fresh.sum() / sum(map(len, X[2000:])) <= 0.04


def test_a_good_policy_is_cheaper_and_weaker_losses_are_too(model, policies):
    spend = {name: fitted(model, policies[name]).mean_cost_ for name in ("confidence", "uniform")}
    assert spend["confidence"] < spend["uniform"] - 1
    spends = [fitted(model, policies["confidence"], loss=loss).mean_cost_ for loss in LOSSES]
    assert spends == sorted(spends, reverse=True)
    assert spends[0] > spends[2]


def test_labels_are_not_used_for_disagreement(model, policies):
    one = fitted(model, policies["confidence"])
    two = clone(one).set_params(model=model, policy=policies["confidence"]).fit(X[400:2000])
    assert one.certificate_.verify()
    assert one.threshold_ == two.threshold_
    with pytest.raises(ValueError, match="needs y"):
        BudgetedPredictor(model, policies["confidence"], risk=0.04, loss="gap").fit(X[400:2000])


def test_longer_examples_get_everything(model, policies):
    fast = fitted(model, policies["confidence"], max_parts=7)
    lengths = np.array([len(x) for x in X[2000:]])
    state = fast.predict(X[2000:], return_state=True)[1]
    long = np.repeat(lengths > 7, lengths)
    assert fast.max_parts_ == fast.certificate_.max_parts == 7
    assert state[long].all()
    assert 0 < state[~long].mean() < 1
    assert not fast.certificate_.gaps[fast.certificate_.n_parts > 7].any()
    unlimited = fitted(model, policies["confidence"])
    others = 400 + check_random_state(0).permutation(1600)[1280:]
    assert unlimited.max_parts_ == max(len(X[i]) for i in others)


def test_too_few_examples_buy_everything(model):
    policy = Silent().fit(model)
    fast = fitted(model, policy, n=100)
    certificate = fast.certificate_
    assert certificate.status == "too few examples"
    assert certificate.examples_needed > 80
    assert fast.threshold_ == -np.inf
    assert fast.mean_cost_ == 10
    policy.silent = True
    answers, state = fast.predict(X[2000:], return_state=True)
    assert state.all()
    for one, two in zip(answers, model.predict(X[2000:]), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_family_goes_from_everything_to_beyond_the_risk(model, policies):
    for risk in (0.001, 0.02, 0.9):
        family = Family.open(model, policies["confidence"], X[400:800], None, "disagreement", None)
        thresholds = place_thresholds(family, risk)
        means = [family.mean(threshold) for threshold in thresholds]
        assert thresholds[0] == -np.inf
        assert means[0] == 0
        assert (np.diff(thresholds) > 0).all()
        assert means[-1] >= 2 * risk or thresholds[-1] == np.inf
        near = np.flatnonzero((np.array(means) > 0.3 * risk) & (np.array(means) < risk))
        assert risk == 0.9 or len(near) > 5


def test_the_same_seed_gives_the_same_certificate(model, policies):
    one, two, other = (fitted(model, policies["confidence"], random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.certificate_.gaps, two.certificate_.gaps)
    assert not np.array_equal(one.certificate_.n_parts, other.certificate_.n_parts)


def test_a_far_deadline_changes_nothing(model, policies):
    for name in ("confidence", "iterated"):
        fast = fitted(model, policies[name], max_parts=7)
        plain, bought = fast.predict(X[2000:2100], return_state=True)
        answers, state = fast.predict(X[2000:2100], return_state=True, deadline=60)
        np.testing.assert_array_equal(state, bought)
        for one, two in zip(answers, plain, strict=True):
            np.testing.assert_array_equal(one, two)
        assert not fast.predict(X[2000:2100], return_state=True, deadline=0)[1].any()


def test_a_policy_that_does_not_save_time_is_not_called(model):
    """With features that take no time, a policy only adds cost, and buying everything keeps any promise."""
    policy = Silent().fit(model)
    policy.seconds = 0.02  # more than a machine that is busy elsewhere adds to features
    fast = fitted(model, policy, feature_costs="time")
    assert fast.mode_ == "everything"
    assert fast.certificate_.verify()
    policy.silent = True
    assert fast.predict(X[2000:], return_state=True)[1].all()
    slow = fitted(model, Silent().fit(model), feature_costs=[1, 1000])
    assert slow.mode_ == "policy"


def test_a_budget_promises_nothing(model, policies):
    fast = BudgetedPredictor(model, policies["confidence"], budget=5).fit(X[400:600])
    assert str(fast.certificate_) == "no promise: a budget was given, not a risk"
    assert fast.max_parts_ is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 5}, "either a risk= or a budget="),
        ({"spend": "each"}, "either a risk= or a budget="),
        ({"risk": 0}, "'risk' parameter"),
        ({"risk": 1.5}, "'risk' parameter"),
        ({"confidence": 1.0}, "'confidence' parameter"),
        ({"loss": "accuracy"}, "'loss' parameter"),
        ({"certificate_fraction": 1.0}, "'certificate_fraction' parameter"),
        ({"max_parts": 0}, "'max_parts' parameter"),
        ({"n": 1}, "at least two examples"),
        ({"risk": None}, "budget=, the mean cost of a part, or a risk="),
    ],
)
def test_arguments_are_checked(model, policies, change, message):
    with pytest.raises(ValueError, match=message):
        fitted(model, policies["confidence"], **change)


# ---- what is promised ------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("loss", ["disagreement", "gap"])
def test_promises_kept(model, policies, loss):
    """`fit` is run on examples drawn from a pool, whose mean loss is the true one."""
    policy, pool, truth, n = policies["confidence"], X[400:], Y[400:], 500
    everyone = Family.open(model, policy, pool, truth, loss, None)
    rng = np.random.default_rng(1)
    violations, spends = 0, []
    for seed in range(200):
        rows = rng.integers(len(pool), size=n)
        fast = BudgetedPredictor(model, policy, risk=0.05, loss=loss, max_parts=everyone.max_parts, random_state=seed)
        fast.fit([pool[i] for i in rows], [truth[i] for i in rows])
        violations += everyone.mean(fast.threshold_) > 0.05
        spends.append(fast.mean_cost_)
    print(f"{loss}: {violations} of 200 promises broken; mean cost {np.mean(spends):.2f} of 10")
    assert violations <= 18  # of 10 promised, more than 18 with probability 0.5 %
    assert np.mean(spends) < 9


@pytest.fixture(scope="module")
def words(wald_data):
    """A model and policies from folds 0 to 3 of the OCR words, thresholds from fold 4, and a pool of folds 5 to 9."""
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    ocr = fetch_ocr(download_if_missing=False)

    def fold(*which):
        chosen = np.flatnonzero(np.isin(ocr.fold, which))
        return [ocr.data[i] for i in chosen], [ocr.target[i] for i in chosen]

    groups = [FeatureGroup("pixels", cost=1), FeatureGroup("hog", HOG(ocr.image_shape), cost=20)]
    train = fold(0, 1, 2, 3)
    model = ChainClassifier(groups, max_iter=20, random_state=0).fit(*train)
    policies = {
        "confidence": LeastConfident().fit(model),
        "iterated": IteratedPolicy("differs", random_state=0).fit(model, *train, groups=["".join(w) for w in train[1]]),
    }
    return model, policies, fold(4), fold(5, 6, 7, 8, 9)


@pytest.mark.long
@pytest.mark.parametrize("name", ["confidence", "iterated"])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_percent_of_letters(words, name, loss):
    """With four folds of words, at most 18 of 200 promises are broken, and the cost is not much higher than needed."""
    model, policies, held, (pool, truth) = words
    risk, n_words = 0.01, 2750
    place = Family.open(model, policies[name], *held, loss, None)
    thresholds = place_thresholds(place, risk)
    family = Family.open(model, policies[name], pool, truth, loss, place.max_parts)
    served = [family.served(threshold) for threshold in thresholds]
    n_parts = family.lost(served[0].codes)[1].astype(int)
    gaps = np.array([family.lost(found.codes)[0] for found in served])
    mean, share = gaps.sum(axis=1) / n_parts.sum(), np.array([found.state.mean() for found in served])
    best = share[mean <= risk].min()
    rng = np.random.default_rng(2)
    violations, shares = 0, []
    for _ in range(200):
        rows = rng.integers(len(n_parts), size=n_words)
        certificate = certify_structures(
            gaps[:, rows], n_parts[rows], thresholds, risk=risk, loss=loss, max_parts=place.max_parts
        )
        at = int(np.flatnonzero(thresholds == certificate.threshold)[0])
        violations += mean[at] > risk
        shares.append(share[at])
    ratio = np.mean(shares) / best
    cost = (1 + 20 * np.mean(shares)) / (1 + 20 * best)
    print(
        f"{name}, {loss}: {violations} of 200 broken; {100 * np.mean(shares):.1f} % of letters get HOG, "
        f"{ratio:.3f} times the best, {cost:.3f} in cost"
    )
    assert violations <= 18
    assert cost <= (1.3 if loss == "gap" else 1.2)
