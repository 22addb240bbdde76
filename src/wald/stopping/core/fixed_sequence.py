"""Fixed-sequence testing: hypotheses are tested in an order that was fixed before, until the first one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

Step = TypeVar("Step")


class Tested(NamedTuple, Generic[Step]):
    """The end of a sequence of tests.

    Attributes
    ----------
    passed : step or None
        The last step that passed; None if the first one failed.
    failed : step or None
        The first step that failed; None if all passed.
    """

    passed: Step | None
    failed: Step | None


def fixed_sequence(steps: Iterable[Step], passes: Callable[[Step], bool]) -> Tested[Step]:
    """Test steps in their order until the first one fails.

    If each test errs with probability at most alpha, then so does the sequence: its first false hypothesis to pass must
    pass a test of its own, and no later one matters. No correction for the number of steps is needed.

    Parameters
    ----------
    steps : iterable
        From cautious to bold, in an order that the tested examples have no part in. Steps after the first failure are
        not computed.
    passes : callable
        From a step to whether its test rejects the hypothesis that its risk is too large.

    Returns
    -------
    Tested

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test", Annals of Applied Statistics 19(2),
    2025: fixed-sequence testing.

    Examples
    --------
    >>> fixed_sequence([0.1, 0.2, 0.4, 0.3], lambda risk: risk < 0.35)
    Tested(passed=0.2, failed=0.4)
    """
    passed = None
    for step in steps:
        if not passes(step):
            return Tested(passed, step)
        passed = step
    return Tested(passed, None)
