"""Structured predictors whose features come in groups with costs.

Ready-made extractors are in `wald.structured.extractors`. What only models and policies of one's own need is in
`wald.structured.protocol`, and in the files of its name.
Treebanks are read, written and made by methods; `read_conll`, `write_conll` and `from_words` are these as functions.
"""

from .budget import BudgetedPredictor
from .chain import ChainClassifier
from .conll import Treebank
from .features import ExtractionError
from .groups import FeatureGroup
from .images import HOG
from .keeping import keep_features
from .parser import DependencyParser
from .per_part import examples_needed
from .text_pipeline import TextPipeline
from .word_tagger import WordTagger

__all__ = [
    "HOG",
    "BudgetedPredictor",
    "ChainClassifier",
    "DependencyParser",
    "ExtractionError",
    "FeatureGroup",
    "TextPipeline",
    "Treebank",
    "WordTagger",
    "examples_needed",
    "keep_features",
]

read_conll, write_conll, from_words = Treebank.read, Treebank.write, Treebank.from_words
