"""The tagger as a component of spaCy: ``nlp.add_pipe("wald_tagger")``."""

from collections.abc import Iterable, Iterator
from typing import Any

from spacy.language import Language
from spacy.pipeline.tagger import tagger_score
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from ..structured.conll import Treebank
from ..structured.word_tagger import WordTagger
from .component import Component, config_signature, fields_of, plain_form, words_of

#: The tagger's parameters except for groups of features, which are functions.
SETTINGS = {k: v for k, v in WordTagger(random_state=0).get_params(deep=False).items() if k != "feature_groups"}


class WaldTagger(Component):
    """Set ``token.tag_`` and ``token.pos_`` with a `WordTagger`.

    It keeps to the sentences of ``doc.sents`` where the document has some, and takes the document as one sentence where
    it has none. White space gets the tags of spaCy's own taggers, ``_SP`` and ``SPACE``.

    Parameters
    ----------
    vocab : spacy.vocab.Vocab
        Vocabulary of the pipeline.
    tagger : WordTagger
        Fitted, or fitted by `initialize`.
    name : str, default="wald_tagger"
        Name of the component.

    Attributes
    ----------
    tagger : WordTagger
        Put another one here that was trained elsewhere.

    Notes
    -----
    The component is trained when the pipeline is initialized, in one go; ``nlp.update`` passes it over. Its files are
    those of `wald.save`.

    Examples
    --------
    >>> import spacy
    >>> from spacy.tokens import Doc
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("wald_tagger", config={"min_count": 1})
    >>> gold = Doc(nlp.vocab, words=["Dogs", "bark"], tags=["NNS", "VBP"], pos=["NOUN", "VERB"])
    >>> optimizer = nlp.initialize(lambda: [Example(nlp.make_doc(gold.text), gold)])
    >>> [(token.tag_, token.pos_) for token in nlp("Dogs bark")]
    [('NNS', 'NOUN'), ('VBP', 'VERB')]
    """

    model_type, attribute, file = WordTagger, "tagger", "tagger.wald"
    learns_from = "tags"

    def __init__(self, vocab: Vocab, tagger: WordTagger, name: str = "wald_tagger") -> None:
        self.vocab, self.tagger, self.name = vocab, tagger, name

    @property
    def labels(self) -> tuple[str, ...]:
        """Fine tags that the tagger learned."""
        return tuple(sorted({str(label).split("\t")[1] for label in self.tagger.classes_})) if self.is_fitted else ()

    @property
    def is_fitted(self) -> bool:
        """Whether the tagger is fitted."""
        return hasattr(self.tagger, "chain_")

    def _annotate(self, docs: list[Doc]) -> None:
        sentences = [words for doc in docs for sentence in _sentences(doc) if (words := words_of(sentence))]
        read = [[(plain_form(token), None, None) for token in words] for words in sentences]
        bank = self.tagger.predict(Treebank.from_words(read))
        upos, xpos = bank.column("upos"), bank.column("xpos")
        at = 0
        for words in sentences:
            for token in words:
                if upos[at] != "_":
                    token.pos_ = upos[at]
                if xpos[at] != "_":
                    token.tag_ = xpos[at]
                at += 1
        for doc in docs:
            for token in doc:
                if token.is_space:
                    token.tag_, token.pos_ = "_SP", "SPACE"

    def _lessons(self, doc: Doc) -> Iterator[list[tuple[Any, ...]]]:
        """Sentences whose words all have a tag."""
        for sentence in _sentences(doc):
            words = words_of(sentence)
            if words and all(token.tag or token.pos for token in words):
                yield [fields_of(token) for token in words]

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score tagged examples as spaCy's own components do.

        Parameters
        ----------
        examples : iterable of spacy.training.Example
            With predicted documents.
        **kwargs
            For `spacy.scorer.Scorer.score_token_attr`.

        Returns
        -------
        dict
            ``tag_acc`` and ``pos_acc``.
        """
        found = list(examples)
        scores: dict[str, Any] = {**tagger_score(found, **kwargs), **Scorer.score_token_attr(found, "pos", **kwargs)}
        return scores


def _sentences(doc: Doc) -> Iterator[Span | Doc]:
    yield from doc.sents if doc.has_annotation("SENT_START") else [doc]


def make_tagger(nlp: Language, name: str, **settings: Any) -> WaldTagger:
    """Make the component from a config; the parameters are those of `wald.structured.WordTagger`."""
    return WaldTagger(nlp.vocab, WordTagger(**settings), name)


make_tagger.__signature__ = config_signature(make_tagger, SETTINGS)  # type: ignore[attr-defined]  # functions may have one
Language.factory(
    "wald_tagger",
    assigns=["token.tag", "token.pos"],
    default_config=SETTINGS,
    default_score_weights={"tag_acc": 0.5, "pos_acc": 0.5},
    func=make_tagger,
)
