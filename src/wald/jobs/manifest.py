"""What a folder of predictions was made from, which of its parts are whole, and the lock of the job that writes it."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..utils.files import atomic_file
from .errors import JobError
from .parts import Part

NAME, LOCK = "_wald.json", ".wald.lock"
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
_FRESH = "or begin anew with --force, which deletes the parts that are done"


@dataclass
class Manifest:
    """The manifest of an output folder.

    Attributes
    ----------
    folder : Path
    asked : dict
        Fingerprint of the model, and options: what else the labels depend on.
    parts : list of dict
        Each part with its input's size and time of change.
    done : dict
        Facts of the parts that are whole, by name.
    """

    folder: Path
    asked: dict[str, Any]
    parts: list[dict[str, Any]]
    done: dict[str, dict[str, Any]]

    @classmethod
    def begin(cls, folder: Path, asked: dict[str, Any], parts: Sequence[Part], force: bool) -> Manifest:
        """Begin a job, or take up the one that the folder holds; the folder must be locked.

        Raises
        ------
        JobError
            If the folder holds another job, or files and no job.
        """
        for left in folder.iterdir():
            if _TEMPORARY.fullmatch(left.name):
                left.unlink(missing_ok=True)
        planned = json.loads(json.dumps([asdict(part) for part in parts]))
        asked = json.loads(json.dumps(asked))
        own = cls(folder, asked, planned, {})
        try:
            before = own._read()
        except JobError:
            if not force:
                raise
            before = None
        if before is None:
            others = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
            if others and not force:
                raise JobError(
                    f"-o: {folder} holds files that are no job of wald ({others[0]}): name another folder, or --force."
                )
        elif force:
            for part in before.parts:
                (folder / Path(part["name"]).name).unlink(missing_ok=True)
        else:
            before._require_same(own)
            own.done = {name: facts for name, facts in before.done.items() if own._is_whole(name, facts)}
        own._write()
        return own

    def add(self, name: str, facts: dict[str, Any]) -> None:
        """Record a part that has been written whole."""
        self.done[name] = {"bytes": (self.folder / name).stat().st_size, **facts}
        self._write()

    def _is_whole(self, name: str, facts: dict[str, Any]) -> bool:
        path = self.folder / name
        return path.is_file() and path.stat().st_size == facts["bytes"]

    def _read(self) -> Manifest | None:
        path = self.folder / NAME
        try:
            held = json.loads(path.read_text("utf-8"))
            return Manifest(self.folder, held["asked"], list(held["parts"]), dict(held["done"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise JobError(f"{path} is damaged ({error}): name another folder, {_FRESH}.") from error

    def _write(self) -> None:
        held = {"wald": 1, "asked": self.asked, "parts": self.parts, "done": dict(sorted(self.done.items()))}
        with atomic_file(self.folder / NAME) as beside:
            beside.write_text(json.dumps(held, indent=1), "utf-8")

    def _require_same(self, now: Manifest) -> None:
        changed = [name for name, value in now.asked.items() if self.asked.get(name) != value]
        if changed:
            raise JobError(
                f"-o: {self.folder} holds a job with another {' and '.join(changed)}: name another folder, {_FRESH}."
            )
        pairs = zip(self.parts, now.parts, strict=False)
        done = {name for name, facts in self.done.items() if self._is_whole(name, facts)}
        changed_parts = [
            new for old, new in pairs if old != new and (old["name"] in done or old["name"] != new["name"])
        ]
        if changed_parts or len(now.parts) != len(self.parts):
            first = (changed_parts or now.parts or self.parts)[0]
            if len(now.parts) != len(self.parts):
                what = f"there were {len(self.parts)} parts to make, and there are {len(now.parts)} now"
            else:
                what = f"{first['source']['name']} is not what it was"
            raise JobError(f"-o: {self.folder} holds a job on other inputs ({what}): name another folder, {_FRESH}.")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an output folder, which is made if it is missing.

    The operating system gives the lock free when a process ends, however it ends.

    Raises
    ------
    JobError
        If another job holds it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise JobError(f"-o: {folder}: {error.strerror}") from error
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        holder = file.read(500).strip()
        here = socket.gethostname()
        if not _take(file):
            raise JobError(
                f"-o: another job writes into {folder} ({holder or 'its process is not known'}): wait for it."
            )
        if holder and not holder.endswith(f" on {here}"):
            raise JobError(
                f"-o: {folder} is in use by a job on another machine ({holder}). If that has ended, delete "
                f"{folder / LOCK}."
            )
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {here}")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # the disk may be full
                file.seek(0)
                file.truncate()
                file.flush()


def _take(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows locks bytes; this one lies behind the text
        import msvcrt

        lock: Any = msvcrt
        file.seek(1 << 16)
        try:
            lock.locking(file.fileno(), lock.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
