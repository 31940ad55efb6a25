#!/bin/sh
# clang-tidy with .clang-tidy over the sources of a configured build: scripts/check-tidy.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
[ -f "$build/compile_commands.json" ] || { echo "$build: not configured; run make" >&2; exit 1; }
find src -name '*.c' -print0 | xargs -0 -n 8 -P "${JOBS:-2}" clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*'
