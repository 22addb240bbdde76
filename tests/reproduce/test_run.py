"""The whole run on tiny models: files, pictures, page."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from quick_run import assert_drawn_twice, assert_page_is_complete, records_of, run_quick

import reproduce
from reproduce import focus_of_attention
from reproduce._walks import LENGTHS
from reproduce.focus_of_attention import claims, findings, material

PICTURES = (
    "error-requested-and-seen",
    "terms-needed",
    "stop-error-against-terms",
    "precision-and-recall",
    "terms-at-one-in-a-thousand",
)
TABLES = ("simulated-errors", "simulated-costs", "curves", "precision-recall", "fall", "at-risk", "known", "models")


@pytest.fixture(scope="module")
def written(rbf, linear, tmp_path_factory) -> tuple[Path, str]:
    data = (("Digits", 1, lambda quick: iter([rbf])), ("Digits again", 1, lambda quick: iter([linear])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(material, "DATA", data)
        patch.setattr(material, "DESCRIPTIONS", {"Digits": "RBF kernel", "Digits again": "linear kernel"})
        patch.setattr(focus_of_attention, "_QUICK_WALKS", (300, 60))
        patch.setattr(findings, "DESCRIPTIONS", material.DESCRIPTIONS)
        return run_quick("focus-of-attention", tmp_path_factory)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_tables_parse(written, name):
    lines = records_of(written[0], name)
    assert lines
    words = {"data", "model", "predictor", "drift", "regime", "kernel"}
    for line in lines:
        assert None not in line
        assert all(float(value) >= -1 for column, value in line.items() if column not in words)
    if name != "models":
        assert {line["seed"] for line in lines} == {"0", "1"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_there_twice(written, name):
    assert_drawn_twice(written[0], name)


@pytest.mark.slow
def test_the_page_holds_every_claim_with_a_verdict(written):
    folder, _ = written
    page = (folder / "findings.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    for claim in (
        "constant boundary is conservative",
        "E[T] = O(√(n log 1/√δ))",
        "n to O(√n)",
        "full one's plus the stop error",
        "rejects mostly negatives",
        "beats budgeted in precision and recall",
        "lower stop error",
        "falls steeply",
    ):
        (line,) = [line for line in lines if claim in line]
        assert line.split(" | ")[-1].removesuffix(" |") in {
            *("holds", "holds as a bound", "holds in part", "does not hold", "does not hold everywhere"),
            "not beyond doubt",
            *("needs its premise", "holds without it", "an upper bound, no equality"),
        }
    assert "quick run" in page
    assert "2 seeds" in page
    assert "reached**" not in page  # verdicts are on the paper's claims alone
    assert_page_is_complete(folder, TABLES, PICTURES)
    assert "inf" not in page.replace("infinite", "")


@pytest.mark.slow
def test_figures_on_the_page_are_those_of_the_tables(written):
    folder, _ = written
    page = (folder / "findings.md").read_text("utf-8")
    for model in records_of(folder, "models"):
        chosen = [r for r in records_of(folder, "at-risk") if r["data"] == model["data"] and r["predictor"] == "ladder"]
        mean = sum(float(r["terms"]) for r in chosen) / len(chosen)
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {model['data']}, ") and "[" in line]
        assert f" {reproduce._common.number(mean)} (" in line


@pytest.mark.slow
def test_progress_is_shown(written):
    _, screen = written
    assert "Digits, 5 or more: seed 1" in screen
    assert "9/9" in screen


def test_names_and_mistakes(tmp_path, monkeypatch):
    assert reproduce.names() == ("attentive-perceptron", "focus-of-attention", "resource-constrained")
    names = "attentive-perceptron, focus-of-attention, resource-constrained"
    with pytest.raises(ValueError, match=rf"name must be one of {names}\. Got 'attention'"):
        reproduce.run("attention", tmp_path)
    with pytest.raises(ValueError, match=r"seeds must be at least 2.*Got 1"):
        reproduce.run("focus-of-attention", tmp_path, seeds=1)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"matplotlib, which is not installed: make reproduce"):
        reproduce.run("focus-of-attention", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- verdicts follow from figures ------------------------------------------------------------------------------------


def errors(factor: float, spread: float = 0.01) -> list[dict[str, object]]:
    return [
        {"drift": drift, "seed": seed, "requested": delta, "seen": factor * delta * (1 + spread * seed)}
        for drift in ("edge", *(f"{d:g}" for d in claims.DRIFTS))
        for delta in claims.DELTAS
        for seed in range(3)
    ]


@pytest.mark.parametrize(
    ("factor", "spread", "verdict"),
    [(0.5, 0.01, "holds"), (1.2, 0.01, "does not hold"), (0.5, 0.5, "not beyond doubt")],
)
def test_conservative(factor, spread, verdict):
    assert claims.conservative(errors(factor, spread)).verdict == verdict


@pytest.mark.parametrize(
    ("power", "verdict", "needs"),
    [
        (0.5, "holds", "holds without it"),
        (0.3, "holds as a bound", "holds without it"),
        (0.9, "does not hold", "needs its premise"),
    ],
)
def test_law(power, verdict, needs):
    costs = [
        {"regime": regime, "n": n, "delta": delta, "seed": seed, "mean_terms": (1 + 0.001 * seed) * n**power * caution}
        for regime in ("steady", "thinning")
        for n in LENGTHS
        for delta, caution in ((0.2, 0.8047**0.5), (0.05, 1.4979**0.5), (0.001, 3.4539**0.5))
        for seed in range(3)
    ]
    assert claims.law(costs).verdict == verdict
    assert claims.premise(costs).verdict == needs


def curves(gap: dict[float, float]) -> dict[str, list[dict[str, object]]]:
    """Curves on which attentive is better than budgeted by a gap at every mean cost, up to noise between seeds."""
    lines = [
        {
            "data": "A",
            "seed": seed,
            "share": share,
            "predictor": predictor,
            "average_precision": value + 0.001 * seed**2,
        }
        for share in claims.SHARES
        for seed in range(4)
        for predictor, value in (("attentive", 0.5 + gap.get(share, 0.1) * (1 + 0.1 * seed)), ("budgeted", 0.5))
    ]
    return {"curves": lines}


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        ({}, "holds"),
        ({0.1: -0.1, 0.2: -0.1}, "does not hold everywhere"),
        (dict.fromkeys(claims.SHARES, -0.1), "does not hold"),
    ],
)
def test_attentive_against_budgeted(gap, verdict):
    tables = curves(gap)
    assert claims.precision_and_recall(tables).verdict == verdict
    better, worse, _ = claims.contest(tables, "A", claims.FIGURES[0])
    assert worse == [share for share in claims.SHARES if gap.get(share, 0.1) < 0]
    assert sorted(better + worse) == list(claims.SHARES)


@pytest.mark.parametrize("ladder", [10, 60])
def test_the_ladder_beside_the_terms(ladder):
    key = {"data": "A", "model": "m"}
    at_risk = [
        {**key, "seed": seed, "predictor": predictor, "terms": terms + seed}
        for seed in range(3)
        for predictor, terms in (("ladder", ladder), ("ladder, certified", 2 * ladder), ("attentive", 100))
    ]
    known = {
        "support_vectors": 120,
        "terms_for_90": 80,
        "open_at_part": 0.4,
        "wrong_at_part": 0.2,
        "effective_terms": 70,
    }
    models = [{**key, "kernel": "linear", "support_vectors": 120, "nonzeros_per_row": 50.0}]
    tables = {"at_risk": at_risk, "known": [{**key, "seed": s, **known} for s in range(3)], "curves": [{"data": "A"}]}
    said = findings.known_scores(tables, models)
    (line,) = [line for line in said.splitlines() if line.startswith("| A |")]
    assert f"| {ladder}." in line or f"| {ladder} %" in line
    assert "| 80 of 120 (67 %) | 40 % | 20 % | 70 |" in line
    assert "one of the 120 support vectors" in said
    rbf = findings.known_scores(tables, [models[0] | {"kernel": "RBF"}])
    assert "support vectors are the wrong terms" not in rbf
