from __future__ import annotations

import builtins
import functools
import importlib.util
import struct
import sys
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("typer.testing")

from commands.running import run
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner, cli
from wald.commands.demo.material import Material, load
from wald.commands.demo.measure import Exhibit, measure
from wald.commands.demo.pictures import draw, draw_panel, pick_rows, share_map
from wald.commands.demo.report import promise, report, table
from wald.utils.figures import number, share

# the risk could pay for more than a tenth of a class of a tenth
pytestmark = pytest.mark.filterwarnings("ignore:The certificate's risk")

PICTURES = ("cost-against-disagreement.png", "pixels-read.png", "first-support-vectors.png")


def refusal(*words: str) -> str:
    """Return the error about a user's mistake: one line, no traceback, exit code 2."""
    result = run(*words)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    return str(lines[0])


@functools.cache
def exhibit(which: int, risk: float = 0.01) -> tuple[Exhibit, Material]:
    """A model of the demo on the digits, planned for units, so that the plan is the same on every machine."""
    material = load("digits", 0)
    task = material.tasks[which]
    model = clone(task.model).fit(material.X_train, material.targets(task))
    fast = EarlyExitClassifier(
        FrozenEstimator(model),
        risk=risk,
        planner=Planner(cost="units", certificate_fraction=material.certificate_fraction, n_splits=1),
        random_state=0,
    ).fit(material.X_fit)
    return measure(task, model, fast, material.X_count), material


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return run("demo", "--output", str(folder), "--seed", "0"), folder


@pytest.mark.slow
def test_the_demo_prints_a_table_and_certificates(shown: tuple[Any, Path]) -> None:
    result, folder = shown
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for line in (
        "kernel SVM scikit-learn",
        "8 or not wald",
        "which of ten wald",
        "linear model scikit-learn",
    ):
        assert line in words
    assert words.count("of 64") == 1
    assert "least time" in words
    assert "fewest pixels" in words
    assert words.count("99.") + words.count("100 %") >= 3
    assert words.count("with 95 % confidence") + words.count("evaluates everything:") == 4
    assert "600 train the models, 400 plan, 797 certify" in words
    assert "797 certificate rows; the data set is too small for rows held out" in words
    assert "1 thread" in words
    for name in PICTURES:
        assert str(folder / name) in result.output.replace("\n", "")


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_drawn_for_a_page(shown: tuple[Any, Path], name: str) -> None:
    width, height, pixel_bytes = png(shown[1] / name)
    assert width >= 7 * 150
    assert height >= 2 * 150
    assert len(np.unique(np.frombuffer(pixel_bytes, dtype=np.uint8))) > 50


def png(path: Path) -> tuple[int, int, bytes]:
    """Size and filtered bytes of a picture, read without the library that wrote it."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    place, data = 8, b""
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        if content[place + 4 : place + 8] == b"IDAT":
            data += content[place + 8 : place + 8 + length]
        place += length + 12
    return width, height, zlib.decompress(data)


@pytest.mark.parametrize("which", [0, 2])
def test_the_rows_that_are_counted_are_those_of_the_certificate(which: int) -> None:
    seen, _ = exhibit(which)
    certificate = seen.fast.certificate_
    assert certificate.status == "certified"
    assert (seen.n_different, seen.n_rows) == (certificate.n_disagreements, certificate.n_rows)


@pytest.mark.parametrize("which", [0, 2])
def test_the_curve_passes_through_the_measurement(which: int) -> None:
    seen, material = exhibit(which)
    clear, same = draw_panel(Figure().subplots(), seen, material)
    assert clear.cost_in_use == pytest.approx(seen.mean_cost)
    assert clear.disagreement_in_use == seen.n_different / seen.n_rows
    assert same.cost[-1] == seen.fast.plan_.full_cost
    assert same.disagreement[-1] == 0


def test_the_maps_show_the_pixels_that_were_paid_for() -> None:
    seen, material = exhibit(2)
    _, stages = seen.fast.stage_scores(material.X_count)
    costs = seen.fast.plan_.stage_costs[stages]
    assert share_map(seen, stages).sum() == pytest.approx(costs.mean())
    easy, hard = pick_rows(seen, material, stages)
    assert costs[easy] < costs[hard]
    assert material.y_count[easy] == material.y_count[hard] == 8


@pytest.mark.slow
def test_a_plan_that_evaluates_everything_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    with pytest.warns(UserWarning, match="no early exit"):
        kernel, material = exhibit(0, risk=1e-4)
    with pytest.warns(UserWarning, match="no early exit"):
        linear, _ = exhibit(2, risk=1e-4)
    assert kernel.n_different == 0
    assert promise(kernel).startswith("evaluates everything: ")
    assert "needed" in promise(kernel)
    paths = draw([kernel, linear], material, tmp_path)
    report([kernel, linear], material, 1, paths, Console(width=80))
    words = " ".join(capsys.readouterr().out.split())
    assert words.count("wald (everything)") == 2
    assert "100 %" in words
    assert all(path.stat().st_size > 10_000 for path in paths)


@pytest.mark.parametrize("columns", [80, 40])
def test_figures_are_never_cut(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    seen, material = exhibit(0)
    assert Console(width=200).measure(table([seen])).maximum <= 80
    report([seen], material, 1, [], Console(width=columns))
    said = capsys.readouterr().out
    assert "…" not in said
    assert f"of {seen.fast.plan_.full_cost:.0f}" in said


def test_numbers() -> None:
    assert [number(v) for v in (0.9478, 17.02, 64.0, 784.0, 2189.0, 839_412.3)] == [
        *("0.948", "17", "64", "784", "2 189", "839 000")
    ]
    assert [share(a, b) for a, b in ((9, 9), (794, 797), (99_999, 100_000))] == [*("100 %", "99.62 %", "99.999 %")]


def test_version() -> None:
    try:
        expected = version("wald")
    except PackageNotFoundError:
        expected = "0+unknown"
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == f"wald {expected}"


def test_unknown_data() -> None:
    assert "'letters'; --data takes digits or mnist" in refusal("demo", "--data", "letters")


def test_no_threads() -> None:
    assert "--jobs" in refusal("demo", "--jobs", "0")


def test_no_seed() -> None:
    assert "--seed" in refusal("demo", "--seed", "-1")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        message = refusal("demo", "--output", str(folder))
        assert f"cannot write into the folder {folder}" in message
        assert "--output" in message


def test_no_mnist_and_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise URLError("no network")

    monkeypatch.setenv("WALD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("wald.datasets.cache.urlopen", offline)
    message = refusal("demo", "--data", "mnist", "--output", str(tmp_path / "out"))
    for word in ("no network", "WALD_DATA", "downloads its 12 MB", str(tmp_path / "data")):
        assert word in message
    assert not (tmp_path / "out").exists()


def test_damaged_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mnist").mkdir()
    damaged = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    damaged.write_text("no digits")
    monkeypatch.setenv("WALD_DATA", str(tmp_path))
    assert str(damaged) in refusal("demo", "--data", "mnist")


def test_mnist_is_split_and_its_test_rows_are_held_out(wald_data: Path) -> None:
    material = load("mnist", 0)
    assert [len(X) for X in (material.X_train, material.X_fit, material.X_count)] == [20_000, 40_000, 10_000]
    assert material.side == 28
    assert "held out" in material.counted


def test_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else really(name))
    message = refusal("demo", "--output", str(tmp_path / "out"))
    assert "matplotlib" in message
    assert "pip install '.[cli,plot]' in a checkout" in message


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_no_command_line(missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    really = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert missing in said
    assert "pip install '.[cli]' in a checkout" in said


def test_another_missing_module_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(cli, "build", broken)
    with pytest.raises(ModuleNotFoundError):
        cli.main()


def test_main_runs_the_application(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["wald", "--version"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("wald ")
