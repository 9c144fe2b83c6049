# Everything runs in a virtual environment that the first command makes: `make help` lists the commands.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
# Errors only: what an installer says about its own sources helps nobody.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
# Compilation takes most of the time of the tests. Workers share what is compiled, on disk; work is
# stolen in runs of neighbouring tests, so that two workers seldom compile the same kernel.
WORKERS ?= 2
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal

.PHONY: demo docs dist tutorials crash machines machines-same service explorer pictures coverage test test-all lint test-plain test-outer test-compiled compile bench tables quality text gallery manual experiments experiments-quick clean help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# What a user needs, and nothing else.
$(USABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "perchtree needs Python 3.11 or newer: make PYTHON=/path/to/python")'
	@echo "Installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e .
	@touch $@

$(READY): $(USABLE)
	@echo "Installing the tools for development into $(VENV) ..."
	@$(INSTALL) -e '.[all,dev,docs]'
	@touch $@

demo: $(USABLE) ## cluster a bundled data set online and explain the result
	@$(BIN)/perch demo --force

docs: $(READY) ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean  # with --quiet it would not be strict
	@echo "open build/site/index.html"

dist: $(READY) ## build wheel and sdist, and check them with every Python that is found; minutes
	$(BIN)/python -m tools.dist

tutorials: $(READY) ## run the tutorials and write their output and pictures into their pages
	$(BIN)/python -m docs.running

test: lint test-plain test-outer test-compiled ## linting, types, layers and all quick tests

test-all: lint test-plain test-outer ## the same, with the tests that take minutes
	PERCHTREE_EXAMPLES=1000 $(BIN)/pytest -m "not outer or slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every line of kernels runs as plain Python, on small inputs; every other line where tests marked
# `outer` run, compiled: `coverage` counts both.
test-plain: $(READY)
	NUMBA_DISABLE_JIT=1 $(PYTEST) tests/unit tests/property -m "not slow and not jit and not outer" $(COVERED)

test-outer: $(READY) $(VENV)/axe compile
	$(PYTEST) tests/unit tests/cli tests/crash tests/serve tests/browser tests/pages -m "outer and not slow" $(COVERED)

# Tracing makes Python several times as slow: the quick tests run without.
coverage: $(READY) ## which lines the tests reach; at least 95 % of them
	rm -f .coverage
	$(MAKE) test-plain test-outer COVERED='--cov --cov-append --cov-report='
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=95

test-compiled: $(READY) compile
	$(PYTEST) -m "not outer and not slow"

# Modes of one family share most of their kernels: one process compiles each family, once.
compile: $(READY)
	$(BIN)/python tests/ahead.py

service: $(READY) ## the service under random requests, load, kill -9, a full disk, hostile clients; hours
	$(BIN)/python tests/serve/service_harness.py hostile
	$(BIN)/python tests/serve/service_harness.py full
	$(BIN)/python tests/serve/service_harness.py load
	$(BIN)/python tests/serve/service_harness.py fuzz

# axe-core looks at accessibility, in tests only.
$(VENV)/axe: $(READY)
	-npm install --silent --no-fund --no-audit --prefix $@ axe-core@4.14.0

explorer: $(READY) ## the explorer: 1,500 records found, a million and five million points; an hour, 5 GB of disk, PERCHTREE_DATA
	$(BIN)/python tests/browser/explorer_harness.py changes records million large

pictures: $(READY) ## screenshots of the explorer, written to docs/pictures/explorer
	$(BIN)/python -m docs.explorer_pictures

crash: $(READY) ## kill -9, full disks, lost power, all of it; up to an hour
	$(BIN)/python tests/crash/harness.py all

machines: $(READY) ## many machines: kill -9 of workers, nodes and the driver in 50 fits; half an hour
	$(BIN)/python tests/machines/killing.py 50

machines-same: $(READY) ## many machines: the same trees as one makes of all data; PERCHTREE_DATA names the data folder
	$(BIN)/python -m benchmarks machines_same

bench: $(READY) ## speed and memory, written to benchmarks/RESULTS.md; PERCHTREE_DATA names the data folder
	$(INSTALL) -e '.[bench]'
	$(BIN)/python -m benchmarks --write

tables: $(READY) ## what each rule costs and yields, written to docs/modes.md and docs/cuts.md
	$(BIN)/python -m experiments.modes
	$(BIN)/python -m experiments.cuts

quality: $(READY) ## purity of our trees next to others', written to docs/quality.md; half an hour
	$(INSTALL) -e '.[bench]'
	$(BIN)/python -m experiments.quality

text: $(READY) ## vectors from texts, how good and how fast, written to docs/text.md
	$(INSTALL) -e '.[wordllama]'
	$(BIN)/python -m experiments.text

gallery: $(READY) ## pictures from real data, written to docs/gallery.md
	$(BIN)/python -m experiments.gallery

experiments: $(READY) ## the paper's experiments, written to docs/experiments.md; hours, goes on where it stopped
	$(INSTALL) -e '.[experiments]'
	$(BIN)/python -m experiments

experiments-quick: $(READY) ## the same on little data, in minutes; written to experiments/results/quick.md
	$(INSTALL) -e '.[experiments]'
	$(BIN)/python -m experiments --scale quick --jobs 2

manual: $(READY) ## docs/cli.md from the help texts
	$(BIN)/python -m docs.cli_page

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
