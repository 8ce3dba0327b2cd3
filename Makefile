# Needs Python 3.10-3.14, make and a package index; everything lands in .venv.
#   make demo    set up, then train two networks on handwritten digits
#   make test    set up, then run the tests (ARGS="tests/ops/shape/test_views.py -x" to choose)
#   make memory  the tests of most kernel families with poisoned and with guarded memory (docs/debugging.md)
#   make bench   the tables of docs/benchmarks.md and the README's pictures, measured here (ten minutes on an idle machine)
#   make docs    the documentation site, in build/docs
#   make lint    ruff and mypy
#   make clean   remove .venv and what builds and tests leave
PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
JOBS   ?= 2

BIN := $(VENV)/bin
# On a terminal pip shows what it downloads and how far it is.
QUIET := $(shell test -t 2 || echo --quiet)
PIP := $(BIN)/python -m pip --disable-pip-version-check $(QUIET)

MEMORY := $(foreach name,tensors/test_tensor kernels/families/test_kernel_pointwise linalg/test_contract ops/index/test_index ops/shape/test_join nn/test_conv nn/test_window_ops \
	ops/shape/test_pad nn/test_softmax processes/test_share_memory processes/test_shared,tests/$(name).py)

.PHONY: demo test memory bench docs lint clean
.DELETE_ON_ERROR:

demo: $(VENV)/examples.stamp
	$(BIN)/python examples/digits.py

# Whoever runs out of tests takes half of what another has left: of whole files, one that compiles for minutes was left to one core.
test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# What a fault says goes past pytest to the terminal.
memory: $(VENV)/dev.stamp
	NUMTORCH_DEBUG_MEMORY=poison $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --capture=sys $(MEMORY) $(ARGS)
	NUMTORCH_DEBUG_MEMORY=guard $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --capture=sys $(MEMORY) $(ARGS)

# PyTorch is measured too where it is installed: $(PIP) install torch.
bench: $(VENV)/dev.stamp
	@mkdir -p build
	$(BIN)/python -m bench --json build/bench.json --plot build/bench.png $(ARGS)
	$(BIN)/python -m bench --from build/bench.json --readme docs/benchmarks.md >build/bench.txt
	$(BIN)/python tools/pictures.py

# A link that leads nowhere fails.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

lint: $(VENV)/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

# An editable install: a change to the sources needs no new one, so later runs need no network.
$(VENV)/python.stamp:
	@echo "Making a Python environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Bytecode is made when a module is first imported: most of what is installed never is.
$(VENV)/%.stamp: $(VENV)/python.stamp pyproject.toml
	@echo "Installing numtorch and what '$*' needs, some 400 MB"
	$(PIP) install --no-compile --editable ".[$*]"
	@touch $@
