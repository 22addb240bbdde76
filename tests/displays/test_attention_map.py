from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from wald import EarlyExitClassifier
from wald.displays import AttentionMapDisplay

from .conftest import wrapped


@pytest.fixture(params=["linear", "linear_ten", "one_sided"])
def pixels(request: pytest.FixtureRequest) -> EarlyExitClassifier:
    fitted: EarlyExitClassifier = request.getfixturevalue(request.param)
    return fitted


def test_exactly_what_was_paid_for_is_shown(pixels: Any, digits: Any) -> None:
    rows = np.arange(40)
    display = AttentionMapDisplay.from_estimator(pixels, digits.X_test, rows=rows)
    _, cost = pixels.predict(digits.X_test[rows], return_cost=True)
    assert (~np.isnan(display.seen)).sum(axis=1).tolist() == cost.tolist()
    np.testing.assert_array_equal(display.images, digits.X_test[rows])
    for seen, squares, paid in zip(display.seen, display.squares_, cost, strict=True):
        assert len(squares.get_paths()) == paid
        early = np.flatnonzero(~np.isnan(seen) & (seen <= pixels.plan_.stage_terms[-1]))
        in_order = early[np.argsort(seen[early], kind="stable")]
        assert in_order.tolist() == pixels.plan_.terms[: len(in_order)].tolist()


def test_squares_stand_on_their_pixels(linear: Any, binary_digits: Any) -> None:
    display = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, rows=[3], image_shape=(4, 16))
    which = np.flatnonzero(~np.isnan(display.seen[0]))
    centres = [path.vertices[:4].mean(axis=0) for path in display.squares_[0].get_paths()]
    np.testing.assert_allclose(centres, np.column_stack([which % 16, which // 16]), atol=1e-12)
    np.testing.assert_array_equal(display.images_[0].get_array(), binary_digits.X_test[3].reshape(4, 16))
    assert display.squares_[0].get_array().tolist() == display.seen[0][which].tolist()


def test_an_easy_and_a_hard_row(linear: Any, binary_digits: Any) -> None:
    display = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test)
    _, stages = linear.stage_scores(binary_digits.X_test)
    positive = stages[linear.predict(binary_digits.X_test) == 1]
    early = positive[positive < linear.plan_.n_stages]
    costs = linear.plan_.stage_costs
    assert display.titles == [
        f"easy: answer 1\n{costs[early.min()]:g} of 64 pixels",
        f"hard: answer 1\n{costs[early.max()]:g} of 64 pixels",
    ]


def test_contributions_add_up_to_the_estimate(linear: Any, binary_digits: Any) -> None:
    rows = np.arange(30)
    display = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, rows=rows, colour_by="contribution")
    scores, stages = linear.stage_scores(binary_digits.X_test[rows])
    answers = linear.predict(binary_digits.X_test[rows])
    for seen, row, stage, answer in zip(display.seen, scores, stages, answers, strict=True):
        bias = [r.bias[0] for r in linear.plan_.early.readouts] + [linear.estimator_.intercept_[0]]
        assert np.nansum(seen) == pytest.approx((1 if answer else -1) * (row[stage] - bias[stage]))


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=2000), SVC(kernel="linear")])
def test_contributions_speak_for_the_answer_against_its_rivals(model: Any, digits: Any) -> None:
    fast = wrapped(model, digits, risk=0.05)
    rows = np.arange(30)
    display = AttentionMapDisplay.from_estimator(fast, digits.X_test, rows=rows, colour_by="contribution")
    _, stages = fast.stage_scores(digits.X_test[rows])
    answers = fast.predict(digits.X_test[rows])
    for seen, x, stage, answer in zip(display.seen, digits.X_test[rows], stages, answers, strict=True):
        if stage == fast.plan_.n_stages:
            weights = fast.estimator_.coef_
            which = np.arange(64)
        else:
            which = fast.plan_.terms[: fast.plan_.stage_terms[stage]]
            weights = fast.plan_.early.readouts[stage].weights
        outputs = weights @ x[which]
        if len(outputs) == 10:
            expected = outputs[answer] - np.delete(outputs, answer).mean()
        else:
            pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
            signed = [z if i == answer else -z for z, (i, j) in zip(outputs, pairs, strict=True) if answer in (i, j)]
            expected = np.mean(signed)
        assert np.nansum(seen) == pytest.approx(expected)


def test_rows_of_any_kind(linear: Any, binary_digits: Any) -> None:
    dense = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, rows=[0, 1])
    few = AttentionMapDisplay.from_estimator(linear, sparse.csr_array(binary_digits.X_test), rows=[0, 1])
    np.testing.assert_array_equal(dense.seen, few.seen)
    np.testing.assert_array_equal(dense.images, few.images)


def test_a_scaler_is_seen_through(binary_digits: Any) -> None:
    fast = wrapped(make_pipeline(StandardScaler(), LinearSVC()), binary_digits)
    display = AttentionMapDisplay.from_estimator(fast, binary_digits.X_test, rows=[0])
    _, cost = fast.predict(binary_digits.X_test[:1], return_cost=True)
    assert (~np.isnan(display.seen)).sum() == cost[0]


def test_costs_of_features_are_no_pixels(binary_digits: Any) -> None:
    fast = wrapped(LogisticRegression(max_iter=2000), binary_digits, feature_costs=np.full(64, 0.5))
    display = AttentionMapDisplay.from_estimator(fast, binary_digits.X_test)
    assert all("\ncost " in title and title.endswith(" of 32") for title in display.titles)
    named = AttentionMapDisplay.from_estimator(fast, binary_digits.X_test, unit="cents")
    assert all(title.endswith(" of 32 cents") for title in named.titles)


def test_axes_of_ones_own(linear: Any, binary_digits: Any) -> None:
    _, panels = plt.subplots(2, 2)
    display = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, ax=panels[0])
    assert display.axes_.tolist() == panels[0].tolist()
    assert display.plot(list(panels[1]), colorbar=False).colorbar_ is None
    inside = display.plot(plt.subplots()[1])
    assert len(inside.axes_) == 2
    single = plt.figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match="no subplot"):
        display.plot(single)
    with pytest.raises(ValueError, match="one Axes for each of 2 images"):
        display.plot(panels)


def test_keywords_go_to_the_squares(linear: Any, binary_digits: Any) -> None:
    display = AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, cmap="cividis")
    assert display.squares_[0].get_cmap().name == "cividis"


def test_kernel_machines_are_refused_with_a_way_out(kernel: Any, binary_digits: Any) -> None:
    with pytest.raises(ValueError, match=r"SVC compares a row with its support vectors.*StoppingPathDisplay"):
        AttentionMapDisplay.from_estimator(kernel, binary_digits.X_test)


def test_transformed_pixels_are_refused(binary_digits: Any) -> None:
    fast = wrapped(make_pipeline(PCA(16), LogisticRegression()), binary_digits)
    with pytest.raises(ValueError, match="transforms them first"):
        AttentionMapDisplay.from_estimator(fast, binary_digits.X_test)


@pytest.mark.parametrize("shape", [(8, 9), (64,), (8, 8, 1), (-8, -8)])
def test_shapes_that_do_not_fit(shape: Any, linear: Any, binary_digits: Any) -> None:
    with pytest.raises(ValueError, match=r"'image_shape'.*64 pixels"):
        AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, image_shape=shape)


def test_pixels_that_make_no_square(binary_digits: Any) -> None:
    some = binary_digits._replace(X_train=binary_digits.X_train[:, :60], X_fit=binary_digits.X_fit[:, :60])
    fast = wrapped(LogisticRegression(max_iter=2000), some)
    with pytest.raises(ValueError, match="60 pixels make no square"):
        AttentionMapDisplay.from_estimator(fast, binary_digits.X_test[:, :60])
    shown = AttentionMapDisplay.from_estimator(fast, binary_digits.X_test[:, :60], image_shape=(6, 10))
    assert shown.image_shape == (6, 10)


def test_other_refusals(linear: Any, binary_digits: Any) -> None:
    with pytest.raises(ValueError, match="'colour_by'"):
        AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, colour_by="size")
    with pytest.raises(ValueError, match=r"'label'.*'9', the answer of none"):
        AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, label="9")
    with pytest.raises(ValueError, match="'rows'"):
        AttentionMapDisplay.from_estimator(linear, binary_digits.X_test, rows=[1000])


def test_a_model_of_texts_is_sent_to_explain():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["late again", "a great evening"] * 10
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [0, 1] * 10)
    fast = EarlyExitClassifier(model, risk=0).fit()
    with pytest.raises(ValueError, match=r"reads texts\. fast\.explain\(text\) says which words"):
        AttentionMapDisplay.from_estimator(fast, texts)
