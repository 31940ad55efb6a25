#!/usr/bin/env bash
# The study set of examples/gap22 on this GPU: every kernel judged, as first written and repaired.
#     bench/study/study.sh KGATE OUTDIR [triton|cuda|tilelang|compile ...]
# Triton and CUDA kernels are judged on all cases of their tasks; TileLang's, which compile for seconds at every shape and
# dtype, on those of the dtype that is timed (--scope; the records say so). `compile`: torch.compile's times, beside the
# best Triton form of each operator. Writes OUTDIR/study-PART.jsonl and the table.
set -u
kgate=$1 out=$2 here=$(dirname "$0")
shift 2
parts=${*:-triton cuda tilelang compile}
set=$here/../../examples/gap22
export KGATE_DB=${KGATE_DB:-$out/study.db}
judge() { timeout "$1" "$kgate" run --device cuda --timeout 60 --format jsonl -o "$out/$2.jsonl" "${@:3}"; }

# judge_by_dtype SECONDS PART FILE...: each on the cases of the dtype that is timed.
judge_by_dtype() {
    local seconds=$1 part=$2 scope=contiguous,nonempty,finite,small file
    local f32=() bf16=() f16=()
    for file in "${@:3}"; do
        case $(basename "$file") in
        attention*|cross_entropy*|logsumexp*|mean_reduction*) f32+=("$file") ;;
        layer_norm*) bf16+=("$file") ;;
        *) f16+=("$file") ;;
        esac
    done
    judge "$seconds" "$part-bf16" --scope bf16,$scope "${options[@]}" "${bf16[@]}"
    judge "$seconds" "$part-f32" --scope f32,$scope "${options[@]}" "${f32[@]}"
    judge "$seconds" "$part-f16" --scope f16,$scope "${options[@]}" "${f16[@]}"
}

# Of each operator the repaired Triton form, else the one as first written.
best_forms() {
    local file
    for file in "$set"/triton/*.py; do
        case $file in
        *_repaired.py|*_im2col.py) ;;
        *) if [ -e "${file%.py}_repaired.py" ]; then echo "${file%.py}_repaired.py"; else echo "$file"; fi ;;
        esac
    done
}

options=()
for part in $parts; do
    case $part in
    triton) judge "${TRITON_S:-600}" study-triton "$set"/triton ;;
    cuda) judge "${CUDA_S:-200}" study-cuda "$set"/cuda ;;
    tilelang) judge_by_dtype "${TILELANG_S:-600}" study-tilelang "$set"/tilelang/*.py ;;
    compile)
        options=(--baseline torch-compile)
        judge_by_dtype "${COMPILE_S:-300}" study-compile $(best_forms)
        options=()
        ;;
    esac
done
python3 "$here/table.py" "$set/labels.csv" "$out"/study-*.jsonl | tee "$out/study.txt"
