"""Whole pipelines inside a file: archives of skops, which names all types before it builds any."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.room import Room
from ..utils.install import install

#: Before this version, skops built some types without naming them.
LEAST_VERSION = (0, 13)
#: Objects in memory take so many times the bytes of an archive's members.
TIMES_OBJECTS = 16
MOST_MEMBERS = 100_000


class UntrustedTypesError(ValueError):
    """A file holds types that are not trusted.

    Parameters
    ----------
    message : str
    names : list of str
        Names of these types.
    """

    def __init__(self, message: str, names: list[str]) -> None:
        super().__init__(message)
        self.names = names


def dump(estimator: Any) -> bytes:
    """Return the archive of an estimator; raises ImportError where skops is missing, ValueError where it fails."""
    try:
        return bytes(_skops().dumps(estimator))
    except ImportError:
        raise
    except Exception as error:  # of whatever the steps are made of
        raise ValueError(
            f"The {type(estimator).__name__} cannot be saved: skops refuses it ({type(error).__name__}: {error}). "
            "Replace the step that it names, or keep this model with pickle or joblib."
        ) from error


def untrusted(raw: bytes) -> list[str]:
    """The types in an archive that skops does not know to be harmless; nothing is built."""
    skops = _skops()
    try:
        return sorted(skops.get_untrusted_types(data=raw))
    except Exception as error:  # whatever a damaged archive makes skops stumble over
        raise FileFormatError(f"the pipeline inside is no archive of skops: {type(error).__name__}: {error}") from None


def load(raw: bytes, trusted: Sequence[str], room: Room, where: str) -> Any:
    """Build the estimator of an archive.

    Parameters
    ----------
    raw : bytes
    trusted : sequence of str
        Types to build beside those that skops knows to be harmless.
    room : Room
        From which its members are taken.
    where : str
        The file, in messages.

    Raises
    ------
    FileFormatError
        If it is no archive of skops, or unpacks to too much.
    ValueError
        If it holds types that nobody trusts.
    ImportError
        If skops is not installed.
    """
    skops = _skops()
    check_sizes(raw, room)
    unknown = [name for name in untrusted(raw) if name not in trusted]
    if unknown:
        raise UntrustedTypesError(
            f"{where} holds a pipeline with types that are not known to be harmless: {', '.join(unknown)}. Nothing "
            f"of it was built. If you trust them and where the file comes from, name them: wald.load(path, "
            f"trusted={unknown!r}).",
            unknown,
        )
    try:
        return skops.loads(raw, trusted=[name for name in untrusted(raw) if name in trusted])
    except Exception as error:
        raise FileFormatError(f"the pipeline inside cannot be built: {type(error).__name__}: {error}") from None


def check_sizes(raw: bytes, room: Room) -> None:
    """Refuse an archive whose members, or arrays within them, unpack to more than there is room for."""
    try:
        _check(raw, room, nested=False)
    except FileFormatError:
        raise
    except Exception as error:  # of zipfile and NumPy, about damaged archives
        raise FileFormatError(f"the pipeline inside is no archive of skops: {type(error).__name__}: {error}") from None


def _check(raw: bytes, room: Room, nested: bool) -> None:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.infolist()
        names = {member.filename for member in members}
        if len(members) > MOST_MEMBERS or len(names) < len(members):
            raise FileFormatError("the pipeline inside names a member twice, or has too many")
        for member in members:
            # other methods unpack as much as they like at once
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise FileFormatError("a member of the pipeline inside is encrypted or compressed in another way")
        # no more than the sizes that are declared is ever unpacked
        room.reserve(TIMES_OBJECTS * sum(member.file_size for member in members), "pipeline, unpacked,")
        for member in members:
            with archive.open(member) as file:
                start = file.read(6)
                if start[:2] == b"PK":
                    if nested:
                        raise FileFormatError("the pipeline inside holds archives within archives")
                    _check(start + file.read(), room, nested=True)
                elif start == b"\x93NUMPY":
                    _check_array(io.BytesIO(start + file.read()), member.file_size)


def _check_array(file: io.BytesIO, size: int) -> None:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise FileFormatError("an array of the pipeline inside is of an unknown version")
    if dtype.hasobject or math.prod(shape) * max(1, dtype.itemsize) > size:
        raise FileFormatError(f"an array of the pipeline inside should have the shape {shape}, and is shorter")


def _skops() -> Any:
    try:
        import skops
        from skops import io as skops_io
    except ImportError:
        raise ImportError(f"Whole pipelines in files need skops, which is not installed: {install('cli')}.") from None
    if tuple(map(int, re.findall(r"\d+", skops.__version__)[:2])) < LEAST_VERSION:
        raise ImportError(
            f"Whole pipelines in files need skops {'.'.join(map(str, LEAST_VERSION))} or later, and "
            f"{skops.__version__} is installed: pip install --upgrade skops."
        )
    return skops_io
