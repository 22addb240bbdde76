"""The tagger and the parser as components of spaCy: ``nlp.add_pipe("wald_tagger")``, ``nlp.add_pipe("wald_parser")``.

They turn documents into treebanks, and annotate the documents with what `wald.structured` predicts.
"""

from .parser import SETTINGS, WaldParser, make_parser
from .tagger import WaldTagger, make_tagger

__all__ = ["SETTINGS", "WaldParser", "WaldTagger", "make_parser", "make_tagger"]
