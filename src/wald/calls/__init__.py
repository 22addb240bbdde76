"""What is costly is called here, and nowhere else: a model that asks a server, a provider of features.

`Calls` says how a function of rows is called: in batches, so many at once, with a timeout, again after failures, with a
cache. `Asked` holds what the function has answered in one use of it, such as one `predict`, by the numbers of the rows:
no row is asked twice, and what was answered stays when a call fails. `CallError` names the rows of the call that
failed, and carries a `PartialAnswer`, from which the work can go on. `ending` sets a moment at which all calls end.

Nothing is known here of sources, models or stages: rows are numbers, and a caller's function makes of them what the
costly function takes.

Functions are run where they expect it. A plain function that is called one at a time runs in the caller's thread, since
connections to databases often belong to their thread. Several at once, or with a timeout, run in threads, which end
with their call. Coroutines run in an event loop that each `Calls` keeps, since clients that hold connections belong to
their loop; inside of a running loop, as in a notebook, in a thread beside it.

asyncio does this without a further dependency: anyio would add trio's loops, which nobody asks for here, and tenacity
the dozen lines of `Attempts`, of which the deadline would still be ours.
"""

from __future__ import annotations

from .asked import Answered, Asked
from .calls import Calls
from .counts import Counts
from .ending import ending
from .errors import BadAnswerError, CallError, PartialAnswer, TooLateError
from .logged import Logged, logged_answers
from .reading import labels_of, numbers_of
from .together import ask_together

__all__ = [
    "Answered",
    "Asked",
    "BadAnswerError",
    "CallError",
    "Calls",
    "Counts",
    "Logged",
    "PartialAnswer",
    "TooLateError",
    "ask_together",
    "ending",
    "labels_of",
    "logged_answers",
    "numbers_of",
]
