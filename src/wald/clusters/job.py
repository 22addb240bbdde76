"""What is asked of every partition: which columns are features, which are kept, and what is answered."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..early_exit.compiled.answer_columns import AnswerColumns
from ..early_exit.estimators import EarlyExit
from ..early_exit.group_answers import AnyCertificate, answered, promise_of, require_groups
from ..engine.threads import effective_threads
from ..stopping import Certificate
from ..utils.figures import first_of
from ..utils.labels import with_kept
from .shipping import Shipment, receive

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: Largest number of names that a message lists.
MOST_NAMED = 8


class Predictions(NamedTuple):
    """Answers to a distributed data set.

    Attributes
    ----------
    rows : data set of the engine
        The kept columns, ``label`` or ``value``, and ``cost``, ``stage`` and ``proba_<class>`` if requested. Several
        values are ``value_0``, ``value_1`` and so on.
    certificate : Certificate, RankingCertificate or None
        The promise about the answers; None with a budget, which it does not cover. With groups, it is about their first
        rows.
    """

    rows: Any
    certificate: AnyCertificate | None


@dataclass(frozen=True)
class Job:
    """What is asked of every partition.

    Attributes
    ----------
    columns : tuple
        Names of the columns with the features, in the model's order.
    names : tuple of str or None
        The model's own names of these columns.
    kept : tuple of pairs
        Columns that are kept: their names before and after.
    answered : tuple of str
        Names of wald's own columns.
    budget : float or None
    probabilities : tuple of str, default=()
        Those of `answered` with the probability of each class.
    documents : bool, default=False
        Whether the model reads texts, which are the only column.
    groups : object or None, default=None
        The column that names the group of each row, where rows race in groups.
    """

    columns: tuple[Any, ...]
    names: tuple[str, ...] | None
    kept: tuple[tuple[Any, Any], ...]
    answered: tuple[str, ...]
    budget: float | None
    probabilities: tuple[str, ...] = ()
    documents: bool = False
    groups: Any = None

    @classmethod
    def of(
        cls,
        model: EarlyExit,
        there: Sequence[Any],
        *,
        columns: Sequence[Any] | None,
        keep: Sequence[Any] | None,
        return_cost: bool,
        return_stage: bool,
        budget: float | None,
        proba: bool = False,
        groups: Any = None,
    ) -> Self:
        """Check a request against the names of the columns that are there.

        Parameters
        ----------
        model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        there : sequence of str
            Names of the columns of the data set.
        columns : sequence of str, default=None
            Columns with the features, in the model's order. None: by the names that the model knows; for a model
            without names every column, but for those of ``keep`` if there are too many. For a model of texts the name
            of the column that holds them; None if there is no other.
        keep : sequence of str, default=None
            Columns that stay beside the answers; None for all. One that is called as an answer gets the prefix
            ``input_``.
        return_cost : bool, default=False
            Whether to add a column ``cost``.
        return_stage : bool, default=False
            Whether to add a column ``stage``: the stage at which a row left; the number of early stages stands for full
            evaluation.
        budget : float, default=None
            As for `EarlyExitClassifier.predict`.
        proba : bool, default=False
            Whether to add the wrapped model's probabilities, in full, as float64 columns ``proba_<class>``. The labels
            stay those of the plan.
        groups : str, default=None
            Of a ranker: the column that names the group of each row, such as its query. The engine brings the rows of a
            group together, which moves rows, and they race as in `EarlyExitRanker.predict`. None: every row is
            evaluated in full.

        Raises
        ------
        ValueError
            If columns are missing, named twice, or not as many as the model's features; for a budget below the first
            stage.
        TypeError
            If the model reads no columns, has labels that are no plain values, or lacks the probabilities asked for.
        """
        there = tuple(there)
        repeated = sorted({str(name) for name in there if there.count(name) > 1})
        if repeated:
            raise ValueError(f"Columns must have different names. These are there more than once: {_listed(repeated)}.")
        documents = _reads_texts(model)
        n_features = 1 if documents else getattr(model, "n_features_in_", None)
        if n_features is None:
            raise TypeError("The model reads dicts or lists, and no columns: its rows are no table of a cluster.")
        if groups is not None:
            if not isinstance(groups, Hashable):
                raise TypeError(f"groups must be the name of one column. Got {groups!r}.")
            require_columns(there, (groups,), "the column of groups", hint="")
            require_groups(model)
        elif budget is not None:
            model.compiled_plan_.plan.affordable(budget)
        own = AnswerColumns.of(model.compiled_plan_)
        string_labels(own.none if own.classes is None else own.classes)
        if proba and not hasattr(model, "predict_proba"):
            name = type(model.estimator_).__name__
            raise TypeError(f"proba=True needs a model with probabilities, and this {name} has none. Leave it out.")
        also = proba and not own.are_probabilities
        # as `wald predict` names them
        found = tuple(f"proba_{label}" for label in model.compiled_plan_.model.classes) if also else ()
        schema = model.schema_
        kept = there if keep is None else _names("keep", keep)
        if columns is not None:
            features = _names("columns", columns)
        elif documents:
            others = tuple(name for name in there if groups is None or name != groups)
            features = tuple(name for name in others if keep is None or len(others) == 1 or name not in kept)
            if len(features) != 1:
                raise ValueError(
                    f"The model reads one column of texts, and the data set has {_listed(there)}. Name it by "
                    'columns=["..."].'
                )
        else:
            aside = () if keep is None else [place for place, name in enumerate(there) if name in kept]
            drop = [] if groups is None or schema.reads(groups) else [there.index(groups)]
            try:
                features = tuple(there[c] for c in schema.columns(there, what="The data set", drop=drop, keep=aside))
            except ValueError as error:
                raise ValueError(f"{error} Or name the columns with its features by columns=[...].") from error
        for what, wanted in (("columns with features", features), ("columns to keep", kept)):
            require_columns(there, wanted, what)
        if len(features) != n_features:
            raise ValueError(f"The model has {n_features} features, and {len(features)} columns are given.")
        answered = (*own.names, *(("cost",) if return_cost else ()), *(("stage",) if return_stage else ()), *found)
        beside = with_kept({name: name for name in kept}, dict.fromkeys(answered))
        renamed = tuple((name, new) for new, name in beside.items() if new not in answered)
        return cls(features, schema.names, renamed, answered, budget, found, documents, groups)

    def answers(self, model: EarlyExit, rows: Any, n_rows: int, keys: Any = None) -> dict[str, NDArray[Any]]:
        """Wald's own columns for rows.

        Parameters
        ----------
        model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        rows : data frame or column of texts
            The features with the model's own names, if it has some.
        n_rows : int
        keys : array-like of shape (n_rows,), default=None
            The group of each row, of which the whole is here.

        Returns
        -------
        dict from name to ndarray
        """
        own = AnswerColumns.of(model.compiled_plan_)
        if n_rows == 0:
            found = own.of_answers(own.none) | {"cost": np.empty(0), "stage": np.empty(0, dtype=np.int32)}
            found |= dict.fromkeys(self.probabilities, np.empty(0))
        else:
            answers = answered(
                model,
                rows,
                keys,
                budget=self.budget,
                n_threads=effective_threads(model.n_jobs),
                check_input=self.names is not None or self.documents,
            )
            found = own.of_answers(answers.labels) | {"cost": answers.costs, "stage": answers.stages}
            if self.probabilities:
                if self.names is None and not self.documents:
                    # numbers as names are no names: the model does not know any
                    rows = rows.set_axis(range(rows.shape[1]), axis=1)
                table = np.asarray(model.predict_proba(rows), dtype=np.float64)
                found |= dict(zip(self.probabilities, table.T, strict=True))
        return {name: found[name] for name in self.answered}

    @property
    def _read(self) -> tuple[Any, ...]:
        """Names of the columns that are read."""
        return (*self.columns, *(name for name, _ in self.kept), *(() if self.groups is None else (self.groups,)))

    # ---- containers ------------------------------------------------------------------------------------------------

    def answer_frame(self, shipment: Shipment, part: pandas.DataFrame) -> pandas.DataFrame:
        """Answer a partition of pandas; its index is kept."""
        import pandas as pd

        require_columns(part.columns, self._read, "columns", "the partition")
        model, features = receive(shipment), part[list(self.columns)]
        if self.documents:
            features = features.iloc[:, 0].astype(object)
        elif self.names is not None:
            features = model.compiled_plan_.reader.of_pandas(features.set_axis(list(self.names), axis=1))
        answers = self.answers(model, features, len(part), None if self.groups is None else part[self.groups])
        rows = part[[name for name, _ in self.kept]].set_axis([name for _, name in self.kept], axis=1)
        for name, values in answers.items():
            given = pd.Series(["a"]).dtype if string_labels(values) else values.dtype
            rows[name] = pd.Series(values.tolist() if string_labels(values) else values, part.index, given)
        return rows

    def answer_arrow(
        self, shipment: Shipment, part: pyarrow.Table, types: Mapping[str, pyarrow.DataType] | None = None
    ) -> pyarrow.Table:
        """Answer a partition of Arrow; ``types`` are the types of wald's columns where they differ from NumPy's."""
        import pyarrow as pa

        require_columns(part.column_names, self._read, "columns", "the batch")
        model, features = receive(shipment), part.select(list(self.columns))
        if self.documents:
            features = features.column(0)
        elif self.names is not None:
            features = model.compiled_plan_.reader.of_arrow(features.rename_columns(list(self.names)))
        if isinstance(features, pa.Table):
            features = features.to_pandas(split_blocks=True)
        keys = None if self.groups is None else part.column(self.groups).to_pandas()
        answers = self.answers(model, features, part.num_rows, keys)
        columns = [part.column(name) for name, _ in self.kept]
        for name, values in answers.items():
            own = arrow_type(values) if types is None else types[name]
            columns.append(pa.array(values.tolist() if string_labels(values) else values, own))
        return pa.table(columns, names=[*(str(name) for _, name in self.kept), *answers])


def predictions(rows: Any, model: EarlyExit, job: Job) -> Predictions:
    """Answers to a request, with their promise.

    Returns
    -------
    certificate : Certificate, RankingCertificate or None
        The promise; None with a budget, which it does not cover.

    Raises
    ------
    ImportError
        If the engine's library is not installed.
    TypeError
        If the data set or the model is of another kind, or has no probabilities that are asked for.
    ValueError
        If columns are missing, or a file of the model alone does not give its answers.
    """
    if job.budget is not None:
        return Predictions(rows, None)
    certificate: Certificate = model.compiled_plan_.certificate
    return Predictions(rows, certificate if job.groups is None else promise_of(model))


def _reads_texts(model: EarlyExit) -> bool:
    """Whether rows are texts."""
    texts = model.compiled_plan_.model.texts
    return texts is not None and texts.vectorizer.row_kind == "texts"


def string_labels(values: NDArray[Any]) -> bool:
    """Whether labels are strings.

    Raises
    ------
    TypeError
        If they are neither strings nor numbers.
    """
    if values.dtype.kind in "biuf":
        return False
    if values.dtype.kind == "U" or (values.dtype.kind == "O" and all(isinstance(v, str) for v in values)):
        return True
    raise TypeError(f"Labels in a column must be strings, numbers or booleans. The model's are {values.dtype}.")


def arrow_type(values: NDArray[Any]) -> pyarrow.DataType:
    """The Arrow type of a column of answers."""
    import pyarrow as pa

    return pa.string() if string_labels(values) else pa.from_numpy_dtype(values.dtype)


def require_columns(
    there: Sequence[Any], wanted: Sequence[Any], what: str, where: str = "the data set", hint: str | None = None
) -> None:
    """Raise ValueError if columns are missing."""
    known = set(there)
    missing = [name for name in wanted if name not in known]
    if missing:
        other = " If they have other names there, give these by columns=[...], in the model's order."
        raise ValueError(
            f"{where.capitalize()} lacks {what}: {_listed(missing)}. It has {_listed(list(there))}."
            f"{other if hint is None else hint}"
        )


def _names(what: str, given: Sequence[Any]) -> tuple[Any, ...]:
    listed = not isinstance(given, str) and isinstance(given, Sequence | np.ndarray)
    if not listed or not all(isinstance(name, Hashable) for name in given):
        raise TypeError(f"{what} must be a list of names. Got {given!r}.")
    names = tuple(given)
    if len(set(names)) < len(names):
        raise ValueError(f"{what} names a column more than once: {_listed(names)}.")
    return names


def _listed(names: Sequence[Any]) -> str:
    return first_of([repr(name) for name in names], MOST_NAMED)
