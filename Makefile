# Everything a fresh machine needs is one of the Pythons that pyproject.toml lists, pip and make.
PYTHON ?= python3
SUPPORTED := $(shell sed -n 's/.*Python :: \(3\.[0-9][0-9]*\)".*/\1/p' pyproject.toml)
OLDEST := $(firstword $(SUPPORTED))
NEWEST := $(lastword $(SUPPORTED))
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
STAMP := $(VENV)/.installed-cpu
KERAS_HUB_STAMP := $(VENV)/.installed-keras-hub
OPTIMIZERS := build/optimizers
KNOWN_SPEED := build/known_speed
LOADGEN := build/loadgen
TORCH := build/torch
JAX := build/jax

# Tests wait for processes, budgets and deadlines: a third worker on two cores uses that time.
WORKERS := 3
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=15

# What another Python changes: values that are stored and sent, docstrings, errors, processes and files.
PORTABLE := tests/unit/store tests/unit/worker tests/unit/runner tests/unit/options tests/unit/core tests/unit/system \
	tests/unit/cli tests/unit/api tests/unit/spi tests/unit/data tests/unit/exporter tests/unit/environments tests/unit/measure \
	tests/unit/runs tests/unit/stats tests/unit/backends tests/unit/onnx tests/unit/features/plan tests/unit/features/run \
	tests/unit/features/profile tests/unit/features/fleet tests/integration/test_results_index.py tests/integration/test_run.py

# Which of the longer tests are due: another share with each commit, or each day where the history is cut off.
TURN ?= $(shell if [ "$$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; \
	then git rev-list --count HEAD; else echo $$(( $$(date +%s) / 86400 )); fi)

.PHONY: help setup demo test test-quick test-pythons test-newest pythons test-ci test-real test-laws test-all test-long test-gpu-lock test-turn test-torch test-jax test-zoo picture bench bench-truth bench-serving bench-corun bench-busy bench-gates bench-fusions bench-backbones bench-optimizers bench-pytorch bench-real zoo zoo-keras-hub site lint types pyright generated docs lock clean

# Tests start hundreds of processes, and each would compile what it imports of irbench where Python writes no bytecode.
test test-quick test-ci test-real test-laws test-all test-long test-gpu-lock test-turn test-torch test-jax test-zoo: export PYTHONDONTWRITEBYTECODE :=

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

setup: $(STAMP) ## Make the environment .venv from the hashed lock file

demo: $(STAMP) ## Export ResNet-50 from TensorFlow and compare tf, tf-xla, ort and openvino
	$(BIN)/irbench export resnet50
	$(BIN)/irbench run resnet50 --backends tf,tf-xla,ort,openvino

test: $(STAMP) lint types ## Lint, check types, run the fast tests: 6 minutes
	$(PYTEST) -m "not slow and not ci"

test-quick: $(STAMP) ## The fast tests of make test alone
	$(PYTEST) -m "not slow and not ci" $(TESTS)

test-pythons: ## The fast tests on every supported Python that is installed, each in an environment below build: 8 minutes each
	@status=0; for python in $$($(MAKE) -s pythons); do \
		$$python -V; $(MAKE) PYTHON=$$python VENV=build/pythons/$$(basename $$python) test-quick || status=2; done; exit $$status

test-newest: ## A part of the fast tests on the newest supported Python that is installed, where it is not that of .venv
	@python=$$($(MAKE) -s pythons | tail -n 1); \
	if [ -z "$$python" ]; then echo "no supported Python ($(SUPPORTED)) is installed"; \
	elif [ "$$(basename $$python)" = "$$(basename $$(readlink -f $(BIN)/python))" ]; then echo "$$python is that of $(VENV)"; else \
		$$python -V; $(MAKE) PYTHON=$$python VENV=build/pythons/$$(basename $$python) TESTS="$(PORTABLE)" test-quick; fi

# A pyenv has programs for versions that are not chosen, which do not start.
pythons: ## List the supported Pythons that are installed, the oldest first
	@for version in $(SUPPORTED); do \
		for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python$$version; do \
			if "$$python" -c 'import ssl, sqlite3, venv' 2>/dev/null; then command -v "$$python"; break; fi; done; done

test-ci: $(STAMP) pyright ## The tests of most of a second and more: 35 minutes
	$(PYTEST) -m "ci and not slow"

test-real: $(STAMP) ## Trained models from pinned wheels of the package registry, on real inputs: about 10 minutes
	$(PYTEST) -m real

test-laws: $(STAMP) ## The laws of hypothesis, tried on 1,000 examples each
	$(PYTEST) --hypothesis-profile=explore -m "hypothesis and not slow"

test-all: $(STAMP) lint types pyright ## Every test but those of test-real, test-long and test-zoo: 50 minutes
	$(PYTEST) -m "not zoo and not real and not long"

test-long: $(STAMP) ## ONNX's whole suite, dropped preconditions of passes, long simulations: 6 minutes
	$(PYTEST) -m long --ignore tests/integration/test_gpu_lock.py

test-gpu-lock: $(STAMP) ## Download the locked wheels for NVIDIA GPUs (2.5 GB), and check that they fit each other
	$(PYTEST) -n 0 tests/integration/test_gpu_lock.py

test-turn: $(STAMP) pyright ## By turns a share of all tests that make test leaves out; TURN=7 chooses: 25 minutes
	$(PYTEST) --turn $(TURN) -m "ci or slow" --ignore tests/integration/test_gpu_lock.py

test-torch: $(TORCH)/.installed ## PyTorch and transformers, in an environment of their own: 2.5 GB to download, about 8 minutes
	$(TORCH)/bin/python -m pytest -n 2 --dist worksteal --durations=15 -m torch tests/integration/test_torch.py tests/contract

test-jax: $(JAX)/.installed ## JAX and jax2onnx, in an environment of their own: 500 MB to download, about 3 minutes
	$(JAX)/bin/python -m pytest -n 2 --dist worksteal --durations=15 -m jax tests/integration/test_jax.py tests/contract/test_backends.py

test-zoo: $(STAMP) ## Every model of the zoo on every backend, fusions and int8 of large ones; two hours
	$(PYTEST) -m "zoo or not zoo" tests/contract/test_zoo.py tests/contract/test_keras_hub.py \
		tests/integration/test_models.py tests/integration/test_convert.py tests/integration/test_fused_models.py \
		tests/integration/test_by_hand.py

bench: $(STAMP) ## Measure what irbench itself costs and gains; leave the machine alone for 35 minutes
	$(BIN)/python -m benchmarks.bench $(ARGUMENTS)

bench-truth: $(STAMP) ## Check the numbers against known speeds and known work; leave the machine alone for 90 minutes
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation --upgrade --target $(KNOWN_SPEED) ./tests/known_speed
	PYTHONPATH=$(CURDIR)/$(KNOWN_SPEED) $(BIN)/python -m benchmarks.truth $(ARGUMENTS)

bench-corun: $(STAMP) ## Check the slowdowns beside other programs against what the scheduler and the caches make known; 4 minutes on a quiet machine
	$(BIN)/python -m benchmarks.beside $(ARGUMENTS)

bench-serving: $(LOADGEN)/.installed ## Check what requests wait against queues that theory knows, beside MLPerf's LoadGen; 5 minutes on a quiet machine
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation --upgrade --target $(KNOWN_SPEED) ./tests/known_speed
	PYTHONPATH=$(CURDIR)/$(KNOWN_SPEED) $(BIN)/python -m benchmarks.serving_truth --loadgen $(LOADGEN)/bin/python $(ARGUMENTS)

bench-busy: $(STAMP) ## Check what is claimed on a busy machine beside real programs, on an otherwise quiet one; 45 minutes
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation --upgrade --target $(KNOWN_SPEED) ./tests/known_speed
	PYTHONPATH=$(CURDIR)/$(KNOWN_SPEED) $(BIN)/python -m benchmarks.busy $(ARGUMENTS)

bench-gates: $(STAMP) ## Check on a loaded machine whether gates of equal models fail, and slower ones are found; up to 80 minutes
	$(BIN)/python -m benchmarks.gates $(ARGUMENTS)

picture: $(STAMP) ## Draw the chart of the README again, from the run in docs/demo.json, and the pictures of docs/protocol.md
	$(BIN)/python -m benchmarks.picture
	$(BIN)/python -m documentation.pictures

site: $(STAMP) ## Write a site of the runs in results/reference/runs to build/site
	rm -rf build/reference-runs
	$(BIN)/irbench results import $(wildcard results/reference/runs/*.tar.gz) --results build/reference-runs
	$(BIN)/irbench report --site build/site --results build/reference-runs --charts

zoo: $(STAMP) ## Export, optimise, verify and measure every model of the zoo once; an hour
	$(BIN)/python -m benchmarks.zoo $(ARGUMENTS)

zoo-keras-hub: $(KERAS_HUB_STAMP) ## Install keras-hub, optimise its backbones of the zoo at every level, and compare all answers; half an hour
	$(BIN)/python -m benchmarks.backbones $(ARGUMENTS)

bench-fusions: $(STAMP) ## Measure what fusing gains beside graphs written by hand; leave the machine alone for 25 minutes
	$(BIN)/python -m benchmarks.fusions $(ARGUMENTS)

bench-backbones: $(KERAS_HUB_STAMP) ## Measure what each level gains on backbones of keras-hub at sizes in use; half an hour on a quiet machine
	$(BIN)/python -m benchmarks.backbone_speeds $(ARGUMENTS)

bench-optimizers: $(OPTIMIZERS)/.installed ## Compare the optimiser with others on PyTorch models: nodes, answers, speeds; it goes on where it was stopped
	$(BIN)/python -m benchmarks.optimizers $(ARGUMENTS)

bench-pytorch: $(TORCH)/.installed ## Compare PyTorch, torch.compile, ONNX Runtime and OpenVINO on models of transformers; 20 minutes on a quiet machine
	$(TORCH)/bin/python -m benchmarks.pytorch $(ARGUMENTS)

bench-real: $(STAMP) ## Measure trained models from pinned wheels, and what int8 changes on real inputs; an hour
	$(BIN)/python -m benchmarks.real_models $(ARGUMENTS)

lint: $(STAMP) ## ruff and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP) ## mypy (strict)
	$(BIN)/mypy

pyright: $(STAMP) ## basedpyright, a second opinion on types
	$(BIN)/basedpyright

generated: $(STAMP) ## Write what is made from declarations: keywords and rows of Python, tables, JSON Schemas, docs/reference
	$(BIN)/python -m irbench.cli.keyword_files
	$(BIN)/python -m irbench.render.columns.column_files
	$(BIN)/python -m benchmarks.package_map
	$(BIN)/python -c "from pathlib import Path; from irbench.store.run_document import json_schema; \
		Path('irbench/store/run.schema.json').write_bytes(json_schema())"
	$(BIN)/python -c "from pathlib import Path; from irbench.features.profile.profile_document import profile_schema; \
		Path('irbench/features/profile/profile.schema.json').write_bytes(profile_schema())"
	$(BIN)/python -c "from pathlib import Path; from irbench.features.plan.document import plan_schema; \
		Path('irbench/features/plan/plans/plan.schema.json').write_bytes(plan_schema())"
	$(BIN)/python -m documentation.write

docs: $(STAMP) ## Build the documentation site, with search, into build/docs; it fails where a link leads nowhere
	$(BIN)/python -m documentation.site

lock: $(BIN)/uv ## Write the hashed lock files again
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --extra all --group dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --extra all-gpu --group dev pyproject.toml -o requirements-gpu.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --extra keras-hub --constraint requirements.lock pyproject.toml -o requirements-keras-hub.lock

	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --constraint requirements.lock benchmarks/optimizers/requirements.in \
		-o requirements-optimizers.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --constraint requirements.lock --extra ort --extra openvino --extra optimize --extra huggingface \
		--group dev pyproject.toml -o requirements-torch.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) --constraint requirements.lock --extra ort --extra openvino --extra optimize --extra jax \
		--group dev pyproject.toml -o requirements-jax.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		--python-version $(OLDEST) benchmarks/serving/requirements.in -o requirements-loadgen.lock

clean: ## Remove the environment and every cache of the tools
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# uv goes into the environment by the environment's own pip; where Python comes without ensurepip,
# by the pip of the Python that made it; and a uv that is already on the machine serves as well.
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' || \
		{ echo "error: irbench needs Python $(OLDEST) or newer; $(PYTHON) is older."; echo "hint: make PYTHON=python$(NEWEST) $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip $(VENV)
	@$(BIN)/python -m pip install -q uv==$(UV_VERSION) 2>/dev/null \
		|| $(PYTHON) -m pip -q --python $(BIN)/python install uv==$(UV_VERSION) 2>/dev/null \
		|| ln -sf "$$(command -v uv)" $@ 2>/dev/null; \
		test -x $@ || { echo "error: uv could not be installed into $(VENV)."; echo "hint: install pip (or uv) for $(PYTHON), then run make again."; exit 2; }

# Compiled at once, as pip does: otherwise TensorFlow takes three times as long to start wherever Python is told to
# write no bytecode.
$(STAMP): requirements.lock pyproject.toml | $(BIN)/uv
	@$(BIN)/uv pip sync -q --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock || { \
		version=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		case " $(SUPPORTED) " in *" $$version "*) ;; *) \
			echo "error: requirements.lock is for Python $(OLDEST) to $(NEWEST); for $$version, TensorFlow has no wheel."; \
			echo "hint: make PYTHON=python$(NEWEST) $(MAKECMDGOALS). Or leave TensorFlow out: pip install '.[ort,openvino]'";; \
		esac; exit 2; }
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# What the models of the extra keras-hub need besides; make setup takes it away again where a lock file has changed.
$(KERAS_HUB_STAMP): requirements-keras-hub.lock $(STAMP)
	$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements-keras-hub.lock
	@touch $@

# PyTorch and the other optimisers, in an environment of their own: they are no part of irbench's.
$(OPTIMIZERS)/.installed: requirements-optimizers.lock $(STAMP)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(OPTIMIZERS)
	$(BIN)/uv pip sync -q --python $(OPTIMIZERS)/bin/python --require-hashes requirements-optimizers.lock
	@touch $@

# PyTorch with what its tests need, in an environment of its own: it is no part of irbench's.
$(TORCH)/.installed: requirements-torch.lock pyproject.toml $(STAMP)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(TORCH)
	$(BIN)/uv pip sync -q --python $(TORCH)/bin/python --require-hashes requirements-torch.lock
	$(BIN)/uv pip install -q --python $(TORCH)/bin/python --no-deps --no-build-isolation -e .
	@touch $@

# JAX with what its tests need, likewise.
$(JAX)/.installed: requirements-jax.lock pyproject.toml $(STAMP)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(JAX)
	$(BIN)/uv pip sync -q --python $(JAX)/bin/python --require-hashes requirements-jax.lock
	$(BIN)/uv pip install -q --python $(JAX)/bin/python --no-deps --no-build-isolation -e .
	@touch $@

# MLPerf's LoadGen, which nothing of irbench imports.
$(LOADGEN)/.installed: requirements-loadgen.lock $(STAMP)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(LOADGEN)
	$(BIN)/uv pip sync -q --python $(LOADGEN)/bin/python --require-hashes requirements-loadgen.lock
	@touch $@
