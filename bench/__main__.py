"""Run settings, print their figures, and save them on request."""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import tempfile
import time
import warnings
from pathlib import Path

from .machine import hardware, versions
from .report import text_table
from .results import Results, render
from .settings import COUNTED, OTHER_SPLIT, SETTINGS, Run
from .surroundings import clear, handicaps, libraries, named, other_work

REPEATS, QUICK_REPEATS = 7, 3


def main() -> int:
    """Run the settings of the command line; the exit status is 1 if results could not be saved on request."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("settings", nargs="*", metavar="setting", help=f"{', '.join(SETTINGS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rows and runs, to see that everything works")
    parser.add_argument("--other-split", action="store_true", help="train, fit and test on other rows of MNIST")
    parser.add_argument("--write", action="store_true", help="keep the results and render bench/README.md")
    parser.add_argument(
        "--render", action="store_true", help="measure nothing: render bench/README.md from the results kept"
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()),
        help="a folder with 4 GB of space, for the setting memory",
    )
    args = parser.parse_args()
    if args.render:
        render()
        return 0
    chosen = args.settings or list(SETTINGS)
    if unknown := sorted(set(chosen) - set(SETTINGS)):
        parser.error(f"unknown setting {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    if args.write and (args.quick or args.other_split):
        parser.error("only results of whole runs on the published split are kept: leave out --write")
    against = handicaps()
    if args.write and (against or (busy := "" if COUNTED.issuperset(chosen) else other_work())):
        reasons = "; ".join(against or [busy])
        parser.error(f"only results of a whole machine at its best are kept: {reasons}")
    if args.other_split:
        os.environ[OTHER_SPLIT] = "1"  # the settings that measure memory start processes of their own

    how = Run(QUICK_REPEATS if args.quick else REPEATS, args.quick, args.scratch)
    machine, used = hardware(), [*versions(), *map(named, libraries())]
    modes = (" [quick]" if args.quick else "") + (" [other split]" if args.other_split else "")
    print(f"{machine}, {', '.join(used)}{modes}", flush=True)
    for reason in against:
        print(f"HANDICAP: {reason}", flush=True)
    not_kept = 0
    for name in chosen:
        setting = importlib.import_module(f".{name.replace('-', '_')}", __package__)
        print(f"\n{name}: {setting.TITLE}\n", flush=True)
        start = time.perf_counter()
        figures = setting.run(how)
        print(text_table(figures))
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)
        busy = "" if name in COUNTED else other_work()
        if busy:
            print(f"HANDICAP: {busy}", flush=True)
        if args.write and busy:
            print(f"the results of {name} are not kept", flush=True)
            not_kept += 1
        elif args.write:
            command = f'make bench ARGS="{name} --write"'
            today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
            Results(name, setting.TITLE, command, today, machine, used, figures).save()
            render()
    return 1 if not_kept else 0


if __name__ == "__main__":
    clear()
    warnings.filterwarnings("default", category=UserWarning, module="wald")
    raise SystemExit(main())
