# Every target sets up what it needs; `make demo` and `make test` are the two that matter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM_VENV := .venv-vllm
ARGS ?=

.PHONY: help demo up test check lint test-long test-vllm bench-gateway bench-overhead bench-paper \
  bench-fidelity bench-vllm-ab bench-perception bench-prediction bench-masking train-models wheel clean setup setup-vllm system-deps

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VLLM_VENV)/.ready: deploy/vllm/requirements-cpu.txt deploy/vllm/install-cpu.sh
	PYTHON=$(PYTHON) deploy/vllm/install-cpu.sh $(VLLM_VENV)
	touch $@

setup: $(VENV)/.ready ## virtual environment with everything but vLLM
setup-vllm: $(VLLM_VENV)/.ready ## second environment with a CPU vLLM and the plug-in

system-deps: ## Debian packages for the browser and PostgreSQL tests (needs root)
	deploy/ci/install-system-packages.sh

demo: $(VENV)/.ready ## the main job on the simulator: plain FCFS against H-MAS
	$(BIN)/python -m hmas.bench.demo $(ARGS)

up: $(VENV)/.ready ## gateway, daemon, engine and console on this machine
	$(BIN)/hmas up $(ARGS)

test: $(VENV)/.ready ## all tests that need no vLLM
	$(BIN)/python -m pytest -m 'not vllm' $(ARGS)

check: $(VENV)/.ready lint test ## what CI runs: format, lint, types, imports, tests

lint: $(VENV)/.ready ## format, lint, types and import arrows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-long: $(VENV)/.ready ## state machines of the topologies, more than 10^5 operations
	HMAS_LONG_TESTS=1 $(BIN)/python -m pytest tests/engine/test_topologies.py $(ARGS)

test-vllm: $(VENV)/.ready $(VLLM_VENV)/.ready ## real vLLM on CPU with the plug-in
	$(BIN)/python -m pytest -m vllm $(ARGS)

bench-gateway: $(VENV)/.ready ## added latency and throughput of the gateway
	$(BIN)/python -m hmas.bench.gateway $(ARGS)

bench-overhead: $(VLLM_VENV)/.ready ## schedule() with and without the plug-in
	$(VLLM_VENV)/bin/python -m hmas.bench.overhead $(ARGS)

bench-paper: $(VENV)/.ready ## the paper's tables and figures in virtual time: HTML, JSON, pictures
	mkdir -p out/bench
	$(BIN)/python -m hmas.bench.paper --html out/bench/paper.html --json-file out/bench/paper.json $(ARGS)

bench-fidelity: $(VENV)/.ready $(VLLM_VENV)/.ready ## the simulator against real runs
	$(BIN)/python -m hmas.bench.fidelity $(ARGS)

bench-perception: $(VENV)/.ready ## task types: accuracy, confusion, sources left out, speed
	mkdir -p out/bench
	$(BIN)/python -m hmas.bench.perception --html out/bench/perception.html --json-file out/bench/perception.json $(ARGS)

bench-prediction: $(VENV)/.ready ## output lengths and costs: errors, ranks, coverage, R2
	mkdir -p out/bench
	$(BIN)/python -m hmas.bench.prediction --html out/bench/prediction.html --json-file out/bench/prediction.json $(ARGS)

bench-masking: $(VENV)/.ready ## dispatch while perception is made slow on purpose
	mkdir -p out/bench
	$(BIN)/python -m hmas.bench.masking --html out/bench/masking.html $(ARGS)

train-models: $(VENV)/.ready ## the shipped models again, from ../shared/data
	$(BIN)/python -m hmas.bench.perception.train $(ARGS)
	$(BIN)/python -m hmas.bench.corpus_lengths $(ARGS)
	$(BIN)/hmas train cost --out out/models $(ARGS)
	cp out/models/cost.model controllers/prediction/models/cost.model

bench-vllm-ab: $(VENV)/.ready $(VLLM_VENV)/.ready ## stock against H-MAS on a real CPU vLLM
	$(BIN)/python -m hmas.bench.vllm_ab $(ARGS)

wheel: $(VENV)/.ready ## build the distribution
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) $(VLLM_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
