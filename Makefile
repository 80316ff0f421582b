# Every target makes the environment first, if it is not there yet: `make lesson` is all a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup lesson test test-all lab notebooks check bench lock

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

setup: ## make .venv with the locked versions (a second run installs nothing)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than Python 3.11; name a newer one: make setup PYTHON=python3.11"; exit 2; }
	@cmp -s requirements.txt .venv/installed.txt || { \
	  echo "Making .venv and installing requirements.txt: one to three minutes, once." && \
	  $(PYTHON) -m venv .venv && \
	  $(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt && \
	  cp requirements.txt .venv/installed.txt; }

lesson: setup ## the main job: prepare the data, train, print the table of runs
	@$(BIN)/python -m lesson

test: setup ## the tests, notebooks included
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow" tests
	@$(BIN)/python -m pytest -n auto --dist loadfile --nbval --nbval-sanitize-with tests/nbval.cfg notebooks

test-all: setup ## the tests and the slow extras
	@$(BIN)/python -m pytest -n auto --dist loadfile tests
	@$(BIN)/python -m pytest -n auto --dist loadfile --nbval --nbval-sanitize-with tests/nbval.cfg notebooks

lab: setup ## JupyterLab with the notebooks (ARGS=--no-browser: without opening a browser)
	@$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks $(ARGS)

notebooks: setup ## write the notebooks again from the episodes
	@$(BIN)/python -m tools.notebooks

check: setup ## lint, types, lesson lint, generated files up to date
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m tools.lint
	@$(BIN)/python -m tools.notebooks --check

bench: ## measure against what a reader would pick instead
	@cat requirements.txt benchmarks/requirements.txt | cmp -s - .venv-bench/installed.txt || { \
	  echo "Making .venv-bench: the lesson's environment and Lightning, once." && \
	  $(PYTHON) -m venv .venv-bench && \
	  .venv-bench/bin/python -m pip install --disable-pip-version-check \
	    -r requirements.txt -r benchmarks/requirements.txt && \
	  cat requirements.txt benchmarks/requirements.txt > .venv-bench/installed.txt; }
	@.venv-bench/bin/python -m benchmarks $(ARGS)

lock: ## resolve the newest versions pyproject.toml allows and write requirements.txt
	@$(PYTHON) -m tools.lock
