# Needs Python 3.10-3.14, make and a package index; everything lands in .venv.
#   make demo    set up, then train two networks on handwritten digits
#   make test    set up, then run the tests (ARGS="tests/test_layout.py -x" to choose)
#   make bench   the tables of README.md, measured here
#   make lint    ruff and mypy
#   make clean   remove .venv and what builds and tests leave
PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
JOBS   ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test bench lint clean
.DELETE_ON_ERROR:

demo: $(VENV)/examples.stamp
	$(BIN)/python examples/digits.py

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench core --readme README.md

lint: $(VENV)/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

# An editable install: a change to the sources needs no new one, so later runs need no network.
$(VENV)/python.stamp:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/%.stamp: $(VENV)/python.stamp pyproject.toml
	$(PIP) install --editable ".[$*]"
	@touch $@
