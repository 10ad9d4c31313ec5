# Everything a newcomer needs: `make demo`, `make test`. Each sets up its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WORKERS ?= 2
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: setup demo test test-all test-machines test-runtimes test-versions lint types devices docs bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[tensorflow,onnxruntime,torch,dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py

lint: $(STAMP)
	$(BIN)/ruff check trueport tests examples bench docs/*.py
	$(BIN)/ruff format --check trueport tests examples bench docs/*.py

types: $(STAMP)
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# The slower grids as well.
test-all: lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The numerical parts under the settings of other CPUs; an hour or two.
test-machines: $(STAMP)
	$(BIN)/python -m tests.machines.models convert
	$(BIN)/python -m tests.machines

# The core tests under other versions of Python and the frameworks; loads several GB per set, which stay in bench/.cache.
test-versions: $(STAMP)
	$(BIN)/python -m tests.versions --write

# Written files in ONNX Runtime 1.20, 1.22, 1.24 and the newest, each in an environment of its own; some minutes.
test-runtimes: $(STAMP)
	$(BIN)/python -m tests.versions.runtimes --write

# The table of kernels that docs/devices.md and `trueport check` read; takes minutes, for a new release of TensorFlow.
devices: $(STAMP)
	$(BIN)/python -m tests.devices.table write

# The printed pages; `make test` fails when one is stale.
docs: $(STAMP)
	$(BIN)/python docs/generate.py write
	$(BIN)/python -m tests.coverage.table write

bench: $(STAMP)
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
