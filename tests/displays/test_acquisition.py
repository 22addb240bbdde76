"""The picture of what was bought, which is in the gallery: `docs/gallery/papers/acquisition`."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from acquisition import AcquisitionDisplay
from matplotlib.colors import to_rgba

from wald.datasets import fetch_ocr
from wald.structured import HOG, BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import MyopicPolicy

from .conftest import Doubt
from .test_conventions import assert_all_can_be_read, text_of

ROWS = [3, 8, 20]


def test_what_is_shown_is_what_predict_does(budgeted: Any, chains: Any) -> None:
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, chains.y_test, rows=ROWS)
    answers, cost, state = budgeted.predict(chains.X_test, return_cost=True, return_state=True)
    session = chains.model.open(chains.X_test)
    before = session.answers(session.decode(session.state() & False))
    bought = session.sequences.split(state[:, 0])
    for i, row in enumerate(ROWS):
        np.testing.assert_array_equal(display.after[i], answers[row])
        np.testing.assert_array_equal(display.before[i], before[row])
        np.testing.assert_array_equal(display.truth[i], chains.y_test[row])
        np.testing.assert_array_equal(display.rounds[i] > 0, bought[row])
        n = len(answers[row])
        assert display.titles[i] == (
            f"{bought[row].sum()} of {n} parts with costly features, {100 * cost[row] / (10 * n):.0f} % of the cost"
        )


def test_rounds_are_those_of_the_policy(chains: Any) -> None:
    """The policy buys one part at a time, the least confident first: the rounds of an example are 1, 2, 3, ..."""
    fast = BudgetedPredictor(chains.model, Doubt().fit(chains.model), budget=5.0, spend="each").fit(chains.X[200:240])
    display = AcquisitionDisplay.from_estimator(fast, chains.X_test, rows=np.arange(20))
    session = chains.model.open(chains.X_test[:20])
    doubt = session.sequences.split(-session.confidence(session.state() & False))
    for rounds, first in zip(display.rounds, doubt, strict=True):
        bought = np.sort(rounds[rounds > 0])
        assert bought.tolist() == list(range(1, len(bought) + 1))
        if len(bought):
            assert rounds[np.argmax(first)] == 1


def test_bought_parts_have_frames_by_round(budgeted: Any, chains: Any) -> None:
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, rows=ROWS)
    colours: dict[int, set[Any]] = {}
    for rounds, boxes in zip(display.rounds, display.boxes_, strict=True):
        for done, box in zip(rounds.tolist(), boxes, strict=True):
            colours.setdefault(done, set()).add(box.get_edgecolor())
            assert (box.get_linewidth() > 1) == (done > 0)
    assert len(colours) > 2
    assert all(len(of) == 1 for of in colours.values())
    assert len(set.union(*colours.values())) == len(colours)


def test_wrong_answers_stand_out(budgeted: Any, chains: Any) -> None:
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, chains.y_test, rows=[8])
    orange = [text for text in display.axes_[0].texts if to_rgba(text.get_color()) == to_rgba("#D55E00")]
    truth = display.truth[0]
    assert len(orange) == np.sum(display.before[0] != truth) + np.sum(display.after[0] != truth)
    assert "wrong" in text_of(display.figure_)
    unlabelled = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, rows=[8])
    orange = [text for text in unlabelled.axes_[0].texts if to_rgba(text.get_color()) == to_rgba("#D55E00")]
    assert len(orange) == 2 * np.sum(display.before[0] != display.after[0])
    assert "changed" in text_of(unlabelled.figure_)
    assert "truth" not in text_of(unlabelled.figure_)


def test_an_informative_example_is_chosen(budgeted: Any, chains: Any) -> None:
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test)
    assert len(display.parts) == 1
    assert (display.before[0] != display.after[0]).sum() >= 2
    assert 0 < np.mean(display.rounds[0] > 0) <= 0.5


def test_everything_and_nothing(chains: Any) -> None:
    for budget, rounds in ((10.0, {1, 2, 3}), (1.0, {0})):
        fast = BudgetedPredictor(chains.model, chains.policy, budget=budget).fit(chains.X[200:240])
        display = AcquisitionDisplay.from_estimator(fast, chains.X_test, rows=[5])
        assert set(display.rounds[0].tolist()) <= rounds
    fast = BudgetedPredictor(chains.model, chains.policy, risk=0.01, random_state=0).fit(chains.X[200:240])
    assert fast.mode_ == "everything"
    display = AcquisitionDisplay.from_estimator(fast, chains.X_test, rows=[5])
    assert set(display.rounds[0].tolist()) == {1}
    assert display.titles[0].endswith("100 % of the cost")
    assert "bought" in text_of(display.figure_)


def test_longer_examples_than_certified_get_everything(certified: Any, chains: Any) -> None:
    long = np.concatenate(chains.X_test[:5])
    assert len(long) > certified.max_parts_
    display = AcquisitionDisplay.from_estimator(certified, [long, *chains.X_test], rows=[0])
    assert (display.rounds[0] > 0).all()


@pytest.fixture(scope="module")
def two_groups(chains: Any) -> BudgetedPredictor:
    groups = [FeatureGroup(name, extract, cost=cost) for name, extract, cost in _THREE]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(chains.X[:100], chains.y[:100])
    policy = MyopicPolicy().fit(model)
    return BudgetedPredictor(model, policy, budget=5.0).fit(chains.X[200:260])


_THREE = (
    ("sketch", lambda parts: parts[:, ::3], 1),
    ("half", lambda parts: parts[:, ::2], 3),
    ("detail", lambda parts: parts, 6),
)


def test_which_group(two_groups: Any, chains: Any) -> None:
    shown = {
        group: AcquisitionDisplay.from_estimator(two_groups, chains.X_test, rows=ROWS, group=group)
        for group in (None, "half", "detail")
    }
    for either, half, detail in zip(*(shown[group].rounds for group in (None, "half", "detail")), strict=True):
        np.testing.assert_array_equal(either > 0, (half > 0) | (detail > 0))
    assert "parts with detail" in shown["detail"].titles[0]
    with pytest.raises(ValueError, match=r"'group'.*'half', 'detail'.*'sketch'"):
        AcquisitionDisplay.from_estimator(two_groups, chains.X_test, group="sketch")


def test_images(budgeted: Any, chains: Any) -> None:
    display = AcquisitionDisplay.from_estimator(
        budgeted, chains.X_test, chains.y_test, rows=ROWS, image_shape=(4, 3), part="letter"
    )
    for row, rounds, images, boxes in zip(ROWS, display.rounds, display.images_, display.boxes_, strict=True):
        for x, done, image, box in zip(chains.X_test[row], rounds, images, boxes, strict=True):
            np.testing.assert_array_equal(image.get_array(), x.reshape(4, 3))
            left, right, bottom, top = image.get_extent()
            assert box.get_bbox().bounds == pytest.approx((left, bottom, right - left, top - bottom))
            assert right - left == pytest.approx(0.75 * (top - bottom))
            assert (image.get_cmap()(1.0) == (0, 0, 0, 1)) == (done > 0)  # what was not bought is pale
    assert_all_can_be_read(display.figure_)


def test_heads_are_drawn_as_arcs(parsed: Any) -> None:
    fast, bank = parsed
    display = AcquisitionDisplay.from_estimator(fast, bank, bank, rows=[0, 1], part="word")
    assert display.trees
    assert display.parts == [bank[0].forms, bank[1].forms]
    for i, arcs in enumerate(display.arcs_):
        heads, n = np.array(bank[i].heads), len(bank[i])
        assert len(arcs) == 2 * n
        for side, answers in ((0, display.before[i]), (1, display.after[i])):
            for word, arc in enumerate(arcs[side * n : (side + 1) * n]):
                wrong = answers[word] != heads[word]
                assert (to_rgba(arc.get_edgecolor()) == to_rgba("#D55E00")) == wrong
        right = display.rounds[i] > 0
        np.testing.assert_array_equal(display.after[i][right], heads[right])
    assert_all_can_be_read(display.figure_)


def test_heads_as_numbers(parsed: Any) -> None:
    fast, bank = parsed
    display = AcquisitionDisplay.from_estimator(fast, bank, bank, rows=[0], trees=False)
    assert display.arcs_ == [[]]
    assert display.truth[0].tolist() == bank[0].heads
    assert_all_can_be_read(display.figure_)


def test_words_of_any_kind_can_be_read(budgeted: Any, chains: Any) -> None:
    words = [
        [("$a_b^", "extraordinarilylongwords", "x", "%", "\\n{", "naïve")[i % 6] for i in range(len(x))]
        for x in chains.X_test
    ]
    longest = int(np.argmax([len(x) for x in chains.X_test]))
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, rows=[longest, 3], parts=words)
    assert_all_can_be_read(display.figure_)
    assert "extraordinarilylo…" in text_of(display.figure_)


def test_all_can_be_read(budgeted: Any, certified: Any, chains: Any) -> None:
    for fast in (budgeted, certified):
        display = AcquisitionDisplay.from_estimator(fast, chains.X_test, chains.y_test, rows=ROWS, name="a name")
        assert_all_can_be_read(display.figure_)


def test_axes_of_ones_own(budgeted: Any, chains: Any) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 6))
    display = AcquisitionDisplay.from_estimator(budgeted, chains.X_test, rows=[3, 8], ax=panels)
    assert display.axes_.tolist() == panels.tolist()
    assert len(display.plot(panels[0]).axes_) == 2
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="one Axes for each of 2 examples"):
        display.plot(plt.subplots(3)[1])


def test_refusals(budgeted: Any, chains: Any) -> None:
    def draw(**how: Any) -> Any:
        return AcquisitionDisplay.from_estimator(budgeted, chains.X_test, chains.y_test, **how)

    with pytest.raises(ValueError, match="'rows'"):
        draw(rows=[1000])
    n = len(chains.X_test[0])
    with pytest.raises(ValueError, match=f"example 0 has {n} parts, and 1 words"):
        draw(rows=[0], parts=[["one"]])
    for shape in ((5, 5), (12,), (-3, -4)):
        with pytest.raises(ValueError, match=r"'image_shape'.*\(height, width\)"):
            draw(rows=[0], image_shape=shape)


def test_a_word_of_letters(wald_data: Any) -> None:
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    words = fetch_ocr(download_if_missing=False)
    groups = [FeatureGroup("pixels", cost=1), FeatureGroup("hog", HOG(words.image_shape), cost=9)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(words.data[:300], words.target[:300])
    fast = BudgetedPredictor(model, Doubt().fit(model), budget=4.0).fit(words.data[300:400])
    X, y = words.data[400:600], words.target[400:600]
    longest = int(np.argmax([len(x) for x in X]))
    display = AcquisitionDisplay.from_estimator(
        fast, X, y, rows=[0, longest], image_shape=words.image_shape, part="letter"
    )
    assert "".join(display.truth[0].tolist()) == "".join(y[0].tolist())
    assert_all_can_be_read(display.figure_)
