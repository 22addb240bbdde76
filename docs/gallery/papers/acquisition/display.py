"""A display of the parts that got costly features, and of how these changed the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Self

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray
from wald.displays._source import require_chosen
from wald.displays._style import COLUMN_WIDTH, ORANGE, SETTINGS, divided, legend, text_size
from wald.structured import BudgetedPredictor

from .bought import Bought, buy, has_trees, labels_of, named_parts
from .columns import make_room_above, new_column
from .flow import Example, Flow, Ink
from .trees import Trees

#: Up to this many rounds have an entry each in the legend.
_MOST_ROUNDS = 4
#: Points between examples, and around everything.
_BETWEEN, _RIM = 9.0, 4.0


@dataclass(kw_only=True, eq=False, repr=False)
class AcquisitionDisplay:
    """Parts of examples, as words or as images, with what was bought in which round, and the answers before and after.

    It is recommended to create it with `from_estimator`.

    Parts that got the costly features have a coloured frame, and the number of the round if there was more than one;
    the others are pale. Answers stand below them. Where answers are heads of words, words go from top to bottom, with
    the tree before on the left and the tree after on the right; the square is the root. What is wrong is orange;
    without the truth, what differs between before and after.

    Parameters
    ----------
    parts : sequence of n_examples sequences of str, or of arrays of shape (length, n_pixels)
        Words, or, with ``image_shape``, images.
    rounds : sequence of n_examples arrays of int, of shape (length,)
        In which round each part got costly features, from 1; 0 where it did not.
    before, after : sequence of n_examples arrays of shape (length,)
        Answers of the cheap group alone, and with what was bought.
    truth : sequence of n_examples arrays of shape (length,) or None, default=None
    image_shape : tuple of 2 int or None, default=None
        Height and width.
    trees : bool, default=False
        Answers are heads, counted from 1; 0 is the root.
    titles : sequence of n_examples str or None, default=None
    name : str or None, default=None
        Name of the predictor, for the legend.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, of shape (n_examples,)
    figure_ : matplotlib Figure
    boxes_ : list of n_examples lists of matplotlib Rectangle
        The frames of the parts.
    images_ : list of n_examples lists of matplotlib AxesImage
        Empty without images.
    arcs_ : list of n_examples lists of matplotlib FancyArrowPatch
        Those before, then those after, word by word; empty without trees.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from acquisition import AcquisitionDisplay
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import IteratedPolicy
    >>> X, y = make_chains(300, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:150], y[:150])
    >>> policy = IteratedPolicy(random_state=0).fit(model, X[:150], y[:150])
    >>> fast = BudgetedPredictor(model, policy, budget=4).fit(X[150:250])
    >>> display = AcquisitionDisplay.from_estimator(fast, X[250:], y[250:])
    >>> display.titles
    ['3 of 6 parts with costly features, 55 % of the cost']
    """

    parts: Sequence[Any]
    rounds: Sequence[ArrayLike]
    before: Sequence[ArrayLike]
    after: Sequence[ArrayLike]
    truth: Sequence[ArrayLike] | None = None
    image_shape: tuple[int, int] | None = None
    trees: bool = False
    titles: Sequence[str] | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        predictor: BudgetedPredictor,
        X: Any,
        y: Any = None,
        *,
        rows: ArrayLike | None = None,
        parts: Sequence[Any] | None = None,
        image_shape: tuple[int, int] | None = None,
        trees: bool | None = None,
        group: str | None = None,
        part: str = "part",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Answer examples within the budget, and draw what was bought for chosen ones.

        Parameters
        ----------
        predictor : BudgetedPredictor
            Fitted.
        X
            Examples as the model takes them.
        y
            Their true answers. When None, what differs between before and after stands out.
        rows : array-like of int, default=None
            Which examples to draw. When None: the one whose answers changed most, if possible a short one
            that bought for at most half of its parts.
        parts : sequence, default=None
            For each example, its words, or, with ``image_shape``, its images, of shape (length, n_pixels). When None:
            the examples themselves, where they are images or lists of words, the words of a treebank, or else numbers.
        image_shape : tuple of 2 int, default=None
            Height and width; None: parts are no images.
        trees : bool, default=None
            Whether answers are heads, to be drawn as arcs. None: those of a treebank are.
        group : str, default=None
            The costly group to show; of each part the one that came first when None.
        part : str, default="part"
            Name of a part, such as "letter" or "word".
        name : str, default=None
            For the legend.
        ax : matplotlib Axes or sequence of n_examples Axes, default=None
            A single one is divided. A new figure of column width, and as high as it must be, when None.
        **kwargs : dict
            For matplotlib's ``Rectangle`` of the parts.

        Returns
        -------
        AcquisitionDisplay

        Raises
        ------
        TypeError
            If the predictor is another one.
        ValueError
            If there are no examples, ``rows`` are not among them, parts do not fit, or ``group`` is not a costly group.
        """
        caller = f"{cls.__name__}.from_estimator"
        found = buy(predictor, X, y, caller)
        n_examples = len(found.offsets) - 1
        chosen = [found.most_changed()] if rows is None else require_chosen(rows, n_examples, caller).tolist()
        rounds = _rounds(found, list(predictor.model.group_names_), group, caller)
        trees = has_trees(X, found.session) if trees is None else trees
        given = X if parts is None and image_shape is not None else parts
        drawn = []
        for example in chosen:
            n = len(rounds[found.parts(example)])
            mine = named_parts(X, example, n) if given is None else given[example]
            drawn.append(_checked_parts(mine, n, example, image_shape, caller))

        def answers(codes: NDArray[np.int32]) -> list[NDArray[Any]]:
            if trees:
                return [codes[found.parts(example)] for example in chosen]
            return [labels_of(found.session, codes, example) for example in chosen]

        what = "costly features" if group is None else group
        titles = []
        for example in chosen:
            of = rounds[found.parts(example)]
            spent = f"{100 * found.cost[example] / found.full_cost[example]:.0f} % of the cost"
            titles.append(f"{np.count_nonzero(of)} of {len(of)} {part}s with {what}, {spent}")
        return cls(
            parts=drawn,
            rounds=[rounds[found.parts(example)] for example in chosen],
            before=answers(found.before),
            after=answers(found.after),
            truth=None
            if found.truth is None
            else _truth(found, y, chosen, trees or not hasattr(found.session, "answers")),
            image_shape=image_shape,
            trees=trees,
            titles=titles,
            name=name,
        ).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the examples below each other.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of n_examples Axes, default=None
            A single one is divided. A new figure of column width, and as high as it must be, when None.
        name : str, default=None
            For the legend; ``self.name`` when None.
        **kwargs : dict
            For matplotlib's ``Rectangle`` of the parts.

        Returns
        -------
        AcquisitionDisplay
            Itself, with the attributes that end in an underscore.
        """
        name = self.name if name is None else name
        examples = self._examples()
        own = ax is None
        size = SETTINGS["font.size"] if own else text_size(np.asarray(ax, dtype=object).ravel()[0])
        most = max(int(example.round_of.max(initial=0)) for example in examples)
        ink = Ink(size, most, most > 1)
        room = 72 * COLUMN_WIDTH - 2 * _RIM if own else _room(ax)
        layouts = [Trees(e, ink, room) if self.trees else Flow(e, ink, self.image_shape, room) for e in examples]
        heights = [layout.height for layout in layouts]
        self.axes_ = (
            new_column(COLUMN_WIDTH, heights, _BETWEEN, _RIM) if own else divided(ax, len(examples), "example", heights)
        )
        self.figure_ = self.axes_[0].figure
        shades = _shades(self.parts) if self.image_shape is not None else (0.0, 1.0)
        self.boxes_, self.images_, self.arcs_ = [], [], []
        for panel, layout in zip(self.axes_, layouts, strict=True):
            panel.set_axis_off()
            images: list[Any] = []
            arcs: list[Any] = []
            if isinstance(layout, Trees):
                boxes, arcs = layout.draw(panel, **kwargs)
            else:
                boxes, images = layout.draw(panel, shades, **kwargs)
            panel.set(xlim=(0.0, room), ylim=(-layout.height, 0.0))
            self.boxes_.append(boxes)
            self.images_.append(images)
            self.arcs_.append(arcs)
        made = self._draw_legend(ink, name)
        if own:
            make_room_above(self.figure_, self.axes_, made, _RIM)
        return self

    def _examples(self) -> list[Example]:
        """The drawn content of each example."""
        examples: list[Example] = []
        truths: Any = repeat(None) if self.truth is None else self.truth
        titles: Any = repeat(None) if self.titles is None else self.titles
        for parts, rounds, before, after, truth, title in zip(
            self.parts, self.rounds, self.before, self.after, truths, titles, strict=False
        ):
            answers = [np.asarray(before), np.asarray(after)]
            images, example = None, Example(None, None, np.asarray(rounds, dtype=np.int64), title=title)
            if self.image_shape is not None:
                images = np.asarray(parts, dtype=np.float64)
            example.words, example.images = (None if images is not None else list(parts)), images
            if self.trees:
                example.heads = (answers[0].astype(np.int64), answers[1].astype(np.int64))
                example.truth = None if truth is None else np.asarray(truth, dtype=np.int64)
            else:
                changed = answers[0] != answers[1]
                for row, labels in zip(("before", "after"), answers, strict=True):
                    example.rows.append((row, [str(label) for label in labels.tolist()]))
                    example.marked.append(changed if truth is None else labels != np.asarray(truth))
                if truth is not None:
                    example.rows.append(("truth", [str(label) for label in np.asarray(truth).tolist()]))
                    example.marked.append(np.zeros(len(example), dtype=bool))
            examples.append(example)
        return examples

    def _draw_legend(self, ink: Any, name: str | None) -> Any:
        entries: list[tuple[Any, str]] = []
        shown = list(range(1, ink.n_rounds + 1))
        if len(shown) > _MOST_ROUNDS:
            shown = [shown[0], shown[-1]]
        for done in shown:
            entries.append((Patch(**ink.patch(done)), _in_words(done, ink.n_rounds)))
        if self.trees:
            out: Any = Line2D([], [], color=ORANGE, linewidth=1.5)
        else:
            out = Line2D(
                [], [], color=ORANGE, marker=r"$\mathbf{a}$", markersize=5.5, markeredgewidth=0, linestyle="none"
            )
        entries.append((out, "changed" if self.truth is None else "wrong"))
        handles, names = zip(*entries, strict=True)
        return legend(self.axes_[0], handles, names, name, most_columns=len(names))


def _in_words(done: int, n_rounds: int) -> str:
    """Name of a round in the legend; only the first has the word "round"."""
    if n_rounds == 1:
        return "bought"
    return f"round {done}" if done == 1 else str(done)


def _rounds(found: Bought, names: list[str], group: str | None, caller: str) -> NDArray[np.int64]:
    """Round in which each part got a group, or the first of them."""
    if group is not None:
        if group not in names[1:]:
            known = ", ".join(map(repr, names[1:]))
            raise ValueError(f"The 'group' parameter of {caller} must be one of {known}. Got {group!r} instead.")
        return found.round_of[:, names.index(group) - 1]
    never = np.iinfo(np.int64).max
    first = np.where(found.round_of > 0, found.round_of, never).min(axis=1)
    return np.where(first == never, 0, first)


def _truth(found: Bought, y: Any, chosen: list[int], as_codes: bool) -> list[NDArray[Any]]:
    """True answers as they are written, also those that the model cannot give."""
    assert found.truth is not None
    if as_codes:
        return [found.truth[found.parts(example)] for example in chosen]
    labels = y
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object:  # of all parts, one behind the other
        labels = np.split(y, found.offsets[1:-1])
    return [np.asarray(labels[example]) for example in chosen]


def _checked_parts(parts: Any, n_parts: int, example: int, image_shape: tuple[int, int] | None, caller: str) -> Any:
    """Words or images of one example."""
    if image_shape is None:
        words = [str(word) for word in parts]
        if len(words) != n_parts:
            raise ValueError(f"{caller}: example {example} has {n_parts} parts, and {len(words)} words.")
        return words
    images = np.asarray(parts, dtype=np.float64)
    sides = [int(side) for side in image_shape]
    expected = (n_parts, int(np.prod(sides)))
    if len(sides) != 2 or min(sides) < 1 or images.reshape(len(images), -1).shape != expected:
        raise ValueError(
            f"The 'image_shape' parameter of {caller} must be (height, width) of the parts' images. "
            f"Got {image_shape!r} for parts of shape {images.shape} of example {example}, which has {n_parts}."
        )
    return images.reshape(expected)


def _shades(parts: Sequence[Any]) -> tuple[float, float]:
    """Lightest and darkest value of all images."""
    lightest = min(float(np.min(images)) for images in parts)
    return lightest, max(max(float(np.max(images)) for images in parts), lightest + 1e-12)


def _room(ax: Any) -> float:
    """Points from left to right of given axes."""
    first = np.asarray(ax, dtype=object).ravel()[0]
    return float(first.get_window_extent().width * 72 / first.figure.dpi)
