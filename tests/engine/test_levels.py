"""Instruction sets: chosen by WALD_SIMD, equal but for rounding."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision

from wald import _core

DECISIONS = [Decision(), Decision("argmax", 4), Decision("votes", 4)]


def answers(n_rows: int = 200) -> dict[str, np.ndarray]:
    """All results at this level for some models; processes of other levels call this, too."""
    found: dict[str, np.ndarray] = {}
    for kind in ("double", "single", "linear"):
        for decision in DECISIONS:
            rng = np.random.default_rng(0)
            model, packed = cases.packed(rng, kind, 40, 150, decision.n_outputs)
            plan = cases.plan(rng, model, decision)
            rows = _core.Rows.dense(cases.rows(rng, n_rows, 40))
            engine = plan.engine(packed)
            name = f"{kind} {decision.kind}"
            found[f"{name} high"] = plan.high
            found[f"{name} codes"], found[f"{name} stages"] = cases.marked(engine.predict(rows, 4, "full", 2.0**-53, 1))
            found[f"{name} seen"] = cases.as_tuple(engine.trace(rows, 1))[-1]
            found[f"{name} scores"], found[f"{name} errors"] = packed.scores(rows, 2.0**-53, 1)
    return found


def python(code: str, level: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = [os.path.dirname(os.path.dirname(os.path.dirname(_core.__file__))) or "."]
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = os.environ | {"WALD_SIMD": level, "PYTHONPATH": os.pathsep.join([*path, tests, *sys.path])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_level_in_use():
    assert _core.simd_levels()[0] == "baseline"
    assert _core.simd_level() == (os.environ.get("WALD_SIMD") or _core.simd_levels()[-1])


def test_an_empty_name_means_the_best():
    ran = python("from wald import _core; print(_core.simd_level())", "")
    assert ran.stdout.split() == [_core.simd_levels()[-1]], ran.stderr


def test_an_unknown_level_is_refused_at_import():
    ran = python("from wald import _core", "nonsense")
    assert ran.returncode != 0
    assert "ImportError" in ran.stderr or "RuntimeError" in ran.stderr
    assert "WALD_SIMD=nonsense" in ran.stderr
    for level in _core.simd_levels():
        assert level in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize("level", _core.simd_levels())
def test_levels_agree(level, tmp_path):
    code = "import sys, numpy, engine.test_levels as t; numpy.savez(sys.argv[1], **t.answers())"
    ran = python(code, level, str(tmp_path / "answers.npz"))
    assert ran.returncode == 0, ran.stderr
    ours = answers()
    with np.load(tmp_path / "answers.npz") as theirs:
        for name in [n.removesuffix(" seen") for n in ours if n.endswith(" seen")]:
            mine, other = ours[f"{name} seen"], theirs[f"{name} seen"]
            tolerance = 1e-4 if mine.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance)
            near = (np.abs(np.abs(mine) - ours[f"{name} high"]) < tolerance).any(axis=1)
            near |= (np.abs(mine) < tolerance).any(axis=1)  # two classes are as good as tied
            assert near.mean() < 0.1
            for what in ("codes", "stages"):
                np.testing.assert_array_equal(ours[f"{name} {what}"][~near], theirs[f"{name} {what}"][~near])
            difference = np.abs(ours[f"{name} scores"] - theirs[f"{name} scores"]).max(axis=1)
            assert (difference <= ours[f"{name} errors"] + theirs[f"{name} errors"]).all()
