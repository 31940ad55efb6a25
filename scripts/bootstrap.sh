#!/bin/sh
# Installs what kgate needs and this machine lacks, and nothing else.
#
#     scripts/bootstrap.sh run         to build and judge
#     scripts/bootstrap.sh test        to run the tests too
#     scripts/bootstrap.sh crosscheck  to compare with Debian's PyTorch
#
# As root it installs with apt-get; otherwise it prints the one line to run and exits 3. With everything there it only
# looks at files, so `make` can afford to call it every time. KGATE_SYSROOT: look for files below this folder (tests).
set -eu
root=${KGATE_SYSROOT:-}
what=${1:-run}

# package, then any of the places one of its files may be
need() {
    package=$1
    shift
    for place in "$@"; do
        for file in "$root"$place; do
            [ -e "$file" ] && return 0
        done
    done
    missing="$missing $package"
}

missing=""
need gcc /usr/bin/gcc /usr/local/bin/gcc
need libc6-dev /usr/include/stdio.h
need cmake /usr/bin/cmake /usr/local/bin/cmake
need pkg-config /usr/bin/pkg-config
need python3 /usr/bin/python3 /usr/local/bin/python3
need libjansson-dev /usr/include/jansson.h
need libsqlite3-dev /usr/include/sqlite3.h
need libffi-dev '/usr/include/*/ffi.h' /usr/include/ffi.h
need libseccomp-dev /usr/include/seccomp.h
need libmd-dev /usr/include/sha2.h
need libgsl-dev /usr/include/gsl/gsl_sf.h
need libfftw3-dev /usr/include/fftw3.h
# What kernels on the CPU are compared with.
need libdnnl2 '/usr/lib/*/libdnnl.so.2' /usr/lib/libdnnl.so.2
need libopenblas0-pthread '/usr/lib/*/libopenblas.so.0' '/usr/lib/*/openblas-*/libopenblas.so.0'
if [ "$what" = test ]; then
    need libcmocka-dev /usr/include/cmocka.h
    need clang-format-14 /usr/bin/clang-format-14
    need clang-tidy-14 /usr/bin/clang-tidy-14
fi
if [ "$what" = crosscheck ]; then
    need python3-torch '/usr/lib/python3*/dist-packages/torch/__init__.py'
fi
[ -n "$missing" ] || exit 0

lists=""
for file in "$root"/var/lib/apt/lists/*_Packages*; do
    [ -e "$file" ] && lists=1
done
if [ "$(id -u)" != 0 ]; then
    echo "kgate needs packages that are not here; run: sudo sh -c 'apt-get update && apt-get install -y$missing'" >&2
    exit 3
fi
if ! command -v apt-get >/dev/null; then
    echo "kgate needs packages that are not here and there is no apt-get; install what your system calls:$missing" >&2
    exit 3
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing:$missing" >&2
[ -n "$lists" ] || apt-get update -q >&2
# Lists that are there may be older than the archive.
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing >&2 || {
    apt-get update -q >&2
    apt-get install -q -y --no-install-recommends $missing >&2
}
