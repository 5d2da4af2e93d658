# Every command of the project. `make help` lists them.

# The system's Python if it has what is needed here: with one that was compiled by hand, without
# --enable-optimizations, the same loop took 2.5 times as long as with Debian's.
HAS_ALL := import sys, sysconfig, os, ensurepip, venv; \
	sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))
PYTHON ?= $(shell /usr/bin/python3 -c '$(HAS_ALL)' 2> /dev/null && echo /usr/bin/python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Processes that run tests. Two of them left a third of two cores idle; three take a little less
# time. In `make interop` each has a Kafka, a Spark or a few clients beside it.
WORKERS ?= 3
INTEROP_WORKERS ?= 2
COMPILED := build/compiled
COMPILED_TESTS := $(addprefix tests/,core protocol log runtime server groups clients crash property testing)

.DEFAULT_GOAL := help
.PHONY: help setup fix check test compiled testcompiled sim soak demo docs interop oracle bench clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## make the virtual environment .venv with everything the other commands need

$(STAMP): pyproject.toml requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

fix: $(STAMP)  ## format and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(STAMP)  ## format, lint, types, import directions, house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_tidy.py

test: $(STAMP)  ## all that is fast and deterministic, real Python clients included
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m 'not interop'

compiled: $(COMPILED)/.built  ## build/compiled and a wheel in dist/: the hot modules translated to C by mypyc (a minute)

$(COMPILED)/.built: setup.py pyproject.toml $(shell find src -name '*.py') $(STAMP)
	@command -v cc > /dev/null || { echo "compiling needs a C compiler and Python's headers (Debian: gcc python3-dev)"; exit 1; }
	rm -rf build dist/*.whl
	DRUMBEAT_COMPILE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(COMPILED) dist/*.whl
	touch $@

testcompiled: $(COMPILED)/.built  ## the tests of what is compiled, against the compiled build
	PYTHONPATH=$(COMPILED) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m 'not interop' $(COMPILED_TESTS)

sim: $(STAMP)  ## one simulated history (SEED=n, TRACE=1 for every step), or a random batch (SECONDS=n)
	PYTHONPATH=tests $(BIN)/python -m sim.run $(if $(SEED),--seed $(SEED) $(if $(TRACE),--trace),--seconds $(or $(SECONDS),30))

soak: $(STAMP)  ## kill -9 and power cuts under load for SECONDS=n (600): nothing acknowledged is lost
	CRASH_SECONDS=$(or $(SECONDS),600) $(BIN)/python -m pytest -q -rsP -n 3 tests/crash/test_kill.py tests/crash/test_kill_groups.py tests/crash/test_power_cut.py

demo: $(STAMP)  ## watch it work
	$(BIN)/drumbeat demo

docs: $(STAMP)  ## rewrite the generated pages of docs/
	$(BIN)/python docs/generate.py

interop: $(STAMP)  ## clients and tools from other registries than PyPI; says what it skips
	$(BIN)/python -m pytest -q -n $(INTEROP_WORKERS) --dist loadfile --no-loadscope-reorder -m interop -rs tests/interop

oracle: $(STAMP)  ## of these, the generated request sequences alone (ORACLE_SEQUENCES=n, ORACLE_SEED=n)
	$(BIN)/python -m pytest -q -m interop -rs tests/interop/test_oracle.py

bench: $(COMPILED)/.built  ## the benchmarks, side by side with what they are compared to (QUICK=1: the goals only)
	$(BIN)/python benchmarks/codec.py
	$(BIN)/python benchmarks/record_batches.py
	$(BIN)/python benchmarks/log_append.py --seconds 0.5
	$(BIN)/python benchmarks/offset_records.py 50000
	$(BIN)/python benchmarks/consumer.py $(if $(QUICK),--rounds 1 --records 100000,--rounds 2)
	$(BIN)/python benchmarks/producer.py --rounds $(if $(QUICK),1,2)
	$(BIN)/python benchmarks/pipeline.py --records 1000000 --masters 'local[2]' --no-derive
	$(BIN)/python -m benchmarks.side_by_side $(if $(QUICK),--quick)

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
