"""Write the figures of README.md from bench/results/: ``make readme``.

The text between ``<!-- figures NAME -->`` and ``<!-- end -->`` is the function NAME of this file, so that no figure is
written by hand. ``tests/test_docs.py`` checks that the page is up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # before the imports below, which need it: E402

from bench.report import Figure  # noqa: E402
from bench.results import FOLDER, Results  # noqa: E402

PAGE = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- figures (?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- end -->)", re.DOTALL)
#: Peers that are not the library which trained the model.
OTHERS = ("oneDAL", "pred_early_stop")


def figure(setting: str, name: str, peer: str = "") -> Figure:
    """Return the one figure of this name, and of this peer where one is given."""
    found = [f for f in Results.load(setting).figures if f.name == name and f.peer.startswith(peer)]
    if len(found) != 1:
        raise ValueError(f"bench/results/{setting}.json has {len(found)} figures {name!r} against {peer!r}, not one")
    return found[0]


def cell(setting: str, name: str, peer: str = "", digits: int = 3) -> str:
    """Return a figure with its unit, with as many digits as a reader needs."""
    found = figure(setting, name, peer)
    return quantity(found.value, found.unit, digits)


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with its unit: 3 905x, 4.4 ms, 0.04 %."""
    number = f"{value:,.0f}".replace(",", " ") if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"
    return f"{number}{'' if unit == 'x' else ' '}{unit}"


def times(setting: str, name: str, peer: str) -> tuple[str, str]:
    """Return the time of wald and that of the peer, from the note of a speed: "4.4 ms (...); peer 254 ms"."""
    note = figure(setting, name, peer).note
    own, its = re.match(r"([\d.]+) (\w+)", note), re.search(r"peer ([\d.]+) (\w+)", note)
    if own is None:
        raise ValueError(f"bench/results/{setting}.json: the note of {name!r} does not begin with a time: {note!r}")
    return quantity(float(own[1]), own[2], 2), quantity(float(its[1]), its[2]) if its else ""


def range_of_trees() -> str:
    """Return the least and the greatest speed at risk 0 against the library itself, both rounded down."""
    speeds = [
        found.value
        for setting in ("trees-wide", "trees-flights", "trees-classes")
        for found in Results.load(setting).figures
        if "risk 0 %: speed" in found.name and not found.peer.startswith(OTHERS)
    ]
    return f"{int(min(speeds))} to {int(max(speeds))}"


def trees() -> str:
    """Return the table of boosted trees."""
    head = "| 500 trees, 1 thread | the library itself | `risk=0` | | `risk=0.001` | | labels that differ |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for library, name, peer in (
        ("LightGBM", "LightGBM", "Booster.predict"),
        ("XGBoost", "XGBoost (`inplace_predict`)", "inplace_predict"),
        ("CatBoost", "CatBoost (`Pool`)", "predict(Pool)"),
        ("HistGradientBoosting", "`HistGradientBoostingClassifier`", "its own predict"),
    ):
        cells = [name]
        for risk in ("0 %", "0.1 %"):
            speed = f"{library}, risk {risk}: speed, 1 thread(s)"
            own, its = times("trees-wide", speed, peer)
            cells += [its] * (risk == "0 %") + [own, cell("trees-wide", speed, peer)]
        lines.append(row(*cells, cell("trees-wide", f"{library}, risk 0.1 %: test disagreement")))
    ones = ["LightGBM, one row", cell("trees-calls", "Booster.predict, median", digits=2)]
    for risk in ("0 %", "0.1 %"):
        name = f"risk {risk}: predict_one"
        ones.append(cell("trees-calls", f"{name}, median", digits=2))
        ones.append(cell("trees-calls", f"{name}, speed", "Booster.predict", digits=2))
    return "\n".join([*lines, row(*ones, ""), regressor(), *ranker()])


def regressor() -> str:
    """Return the line of a regressor, whose values are evaluated in full."""
    speed = "LightGBM: speed, exact"
    its, own, n_rows = of_rows("values", speed)
    return row(f"`LGBMRegressor`, {n_rows} flights", its, own, cell("values", speed), "", "", "")


def ranker() -> list[str]:
    """Return the line of a ranker, if it was measured: in full, and with 2 % of the first ten missing at most."""
    if not (FOLDER / "ranking.json").exists():
        return []
    full, early = "exact: speed", "2% missing: speed"
    its, own, n_rows = of_rows("ranking", full)
    name = f"`LGBMRanker`, {n_rows} posts, `risk=0.02`"
    cells = [its, own, cell("ranking", full), of_rows("ranking", early)[1], cell("ranking", early)]
    return [row(name, *cells, f"{cell('ranking', '2% missing: of the first 10', digits=2)} of the first ten")]


def of_rows(setting: str, name: str) -> tuple[str, str, str]:
    """Return the times of the peer and of wald for all rows, and their number, from a note of "305 ns a row; ..."."""
    note = figure(setting, name).note
    found = re.match(r"([\d.e+]+) ns a row; peer ([\d.e+]+) ns; (\d+) rows", note)
    if found is None:
        raise ValueError(f"bench/results/{setting}.json: the note of {name!r} has no times of rows: {note!r}")
    n_rows = int(found[3])
    own, its = (quantity(float(each) * n_rows / 1e6, "ms") for each in found.groups()[:2])
    return its, own, f"{n_rows:,}".replace(",", " ")


def svms() -> str:
    """Return the table of kernel machines."""
    lines = ["| SVMs, 2 threads | scikit-learn | `risk=0.001` | | labels that differ |", "|---|---|---|---|---|"]
    for setting, name in (
        ("svm-binary", "RBF `SVC`, one digit against the rest"),
        ("svm-multiclass", "`SVC` for ten digits"),
    ):
        speed = ("speed, n_jobs=2", "svc.predict")
        its = cell(setting, "time of svc.predict", digits=2)
        own = times(setting, *speed)[0]
        lines.append(row(name, its, own, cell(setting, *speed), cell(setting, "test disagreement")))
    return "\n".join(lines)


def frames() -> str:
    """Return the speeds on frames."""
    pandas, polars = (figure("frames", f"speed, {kind}, n_jobs=2") for kind in ("pandas, one block", "polars"))
    return f"{pandas.value:.0f} (pandas) to {polars.value:.0f} (polars)"


def row(*cells: str) -> str:
    """Return a line of a table."""
    return re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(cells)} |")


BLOCKS: dict[str, tuple[Callable[[], str], str]] = {
    "range-of-trees": (range_of_trees, ""),
    "trees": (trees, "\n"),
    "svms": (svms, "\n"),
    "frames": (frames, ""),
}


def page() -> str:
    """Return the page as it should be."""

    def block(found: re.Match[str]) -> str:
        write, around = BLOCKS[found["name"]]
        return f"{found[1]}{around}{write()}{around}{found[4]}"

    return BLOCK.sub(block, PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
