"""Run the experiments of a paper again: pictures, tables, and a page of claims, measurements and verdicts."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import names, run
from ._kept import keep

FOLDER = Path(__file__).parents[1] / "build" / "reproduce"


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line names, and print the path of the page."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    parser.add_argument("name", choices=names(), help="which paper")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="for all files (default: build/reproduce/name)"
    )
    parser.add_argument("--quick", action="store_true", help="smaller and coarser, to see that everything runs")
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="how often every experiment is repeated")
    parser.add_argument("--write", action="store_true", help="keep the tables in reproduce/results, for the site")
    given = parser.parse_args(arguments)
    if given.seeds < 2:
        parser.error(f"--seeds must be at least 2, for every figure has an interval. Got {given.seeds}.")
    if given.write and (given.quick or given.seeds != parser.get_default("seeds")):
        parser.error("only the figures of whole runs are kept: leave out --write")
    try:
        page = run(given.name, given.output or FOLDER / given.name, quick=given.quick, seeds=given.seeds)
    except OSError as error:
        parser.error(f"{given.name}: {error}")
    print(page)
    if given.write:
        print(keep(given.name, page))


if __name__ == "__main__":
    main()
