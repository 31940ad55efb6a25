#!/bin/sh
# A C compiler that builds each candidate once: the same source becomes the same library. For kgate's $CC.
# $CACHED_CC: the folder that keeps them.
set -e
out= previous= source=candidate.c
for word; do
    [ "$previous" = -o ] && out=$word
    previous=$word
done
kept=$CACHED_CC/$(cat "$source" | cksum | tr ' ' -)
if [ ! -e "$kept" ]; then
    cc "$@"
    cp "$out" "$kept.$$"
    mv "$kept.$$" "$kept"
else
    cp "$kept" "$out"
fi
