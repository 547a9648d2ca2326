# Everything runs in .venv, which is made on first use and renewed when pyproject.toml changes.
#   make run     the default job; says where its report is
#   make test    all tests
#   make check   ruff and mypy
#   make bench   benchmarks, make soak: hours under load; both need a quiet machine

VENV := .venv
BIN := $(VENV)/bin
JOB ?= examples/quickstart.toml
PYTEST_ARGS ?= -n 2
export PYTHON

.PHONY: run test check bench soak clean

run: $(VENV)/.stamp-run
	$(BIN)/anabranch run $(JOB)

test: $(VENV)/.stamp-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench soak: $(VENV)/.stamp-test
	@if [ -f benchmarks/$@.py ]; then \
		$(BIN)/python -m benchmarks.$@; \
	else \
		echo "there is no benchmarks/$@.py"; \
	fi

clean:
	rm -rf $(VENV) build dist *.egg-info

# The test extra holds all that a run needs too, so one environment serves both.
$(VENV)/.stamp-run: EXTRAS := report
$(VENV)/.stamp-test: EXTRAS := report,test
$(VENV)/.stamp-run $(VENV)/.stamp-test: pyproject.toml scripts/find_python
	@found=$$(sh scripts/find_python) && "$$found" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@
