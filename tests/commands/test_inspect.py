"""``wald inspect`` shows the plan and the certificate."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import skops.io
from commands.running import done, refusal, said
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald.inspection.facts import expected_cost
from wald.online import AttentivePerceptron


@pytest.mark.parametrize("name", ["svc", "words"])
def test_json_is_the_plan(files: Path, name: str) -> None:
    facts, fast = said("inspect", files / f"{name}.wald"), wald.load(files / f"{name}.wald")
    plan, stage_scores = fast.plan_, facts["plan"]["looks"]
    low, high = plan.thresholds()
    assert [look["units"] for look in stage_scores] == plan.stages.tolist()
    assert [look["cost"] for look in stage_scores] == plan.stage_costs.tolist()
    assert [look["reached_by"] for look in stage_scores] == plan.reached.tolist()
    for side, limits in (("below", low), ("above", high)):
        seen = [np.nan if look[side] is None else look[side] for look in stage_scores]
        np.testing.assert_array_equal(seen, [*np.where(np.isfinite(limits), limits, np.nan), np.nan])
    assert facts["certificate"]["sentence"] == str(fast.certificate_)
    assert facts["certificate"]["n_disagreements"] == fast.certificate_.n_disagreements
    assert facts["model"]["kernel"] == "rbf"


def test_expected_cost_is_the_mean_over_the_plan_rows(files: Path) -> None:
    plan = wald.load(files / "svc.wald").plan_
    leaving = [a - b for a, b in zip(plan.reached, [*plan.reached[1:], 0.0], strict=True)]
    assert sum(leaving) == pytest.approx(1)
    mean = expected_cost(plan, plan.reached)
    assert mean == pytest.approx(sum(a * b for a, b in zip(leaving, plan.stage_costs, strict=True)))
    assert mean < plan.full_cost / 2


def test_shares_and_cost_of_fresh_rows_lie_within_the_printed_limits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23_000, 30))
    X[:, 0] += 4 * np.sign(X[:, 0])
    y = X[:, :5].sum(axis=1) > 0  # most rows are clear from the first feature
    model = LogisticRegression().fit(X[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.02, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[1000:3000])
    plan, n = fast.plan_, fast.compiled_plan_.validation.scores.n_rows
    assert 0 in np.round(plan.reached * n) or plan.reached.min() * n < 10, "no rare stage"
    wald.save(fast, tmp_path / "rare.wald")
    facts = said("inspect", tmp_path / "rare.wald")["plan"]
    assert facts["n_rows"] == n
    _, cost = fast.predict(X[3000:], return_cost=True)
    assert facts["expected_cost_low"] <= cost.mean() <= facts["expected_cost_high"]
    for stage in facts["looks"]:
        share = (cost >= stage["cost"]).mean()
        assert stage["reached_by_low"] <= share <= stage["reached_by_high"]
        assert stage["reached_by_low"] <= stage["reached_by"] <= stage["reached_by_high"]
        k = round(stage["reached_by"] * n)
        assert stage["reached_by_high"] == 1 if k == n else stage["reached_by_high"] > max(share, 2 / n)
    out = done("inspect", tmp_path / "rare.wald").stdout
    assert f"from {n} validation rows" in out
    assert " 0.00 %" not in out
    words = re.search(r"features; ([\d.]+) to ([\d.]+) of", out)
    assert words is not None
    assert float(words[1]) <= cost.mean() <= float(words[2])


def test_a_plan_that_evaluates_everything_costs_everything(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(700, 3))
    fast = wald.EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(X[:300], X[:300, 0] > 0)), random_state=0)
    with pytest.warns(UserWarning, match="no early exit"):
        fast.fit(X[300:])
    wald.save(fast, tmp_path / "all.wald")
    facts = said("inspect", tmp_path / "all.wald")["plan"]
    assert facts["evaluate_all"]
    assert facts["expected_cost_low"] == facts["expected_cost"] == facts["expected_cost_high"] == 3
    assert all(stage["reached_by_low"] == stage["reached_by_high"] == 1 for stage in facts["looks"])
    assert "every row is evaluated in full, at 3 units." in done("inspect", tmp_path / "all.wald").stdout


def test_stages_that_no_row_leaves_at_are_one_sentence(files: Path, tmp_path: Path) -> None:
    done("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "few.wald", "--risk", 1e-6, code=1)
    n = len(said("inspect", tmp_path / "few.wald")["plan"]["looks"]) - 1
    assert n > 1
    out = done("inspect", tmp_path / "few.wald").stdout
    assert f"The {n} early stages serve calls with a budget only" in out
    assert "never" not in out
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize("name", ["svc", "words"])
def test_the_table_has_a_line_per_stage(files: Path, name: str) -> None:
    fast = wald.load(files / f"{name}.wald")
    lines = done("inspect", files / f"{name}.wald").stdout.splitlines()
    assert lines[0] == str(fast.certificate_)
    assert "RBF kernel machine" in lines[1]
    assert "…" not in "".join(lines)
    stage_scores = [
        line.split() for line in lines if line.split() and (line.split()[0].isdigit() or line.split()[0] == "all")
    ]
    assert [row[1] for row in stage_scores] == [str(units) for units in fast.plan_.stages]


def test_a_void_certificate_is_exit_code_1(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = wald.load(files / "svc.wald")
    fast.compiled_plan_ = fast.compiled_plan_.voided("made on training rows")
    monkeypatch.setattr("wald.commands.inspect.load_fast", lambda *_: fast)
    result = done("inspect", files / "svc.wald", code=1)
    assert result.stdout.startswith("void: made on training rows")
    assert "does not hold" in result.stderr
    assert said("inspect", files / "svc.wald", code=1)["certificate"]["void"] == "made on training rows"


def test_files_of_other_formats(files: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.wald").touch()
    assert "empty.wald" in refusal("inspect", tmp_path / "empty.wald")
    assert "svc.skops" in refusal("inspect", files / "svc.skops")
    assert "No such file" in refusal("inspect", tmp_path / "none.wald")
    assert "another model" in refusal("inspect", files / "svc.wald", "--model", files / "words.skops")


def test_answers_are_compared_with_those_of_the_model_that_is_given(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(900, 3))
    forest = RandomForestClassifier(10, random_state=0).fit(X[:300], X[:300, 0] > 0)
    model, file = tmp_path / "forest.skops", tmp_path / "forest.wald"
    skops.io.dump(forest, model)
    np.save(tmp_path / "rows.npy", X[300:])
    trust = ["--trust-type", "sklearn.tree._tree.Tree"]
    told = said("fit", model, tmp_path / "rows.npy", "-o", file, "--risk", "0.05", *trust)
    words = r"checked against the wrapped model on (\d+) rows: labels and scores agree"
    found = re.fullmatch(words, told["model"]["checked"])
    assert found is not None
    assert int(found[1]) > 16
    assert said("inspect", file)["model"]["checked"] is None  # nobody is asked
    assert "checked" not in done("inspect", file).stdout.lower()
    assert re.fullmatch(words, said("inspect", file, "--model", model, *trust)["model"]["checked"])
    assert re.search(words.capitalize() + r"\.", done("inspect", file, "--model", model, *trust).stdout)


def test_files_of_other_models_are_for_python(tmp_path: Path) -> None:
    learner = AttentivePerceptron(max_iter=1, tol=None).fit(np.eye(4), [0, 1, 0, 1])
    wald.save(learner, tmp_path / "online.wald")
    assert "another model, AttentivePerceptron; wald.load reads it" in refusal("inspect", tmp_path / "online.wald")


def test_the_lines_of_a_monitor_are_shown(files: Path, digits, tmp_path: Path) -> None:
    watched = wald.load(files / "svc.wald").watched(1.0)
    watched.predict(digits.X_test)
    wald.save(watched, tmp_path / "watched.wald")
    shown = said("inspect", tmp_path / "watched.wald")["monitor"]
    assert shown["audits"] == len(digits.X_test)
    assert [line["name"] for line in shown["lines"]] == [s.name for s in watched.certificate_.strata]
    assert repr(watched.monitor_) in done("inspect", tmp_path / "watched.wald").stdout
    assert "Monitor" not in done("inspect", files / "svc.wald").stdout
