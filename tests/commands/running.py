"""Run the command line and check how it ends."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

testing = pytest.importorskip("typer.testing")
pytest.importorskip("rich")

# typer would make the commands anew for each call of them, which takes longer than most calls.
testing._get_command = functools.cache(testing._get_command)


@functools.cache
def application() -> Any:
    from wald import cli

    return cli.build()


def run(*words: object, content: bytes | None = None) -> Any:
    """Run a command, with `content` on stdin."""
    return testing.CliRunner().invoke(application(), [str(word) for word in words], input=content)


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
