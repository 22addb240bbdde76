"""Structured predictors whose features come in groups with costs."""

from wald.structured.attachment import AttachmentScores, attachment_scores
from wald.structured.conll import Sentence, Treebank, from_words, read_conll, write_conll
from wald.structured.parser import DependencyParser, decode_tree

__all__ = [
    "AttachmentScores",
    "DependencyParser",
    "Sentence",
    "Treebank",
    "attachment_scores",
    "decode_tree",
    "from_words",
    "read_conll",
    "write_conll",
]
