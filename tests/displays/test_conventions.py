"""Conventions of all displays, and of the one that is in the gallery."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from acquisition import AcquisitionDisplay
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald import EarlyExitClassifier, displays
from wald.structured import BudgetedPredictor

PUBLIC = [getattr(displays, name) for name in displays.__all__]
ALL = [*PUBLIC, AcquisitionDisplay]
UNDER_BUDGETS = [AcquisitionDisplay, displays.BudgetCurveDisplay]
EARLY = [display for display in ALL if display not in UNDER_BUDGETS]


@pytest.fixture(params=ALL, ids=lambda display: display.__name__)
def display(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def source(display: Any, request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A predictor that the display can read, and rows or examples."""
    if display in UNDER_BUDGETS:
        return request.getfixturevalue("budgeted"), request.getfixturevalue("chains").X_test
    return request.getfixturevalue("linear"), request.getfixturevalue("binary_digits").X_test


def text_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def test_init_keeps_what_it_is_given(display: Any) -> None:
    given = {name: object() for name in inspect.signature(display).parameters}
    assert vars(display(**given)) == given


def test_plot_draws_again_on_other_axes(display: Any, source: Any) -> None:
    first = display.from_estimator(*source)
    figure, ax = plt.subplots()
    assert first.plot(ax) is first
    assert first.figure_ is figure
    drawn = first.axes_ if hasattr(first, "axes_") else [first.ax_]
    assert all(axes.figure is figure for axes in drawn)


def test_name_can_be_given_late(display: Any, source: Any) -> None:
    made = display.from_estimator(*source, name="early")
    assert any("early" in text for text in text_of(made.figure_))
    assert any("late" in text for text in text_of(made.plot(name="late").figure_))
    assert made.name == "early"


@pytest.mark.parametrize("form", ["pdf", "svg"])
def test_pictures_can_be_written_as_vectors(display: Any, form: str, source: Any, tmp_path: Any) -> None:
    made = display.from_estimator(*source)
    made.figure_.savefig(tmp_path / f"picture.{form}")
    assert (tmp_path / f"picture.{form}").stat().st_size > 2000


def test_new_figures_fit_a_column_and_settings_stay(display: Any, source: Any) -> None:
    before = dict(matplotlib.rcParams)
    made = display.from_estimator(*source)
    assert made.figure_.get_size_inches()[0] == pytest.approx(3.4)
    assert dict(matplotlib.rcParams) == before


def written_in(figure: Any) -> dict[Any, Any]:
    """Boxes of all visible texts; matplotlib keeps ticks beyond the limits, and does not draw them."""
    hidden: set[Any] = set()
    for axis in [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        margin = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not axis.axes.axison or not low - margin <= tick.get_loc() <= high + margin:
                hidden |= {tick.label1, tick.label2}
        if not axis.axes.axison:
            hidden |= {axis.label, axis.offsetText}
    texts = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text()]
    return {text: text.get_window_extent() for text in texts if text not in hidden}


def assert_all_can_be_read(figure: Any) -> None:
    """Check that no text leaves the figure or overlaps another."""
    figure.canvas.draw()
    boxes = written_in(figure)
    assert len(boxes) > 4
    for text, box in boxes.items():
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, text.get_text()
    for one, other in itertools.combinations(boxes, 2):
        a, b = boxes[one], boxes[other]
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        # the boxes of lines above each other share what letters do not fill
        assert width <= 1 or height <= 4, (one.get_text(), other.get_text())


@pytest.mark.parametrize("display", EARLY, ids=lambda display: display.__name__)
def test_all_can_be_read(display: Any, fast: Any, digits: Any) -> None:
    if display is displays.AttentionMapDisplay and "SVC" in repr(fast):
        pytest.skip("kernel machines have no attention map")
    assert_all_can_be_read(display.from_estimator(fast, digits.X_test).figure_)


def test_other_estimators_are_refused(display: Any, digits: Any, chains: Any) -> None:
    needed = "BudgetedPredictor" if display in UNDER_BUDGETS else "early-exit estimator"
    with pytest.raises(TypeError, match=rf"{display.__name__}.from_estimator needs .*{needed}.*Logistic"):
        display.from_estimator(LogisticRegression(), digits.X_test)
    unfitted: Any = EarlyExitClassifier(FrozenEstimator(LogisticRegression()))
    if display in UNDER_BUDGETS:
        unfitted = BudgetedPredictor(chains.model, chains.policy, budget=3.0)
    with pytest.raises(NotFittedError):
        display.from_estimator(unfitted, digits.X_test)


def test_no_rows(display: Any, source: Any) -> None:
    with pytest.raises(ValueError, match=r"at least one row|at least one example"):
        display.from_estimator(source[0], [] if display in UNDER_BUDGETS else np.empty((0, 64)))


def test_wrong_number_of_features(display: Any, source: Any) -> None:
    with pytest.raises(ValueError, match="features"):
        display.from_estimator(source[0], [np.zeros((3, 5))] if display in UNDER_BUDGETS else np.zeros((3, 5)))


@pytest.mark.parametrize("display", PUBLIC, ids=lambda display: display.__name__)
def test_without_matplotlib(display: Any, source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=rf"{display.__name__}\.from_estimator requires matplotlib.*pip install '\.\[plot\]'"
    ):
        display.from_estimator(*source)
    given = dict.fromkeys(inspect.signature(display).parameters)
    with pytest.raises(ImportError, match=rf"{display.__name__}\.plot requires matplotlib.*pip install '\.\[plot\]'"):
        display(**given).plot()


@pytest.mark.slow
def test_matplotlib_is_loaded_late() -> None:
    code = "import sys, wald.displays; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_a_model_from_a_file_is_named_as_the_one_that_was_saved(
    model: str, request: pytest.FixtureRequest, binary_digits: Any, tmp_path: Any
) -> None:
    saved = request.getfixturevalue(model)
    wald.save(saved, tmp_path / "fast.wald")
    names = [
        displays.TradeoffDisplay.from_estimator(each, binary_digits.X_test).name
        for each in (saved, wald.load(tmp_path / "fast.wald"))
    ]
    assert names[0] == names[1]
