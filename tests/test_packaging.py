"""What is shipped says the same everywhere: versions, requirements, licence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import wald

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def name_and_bound(requirement: str) -> str:
    return re.sub(r"\s", "", requirement.partition(";")[0])


def listed(recipe: str, section: str) -> set[str]:
    """The items of a list of the recipe, which is plain YAML of one level here."""
    found = re.search(rf"^  {section}:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    assert found is not None
    return {name_and_bound(line.strip()[2:]) for line in found[1].splitlines()}


def test_the_recipe_has_the_version_and_requirements_of_the_project() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    project = PROJECT["project"]
    assert f'version: "{project["version"]}"' in recipe
    assert listed(recipe, "run") == {"python", *map(name_and_bound, project["dependencies"])}
    assert listed(recipe, "host") == {"python", "pip", *map(name_and_bound, PROJECT["build-system"]["requires"])}
    assert f"license: {project['license']}" in recipe


#: What conda-forge's own pinning says of these names.
VARIANTS = """
python: ["3.11.* *_cpython", "3.14.* *_cp314"]
cxx_compiler: [gxx]
c_stdlib: [sysroot]
c_stdlib_version: ["2.28"]
"""


def test_the_recipe_renders() -> None:
    rattler = pytest.importorskip("rattler_build")
    recipe = rattler.Stage0Recipe.from_file(str(ROOT / "packaging" / "conda" / "recipe.yaml"))
    rendered = [one.recipe.to_dict() for one in recipe.render(rattler.VariantConfig.from_yaml(VARIANTS))]
    assert [one["build"]["string"][:5] for one in rendered] == ["py311", "py314"]
    for one in rendered:
        assert one["package"] == {"name": "wald", "version": PROJECT["project"]["version"]}
        assert "gxx_linux-64" in one["requirements"]["build"]


def test_the_installed_version_is_that_of_the_checkout() -> None:
    assert wald.__version__ == PROJECT["project"]["version"]


@pytest.mark.parametrize("extra", PROJECT["project"]["optional-dependencies"])
def test_extras_that_name_extras_name_those_that_exist(extra: str) -> None:
    known = PROJECT["project"]["optional-dependencies"]
    for requirement in known[extra]:
        own = re.match(r"wald\[(.*)\]", requirement)
        assert own is None or set(own[1].split(",")) <= set(known)
