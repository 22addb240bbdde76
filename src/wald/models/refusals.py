"""Error messages for unsupported models, with the reason and an alternative, from the first matching row of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, OutlierMixin, RegressorMixin, TransformerMixin

from .asked import AskedFunction

SUPPORTED = (
    "Supported are scikit-learn's linear models, kernel machines, naive Bayes, trees, forests, boosting and votes, "
    "the learners of wald.online, and LightGBM, XGBoost and CatBoost; docs/promises.md lists them"
)
INSTEAD = "Serve it as it is, or with a risk above 0, with which it is asked behind surrogates"


class Reason(NamedTuple):
    """A row of the table."""

    fits: Callable[[Any], bool]
    text: str  # with {name}, the class of the model
    error: type[Exception] = TypeError


def _named(*names: str) -> Callable[[Any], bool]:
    """Match models with a class of one of these names in their MRO; no library is imported."""
    return lambda model: not names_of(model).isdisjoint(names)


def _from(*packages: str) -> Callable[[Any], bool]:
    """Match models with a class from one of these packages or their subpackages in their MRO."""
    return lambda model: any(
        each.__module__ == package or each.__module__.startswith(package + ".")
        for each in type(model).__mro__
        for package in packages
    )


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda model: isinstance(model, kinds)


def names_of(model: Any) -> set[str]:
    """List the names of a model's class and of all that it inherits from.

    Parameters
    ----------
    model : object
        Anything.

    Returns
    -------
    set of str
        Names without modules.
    """
    return {each.__name__ for each in type(model).__mro__}


REASONS = (
    # Objects that are not models.
    Reason(_is(type), "decompose takes a fitted estimator, not the class {model.__name__}: make one, and fit it"),
    Reason(
        _is(type(None)),
        "{name} is not supported: there is no model. Pass a fitted model, or a Pipeline that ends in one",
    ),
    Reason(_is(str), "{name} is not supported: pass the fitted classifier itself, and no name or path of one"),
    Reason(_is(bytes, bytearray), "{name} is not supported: unpickle or load the classifier first, and pass that"),
    Reason(
        lambda model: isinstance(model, np.ndarray) or sparse.issparse(model),
        "{name} is not supported: numbers have no decision rule. Pass the fitted classifier that holds them",
    ),
    Reason(
        _is(list, tuple, dict, set),
        "{name} is not supported: pass one fitted classifier; wrap several one by one",
    ),
    # Other libraries.
    Reason(
        _from("lightgbm"),
        "{name} is not supported: it has no classes. Wrap an LGBMClassifier, which knows how scores become labels",
    ),
    Reason(
        _from("xgboost"),
        "{name} is not supported: it has no classes. Wrap an XGBClassifier, which knows how scores become labels",
    ),
    Reason(
        _from("catboost"),
        "{name} is not supported: it has no classes. Wrap a CatBoostClassifier, which knows how scores become labels",
    ),
    Reason(
        _from("torch", "keras", "tensorflow", "tf_keras", "skorch", "jax", "flax", "transformers"),
        "{name} is not supported: a neural net is no sum of terms that can be left out. Put all layers but the last "
        "into a Pipeline, as a transformer, and fit a LogisticRegression or an SVC on their output",
    ),
    # Classifiers of scikit-learn.
    Reason(
        _named("StackingClassifier"),
        "{name} is not supported: another model combines the answers of its estimators_. Use a VotingClassifier, or "
        "train a linear classifier or an SVC on its answers and wrap that",
    ),
    Reason(
        _named("KNeighborsClassifier", "RadiusNeighborsClassifier"),
        "{name} is not supported: its neighbours are known only after all distances. Use NearestCentroid, or an "
        "SVC with the RBF kernel, and wrap that",
    ),
    Reason(
        _named("MLPClassifier"),
        "{name} is not supported: a neural net is no sum of terms that can be left out. " + INSTEAD,
    ),
    Reason(
        _named("GaussianNB", "QuadraticDiscriminantAnalysis"),
        "{name} is not supported: its scores contain squares of the features. Use LinearDiscriminantAnalysis, or "
        "make_pipeline(PolynomialFeatures(2), LogisticRegression()), and wrap that",
    ),
    Reason(
        _named("CategoricalNB"),
        "{name} is not supported: its terms come from tables. Use "
        "make_pipeline(OneHotEncoder(), MultinomialNB()), which is linear",
    ),
    Reason(
        _named("GaussianProcessClassifier"),
        "{name} is not supported: its score is a probability by an integral. Use an SVC with the same kernel, and wrap "
        "that",
    ),
    Reason(
        _named("LabelPropagation", "LabelSpreading"),
        "{name} is not supported: it weighs all training rows. Train an SVC on its transduction_ and wrap that",
    ),
    Reason(
        _named("SelfTrainingClassifier"),
        "{name} is not supported: its predict is that of its estimator_. Wrap FrozenEstimator(model.estimator_)",
    ),
    Reason(
        _named("DummyClassifier"),
        "{name} is not supported: it does not read rows, so that there is nothing to leave out. Serve it as it is",
    ),
    Reason(
        _named("OneVsOneClassifier"),
        "{name} is not supported: rescaled sums break the ties of its votes. Use SVC(kernel='linear'), which is one "
        "against one, or OneVsRestClassifier",
    ),
    Reason(
        _named("OutputCodeClassifier"),
        "{name} is not supported: it compares distances between codes. Use OneVsRestClassifier, or the linear "
        "classifier itself, which knows several classes",
    ),
    Reason(
        _named("MultiOutputClassifier", "ClassifierChain"),
        "{name} is not supported: it answers several labels per row, and wald stops at one. Wrap each of its "
        "estimators_ on its own",
    ),
    Reason(
        lambda model: _named("BaseSearchCV")(model) and hasattr(model, "best_estimator_"),
        "{name} is not supported: it has its own predict. Wrap FrozenEstimator(model.best_estimator_)",
    ),
    Reason(
        _named("BaseSearchCV"),
        "{name} is not supported: it was fitted with refit=False and has no model of its own. Fit it with refit=True, "
        "or fit the estimator with the parameters that you choose, and wrap that",
    ),
    # Other kinds of estimators.
    Reason(
        _is(OutlierMixin),
        "{name} is not supported. EarlyExitOutlierDetector takes IsolationForest, OneClassSVM and SGDOneClassSVM",
    ),
    Reason(
        _named("AdaBoostRegressor"),
        "{name} is not supported: its value is a weighted median of its trees, and no sum. Use "
        "GradientBoostingRegressor, or serve it as it is",
    ),
    Reason(
        _named("StackingRegressor"),
        "{name} is not supported: another model combines the answers of its estimators_. Use a VotingRegressor, which "
        "EarlyExitRegressor takes, or wrap one of its estimators_ on its own",
    ),
    Reason(
        _named("TransformedTargetRegressor"),
        "{name} is not supported inside of a pipeline. Put it around the pipeline",
    ),
    Reason(
        _is(RegressorMixin),
        "{name} is not supported. EarlyExitRegressor takes regressors of LightGBM, XGBoost and CatBoost, and "
        "scikit-learn's trees, forests, boosting, bagging, voting, linear models, SVR, NuSVR, KernelRidge and "
        "GaussianProcessRegressor. Serve it as it is",
    ),
    Reason(
        _is(ClusterMixin),
        "{name} is not supported: it finds clusters, and a classifier is needed. Fit one on its labels_, for example "
        "NearestCentroid",
    ),
    Reason(
        _is(TransformerMixin),
        "{name} is not supported: it transforms rows, and a classifier is needed. Put one behind it, in a Pipeline",
    ),
    Reason(
        lambda model: callable(model) and not isinstance(model, BaseEstimator),
        "{name} is not supported: wald cannot read a function. Pass the fitted classifier inside",
    ),
    Reason(
        lambda model: hasattr(model, "estimators_"),
        "{name} is not supported: wald does not know how it combines its estimators_. Wrap one of them on its own",
    ),
)


def refusal(model: Any) -> Exception:
    """Say why a model is not supported, and what to do instead.

    Parameters
    ----------
    model : object
        Any object that is not supported.

    Returns
    -------
    Exception
        To be raised.
    """
    model = model.asked if isinstance(model, AskedFunction) else model
    name = type(model).__name__
    for reason in REASONS:
        if reason.fits(model):
            return reason.error(f"{reason.text.format(name=name, model=model)}. {SUPPORTED}.")
    return TypeError(f"{name} is not supported. Pass a fitted model. {SUPPORTED}.")
