"""H: the dependency parser on real treebanks, one thread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wald.datasets import fetch_treebank
from wald.structured import DependencyParser, Treebank

from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "H. Dependency parsing, gold tags, 10 epochs, one thread, from tokens in memory"

#: UAS of all words and words per second, published or measured by others; they cannot be run here.
PEERS = {
    "ewt": "IllinoisSL 83.96, 2 800; TurboParser basic 84.31, 9 100; RBGParser basic 86.80, 9 100",
    "ptb-sample": "IllinoisSL 85.63, 2 100; TurboParser basic 86.77, 8 100; RBGParser basic 88.07, 6 300",
}
#: Feature extraction of tags and of everything, and decoding, in the paper's own system.
PAPER = "the paper's own system: features 165 (tags) or 275 (all), decoding 75"
ASKED = {"ewt": (0.882, 0.872, 30, 150_000, 400_000), "ptb-sample": (0.893, None, None, 120_000, 320_000)}
#: UAS that choosing arcs may cost, and its margin; chosen on EWT's dev file.
MARGINS = {"nearly nothing lost": (0.002, 4.0), "one point lost": (0.01, 2.5)}
NAMES = {"ewt": "EWT", "ptb-sample": "Penn sample"}


def run(how: Run) -> list[Figure]:
    """Measure setting H."""
    figures = []
    for name, (uas, uas_any, seconds, speed, speed_tags) in ASKED.items():
        train, test = fetch_treebank(name, subset="train"), fetch_treebank(name, subset="test")
        if how.quick:
            train = train[:2000]
        figures += _measured(name, "all features", {}, train, test, how, uas, seconds, speed)
        figures += _measured(name, "tags alone", {"features": "tags"}, train, test, how, None, None, speed_tags)
        tree = {"decoder": "chu-liu-edmonds"}
        figures += _measured(name, "all features, Chu-Liu-Edmonds", tree, train, test, how, uas_any, seconds, speed)
        figures += _chosen_arcs(name, train, test, how)
    return figures


def _measured(
    name: str,
    what: str,
    parameters: dict[str, str],
    train: Treebank,
    test: Treebank,
    how: Run,
    uas: float | None,
    seconds: float | None,
    speed: int,
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
    peers = "" if parameters else f"; UAS and words/s of peers: {PEERS[name]}"
    no_punctuation = f"{100 * scores.uas_no_punctuation:.2f} without punctuation"
    yield Figure(
        f"{what}: UAS of all words",
        scores.uas,
        "",
        at_least=uas,
        note=f"{100 * scores.uas:.2f} %, {no_punctuation}{peers}",
    )
    yield Figure(f"{what}: training", fit.median, " s", at_most=seconds, note=f"{train.n_words} words, 10 epochs")
    yield Figure(
        f"{what}: words per second",
        test.n_words / t.median,
        "",
        at_least=speed,
        note=f"{t.spread}; microseconds a word: {micro}; {PAPER}",
    )
    if parameters:
        return
    text = test.to_bytes()
    read = measure({"read": Task(lambda: Treebank(text))}, how.repeats)["read"]
    yield Figure(
        f"{NAMES[name]}: words read per second",
        test.n_words / read.median,
        "",
        at_least=test.n_words / t.median,
        note=f"CoNLL-U in memory, {read.spread}",
    )
    if name == "ewt":
        labelled = DependencyParser(random_state=0).fit(train)
        both = labelled.evaluate(test)
        t = measure({"parse": Task(lambda: labelled.predict(test))}, how.repeats)["parse"]
        yield Figure(
            f"{what}: LAS of all words", both.las, "", note=f"{100 * both.las:.2f} %; relations without subtypes"
        )
        yield Figure(f"{what}: words per second with relations", test.n_words / t.median, "", note=t.spread)


def _predict(parser: DependencyParser, setting: dict[str, object], test: Treebank) -> Treebank:
    return parser.set_params(**setting).predict(test)


def _chosen_arcs(name: str, train: Treebank, test: Treebank, how: Run) -> Iterator[Figure]:
    """All features for likely arcs only, against all features for all arcs, with the length filter and without."""
    parser = DependencyParser(arc_margin=4.0, relations=False, random_state=0).fit(train)
    settings: dict[str, dict[str, object]] = {
        "unfiltered": {"arc_margin": None, "length_filter": None},
        "filter alone": {"arc_margin": None, "length_filter": "slack"},
    }
    settings |= {what: {"arc_margin": margin, "length_filter": "slack"} for what, (_, margin) in MARGINS.items()}
    uas, arcs = {}, {}
    for what, setting in settings.items():
        uas[what] = parser.set_params(**setting).score(test)
        arcs[what] = parser.n_scored_arcs_
    tasks = {what: Task(partial(_predict, parser, setting, test)) for what, setting in settings.items()}
    times = measure(tasks, how.repeats)
    speed = {what: test.n_words / t.median for what, t in times.items()}
    for what, (lost, margin) in MARGINS.items():
        title = f"{NAMES[name]}, arcs within {margin:g} of the likeliest"
        strict = what == "nearly nothing lost"
        yield Figure(
            f"{title}: UAS lost",
            uas["filter alone"] - uas[what],
            "",
            at_most=lost,
            note=f"{100 * uas[what]:.2f} of {100 * uas['filter alone']:.2f} %; all {100 * uas['unfiltered']:.2f}",
        )
        yield Figure(
            f"{title}: words per second",
            speed[what],
            "",
            at_least=300_000 if strict else max(3 * speed["unfiltered"], speed["filter alone"]),
            note=f"{times[what].spread}; all arcs {speed['filter alone']:.0f}, unfiltered {speed['unfiltered']:.0f}",
        )
        yield Figure(
            f"{title}: share of arcs with all features",
            arcs[what] / arcs["filter alone"],
            "",
            at_most=0.25 if strict else None,
            note=f"of those that the length filter leaves; {arcs[what] / arcs['unfiltered']:.3f} of all",
        )
