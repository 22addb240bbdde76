"""The dependency parser as a component of spaCy: ``nlp.add_pipe("wald_parser")``."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.pipeline.dep_parser import parser_score
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.vocab import Vocab

from ..structured.conll import Treebank
from ..structured.parser import DependencyParser
from .component import Component, config_signature, fields_of, words_of

#: The parser's parameters except ``single_root``: in spaCy, every sentence has one root.
SETTINGS = {k: v for k, v in DependencyParser(random_state=0).get_params().items() if k != "single_root"}


class WaldParser(Component):
    """Set the heads and relations of tagged sentences with a `DependencyParser`.

    It reads ``token.tag_`` and ``token.pos_`` and keeps to the sentences of ``doc.sents``; components before it must
    set these. A root's relation is ``ROOT``. White space hangs on the word before it, by ``dep``, the relation of all
    words if the parser learned none.

    Parameters
    ----------
    vocab : spacy.vocab.Vocab
        Vocabulary of the pipeline.
    parser : DependencyParser
        Fitted, or fitted by `initialize`.
    name : str, default="wald_parser"
        Name of the component.

    Attributes
    ----------
    parser : DependencyParser
        Put another one here that was trained elsewhere.

    Notes
    -----
    The component is trained when the pipeline is initialized, in one go and on the tags of the examples' references;
    ``nlp.update`` passes it over. Its files are those of `wald.save`.

    Examples
    --------
    >>> import spacy
    >>> from spacy.tokens import Doc
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("wald_parser", config={"table_bits": 12, "max_iter": 2})
    >>> words, tags, heads, deps = ["Dogs", "bark"], ["NNS", "VBP"], [1, 1], ["nsubj", "ROOT"]
    >>> gold = Doc(nlp.vocab, words=words, tags=tags, heads=heads, deps=deps)
    >>> optimizer = nlp.initialize(lambda: [Example(nlp.make_doc(gold.text), gold)])
    >>> doc = component(Doc(nlp.vocab, words=words, tags=tags, sent_starts=[True, False]))
    >>> [(token.text, token.dep_, token.head.text) for token in doc]
    [('Dogs', 'nsubj', 'bark'), ('bark', 'ROOT', 'bark')]
    """

    model_type, attribute, file = DependencyParser, "parser", "parser.wald"
    learns_from = "tags, heads and relations"

    def __init__(self, vocab: Vocab, parser: DependencyParser, name: str = "wald_parser") -> None:
        self.vocab, self.parser, self.name = vocab, parser, name

    @property
    def labels(self) -> tuple[str, ...]:
        """Relations that the parser learned."""
        return tuple(getattr(self.parser, "labels_", ()))

    def _annotate(self, docs: list[Doc]) -> None:
        if not self.parser.single_root:
            raise ValueError(f"{self.name} needs a parser with single_root=True: a sentence of spaCy has one root.")
        sentences = [list(map(words_of, self._sentences(doc))) for doc in docs]
        read = [[fields_of(token) for token in words] for found in sentences for words in found if words]
        trees = iter(self.parser.predict(Treebank.from_words(read)))
        for doc, found in zip(docs, sentences, strict=True):
            heads, relations = _blank(doc)
            for words in filter(None, found):
                tree, at = next(trees), np.array([token.i for token in words])
                above = np.array(tree.heads)
                heads[at] = np.where(above == 0, at, at[above - 1])
                for i, head, relation in zip(at, tree.heads, tree.deprels, strict=True):
                    relations[i] = "ROOT" if head == 0 else relation if self.labels else "dep"
            _put(doc, heads, relations)

    def _sentences(self, doc: Doc) -> list[Span]:
        words = [token for token in doc if not token.is_space]
        if not doc.has_annotation("SENT_START"):
            raise ValueError(
                f"{self.name} parses sentences, and the document has no sentence boundaries. Put a component before it "
                f"that sets them, such as nlp.add_pipe('sentencizer', before={self.name!r})."
            )
        if words and not any(token.tag or token.pos for token in words):
            raise ValueError(
                f"{self.name} reads token.tag_ and token.pos_, and the document has neither. Put a tagger before it."
            )
        return list(doc.sents)

    @property
    def is_fitted(self) -> bool:
        """Whether the parser is fitted."""
        return hasattr(self.parser, "labels_")

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _lessons(self, doc: Doc) -> Iterator[list[tuple[Any, ...]]]:
        """Sentences whose tree is whole, without white space."""
        for sentence in doc.sents if doc.has_annotation("DEP") else ():
            words = words_of(sentence)
            numbers = {token.i: number for number, token in enumerate(words, 1)}
            heads = [_head(token, numbers) for token in words]
            if words and None not in heads and all(token.has_dep() for token in words):
                yield [(*fields_of(token), head or 0, token.dep_) for token, head in zip(words, heads, strict=True)]

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score parsed examples as spaCy's own parser does.

        Parameters
        ----------
        examples : iterable of spacy.training.Example
            With predicted documents.
        **kwargs
            For `spacy.scorer.Scorer.score_deps`.

        Returns
        -------
        dict
            ``dep_uas``, ``dep_las`` and others; punctuation does not count.
        """
        scores: dict[str, Any] = parser_score(list(examples), **kwargs)
        return scores


# ---- between spaCy's documents and plain lists -----------------------------------------------------------------------


def _blank(doc: Doc) -> tuple[NDArray[np.int64], list[str]]:
    """Heads and relations that attach white space to the word before it; the caller overwrites those of words."""
    heads, relations = np.arange(len(doc)), ["dep"] * len(doc)
    for sentence in doc.sents:
        first = next((token.i for token in sentence if not token.is_space), sentence.start)
        before, relations[first] = first, "ROOT"
        for token in sentence:
            before = before if token.is_space else token.i
            heads[token.i] = before
    return heads, relations


def _put(doc: Doc, heads: NDArray[np.int64], relations: list[str]) -> None:
    codes = [doc.vocab.strings.add(relation) for relation in relations]
    offsets = (heads - np.arange(len(doc))).astype(np.uint64)  # spaCy reads them as signed again
    doc.from_array([HEAD, DEP], np.stack([offsets, np.array(codes, dtype=np.uint64)], axis=1))


def _head(token: Token, numbers: dict[int, int]) -> int | None:
    """Number of a word's head, found past white space; 0 for a root, None if there is none."""
    if token.head == token:
        return 0
    head = token.head
    while head.is_space and head.head != head:
        head = head.head
    return numbers.get(head.i)


def make_parser(nlp: Language, name: str, **settings: Any) -> WaldParser:
    """Make the component from a config; the parameters are those of `wald.structured.DependencyParser`."""
    return WaldParser(nlp.vocab, DependencyParser(**settings), name)


make_parser.__signature__ = config_signature(make_parser, SETTINGS)  # type: ignore[attr-defined]  # functions may have one
Language.factory(
    "wald_parser",
    requires=["token.tag", "token.pos", "doc.sents"],
    assigns=["token.dep", "token.head"],
    default_config=SETTINGS,
    default_score_weights={"dep_uas": 0.5, "dep_las": 0.5, "dep_las_per_type": None},
    func=make_parser,
)
