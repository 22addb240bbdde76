"""``wald bench``: the calls that are timed, and when a promise counts as broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said

import wald
from wald.commands.bench import broken_promise
from wald.stopping import Certificate
from wald.stopping.core.certificate import Stratum
from wald.utils.alternating import median_seconds

QUICK = ("--repeats", 7)


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.utils.alternating.SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr("wald.commands.bench.SINGLE", 3)


@pytest.mark.parametrize("data", ["test.npy", "test.svm"])
def test_json(files: Path, data: str) -> None:
    facts = said("bench", files / "svc.wald", files / data, "--model", files / "svc.skops", *QUICK)
    names = ["one (predict)", "one (predict_one)", "100", "all"]
    assert [case["rows"] for case in facts["cases"]] == names
    assert facts["cases"][-1]["n_rows"] == facts["n_rows"] == 397
    for case in facts["cases"]:
        assert case["ratio"] == pytest.approx(case["model_seconds"] / case["wald_seconds"])
    rows = np.load(files / "test.npy")
    fast = wald.load(files / "svc.wald")
    from skops import io

    assert facts["n_different"] == (fast.predict(rows) != io.load(files / "svc.skops").predict(rows)).sum()
    assert facts["mean_cost"] == pytest.approx(fast.predict(rows, return_cost=True)[1].mean())


def test_table(files: Path) -> None:
    result = done("bench", files / "svc.wald", files / "test.npy", "--model", files / "svc.skops", *QUICK)
    for words in ("SVC, µs", "all 397", "Same label on", "Medians of 7 runs in turns, 1 thread"):
        assert words in result.stdout
    assert result.stderr == ""


def test_labels_that_differ_too_often_are_exit_code_1(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.commands.bench.broken_promise", lambda *_: "too many differ")
    words = ("bench", files / "svc.wald", files / "test.npy", "--model", files / "svc.skops", *QUICK)
    assert said(*words, code=1)["broken"] == "too many differ"


def test_mistakes(files: Path, tmp_path: Path) -> None:
    words = ("bench", files / "svc.wald", files / "test.npy", "--model")
    assert "--repeats must be at least 7" in refusal(*words, files / "svc.skops", "--repeats", 3)
    assert "another model" in refusal(*words, files / "words.skops")
    assert "--trust-pickle" in refusal(*words, files / "svc.joblib")
    assert "--model" in done("bench", files / "svc.wald", files / "test.npy", code=2).stderr
    np.save(tmp_path / "wide.npy", np.ones((3, 65)))
    assert "the model takes 64" in refusal("bench", words[1], tmp_path / "wide.npy", "--model", files / "svc.skops")


def test_runs_alternate() -> None:
    calls: list[str] = []
    shares: list[float] = []
    times = median_seconds(
        lambda: calls.append("a"), lambda: calls.append("b"), repeats=7, report=lambda done: shares.append(done)
    )
    assert len(times) == 2
    assert calls == ["a", "b"] * 8  # the first round is not counted
    assert shares == pytest.approx(np.arange(1, 8) / 7)


# ---- promises ------------------------------------------------------------------------------------------------------

CLASSES = np.array(["no", "yes"])


def verdict(about: Any, n_bad_yes: int, n_bad_no: int, risk: float = 0.01, status: Any = "certified") -> str | None:
    certificate = Certificate(status, risk, 0.95, about, q=1.0, strata=(Stratum("rows", 1000, 0),))
    full = np.repeat(CLASSES, [9000, 1000])
    differs = np.zeros(10_000, dtype=bool)
    differs[:n_bad_no] = True
    differs[9000 : 9000 + n_bad_yes] = True
    return broken_promise(certificate, full, differs, CLASSES)


def test_a_promise_is_broken_only_beyond_doubt() -> None:
    assert verdict("all", 0, 0) is None
    assert verdict("all", 0, 120) is None  # P(at least 120 of 10 000 at 1 %) = 0.027
    message = verdict("all", 0, 140)  # 0.00009
    assert message is not None
    assert "140 of 10 000 rows differ" in message


def test_a_promise_covers_only_its_own_rows() -> None:
    assert verdict("positive", 0, 9000) is None
    assert verdict("negative", 1000, 0) is None
    assert verdict("all", 30, 0) is None
    for about in ("positive", "each"):
        message = verdict(about, 30, 0)
        assert message is not None
        assert "30 of 1 000 rows that the model calls yes" in message


def test_a_class_with_its_own_risk_is_checked_separately() -> None:
    own = Stratum("rows of class yes", 1000, 0, risk=0.05)
    certificate = Certificate("certified", 0.01, 0.95, "classes", q=1.0, strata=(Stratum("rows", 10_000, 0), own))
    full = np.repeat(CLASSES, [9000, 1000])

    def message(n_bad_yes: int) -> str | None:
        return broken_promise(certificate, full, np.arange(10_000) >= 10_000 - n_bad_yes, CLASSES)

    assert message(60) is None
    assert "rows that the model calls yes" in (message(90) or "")


def test_proofs_allow_nothing() -> None:
    assert verdict("all", 1, 0, status="lossless") is not None
    assert verdict("all", 1, 0, status="too few rows") is not None
    assert verdict("all", 0, 0, status="lossless") is None
    assert verdict("all", 500, 500, status="measured") is None
