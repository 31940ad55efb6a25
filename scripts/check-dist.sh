#!/bin/sh
# The folder that `make dist` made links nothing but glibc and its own files, is small, and works from another place.
set -eu
cd "$(dirname "$0")/.."
made=""
for folder in dist/kgate-*-linux-*/; do
    [ -x "$folder/kgate" ] || continue
    made=1
    here=$(realpath "$folder")
    for file in "$folder"kgate "$folder"kgate-runner "$folder"kgate-counters "$folder"*.so*; do
        # Names that ldd may show: the C library's own parts, the loader, the compiler's runtime, and what lies beside.
        foreign=$(ldd "$file" | grep -vF "=> $here/" | awk '{print $1}' | sed 's|.*/||' |
            grep -Ev '^(linux-vdso|libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-x86-64)\.so' || true)
        if [ -n "$foreign" ]; then
            echo "$file links more than glibc and what lies beside it:" $foreign >&2
            exit 1
        fi
    done
    size=$(du -sm "$folder" | cut -f1)
    if [ "$size" -ge 40 ]; then
        echo "$folder takes $size MiB: the limit is 40" >&2
        exit 1
    fi
    elsewhere=$(mktemp -d)
    trap 'rm -rf "$elsewhere"' EXIT
    cp -r "$folder" "$elsewhere/moved here"
    cd "$elsewhere"
    for kind in fast wrong; do
        env -i PATH="$PATH" HOME="$elsewhere" "$elsewhere/moved here/kgate" run --device cpu --baseline none \
            --db "$elsewhere/results.db" --format jsonl "$elsewhere/moved here/examples/c/relu_$kind.c" >$kind.jsonl
    done
    grep -q '"verdict": *"efficient"\|"verdict": *"slow"' fast.jsonl || { echo "moved: relu_fast.c:" >&2; cat fast.jsonl >&2; exit 1; }
    grep -q '"verdict": *"incorrect"' wrong.jsonl || { echo "moved: relu_wrong.c:" >&2; cat wrong.jsonl >&2; exit 1; }
    cd - >/dev/null
    rm -rf "$elsewhere"
    echo "$folder: glibc and its own files only, $size MiB, judges from another folder"
done
[ -n "$made" ] || { echo "dist/: nothing there; run make dist" >&2; exit 1; }
