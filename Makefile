# Everything a newcomer needs: `make demo`, `make test`. Each sets up its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WORKERS ?= 2
export TF_CPP_MIN_LOG_LEVEL ?= 3

PYTEST := $(BIN)/python -m pytest
ALL_CASES := -o python_files='test_*.py one_by_one.py'

.PHONY: help setup demo test test-quick test-op test-all test-machines test-runtimes test-versions lint types devices docs \
	bench clean

help: ## print the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1 # \2/p' $(MAKEFILE_LIST) | awk -F ' # ' '{ printf "%-22s %s\n", $$1, $$2 }'

setup: $(STAMP) ## make the environment in .venv, with all extras and the tools

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[tensorflow,onnxruntime,torch,dev]'
	touch $(STAMP)

demo: $(STAMP) ## convert a small network, run both forms, print the comparison
	$(BIN)/python examples/demo.py

lint: $(STAMP) ## ruff: rules and format
	$(BIN)/ruff check trueport tests examples bench docs/*.py
	$(BIN)/ruff format --check trueport tests examples bench docs/*.py

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

test: lint types ## lint, types, and the tests that are not slow
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# One test per family and direction (tests/selection/quick.py); prints the time that it takes.
test-quick: $(STAMP) ## before each commit: lint, types, structure, the command line, one test per operator family
	time $(MAKE) --no-print-directory lint types quick-tests

.PHONY: quick-tests
test-quick test-op: SHELL := bash
quick-tests:
	$(PYTEST) -p tests.selection.quick -n $(WORKERS) --dist worksteal -m "not slow" $(ALL_CASES)

# What concerns one operator (tests/selection/operator.py); `make test-op OP=Resize MARKS=` runs the slow grids too.
MARKS ?= not slow
test-op: $(STAMP) ## everything about one operator, in all directions: make test-op OP=Resize
	time $(PYTEST) -p tests.selection.operator --operator "$(OP)" -m "$(MARKS)" $(ALL_CASES)

test-all: lint types ## the slow grids as well
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The numerical parts under the settings of other CPUs; an hour or two.
test-machines: $(STAMP) ## the numerical parts under the settings of other CPUs
	$(BIN)/python -m tests.machines.models convert
	$(BIN)/python -m tests.machines

# The core tests under other versions of Python and the frameworks; loads several GB per set, which stay in bench/.cache.
test-versions: $(STAMP) ## a sample of the tests under other versions of Python and the frameworks
	$(BIN)/python -m tests.versions --write

# Written files in ONNX Runtime 1.20, 1.22, 1.24 and the newest, each in an environment of its own; some minutes.
test-runtimes: $(STAMP) ## written files in older and newer releases of ONNX Runtime
	$(BIN)/python -m tests.versions.runtimes --write

# The table of kernels that docs/devices.md and `trueport check` read; takes minutes, for a new release of TensorFlow.
devices: $(STAMP) ## the table of TensorFlow's kernels, for a new release of TensorFlow
	$(BIN)/python -m tests.devices.table write

# The printed pages; `make test` fails when one is stale.
docs: $(STAMP) ## print the pages that are printed from the code
	$(BIN)/python docs/generate.py write
	$(BIN)/python -m tests.coverage.table write

bench: $(STAMP) ## speed, memory and nodes beside other converters
	$(BIN)/python -m bench

clean: ## remove the environment and what the tools keep
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
