# Thin: CMake builds, this names what people do. `make demo` and `make check` need nothing installed by hand.
BUILD := build
JOBS := $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

.PHONY: all deps build wheel demo quick check check-spark bench-spark coverage soak bench fuzz install clean

all: build

deps:
	@tools/deps.sh build page check bench python spark

build:
	@tools/deps.sh build
	@tools/deps.sh page || echo "build: without the page of reports, which needs Node.js and npm"
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }; rm -f $(BUILD).log
	@cmake --build $(BUILD) --parallel $(JOBS) -- --no-print-directory -s

wheel:
	@tools/deps.sh build page python
	@tools/wheel.sh $(BUILD)/dist

demo: build
	@python3 tools/demo.py $(BUILD)/parley

quick:
	@tools/deps.sh build page check
	@tests/run.sh build unit cli layers format

check:
	@tools/deps.sh build page check python spark
	@tests/run.sh

check-spark:
	@tools/deps.sh build check python spark
	@tests/spark/run.sh all

coverage:
	@tools/deps.sh build check coverage
	@tests/coverage.py

soak: SECONDS ?= 600
soak: SEED ?= 1
soak: build
	@tools/deps.sh build check
	@tests/soak/run.py $(SECONDS) $(SEED)

bench: build
	@tools/deps.sh bench
	@cmake --build $(BUILD) --parallel $(JOBS) --target bench_programs -- --no-print-directory -s
	@$(BUILD)/venv/bin/python bench/run.py $(BUILD)/parley

bench-spark: build
	@tools/deps.sh build check python spark
	@bench/spark/run.sh

fuzz:
	@tools/deps.sh build check
	@tests/fuzz/run.sh

install: build
	@cmake --install $(BUILD)

clean:
	rm -rf $(BUILD)
