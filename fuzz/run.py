"""Run the fuzzers: ``python fuzz/run.py [--seconds N] [NAMES]``; see README.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "fuzz"
NAMES = sorted(folder.name for folder in Path(__file__).with_name("corpus").iterdir())
#: Seconds that a fuzzer may take beside those it was given: to start, and to write what it found.
GRACE = 180


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz the readers of outside bytes, one after the other.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"targets; all by default: {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=int, default=600, help="time for each (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument(
        "--engine",
        choices=("atheris", "loop"),
        help="coverage-guided by atheris, or a loop of mutations; default: atheris where it is installed and no "
        "sanitizer is loaded",
    )
    given = parser.parse_args()
    if unknown := sorted({*given.names} - {*NAMES}):
        parser.error(f"no such target: {', '.join(unknown)}. There are {', '.join(NAMES)}.")
    return given


def sanitizer() -> str:
    """Name of the sanitizer that is loaded, or nothing."""
    found = re.search("lib([a-z]+san)", os.environ.get("LD_PRELOAD", ""))
    return found[1] if found else ""


def engine() -> str:
    from importlib.util import find_spec

    return "atheris" if find_spec("atheris") is not None and not sanitizer() else "loop"


def main() -> int:
    given = arguments()
    chosen = given.engine or engine()
    failed = []
    for name in given.names or NAMES:
        folder = OUT / sanitizer() / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "counts.json").unlink(missing_ok=True)
        command = [sys.executable, "-m", "fuzz.child", chosen, name, str(given.seconds), str(given.seed), str(folder)]
        path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]))
        settings = {"PYTHONPATH": path, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with (folder / "log.txt").open("wb") as log:
            try:
                code = subprocess.run(
                    command,
                    env=os.environ | settings,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=given.seconds + GRACE,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                code = -1
        counts = folder / "counts.json"
        found = summary(json.loads(counts.read_text()) if counts.exists() else {})
        print(f"{name}: {found}, {chosen} {sanitizer()}".rstrip(), flush=True)
        if code != 0:
            failed.append(name)
            print(f"{name}: FAILED with exit code {code}; the input and the log are in {folder}", flush=True)
            print("\n".join((folder / "log.txt").read_text("utf-8", "replace").splitlines()[-25:]), flush=True)
    return 1 if failed else 0


def summary(counts: dict[str, int]) -> str:
    return ", ".join(f"{value} {key}" for key, value in counts.items()) or "no executions counted"


if __name__ == "__main__":
    sys.exit(main())
