# Every target sets up what it needs; all that is assumed is Python 3.11 or later.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NATIVE := $(VENV)/.native
# On two cores: a worker that waits for a job of Spark, or for a disk, leaves its core to another.
WORKERS ?= 3

.PHONY: help demo test check laws soak bench docs spec-update clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo         a guided run'
	@echo 'make test         check, then every test but the soak tests'
	@echo 'make check        format, lint, types, import contracts'
	@echo 'make laws         the property tests, 20 times as long'
	@echo 'make soak         the tests that run for minutes'
	@echo 'make bench        the benchmarks'
	@echo 'make docs         the pages, as a site in build/site'
	@echo 'make spec-update  rewrite the expected parts of tests/specs'
	@echo 'make clean        remove the environment and all caches'

# --clear: a half-made environment, or one with packages no longer wanted, is not worth keeping.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Nestling needs Python 3.11 or later: make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The native engine; without a C compiler everything runs in Python, and this says so.
$(NATIVE): $(READY) hatch_build.py $(wildcard src/native/*.[ch])
	$(BIN)/python hatch_build.py
	@touch $@

demo: $(READY)
	$(BIN)/python -m nestling demo

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check $(NATIVE)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --durations=15 # a group of tests, or a module on Spark, has one worker

laws: $(NATIVE)
	HYPOTHESIS_PROFILE=laws $(BIN)/python -m pytest -q -n $(WORKERS) -m 'hypothesis and not soak' tests

# Exit code 5 says that there is no soak test.
soak: $(NATIVE)
	$(BIN)/python -m pytest -q -n $(WORKERS) -m soak tests || test $$? -eq 5

bench: $(NATIVE)
	@set -e; for script in benchmarks/[!_]*.py; do \
	    test -e "$$script" || { echo 'no benchmarks yet'; break; }; \
	    echo "$$script"; $(BIN)/python "$$script"; \
	done

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python -m mkdocs build --quiet --strict

spec-update: $(NATIVE)
	$(BIN)/python -m pytest -q tests/test_specs.py --update

clean:
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .coverage htmlcov
	rm -f src/nestling/_native*.so
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
