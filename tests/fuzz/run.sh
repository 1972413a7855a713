#!/usr/bin/env bash
# run.sh [--seconds N] [--seed N] [--jobs N] [--json] [NAME ...]: fuzzes every reader of bytes, or those named
# (fuzz_NAME.c), for N seconds each (SECONDS, or 60), with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, as
# many at a time as there are cores (--jobs). Starts from a copy of the corpus and with NAME.dict; what crashed a reader is
# kept in build/fuzz/found, and the corpus in build/fuzz/corpus grows from run to run. --json prints one object per fuzzer,
# with the number of inputs tried.
seconds=$(printenv SECONDS || echo 60) # first of all: in bash it counts on
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=build/fuzz
names=() seed=0 json=false jobs=$(nproc) # seed 0: libFuzzer draws one
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --json) json=true ;;
    *) names+=("$1") ;;
    esac
    shift
done
if [ ${#names[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        source=${source##*/fuzz_}
        names+=("${source%.c}")
    done
fi
# Most inputs are short and allocate little: a small quarantine and short stacks of allocations make them faster.
export ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}

mkdir -p $folder/found
cmake -S . -B $folder -DCMAKE_C_COMPILER=clang -DPARLEY_FUZZ=ON -DPARLEY_SANITIZE=address,undefined > $folder/build.log 2>&1 &&
    cmake --build $folder --parallel "$(nproc)" >> $folder/build.log 2>&1 || { cat $folder/build.log; exit 1; }

# The most bytes of an input of a fuzzer: a small input is tried in less time.
longest() {
    case $1 in
    dates | handshake) echo 96 ;;
    folds | weights) echo 128 ;;
    checkpoint | pmi | watch) echo 256 ;;
    cache | model) echo 1024 ;;
    hosts) echo 1152 ;;
    *) echo 512 ;;
    esac
}

fuzz() {
    local name=$1 good=true inputs drawn corpus=$folder/corpus/$1 log=$folder/$1.log
    local options=(-max_total_time="$seconds" -seed="$seed" -max_len="$(longest "$name")" -timeout=20 -rss_limit_mb=4096
        -print_final_stats=1)
    [ ! -f tests/fuzz/"$name".dict ] || options+=(-dict=tests/fuzz/"$name".dict)
    mkdir -p "$corpus"
    cp -n tests/fuzz/corpus/"$name"/* "$corpus"
    $folder/fuzz_"$name" "${options[@]}" -artifact_prefix=$folder/found/"$name"- "$corpus" > "$log" 2>&1 || good=false
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    drawn=$(sed -n 's/^INFO: Seed: *//p' "$log")
    if $json; then
        printf '{"fuzzer":"%s","inputs":%d,"seconds":%d,"seed":%d,"passed":%s}\n' \
            "$name" "${inputs:-0}" "$seconds" "${drawn:-0}" $good
    elif $good; then
        echo "ok    $name: $inputs inputs in $seconds s, seed $drawn"
    fi
    if ! $good; then
        { echo "FAIL  $name: the end of $log:" && tail -n 40 "$log" | sed 's/^/      /'; } >&2
        return 1
    fi
}

failed=0 running=0
for name in "${names[@]}"; do
    if [ $running -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    fuzz "$name" &
    running=$((running + 1))
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed
