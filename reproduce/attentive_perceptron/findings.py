"""The page: what was run, the paper's claims beside our figures, chosen settings, stop errors and pixels read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._common import Estimate, Record, interval, number, over_seeds, per_seed, percent, select, table
from .._page import claims_section, files_section, quick_note, write_page
from .audits import DELTAS, HELD
from .choice import CHEAP, WITHIN
from .claims import all_claims, coverage, data_sets, final_gap, points, training
from .epochs import DEFAULT, Tables
from .learners import NAMES, READINGS
from .material import DESCRIPTIONS, HELD_OUT

#: Captions of the pictures that the page shows.
_SHOWN = {
    "over-epochs": "Features seen, updates, test error and time over the epochs",
    "error-against-features": "Held-out error above the full learner's against features seen, every setting tried",
    "stop-errors": "Stop errors requested, true and audited",
    "pixels-read": "Pixels read of an easy and a hard 2 and 3 before they were skipped",
    "terms-needed": "Terms needed on simulated walks, bridge boundary",
}

_HEAD = """\
# *The Attentive Perceptron*, run again

R. Pelossof and Z. Ying, 2010. The paper reports no numbers: its claims are words. Every figure on this page was
computed by the run that wrote it, with {seeds} seeds, which draw the order of rows, audits, held-out rows and walks;
in brackets are 95 % intervals over the seeds (Student's t; the ten digits are averaged within a seed first). Every
learner is an averaged perceptron, trained on float32 rows in a new order every epoch.
"""

_READINGS = f"""\
How the paper was read: equation (4) compared with the raw sum, *as published*; with the sum less its expected path,
*centred*, which is what its derivation supports; and the *bridge* of the later papers. Orders and variances, which the
paper leaves open, are chosen together with delta: runs of a cache line by |weight| times spread, with the variance as
if features were independent or as audits measure it, or runs at random. *Conditional* is our own default: the full
margin regressed on the terms seen, runs in forward-selected order. The *budgeted* learner reads as many features as
the conditional one does in the mean, audits included, of every example; its order is chosen too.

Settings are chosen on {HELD_OUT:.0%} of the training rows, drawn anew for every seed, by two rules: *within 0.3
points*, the fewest features at a held-out error within 0.3 points of the full learner's (if none, the least error);
and *130 of 784*, the least error with at most that share of the features (if none, the fewest). The learner chosen is
then trained on all training rows, and its error on the test rows reported once. Audits, 1 % of the examples, are
counted as read.
"""


def write_findings(
    folder: Path, tables: Tables, tasks: Sequence[Record], files: Sequence[Path], *, quick: bool
) -> Path:
    """Write the page ``findings.md`` into the folder, and return its path."""
    n_seeds = len({r["seed"] for r in tables["epochs"]})
    written = {path.stem for path in files}
    parts = [
        _HEAD.format(seeds=n_seeds) + quick_note(quick, "few rows and epochs,", n_seeds),
        _tasks(tasks),
        _READINGS,
        claims_section(all_claims(tables)),
        "## The settings chosen\n",
        settings_chosen(tables),
        "## Over the epochs\n",
        over_epochs(tables),
        "## Prediction\n",
        _prediction(tables),
        "## Stop errors\n",
        _stop_errors(tables["stop_errors"]),
        "## Pictures\n",
        *(f"{words}:\n\n![{words}]({name}.png)\n" for name, words in _SHOWN.items() if name in written),
        files_section(files),
    ]
    return write_page(folder, parts)


def _tasks(tasks: Sequence[Record]) -> str:
    lines = []
    for data in data_sets(tasks):
        own = select(tasks, data=data)
        first = own[0]
        lines.append(
            (
                data,
                len(own),
                *(number(float(first[name]), 5) for name in ("train_rows", "test_rows", "epochs", "columns")),
                number(float(first["features"])),
                percent(float(np.mean([float(r["positives"]) for r in own])), 2),
            )
        )
    head = ("data", "questions", "training rows", "test rows", "epochs", "columns", "features per row", "positives")
    said = "\n".join(f"- {data}: {DESCRIPTIONS[data]}." for data in data_sets(tasks) if data in DESCRIPTIONS)
    return table(head, lines) + "\n" + said + "\n"


# ---- the settings chosen ---------------------------------------------------------------------------------------------


def settings_chosen(tables: Tables) -> str:
    """Features and error on the first data set, of every reading with the settings of both rules."""
    data = data_sets(tables["epochs"])[0]
    lines = []
    for rule in (WITHIN, CHEAP, DEFAULT):
        for reading in READINGS if rule != DEFAULT else ("conditional",):
            seen, gap = _seen(tables, data, reading, rule), over_seeds(final_gap(tables, data, reading, rule))
            lines.append((rule, NAMES[reading], _deltas(tables, data, reading, rule), interval(seen), points(gap)))
    head = ("chosen", "reading", "δ chosen", "features per example", "test error above full, points")
    return f"{data}.\n\n" + table(head, lines)


def _seen(tables: Tables, data: str, reading: str, rule: str) -> Estimate:
    return over_seeds(training(tables, data, reading, "features", rule))


def _deltas(tables: Tables, data: str, reading: str, rule: str) -> str:
    """Deltas that the seeds chose; where they differ, each with the number of seeds."""
    own = select(tables["epochs"], data=data, reading=reading, rule=rule)
    by_seed = {int(r["seed"]): float(r["delta"]) for r in own}
    counts = {delta: list(by_seed.values()).count(delta) for delta in sorted(set(by_seed.values()))}
    return ", ".join(f"{delta:g}" + (f" ({n}x)" if len(counts) > 1 else "") for delta, n in counts.items())


# ---- the other tables ---------------------------------------------------------------------------------------------


def over_epochs(tables: Tables) -> str:
    """Every contender on every data set: means over the epochs, and the error after the last."""
    lines = []
    for data in data_sets(tables["epochs"]):
        last = max(int(r["epoch"]) for r in select(tables["epochs"], data=data))
        for rule, reading in (
            (DEFAULT, "full"),
            *((WITHIN, name) for name in ("budgeted", *READINGS)),
            (DEFAULT, "conditional"),
        ):
            own = select(tables["epochs"], data=data, reading=reading, rule=rule)
            lines.append(
                (
                    data,
                    NAMES[reading] + (", defaults" if (rule, reading) == (DEFAULT, "conditional") else ""),
                    *(interval(over_seeds(per_seed(own, column))) for column in ("features", "updates")),
                    interval(over_seeds(per_seed(select(own, epoch=last), "error")), percent),
                    number(float(np.mean(per_seed(own, "microseconds_per_row"))), 2),
                )
            )
    head = ("data", "learner", "features per example", "updates per epoch", "test error", "µs per example")
    note = (
        "Settings chosen within 0.3 points. Times are those of `fit`, an epoch a call, on one thread, checks of its "
        "input included, on a machine that others may have used: they are only indicative.\n"
    )
    return table(head, lines) + "\n" + note


def _prediction(tables: Tables) -> str:
    lines = []
    for data in data_sets(tables["prediction"]):
        for rule in (WITHIN, DEFAULT):
            own = select(tables["prediction"], data=data, reading="conditional", rule=rule)
            change = np.array(per_seed(own, "error")) - np.array(per_seed(own, "full_error"))
            lines.append(
                (
                    data,
                    f"{NAMES['conditional']}, {rule}",
                    interval(over_seeds(per_seed(own, "features"))),
                    points(over_seeds(change)),
                )
            )
    note = (
        "The last model of our learner reads test rows attentively (`predict(attention='conditional')`): until the "
        "sign of the score, which a regression on the terms seen predicts, is clear at the learner's delta. The "
        "paper's boundaries need the label, which is not known here. CSR rows are read in full.\n"
    )
    head = ("data", "learner", "features per test row", "error above that of full scores, points")
    return note + "\n" + table(head, lines)


def _stop_errors(records: Sequence[Record]) -> str:
    """Requested, true and audited stop errors of every reading, and the coverage of the audited interval."""
    lines = []
    data = data_sets(records)[0]
    for reading in (*READINGS, HELD):
        for delta in DELTAS:
            own = select(records, data=data, reading=reading, requested=delta)
            if len({r["seed"] for r in own}) < 2:
                continue
            true = over_seeds(per_seed(own, "true"))
            lines.append(
                (
                    NAMES.get(reading, reading),
                    own[0]["error"],
                    percent(delta),
                    interval(true, percent),
                    interval(over_seeds(per_seed(own, "audited")), percent),
                    percent(float(np.mean(per_seed(own, "true_conditional"))), 2),
                    "yes" if true.mean <= delta else "in doubt" if true.low <= delta else "no",
                )
            )
    held, n, low, high = coverage(records)
    head = ("reading", "error", "requested", "true", "audited", "of needed updates missed", "at most δ")
    note = (
        "Learners with default parameters except δ; the true error counts every example that was stopped. *joint*: "
        "of all examples, *posterior*: of those stopped, *conditional*: of those that called for an update. *Held*: "
        '`delta="auto"`, the boundary moved audit by audit. '
        f"The table is of {data}; [stop-errors.csv](stop-errors.csv) has every run.\n"
    )
    covered = (
        f"On all data sets, the 95 % interval of the audits holds the true error in {held} of {number(n)} runs, "
        f"{percent(held / n)} ({percent(low)} to {percent(high)})."
    )
    return f"{note}\n{covered}\n\n{table(head, lines)}"
