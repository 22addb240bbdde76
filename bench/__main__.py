"""Run settings, print their figures, and keep them in ``README.md`` on request."""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import tempfile
import time
import warnings
from pathlib import Path

from .machine import description
from .report import markdown_table, text_table, write
from .settings import OTHER_SPLIT, Run
from .surroundings import clear, handicaps, libraries, named, other_work

SETTINGS = {
    "A": "kernel_binary",
    "B": "kernel_multiclass",
    "C": "linear_units",
    "D": "frames",
    "E": "never_slower",
    "F": "memory",
    "G": "attentive",
    "H": "parser",
    "I": "chain",
    "J": "budget",
}
REPEATS, QUICK_REPEATS = 7, 3


def main() -> int:
    """Run what the command line asks for; the exit status is 1 if a figure was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("settings", nargs="*", metavar="A-J", help="settings to run (all)")
    parser.add_argument("--quick", action="store_true", help="fewer rows and runs, to see that everything works")
    parser.add_argument("--other-split", action="store_true", help="train, fit and test on other rows of MNIST")
    parser.add_argument("--write", action="store_true", help="keep the results in bench/README.md")
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()),
        help="a folder with 4 GB of space, for setting F",
    )
    args = parser.parse_args()
    chosen = [letter.upper() for letter in args.settings] or list(SETTINGS)
    if unknown := sorted(set(chosen) - set(SETTINGS)):
        parser.error(f"unknown setting {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    if args.write and (args.quick or args.other_split):
        parser.error("the results kept are those of whole runs on the published split: leave out --write")
    against = handicaps()
    if args.write and (against or (busy := other_work())):
        reasons = "; ".join(against or [busy])
        parser.error(f"the results kept are those of a whole machine at its best: {reasons}")
    if args.other_split:
        os.environ[OTHER_SPLIT] = "1"  # the settings that measure memory start processes of their own

    how = Run(QUICK_REPEATS if args.quick else REPEATS, args.quick, args.scratch)
    machine = f"{description()}; {', '.join(map(named, libraries()))}"
    print(machine + (" [quick]" if args.quick else "") + (" [other split]" if args.other_split else ""), flush=True)
    for reason in against:
        print(f"HANDICAP: {reason}", flush=True)
    missed = 0
    for letter in chosen:
        setting = importlib.import_module(f".{SETTINGS[letter]}", __package__)
        print(f"\n{setting.TITLE}\n", flush=True)
        start = time.perf_counter()
        figures = setting.run(how)
        missed += sum(figure.verdict == "NO" for figure in figures)
        print(text_table(figures))
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)
        busy = other_work()
        if busy:
            print(f"HANDICAP: {busy}", flush=True)
        if args.write and busy:
            print(f"setting {letter} is not written", flush=True)
            missed += 1
        elif args.write:
            today = datetime.datetime.now(tz=datetime.UTC).date()
            heading = f'`make bench ARGS="{letter} --write"`, {today}, {machine}\n'
            write(letter, f"{heading}\n{markdown_table(figures)}")
    print(f"\n{missed} figures missed" if missed else "\nevery figure reached")
    return 1 if missed else 0


if __name__ == "__main__":
    clear()
    warnings.filterwarnings("default", category=UserWarning, module="wald")
    raise SystemExit(main())
