# `make demo` and `make test` need nothing but Python >= 3.11 and make; the first run sets up .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint types docs imports sweep bench bench-full clean

help:
	@echo "make demo   set up and compute the paper's tables on bundled data"
	@echo "make test   set up and run lint, types and tests"
	@echo "make lint | types | imports | docs   one of the checks"
	@echo "make sweep  the long random sweeps against brute force"
	@echo "make bench  15 minutes of the search beside other solvers; bench-full: days"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("polyflip needs Python >= 3.11, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -e '.[cli,dev,scip,ortools]'; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli,dev,scip,ortools]'; \
	fi
	@touch $(READY)

demo: $(READY)
	$(BIN)/polyflip paper

test: $(READY) lint types imports
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check src tests scripts benchmarks
	$(BIN)/ruff format --check src tests scripts benchmarks

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/import_time.py

docs: $(READY)
	$(BIN)/python -m pytest --doctest-glob='*.md' --doctest-modules docs README.md src -q

sweep: $(READY)
	POLYFLIP_SWEEP=2000 $(BIN)/python -m pytest tests/oracle -n 2 -q
	POLYFLIP_SWEEP=20000 $(BIN)/python -m pytest tests/solvers -n 2 -q -k 'search_agrees or larger or confirmed or proved'

$(VENV)/.bench: $(READY)
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python -e '.[bench]'; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'; \
	fi
	@touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run quick --minutes 15
	$(BIN)/python -m benchmarks.report benchmarks/results/quick.jsonl
	$(BIN)/python -m benchmarks.footprint

bench-full: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run full --minutes 1e6
	$(BIN)/python -m benchmarks.report benchmarks/results/full.jsonl

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
