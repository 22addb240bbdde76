"""Requests per second of ``wald serve`` and of a FastAPI app around the wrapped LightGBM model, one row a request.

Both run as one process of one thread, one after the other, and ``wrk`` asks over 64 connections:
``python -m bench.serving --seconds 10``. It needs LightGBM, FastAPI, the extra ``serve`` and ``wrk``.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

CONNECTIONS, N_FEATURES, N_TREES = 64, 20, 500

PEER = """
import sys
import lightgbm, numpy as np, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

booster = lightgbm.Booster(model_file=sys.argv[1])
app = FastAPI()

class Request(BaseModel):
    row: list[float]

@app.get("/health")
async def health():
    return {}

@app.post("/predict")
async def predict(request: Request):
    return {"label": int(booster.predict(np.array([request.row]), num_threads=1)[0] > 0.5)}

uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level="warning")
"""

SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local i = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  i = i %% #bodies + 1
  return wrk.format(nil, "/predict", nil, bodies[i])
end
done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("FIGURES %%f %%f %%d", summary.requests / summary.duration * 1e6, latency:percentile(99) / 1e3,
    failed))
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    seconds = parser.parse_args().seconds
    if shutil.which("wrk") is None:
        raise SystemExit("bench.serving needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        peer = [sys.executable, "-c", PEER, str(folder / "model.txt")]
        ours = [sys.executable, "-m", "wald", "serve", str(folder / "model.wald"), "--port"]
        rates = {}
        for title, command in (("FastAPI and LightGBM", peer), ("wald serve", ours)):
            rate, p99, failed = measured(command, folder / "ask.lua", seconds)
            rates[title] = rate, p99
            print(f"{title:>22}: {rate:8.0f} requests/s, p99 {p99:7.2f} ms, {failed} failed", flush=True)
    (slow, late), (fast, soon) = rates.values()
    print(f"{'ratio':>22}: {fast / slow:8.1f} x          p99 {soon / late:7.2f} x")


def make(folder: Path) -> None:
    """Train and wrap a model, and write it, the bodies of requests and the script for wrk."""
    import lightgbm

    import wald

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, N_FEATURES))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=N_TREES, n_jobs=1, verbose=-1).fit(X[:4000], y[:4000])
    fast = wald.EarlyExitClassifier(model.booster_, risk=0.01, random_state=0).fit(X[4000:])
    print(f"{fast.certificate_}")
    wald.save(fast, folder / "model.wald")
    model.booster_.save_model(folder / "model.txt")
    rows = rng.normal(size=(1000, N_FEATURES))
    (folder / "bodies").write_text("\n".join(json.dumps({"row": row.tolist()}) for row in rows))
    (folder / "ask.lua").write_text(SCRIPT % (folder / "bodies"))


def measured(command: list[str], script: Path, seconds: int) -> tuple[float, float, int]:
    """Requests per second, 99th percentile of their time in ms, and failures of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([*command, str(port)], stderr=subprocess.DEVNULL)
    try:
        await_start(server, address)
        ask = ["wrk", "-t1", f"-c{CONNECTIONS}", "-s", str(script)]
        subprocess.run([*ask, "-d1s", address], check=True, capture_output=True)
        done = subprocess.run([*ask, f"-d{seconds}s", address], check=True, capture_output=True, text=True)
    finally:
        server.terminate()
        server.wait(30)
    rate, p99, failed = re.search(r"FIGURES (\S+) (\S+) (\d+)", done.stdout).groups()
    return float(rate), float(p99), int(failed)


def await_start(server: subprocess.Popen[bytes], address: str) -> None:
    """Wait until a server answers."""
    for _ in range(300):
        if server.poll() is not None:
            raise SystemExit(f"a server ended with {server.returncode}")
        try:
            urlopen(f"{address}/health", timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("a server did not start within 30 seconds")


if __name__ == "__main__":
    main()
