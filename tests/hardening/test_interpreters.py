"""Other ways to run Python: without the global lock, and several interpreters in one process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec

import pytest

ANSWERS = """
import sys, threading
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC
import wald
from wald import _core
assert not sys._is_gil_enabled(), "an import has switched the global lock on"
X = np.random.default_rng(0).normal(size=(2000, 6))
fast = wald.EarlyExitClassifier(FrozenEstimator(SVC().fit(X[:200], X[:200, 0] > 0)), risk=0.1, random_state=0)
fast.fit(X[200:])
expected, wrong = fast.predict(X), []
def work():
    for i in range(50):
        if not (np.array_equal(fast.predict(X), expected) and fast.predict_one(X[i]) == expected[i]):
            wrong.append(i)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong
"""

IN_ANOTHER = """
import {module} as interpreters
import numpy, wald
from wald import _core
from sklearn.svm import SVC
X = numpy.random.default_rng(0).normal(size=(50, 3))
model = wald.models.decompose(SVC().fit(X, X[:, 0] > 0))
before = model.terms.values(X)
other = interpreters.create()
code = '''
for line in ("from wald import _core", "import wald; wald.EarlyExitClassifier"):
    try:
        exec(line)
        print("works")
    except ImportError as error:
        print("refused:", error)
'''
{run}
interpreters.destroy(other)
assert numpy.array_equal(model.terms.values(X), before)  # the first interpreter is unharmed
print("unharmed")
"""


def _free_threaded() -> str:
    """An interpreter without the global lock that has wald."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return sys.executable
    for name in ("python3.14t", "python3.13t"):
        path = shutil.which(name)
        if (
            path is not None
            and subprocess.run([path, "-c", "import wald"], capture_output=True, check=False).returncode
        ):
            path = None  # it has no wald, or none for this Python
        if path is not None:
            return path
    pytest.skip("no free-threaded Python (python3.14t, python3.13t) with wald installed")


def test_without_the_global_lock() -> None:
    done = subprocess.run([_free_threaded(), "-c", ANSWERS], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_a_second_interpreter() -> None:
    """wald refuses to be imported there and says what to do; the first interpreter goes on."""
    module = next((name for name in ("_interpreters", "_xxsubinterpreters") if find_spec(name)), None)
    if module is None:
        pytest.skip("this Python has no module for interpreters")
    run = {
        "_interpreters": "failure = interpreters.exec(other, code)\nassert failure is None, failure",
        "_xxsubinterpreters": "interpreters.run_string(other, code)",
    }[module]
    program = IN_ANOTHER.format(module=module, run=run)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    refusal = "refused: wald works in the main interpreter of a process only. "
    core, whole, last = done.stdout.splitlines()
    assert core.startswith(refusal)
    assert whole.startswith(refusal)
    assert last == "unharmed"
