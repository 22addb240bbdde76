"""The page: what was run, the paper's claims beside our figures, the aims, times, and examples step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._common import number, percent, select, table
from .aims import all_aims, total_times
from .arcs import WAYS
from .claims import all_claims
from .contenders import CONTENDERS, NAMES
from .curves import Tables
from .figures import asked, data_sets, pooled, pooled_uas, speed
from .material import SOURCES
from .parsing import all_parsing_claims, treebanks
from .times import EVERYTHING, NOTHING

#: What each picture shows, for those that stand on the page.
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

_QUICK = """
**This was a quick run: few examples, small models, few budgets, and {seeds} seeds. It shows that everything runs; its
figures are not to be quoted.**
"""

_READINGS = """\
One model serves all states of a task: it learns from examples whose parts have the costly features at random. Policies
learn from predictions for folds that clones of the model did not see, drawn as test examples are: the few spellings of
the handwritten words come back in other hands, but for *new words*, where folds hold out spellings, too. The
classifiers of the one-shot policy are set to a budget by a threshold; on these curves it is set on the test examples,
without their labels, so that shares are the ones asked for. Of the pseudo-labels by trajectory, what an example can do
without is taken back, and parts that need costly features weigh as much as all others together; the anytime policy
weighs additions by what they are better than one that changes nothing. Neither is in the paper. *Complex* policy
features look at the model's answer and its margins, *simple* ones at the part alone. With *equal share*, every example
has the same share of its parts bought; else money moves between examples, and the mean is kept. *Iterated* is this
library's own: rank parts by the probability that their answer is wrong, buy, answer again, rank again; *label-free*,
by the probability that it differs from the answer with everything.
"""

_TIMES = """\
Times are microseconds a part on one thread, from the cheap features of all test examples to their last answer; they
are this run's own, on a machine that others may have used, and to be taken lightly. Our HOG and our parser's templates
are so fast that a policy, and the inferences it asks for, can cost more than what they save: there, all features are
the fastest choice, which `BudgetedPredictor(costs="time")` finds by itself. Where features ask a second model, they
are not.
"""


def write_findings(folder: Path, tables: Tables, files: Sequence[Path], *, quick: bool) -> Path:
    """Write the page ``findings.md`` into the folder, and return its path."""
    n_seeds = len({r["seed"] for r in tables["curves"]})
    written = {path.stem for path in files}
    claims = [*all_claims(tables), *all_parsing_claims(tables)]
    parts = [
        _HEAD.format(seeds=n_seeds) + (_QUICK.format(seeds=n_seeds) if quick else ""),
        _data(tables),
        _READINGS,
        "## The paper's claims\n",
        table(("", "the paper", "here", "verdict"), [(i + 1, *claim) for i, claim in enumerate(claims)]),
        "## What was to be reached\n",
        table(("setting", "the paper", "wanted", "seen", ""), [aim.line for aim in all_aims(tables)]),
        "## Accuracy by budget\n",
        *(_by_budget(tables, data) for data in data_sets(tables)),
        "## Time\n",
        _TIMES,
        _where_time_goes(tables),
        "The least time at most 0.2 points below all features, all examples pooled:\n",
        table(
            ("data", "policy", "share", "points", "features", "policy, µs", "inference", "total", "all features", ""),
            total_times(tables),
        ),
        "## Likely arcs\n",
        *(_arcs(tables, data) for data in treebanks(tables)),
        "## Pictures\n",
        *(f"{words}:\n\n![{words}]({name}.png)\n" for name, words in SHOWN.items() if name in written),
        "## Files\n",
        "\n".join(f"- [{path.name}]({path.name})" for path in files if path.suffix != ".svg") + "\n",
        "Every picture is there as SVG too.\n",
    ]
    path = folder / "findings.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


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
    """Accuracy of every contender at every budget, and from where nothing is lost."""
    budgets = asked(tables, data)
    lines = []
    for contender in CONTENDERS[data]:
        curve = pooled(tables, data, *contender)
        points = [f"{100 * curve.at(share):.2f}" for share in budgets]
        if contender.spend == "each":  # what each example may spend at most is rounded down to whole parts
            points = [f"{100 * a:.2f}" for a in curve.accuracy[1:-1]]
        lines.append((contender.name, *points, *(percent(curve.within(loss), 2) for loss in (0.001, 0.003))))
    head = (data, *(percent(share) for share in budgets), "within 0.1", "within 0.3")
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
            if not nothing_else and record["asked"] != 0.3:
                continue
            name = str(record["policy"])
            said = NAMES.get(name, f"{name} bought") + (", equal share" if record["spend"] == "each" else "")
            times = (number(float(record[f"{what}_us"]), 2) for what in ("features", "policy", "inference", "total"))
            lines.append(
                (data, said, percent(float(record["share"]), 2), *times, number(float(record["inferences"]), 2))
            )
    head = ("data", "policy", "share", "features", "policy, µs", "inference", "total", "inferences a part")
    return table(head, lines)


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
