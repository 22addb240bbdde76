"""A display of the pixels of an image that were read before its answer was clear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..early_exit.base import EarlyExitEstimator
from ..sources import source_of
from ..stopping.core.validation import require_option
from ..utils.labels import codes_of_labels
from ._display import Display
from ._pixels import contributions, easy_and_hard, pixels_of, places
from ._source import Floats, model_of, require_chosen

ColourBy = Literal["order", "contribution"]
_COLOUR_BY: tuple[ColourBy, ...] = ("order", "contribution")

#: Side of a square as a share of the pixel's: the pixel's own grey stays visible around it.
_SQUARE = 0.7


@dataclass(kw_only=True, eq=False, repr=False)
class AttentionMapDisplay(Display):
    """Images with the pixels that were read, coloured by their place in the order or by their contribution.

    It is recommended to create it with `from_estimator`.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
    seen : array-like of shape (n_images, n_pixels)
        For every pixel that was read, its place in the order (from 1) or its contribution to the answer; NaN for
        all others.
    image_shape : tuple of 2 int
        Height and width.
    titles : sequence of n_images str or None, default=None
    colour_by : {"order", "contribution"}, default="order"
        What ``seen`` holds.
    name : str or None, default=None
        Name of the predictor, written on the left.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, of shape (n_images,)
    figure_ : matplotlib Figure
    images_ : list of matplotlib AxesImage
    squares_ : list of matplotlib PatchCollection
        The pixels that were read.
    colorbar_ : matplotlib Colorbar or None

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.displays import AttentionMapDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LogisticRegression(max_iter=5000).fit(X[:600] / 16, y[:600] > 4)
    >>> fast = EarlyExitClassifier(model, risk=0.02, planner=Planner(cost="units"), random_state=0)
    >>> display = AttentionMapDisplay.from_estimator(fast.fit(X[600:1400] / 16), X[1400:] / 16)
    >>> [title.partition(":")[0] for title in display.titles]
    ['easy', 'hard']
    """

    images: ArrayLike
    seen: ArrayLike
    image_shape: tuple[int, int]
    titles: Sequence[str] | None = None
    colour_by: ColourBy = "order"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EarlyExitEstimator,
        X: Any,
        *,
        rows: ArrayLike | None = None,
        label: Any = None,
        image_shape: tuple[int, int] | None = None,
        colour_by: ColourBy = "order",
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Answer images with an early-exit linear model, and draw which pixels it read.

        Parameters
        ----------
        estimator : EarlyExitClassifier
            Fitted, around a linear model whose features are pixels.
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_pixels)
        rows : array-like of int, default=None
            Which images to draw. When None: an easy one, which left first, and a hard one, the last of those that left
            early; both with the answer ``label``.
        label : object, default=None
            With ``rows=None``: the answer that both images got. When None: the positive class of a model with two, and
            any otherwise.
        image_shape : tuple of 2 int, default=None
            Height and width; a square when None.
        colour_by : {"order", "contribution"}, default="order"
            Colour pixels by their place in the order, or by what they add to the answer in the estimate on which the
            row left: the readout's weight times the pixel's value.
        unit : str, default=None
            Unit of the costs; "pixels", or the user's feature costs, when None.
        name : str, default=None
            Name of the predictor, written on the left.
        ax : matplotlib Axes or sequence of n_images Axes, default=None
            A single one is divided. A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``PatchCollection`` of the squares.

        Returns
        -------
        AttentionMapDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If the estimator is another one.
        ValueError
            If the wrapped model does not read single pixels (kernel machines, pipelines that transform them), rows are
            not images of that shape, or no row has the answer ``label``.
        """
        caller, fast, n_rows = cls._checked(estimator, X)
        model, plan = model_of(fast), fast.plan_
        words = model.words
        require_option(caller, "colour_by", colour_by, _COLOUR_BY)
        terms = pixels_of(model, caller)
        shape = _shape(image_shape, terms.n_terms, caller)
        names = [""]
        if rows is not None:
            chosen = require_chosen(rows, n_rows, caller)
            X = source_of(X).take(chosen)
            names *= len(chosen)
        _, stages = fast.stage_scores(X)
        answers = np.asarray(fast.predict(X))
        if rows is None:
            if label is None and len(fast.classes_) == 2:
                label = fast.classes_[1]
            allowed = np.ones(n_rows, dtype=bool) if label is None else answers == label
            if not allowed.any():
                raise ValueError(f"The 'label' parameter of {caller} is {label!r}, the answer of none of the rows.")
            pair = np.array(easy_and_hard(stages, allowed, plan.n_stages))
            X, stages, answers, names = source_of(X).take(pair), stages[pair], answers[pair], ["easy: ", "hard: "]
        images = source_of(X).array()
        images = np.asarray(images.toarray() if sparse.issparse(images) else images)
        where = [int(stage) for stage in stages]
        if colour_by == "order":
            seen = np.stack([places(plan, terms.n_terms, stage) for stage in where])
        else:
            codes = codes_of_labels(fast.classes_, answers)
            values = terms.values(images)
            seen = np.stack(
                [contributions(model, plan, v, s, int(c)) for v, s, c in zip(values, where, codes, strict=True)]
            )
        before, after = ("", f" {unit or 'pixels'}") if unit or fast.feature_costs is None else ("cost ", "")
        titles = [
            f"{which}answer {words.name(answer)}\n{before}{plan.stage_costs[stage]:g} of {plan.full_cost:g}{after}"
            for which, answer, stage in zip(names, answers.tolist(), where, strict=True)
        ]
        return cls(images=images, seen=seen, image_shape=shape, titles=titles, colour_by=colour_by, name=name).plot(
            ax=ax, **kwargs
        )

    def plot(self, ax: Any = None, *, name: str | None = None, colorbar: bool = True, **kwargs: Any) -> Self:
        """Draw the images and the pixels that were read.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of n_images Axes, default=None
            A single one is divided. A new figure of column width when None.
        name : str, default=None
            ``self.name`` when None.
        colorbar : bool, default=True
            Whether to explain the colours under the images.
        **kwargs : dict
            For matplotlib's ``PatchCollection`` of the squares.

        Returns
        -------
        AttentionMapDisplay
            Itself, with the attributes that end in an underscore.
        """
        style = self._load_style()
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        images, seen = np.asarray(self.images, dtype=np.float64), np.asarray(self.seen, dtype=np.float64)
        name = self._named(name)
        self.axes_ = _panels(ax, len(images), style)
        self.figure_ = self.axes_[0].figure
        height, width = self.image_shape
        lightest, darkest = float(np.nanmin(images)), float(np.nanmax(images))
        colours = {**self._colours(style, seen), **kwargs}
        self.images_, self.squares_ = [], []
        for panel, image, values in zip(self.axes_, images, seen, strict=True):
            style.boxed(panel)
            grey = panel.imshow(
                image.reshape(height, width),
                cmap="Greys",
                vmin=lightest,
                vmax=lightest + 1.8 * (darkest - lightest or 1.0),  # no black, on which dark squares would be lost
            )
            which = np.flatnonzero(~np.isnan(values))
            corners = [(i % width - _SQUARE / 2, i // width - _SQUARE / 2) for i in which]
            squares = PatchCollection([Rectangle(corner, _SQUARE, _SQUARE) for corner in corners], **colours)
            squares.set_array(values[which])
            self.images_.append(grey)
            self.squares_.append(panel.add_collection(squares))
        for panel, title in zip(self.axes_, self.titles or (), strict=bool(self.titles)):
            panel.set_title(title, loc="left", fontsize=style.text_size(panel))
        if name is not None:
            self.axes_[0].set_ylabel(name)
        self.colorbar_ = self._draw_colorbar(style, seen) if colorbar else None
        return self

    def _colours(self, style: Any, seen: Floats) -> dict[str, Any]:
        from matplotlib.colors import FuncNorm, LinearSegmentedColormap, LogNorm

        if self.colour_by == "order":
            last = float(np.nanmax(seen, initial=1.0))
            return {"cmap": "viridis", "norm": LogNorm(1, last + 1), "linewidth": 0}
        most = float(np.nanmax(np.abs(seen), initial=0.0)) or 1.0
        against_for = LinearSegmentedColormap.from_list("against_for", [style.ORANGE, "#f4f4f4", style.BLUE])
        # roots, since most contributions are small beside the largest
        roots = FuncNorm((lambda v: np.sign(v) * np.sqrt(np.abs(v)), lambda v: v * np.abs(v)), vmin=-most, vmax=most)
        return {"cmap": against_for, "norm": roots, "linewidth": 0.2, "edgecolor": style.GREY}

    def _draw_colorbar(self, style: Any, seen: Floats) -> Any:
        bar = self.figure_.colorbar(self.squares_[0], ax=self.axes_.tolist(), location="bottom", aspect=40, pad=0.03)
        size = style.text_size(self.axes_[0])
        bar.outline.set_linewidth(0.6)
        if self.colour_by == "order":
            last = float(np.nanmax(seen, initial=1.0))
            ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if t < 0.6 * last]
            bar.set_ticks([*ticks, last], labels=[style.grouped(t) for t in (*ticks, last)])
            bar.minorticks_off()
            bar.set_label("place in the order of reading (no square: not read)", size=size)
        else:
            ticks = [share * self.squares_[0].norm.vmax for share in (-1, -0.25, 0, 0.25, 1)]
            bar.set_ticks(ticks, labels=[f"{t:.2g}".replace("-", "−") for t in ticks])
            bar.set_label("contribution to the answer (no square: not read)", size=size)
        bar.ax.tick_params(labelsize=size, width=0.6)
        return bar


def _shape(image_shape: tuple[int, int] | None, n_pixels: int, caller: str) -> tuple[int, int]:
    if image_shape is None:
        side = math.isqrt(n_pixels)
        if side * side != n_pixels:
            raise ValueError(f"{caller} needs image_shape=(height, width): {n_pixels} pixels make no square.")
        return side, side
    sides = [int(side) for side in image_shape]
    if len(sides) != 2 or min(sides) < 1 or math.prod(sides) != n_pixels:
        raise ValueError(
            f"The 'image_shape' parameter of {caller} must be (height, width) with {n_pixels} pixels. "
            f"Got {image_shape!r} instead."
        )
    return sides[0], sides[1]


def _panels(ax: Any, n: int, style: Any) -> NDArray[Any]:
    """Axes for n images."""
    if ax is None:
        width = max(style.COLUMN_WIDTH, 1.7 * n)
        panels: NDArray[Any] = style.new_row(n, width, 0.9 + width / max(n, 2))
        return panels
    divided: NDArray[Any] = style.divided(ax, n, "image")
    return divided
