#!/bin/sh
# Every C file as .clang-format has it. clang-format 14, because other versions lay out differently.
set -eu
cd "$(dirname "$0")/.."
find src include tests examples bench -name '*.[ch]' -print0 | xargs -0 clang-format-14 --dry-run -Werror
