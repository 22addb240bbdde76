"""Rankings on the command line: the groups of rows, the promise about their first rows, and the stages of a race."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..utils.figures import number
from .answers import as_user_error, grid, note
from .errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from ..early_exit.estimators import EarlyExit
    from ..reporting.timing import Rival
    from ..utils.alternating import Timing
    from .rows import Part

#: Groups that a timed run ranks one by one.
SINGLE_GROUPS = 20


def require_race(
    risk: float | dict[str, float] | None, k: int | None, groups: str | None, data: object
) -> dict[str, Any]:
    """The parameters of a ranker whose rows race; none where every row is evaluated in full.

    Parameters
    ----------
    risk : float, dict or None
        None where it is not said.
    k : int or None
    groups : str or None
        The column that names groups.
    data : object or None
        None where there are no rows.

    Raises
    ------
    UserError
        If one of them is missing.
    """
    if isinstance(risk, dict):
        raise UserError("--risk of a ranker is one number, about the first rows of all groups, as --risk 0.02.")
    if not risk:
        given = [name for name, value in (("--k", k), ("--groups", groups)) if value is not None]
        if given:
            raise UserError(
                f"{given[0]} is about rows that leave early, and without a --risk, every row of a ranker is evaluated "
                "in full: say --risk 0.02, for example, or leave it out."
            )
        return {}
    if data is None or groups is None:
        raise UserError(
            f"--risk {risk:g} of a ranker is certified on groups of rows: name DATA, rows that the model was not "
            "trained on, and --groups COLUMN, which names the group of each row, such as its query."
        )
    return {"risk": risk, **({} if k is None else {"k": k})}


def require_ranker(fast: EarlyExit, groups: str | None) -> None:
    """Raise UserError for --groups where no rows race; say that they are evaluated in full where they would race."""
    from ..early_exit.group_answers import races, require_groups

    if groups is not None:
        with as_user_error(f"--groups {groups}"):
            require_groups(fast)
    elif races(fast):
        note("Without --groups COLUMN, which names the group of each row, every row is evaluated in full.")


def ranking_facts(fast: EarlyExit) -> dict[str, Any]:
    """The promise about the first rows of groups, and its stages, for JSON; nothing for other models."""
    from dataclasses import asdict

    from ..early_exit.group_answers import ranking_promise

    certificate, plan = ranking_promise(fast), getattr(fast, "ranking_plan_", None)
    if certificate is None:
        return {}
    facts = {"sentence": str(certificate), "holds": certificate.verify(), **asdict(certificate)}
    stages = [] if plan is None else zip(plan.stage_costs.tolist(), [*plan.usual.tolist(), None], strict=True)
    looks = [{"trees": trees, "usual_error": usual} for trees, usual in stages]
    return {"ranking": {"certificate": facts, "plan": {"q": None if plan is None else plan.q, "looks": looks}}}


def stages_of_race(plan: dict[str, Any]) -> Table:
    """The stages of a race as a table."""
    table = grid([], ("look", "trees", "leaves below the k-th best by"))
    for i, look in enumerate(plan["looks"]):
        last = look["usual_error"] is None
        below = "" if last else number(plan["q"] * look["usual_error"])
        table.add_row("all" if last else str(i + 1), number(look["trees"]), below)
    return table


def bench_groups(rival: Rival, fast: Any, part: Part, repeats: int) -> tuple[dict[str, Any], list[Timing]]:
    """Time groups one by one and all of them, in turns with the wrapped model, and compare the first rows."""
    import numpy as np

    from ..early_exit.group_answers import answered, missing_of, promise_of, ranking_promise
    from ..inspection.promises import broken_ranking
    from ..sources import source_of
    from ..utils.alternating import in_turns
    from ..utils.progress import share_done
    from .answers import progress_console

    source, keys = source_of(part.rows), np.asarray(part.groups)
    full, found = np.asarray(rival.predict(rival.rows(part.rows))), answered(fast, part.rows, keys)
    numbers = np.unique(keys.astype(str), return_inverse=True)[1]
    some = [np.flatnonzero(numbers == g) for g in range(min(SINGLE_GROUPS, int(numbers.max()) + 1))]
    ones = [(source.take(rows).rows, np.zeros(len(rows))) for rows in some]
    runs = [("one group", round(float(np.mean([*map(len, some)]))), ones), ("all", len(keys), [(part.rows, keys)])]
    cases = []
    with share_done(progress_console(), "timing in turns") as report:
        for i, (name, n_rows, batches) in enumerate(runs):
            theirs = [rival.rows(rows) for rows, _ in batches]
            timed = in_turns(
                name,
                n_rows,
                rival.predict,
                theirs,
                lambda one: fast.predict(one[0], groups=one[1]),
                batches,
                repeats=repeats,
            )
            report((i + 1) / len(runs))
            cases.append(timed)
    promise = ranking_promise(fast)
    missing = missing_of(full, found.labels, keys, fast.k)
    return {
        "n_rows": len(keys),
        "n_groups": len(missing),
        "k": fast.k,
        "missing": float(missing.mean()),
        "mean_cost": float(found.costs.mean()),
        "full_cost": fast.compiled_plan_.plan.full_cost,
        "certificate": str(promise_of(fast)),
        "broken": None if promise is None else broken_ranking(promise, missing),
    }, cases
