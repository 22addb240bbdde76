"""Build wheels and the sdist on this machine, audit them, and try each wheel in an environment with nothing else.

The steps are cibuildwheel's own, without its containers, so that the wheels fit Linux distributions with this machine's
glibc or a newer one. Everything that builds is pinned by its hash in packaging/build-requirements.txt, and a bill of
materials (CycloneDX) lies beside the wheels. ``make wheels`` runs it; nothing is published. Give other interpreters as
arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Largest wheel, in bytes.
MOST = 13_000_000
PINNED = ("--require-hashes", "-r", str(ROOT / "packaging" / "build-requirements.txt"))
#: What is compiled into the wheels and is no package beside them.
COMPILED_IN = ("nanobind",)
#: Tests that are run against an installed wheel.
TESTS = (
    *("tests/engine", "tests/models", "tests/plan", "tests/persistence", "tests/trees/test_early_trees.py"),
    "tests/report/test_page.py",  # the templates are in the wheel
)
QUICKSTART = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Build, audit and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", help="Interpreters; by default all from 3.11 on that are found.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--only-try", type=Path, metavar="WHEEL", help="Build nothing, and try this wheel.")
    given = parser.parse_args()
    pythons = {version_of(python): python for python in given.pythons or found_pythons()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only_try is not None:
            for version, python in pythons.items():
                tried(python, version, given.only_try.resolve(), folder)
            return
        shutil.rmtree(given.dist, ignore_errors=True)
        tools = environment(sys.executable, folder / "tools", *PINNED)
        wheels = built(tools, pythons, folder, given.dist)
        call(tools, "-m", "twine", "check", "--strict", *map(str, given.dist.iterdir()))
        version, wheel = next(iter(wheels.items()))
        bare = environment(pythons[version], folder / "bare", str(wheel))
        print(f"{bill_of_materials(tools, bare, given.dist).name}: what the wheels bring and need", flush=True)
        for version, python in pythons.items():
            tried(python, version, wheels.get(version) or wheels[(3, 12)], folder)


def built(tools: Path, pythons: dict[tuple[int, int], str], folder: Path, dist: Path) -> dict[tuple[int, int], Path]:
    """Build the sdist, and from it a wheel for 3.11 and one for the stable ABI of 3.12; returns the audited wheels."""
    call(tools, "-m", "build", "--sdist", "--outdir", str(dist), str(ROOT))
    (sdist,) = dist.glob("*.tar.gz")
    source = folder / "source"
    shutil.unpack_archive(sdist, source)
    (source,) = source.iterdir()
    wheels = {}
    for version in ((3, 11), (3, 12)):
        if version not in pythons:
            continue
        raw = folder / f"raw-{version[1]}"
        builder = environment(pythons[version], folder / f"build-{version[1]}", *PINNED)
        build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(raw), str(source))
        call(builder, *build, PATH=search_path(builder))
        (wheel,) = raw.glob("*.whl")
        call(tools, "-m", "auditwheel", "repair", "--strip", "-w", str(dist), str(wheel), PATH=search_path(tools))
        tag = wheel.name.removesuffix(".whl").rsplit("-", 1)[0]
        (wheels[version],) = dist.glob(f"{tag}-*.whl")
        size = wheels[version].stat().st_size
        if size > MOST:
            raise SystemExit(f"{wheels[version].name} has {size} bytes, and {MOST} are allowed")
        print(f"{wheels[version].name}: {size / 1e6:.1f} MB", flush=True)
        if "-abi3-" in wheels[version].name:
            call(tools, "-m", "abi3audit", "--strict", str(wheels[version]))
    return wheels


def bill_of_materials(tools: Path, bare: Path, dist: Path) -> Path:
    """Describe an environment with nothing but wald, and what is compiled into wald."""
    (sdist,) = dist.glob("*.tar.gz")
    path = dist / f"{sdist.name.removesuffix('.tar.gz')}.cdx.json"
    call(tools, "-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", str(path), str(bare))
    bill = json.loads(path.read_text("utf-8"))
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    found = subprocess.run([tools, "-c", code, *COMPILED_IN], capture_output=True, text=True, check=True).stdout
    for name, version in zip(COMPILED_IN, found.split(), strict=True):
        purl = f"pkg:pypi/{name}@{version}"
        bill["components"].append(
            {"type": "library", "name": name, "version": version, "purl": purl, "description": "compiled into wald"}
        )
    path.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    return path


def tried(python: str, version: tuple[int, int], wheel: Path, parent: Path) -> None:
    """Install a wheel into a new environment; run README's example, the demo and tests outside of the checkout."""
    folder = parent / f"try-{version[0]}.{version[1]}"
    fresh = environment(python, folder, str(wheel))
    example = QUICKSTART.search((ROOT / "README.md").read_text("utf-8"))
    assert example is not None
    call(fresh, "-W", "error::ImportWarning", "-c", example[1], cwd=folder)
    call(
        fresh,
        "-m",
        "pip",
        "install",
        "-q",
        f"wald[cli,report] @ {wheel.as_uri()}",
        "pytest",
        "hypothesis",
        "pandas",
        cwd=folder,
    )
    call(fresh, "-m", "wald", "--version", cwd=folder)
    call(fresh, "-m", "wald", "demo", cwd=folder)
    copy = folder / "checkout"
    shutil.copytree(ROOT / "tests", copy / "tests")
    shutil.copy2(ROOT / "pyproject.toml", copy)
    call(fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long and not data", *TESTS, cwd=copy)
    print(f"{wheel.name}: works with Python {version[0]}.{version[1]}", flush=True)


def found_pythons() -> list[str]:
    """The interpreters from 3.11 on that are installed."""
    names = [f"python3.{minor}" for minor in range(11, 15)]
    pyenv = Path.home() / ".pyenv" / "versions"
    paths = [shutil.which(name) for name in names]
    paths += [str(path) for name in names for path in sorted(pyenv.glob(f"*/bin/{name}"))]
    return list({version_of(path): path for path in paths if path and runs(path)}.values())


def runs(python: str) -> bool:
    """Whether an interpreter starts; pyenv's shims of other versions do not."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def version_of(python: str) -> tuple[int, int]:
    """Major and minor version of an interpreter."""
    code = "import sys; print(*sys.version_info[:2])"
    major, minor = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


def environment(python: str, folder: Path, *packages: str) -> Path:
    """Make a virtual environment with some packages; returns its interpreter."""
    call(Path(python), "-m", "venv", str(folder))
    inside = folder / "bin" / "python"
    call(inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
    return inside


def search_path(python: Path) -> str:
    """A search path on which the programs of an environment come first."""
    return f"{python.parent}{os.pathsep}{os.environ['PATH']}"


def call(python: Path, *args: str, cwd: Path | None = None, **variables: str) -> None:
    """Run an interpreter; a failure ends the program."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([python, *args], cwd=cwd, env=clean | variables, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, [python, *args]))[:300]} ended with {done.returncode}")


if __name__ == "__main__":
    main()
