#!/usr/bin/env bash
# run.sh [NAME ...]: fuzzes every reader of bytes, or those named (libsvm, csv, vw, idx, cache, model), for SECONDS (60) each, with
# libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer. Starts from a copy of the corpus; what crashed a reader is
# kept in build/fuzz/found, and the corpus in build/fuzz/corpus grows from run to run.
seconds=$(printenv SECONDS || echo 60) # first of all: in bash it counts on
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=build/fuzz
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(libsvm csv vw idx cache model)

mkdir -p $folder/found
cmake -S . -B $folder -DCMAKE_C_COMPILER=clang -DPARLEY_FUZZ=ON -DPARLEY_SANITIZE=address,undefined > $folder/build.log 2>&1 &&
    cmake --build $folder --parallel "$(nproc)" >> $folder/build.log 2>&1 || { cat $folder/build.log; exit 1; }

failed=0
for name in "${names[@]}"; do
    corpus=$folder/corpus/$name
    mkdir -p "$corpus"
    cp -n tests/fuzz/corpus/"$name"/* "$corpus"
    log=$folder/$name.log
    if $folder/fuzz_"$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix=$folder/found/"$name"- "$corpus" > "$log" 2>&1; then
        echo "ok    $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
    else
        failed=1
        echo "FAIL  $name: the end of $log:"
        tail -n 40 "$log" | sed 's/^/      /'
    fi
done
exit $failed
