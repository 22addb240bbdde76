"""A long fit shows its progress on a terminal; a short one shows nothing."""

import os
import pty
import subprocess
import sys

import pytest

pytest.importorskip("rich")

FIT = """
import sys
import wald.utils.progress
wald.utils.progress.PATIENCE = float(sys.argv[1])
import numpy as np
from sklearn.svm import SVC
from wald import EarlyExitClassifier, Planner
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 10))
svc = SVC().fit(X[:400], X[:400, 0] * X[:400, 1] > 0)
if len(sys.argv) > 2:
    class Fails(SVC):
        def predict(self, X):
            raise KeyError("on purpose")
    svc.__class__ = type("SVC", (Fails,), {"__module__": "sklearn.svm"})
try:
    planner = Planner(cost="units", n_splits=2)
    fast = EarlyExitClassifier(svc, risk=0.05, random_state=0, planner=planner).fit(X[400:])
    print(fast.plan_.q)
except Exception as error:
    print(type(error).__name__)
print(wald.utils.progress._bars)
"""


def run(patience, terminal, *more):
    """Standard output of a fit, and its standard error, on a terminal or not."""
    if terminal:
        ours, theirs = pty.openpty()
    else:
        ours, theirs = os.pipe()
    command = [sys.executable, "-W", "ignore", "-c", FIT, str(patience), *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not some:
            break
        shown += some
    os.close(ours)
    out = process.communicate()[0].decode().split("\n")
    assert process.returncode == 0, shown.decode()
    return out, shown.decode()


@pytest.mark.slow
def test_a_long_fit_names_its_step_and_a_short_one_shows_nothing():
    long, shown = run(0.01, True)
    assert "split 1 of 2" in shown
    assert "certifying" in shown or "planning" in shown
    assert long[1] == "0"
    short, nothing = run(1000, True)
    assert nothing == ""
    assert short[1] == "0"
    assert short[0] == long[0]  # it changes no result
    unseen, nothing = run(0.01, False)
    assert nothing == ""
    assert unseen == short


def test_a_fit_that_fails_takes_its_bar_away():
    out, _ = run(0.01, True, "fail")
    assert out[1] == "0"
