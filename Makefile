PYTHON ?= python3.11
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# One thread a process: tests run side by side, and a BLAS pool in each of them makes all of them slower.
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo setup test lint format lock audit sbom licences clean

demo: .venv/demo  ## build a bundle from embedded real purchases and serve it
	$(BIN)/shortlist demo

setup: .venv/dev  ## environment for development and tests

# Those that drive a browser run one at a time: a page, its service and Chromium keep two cores busy by themselves.
BROWSER := tests/service/storefront tests/offline/report/test_report_in_browser.py

test: setup  ## the test suite
	$(BIN)/pytest -n 2 --dist loadscope $(addprefix --ignore=,$(BROWSER))
	$(BIN)/pytest $(BROWSER)

lint: setup  ## style, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup  ## hashed locks of the images
	$(BIN)/python deploy/lock.py

SUPPLY := .venv/supply/bin
audit sbom: $(SUPPLY)/pip-audit  ## known vulnerabilities (asks PyPI), bill of materials of what the images hold
	PATH="$(CURDIR)/$(SUPPLY):$$PATH" deploy/supply.sh $@

licences: $(SUPPLY)/pip-audit setup  ## licences of what the environment of development holds
	PATH="$(CURDIR)/$(SUPPLY):$$PATH" deploy/supply.sh licences $(BIN)/python

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist *.egg-info

.venv/bin/pip:
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade pip

.venv/demo: pyproject.toml | .venv/bin/pip
	$(PIP) install --editable ".[demo]"
	touch $@

$(SUPPLY)/pip-audit: | .venv/bin/pip
	$(PYTHON) -m venv .venv/supply
	$(SUPPLY)/pip --quiet install pip-audit cyclonedx-bom pip-licenses
	touch $@

.venv/dev: pyproject.toml | .venv/bin/pip
	$(PIP) install --editable ".[dev]"
	touch $@ .venv/demo
