"""The dependency parser on real treebanks, one thread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wald.datasets import fetch_treebank
from wald.structured import DependencyParser, Treebank

from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "Dependency parsing, gold tags, 10 epochs, one thread, from tokens in memory"

#: UAS of all words and words per second of other parsers, as published: the benchmark does not run them.
PEER_UAS = {
    "ewt": "IllinoisSL 83.96 %, TurboParser basic 84.31 %, RBGParser basic 86.80 %",
    "ptb-sample": "IllinoisSL 85.63 %, TurboParser basic 86.77 %, RBGParser basic 88.07 %",
}
PEER_SPEED = {
    "ewt": "IllinoisSL 2 800, TurboParser basic 9 100, RBGParser basic 9 100",
    "ptb-sample": "IllinoisSL 2 100, TurboParser basic 8 100, RBGParser basic 6 300",
}
#: Microseconds a word in the paper's own system.
PAPER = "the paper's own system: features 165 (tags) or 275 (all), decoding 75 us a word"
#: Margins of likely arcs, chosen on EWT's development file to lose at most 0.2 points of UAS (4) or 1 point (2.5).
MARGINS = (4.0, 2.5)
NAMES = {"ewt": "EWT", "ptb-sample": "Penn sample"}


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    figures = []
    for name in NAMES:
        train, test = fetch_treebank(name, subset="train"), fetch_treebank(name, subset="test")
        if how.quick:
            train = train[:2000]
        figures += _measured(name, "all features", {}, train, test, how)
        figures += _measured(name, "tags alone", {"feature_groups": "tags"}, train, test, how)
        figures += _measured(name, "all features, Chu-Liu-Edmonds", {"decoder": "chu-liu-edmonds"}, train, test, how)
        figures += _chosen_arcs(name, train, test, how)
    return figures


def _measured(
    name: str, what: str, parameters: dict[str, str], train: Treebank, test: Treebank, how: Run
) -> Iterator[Figure]:
    what = f"{NAMES[name]}, {what}"
    parser = DependencyParser(**parameters, relations=False, random_state=0)
    fit = measure({"fit": Task(lambda: parser.fit(train))}, 1)["fit"]
    scores = parser.evaluate(test)
    splits: list[dict[str, float]] = []

    def parse() -> None:
        parser.predict(test)
        splits.append(parser.seconds_)

    t = measure({"parse": Task(parse)}, how.repeats)["parse"]
    split = sorted(splits, key=lambda s: sum(s.values()))[len(splits) // 2]
    micro = ", ".join(f"{step} {1e6 * split[step] / test.n_words:.3g}" for step in ("features", "scores", "decoding"))
    yield Figure(
        f"{what}: UAS of all words",
        100 * scores.uas,
        "%",
        "" if parameters else PEER_UAS[name],
        f"{100 * scores.uas_no_punctuation:.2f} % without punctuation",
    )
    yield Figure(f"{what}: training", fit.median, "s", note=f"{train.n_words} words, 10 epochs")
    yield Figure(
        f"{what}: words per second",
        test.n_words / t.median,
        "",
        PAPER if parameters else f"{PEER_SPEED[name]}; {PAPER}",
        f"{t.spread}; microseconds a word: {micro}",
    )
    if parameters:
        return
    text = test.to_bytes()
    read = measure({"read": Task(lambda: Treebank(text))}, how.repeats)["read"]
    yield Figure(
        f"{NAMES[name]}: words read per second", test.n_words / read.median, note=f"CoNLL-U in memory, {read.spread}"
    )
    if name == "ewt":
        labelled = DependencyParser(random_state=0).fit(train)
        both = labelled.evaluate(test)
        t = measure({"parse": Task(lambda: labelled.predict(test))}, how.repeats)["parse"]
        yield Figure(f"{what}: LAS of all words", 100 * both.las, "%", note="relations without subtypes")
        yield Figure(f"{what}: words per second with relations", test.n_words / t.median, note=t.spread)


def _predict(parser: DependencyParser, setting: dict[str, object], test: Treebank) -> Treebank:
    return parser.set_params(**setting).predict(test)


def _chosen_arcs(name: str, train: Treebank, test: Treebank, how: Run) -> Iterator[Figure]:
    """Compare all features for likely arcs only with all features for all arcs, with and without the length filter."""
    parser = DependencyParser(arc_margin=4.0, relations=False, random_state=0).fit(train)
    settings: dict[str, dict[str, object]] = {
        "unfiltered": {"arc_margin": None, "length_filter": None},
        "filter alone": {"arc_margin": None, "length_filter": "slack"},
    }
    settings |= {f"within {margin:g}": {"arc_margin": margin, "length_filter": "slack"} for margin in MARGINS}
    uas, arcs = {}, {}
    for what, setting in settings.items():
        uas[what] = 100 * parser.set_params(**setting).score(test)
        arcs[what] = parser.n_scored_arcs_
    tasks = {what: Task(partial(_predict, parser, setting, test)) for what, setting in settings.items()}
    times = measure(tasks, how.repeats)
    speed = {what: test.n_words / t.median for what, t in times.items()}
    for margin in MARGINS:
        what = f"within {margin:g}"
        title = f"{NAMES[name]}, arcs {what} of the likeliest"
        yield Figure(
            f"{title}: UAS lost",
            uas["filter alone"] - uas[what],
            "points",
            "all arcs that the length filter leaves",
            f"{uas[what]:.2f} of {uas['filter alone']:.2f} %; without the filter {uas['unfiltered']:.2f} %",
        )
        yield Figure(
            f"{title}: words per second",
            speed[what],
            "",
            f"all arcs that the length filter leaves {speed['filter alone']:.0f}, "
            f"without the filter {speed['unfiltered']:.0f}",
            times[what].spread,
        )
        yield Figure(
            f"{title}: share of arcs with all features",
            100 * arcs[what] / arcs["filter alone"],
            "%",
            "all arcs that the length filter leaves",
            f"{100 * arcs[what] / arcs['unfiltered']:.1f} % of the arcs without the filter",
        )
