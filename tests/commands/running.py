"""Run the command line, and see how it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

testing = pytest.importorskip("typer.testing")
pytest.importorskip("rich")


def run(*words: object) -> Any:
    from wald import cli

    return testing.CliRunner().invoke(cli.build(), [str(word) for word in words])


def done(*words: object, code: int = 0) -> Any:
    """A run that ends with a code, and never with a traceback."""
    result = run(*words)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def said(*words: object, code: int = 0) -> dict[str, Any]:
    """What a run prints with --json: nothing but JSON is on stdout."""
    return dict(json.loads(done(*words, "--json", code=code).stdout))


def refusal(*words: object) -> str:
    """What a user's mistake is answered with: one line on stderr, nothing on stdout, exit code 2."""
    result = done(*words, code=2)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"wald {words[0]}: ")
    assert "Traceback" not in result.output
    return str(lines[0])
