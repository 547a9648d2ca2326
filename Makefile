# Everything runs in .venv, which is made on first use and renewed when pyproject.toml changes.
#   make run     the default job; says where its report is
#   make test    all tests
#   make check   ruff and mypy
#   make demo    DATA=a.csv through a Kafka of its own; without DATA a synthetic set
#   make bench   benchmarks; make chaos: kills and broker restarts; make soak: the samples of
#                eight hours in minutes, and an hour of Kafka; all need a quiet machine

VENV := .venv
BIN := $(VENV)/bin
JOB ?= examples/quickstart.toml
# Three processes keep two cores busy: many tests wait for brokers and jobs. Each begins with a
# stretch of files, so that no two compile or start the same; who is done takes half of another's.
PYTEST_ARGS ?= -n 3 --dist worksteal
export PYTHON

.PHONY: run test check demo bench chaos soak clean

run: $(VENV)/.stamp-run
	$(BIN)/anabranch run $(JOB)

test: $(VENV)/.stamp-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: $(VENV)/.stamp-test
	$(BIN)/python -m examples.kafka_demo $(DATA)

bench: $(VENV)/.stamp-test
	$(BIN)/python -m benchmarks.foundation
	$(BIN)/python -m benchmarks.kafka
	$(BIN)/python -m benchmarks.elastic_net
	$(BIN)/python -m benchmarks.doml
	$(BIN)/python -m benchmarks.dsvor
	$(BIN)/python -m benchmarks.svorim
	$(BIN)/python -m benchmarks.npsvor
	$(BIN)/python -m benchmarks.npsvor_online

chaos: $(VENV)/.stamp-test
	$(BIN)/python -m benchmarks.chaos

soak: $(VENV)/.stamp-test
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.kafka_soak

clean:
	rm -rf $(VENV) build dist *.egg-info

# The test extra holds all that a run needs too, so one environment serves both.
$(VENV)/.stamp-run: EXTRAS := report
$(VENV)/.stamp-test: EXTRAS := report,test
$(VENV)/.stamp-run $(VENV)/.stamp-test: pyproject.toml scripts/find_python
	@found=$$(sh scripts/find_python) && "$$found" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@
