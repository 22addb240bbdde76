"""``wald report`` writes a page about a file and rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from commands.running import done, refusal

import wald

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


def test_it_writes_the_page_of_the_library(files: Path, tmp_path: Path) -> None:
    result = done("report", files / "svc.wald", files / "test.npy", "-o", tmp_path / "page.html", "--no-timing")
    assert result.stdout == ""
    assert result.stderr == f"wrote {tmp_path / 'page.html'}\n"
    fast = wald.load(files / "svc.wald")
    expected = wald.report(fast, np.load(files / "test.npy"), source=str(files / "test.npy"), timed=False)
    assert (tmp_path / "page.html").read_text("utf-8") == expected


def test_times_and_title(files: Path, tmp_path: Path) -> None:
    options = ("--model", files / "svc.skops", "--title", "Digits & <more>")
    done("report", files / "svc.wald", files / "test.svm", "-o", tmp_path / "page.html", "--drop", 3, *options, code=2)
    done("report", files / "svc.wald", files / "test.npy", "-o", tmp_path / "page.html", *options)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<h1>Digits &amp; &lt;more&gt;</h1>" in page
    assert "Medians of 7 runs in turns" in page


def test_mistakes_are_named(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    np.save(tmp_path / "narrow.npy", np.zeros((3, 7)))
    assert "narrow.npy" in refusal("report", files / "svc.wald", tmp_path / "narrow.npy", "-o", page)
    assert "No such file" in refusal("report", files / "svc.wald", tmp_path / "none.npy", "-o", page)
    assert "name it" in refusal("report", files / "svc.wald", files / "test.npy", "-o", "-")
    assert not page.exists()
    page.touch()
    assert "--force" in refusal("report", files / "svc.wald", files / "test.npy", "-o", page)
    done("report", files / "svc.wald", files / "test.npy", "-o", page, "--force", "--no-timing")
    assert page.stat().st_size > 10_000


def test_values_that_are_not_finite_are_located(files: Path, tmp_path: Path) -> None:
    rows = np.load(files / "test.npy")[:10]
    rows[4, 2] = np.inf
    np.save(tmp_path / "broken.npy", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        said = refusal("report", files / "svc.wald", "broken.npy", "-o", "page.html")
    assert "broken.npy" in said
    assert not (tmp_path / "page.html").exists()


def test_a_library_that_is_missing_is_named(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wald.reporting.page", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)  # cannot be imported
    said = refusal("report", files / "svc.wald", files / "test.npy", "-o", tmp_path / "page.html")
    assert "wald report needs jinja2, which is not installed: pip install '.[report]' in a checkout" in said
