#!/usr/bin/env bash
# The study set of examples/gap22 on this GPU: every kernel judged, as first written and repaired.
#     bench/study/study.sh KGATE OUTDIR [triton|cuda|tilelang ...]
# Triton and CUDA kernels are judged on all cases of their tasks; TileLang's, which compile for seconds at every shape and
# dtype, on those of the dtype that is timed (--scope; the records say so). Writes OUTDIR/study-PART.jsonl and the table.
set -u
kgate=$1 out=$2 here=$(dirname "$0")
shift 2
parts=${*:-triton cuda tilelang}
set=$here/../../examples/gap22
export KGATE_DB=${KGATE_DB:-$out/study.db}
judge() { timeout "$1" "$kgate" run --device cuda --timeout 60 --format jsonl -o "$out/$2.jsonl" "${@:3}"; }

for part in $parts; do
    case $part in
    triton) judge "${TRITON_S:-600}" study-triton "$set"/triton ;;
    cuda) judge "${CUDA_S:-200}" study-cuda "$set"/cuda ;;
    tilelang)
        scope=contiguous,nonempty,finite,small
        f32=() bf16=() f16=()
        for file in "$set"/tilelang/*.py; do
            case $(basename "$file") in
            attention*|cross_entropy*|logsumexp*|mean_reduction*) f32+=("$file") ;;
            layer_norm*) bf16+=("$file") ;;
            *) f16+=("$file") ;;
            esac
        done
        judge "${TILELANG_S:-600}" study-tilelang-bf16 --scope bf16,$scope "${bf16[@]}"
        judge "${TILELANG_S:-600}" study-tilelang-f32 --scope f32,$scope "${f32[@]}"
        judge "${TILELANG_S:-600}" study-tilelang-f16 --scope f16,$scope "${f16[@]}"
        ;;
    esac
done
python3 "$here/table.py" "$set/labels.csv" "$out"/study-*.jsonl | tee "$out/study.txt"
