"""The command as a process: under load it stops and reloads without losing a request."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import httpx
import numpy as np
import pytest
from persistence.forge import without_estimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald

pytest.importorskip("typer", reason="needs the extra cli")
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")


class Served:
    """``wald serve`` on a free port."""

    def __init__(self, *words):
        command = [sys.executable, "-m", "wald", "serve", *map(str, words), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.url = f"http://127.0.0.1:{found[1]}"
                break
        else:
            raise AssertionError("".join(self.log))
        self._reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self._reader.join(10)
        self.process.stderr.close()


async def load(url, rows, labels, stop, pause=0.0):
    """Ask one row after the other until `stop`; return the number of right answers, and all that went wrong."""
    right, wrong, i = 0, [], 0
    async with httpx.AsyncClient(base_url=url) as client:
        while not stop.is_set():
            try:
                answer = await client.post("/predict", json={"row": rows[i]})
            except httpx.ConnectError:  # never accepted
                break
            except httpx.HTTPError as error:
                wrong.append(repr(error))
                break
            if answer.status_code == 200 and answer.json() == {"label": labels[i]}:
                right += 1
            else:
                wrong.append(answer.text)
            i = (i + 1) % len(rows)
            await asyncio.sleep(pause)
    return right, wrong


def under_load(served, fast, X, act, n_clients, seconds, pause=0.0):
    """Ask from several connections, and do `act` in the middle."""
    rows, labels = X.tolist(), fast.predict(X).tolist()

    async def run():
        stop = asyncio.Event()
        clients = [asyncio.create_task(load(served.url, rows, labels, stop, pause)) for _ in range(n_clients)]
        await asyncio.sleep(seconds / 2)
        act()
        await asyncio.sleep(seconds / 2)
        stop.set()
        return await asyncio.gather(*clients)

    results = asyncio.run(run())
    return sum(right for right, _ in results), [words for _, wrong in results for words in wrong]


@pytest.mark.slow
def test_a_stop_under_load_loses_no_accepted_request(fast, saved, rows):
    with Served(saved) as served:
        stop = lambda: served.process.send_signal(signal.SIGTERM)  # noqa: E731
        right, wrong = under_load(served, fast, rows[0][:500], stop, 8, 3)
        assert served.process.wait(10) == 0, served.log
    assert right > 100
    assert wrong == []


@pytest.mark.slow
def test_reload_at_a_hundred_requests_a_second(fast, saved, rows, tmp_path):
    path, other = tmp_path / "model.wald", fast.recertify(rows[0][1000:5000], risk=0.04)
    shutil.copy(saved, path)
    with Served(path) as served:

        def replace():
            wald.save(other, path)
            served.process.send_signal(signal.SIGHUP)

        X = rows[0][:500]
        same = X[fast.predict(X) == other.predict(X)]
        right, wrong = under_load(served, fast, same, replace, 4, 3, pause=0.03)
        assert wrong == []
        assert right > 100
        deadline = time.monotonic() + 5
        while "wald_reloads_total 1" not in httpx.get(f"{served.url}/metrics").text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert httpx.get(f"{served.url}/certificate").json()["risk"] == 0.04

        path.write_bytes(b"no model")
        served.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert httpx.post(f"{served.url}/predict", json={"row": same[0].tolist()}).status_code == 200
        served.process.terminate()
        assert served.process.wait(10) == 0
    assert any("could not be loaded anew" in line for line in served.log)


@pytest.mark.slow
def test_a_port_that_is_taken_and_a_file_that_is_none_are_said(saved, tmp_path):
    with Served(saved) as served:
        port = served.url.rpartition(":")[2]
        command = [sys.executable, "-m", "wald", "serve", str(saved), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0
        assert "address already in use" in done.stderr
    missing = [sys.executable, "-m", "wald", "serve", str(tmp_path / "none.wald")]
    done = subprocess.run(missing, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "none.wald" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_file_that_needs_the_wrapped_model_is_served_with_it(rows, tmp_path):
    io = pytest.importorskip("skops.io")
    X, y = rows
    model = LogisticRegression().fit(X[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[1000:5000])
    wald.save(fast, tmp_path / "exact.wald")
    without_estimator(tmp_path / "exact.wald")
    io.dump(model, tmp_path / "model.skops")
    command = [sys.executable, "-m", "wald", "serve", str(tmp_path / "exact.wald"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--model MODEL" in done.stderr
    assert done.stderr.count("exact.wald") == 1
    with Served(tmp_path / "exact.wald", "--model", tmp_path / "model.skops") as served:
        for _ in range(2):
            answer = httpx.post(f"{served.url}/predict", json={"rows": X[5000:].tolist()})
            assert answer.json() == {"labels": model.predict(X[5000:]).tolist()}
            served.process.send_signal(signal.SIGHUP)  # MODEL is read anew as well
            wait = time.monotonic() + 20
            while "loaded anew" not in "".join(served.log) and time.monotonic() < wait:
                time.sleep(0.05)
        assert "the model was loaded anew" in "".join(served.log)


@pytest.mark.slow
def test_a_file_that_is_no_model_is_named_once(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    command = [sys.executable, "-m", "wald", "serve", str(tmp_path / "rows.csv")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count("rows.csv") == 1


@pytest.mark.long
def test_minutes_of_load_do_not_grow_the_memory(fast, saved, rows):
    def memory():
        with open(f"/proc/{served.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    sizes = []
    with Served(saved) as served:
        X = np.ascontiguousarray(rows[0][:500])
        under_load(served, fast, X, lambda: None, 16, 20)  # pools and caches fill
        sizes.append(memory())
        right, wrong = under_load(served, fast, X, lambda: sizes.append(memory()), 16, 600)
        sizes.append(memory())
    assert wrong == []
    assert right > 10_000
    assert sizes[-1] - sizes[0] < 8 << 20
