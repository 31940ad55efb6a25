#!/bin/sh
# Builds a sanitizer preset and runs its tests: scripts/sanitized.sh asan|tsan
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=${JOBS:-$(nproc)}
cmake --preset "$preset" >/dev/null
cmake --build "build-$preset" -j "$jobs"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_stack_use_after_return=1:abort_on_error=0"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:halt_on_error=1:print_stacktrace=1"
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp"
ctest --test-dir "build-$preset" --output-on-failure -j "$jobs"
