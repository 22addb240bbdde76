"""Structured predictors whose features come in groups with costs."""

from wald.structured.attachment import AttachmentScores, attachment_scores
from wald.structured.budget import BudgetedPredictor
from wald.structured.chain import ChainClassifier
from wald.structured.conll import Sentence, Treebank, from_words, read_conll, write_conll
from wald.structured.decoding import decode_tree
from wald.structured.features import ExtractionError, LazyFeatures
from wald.structured.groups import FeatureGroup
from wald.structured.images import HOG
from wald.structured.parser import DependencyParser
from wald.structured.parser_session import ParserSession
from wald.structured.protocol import Session, StructuredModel, check_model
from wald.structured.sequences import Sequences
from wald.structured.session import ChainSession

__all__ = [
    "HOG",
    "AttachmentScores",
    "BudgetedPredictor",
    "ChainClassifier",
    "ChainSession",
    "DependencyParser",
    "ExtractionError",
    "FeatureGroup",
    "LazyFeatures",
    "ParserSession",
    "Sentence",
    "Sequences",
    "Session",
    "StructuredModel",
    "Treebank",
    "attachment_scores",
    "check_model",
    "decode_tree",
    "from_words",
    "read_conll",
    "write_conll",
]
