"""The page: what was run, the paper's claims beside our figures, accuracies, certificates, times and examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._common import Record, number, percent, select, table
from .._page import claims_section, files_section, quick_note, write_page
from .arcs import WAYS
from .claims import NEGLIGIBLE, all_claims, point
from .contenders import CONTENDERS, NAMES
from .curves import Tables
from .figures import budgets, data_sets, full_time, pooled, pooled_uas, ran, speed
from .material import SOURCES
from .parsing import all_parsing_claims, treebanks
from .resampling import CONFIDENCE, RISK
from .times import EVERYTHING, NOTHING

#: Captions of the pictures that the page shows.
SHOWN = {
    "accuracy-against-features": "Accuracy against the share of costly features",
    "accuracy-against-time": "Accuracy against total time: features, policy and every inference",
    "one-shot-variants": "The paper's one-shot policies: simple and complex features, trajectory and parsimonious "
    "search, importance weights",
    "equal-share": "One-shot, anytime and iterated, with the same share of every example",
    "where-time-goes": "Where the time goes at 30 % costly features; myopic, one-shot and iterated infer "
    "more than once",
    "depth": "Words that got costly features, by their depth in the tree, at 30 %",
    "likely-arcs": "Accuracy and speed of a parser that scores likely arcs only",
    "word-step-by-step": "A word, step by step: letters in frames have HOG features",
    "sentence-step-by-step": "A sentence, step by step: bold words have the costly features",
}

_HEAD = """\
# *Resource Constrained Structured Prediction*, run again

T. Bolukbasi, K. Chang, J. Wang and V. Saligrama, arXiv 1602.08761. Every figure on this page was computed by the run
that wrote it. In brackets are 95 % intervals (Student's t) over {seeds} seeds: on OCR a seed is a rotation, with other
test words, another model and other policies; elsewhere one model is tested, and a seed is one of as many parts into
which the test sentences were cut at random.
"""

_READINGS = """\
One model serves all states of a task: it learns from examples whose parts have the costly features at random. Policies
learn from predictions for folds that clones of the model did not see, drawn as test examples are: the few spellings of
the handwritten words come back in other hands, but for *new words*, where folds hold out spellings, too. The
classifiers of the one-shot policy are set to a budget by a threshold; on these curves it is set on the test examples,
without their labels, so that the shares are those requested. Of the pseudo-labels by trajectory, what an example can do
without is taken back, and parts that need costly features weigh as much as all others together; the anytime policy
weighs additions by what they are better than one that changes nothing. Neither is in the paper. *Complex* policy
features come from the model's answer and its margins, *simple* ones from the part alone. With *equal share*, every
example has the same share of its parts bought; else money moves between examples, and the mean is kept. *Iterated* is
this library's own: it ranks parts by the probability that their answer is wrong, buys, answers again and ranks again;
*label-free* ranks them by the probability that the answer differs from that with all features.
"""

_TIMES = """\
Times are microseconds a part on one thread, from the cheap features of all test examples to their last answer; they
are this run's own, on a machine that others may have used, and only indicative. Our HOG and our parser's templates
are so fast that a policy, and the inferences it needs, can cost more than they save: there, all features are
the fastest choice, which `BudgetedPredictor(feature_costs="time")` finds by itself. Where features come from a second
model, they are not.
"""


def write_findings(folder: Path, tables: Tables, files: Sequence[Path], *, quick: bool) -> Path:
    """Write the page ``findings.md`` into the folder, and return its path."""
    n_seeds = len({r["seed"] for r in tables["curves"]})
    written = {path.stem for path in files}
    parts = [
        _HEAD.format(seeds=n_seeds) + quick_note(quick, "few examples, small models, few budgets,", n_seeds),
        _data(tables),
        _READINGS,
        claims_section([*all_claims(tables), *all_parsing_claims(tables)]),
        "## Accuracy by budget\n",
        *(_by_budget(tables, data) for data in data_sets(tables)),
        "## Certificates\n",
        certificates(tables["certificates"]),
        "## Time\n",
        _TIMES,
        _where_time_goes(tables),
        "The fastest budgets that lose at most 0.2 points against all features, all examples pooled:\n",
        table(
            ("data", "policy", "share", "points", "features", "policy, µs", "inference", "total", "all features", ""),
            _fastest(tables),
        ),
        "## Likely arcs\n",
        *(_arcs(tables, data) for data in treebanks(tables)),
        "## Pictures\n",
        *(f"{words}:\n\n![{words}]({name}.png)\n" for name, words in SHOWN.items() if name in written),
        files_section(files),
    ]
    return write_page(folder, parts)


def _data(tables: Tables) -> str:
    lines = []
    for data in data_sets(tables):
        own = select(tables["examples"], data=data)[0]
        curve = pooled(tables, data, "uniform")
        sizes = (
            f"{number(float(own[f'{s}_examples']))} / {number(float(own[f'{s}_parts']))}" for s in ("train", "test")
        )
        lines.append((data, *sizes, percent(float(curve.accuracy[0]), 4), percent(curve.full, 4)))
    head = ("data", "training examples / parts", "test", "cheap features alone", "all features")
    said = "\n".join(f"- {data}: {SOURCES[data].description}." for data in data_sets(tables))
    return table(head, lines) + "\nSizes are those of the first seed.\n\n" + said + "\n"


def _by_budget(tables: Tables, data: str) -> str:
    """Accuracy of every contender at every budget, and the shares from which nothing is lost."""
    shares = budgets(tables, data)
    lines = []
    for contender in CONTENDERS[data]:
        curve = pooled(tables, data, *contender)
        points = [f"{100 * curve.at(share):.2f}" for share in shares]
        if contender.spend == "each":  # each example's limit is rounded down to whole parts
            points = [f"{100 * a:.2f}" for a in curve.accuracy[1:-1]]
        lines.append((contender.name, *points, *(percent(curve.within(loss), 2) for loss in (0.001, 0.003))))
    head = (data, *(percent(share) for share in shares), "within 0.1", "within 0.3")
    source = SOURCES[data]
    note = (
        f"{source.answer.capitalize()}s right, per cent, all test {source.parts} pooled, by the share of "
        f"{source.parts} that may have costly features; and the share from which no more than 0.1 or "
        "0.3 points are lost.\n"
    )
    return note + "\n" + table(head, lines)


def _where_time_goes(tables: Tables) -> str:
    lines = []
    for data in data_sets(tables):
        for record in select(tables["times"], data=data):
            nothing_else = record["policy"] in (NOTHING, EVERYTHING)
            if not nothing_else and record["requested"] != 0.3:
                continue
            name = str(record["policy"])
            said = NAMES.get(name, f"{name} bought") + (", equal share" if record["spend"] == "each" else "")
            times = (number(float(record[f"{what}_us"]), 2) for what in ("features", "policy", "inference", "total"))
            lines.append(
                (data, said, percent(float(record["share"]), 2), *times, number(float(record["inferences"]), 2))
            )
    head = ("data", "policy", "share", "features", "policy, µs", "inference", "total", "inferences a part")
    return table(head, lines)


def _fastest(tables: Tables) -> list[tuple[str, ...]]:
    """The fastest budget of every policy that loses nothing, beside the time of all features."""
    lines = []
    for data in data_sets(tables):
        full = float(full_time(tables, data)["total_us"])
        for name in ("iterated", "one-shot", "simple"):
            if not ran(data, name):
                continue
            own = select(tables["times"], data=data, policy=name, spend="mean")
            curve = pooled(tables, data, name)
            good = [r for r in own if curve.at(float(r["share"])) >= curve.full - NEGLIGIBLE]
            if not good:
                continue
            best = min(good, key=lambda r: float(r["total_us"]))
            lines.append(
                (
                    data,
                    NAMES[name],
                    percent(float(best["share"]), 2),
                    point(curve.at(float(best["share"])) - curve.full),
                    *(number(float(best[f"{what}_us"]), 2) for what in ("features", "policy", "inference", "total")),
                    number(full, 3),
                    f"{number(full / float(best['total_us']), 2)}x",
                )
            )
    return lines


def certificates(records: Sequence[Record]) -> str:
    """Frequency of violated certificates of a budget, and the costs under them."""
    violated = sum(int(r["violated"]) for r in records)
    certified = sum(r["status"] == "certified" for r in records)
    share, best = float(np.mean([float(r["share"]) for r in records])), float(records[0]["best_share"])
    return (
        f"A certificate on OCR promises with {percent(CONFIDENCE)} confidence that at most {percent(RISK)} of the "
        f"letters differ from the answers with all features. {number(int(records[0]['words']))} words were drawn with "
        f"replacement {len(records)} times: {certified} runs were certified, and {violated} of the promises were "
        f"violated. {percent(share)} of the letters were bought in the mean, {number(share / best)} times the "
        f"{percent(best)} of the best budget that is not certified.\n"
    )


def _arcs(tables: Tables, data: str) -> str:
    lines = []
    for way in WAYS:
        own = speed(tables, data, way)
        base = speed(tables, data, WAYS[0])
        lines.append(
            (
                way.filter,
                f"{way.margin:g}" if way.margin < float("inf") else "—",
                percent(pooled_uas(tables, data, way), 4),
                number(float(own["words_per_second"]), 3),
                f"{number(float(own['words_per_second']) / float(base['words_per_second']), 3)}x",
                number(float(own["arcs_per_word"])),
                *(number(float(own[step]), 2) for step in ("features", "scores", "decoding")),
            )
        )
    head = ("length filter", "margin", "UAS", "words/s", "", "arcs a word", "features", "scores, µs a word", "decoding")
    return f"{data}, test sentences:\n\n" + table(head, lines)
