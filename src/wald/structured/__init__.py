"""Structured predictors whose features come in groups with costs."""

from wald.structured.chain import ChainClassifier
from wald.structured.features import ExtractionError, LazyFeatures
from wald.structured.groups import FeatureGroup
from wald.structured.images import HOG
from wald.structured.protocol import Session, StructuredModel, check_model
from wald.structured.sequences import Sequences
from wald.structured.session import ChainSession

__all__ = [
    "HOG",
    "ChainClassifier",
    "ChainSession",
    "ExtractionError",
    "FeatureGroup",
    "LazyFeatures",
    "Sequences",
    "Session",
    "StructuredModel",
    "check_model",
]
