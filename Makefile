# The commands are `make train`, `make test` and `make play`; `make help` lists the rest.
# Everything is installed into $(VENV), again only when one of the three files below has changed.

VENV ?= .venv
PYTHON ?= python3
# A package index to take torch from, such as PyTorch's index of CPU builds; empty: the usual one.
TORCH_INDEX ?=
# Keys for `make play` and `make train`, such as ARGS="scale=workstation seed=2".
ARGS ?=
# Groups of tests that run at once (tests/conftest.py says which). Some wait much: three keep two cores busy.
AT_ONCE ?= 3

BIN := $(VENV)/bin
STAMP := $(VENV)/installed
TORCH := $(shell grep '^torch==' constraints.txt)
PYTEST := $(BIN)/pytest -n $(AT_ONCE) --dist loadscope --no-loadscope-reorder
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install play train test check test-long format lint types imports test-all test-fast test-rules speed \
	audit fix site wheel clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-12s %s\n", $$1, $$2}'
	@echo 'variables    VENV=$(VENV) PYTHON=$(PYTHON) TORCH_INDEX=$(TORCH_INDEX) ARGS=$(ARGS) AT_ONCE=$(AT_ONCE)'

install: $(STAMP) ## create the environment, with the developers' tools

$(STAMP): pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
	  { echo 'azcore needs Python 3.11 to 3.14: make PYTHON=python3.13' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(PIP) install --no-deps --index-url $(TORCH_INDEX) $(TORCH))
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

play: $(STAMP) ## play Go 9x9 against the pretrained network; more keys in ARGS
	$(BIN)/python -m azcore play checkpoint=pretrained $(ARGS)

train: $(STAMP) ## train Go; more keys in ARGS
	$(BIN)/python -m azcore game=go $(ARGS)

test: format lint imports ## run every check
	$(MAKE) --no-print-directory --jobs=2 AT_ONCE=2 types test-rules # mypy keeps one core busy
	$(MAKE) --no-print-directory test-all

check: format lint types imports test-fast ## the checks without the slow tests

format: $(STAMP) ## check the format, which `make fix` corrects
	$(BIN)/ruff format --check

lint: $(STAMP) ## ruff's rules
	$(BIN)/ruff check

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

imports: $(STAMP) ## check which folder imports which
	$(BIN)/lint-imports --no-logo

test-all: $(STAMP) ## all tests, compiled
	$(PYTEST) --seconds=build/seconds-compiled.json

test-fast: $(STAMP) ## the tests that tests/slow.csv does not name
	$(PYTEST) -m 'not slow'

speed: $(STAMP) ## count the instructions of search and rules, and store the figures
	$(BIN)/python tests/speed/measure.py --write

test-rules: $(STAMP) ## the tests marked rules again, as plain Python
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m rules --seconds=build/seconds-plain.json \
	  $$(grep -rl --include='test_*.py' mark.rules tests) # reading the other files takes longer than these

test-long: $(STAMP) ## the tests that `make test` omits: the same behaviour with larger numbers
	$(PYTEST) -m long

audit: $(STAMP) ## ask PyPI for known vulnerabilities of the pinned versions
	$(PIP) install -c constraints.txt -e '.[audit]'
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt || \
	  { echo 'make audit: a version has a known vulnerability, or https://pypi.org did not answer for all' >&2; \
	  exit 1; }

fix: $(STAMP) ## format the code and apply ruff's fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

site: $(STAMP) ## build the documentation as a site: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'build/site/index.html; with the search: $(BIN)/python -m http.server -b 127.0.0.1 -d build/site'

wheel: $(STAMP) ## build dist/*.tar.gz and dist/*.whl
	$(BIN)/python -m build

clean: ## remove the environment, builds and caches; runs/ stays
	rm -rf $(VENV) build dist azcore.egg-info .mypy_cache .pytest_cache .ruff_cache \
	  .import_linter_cache
	find azcore games conf tests -name __pycache__ -prune -exec rm -rf {} +
