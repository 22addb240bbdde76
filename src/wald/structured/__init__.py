"""Structured predictors whose features come in groups with costs."""

from .attachment import AttachmentScores, attachment_scores
from .budget import BudgetedPredictor
from .certificate import StructureCertificate, certify_structures
from .chain import ChainClassifier
from .conll import Sentence, Treebank, from_words, read_conll, write_conll
from .decoding import decode_tree
from .features import ExtractionError, LazyFeatures
from .gaps import example_gaps
from .groups import FeatureGroup
from .images import HOG
from .parser import DependencyParser
from .parser_session import ParserSession
from .per_part import examples_needed
from .protocol import Session, StructuredModel, check_model
from .sequences import Sequences
from .session import ChainSession

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
    "StructureCertificate",
    "StructuredModel",
    "Treebank",
    "attachment_scores",
    "certify_structures",
    "check_model",
    "decode_tree",
    "example_gaps",
    "examples_needed",
    "from_words",
    "read_conll",
    "write_conll",
]
