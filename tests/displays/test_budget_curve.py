from __future__ import annotations

import time
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from wald.displays import BudgetCurveDisplay
from wald.displays._budgets import bootstrap
from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import AnytimePolicy, MyopicPolicy, UniformPolicy

from .conftest import names
from .test_conventions import assert_all_can_be_read


def wrong(model: Any, answers: Any, y: Any) -> float:
    return float(np.mean(np.concatenate(answers) != np.concatenate(y)))


def test_the_point_in_use_is_what_predict_does(budgeted: Any, chains: Any) -> None:
    display = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test)
    answers, cost = budgeted.predict(chains.X_test, return_cost=True)
    n_parts = sum(map(len, answers))
    assert display.cost_in_use == pytest.approx(cost.sum() / n_parts)
    assert display.loss_in_use == pytest.approx(wrong(chains.model, answers, chains.y_test))
    low, high = display.interval_in_use
    assert low < display.loss_in_use < high
    x, y = display.point_[0].get_xydata()[0]
    assert (x, y) == pytest.approx((display.cost_in_use, 1 - display.loss_in_use))


def test_the_curve_goes_from_the_cheap_group_to_all_features(budgeted: Any, chains: Any) -> None:
    display = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test)
    session = chains.model.open(chains.X_test)
    truth, everything = session.codes(chains.y_test), session.state()
    assert display.loss_cheap == pytest.approx(np.mean(session.decode(everything & False) != truth))
    assert display.loss_full == pytest.approx(np.mean(session.decode(everything) != truth))
    assert (np.diff(display.cost) >= 0).all()
    assert (display.cost[0], display.cost[-1]) == pytest.approx((1.0, 10.0))
    assert (display.loss[0], display.loss[-1]) == pytest.approx((display.loss_cheap, display.loss_full))
    assert [line.get_ydata()[0] for line in display.levels_] == [1 - display.loss_full, 1 - display.loss_cheap]


def test_budgets_are_met_as_fit_meets_them(chains: Any) -> None:
    budgets = [1.0, 3.0, 5.5, 10.0]
    for policy in (chains.policy, MyopicPolicy().fit(chains.model)):
        display = BudgetCurveDisplay.from_estimator(policy, chains.X_test, chains.y_test, budgets=budgets)
        for budget, cost, loss in zip(budgets, display.cost, display.loss, strict=True):
            fast = BudgetedPredictor(chains.model, policy, budget=budget).fit(chains.X_test)
            assert cost == pytest.approx(fast.mean_cost_)
            assert loss == pytest.approx(wrong(chains.model, fast.predict(chains.X_test), chains.y_test))


def test_each_example_within_its_budget(chains: Any) -> None:
    anytime = AnytimePolicy(cv=2, t_max=2, random_state=0).fit(chains.model, chains.X[:60], chains.y[:60])
    fast = BudgetedPredictor(chains.model, anytime, budget=4.0, spend="each").fit(chains.X[200:240])
    display = BudgetCurveDisplay.from_estimator(fast, chains.X_test, chains.y_test, budgets=[1.0, 4.0, 10.0])
    assert display.cost[1] == pytest.approx(display.cost_in_use)
    assert display.loss[1] == pytest.approx(display.loss_in_use)
    assert (display.cost <= [1.0, 4.0, 10.0]).all()


def test_without_truth_answers_are_compared_with_those_of_all_features(budgeted: Any, chains: Any) -> None:
    display = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, against="share", measure="loss")
    full = chains.model.predict(chains.X_test)
    answers, state = budgeted.predict(chains.X_test, return_state=True)
    assert (display.loss_full, display.cost[0], display.cost[-1]) == (0.0, 0.0, 1.0)
    assert display.loss_in_use == pytest.approx(wrong(chains.model, answers, full))
    assert display.cost_in_use == pytest.approx(state.mean())
    assert display.ax_.get_ylabel() == "disagreement with all features"
    assert display.ax_.get_xlabel() == "parts with costly features"
    assert display.line_.get_ydata().tolist() == display.loss.tolist()


def test_time_is_what_went_by(chains: Any) -> None:
    """The time of an extractor that takes 300 microseconds per part is counted once, where it is used."""
    each = 3e-4

    def slow(parts: Any) -> Any:
        time.sleep(each * len(parts))
        return parts

    groups = [FeatureGroup("sketch", lambda parts: parts[:, ::3], cost=1), FeatureGroup("slow", slow, cost=9)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(chains.X[:30], chains.y[:30])
    policy = MyopicPolicy().fit(model)
    display = BudgetCurveDisplay.from_estimator(policy, chains.X_test[:30], against="time", budgets=[10.0, 1.0])
    nothing, everything = display.cost
    assert 0 < nothing < 200
    assert 1e6 * each <= everything < 1.8e6 * each
    assert display.loss.tolist() == [display.loss_cheap, 0.0]
    assert display.ax_.get_xlabel() == "features, policy and inference, µs a part"


def test_a_certificate_is_marked(certified: Any, chains: Any) -> None:
    display = BudgetCurveDisplay.from_estimator(certified, chains.X_test, chains.y_test)
    assert display.risk == 0.1
    assert display.bound_.get_ydata()[0] == pytest.approx(1 - display.loss_full - 0.1)
    assert display.point_[0].get_marker() == "D"
    assert names(display) == ["IteratedPolicy (certified ≤ 10 % lost)", "in use, certified (95 % CI)"]
    again = BudgetCurveDisplay.from_estimator(certified, chains.X_test, chains.y_test, ax=display.ax_)
    assert again.bound_ is None  # one line serves both
    assert again.levels_ == []
    loose = BudgetCurveDisplay.from_estimator(certified, chains.X_test, measure="loss")
    assert loose.bound_.get_ydata()[0] == pytest.approx(0.1)


def test_only_what_was_certified_is_promised(chains: Any) -> None:
    fast = BudgetedPredictor(chains.model, chains.policy, risk=0.1, loss="gap", random_state=0)
    fast.fit(chains.X[200:1400], chains.y[200:1400])
    assert fast.certificate_.status == "certified"
    assert BudgetCurveDisplay.from_estimator(fast, chains.X_test, chains.y_test).risk == 0.1
    assert BudgetCurveDisplay.from_estimator(fast, chains.X_test).risk is None  # a gap is no disagreement
    fast.certificate_ = fast.certificate_.voided("of a reason")
    assert BudgetCurveDisplay.from_estimator(fast, chains.X_test, chains.y_test).bound_ is None


def test_a_predictor_that_buys_everything_still_has_a_curve(chains: Any) -> None:
    fast = BudgetedPredictor(chains.model, chains.policy, risk=0.01, random_state=0).fit(chains.X[200:240])
    assert fast.mode_ == "everything"
    display = BudgetCurveDisplay.from_estimator(fast, chains.X_test, chains.y_test)
    assert (display.cost_in_use, display.loss_in_use) == pytest.approx((10.0, display.loss_full))
    assert display.cost[0] < 10
    assert display.risk is None


def test_several_policies_share_axes(budgeted: Any, chains: Any) -> None:
    first = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test)
    second = BudgetCurveDisplay.from_estimator(
        UniformPolicy().fit(chains.model), chains.X_test, chains.y_test, ax=first.ax_, name="at random"
    )
    assert names(second) == ["IteratedPolicy", "at random", "in use (95 % CI)"]
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    assert second.point_ is None  # a policy has no threshold
    assert (len(first.levels_), len(second.levels_)) == (2, 0)
    assert_all_can_be_read(second.figure_)
    half = len(second.loss) // 2
    assert np.interp(5.5, first.cost, first.loss) < second.loss[half]


@pytest.mark.parametrize("against", ["share", "cost", "time"])
@pytest.mark.parametrize("measure", ["accuracy", "loss"])
def test_all_can_be_read(against: Any, measure: Any, certified: Any, chains: Any) -> None:
    display = BudgetCurveDisplay.from_estimator(
        certified, chains.X_test, chains.y_test, against=against, measure=measure, part="letter"
    )
    assert_all_can_be_read(display.figure_)
    assert "letter" in display.ax_.get_xlabel() + display.ax_.get_ylabel()


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(200):
        n_parts = rng.integers(2, 9, size=150)
        losses = rng.binomial(n_parts, rng.beta(1, 9, size=150)).astype(float)  # parts of an example go together
        ((low, high),) = bootstrap(losses[None], n_parts, 0.9, 200, rng.integers(2**31))
        covered.append(low <= 0.1 <= high)
    assert 0.82 <= np.mean(covered) <= 0.96


def test_bands_have_the_given_confidence(budgeted: Any, chains: Any) -> None:
    def band(**how: Any) -> Any:
        return BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test, **how)

    wide, narrow, none = band(confidence=0.99), band(confidence=0.5), band(n_resamples=0)
    assert (np.diff(wide.interval) > np.diff(narrow.interval)).all()
    np.testing.assert_array_equal(band().interval, band().interval)
    assert (none.interval, none.band_, none.interval_in_use) == (None, None, None)
    assert names(none) == ["IteratedPolicy", "in use"]
    assert names(wide)[1] == "in use (99 % CI)"
    assert BudgetCurveDisplay.from_estimator(budgeted, chains.X_test[:1], chains.y_test[:1]).band_ is None


def test_from_predictions_counts(budgeted: Any, chains: Any) -> None:
    truth = [np.array(["a", "b"]), np.array(["b", "c", "c"])]
    none, some = [["a", "a"], ["a", "a", "a"]], [["a", "b"], ["b", "a", "a"]]
    display = BudgetCurveDisplay.from_predictions(
        truth, [truth, none, some], [[8.0, 12.0], [2.0, 3.0], [4.0, 6.0]], y_full=truth, y_cheap=none, name="mine"
    )
    assert display.cost.tolist() == [1.0, 2.0, 4.0]
    assert display.loss == pytest.approx([0.8, 0.4, 0.0])
    assert (display.loss_full, display.loss_cheap) == (0.0, 0.8)
    assert display.line_.get_ydata() == pytest.approx([0.2, 0.6, 1.0])
    one = BudgetCurveDisplay.from_predictions(truth, [some], [2.5], ax=display.ax_, n_resamples=0)
    assert (one.cost.tolist(), one.line_.get_marker(), one.levels_) == ([2.5], "o", [])
    answers, cost = budgeted.predict(chains.X_test, return_cost=True)
    same = BudgetCurveDisplay.from_predictions(chains.y_test, [answers], [cost])
    drawn = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test)
    assert (same.cost[0], same.loss[0]) == pytest.approx((drawn.cost_in_use, drawn.loss_in_use))
    assert same.interval[0] == pytest.approx(drawn.interval_in_use)


def test_from_predictions_refuses_what_does_not_fit() -> None:
    truth = [[0, 1], [1]]
    with pytest.raises(ValueError, match=r"'y_pred'.*one answer for each part"):
        BudgetCurveDisplay.from_predictions(truth, [[[0, 1], [1, 1]]], [1.0])
    with pytest.raises(ValueError, match="'y_full'"):
        BudgetCurveDisplay.from_predictions(truth, [truth], [1.0], y_full=[[0, 1]])
    with pytest.raises(ValueError, match=r"'cost'.*shape"):
        BudgetCurveDisplay.from_predictions(truth, [truth], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"'cost'.*finite"):
        BudgetCurveDisplay.from_predictions(truth, [truth], [np.nan])
    with pytest.raises(ValueError, match="at least one example"):
        BudgetCurveDisplay.from_predictions([], [[]], [1.0])
    with pytest.raises(ValueError, match="'compared_with'"):
        BudgetCurveDisplay.from_predictions(truth, [truth], [1.0], compared_with="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("budgets", [[0.5], [11.0], [], [np.nan], 3.0])
def test_budgets_that_cannot_be(budgets: Any, budgeted: Any, chains: Any) -> None:
    with pytest.raises(ValueError, match=r"'budgets'.*between 1, the cost of the cheap group, and 10"):
        BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, budgets=budgets)


@pytest.mark.parametrize(
    ("name", "value"), [("against", "money"), ("measure", "f1"), ("confidence", 95), ("n_resamples", -1)]
)
def test_other_refusals(name: str, value: Any, budgeted: Any, chains: Any) -> None:
    with pytest.raises(ValueError, match=f"'{name}' parameter of BudgetCurveDisplay.from_estimator"):
        BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, **{name: value})


def test_another_models_levels_have_the_colour_of_its_curve(budgeted: Any, chains: Any) -> None:
    first = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test, chains.y_test)
    fewer = BudgetCurveDisplay.from_estimator(budgeted, chains.X_test[:60], chains.y_test[:60], ax=first.ax_)
    assert {line.get_color() for line in fewer.levels_} == {fewer.line_.get_color()}
    assert sum(text.get_text() == "all features" for text in first.ax_.texts) == 1


def test_heads_and_keywords(parsed: Any) -> None:
    fast, bank = parsed
    _, ax = plt.subplots()
    display = BudgetCurveDisplay.from_estimator(fast, bank, bank, part="word", ax=ax, color="black")
    assert display.line_.get_color() == "black"
    assert (display.loss_full, display.loss[-1]) == (0.0, 0.0)
    assert display.ax_.get_ylabel() == "words answered right"
