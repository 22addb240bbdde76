"""The saved results, with one file per setting, and the page that shows them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

FIGURE = {"name": "speed", "value": 3905.4321, "unit": "x", "peer": "a | b", "note": "2 runs"}
PAGE = "Above.\n<!-- results one -->\nstale\n<!-- end -->\nBelow.\n"


pytestmark = pytest.mark.usefixtures("bench_package")


def test_the_page_shows_the_results_that_are_kept():
    from bench import results

    text = results.README.read_text(encoding="utf-8")
    assert results.rendered(text) == text, 'run make bench ARGS="--render"'


def test_every_setting_has_a_module_results_and_a_place():
    from bench import results, settings

    assert {path.stem for path in results.FOLDER.glob("*.json")} == set(settings.SETTINGS)
    text = results.README.read_text(encoding="utf-8")
    assert [found["setting"] for found in results.BLOCK.finditer(text)] == list(settings.SETTINGS)
    for setting in settings.SETTINGS:
        assert importlib.util.find_spec(f"bench.{setting.replace('-', '_')}") is not None
        kept = results.Results.load(setting)
        assert kept.setting == setting
        assert kept.command == f'make bench ARGS="{setting} --write"'
        assert all([kept.title, kept.date, kept.machine, kept.libraries, kept.figures])
        assert all(figure.name for figure in kept.figures)


def test_results_are_saved_as_tables_show_them(tmp_path: Path):
    from bench.report import Figure
    from bench.results import Results, rendered

    figures = [Figure(**FIGURE), Figure("share", 0.123456, "%")]
    made = Results("one", "A title", "make", "2026-01-02", "a machine", ["numpy 2"], figures)
    path = made.save(tmp_path)
    stored = json.loads(path.read_text(encoding="utf-8"))["figures"]
    assert stored == [FIGURE | {"value": 3905.0}, {"name": "share", "value": 0.1235, "unit": "%"}]
    loaded = Results.load("one", tmp_path)
    assert loaded.save(tmp_path) == path
    assert Results.load("one", tmp_path) == loaded
    page = rendered(PAGE, tmp_path)
    assert "| speed | 3 905x | a \\| b | 2 runs |\n| share | 0.1235 % |  |  |\n" in page
    assert "stale" not in page
    assert page.startswith("Above.\n")
    assert page.endswith("<!-- end -->\nBelow.\n")
    assert rendered(page, tmp_path) == page


def test_a_page_without_a_place_is_refused(tmp_path: Path):
    from bench.results import Results, rendered

    Results("two", "", "", "", "", [], []).save(tmp_path)
    with pytest.raises(ValueError, match="<!-- results two -->"):
        rendered(PAGE, tmp_path)
    assert "No results are kept." in rendered(PAGE + PAGE.replace("one", "two"), tmp_path)
