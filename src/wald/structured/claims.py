"""Threads that need the same answer at the same time: one of them asks, and the others wait for what it hears."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterable
from typing import Any

from ..utils.locks import ForkLock


class Claim:
    """What one thread asks about.

    Attributes
    ----------
    answers : dict
        Answers by key, complete once the claim has ended; of what failed, there are none.
    """

    def __init__(self) -> None:
        self.answers: dict[Hashable, Any] = {}
        self._ended = threading.Event()

    def end(self) -> None:
        """Wake those who wait."""
        self._ended.set()

    def wait(self, until: float | None) -> None:
        """Wait for the end, or for a moment by ``time.monotonic``."""
        while not self._ended.is_set():
            left = 0.5 if until is None else min(until - time.monotonic(), 0.5)
            if left <= 0:
                return
            self._ended.wait(left)  # in pieces, as a wait without an end cannot be interrupted on Windows


class Claims:
    """Who asks about which keys now.

    A thread ends its claim before it waits for those of others. So none waits for another that waits for it.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._held: dict[Hashable, Claim] = {}
        self._process = os.getpid()

    def take(self, keys: Iterable[Hashable]) -> tuple[Claim, list[Hashable], dict[Hashable, Claim]]:
        """Claim those keys that nobody asks about.

        Returns
        -------
        claim : Claim
            Must be ended.
        mine : list
            Its keys.
        theirs : dict
            The other keys, each with the claim that has it.
        """
        claim, mine, theirs = Claim(), list[Hashable](), dict[Hashable, Claim]()
        with self._lock:
            if self._process != os.getpid():  # a fork does not have the threads that would end the claims
                self._held, self._process = {}, os.getpid()
            for key in keys:
                held = self._held.setdefault(key, claim)
                if held is claim:
                    mine.append(key)
                else:
                    theirs[key] = held
        return claim, mine, theirs

    def end(self, claim: Claim, mine: Iterable[Hashable]) -> None:
        """Give the keys of a claim free, and wake those who wait for it."""
        with self._lock:
            for key in mine:
                if self._held.get(key) is claim:
                    del self._held[key]
        claim.end()
