"""A table of the attributes from which scikit-learn's estimators are rebuilt; nothing in a file is executed.

A class that can be rebuilt is one row of `TABLE`: the parameters that its answers depend on, and its fitted arrays.
Support vector machines and wrappers of models are described by functions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import LabelBinarizer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from ...models.readers.linear import LINEAR_MODELS

NUMBERS = ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
MOST_STEPS = 64


class NotRebuildableError(Exception):
    """A file cannot describe an estimator; the message says which part of it, and why."""


@dataclass(frozen=True)
class Row:
    """The attributes that the predictions of one class depend on.

    Parameters
    ----------
    params : tuple of str
        Constructor parameters, which are plain values.
    state : mapping from str to str
        Fitted attributes and their shapes: ``"d"`` (n_features,), ``"k"`` (n_outputs,) or a scalar, ``"kd"``
        (n_outputs, n_features), ``"kd/d"`` the same or, for a single output, (n_features,), ``"dtype"`` a dtype. With
        a question mark, the attribute may be None or missing.
    classes : bool
        Whether its labels are those of the whole estimator.
    finish : callable or None
        Called with the rebuilt object as the last step.
    """

    params: tuple[str, ...] = ()
    state: Mapping[str, str] = field(default_factory=dict)
    classes: bool = True
    finish: Callable[[Any], None] | None = None


def _binarized(model: Any) -> None:
    """Ridge classifiers keep the labels in their label binarizer."""
    binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(model.__dict__["classes_"])
    binarizer.classes_ = model.__dict__["classes_"]
    model._label_binarizer = binarizer


def _without_indicator(imputer: Any) -> None:
    imputer.indicator_ = None


_LINEAR = {"coef_": "kd", "intercept_": "k"}
#: Ridge classifiers of two classes have a vector of coefficients.
_RIDGE = {"coef_": "kd/d", "intercept_": "k"}
_PARAMS = {
    "LogisticRegression": ("solver", "multi_class"),
    "LogisticRegressionCV": ("solver", "multi_class"),
    "SGDClassifier": ("loss",),
}
_COUNTS = {"feature_log_prob_": "kd", "class_log_prior_": "k"}
_SPREAD = {"class_prior_": "k?", "within_class_std_dev_": "d?"}

#: Every class that a file may name, but for support vector machines and what stands around a model.
TABLE: dict[type, Row] = {
    **{
        kind: Row((), _RIDGE, finish=_binarized)
        if kind.__name__.startswith("Ridge")
        else Row(_PARAMS.get(kind.__name__, ()), _LINEAR)
        for kind in (*LINEAR_MODELS, LinearSVC, LinearDiscriminantAnalysis)
    },
    MultinomialNB: Row((), _COUNTS),
    ComplementNB: Row((), _COUNTS),
    BernoulliNB: Row(("binarize",), _COUNTS),
    NearestCentroid: Row(("metric",), {"centroids_": "kd", **_SPREAD}),
    StandardScaler: Row(("with_mean", "with_std"), {"mean_": "d?", "scale_": "d?"}, classes=False),
    MinMaxScaler: Row(("clip",), {"min_": "d", "scale_": "d"}, classes=False),
    MaxAbsScaler: Row(("clip",), {"scale_": "d"}, classes=False),
    RobustScaler: Row(("with_centering", "with_scaling"), {"center_": "d?", "scale_": "d?"}, classes=False),
    SimpleImputer: Row(
        ("strategy", "keep_empty_features"),
        {"statistics_": "d", "_fit_dtype": "dtype", "_fill_dtype": "dtype?"},
        classes=False,
        finish=_without_indicator,
    ),
}
SIGMOID, ISOTONIC = ("a_", "b_"), ("X_thresholds_", "y_thresholds_")
NAMED = {kind.__name__: kind for kind in TABLE}
OUTER = ("FixedThresholdClassifier", "CalibratedClassifierCV")
MACHINES: dict[str, type] = {"SVC": SVC, "NuSVC": NuSVC}
SVC_PARAMS = ("kernel", "degree", "coef0", "break_ties", "decision_function_shape")
