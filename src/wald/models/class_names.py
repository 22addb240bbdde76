"""Full names of classes of libraries that need not be installed."""

from __future__ import annotations

LIGHTGBM_MODELS = ("lightgbm.sklearn.LGBMClassifier",)
XGBOOST_MODELS = ("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRFClassifier")
CATBOOST_MODELS = ("catboost.core.CatBoostClassifier",)
