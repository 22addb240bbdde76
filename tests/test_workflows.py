"""The checks that run on the project's forge. Nothing here can run them; `make lint` lints them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
STEPS = [
    (f"{name}: {job}", step)
    for name, workflow in WORKFLOWS.items()
    for job, described in workflow["jobs"].items()
    for step in described["steps"]
]


def test_every_python_is_tested_on_every_system():
    matrix = WORKFLOWS["checks.yml"]["jobs"]["tests"]["strategy"]["matrix"]
    named = [
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["project"]["classifiers"]
    ]
    assert matrix["python"] == [found[1] for found in named if found]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_wheels_are_built_for_every_system_and_published_from_tags_alone():
    jobs = WORKFLOWS["wheels.yml"]["jobs"]
    assert {system.partition("-")[0] for system in jobs["wheels"]["strategy"]["matrix"]["os"]} == {
        "ubuntu",
        "macos",
        "windows",
    }
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "refs/tags/v" in jobs["publish"]["if"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_permissions_are_the_least(name):
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {"contents": "read"}
    written = {
        job for job, described in workflow["jobs"].items() if "write" in described.get("permissions", {}).values()
    }
    assert written <= {"pages", "publish"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_job_runs_for_hours(name):
    assert [job for job, described in WORKFLOWS[name]["jobs"].items() if "timeout-minutes" not in described] == []


def test_actions_are_pinned_by_their_major_versions():
    used = [step["uses"] for _, step in STEPS if "uses" in step]
    assert used
    assert [action for action in used if not re.search(r"@(v\d+|release/v\d+)$", action)] == []


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = {
        target
        for _, step in STEPS
        for line in re.findall(r"^make (.*)$", step.get("run", ""), re.M)
        for target in line.split()
    }
    assert called
    assert called <= targets


def test_extras_that_are_installed_exist():
    extras = {
        extra
        for _, step in STEPS
        for found in re.findall(r"\.\[([\w,]+)\]", step.get("run", ""))
        for extra in found.split(",")
    }
    assert extras
    assert extras <= set(PROJECT["project"]["optional-dependencies"])
