"""The classes of scikit-learn that a file may name, and the attributes of each on which its answers depend."""

from __future__ import annotations

import sklearn.calibration
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Product, Sum, WhiteKernel
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import SGDOneClassSVM, TweedieRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from ..models.readers.linear import LINEAR_MODELS
from ..models.readers.sum_values import GENERALIZED, LINEAR

#: Divides scores by a temperature; since scikit-learn 1.8.
TEMPERATURE = getattr(sklearn.calibration, "_TemperatureScaling", None)
#: Attributes that must be those of the whole model.
SCHEMA = ("n_features_in_", "feature_names_in_")
FITTED = ("classes_", *SCHEMA)
#: The models whose mean an estimator answers, each of which a file describes as a model of its own.
MEMBERS = "estimators_"
_LINEAR = ("coef_", "intercept_", *FITTED)
_VALUES = ("coef_", "intercept_", *SCHEMA)
_COUNTS = ("feature_log_prob_", "class_log_prior_", *FITTED)
#: Of machines of one score.
_SINGLE = (
    *("kernel", "degree", "coef0", "_effective_probability", "_sparse", "_gamma", "support_", "support_vectors_"),
    *("_n_support", "dual_coef_", "intercept_", "_probA", "_probB", *SCHEMA),
)
_MACHINE = (*_SINGLE, "break_ties", "decision_function_shape", "probability", "class_weight_", "classes_")
#: What encoders know of categories, and how they group rare ones.
_CATEGORIES = (
    *("categories_", "min_frequency", "max_categories", "_infrequent_enabled", "_infrequent_indices"),
    "_default_to_infrequent_mappings",
)
#: Parameters by which vectorizers read texts, and weigh words.
_READING = (
    *("input", "encoding", "decode_error", "strip_accents", "lowercase", "stop_words", "token_pattern"),
    *("ngram_range", "analyzer", "binary", "dtype"),
)
_WEIGHTS = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
#: Parameters on which the answers of linear models depend, and the labels of ridge classifiers.
_OWN = {
    "LogisticRegression": ("solver", "multi_class"),
    "LogisticRegressionCV": ("solver", "multi_class"),
    "SGDClassifier": ("loss",),
    "RidgeClassifier": ("_label_binarizer",),
    "RidgeClassifierCV": ("_label_binarizer",),
}
#: The classes that a file may name, with the parameters and fitted attributes that their answers depend on.
TABLE: dict[type, tuple[str, ...]] = {
    **{
        kind: (*_OWN.get(kind.__name__, ()), *_LINEAR)
        for kind in (*LINEAR_MODELS, LinearSVC, LinearDiscriminantAnalysis)
    },
    LabelBinarizer: ("neg_label", "pos_label", "y_type_", "sparse_input_", "classes_"),
    SVC: _MACHINE,
    NuSVC: _MACHINE,
    **dict.fromkeys((*LINEAR, *GENERALIZED), _VALUES),
    TweedieRegressor: ("power", "link", *_VALUES),
    SVR: _SINGLE,
    NuSVR: _SINGLE,
    OneClassSVM: ("offset_", *_SINGLE),
    SGDOneClassSVM: ("coef_", "offset_", *SCHEMA),
    KernelRidge: ("kernel", "gamma", "degree", "coef0", "dual_coef_", "X_fit_", *SCHEMA),
    GaussianProcessRegressor: ("X_train_", "alpha_", "kernel_", "_y_train_mean", "_y_train_std", *SCHEMA),
    **dict.fromkeys((Sum, Product), ("k1", "k2")),
    ConstantKernel: ("constant_value",),
    WhiteKernel: ("noise_level",),
    RBF: ("length_scale",),
    VotingRegressor: (MEMBERS, "weights", "feature_names_in_"),
    BaggingRegressor: (MEMBERS, "estimators_features_", "n_estimators", *SCHEMA),
    TransformedTargetRegressor: ("regressor_", "transformer_", "_training_dim"),
    MultinomialNB: _COUNTS,
    ComplementNB: _COUNTS,
    BernoulliNB: ("binarize", *_COUNTS),
    NearestCentroid: ("metric", "centroids_", "class_prior_", "within_class_std_dev_", *FITTED),
    StandardScaler: ("with_mean", "with_std", "mean_", "scale_", *SCHEMA),
    MinMaxScaler: ("feature_range", "clip", "min_", "scale_", *SCHEMA),
    MaxAbsScaler: ("clip", "scale_", *SCHEMA),
    RobustScaler: ("with_centering", "with_scaling", "center_", "scale_", *SCHEMA),
    SimpleImputer: (
        *("missing_values", "add_indicator", "strategy", "keep_empty_features", "statistics_", "_fit_dtype"),
        *("_fill_dtype", "indicator_", *SCHEMA),
    ),
    MissingIndicator: (
        *("missing_values", "features", "sparse", "error_on_new", "features_", "_n_features", "_precomputed", *SCHEMA),
    ),
    Binarizer: ("threshold", *SCHEMA),
    Normalizer: ("norm", *SCHEMA),
    KBinsDiscretizer: ("encode", "dtype", "bin_edges_", "n_bins_", "_encoder", *SCHEMA),
    PolynomialFeatures: ("degree", "interaction_only", "include_bias", "order", *SCHEMA),
    SplineTransformer: (
        *("degree", "extrapolation", "include_bias", "order", "sparse_output", "handle_missing", "bsplines_"),
        *("n_features_out_", *SCHEMA),
    ),
    QuantileTransformer: ("output_distribution", "ignore_implicit_zeros", "quantiles_", "references_", *SCHEMA),
    PowerTransformer: ("method", "standardize", "lambdas_", "_scaler", *SCHEMA),
    PCA: ("whiten", "components_", "mean_", "explained_variance_", *SCHEMA),
    FunctionTransformer: (*("func", "inverse_func", "validate", "accept_sparse", "kw_args", "inv_kw_args", *SCHEMA),),
    OneHotEncoder: (
        *("handle_unknown", "sparse_output", "dtype", *_CATEGORIES, "_drop_idx_after_grouping", "drop_idx_"),
        *("_n_features_outs", *SCHEMA),
    ),
    OrdinalEncoder: (
        *("handle_unknown", "unknown_value", "encoded_missing_value", "dtype", *_CATEGORIES, "_missing_indices"),
        *SCHEMA,
    ),
    TargetEncoder: ("categories_", "encodings_", "target_mean_", "target_type_", "_infrequent_enabled", *FITTED),
    ColumnTransformer: (
        *("transformers_", "transformer_weights", "sparse_output_", "output_indices_", "_transformer_to_input_indices"),
        *SCHEMA,
    ),
    FeatureUnion: ("transformer_list", "transformer_weights"),
    CountVectorizer: (*_READING, "vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: (*_READING, *_WEIGHTS, "vocabulary_", "fixed_vocabulary_", "_tfidf"),
    DictVectorizer: ("dtype", "separator", "sparse", "vocabulary_"),
    FeatureHasher: ("dtype", "n_features", "input_type", "alternate_sign"),
    HashingVectorizer: (*_READING, "norm", "n_features", "alternate_sign"),
    TfidfTransformer: (*_WEIGHTS, "idf_", *SCHEMA),
    SelectKBest: ("k", "scores_", *SCHEMA),
    VarianceThreshold: ("threshold", "variances_", *SCHEMA),
    TruncatedSVD: ("components_", *SCHEMA),
    FrozenEstimator: ("estimator",),
    Pipeline: ("steps",),
    FixedThresholdClassifier: ("estimator_", "threshold", "pos_label", "response_method", *SCHEMA),
    CalibratedClassifierCV: ("method", "ensemble", "calibrated_classifiers_", *FITTED),
    _CalibratedClassifier: ("estimator", "calibrators", "method", "classes"),
    _SigmoidCalibration: ("a_", "b_"),
    **({} if TEMPERATURE is None else {TEMPERATURE: ("beta_",)}),
    IsotonicRegression: (*("out_of_bounds", "increasing_", "X_min_", "X_max_", "X_thresholds_", "y_thresholds_"),),
}
CLASSES = {kind.__name__: kind for kind in TABLE}
