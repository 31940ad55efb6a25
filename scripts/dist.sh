#!/bin/sh
# One relocatable folder with all but glibc linked in or beside it: dist/kgate-VERSION-linux-x86_64/
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(kgate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=kgate-$version-linux-$(uname -m)
cmake --preset dist >/dev/null
cmake --build build-dist -j "${JOBS:-$(nproc)}" --target kgate-cli kgate-runner kgate-runner-so kgate-counters
out=dist/$name
rm -rf "$out" "dist/$name.tar.gz"
mkdir -p "$out/include/kgate"
# The program finds its parts beside itself, so they stay in one folder, as in build/.
cp build-dist/kgate build-dist/kgate-runner build-dist/kgate-counters build-dist/*.so build-dist/*.so.* "$out/"
cp -r build-dist/python "$out/"
cp include/kgate/kernel.h include/kgate/kgate.h "$out/include/kgate/"
cp -r examples README.md docs "$out/"
# Parsers linked in, under the MIT licence: its text goes with them.
for archive in third_party/*.tar.gz; do
    tar -xzOf "$archive" --wildcards '*/LICENSE' >"$out/LICENSE.$(basename "$archive" .tar.gz)"
done
find "$out" -name __pycache__ -prune -exec rm -rf {} +
strip "$out/kgate" "$out/kgate-runner" "$out/kgate-counters"
strip --strip-unneeded "$out/libkgate-runner.so"
tar -C dist -czf "dist/$name.tar.gz" "$name"
echo "$out ($(du -sm "$out" | cut -f1) MiB)"
