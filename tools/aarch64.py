"""Build wald for aarch64 on a Debian machine of another kind, and run tests of the engine under qemu.

``make aarch64`` runs it. It needs Debian's g++-aarch64-linux-gnu and qemu-user-static, apt's knowledge of the
architecture (``dpkg --add-architecture arm64; apt-get update``), and a Python of the minor version that Debian has.
Debian's packages of Python are unpacked below build/aarch64 and not installed; wheels come from the package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "aarch64"
SYSROOT, SITE = WORK / "root", WORK / "site"
PROGRAMS = ("aarch64-linux-gnu-g++", "qemu-aarch64-static", "apt-get", "dpkg-deb")
PYTHON = f"python3.{sys.version_info[1]}"
LIBRARIES = ("libc6", "libstdc++6", "libgcc-s1", "libgomp1", "zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0")
LIBRARIES += ("liblzma5", "libsqlite3-0", "libuuid1", "libncursesw6", "libtinfo6", "libreadline8", "libcrypt1")
PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals", "pytest", "hypothesis")
PACKAGES += ("pandas", "skops")
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
TESTS = ("tests/engine", "tests/plan", "tests/trees/test_sklearn_trees.py", "tests/monitoring")
#: Tests that start the interpreter, which qemu cannot do by itself, and tests of times.
LEFT_OUT = "not test_levels and not less_than"


def main() -> None:
    """Unpack, build and test; arguments replace the tests."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise SystemExit(f"missing: {', '.join(missing)}. Install g++-aarch64-linux-gnu and qemu-user-static.")
    WORK.mkdir(parents=True, exist_ok=True)
    unpack()
    install()
    build()
    environ = ("-E", f"PYTHONPATH={SITE}", "-E", "OPENBLAS_NUM_THREADS=1", "-E", "PYTHONDONTWRITEBYTECODE=1")
    python = ("qemu-aarch64-static", "-L", str(SYSROOT), *environ, str(SYSROOT / "usr" / "bin" / PYTHON))
    facts = "import platform, wald; print(platform.machine(), wald._core.simd_levels())"
    call(*python, "-c", f"import wald._core; {facts}")
    call(*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", LEFT_OUT, *(sys.argv[1:] or TESTS))


def unpack() -> None:
    """Unpack Debian's packages of Python and what it needs."""
    if (SYSROOT / "usr" / "bin" / PYTHON).exists():
        return
    names = [PYTHON, f"{PYTHON}-minimal", *(f"lib{PYTHON}{part}" for part in ("", "-minimal", "-stdlib", "-dev"))]
    folder = WORK / "packages"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    call("apt-get", "download", "-q", *(f"{name}:arm64" for name in (*names, *LIBRARIES)), cwd=folder)
    for package in sorted(folder.iterdir()):
        call("dpkg-deb", "-x", str(package), str(SYSROOT))


def install() -> None:
    """Unpack the wheels that wald and its tests need."""
    if SITE.exists():
        return
    platforms = [word for name in PLATFORMS for word in ("--platform", f"{name}_aarch64")]
    version = ".".join(map(str, sys.version_info[:2]))
    only = ("--only-binary", ":all:", "--implementation", "cp", "--python-version", version)
    call(sys.executable, "-m", "pip", "install", "-q", "--target", str(SITE), *platforms, *only, *PACKAGES)


def build() -> None:
    """Build the extension, and put it and the Python files beside the wheels."""
    headers = SYSROOT / "usr" / "include"
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
        "CMAKE_CXX_FLAGS": f"-I{headers}",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CROSSCOMPILING_EMULATOR": f"qemu-aarch64-static;-L;{SYSROOT}",
        "Python_EXECUTABLE": SYSROOT / "usr" / "bin" / PYTHON,
        "Python_INCLUDE_DIR": headers / PYTHON,
        "nanobind_DIR": said(sys.executable, "-m", "nanobind", "--cmake_dir"),
    }
    made = WORK / "cmake"
    call("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(made), *(f"-D{k}={v}" for k, v in settings.items()))
    call("cmake", "--build", str(made))
    (extension,) = made.glob("_core*.so")
    shutil.rmtree(SITE / "wald", ignore_errors=True)
    shutil.copytree(ROOT / "src" / "wald", SITE / "wald", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy2(extension, SITE / "wald")


def said(*words: str) -> str:
    """The output of a command."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def call(*words: str, cwd: Path = ROOT) -> None:
    """Run a command; a failure ends the program."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja of the environment
    done = subprocess.run(words, cwd=cwd, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)[:300]} ended with {done.returncode}")


if __name__ == "__main__":
    main()
