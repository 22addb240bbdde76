# Everything goes through make; each target sets up what it needs. `make help` lists them.
# Needed: Python >= 3.11 (choose it with PYTHON=python3.12), a C++20 compiler (CXX=clang++), make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check
JOBS   ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n < 4 ? n : 4)))
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS)
ARGS   ?=

# Real data: tests that need it are skipped when there is none.
WALD_DATA ?= $(realpath ../shared/data)
ifneq ($(WALD_DATA),)
export WALD_DATA
endif

# Directories are listed too: their times change when a file is added or removed.
SOURCES := CMakeLists.txt pyproject.toml $(shell find cpp src -name __pycache__ -prune -o -print)

EXTRAS_demo  := cli,plot
EXTRAS_test  := test
EXTRAS_dev   := test,dev
EXTRAS_bench := bench

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check lint format types stub reference docs isa levels sanitize bench wheel clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed-demo ## set up, build, and show what wald does
	$(BIN)/wald demo $(ARGS)

test: $(VENV)/.installed-test ## the fast tests; ARGS="-k mnist" narrows them
	$(PYTEST) $(ARGS)

test-long: $(VENV)/.installed-test ## the slow statistical tests as well
	$(PYTEST) -m "long or not long" $(ARGS)

check: lint types isa docs test-full levels ## everything that continuous integration runs

CPP = $(shell find cpp -name '*.?pp' -o -name '*.inl')
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python -m numpydoc lint $$(find src/wald -name '*.py')

format: $(VENV)/.installed-dev ## format the sources
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

types: $(VENV)/.installed-dev
	$(BIN)/mypy

isa: $(VENV)/.installed-dev
	tools/check_isa.sh

stub: $(VENV)/.installed-dev ## write the stub of the extension from its bindings
	$(BIN)/python tools/stub.py

reference: $(VENV)/.installed-dev ## write the list of public names, docs/reference.md
	$(BIN)/python tools/reference.py

docs: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -c pyproject.toml --rootdir . --doctest-modules --pyargs wald
	$(BIN)/python -m pytest -q tests/test_docs.py

.PHONY: test-full
test-full: $(VENV)/.installed-dev
	$(PYTEST) --ignore tests/test_docs.py

# The tests of the engine at every SIMD level of this machine. Validation and messages do not depend on the level.
LEVELS := tests/engine tests/online tests/structured $(addprefix tests/early_exit/test_, \
  containers.py ladders.py own_labels.py promises.py rules.py)
levels: $(VENV)/.installed-dev
	@levels=$$($(BIN)/python -c 'from wald import _core; print(*_core.simd_levels())') && [ -n "$$levels" ] && \
	for level in $$levels; do \
	  echo "WALD_SIMD=$$level"; \
	  WALD_SIMD=$$level $(PYTEST) $(wildcard $(LEVELS)) || exit 1; \
	done

# The engine's tests under the address and undefined-behaviour sanitizers (GCC, Linux).
sanitize: $(VENV)/.installed-test ## the engine's tests under sanitizers
	$(PIP) install --no-build-isolation --no-deps --upgrade --target build/sanitize/site \
	  -C build-dir=build/sanitize -C cmake.define.WALD_SANITIZE=address,undefined .
	PYTHONPATH=build/sanitize/site PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so.6)" \
	  $(BIN)/python -m pytest -q -p no:cacheprovider $(wildcard tests/engine tests/online tests/structured tests/persistence/test_estimators.py) $(ARGS)

bench: $(VENV)/.installed-bench ## speed compared with the peers in one run (ARGS="frames --write": one setting, results kept)
	$(BIN)/python -m bench $(ARGS)

wheel: $(VENV)/.installed-dev ## sdist and wheel in dist/
	$(BIN)/python -m build --no-isolation --outdir dist .

clean: ## remove everything that make made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The package is installed, not linked, so that tests see what users get; build/ keeps unchanged objects.
$(VENV)/.installed-%: $(SOURCES) | $(VENV)/.created
	$(PIP) install --no-build-isolation "$(if $(EXTRAS_$*),.[$(EXTRAS_$*)],.)"
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "wald needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo not there)." \
	    "Choose another one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments; install its venv package (on Debian: python3-venv)."; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { \
	  echo "No C++ compiler '$${CXX:-c++}'; install g++ or clang++, or choose one: make CXX=clang++"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install "scikit-build-core>=1.1" "nanobind>=3.1" "cmake>=3.26" ninja
	@touch $@
