"""Transformers that run as they are, in front of the engine, and how much of the time of a call they take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.compose import ColumnTransformer

from ...models import AdditiveModel
from ...plan.timing import seconds
from ...sources import Source
from ...steps import Chain
from ...steps.applied import Applied
from ...steps.by_column import CHEAP, ByColumn
from ...steps.known_values import COLUMNWISE, flat
from ...utils.figures import first_of, thousands
from ...utils.warn import warn_caller
from .predictor import Predictor
from .rows import preprocessed

#: Most rows on which times are measured.
TIMED_ROWS = 2000
#: From this share of the time on, what is left out behind the transformers is not worth while.
NEARLY_ALL = 0.9
#: Most steps that are named.
MOST_NAMED = 4


@dataclass(frozen=True)
class InFront:
    """Transformers that wald does not take apart. Printed, it is one sentence.

    Attributes
    ----------
    steps : tuple of str
        Names and types of the steps.
    share : float or None
        Share of the time of `predict` that they take; None if it was not measured.
    n_rows : int
        Number of rows on which it was measured.
    late : bool
        Whether some of them run only for rows that early stages leave undecided.
    """

    steps: tuple[str, ...]
    share: float | None = None
    n_rows: int = 0
    late: bool = False

    def __str__(self) -> str:
        one = len(self.steps) == 1
        how = "runs as it is" if one else "run as they are"
        words = f"{first_of(self.steps, MOST_NAMED)} {how}, in front of the engine"
        if self.late:
            words += f", for the rows that need {'it' if one else 'them'}"
        if self.share is not None:
            words += f", and {'takes' if one else 'take'} {self.share:.0%} of the time of predict"
            words += f" ({thousands(self.n_rows)} rows)"
        return words


def in_front_of(predictor: Predictor) -> InFront | None:
    """The transformers in front of a predictor, without their times; None if there are none."""
    steps = _steps(predictor.model)
    return InFront(steps, late=predictor.runs_late) if steps else None


def measured(predictor: Predictor, source: Source) -> InFront | None:
    """The transformers in front of a predictor, with their share of the time on some rows.

    Parameters
    ----------
    predictor : Predictor
    source : Source
        Rows; the first `TIMED_ROWS` of them are answered a few times.
    """
    found, step = in_front_of(predictor), predictor.model.preprocessing
    if found is None or step is None or source.n_rows == 0:
        return found
    rows = source.take(slice(0, min(source.n_rows, TIMED_ROWS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a transformer has said what it says of these rows
        everything = seconds(lambda: predictor.predict(rows, 1, None))
        if found.late:  # what the engine takes at most is not theirs
            behind = preprocessed(predictor.model, rows)
            theirs = everything - seconds(lambda: predictor.by_engine(behind))
        elif isinstance(step, ByColumn):
            theirs = seconds(lambda: [part.arrays(rows) for part in _applied(step)])
        else:
            theirs = seconds(lambda: step.transform(rows))
    return InFront(found.steps, min(1.0, max(0.0, theirs / everything)), rows.n_rows, found.late)


def warn_of_time(found: InFront | None, evaluates_all: bool) -> None:
    """Warn where every row is evaluated in full, and the engine has next to nothing to save."""
    if found is None or found.share is None or found.late or not evaluates_all or found.share < NEARLY_ALL:
        return
    warn_caller(
        f"{found}: wald has next to nothing to save. It takes encoders, scalers and imputers of scikit-learn apart, "
        "but not subclasses of them or transformers of your own."
    )


def _steps(model: AdditiveModel) -> tuple[str, ...]:
    chain = model.preprocessing
    if isinstance(chain, ByColumn):
        return tuple(f"{part.name!r} ({_kinds(part.transformer)})" for part in _applied(chain))
    if model.texts is not None or type(chain) is not Chain:  # all other steps are taken apart
        return ()
    steps = [(name, step) for name, step in chain.steps if not type(step).__module__.startswith("wald.")]
    return tuple(f"{name!r} ({_kind(step)})" for name, step in steps)


def _applied(chain: ByColumn) -> list[Applied]:
    return [part for part in chain.parts if isinstance(part, Applied)]


def _kinds(step: Any) -> str:
    return first_of([type(each).__name__ for each in flat(step)], MOST_NAMED)


def _kind(step: Any) -> str:
    """The type of a transformer; of a ColumnTransformer, with the types in it that are not known.

    Of a TableVectorizer of skrub with the types of its encoders.
    """
    if type(step) is not ColumnTransformer:
        held = getattr(step, "transformers_", None) if type(step).__module__.startswith("skrub.") else None
        encoders = list(held.values()) if isinstance(held, dict) else []
        types = dict.fromkeys(type(each).__name__ for each in encoders if type(each).__name__ != "PassThrough")
        inside = f" with {first_of(list(types), MOST_NAMED)}" if types else ""
        return f"{type(step).__name__}{inside}"
    inner = [each for _, one, _ in step.transformers_ if not isinstance(one, str) for each in flat(one)]
    known = [each for each in inner if type(each) in COLUMNWISE or type(each).__module__.startswith(CHEAP)]
    unknown = dict.fromkeys(type(each).__name__ for each in inner if each not in known)
    return f"ColumnTransformer with {first_of(list(unknown), MOST_NAMED)}" if unknown else "ColumnTransformer"
