"""Pages in headless Chromium."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from report.fitting import Case

import wald

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

NAMES = ("kernel", "trees", "multiclass", "texts", "columns", "lossless")


def axe_source() -> str:
    """The script of axe-core, from either of the packages that hold it; skips without them."""
    for name in ("axe_core_python", "axe_selenium_python"):
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(folder).rglob("axe.min.js")):
                return path.read_text("utf-8")
    pytest.skip("needs axe-core-python or axe-selenium-python")


def show(browser: Any, case: Case, folder: Path, *, width: int = 1200, dark: bool = False) -> str:
    wald.report(*case, folder / "page.html", timed=False)
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what earlier pages left
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    url = (folder / "page.html").as_uri()
    browser.get(url)
    return url


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_renders_quietly_and_asks_for_nothing(
    browser: Any, cases: dict[str, Case], tmp_path: Path, name: str
) -> None:
    url = show(browser, cases[name], tmp_path)
    assert browser.title.endswith("report")
    assert browser.execute_script("return document.querySelector('main').getBoundingClientRect().height") > 1000
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {each for each in asked if not each.startswith("data:")} == {url}


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 360, 768])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_a_phone(
    browser: Any, cases: dict[str, Case], tmp_path: Path, name: str, width: int
) -> None:
    show(browser, cases[name], tmp_path, width=width)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = """return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && !e.closest('pre')
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    assert browser.execute_script(wide) == []


def test_colours_follow_the_reader(browser: Any, cases: dict[str, Case], tmp_path: Path) -> None:
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    shown = {}
    for dark in (False, True):
        show(browser, cases["kernel"], tmp_path, dark=dark)
        shown[dark] = [
            sum(map(int, each.removeprefix("rgb(").rstrip(")").split(","))) for each in browser.execute_script(colours)
        ]
    assert shown[False][0] > 700 > 150 > shown[False][1]
    assert shown[True][0] < 150 < 600 < shown[True][1]


def test_the_first_key_press_skips_to_the_report(browser: Any, cases: dict[str, Case], tmp_path: Path) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys", reason="needs selenium").Keys
    show(browser, cases["kernel"], tmp_path)
    browser.switch_to.active_element.send_keys(keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the report"


@pytest.mark.parametrize("name", NAMES[:-1])  # the last has no stages to show
def test_print_shows_tables_that_are_closed_on_the_screen(
    browser: Any, cases: dict[str, Case], tmp_path: Path, name: str
) -> None:
    show(browser, cases[name], tmp_path, width=720)  # A4 without its margins
    height = "return document.querySelector('details table').getBoundingClientRect().height"
    assert browser.execute_script("return document.querySelector('nav').offsetHeight") > 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(height) > 50
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 720
    assert browser.execute_script("return document.querySelector('nav').offsetHeight") == 0


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(browser: Any, cases: dict[str, Case], tmp_path: Path, name: str, dark: bool) -> None:
    source = axe_source()
    show(browser, cases[name], tmp_path, dark=dark)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.execute_script(source)
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done, e => done(String(e)))")
    assert found["passes"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in found["violations"]] == []
