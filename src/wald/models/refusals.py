"""Error messages for unsupported models, with the reason and an alternative, from the first matching row of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, OutlierMixin, RegressorMixin, TransformerMixin

from .asked import AskedFunction

SUPPORTED = (
    "Supported are scikit-learn's linear models, kernel machines, naive Bayes, trees, forests, boosting and votes, "
    "the learners of wald.online, and LightGBM, XGBoost and CatBoost; docs/promises.md lists them"
)
INSTEAD = "Serve it as it is, or with a risk above 0, with which it is asked behind surrogates"


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
    """Names, without modules, of an object's class and of all that it inherits from."""
    return {each.__name__ for each in type(model).__mro__}


#: Which models are not supported, and what to say behind that.
REASONS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    # Objects that are not models.
    (_is(type(None)), ": there is no model. Pass a fitted model, or a Pipeline that ends in one"),
    (_is(str), ": pass the fitted classifier itself, and no name or path of one"),
    (_is(bytes, bytearray), ": unpickle or load the classifier first, and pass that"),
    (
        lambda model: isinstance(model, np.ndarray) or sparse.issparse(model),
        ": numbers have no decision rule. Pass the fitted classifier that holds them",
    ),
    (_is(list, tuple, dict, set), ": pass one fitted classifier; wrap several one by one"),
    # Other libraries.
    *(
        (_from(library), f": it has no classes. Wrap {wrapper}, which knows how scores become labels")
        for library, wrapper in (
            ("lightgbm", "an LGBMClassifier"),
            ("xgboost", "an XGBClassifier"),
            ("catboost", "a CatBoostClassifier"),
        )
    ),
    (
        _from("torch", "keras", "tensorflow", "tf_keras", "skorch", "jax", "flax", "transformers"),
        ": a neural net is no sum of terms that can be left out. Put all layers but the last into a Pipeline, as a "
        "transformer, and fit a LogisticRegression or an SVC on their output",
    ),
    # Classifiers of scikit-learn.
    (
        _named("StackingClassifier"),
        ": another model combines the answers of its estimators_. Use a VotingClassifier, or train a linear classifier "
        "or an SVC on its answers and wrap that",
    ),
    (
        _named("KNeighborsClassifier", "RadiusNeighborsClassifier"),
        ": its neighbours are known only after all distances. Use NearestCentroid, or an SVC with the RBF kernel, and "
        "wrap that",
    ),
    (_named("MLPClassifier"), ": a neural net is no sum of terms that can be left out. " + INSTEAD),
    (
        _named("GaussianNB", "QuadraticDiscriminantAnalysis"),
        ": its scores contain squares of the features. Use LinearDiscriminantAnalysis, or "
        "make_pipeline(PolynomialFeatures(2), LogisticRegression()), and wrap that",
    ),
    (
        _named("CategoricalNB"),
        ": its terms come from tables. Use make_pipeline(OneHotEncoder(), MultinomialNB()), which is linear",
    ),
    (
        _named("GaussianProcessClassifier"),
        ": its score is a probability by an integral. Use an SVC with the same kernel, and wrap that",
    ),
    (
        _named("LabelPropagation", "LabelSpreading"),
        ": it weighs all training rows. Train an SVC on its transduction_ and wrap that",
    ),
    (
        _named("SelfTrainingClassifier"),
        ": its predict is that of its estimator_. Wrap FrozenEstimator(model.estimator_)",
    ),
    (_named("DummyClassifier"), ": it does not read rows, so that there is nothing to leave out. Serve it as it is"),
    (
        _named("OneVsOneClassifier"),
        ": rescaled sums break the ties of its votes. Use SVC(kernel='linear'), which is one against one, or "
        "OneVsRestClassifier",
    ),
    (
        _named("OutputCodeClassifier"),
        ": it compares distances between codes. Use OneVsRestClassifier, or the linear classifier itself, which knows "
        "several classes",
    ),
    (
        _named("MultiOutputClassifier", "ClassifierChain"),
        ": it answers several labels per row, and wald stops at one. Wrap each of its estimators_ on its own",
    ),
    (
        lambda model: _named("BaseSearchCV")(model) and hasattr(model, "best_estimator_"),
        ": it has its own predict. Wrap FrozenEstimator(model.best_estimator_)",
    ),
    (
        _named("BaseSearchCV"),
        ": it was fitted with refit=False and has no model of its own. Fit it with refit=True, or fit the estimator "
        "with the parameters that you choose, and wrap that",
    ),
    # Other kinds of estimators.
    (_is(OutlierMixin), ". EarlyExitOutlierDetector takes IsolationForest, OneClassSVM and SGDOneClassSVM"),
    (
        _named("AdaBoostRegressor"),
        ": its value is a weighted median of its trees, and no sum. Use GradientBoostingRegressor, or serve it as it "
        "is",
    ),
    (
        _named("StackingRegressor"),
        ": another model combines the answers of its estimators_. Use a VotingRegressor, which EarlyExitRegressor "
        "takes, or wrap one of its estimators_ on its own",
    ),
    (_named("TransformedTargetRegressor"), " inside of a pipeline. Put it around the pipeline"),
    (
        _is(RegressorMixin),
        ". EarlyExitRegressor takes regressors of LightGBM, XGBoost and CatBoost, and scikit-learn's trees, forests, "
        "boosting, bagging, voting, linear models, SVR, NuSVR, KernelRidge and GaussianProcessRegressor. Serve it as "
        "it is",
    ),
    (
        _is(ClusterMixin),
        ": it finds clusters, and a classifier is needed. Fit one on its labels_, for example NearestCentroid",
    ),
    (_is(TransformerMixin), ": it transforms rows, and a classifier is needed. Put one behind it, in a Pipeline"),
    (
        lambda model: callable(model) and not isinstance(model, BaseEstimator),
        ": wald cannot read a function. Pass the fitted classifier inside",
    ),
    (
        lambda model: hasattr(model, "estimators_"),
        ": wald does not know how it combines its estimators_. Wrap one of them on its own",
    ),
)


def refusal(model: Any) -> Exception:
    """Say why an object is not supported, and what to do instead: an error, to be raised."""
    model = model.asked if isinstance(model, AskedFunction) else model
    if isinstance(model, type):
        why = f"decompose takes a fitted estimator, not the class {model.__name__}: make one, and fit it"
    else:
        reason = next((text for fits, text in REASONS if fits(model)), ". Pass a fitted model")
        why = f"{type(model).__name__} is not supported{reason}"
    return TypeError(f"{why}. {SUPPORTED}.")
