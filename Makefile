# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
GATES := .venv/bin/python -m tests.gates
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo demo-clean
demo: setup-run ## From nothing to a trained model on two simulated nodes
	@.venv/bin/python -m sandbox demo

demo-clean: ## Remove everything the demo made, and only that
	@python3 -m sandbox demo-clean

.PHONY: setup setup-run setup-test
setup: setup-test ## Install all that the targets below need (they do it themselves)

setup-run setup-test: setup-%:
	@scripts/setup $*

.PHONY: test test-nodes test-long lint unit sanity molecule integration
test: setup-test ## What a change breaks first, in a quarter of an hour: linters, units, site.yml and a job on two nodes
	@$(GATES) --run first $(GATE_OPTIONS)

test-nodes: setup-test ## Every gate, those on nodes in their short form: an hour
	@$(GATES) --run nodes $(GATE_OPTIONS)

test-long: setup-test ## Every gate with every row of its matrices, and 50,000 schedules of faults: hours
	@$(GATES) --run long $(GATE_OPTIONS)

lint: setup-test ## Linters and types
	@$(GATES) ruff mypy oldest-python shellcheck ansible-lint galaxy changelog

unit: setup-test ## Unit and contract tests
	@$(GATES) contracts unit node-library

sanity: setup-test ## ansible-test sanity
	@$(GATES) sanity

molecule: setup-test ## One scenario a role, on the shared two-node sandbox
	@$(GATES) molecule teardown

integration: setup-test ## What needs the sandbox beside Molecule's roles: the installed collection, bad input, upgrades
	@$(GATES) artifact site programs firmware faults slurm teardown upgrade bundle rhel

.PHONY: format changelog readmes pins audit-pins pictures site certify build clean
format: setup-test ## Format the Python files
	@ruff format . && ruff check --fix .

changelog: setup-test ## Write CHANGELOG.md from changelogs/fragments
	@antsibull-changelog release --update-existing --refresh --reload-plugins

readmes: setup-test ## Write the roles' README.md and all pages and tables that are made from data
	@PYTHONPATH=.collections .venv/bin/python -m scripts.role_readmes
	@PYTHONPATH=.collections .venv/bin/python -m scripts.unit_exposure
	@.venv/bin/python -m scripts.dashboards
	@PYTHONPATH=.collections .venv/bin/python -m scripts.patterns
	@PYTHONPATH=.collections .venv/bin/python -m scripts.catalog
	@PYTHONPATH=.collections .venv/bin/python -m scripts.life_cycles
	@PYTHONPATH=.collections .venv/bin/python -m scripts.fine_tune_switches
	@PYTHONPATH=.collections .venv/bin/python -m scripts.tried

pins: setup-test ## Exact versions and hashes of what pip takes for the node library, anew from src/requirements, and what that changes
	@.venv/bin/python -m pip install -qq --disable-pip-version-check --requirement requirements/pins.txt
	@.venv/bin/python -m scripts.pin_requirements

audit-pins: setup-test ## Hold those versions against known holes; RENEW=1 asks pip-audit for them first
	@$(if $(RENEW),.venv/bin/python -m pip install -qq --disable-pip-version-check --requirement requirements/pins.txt)
	@PYTHONPATH=.collections .venv/bin/python -m scripts.audit_pins $(if $(RENEW),--renew)

pictures: setup-test ## The README's pictures of the demo, by a browser; LOG= is what it printed (make demo | tee demo.log)
	@.venv/bin/python -m scripts.pictures "$(or $(LOG),demo.log)"

site: setup-test ## The documentation as a site in build/site/html
	@PYTHONPATH=.collections .venv/bin/python -m scripts.build_site

certify: setup-test ## What a certification asks for, under each ansible-core for which a Python is here
	@.venv/bin/python -m scripts.certify

build: setup-test ## The collection's tarball with what it is checked by, in dist/; SIGN_KEY= names gpg's key
	@.venv/bin/python -m scripts.build_release --sign-key "$(SIGN_KEY)"

clean: ## Remove what was built and installed here (demo-clean removes the sandbox)
	rm -rf .venv .collections .ansible .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
