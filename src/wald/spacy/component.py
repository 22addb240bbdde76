"""What components of spaCy around a model share: batches of documents, training, files, and their configs."""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span, Token
from spacy.training import Example, validate_get_examples
from spacy.util import minibatch

from ..persistence import from_bytes, load, save, to_bytes
from ..structured.conll import Treebank

#: Characters that a treebank refuses within a form, but spaCy does not.
_MARKS = {ord(mark): "\ufffd" for mark in "\0\t\n\r"}


class Component(Pipe):
    """A component that annotates documents with a model, which is one of its attributes.

    Attributes
    ----------
    model_type : type
        Class of the model.
    attribute, file : str
        Names of the attribute, and of the file in the component's folder.
    learns_from : str
        The annotation that it learns from, in messages.
    """

    model_type: ClassVar[type]
    attribute: ClassVar[str]
    file: ClassVar[str]
    learns_from: ClassVar[str]
    name: str

    # Components have their own; spaCy's class of them cannot have abstract methods.
    def _annotate(self, docs: list[Doc]) -> None:
        """Annotate documents."""
        raise NotImplementedError

    def _lessons(self, doc: Doc) -> Iterable[list[tuple[Any, ...]]]:
        """Sentences to learn from, as `wald.structured.Treebank.from_words` takes them."""
        raise NotImplementedError

    @property
    def is_fitted(self) -> bool:
        """Whether the model is fitted."""
        raise NotImplementedError

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None) -> None:
        """Train the model on the examples' references; sentences whose annotation is not whole are left out.

        Parameters
        ----------
        get_examples : callable
            Gives the examples. If there is nothing to learn from, a model that is fitted stays as it is.
        nlp : spacy.language.Language, default=None
            Not needed.

        Raises
        ------
        ValueError
            If there is nothing to learn from, and the model is not fitted.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        lessons = [words for example in get_examples() for words in self._lessons(example.reference)]
        if lessons:
            getattr(self, self.attribute).fit(Treebank.from_words(lessons))
        elif not self.is_fitted:
            raise ValueError(
                f"{self.name} learns from examples whose references have {self.learns_from}. Got none. A "
                f"{self.attribute} that was trained elsewhere goes into nlp.get_pipe({self.name!r}).{self.attribute}."
            )

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document.

        Parameters
        ----------
        doc : spacy.tokens.Doc
            With the annotation that the component needs.

        Returns
        -------
        spacy.tokens.Doc
            The same.

        Raises
        ------
        ValueError
            If annotation is missing.
        """
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, some at a time: the model's threads share a batch.

        Parameters
        ----------
        stream : iterable of spacy.tokens.Doc
            As for one document.
        batch_size : int, default=128
            Documents that are annotated together.

        Yields
        ------
        spacy.tokens.Doc
            The same.
        """
        handle = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            try:
                self._require_kind(getattr(self, self.attribute), "a")
                self._annotate(docs)
                yield from docs
            except Exception as error:  # the pipeline's handler decides what is to be done
                handle(self.name, self, docs, error)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Give the model as bytes; none if it is not fitted.

        Parameters
        ----------
        exclude : iterable of str, optional
            Has no meaning here.

        Returns
        -------
        bytes
        """
        return to_bytes(getattr(self, self.attribute)) if self.is_fitted else b""

    def from_bytes(self, raw: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the model from the bytes that `to_bytes` returned, except ``n_jobs``, which stays.

        Parameters
        ----------
        raw : bytes
            From anywhere: see `wald.load`.
        exclude : iterable of str, optional
            Has no meaning here.

        Returns
        -------
        Component
            Itself.
        """
        return self._with(from_bytes(raw)) if raw else self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Save the model in a folder; the folder is empty if it is not fitted.

        Parameters
        ----------
        path : path-like
            The folder, which is made.
        exclude : iterable of str, optional
            Has no meaning here.
        """
        Path(path).mkdir(parents=True, exist_ok=True)
        if self.is_fitted:
            save(getattr(self, self.attribute), Path(path) / self.file)
        else:
            (Path(path) / self.file).unlink(missing_ok=True)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> Self:
        """Load the model from a folder that `to_disk` wrote, but for ``n_jobs``, which stays.

        Parameters
        ----------
        path : path-like
            The folder.
        exclude : iterable of str, optional
            Has no meaning here.

        Returns
        -------
        Component
            Itself.
        """
        file = Path(path) / self.file
        return self._with(load(file)) if file.exists() else self

    def _require_kind(self, model: Any, what: str) -> None:
        if not isinstance(model, self.model_type):
            raise TypeError(f"{self.name} needs {what} {self.model_type.__name__}. Got a {type(model).__name__}.")

    def _with(self, model: Any) -> Self:
        self._require_kind(model, "the file of a")
        before = getattr(self, self.attribute)
        setattr(self, self.attribute, model.set_params(n_jobs=before.n_jobs))
        return self


def words_of(sentence: Span | Doc) -> list[Token]:
    """The tokens of a sentence that are no white space."""
    return [token for token in sentence if not token.is_space]


def plain_form(token: Token) -> str:
    """A token's text as a treebank takes it."""
    return token.text.translate(_MARKS) or "_"


def fields_of(token: Token) -> tuple[str, str, str]:
    """A token as a treebank takes it, with its tags."""
    return plain_form(token), token.pos_ or "_", token.tag_ or "_"


def config_signature(make: Callable[..., Component], settings: Iterable[str]) -> inspect.Signature:
    """The signature by which spaCy checks a config: nlp, name, and the model's parameters with their types."""
    parameters = inspect.signature(make).parameters
    model = inspect.signature(make).return_annotation.model_type
    known = inspect.signature(model, eval_str=True).parameters
    return inspect.Signature([*list(parameters.values())[:2], *(known[setting] for setting in settings)])
