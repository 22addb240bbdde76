"""The command line starts fast, and stops without a traceback at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.test_process import ENVIRONMENT

pytest.importorskip("typer")

COMMAND = [sys.executable, "-m", "wald"]
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "polars", "narwhals", "joblib", "wald._core", "wald.early_exit")
SHOWN = f"""
import sys
from wald.cli import main
try:
    main()
finally:
    print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""


def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {"capture_output": True, "text": True, "env": ENVIRONMENT, "timeout": 120} | options
    return subprocess.run([*map(str, words)], check=False, **settings)


# ---- starting ------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "words", ["--version", "--help", "predict --help", "fit --help", "bench --help", "inspect --help", "demo --help"]
)
def test_nothing_heavy_is_loaded(words: str) -> None:
    result = run(sys.executable, "-c", SHOWN, *words.split())
    assert result.returncode == 0
    assert result.stderr == "[]\n"


@pytest.mark.long
def test_the_version_comes_soon() -> None:
    """The time is compared with that of importing NumPy and scikit-learn, because machines differ."""

    def seconds(*words: str) -> float:
        begun = time.perf_counter()
        assert run(*words).returncode == 0
        return time.perf_counter() - begun

    heavy = [sys.executable, "-c", "import sklearn.svm, sklearn.linear_model"]
    pairs = [(seconds(*COMMAND, "--version"), seconds(*heavy)) for _ in range(5)]
    assert min(ours for ours, _ in pairs) < 0.6 * min(theirs for _, theirs in pairs)


def test_python_m_wald() -> None:
    result = run(*COMMAND, "--version")
    assert result.returncode == 0
    assert result.stdout == run(sys.executable, "-c", "import wald; print('wald', wald.__version__)").stdout


def test_the_package_is_as_before() -> None:
    code = """
import sys, wald
assert "numpy" not in sys.modules
assert set(wald.__all__) <= set(dir(wald)) and "stopping" in dir(wald)
from wald import Certificate, CostModel, EarlyExitClassifier, load, save
assert wald.EarlyExitClassifier is EarlyExitClassifier and wald.stopping.Certificate is Certificate
assert "EarlyExitClassifier" in vars(wald)  # cached by the first access
assert wald.__version__
try:
    wald.nothing
except AttributeError as error:
    assert "no attribute 'nothing'" in str(error)
else:
    raise SystemExit(1)
import threadpoolctl
assert any(pool["user_api"] == "wald" for pool in threadpoolctl.threadpool_info())
"""
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr


# ---- stopping ------------------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs signals, and /proc to see them caught")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of many rows of zeros: it is a hole in the file system, and made at once."""
    path = tmp_path_factory.mktemp("many") / "many.npy"
    np.lib.format.open_memmap(path, "w+", np.float64, (1_600_000, 64)).flush()
    return path


def catches(process: int, number: int) -> bool:
    """Whether a process has installed a handler for SIGTERM, for which Python itself installs none."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


@pytest.mark.one_in(3)
@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("name", "after"),
    [
        *(("SIGINT", after) for after in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, "writing")),
        *((name, after) for name in ("SIGTERM", "SIGHUP") for after in (0.0, 0.3, "writing")),
    ],
)
def test_a_signal_at_any_moment(files: Path, many: Path, tmp_path: Path, name: str, after: Any) -> None:
    number = getattr(signal, name)
    out = tmp_path / "out"
    out.mkdir()
    words = ["predict", files / "svc.wald", many, "-o", out / "labels.csv"]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as running:
        end = time.monotonic() + 60
        while not catches(running.pid, signal.SIGTERM) and time.monotonic() < end:
            time.sleep(0.001)
        if after == "writing":
            while not any(path.stat().st_size for path in out.iterdir()) and time.monotonic() < end:
                time.sleep(0.005)
        else:
            time.sleep(after)
        running.send_signal(number)
        stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert stdout == stderr == b""
    assert list(out.iterdir()) == []


@pytest.mark.slow
@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_copy_of_stdin_is_not_left(files: Path, many: Path, tmp_path: Path, number: signal.Signals) -> None:
    words = [*COMMAND, "predict", str(files / "svc.wald"), "-", "-o", str(tmp_path / "labels.npy"), "--format", "npy"]
    (tmp_path / "scratch").mkdir()
    environment = ENVIRONMENT | {"TMPDIR": str(tmp_path / "scratch")}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as running:
        assert running.stdin is not None
        with many.open("rb") as rows:
            running.stdin.write(rows.read(8 << 20))  # and no end
        running.stdin.flush()
        end = time.monotonic() + 60
        while not list((tmp_path / "scratch").iterdir()) and time.monotonic() < end:
            time.sleep(0.005)
        assert list((tmp_path / "scratch").iterdir())
        running.send_signal(number)
        assert running.wait(60) == 128 + number
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (tmp_path / "labels.npy").exists()


@pytest.mark.slow
@posix
def test_nohup_is_heeded(files: Path, tmp_path: Path) -> None:
    words = ["predict", files / "svc.wald", files / "test.npy", "-o", tmp_path / "labels.csv"]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as running:
        while not catches(running.pid, signal.SIGTERM):
            time.sleep(0.001)
        running.send_signal(signal.SIGHUP)
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert (tmp_path / "labels.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals elsewhere")
def test_a_terminal_gets_its_cursor_back(files: Path, many: Path, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    shown: list[bytes] = []

    def listen() -> None:
        try:
            while piece := os.read(ours, 1 << 16):
                shown.append(piece)
        except OSError:  # the other side is closed
            pass

    words = ["predict", files / "svc.wald", many, "-o", tmp_path / "labels.csv"]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "80"},
    ) as running:
        os.close(theirs)
        listener = threading.Thread(target=listen)
        listener.start()
        end = time.monotonic() + 60
        while b"predicting" not in b"".join(shown) and time.monotonic() < end:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        listener.join()
    os.close(ours)
    everything = b"".join(shown)
    assert running.returncode == 130
    assert b"\x1b[?25l" in everything
    assert everything.rindex(b"\x1b[?25h") > everything.rindex(b"\x1b[?25l")
