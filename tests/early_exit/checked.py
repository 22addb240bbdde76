"""What tests of the self-check share: misread models, comparisons as `fit` makes them, and what these cost."""

import copy
import itertools
import time
import warnings

from wald.early_exit.compiled.predictor import Predictor
from wald.early_exit.compiled.self_check import require_own_answers
from wald.early_exit.fitting.planning import plan_without_stages
from wald.models import Family, decompose, register
from wald.models.families import family_of
from wald.sources import source_of

#: Bound of the processor time of a comparison in seconds: twice the most that was measured, on a busy machine.
BOUND = 0.03
NUMBER = itertools.count()


def misread(fitted, tampered):
    """The same fitted model as an object of a class of its own, whose reader reads a tampered copy."""
    known = family_of(fitted)
    own = type(f"Misread{next(NUMBER)}", (type(fitted),), {})
    model = copy.copy(fitted)
    model.__class__ = own

    def read(model, decompose):
        other = copy.copy(model)
        other.__class__ = type(fitted)
        tampered(other)
        return known.read(other, decompose)

    register(Family((own,), known.methods, known.attributes, read, known.thresholds))
    return model


def predictor_of(model):
    """The engine's full answers for a model."""
    read = decompose(model)
    return Predictor(read, plan_without_stages(read), by_proof=True)


def agree(model, X):
    """Compare as `fit` does, with rows and without; raises for a false alarm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictor = predictor_of(model)
        require_own_answers(predictor, source_of(X))
        require_own_answers(predictor)


def cost_of_agreeing(model, X):
    """Number of rows that are compared, and the least processor time of some comparisons in seconds."""
    predictor, spent = predictor_of(model), []
    for _ in range(7):
        start = time.process_time()  # which other processes do not lengthen
        n = require_own_answers(predictor, source_of(X)).n_rows
        spent.append(time.process_time() - start)
    return n, min(spent)


def n_calls(monkeypatch, owner, method, work):
    """Number of calls of a method that some work makes."""
    own, calls = getattr(owner, method), []

    def counted(self, *args, **params):
        calls.append(len(args[0]) if args else None)
        return own(self, *args, **params)

    monkeypatch.setattr(owner, method, counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
    return len(calls)
