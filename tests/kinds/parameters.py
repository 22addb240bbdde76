"""Parameters of early-exit classifiers, given flat by tests that vary one at a time."""

from dataclasses import fields

from wald import Planner

PLANNED = {field.name for field in fields(Planner)}


def nested(**given):
    """The parameters of an `EarlyExitClassifier`, with those of its planner in one."""
    planned = {name: given.pop(name) for name in PLANNED & given.keys()}
    return given | ({"planner": Planner(**planned)} if planned else {})
