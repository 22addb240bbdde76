# Everything goes through make; each target sets up what it needs. `make help` lists them.
# Needed: Python >= 3.11 (choose it with PYTHON=python3.12), a C++20 compiler (CXX=clang++), make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check
JOBS   ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n < 4 ? n : 4)))
# A thread of OpenMP that waits for work must not keep a processor from the other tests. Compiled tests are kept, whatever
# the environment says: pytest rewrites their assertions, which takes each worker a third of the time of collecting them.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(JOBS)
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
EXTRAS_docs  := test,dev,docs
EXTRAS_bench := bench
EXTRAS_reproduce := plot

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check lint format types stub reference readme examples docs isa levels sanitize
.PHONY: sanitize-threads check-deep bench reproduce wheels aarch64 clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed-demo ## set up, build, and show what wald does
	$(BIN)/wald demo $(ARGS)

test: $(VENV)/.installed-test ## the fast tests; ARGS="-k mnist" narrows them
	$(PYTEST) -m "not long and not slow" $(ARGS)

test-long: $(VENV)/.installed-test ## the slow statistical tests as well
	$(PYTEST) -m "long or not long" $(ARGS)

# What keeps one core busy runs in pairs, and what it prints is kept together. The installations come first, in turn.
check: ## everything that continuous integration runs
	$(MAKE) $(VENV)/.installed-dev
	$(MAKE) $(VENV)/.installed-docs
	$(MAKE) -j$(JOBS) $(if $(filter output-sync,$(.FEATURES)),-O) lint types isa examples docs
	$(MAKE) test-full
	$(MAKE) levels

CPP = $(shell find cpp -name '*.?pp' -o -name '*.inl')
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python -m numpydoc lint $$(find src/wald reproduce -name '*.py')
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms \
	  $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet --no-progress --config .github/zizmor.yml .github/workflows

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

readme: $(VENV)/.installed-dev ## write the figures of README.md from bench/results
	$(BIN)/python tools/readme.py

examples: $(VENV)/.installed-docs
	$(BIN)/python -m pytest -q -c pyproject.toml --rootdir . --doctest-modules --pyargs wald reproduce acquisition
	$(BIN)/python -m pytest -q tests/test_docs.py

# A warning ends the build; no network is needed. The gallery runs, and links, questions and search are tested.
docs: $(VENV)/.installed-docs ## the documentation site, in build/site
	rm -rf docs/api docs/examples build/site
	MPLBACKEND=agg OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -E -q -W --keep-going -d build/doctrees docs build/site
	WALD_SITE=build/site $(BIN)/python -m pytest -q tests/test_site.py

.PHONY: test-full
test-full: $(VENV)/.installed-dev
	$(PYTEST) -m "not long" --ignore tests/test_docs.py --ignore tests/test_site.py

# The tests of the engine at every SIMD level below this machine's best, at which `test-full` runs. Validation, messages,
# policies and files do not depend on the level.
LEVELS := tests/engine $(patsubst %,tests/trees/test_%.py, tree_engine tree_values packed_trees sklearn_trees) \
  $(patsubst %,tests/online/test_%.py, boosting boosting_streams reference shrinking stages streams) \
  $(patsubst %,tests/structured/test_%.py, chain constraints decoders evidence inference labels_by_name learners \
  long_sentences parser parser_pruner parser_session part_rows second_order) \
  $(patsubst %,tests/early_exit/test_%.py, containers ladders own_labels promises rules)
levels: $(VENV)/.installed-dev
	@levels=$$($(BIN)/python -c 'from wald import _core; print(*_core.simd_levels()[:-1])') && \
	for level in $$levels; do \
	  echo "WALD_SIMD=$$level"; \
	  WALD_SIMD=$$level $(PYTEST) $(wildcard $(LEVELS)) || exit 1; \
	done

# The engine's tests under the address and undefined-behaviour sanitizers (GCC, Linux).
LIBRARY = $$($${CXX:-g++} -print-file-name=$(1))
UNDER_ASAN = PYTHONPATH=build/sanitize/site PYTHONMALLOC=malloc \
  ASAN_OPTIONS=detect_leaks=0:max_allocation_size_mb=2048:allocator_may_return_null=1 \
  LD_PRELOAD="$(call LIBRARY,libasan.so) $(call LIBRARY,libstdc++.so.6)"
sanitize: $(VENV)/.installed-test ## the engine's tests under sanitizers
	$(PIP) install --no-build-isolation --no-deps --upgrade --target build/sanitize/site \
	  -C build-dir=build/sanitize -C cmake.define.WALD_SANITIZE=address,undefined .
	$(UNDER_ASAN) \
	  $(BIN)/python -m pytest -q -p no:cacheprovider $(wildcard tests/engine tests/online tests/structured tests/persistence/test_estimators.py) $(ARGS)

# Threads under the thread sanitizer. It sees the engine alone, and allows no threads in a child of a process that has some.
UNDER_TSAN = PYTHONPATH=build/sanitize-threads/site TSAN_OPTIONS="exitcode=66 ignore_noninstrumented_modules=1" \
  LD_PRELOAD="$(call LIBRARY,libtsan.so) $(call LIBRARY,libstdc++.so.6)"
sanitize-threads: $(VENV)/.installed-test ## the engine's threads under the thread sanitizer
	$(PIP) install --no-build-isolation --no-deps --upgrade --target build/sanitize-threads/site \
	  -C build-dir=build/sanitize-threads -C cmake.define.WALD_SANITIZE=thread .
	$(UNDER_TSAN) \
	  $(BIN)/python -m pytest -q -s -p no:cacheprovider -k "not fork" tests/engine/test_concurrency.py tests/hardening/test_many_threads.py $(ARGS)

# Hours: fuzzers for SECONDS each, also under the sanitizers, and the long hardening tests.
SECONDS := 600
check-deep: $(VENV)/.installed-dev ## fuzzers (SECONDS=600 each), sanitizers, long hardening tests
	$(PIP) install atheris || echo "atheris is not to be had here: the fuzzers run a loop of mutations"
	$(BIN)/python fuzz/run.py --seconds $(SECONDS)
	$(PYTEST) -m "long or not long" tests/hardening
	$(MAKE) sanitize
	$(UNDER_ASAN) WALD_FUZZ_SLOWER=5 $(BIN)/python fuzz/run.py --seconds $(SECONDS)
	$(MAKE) sanitize-threads
	$(UNDER_TSAN) WALD_FUZZ_SLOWER=15 $(BIN)/python fuzz/run.py --seconds $(SECONDS)

bench: $(VENV)/.installed-bench ## speed compared with the peers in one run (ARGS="frames --write": one setting, results kept)
	$(BIN)/python -m bench $(ARGS)

reproduce: $(VENV)/.installed-reproduce ## a paper's experiments (ARGS="focus-of-attention --quick"; --write keeps them)
	$(BIN)/python -m reproduce $(ARGS)

wheels: ## sdist and wheels in dist/: built, audited, and tried in new environments (ARGS="python3.12 ...")
	$(PYTHON) tools/wheels.py $(ARGS)

aarch64: $(VENV)/.installed-test ## build for aarch64 and test the engine under qemu (Debian; ARGS="tests/...")
	$(BIN)/python tools/aarch64.py $(ARGS)

clean: ## remove everything that make made
	rm -rf $(VENV) build dist docs/api docs/examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests reproduce -name __pycache__ -type d -prune -exec rm -rf {} +

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
