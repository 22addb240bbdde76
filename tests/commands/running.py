"""Run the command line and check how it ends."""

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
    """Run a command and check its exit code, and that it prints no traceback."""
    result = run(*words)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def said(*words: object, code: int = 0) -> dict[str, Any]:
    """Run a command with --json, and return the JSON; stdout holds nothing else."""
    return dict(json.loads(done(*words, "--json", code=code).stdout))


def refusal(*words: object) -> str:
    """Return the error about a user's mistake: one line on stderr, nothing on stdout, exit code 2."""
    result = done(*words, code=2)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"wald {words[0]}: ")
    assert "Traceback" not in result.output
    return str(lines[0])
