"""Structured predictors whose features come in groups with costs."""

from wald.structured.attachment import AttachmentScores, attachment_scores
from wald.structured.budget import BudgetedPredictor
from wald.structured.certificate import StructureCertificate, certify_structures
from wald.structured.chain import ChainClassifier
from wald.structured.conll import Sentence, Treebank, from_words, read_conll, write_conll
from wald.structured.decoding import decode_tree
from wald.structured.features import ExtractionError, LazyFeatures
from wald.structured.gaps import example_gaps
from wald.structured.groups import FeatureGroup
from wald.structured.images import HOG
from wald.structured.parser import DependencyParser
from wald.structured.parser_session import ParserSession
from wald.structured.per_part import examples_needed
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
