"""The page: the paper's claims beside our figures, what the ladder does, and why where it does not do enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .._common import Estimate, Record, interval, list_of, number, over_seeds, per_seed, percent, select, table
from .._page import claims_section, files_section, quick_note, write_page
from .claims import FIGURES, all_claims, contest, contests, data_sets
from .material import DESCRIPTIONS
from .predictors import EVERY
from .tradeoff import RISK, SHARES, Tables

#: Of the attentive predictor's terms, what the ladder may need.
AIM = 0.2
#: Pictures that stand on the page itself.
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
full model calls positive (the paper takes test rows); exits as negative only, below a level that is swept; a look after
every {EVERY} terms instead of every one; the budgeted predictor evaluates the same first terms, as many as the
attentive one needs on average on the same test rows, and puts the others at their mean over plan rows. A stop error is
an answer other than the full model's.
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
    """Why the one-sided predictor loses at small costs, where it does; nothing where it does not."""
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
        "term. Keeping all positives therefore costs at least their share of the rows, before any negative is looked "
        "at; below that, positives must be rejected, while the budgeted predictor spends the same on every row. "
        "Average precision suffers besides from the one score that rejected rows share (8). Share of positives; "
        "highest mean cost at which attentive is worse in average precision; and in the figures that do not rank "
        "rejected rows alike:\n\n" + "\n".join(f"- {line}" for line in said) + "\n"
    )


# ---- the ladder ------------------------------------------------------------------------------------------------------


def _ladder(tables: Tables, models: Sequence[Record]) -> str:
    """Terms at 0.1 % disagreement, for every model; then whether a fifth is reached, and why not."""
    lines = [_at_risk_line(tables["at_risk"], model) for model in models]
    head = ("model", "full", "budgeted", "attentive", "ladder", "ladder / attentive", "ladder, certified")
    text = [
        f"Support vectors per row at {percent(RISK)} disagreement; thresholds (and budgets) chosen on the same rows, "
        "and in square brackets what the disagreement then was on the test rows. The certified ladder promises "
        f"{percent(RISK)} with 95 % confidence. Landmarks count as support vectors.\n",
        table(head, lines),
    ]
    for data in data_sets(tables):
        text.append(_verdict(tables, models, data))
    return "\n".join(text) + "\n"


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


def _verdict(tables: Tables, models: Sequence[Record], data: str) -> str:
    """Whether the ladder needs at most a fifth of the attentive predictor's terms on a data set, and why not."""
    own = select(models, data=data)
    ratios = [ratio(tables["at_risk"], model) for model in own]
    worst = max(ratios, key=lambda r: r.mean)
    reached = all(r.mean <= AIM for r in ratios)
    doubt = " (not beyond doubt)" if (worst.high > AIM) == reached and worst.low <= AIM else ""
    certified = max((ratio(tables["at_risk"], model, "ladder, certified") for model in own), key=lambda r: r.mean)
    found = (
        f"- **{data}**: at most a fifth of the attentive predictor's terms: "
        f"**{'' if reached else 'not '}reached**{doubt}, "
        f"{interval(worst, percent)}{' for the worst of its models' if len(own) > 1 else ''}; certified "
        f"{interval(certified, percent)}."
    )
    return found if reached else f"{found} {_why(tables, models, data)}"


def _why(tables: Tables, models: Sequence[Record], data: str) -> str:
    """What the terms of this data set know of the score, against the other data sets."""

    def mean(name: str, column: str) -> float:
        return float(np.mean(per_seed(select(tables["known"], data=name), column)))

    def knows(name: str) -> str:
        share = mean(name, "terms_for_90") / mean(name, "support_vectors")
        return f"{number(mean(name, 'terms_for_90'))} of {number(mean(name, 'support_vectors'))} ({percent(share, 2)})"

    def at_part(name: str) -> str:
        return f"{percent(mean(name, 'open_at_part'), 2)} and {percent(mean(name, 'wrong_at_part'), 2)}"

    def others(of: Callable[[str], str]) -> str:
        return "; ".join(f"{name} {of(name)}" for name in data_sets(tables) if name != data)

    def independent(name: str) -> str:
        return number(mean(name, "effective_terms"), 2)

    model = select(models, data=data)[0]
    figures = (
        f"for 90 % of the score's variance the best linear estimate in the ladder's order needs {knows(data)} of the "
        f"terms here ({others(knows)}); with a fifth of the terms, the share of the variance that is open and the "
        f"share of rows whose estimate has the wrong sign are {at_part(data)} ({others(at_part)}); the terms are "
        f"correlated like {independent(data)} independent ones ({others(independent)})"
    )
    least_known = max(data_sets(tables), key=lambda name: mean(name, "open_at_part")) == data
    if least_known:
        text = (
            f"Why: the ladder gains where some terms tell much about the others, and here they tell least: {figures}."
        )
    else:
        text = f"Its first terms know as much as those of another data set, so that they are not the reason: {figures}."
    if model["kernel"] == "linear":
        text += (
            f" Support vectors are the wrong terms here: a row has {number(float(model['nonzeros_per_row']))} values "
            f'that are not zero, so that the weight vector, to which the library reduces `SVC(kernel="linear")` by '
            f"itself, costs as much as one of the {number(float(model['support_vectors']))} support vectors."
        )
    return text
