# `make demo` and `make test` need Python 3.11 or newer and set up all the rest by themselves.
#
#   make demo          tune one layer of ResNet-18 for 90 seconds and write a report
#   make test          run every check and every test
#   make test-thorough   ever new examples for the tests of properties, ten times as many
#   make setup         make the virtual environment alone
#   make constraints   take the newest versions of all packages, and pin them
#   make clean         remove all that these made
#
#   TORCH=1            with PyTorch: the tuners na2c and controller; the demo compares with it,
#                      tests check operators against it
#   PEERS=1            with all that 'tunesmith bench operators' compares with, PyTorch included
#   PYTHON=...         the Python to use

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough setup compiler constraints clean

TORCH ?=
torch := $(filter-out 0 no,$(TORCH))
PEERS ?=
peers := $(filter-out 0 no,$(PEERS))
comma := ,
further := $(if $(peers),peers,$(if $(torch),neural))
extras := dev$(if $(further),$(comma)$(further))

venv := .venv
bin := $(venv)/bin
# Tests to which it does not matter how long something takes: several may run at a time.
computing := $(addprefix tests/,compiler cuda docs features models operators reports sketches space testing tuners \
	bench/peers/test_metaschedule.py bench/compare/test_score.py kernel/test_gpu.py)
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

test: setup
	@echo '== ruff: rules'
	@$(bin)/ruff check
	@echo '== ruff: format'
	@$(bin)/ruff format --check
	@echo '== mypy: strict types'
	@$(bin)/mypy
	@echo '== import-linter: who may import whom'
	@$(bin)/lint-imports --no-logo
	@echo '== pytest: what only computes, on all cores'
	@$(bin)/python -m pytest -n logical --dist worksteal --durations=30 $(computing)
	@echo '== pytest: what measures or starts processes, alone'
	@$(bin)/python -m pytest --durations=30 $(addprefix --ignore=,$(computing))

test-thorough: setup
	@$(bin)/python -m pytest -n logical --hypothesis-profile=thorough -m hypothesis

# The local part of a version (2.13.0+cpu) is left out: other indexes may have another one.
constraints: setup
	@$(bin)/python -m venv --clear build/pins
	@build/pins/bin/python -m pip --quiet install --editable '.[dev,peers]'
	@{ sed -n '/^#/p' constraints.txt; \
		build/pins/bin/python -m pip freeze --exclude-editable | sed 's/+.*//'; } > build/pins.txt
	@mv build/pins.txt constraints.txt
	@rm -rf build/pins

clean:
	rm -rf $(venv) build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache src/tunesmith.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
