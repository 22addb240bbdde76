"""The page: the paper's claims beside our figures, and the ladder of this library beside the paper's predictors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._common import Estimate, Record, interval, list_of, number, over_seeds, per_seed, percent, select, table
from .._page import claims_section, files_section, quick_note, write_page
from .claims import FIGURES, all_claims, contest, contests, data_sets
from .material import DESCRIPTIONS
from .predictors import EVERY
from .tradeoff import PART, RISK, SHARES, Tables

#: Pictures that the page shows.
_SHOWN = ("stop-error-against-terms", "terms-at-one-in-a-thousand")

_HEAD = """\
# *Focus of Attention for Linear Predictors*, run again

R. Pelossof and Z. Ying, arXiv 1212.6659. Every figure on this page was computed by the run that wrote it, with
{seeds} seeds, which draw splits, orders and walks; in brackets are 95 % intervals over the seeds (Student's t; MNIST's
three models are averaged within a seed first). Models were trained once each. Rows that train, that plan, that choose
thresholds and that are reported on are disjoint.
"""

_READINGS = f"""\
How the paper was read: support vectors in one random order per seed; class means of the terms over plan rows that the
full model calls positive (the paper takes test rows); exits as negative only, below a level that is swept; a stage of
{EVERY} terms instead of one; the budgeted predictor evaluates the same first terms, as many as the
attentive one needs on average on the same test rows, and puts the others at their mean over plan rows. A stop error is
an answer that differs from the full model's.
"""


def write_findings(
    folder: Path, tables: Tables, models: Sequence[Record], files: Sequence[Path], *, quick: bool
) -> Path:
    """Write the page ``findings.md`` into the folder, and return its path."""
    n_seeds = len({r["seed"] for r in tables["curves"]})
    parts = [
        _HEAD.format(seeds=n_seeds) + quick_note(quick, "small models, few rows", n_seeds),
        _models(models),
        _READINGS,
        claims_section(all_claims(tables)),
        "### Attentive against budgeted\n",
        f"Differences at the same mean cost ({list_of(SHARES, SHARES)} of the terms), paired by seed; better and worse "
        "where the interval, each for itself, leaves out 0.\n",
        table(("data set", "figure", "attentive better", "attentive worse", "difference"), contests(tables)),
        _why_attentive_loses(tables, models),
        "## The ladder\n",
        _ladder(tables, models),
        *(f"![{name.replace('-', ' ')}]({name}.png)\n" for name in _SHOWN),
        files_section(files),
    ]
    return write_page(folder, parts)


def _models(models: Sequence[Record]) -> str:
    lines = [
        (
            f"{m['data']}, {m['model']}",
            m["kernel"],
            number(float(m["train_rows"])),
            number(float(m["support_vectors"])),
            percent(float(m["label_error"])),
            " / ".join(number(float(m[f"{role}_rows"])) for role in ("plan", "certificate", "test")),
        )
        for m in models
    ]
    head = ("model", "kernel", "training rows", "support vectors", "label error", "rows to plan / choose / report")
    said = "\n".join(f"- {name}: {words}." for name, words in DESCRIPTIONS.items())
    return table(head, lines) + "\n" + said + "\n"


def _why_attentive_loses(tables: Tables, models: Sequence[Record]) -> str:
    """Why the one-sided predictor is worse at small costs; empty where it is not."""
    by_cost = [figure for figure in FIGURES if not figure.by_recall]
    said = []
    for data in data_sets(tables):
        worse = [max(contest(tables, data, figure)[1], default=0.0) for figure in by_cost]
        if any(worse):
            positives = float(np.mean([float(m["positives"]) for m in select(models, data=data)]))
            said.append(f"{data} {percent(positives, 2)}; {percent(worse[0], 2)}; {percent(max(worse[1:]), 2)}")
    if not said:
        return ""
    return (
        "Where attentive is worse: it can leave early only by rejecting, and a row that is not rejected costs every "
        "term. Keeping all positives therefore costs at least their share of the rows, before any negative is "
        "evaluated; below that, positives must be rejected, while the budgeted predictor spends the same on every row. "
        "Average precision suffers besides from the one score that rejected rows share (8). Share of positives; "
        "highest mean cost at which attentive is worse in average precision; and in the figures that do not rank "
        "rejected rows alike:\n\n" + "\n".join(f"- {line}" for line in said) + "\n"
    )


# ---- the ladder ------------------------------------------------------------------------------------------------------


def _ladder(tables: Tables, models: Sequence[Record]) -> str:
    """Terms at 0.1 % disagreement, for every model, and how much its first terms explain."""
    lines = [_at_risk_line(tables["at_risk"], model) for model in models]
    head = ("model", "full", "budgeted", "attentive", "ladder", "ladder / attentive", "ladder, certified")
    return "\n".join(
        [
            f"Support vectors per row at {percent(RISK)} disagreement; thresholds (and budgets) chosen on the same "
            "rows, and in square brackets the disagreement that followed on the test rows. The certified ladder "
            f"promises {percent(RISK)} with 95 % confidence. Landmarks count as support vectors.\n",
            table(head, lines),
            known_scores(tables, models),
        ]
    )


def _at_risk_line(records: Sequence[Record], model: Record) -> list[str]:
    def cell(predictor: str) -> str:
        chosen = _of(records, model, predictor)
        terms = over_seeds(per_seed(chosen, "terms"))
        return f"{interval(terms)} [{percent(float(np.mean(per_seed(chosen, 'disagreement'))), 2)}]"

    return [
        f"{model['data']}, {model['model']}",
        number(float(model["support_vectors"])),
        *(cell(p) for p in ("budgeted", "attentive", "ladder")),
        interval(ratio(records, model)),
        cell("ladder, certified"),
    ]


def _of(records: Sequence[Record], model: Record, predictor: str) -> list[Record]:
    return select(records, data=model["data"], model=model["model"], predictor=predictor)


def ratio(records: Sequence[Record], model: Record, ladder: str = "ladder") -> Estimate:
    """Terms of the ladder over those of the attentive predictor, by seed."""
    terms = [np.array(per_seed(_of(records, model, p), "terms")) for p in (ladder, "attentive")]
    return over_seeds(terms[0] / terms[1])


def known_scores(tables: Tables, models: Sequence[Record]) -> str:
    """The ladder's terms over the attentive predictor's, beside how well the first terms predict the others."""

    def mean(data: str, column: str) -> float:
        return float(np.mean(per_seed(select(tables["known"], data=data), column)))

    lines = []
    for data in data_sets(tables):
        own = select(models, data=data)
        ratios = (
            max((ratio(tables["at_risk"], model, ladder) for model in own), key=lambda r: r.mean)
            for ladder in ("ladder", "ladder, certified")
        )
        terms, all_terms = mean(data, "terms_for_90"), mean(data, "support_vectors")
        lines.append(
            (
                data,
                *(interval(r, percent) for r in ratios),
                f"{number(terms)} of {number(all_terms)} ({percent(terms / all_terms, 2)})",
                percent(mean(data, "open_at_part"), 2),
                percent(mean(data, "wrong_at_part"), 2),
                number(mean(data, "effective_terms"), 2),
            )
        )
    head = (
        *("data set", "ladder / attentive", "certified / attentive", "terms for 90 % of the variance"),
        *("variance open", "wrong signs", "independent terms"),
    )
    text = (
        "The ladder gains where the first terms predict the others well. Ratios are those of the data set's worst "
        "model. The other columns: the terms, in the ladder's order, from which the best linear estimate explains 90 % "
        f"of the score's variance; after {percent(PART)} of the terms, the share of the variance that is open and the "
        "share of rows whose estimate has the wrong sign; and the number of independent terms that would be correlated "
        "as much.\n\n" + table(head, lines)
    )
    return text + "".join(f"\n{_linear(model)}\n" for model in models if model["kernel"] == "linear")


def _linear(model: Record) -> str:
    """Why support vectors are the wrong terms of a linear model."""
    return (
        f"{model['data']}, {model['model']}: support vectors are the wrong terms of a linear kernel. A row has "
        f"{number(float(model['nonzeros_per_row']))} values that are not zero, so that the weight vector, to which the "
        'library reduces `SVC(kernel="linear")` by itself, costs as much as one of the '
        f"{number(float(model['support_vectors']))} support vectors."
    )
