# make        builds build/kgate and what it needs beside it
# make run    installs what is missing, builds, judges examples/ on the best device here
# make test   every test, through ctest
# make crosscheck   every oracle beside PyTorch's answers; $KGATE_PYTHON: an interpreter that has torch
# make dist   dist/kgate-VERSION-linux-x86_64/, for machines without packages
BUILD ?= build
JOBS ?= $(shell nproc)
# examples/kbx/ and examples/gap22/ are simple right kernels, one a task: controls, not meant to be fast.
EXAMPLES ?= $(filter-out examples/kbx examples/gap22,$(wildcard examples/*))

# make bench-mutation   mistakes seeded into right kernels: how many kgate catches, and the field's usual check
.PHONY: all configure bootstrap bootstrap-test run test crosscheck bench-mutation asan tsan dist check-dist format clean
all: configure
	cmake --build $(BUILD) -j $(JOBS)

configure:
	@test -f $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release

bootstrap:
	@scripts/bootstrap.sh run
bootstrap-test:
	@scripts/bootstrap.sh test

run: bootstrap
	@$(MAKE) --no-print-directory all
	$(BUILD)/kgate run $(EXAMPLES)

test: bootstrap-test
	@$(MAKE) --no-print-directory all
	ctest --test-dir $(BUILD) --output-on-failure

crosscheck:
	@scripts/bootstrap.sh $(if $(KGATE_PYTHON),run,crosscheck)
	@$(MAKE) --no-print-directory all
	@bench/crosscheck/crosscheck.py --kgate $(BUILD)/kgate

bench-mutation: bootstrap-test
	@$(MAKE) --no-print-directory all
	cmake --build $(BUILD) -j $(JOBS) --target usual_check
	@bench/mutation/flushed.py --kgate $(BUILD)/kgate
	@cmake -S . -B $(BUILD)/small-index -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-DKG_INDEX_BITS=15 > $(BUILD)/small-index.log
	@cmake --build $(BUILD)/small-index -j $(JOBS) --target kgate-cli kgate-runner >> $(BUILD)/small-index.log
	@bench/mutation/bench_mutation.py --full=small --small-index $(BUILD)/small-index/kgate --kgate $(BUILD)/kgate --usual-check $(BUILD)/usual_check

asan tsan: bootstrap-test
	scripts/sanitized.sh $@

dist: bootstrap
	scripts/dist.sh

check-dist:
	scripts/check-dist.sh

format:
	find src include tests examples bench -name '*.[ch]' -print0 | xargs -0 clang-format-14 -i

clean:
	rm -rf build build-asan build-tsan build-dist dist
