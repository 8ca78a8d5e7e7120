# Every target makes what it needs: `make up` and `make test` are all that a newcomer has to know.
.DEFAULT_GOAL := help
# Processes of tests would compile our modules and rewrite assertions, each for itself.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := .venv/bin/python -m pytest
# By file, so that what a file shares is started once; in the order of tests/support/collection.py,
# for else files of one long test come last, when nothing is left to run beside them.
BY_FILE := --dist loadfile --no-loadscope-reorder
# Half of the time they wait for real parts to start or to notice something: two runners a core.
PARALLEL := -n 4 $(BY_FILE)
# These wait less, and a busy machine shows them as too slow.
LESS_PARALLEL := -n 3 $(BY_FILE)
# Much of what these need is compiled or fetched first, once for a machine.
COMPILED := helm or logins or spark or trino
NEEDS_INSTALL := hive or mariadb or stock or chromium or promtool or systemd or seeds or $(COMPILED)
ON_SERVICES := tests/containers/test_services.py
# Each of these has a target of its own.
SEPARATE := torture or containers or random
MORE := not ($(SEPARATE)) and ($(NEEDS_INSTALL) or slow)

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## The virtual environment, from requirements.lock
	@scripts/setup

.PHONY: up
up: setup ## Run everything on this machine until Ctrl-C
	@.venv/bin/metatide up

.PHONY: test
test: setup ## The tests that need minutes, and nothing from the system's package manager; PKG=hive: those of a package
	@$(PYTEST) $(PARALLEL) -m "not ($(SEPARATE) or $(NEEDS_INSTALL) or slow)" $(PKG:%=tests/%)

.PHONY: coverage
coverage: setup ## Branch coverage of each package, with what no test reaches; PKG=hive: of one by its own tests; ALL=1: by test-more too
	@scripts/coverage "$(PKG)" $(LESS_PARALLEL) -m "not ($(SEPARATE) or $(if $(ALL),seeds,$(NEEDS_INSTALL)))"

.PHONY: mutants
mutants: setup ## Change the code that decides, here and there, and see whether a test fails; MUTANTS='*_7': a sample
	@scripts/mutants $(foreach name,$(MUTANTS),'$(name)')

.PHONY: test-more test-packaged test-compiled
test-more: test-packaged test-compiled ## What test-all adds: tests of many processes or inputs, Hive's jars, PostgreSQL's and MariaDB's packages, Chromium, Spark, Trino, promtool, systemd, Helm, slapd, Kerberos, new seeds; ALL=1: those, too, whose turn it isn't

test-packaged: setup
	@$(PYTEST) $(LESS_PARALLEL) $(if $(ALL),,--by-turns) -m "$(MORE) and not ($(COMPILED))"

test-compiled: setup
	@$(PYTEST) $(LESS_PARALLEL) $(if $(ALL),,--by-turns) -m "$(MORE) and ($(COMPILED))"

.PHONY: names-compiled
names-compiled: setup
	@$(PYTEST) --collect-only --quiet $(if $(ALL),,--by-turns) -m "$(MORE) and ($(COMPILED))"

.PHONY: test-random
test-random: setup ## Minutes of new random seeds: the simulation, and a few faults of real processes
	@$(PYTEST) $(LESS_PARALLEL) -m random

.PHONY: test-containers
test-containers: setup ## The images and the deployment in containers, on a Docker engine of the tests
	@.venv/bin/python -m tests.containers.base_images
	@$(PYTEST) tests/containers --ignore=$(ON_SERVICES) -m "not torture"

.PHONY: test-services
test-services: setup ## Tests of brokers and databases, with those in containers; ALL=1: every one of them
	@.venv/bin/python -m tests.containers.base_images
	@$(PYTEST) $(ON_SERVICES) -m "$(if $(ALL),torture,not torture)"

.PHONY: test-all
test-all: test test-more test-containers test-services ## All tests but the long runs

.PHONY: torture
torture: setup ## The long runs; TESTS=tests/hostile: some of them
	@$(PYTEST) -m torture $(TESTS)

.PHONY: lint lint-code lint-format lint-types
lint: lint-code lint-format lint-types ## Lint, format and type checks

lint-code: setup
	@.venv/bin/ruff check

lint-format: setup
	@.venv/bin/ruff format --check

lint-types: setup
	@.venv/bin/mypy

.PHONY: format
format: setup ## Format the code
	@.venv/bin/ruff check --fix-only --quiet
	@.venv/bin/ruff format --quiet

.PHONY: docs
docs: setup ## Write the references in docs/
	@.venv/bin/python scripts/docs

.PHONY: site
site: setup ## The site of docs/, into site/
	@.venv/bin/mkdocs build --strict

.PHONY: screenshots
screenshots: setup ## Take the screenshots in docs/images again
	@.venv/bin/python -m tests.metatide.screenshots

.PHONY: dist
dist: setup ## Both distributions, into dist/
	@.venv/bin/python -m build --no-isolation --outdir dist .
	@.venv/bin/python -m build --no-isolation --outdir dist packages/client

.PHONY: lock
lock: ## Pin all dependencies again
	@scripts/lock --upgrade
