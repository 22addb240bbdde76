"""A job that is killed at any moment and run again gives the same bytes as one that was not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wald

pytest.importorskip("pyarrow")

from wald.jobs import Options, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

KILLED = """
import os, pathlib, signal, sys, wald
from wald.jobs import Options, run
model, data, out, last = sys.argv[1:]
calls = 0
def progress(report):
    global calls
    calls += 1
    if calls == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
run(wald.load(model), [data], pathlib.Path(out), model="m", options=Options(cost=True), progress=progress)
"""


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def test_killed_within_a_part_and_resumed(case, folder, tmp_path):
    model, out = tmp_path / "m.wald", tmp_path / "out"
    wald.save(case.fast, model)
    how = {"model": "m", "options": Options(cost=True)}
    run(case.fast, [str(folder)], tmp_path / "whole", **how)
    words = [sys.executable, "-c", KILLED, str(model), str(folder), str(out)]
    assert subprocess.run([*words, "5"], check=False).returncode == -signal.SIGKILL  # in the middle of the third part
    assert len(list(out.glob("part-*"))) == 2
    assert list(out.glob(".*.tmp"))
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    report = run(case.fast, [str(folder)], out, **how)
    assert (report.n_before, report.rows_now) == (2, 4000)
    assert contents(out) == contents(tmp_path / "whole")
    assert times == {name: (out / name).stat().st_mtime_ns for name in times}


def test_killed_between_the_part_and_its_record(case, folder, tmp_path, monkeypatch):
    how = {"model": "m", "options": Options(cost=True)}
    run(case.fast, [str(folder)], tmp_path / "whole", **how)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wald.jobs.manifest.Manifest.add", stop)
        with pytest.raises(KeyboardInterrupt):
            run(case.fast, [str(folder)], tmp_path / "out", **how)
    assert run(case.fast, [str(folder)], tmp_path / "out", **how).n_before == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.long
def test_ten_kills_at_random(case, folder, tmp_path):
    pytest.importorskip("typer")
    wald.save(case.fast, tmp_path / "m.wald")
    command = [sys.executable, "-m", "wald", "predict", str(tmp_path / "m.wald"), str(folder), "--cost", "-o"]
    begun = time.perf_counter()
    subprocess.run([*command, str(tmp_path / "whole/")], check=True)
    seconds = time.perf_counter() - begun
    draw = random.Random(0)
    for turn in range(10):
        out = tmp_path / f"out{turn}"
        job = subprocess.Popen([*command, f"{out}/"], start_new_session=True)
        time.sleep(draw.uniform(0.3, 1.0) * seconds)
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        subprocess.run([*command, f"{out}/"], check=True)
        assert contents(out) == contents(tmp_path / "whole")
