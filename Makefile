# `make demo` and `make test` need no other target first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build lint format check test coverage docs clients demo sim clean
PYTHON ?=
export PYTHON

WITH_ENV = . ./env.sh &&

help: ## list the targets
	@awk -F ': ## ' '/^[a-z]+:.*## /{split($$1, t, ":"); printf "  make %-8s %s\n", t[1], $$2}' $(MAKEFILE_LIST)
	@echo '  PYTHON=/path/to/python3.12 chooses the interpreter (3.11, 3.12 or 3.13)'

setup: ## install dependencies into .venv (ROS 2 from wheels unless a ROS 2 is sourced)
	@requirements/setup.sh

build: setup
build: ## build the workspace with colcon
	@requirements/build.sh

lint: setup
lint: ## check style, layering, docstrings and the types of the cores
	@$(WITH_ENV) ruff check . && ruff format --check . && mypy

format: setup
format: ## rewrite the sources in the house format
	@$(WITH_ENV) ruff check --fix . ; ruff format .

check: build lint
check: ## check style, types and the unit tests of what changed against main, within minutes
	@$(WITH_ENV) tests=$$(python requirements/changed_tests.py) && \
	  if [ -n "$$tests" ]; then pytest -q -n auto --dist loadfile $$tests; fi

UNIT = $(wildcard src/*/test/unit benchmarks/test/unit underlay/*/test launch/test/unit)
COMPONENT = $(wildcard src/*/test/component)

test: build lint
test: ## run all checks and tests: unit, component (one node), system (virtual rig)
	@$(WITH_ENV) softarm doctor --remove-stale-memory && \
	  pytest -n auto --dist loadfile $(UNIT) && \
	  pytest -n auto --dist loadfile $(COMPONENT) && \
	  pytest $(wildcard launch/test/system)

coverage: build
coverage: ## report the branch coverage of the unit and component tests, line by line in out/coverage
	@$(WITH_ENV) softarm doctor --remove-stale-memory && \
	  pytest -n auto --dist loadfile --cov --cov-report= $(UNIT) && \
	  pytest -n auto --dist loadfile --cov --cov-append --cov-report=term --cov-report=html:out/coverage $(COMPONENT)

docs: build
docs: ## build the documentation as a site into out/docs; warnings are errors
	@$(WITH_ENV) python -m sphinx -W --keep-going -q -b html docs out/docs && echo 'docs: out/docs/index.html'

clients: build
clients: ## run public clients against the emulated controllers; they are installed into .venv/clients only
	@.venv/bin/pip install -q --no-deps --upgrade --target .venv/clients -r requirements/clients.in && \
	  $(WITH_ENV) pytest -rs src/abb_rws_emulator/test/unit/test_public_clients.py

demo: build
demo: ## run the paper's experiments on the virtual rig and write a report to out/
	@$(WITH_ENV) softarm doctor --remove-stale-memory && softarm experiment all --report out

sim: build
sim: ## start the virtual rig and all nodes; Ctrl-C ends it
	@$(WITH_ENV) softarm launch launch/sim.launch.xml

clean:
clean: ## remove everything that was built or installed here, and shared memory of dead nodes
	@if [ -x .venv/bin/python ]; then .venv/bin/python -c 'import sys; sys.path.insert(0, "src/softarm_cli"); from softarm_cli.shared_memory import remove_stale; remove_stale()'; fi
	rm -rf .venv build install log out .pytest_cache .ruff_cache .hypothesis .cache
