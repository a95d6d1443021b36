# `make demo` and `make test` need Python 3.11 or newer and set up all the rest by themselves.
#
#   make demo          tune one layer of ResNet-18 for 90 seconds, and a small network for 30
#   make test          run every check and every test
#   make checks        rules, format, types, imports: the part of it that takes a minute
#   make test-thorough   the sweeps, and ever new examples for the tests of properties: hours;
#                      one that is interrupted goes on where it was
#   make docs          write the documentation as a site to build/site
#   make setup         make the virtual environment alone
#   make constraints   take the newest versions of all packages, and pin them
#   make clean         remove all that these made
#
#   SCALE=0.02         that share of each sweep, to see that it works
#   TORCH=1            with PyTorch: the tuners na2c and controller; the demo compares with it,
#                      tests check operators against it
#   PEERS=1            with all that 'tunesmith bench operators' compares with, PyTorch included
#   PYTHON=...         the Python to use

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test checks rules types tests test-thorough docs setup compiler constraints clean

TORCH ?=
torch := $(filter-out 0 no,$(TORCH))
PEERS ?=
peers := $(filter-out 0 no,$(PEERS))
comma := ,
further := $(if $(peers),peers,$(if $(torch),neural))
extras := dev$(if $(further),$(comma)$(further))

venv := .venv
bin := $(venv)/bin
pytest := $(bin)/python -m pytest
# Before the commands of a recipe: in the end it says how long they took, however they ended.
timed := started=$$(date +%s); \
	trap 'echo "== all of it took $$(($$(date +%s) - started)) seconds"' EXIT;
# To look for these tests in all files takes longer than some of them.
marked = $(shell grep -rl --include='test_*.py' 'mark[.]$(1)' tests)
SCALE ?= 1
# The sweeps that have passed, of this share and this commit.
swept := build/swept-$(SCALE)-$(shell git rev-parse --short HEAD 2>/dev/null)
# Made when all packages are in place. It names the checkout, for the scripts of an environment do
# not survive being moved.
ready := $(venv)/.ready$(if $(further),-$(further))
ifneq ($(shell test -x $(bin)/python && cat $(ready) 2>/dev/null),$(CURDIR))
.PHONY: $(ready)
endif

help:
	@sed -n 's/^#   //p' Makefile

setup: compiler $(ready)

$(ready): pyproject.toml constraints.txt
	@rm -f $(venv)/.ready $(venv)/.ready-neural $(venv)/.ready-peers
	@tools/set-up $(venv) '$(extras)'
	@printf '%s\n' '$(CURDIR)' | tee $(venv)/.ready > $(ready)

compiler:
	@for name in cc gcc clang g++ clang++; do command -v $$name > /dev/null && exit; done; \
	echo 'make: there is no C compiler (install gcc or clang): tuning works without one, but' \
		'kernels cannot be saved, and the tests that save them are skipped' >&2

demo: setup
	@$(bin)/tunesmith tune --layer resnet18.C8 --seconds 90 \
		--store demo/tuning.db --fresh --peers --report demo/report.html
	@$(bin)/python tools/demo-network demo/network.onnx
	@rm -f demo/network.db
	@$(bin)/tunesmith network tune demo/network.onnx --seconds 30 --store demo/network.db
	@$(bin)/tunesmith network build demo/network.onnx -o demo/network.so --store demo/network.db
	@$(bin)/tunesmith network run demo/network.so

test: setup
	@$(timed) $(MAKE) --no-print-directory checks && $(MAKE) --no-print-directory tests

# On two cores: mypy takes as long as all others together, and longer.
checks: setup
	@$(MAKE) --no-print-directory --output-sync --jobs 2 types rules

types:
	@echo '== mypy: strict types'
	@$(bin)/mypy

rules:
	@echo '== ruff: rules'
	@$(bin)/ruff check
	@echo '== ruff: format'
	@$(bin)/ruff format --check
	@echo '== import-linter: who may import whom'
	@$(bin)/lint-imports --no-logo

tests: setup
	@echo '== pytest: on all cores'
	@$(pytest) -n logical --dist worksteal --durations=30 -m 'not alone'
	@echo '== pytest: what has limits of time to keep, alone'
	@$(pytest) --durations=30 -m alone $(call marked,alone)

# Strict: a link that leads nowhere, or a page that is in no menu, is an error.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict
	@echo 'site: build/site/index.html'

test-thorough: setup
	@$(timed) set -e; mkdir -p build; \
	echo '== pytest: sweeps, on all cores'; \
	$(pytest) -n logical --dist worksteal -v --durations=30 -m 'thorough and not alone' \
		--sweep-scale=$(SCALE) --sweep-log=$(swept) $(call marked,thorough) || [ $$? = 5 ]; \
	echo '== pytest: sweeps that have limits of time to keep, alone'; \
	$(pytest) -v --durations=30 -m 'thorough and alone' \
		--sweep-scale=$(SCALE) --sweep-log=$(swept) $(call marked,thorough) || [ $$? = 5 ]; \
	echo '== pytest: new examples for the tests of properties'; \
	$(pytest) -n logical --dist worksteal --durations=30 --hypothesis-profile=thorough -m hypothesis; \
	rm -f $(swept)

# The local part of a version (2.13.0+cpu) is left out: other indexes may have another one.
constraints: setup
	@$(bin)/python -m venv --clear build/pins
	@build/pins/bin/python -m pip --quiet install --editable '.[dev,peers]'
	@{ sed -n '/^#/p' constraints.txt; \
		build/pins/bin/python -m pip freeze --all --exclude pip --exclude-editable | sed 's/+.*//'; } > build/pins.txt
	@mv build/pins.txt constraints.txt
	@rm -rf build/pins

clean:
	rm -rf $(venv) build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache src/tunesmith.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
