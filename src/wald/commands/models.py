"""Reads model files: tree libraries' own; skops, whose types are checked; pickle and joblib only if trusted."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wald

from ..utils.install import install
from .answers import as_user_error, note, reason
from .errors import UserError
from .rows import RowSchema

if TYPE_CHECKING:
    from ..early_exit.estimators import EarlyExit
    from ..models import AdditiveModel

#: Types that skops names and that are harmless: it makes a dtype from that of an empty array, which it checks before.
HARMLESS = ("numpy.dtype",)


class NotTrustedError(UserError):
    """A model file is not read, because the code or the types in it are not trusted."""


class NeedsNoModelError(UserError):
    """A file holds the whole model, and takes no other one."""


class HoldsPipelineError(NeedsNoModelError):
    """A file holds its whole pipeline."""


def load_model(path: Path, trust_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Load a model of scikit-learn or of a tree library.

    Parameters
    ----------
    path : Path
        Written by ``skops.io.dump``, ``joblib.dump`` or ``pickle.dump``, or by LightGBM, XGBoost or CatBoost;
        recognized by its contents.
    trust_pickle : bool, default=False
        Whether to load pickle and joblib files, which run the code in them.
    trusted : sequence of str, default=()
        Full names of types to trust, in addition to those that skops knows to be harmless.

    Returns
    -------
    estimator

    Raises
    ------
    UserError
        If the file cannot be read, or is not trusted.
    """
    from ..persistence.container import MAGIC

    with as_user_error(str(path), OSError), path.open("rb") as file:
        start = file.read(512)
    if start.startswith(MAGIC):
        raise UserError(
            f"{path} is a file of wald fit or wald.save, and holds no model of another library. Name the file of the "
            "model itself."
        )
    if wald.models.is_library_file(start):
        with as_user_error(str(path), ValueError, ImportError):
            return wald.read_model(path)
    model = _skops(path, trusted) if zipfile.is_zipfile(path) else _pickle(path, trust_pickle)
    from ..early_exit.estimators import EarlyExit

    if isinstance(model, EarlyExit):
        raise UserError(f"{path} holds an {type(model).__name__}; give the model that it wraps.")
    if not hasattr(model, "predict"):
        raise UserError(f"{path} holds an object of type {type(model).__name__}, which is no model that predicts.")
    return model


def decomposed(path: Path, model: Any, behind: bool = False) -> AdditiveModel:
    """Read a fitted model. Raises UserError if wald does not read it, or a file cannot hold it.

    `behind`: a classifier that wald does not read is asked as it is, behind surrogates that `fit` learns.
    """
    from sklearn.exceptions import NotFittedError

    from ..models import decompose
    from ..models.asking import answers_labels
    from ..models.opaque import opaque_model
    from ..persistence import require_no_estimators

    with as_user_error(str(path), ValueError, TypeError, NotFittedError):
        try:
            additive = decompose(model)
        except TypeError:
            if not (behind and answers_labels(model)):
                raise
            return opaque_model(model, (), (), getattr(model, "n_features_in_", None))
        if additive.preprocessing is None:
            require_no_estimators(additive)  # terms that are no numbers
    return additive


def is_behind(model: AdditiveModel) -> bool:
    """Whether a model is asked as it is, behind surrogates."""
    from ..models.opaque import OpaqueTerms

    return OpaqueTerms.of(model.terms) is not None


def form_of(path: Path, additive: AdditiveModel, model: Any) -> RowSchema:
    """Form of the rows of a model that was read."""
    return _form(path, additive, additive.schema.n_columns, additive.schema.names, model, model)


def _form(
    path: Path,
    model: AdditiveModel,
    n_features: int | None,
    names: tuple[str, ...] | None,
    estimator: Any,
    *predictors: Any,
) -> RowSchema:
    """Form of the rows of a model: of a pipeline's, of categories, or of numbers."""
    from ..models.file_categories import FileCategories
    from ..models.file_columns import FileColumns

    with as_user_error(str(path), ValueError):
        typed = FileColumns.of(model)
        categories = FileCategories.of(model)
    if typed is not None:
        return RowSchema(len(typed.kinds), typed.names, True, False, True, True, "pipeline", typed=typed)
    if n_features is None:
        raise UserError(f"{path}: its {type(estimator).__name__} does not read tables; use wald.load from Python.")
    if categories is None or names is None:
        return _schema(model, n_features, names, *predictors)
    # the rows are data frames, which have names and take all numbers
    return replace(_schema(model, n_features, names), sparse=False, transforms=False, categories=categories)


def load_fast(path: Path, n_jobs: int, estimator: Any = None, trusted: Sequence[str] = ()) -> EarlyExit:
    """Load a file of ``wald fit``, of ``wald.save`` or of a tree library.

    Parameters
    ----------
    path : Path
        Or a model file of LightGBM, XGBoost or CatBoost, which is evaluated in full.
    n_jobs : int
        Threads.
    estimator : estimator, default=None
        The wrapped model itself, if given.
    trusted : sequence of str, default=()
        Types to trust in a pipeline inside the file.
    """
    from ..early_exit.estimators import EarlyExit
    from ..persistence import FileFormatError, SavedModel, UntrustedTypesError
    from ..persistence.library import in_full

    with as_user_error(str(path), OSError, ValueError, ImportError):
        whole = in_full(path, n_jobs)
    if whole is not None:
        if estimator is not None:
            raise NeedsNoModelError(f"{path} is a model of its own, and needs no --model.")
        return whole
    try:
        fast = wald.load(path, estimator=estimator, trusted=[*trusted, *HARMLESS])
    except (FileFormatError, ImportError) as error:
        raise UserError(reason(error)) from error
    except UntrustedTypesError as error:
        raise _untrusted(path, error.names) from error
    except (ValueError, TypeError) as error:
        if estimator is not None and "holds its whole pipeline" in str(error):
            raise HoldsPipelineError(f"{path} holds its whole pipeline: leave --model out.") from error
        hint = " On the command line: --model MODEL." if estimator is None else ""
        raise UserError(reason(error) + hint) from error
    if not isinstance(fast, EarlyExit):
        raise UserError(f"{path} holds another model, {type(fast).__name__}; wald.load reads it from Python.")
    fast.set_params(n_jobs=n_jobs)
    if isinstance(fast.estimator_, SavedModel):
        fast.estimator_.set_params(n_jobs=n_jobs)
    return fast


def load_served(
    path: Path,
    n_jobs: int,
    model: Path | None,
    trust_pickle: bool = False,
    trusted: Sequence[str] = (),
    proba: bool = False,
) -> EarlyExit:
    """Load FILE with its --model; where FILE answers without, a model that is not trusted is not read, which is said.

    Parameters
    ----------
    path : Path
    n_jobs : int
        Threads.
    model : Path or None
        The wrapped model's own file.
    trust_pickle : bool, default=False
    trusted : sequence of str, default=()
        As for `load_model`.
    proba : bool, default=False
        Whether probabilities are wanted, too.

    Raises
    ------
    UserError
        If a file cannot be read, or the model is needed and not trusted.
    """
    if model is None:
        return load_fast(path, n_jobs, None, trusted)
    try:
        return load_fast(path, n_jobs, load_model(model, trust_pickle, trusted), trusted)
    except (NotTrustedError, NeedsNoModelError) as error:
        try:
            fast = load_fast(path, n_jobs, None, trusted)
        except UserError:
            raise error from None
        if isinstance(fast.estimator_, wald.persistence.SavedModel):  # the named model decides ties
            raise
        if proba and not hasattr(fast, "predict_proba"):
            raise
        why = " (it is not trusted)" if isinstance(error, NotTrustedError) else ""
        note(f"{path} needs no --model: {model} is not used{why}.")
        return fast


def schema_of_saved(fast: EarlyExit, path: Path) -> RowSchema:
    """Form of the rows of a loaded model. Raises UserError if they are no rows of a table."""
    from ..early_exit.estimators import unwatched

    n_features = getattr(fast, "n_features_in_", None)
    names, model = fast.schema_.names, fast.compiled_plan_.model
    # a monitor would count the row that is tried
    return _form(path, model, n_features, names, fast.estimator_, unwatched(fast), fast.estimator_)


def _schema(model: AdditiveModel, n_features: int, names: tuple[str, ...] | None, *predictors: Any) -> RowSchema:
    import numpy as np
    from scipy import sparse

    return RowSchema(
        n_features,
        names,
        model.allow_nan,
        sparse=_answer(sparse.csr_array((1, n_features)), predictors),
        transforms=model.preprocessing is not None,
        allow_inf=_answer(np.array([[np.inf] * n_features, [-np.inf] * n_features]), predictors),
        library=model.schema.library,
    )


def _answer(rows: Any, predictors: Sequence[Any]) -> bool:
    """Whether all predictors take such rows: an SVC trained on dense rows takes no sparse ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names, which these rows do not have
        try:
            for predictor in predictors:
                predictor.predict(rows)
        except (ValueError, TypeError):
            return False
    return True


def _skops(path: Path, trusted: Sequence[str]) -> Any:
    if find_spec("skops") is None:
        raise UserError(f"{path} needs skops, which is not installed: {install('cli')}")
    from skops import io

    try:
        unknown = [name for name in io.get_untrusted_types(file=path) if name not in (*trusted, *HARMLESS)]
        if not unknown:
            return io.load(path, trusted=[*trusted, *HARMLESS])
    except Exception as error:  # a damaged file may make skops raise anything
        raise UserError(f"{path} cannot be read as a skops file: {reason(error)}") from error
    raise _untrusted(path, unknown)


def _untrusted(path: Path, names: Sequence[str]) -> NotTrustedError:
    options = " ".join(f"--trust-type {name}" for name in names)
    return NotTrustedError(
        f"{path} holds types that are not known to be harmless: {', '.join(names)}. If you trust them, say so: "
        f"{options}"
    )


def _pickle(path: Path, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise NotTrustedError(
            f"{path} is no skops file and no model of LightGBM, XGBoost or CatBoost, and loading pickle or joblib runs "
            "whatever code is in it. If it is one, and you trust where it comes from, say --trust-pickle; better, "
            "save the model with skops.io.dump."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # unpickling runs code that may raise anything
        raise UserError(f"{path} cannot be unpickled: {type(error).__name__}: {reason(error)}") from error
