"""Files that are written, altered, and refused."""

import pytest
from persistence.cases import made
from persistence.forge import without_estimator

import wald
from wald.persistence import FileFormatError


def file_of(name, path):
    """A file without the estimator, which test_rebuilding.py covers."""
    wald.save(made(name)[0], path)
    without_estimator(path)
    return path.read_bytes()


def refused(path, raw, message):
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=message) as error:
        wald.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert isinstance(error.value, ValueError)
