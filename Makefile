# make run    a server on http://localhost:3000, everything it needs inside ./.venv and ./data
# make test   lint, types and every test, as CI runs them
# make quick  a minute of the tests that are nearest to a change
# make lint   lint and types alone
# make accept the lists that are made from the code, anew: read their diff
# make bench  what requests cost on this machine, into tests/bench/README.md
# make lock   the lock files anew, from pyproject.toml
# make dist   the wheel and the source archive of the last commit (COMMIT=v0.2.0: of another) into dist/
# make release VERSION=0.2.0   for maintainers: a version, committed, tagged and built; pushes nothing
#
# Each is the only command a fresh clone needs; a second run starts at once.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run test tests quick accept bench lint types lock dist release clean browser ffmpeg promtool wrk proxies

bin := .venv/bin
pip := $(bin)/python -m pip --disable-pip-version-check
# Folders too: a deleted file shows only in the time of its folder.
source := $(shell find actors http storage supervision -name __pycache__ -prune -o -print) __init__.py pyproject.toml

help:
	@sed -n 's/^# make/make/p' Makefile

run: .venv/.troupe
	@exec $(bin)/troupe serve

# Types and style are checked beside the tests. A failure of either fails the target when both have ended.
test: .venv/.test .venv/.troupe browser ffmpeg promtool wrk proxies
	@$(MAKE) --no-print-directory --jobs=2 lint tests

# Three processes for two cores, because many tests wait for processes that they have started. Files in the order of
# their folders: the last ones are short, so that no process waits long for the others. Each process loads all tests:
# they are kept compiled, also for a shell that asks Python not to do so.
tests: .venv/.test .venv/.troupe
	PYTHONDONTWRITEBYTECODE= $(bin)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --durations=15 tests

quick: .venv/.test .venv/.troupe
	@PYTHONDONTWRITEBYTECODE= $(bin)/python -m tests.quick $(SINCE)

lint: .venv/.test .venv/.troupe
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/pyright --pythonpath $(bin)/python

accept: .venv/.test .venv/.troupe
	@$(bin)/python -m tests.accept

bench: .venv/.test .venv/.troupe wrk
	@$(bin)/python -m tests.bench --readme

lock: .venv/.lock
	@for lock in "requirements.lock" "requirements-test.lock --extra test --constraint requirements.lock"; do \
	  set -- $$lock; out=$$1; shift; \
	  $(bin)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --group build "$$@" pyproject.toml --output-file $$out || exit 1; \
	done

dist: .venv/.test
	@$(bin)/python -m tests.release dist $(or $(COMMIT),HEAD)

release: .venv/.test
	@$(bin)/python -m tests.release release $(VERSION)

clean:
	rm -rf .venv build *.egg-info .ruff_cache .hypothesis

.venv/.made:
	@.ci/venv .venv
	@touch $@

.venv/.run: .venv/.made requirements.lock
	@echo "Installing what troupe runs on …"
	@$(pip) install --quiet --use-pep517 --require-hashes -r requirements.lock
	@touch $@

.venv/.test: .venv/.made requirements-test.lock requirements.lock
	@echo "Installing what the tests need …"
	@$(pip) install --quiet --use-pep517 --require-hashes -r requirements-test.lock
	@touch .venv/.run $@

.venv/.lock: .venv/.made pyproject.toml
	@$(pip) install --quiet "uv>=0.13"
	@touch $@

# An installed copy and no editable link: tests and the type checker then see what users get. The last copy and the
# folders that setuptools works in are deleted first, else files deleted since the last time would still be there.
.venv/.troupe: .venv/.run $(source)
	@rm -rf build *.egg-info .venv/lib/python*/site-packages/troupe .venv/lib/python*/site-packages/troupe[-_]*
	@$(pip) install --quiet --no-deps --no-build-isolation .
	@rm -rf build *.egg-info
	@touch $@

browser:
	@.ci/browser

ffmpeg:
	@.ci/ffmpeg

promtool:
	@.ci/promtool

wrk:
	@.ci/wrk

proxies:
	@.ci/proxies
