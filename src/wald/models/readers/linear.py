"""Linear classifiers of scikit-learn, and those that are trained with attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from ..linear import LinearTerms
from ..reading import Decompose, Family, Reading, of_classes

# By name, because scikit-learn has deprecated PassiveAggressiveClassifier.
LINEAR_MODELS: tuple[type, ...] = (
    LinearSVC,
    LinearDiscriminantAnalysis,
    *(
        getattr(sklearn.linear_model, name)
        for name in (
            "LogisticRegression",
            "LogisticRegressionCV",
            "Perceptron",
            "PassiveAggressiveClassifier",
            "RidgeClassifier",
            "RidgeClassifierCV",
            "SGDClassifier",
        )
        if hasattr(sklearn.linear_model, name)
    ),
)


ATTENTIVE_LINEAR = (
    "wald.online.perceptron.AttentivePerceptron",
    "wald.online.pegasos.AttentivePegasos",
    "wald.online.passive_aggressive.AttentivePassiveAggressive",
)


def read_linear(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted linear classifier.

    Two classes: the sign, where a score of exactly 0 is the negative class. More: argmax.

    Parameters
    ----------
    model : estimator
        An instance of one of `LINEAR_MODELS` or `ATTENTIVE_LINEAR`.

    Raises
    ------
    TypeError
        If the model answers several labels per row.
    ValueError
        If the model knows one class only, or its weights and classes do not fit together.
    """
    check_is_fitted(model)
    name = type(model).__name__
    # RidgeClassifier has no public attribute for the type of its targets; three labels look like three classes.
    binarizer = getattr(model, "_label_binarizer", None)
    if str(getattr(binarizer, "y_type_", "")).startswith("multilabel"):
        raise TypeError(
            f"This {name} is multilabel: it answers several labels per row, and wald stops at one. "
            "Fit one classifier per label and wrap each."
        )
    n_classes = len(model.classes_)
    if n_classes < 2:
        raise ValueError(f"This {name} was trained on one class only: there is nothing to decide.")
    weights = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.array(np.atleast_2d(weights), dtype=np.float64)
    n_outputs = 1 if n_classes == 2 else n_classes
    if coef.shape[0] != n_outputs:
        raise ValueError(f"This {name} has {n_classes} classes and coef_ of shape {coef.shape}, which do not fit.")
    # Models without an intercept have the scalar 0.0.
    intercept = np.array(np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (n_outputs,)))
    inherited = getattr(type(model), "decision_function", None) is LinearClassifierMixin.decision_function
    return Reading(
        LinearTerms(coef, intercept),
        of_classes(n_classes),
        np.dtype(model.coef_.dtype),
        row_by_row="sparse",
        by_product=inherited and isinstance(model.coef_, np.ndarray),
    )


FAMILY = Family(
    LINEAR_MODELS,
    ("predict", "decision_function"),
    ("coef_", "intercept_", "classes_"),
    read_linear,
    named=ATTENTIVE_LINEAR,
)
