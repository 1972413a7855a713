#!/usr/bin/env bash
# run.sh [SUITE ...]: what `make check` runs: every build and every test, one line each; all of them, or those whose name
# begins with one of the words given. What a suite printed is kept in build/check/NAME.log and shown if it failed.
# Two suites run at a time, and beside them one of those that mostly wait; each line is printed when its suite ends, with the
# seconds that it took and those that processors worked for it.
#
# Builds: build (gcc, release), build/asan (clang, address and undefined behaviour), build/tsan (gcc, threads).
set -u
cd "$(dirname "$0")/.."
unset CC CFLAGS LDFLAGS MAKEFLAGS MAKELEVEL
jobs=$(nproc 2> /dev/null || echo 2)
logs=$PWD/build/check
mkdir -p "$logs"
TMPDIR=$(mktemp -d "$logs/tmp.XXXXXX") || exit 2
export TMPDIR LC_ALL=C.UTF-8
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
passed=0 failed=0
queue=() # names of suites, in the order in which they are considered
declare -A needs=() command=() began=() kind=() # by name
declare -A state=()                     # by name: waiting, running, passed, failed
declare -A running=()                   # names by process
declare -A slots=([busy]=2 [idle]=1)    # how many suites run at a time, of those that compute and of those that mostly wait
wanted=("$@")

stop() {
    [ ${#running[@]} -eq 0 ] || kill "${!running[@]}" 2> /dev/null
    wait
    exit 130
}
trap stop INT TERM
trap 'rm -rf "$TMPDIR"' EXIT

is_wanted() {
    [ ${#wanted[@]} -eq 0 ] && return 0
    local word
    for word in "${wanted[@]}"; do [[ $1 == "$word"* ]] && return 0; done
    return 1
}

# suite NAME NEEDS KIND COMMAND...: puts one into the queue. NEEDS is the build that it takes, or `none`; KIND is `busy`, or
# `idle` for one that mostly waits.
suite() {
    local name=$1
    is_wanted "$name" || return 0
    queue+=("$name")
    needs[$name]=$2
    kind[$name]=$3
    state[$name]=waiting
    shift 3
    command[$name]=$(printf '%q ' "$@")
}

start() {
    local name=$1
    began[$name]=$SECONDS
    (
        trap 'kill $!' TERM
        eval "timeout -k 10 800 ${command[$name]}" > "$logs/$name.log" 2>&1 < /dev/null &
        wait $!
        code=$?
        times > "$logs/$name.times"
        exit $code
    ) &
    running[$!]=$name
    state[$name]=running
    slots[${kind[$name]}]=$((slots[${kind[$name]}] - 1))
}

# Seconds that processors worked for a suite: the second line that `times` printed, as in 1m2.500s 0m0.750s.
worked() { awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$logs/$1.times"; }

finish() { # NAME EXIT_CODE
    local name=$1 code=$2 seconds=$((SECONDS - began[$1]))
    slots[${kind[$name]}]=$((slots[${kind[$name]}] + 1))
    if [ "$code" -eq 0 ]; then
        printf 'ok    %-22s %3d s, of processors %3d s  %s\n' "$name" $seconds "$(worked "$name")" "$(summary "$name")"
        passed=$((passed + 1))
        state[$name]=passed
    else
        printf 'FAIL  %-22s %3d s  exit code %d; the end of %s:\n' "$name" $seconds "$code" "${logs#"$PWD"/}/$name.log"
        tail -n 40 "$logs/$name.log" | sed 's/^/      /'
        failed=$((failed + 1))
        state[$name]=failed
    fi
}

# Starts what can start. A suite whose build failed fails too.
start_suites() {
    local name
    for name in "${queue[@]}"; do
        [ "${state[$name]}" = waiting ] || continue
        case ${state[${needs[$name]}]:-passed} in # a build that is not in the queue is taken as it is
        failed)
            printf 'FAIL  %-22s its build failed\n' "$name"
            failed=$((failed + 1))
            state[$name]=failed
            ;;
        passed) [ "${slots[${kind[$name]}]}" -eq 0 ] || start "$name" ;;
        esac
    done
}

run_queue() {
    local process code
    start_suites
    while [ ${#running[@]} -gt 0 ]; do
        wait -n -p process "${!running[@]}"
        code=$?
        finish "${running[$process]}" $code
        unset "running[$process]"
        start_suites
    done
}

# What there is to say about a suite that passed: how much it tested.
summary() {
    local log=$logs/$1.log tests
    tests=$(grep -cE '^([0-9]+: )?\[       OK \]' "$log")
    if [ "$tests" -gt 0 ]; then
        echo "$tests tests in $(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed' "$log") files"
    elif grep -qE '^[0-9]+: [0-9]+ inputs$' "$log"; then
        sed -nE 's/^[0-9]+: ([0-9]+) inputs$/\1/p' "$log" | awk '{ n += $1 } END { print n " inputs" }'
    else
        grep -E '^[0-9]+ (passed|files)|^install: ' "$log" | tail -n 1 || true
    fi
}

build() { # FOLDER TARGETS [CMAKE OPTIONS]
    local folder=$1 targets
    read -ra targets <<< "$2"
    shift 2
    cmake -S . -B "$folder" "$@" && cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}" -- --no-print-directory
}

unit() { ctest --test-dir "$1" -L "$2" -j "$jobs" --verbose; }

# ThreadSanitizer needs the layout of memory that randomisation may take away.
fixed() {
    if setarch -R true 2> /dev/null; then setarch -R "$@"; else "$@"; fi
}

sources() { find include src cli tests examples -name '*.[ch]' | sort; }

check_format() {
    local files
    mapfile -t files < <(sources)
    clang-format --dry-run -Werror "${files[@]}" && echo "${#files[@]} files"
}

export -f build unit fixed sources check_format
export jobs

# In this order: builds and what is quick and often broken first, then the longest, and last what uses both processors to its
# end. Spark and the tests of Python are one process after the other and begin early.
suite build none busy bash -c 'build build all -DPARLEY_TESTS=ON'
suite layers none busy python3 tests/layers.py
suite format none busy bash -c check_format
suite python none busy tests/python/run.sh
suite unit build busy bash -c 'unit build unit'
suite cli build busy tests/cli/run.sh build/parley
suite spark python busy tests/spark/run.sh
suite tsan none busy bash -c 'fixed bash -c "build build/tsan \"parley unit test_kmeans\" -DPARLEY_TESTS=ON -DCMAKE_C_COMPILER=gcc -DPARLEY_SANITIZE=thread"'
suite tsan-unit tsan busy bash -c 'fixed bash -c "unit build/tsan threads"'
suite asan none busy bash -c 'build build/asan "parley unit test_kmeans replay" -DPARLEY_TESTS=ON -DCMAKE_C_COMPILER=clang -DPARLEY_SANITIZE=address,undefined'
suite asan-unit asan busy bash -c 'unit build/asan unit'
suite fault build idle python3 tests/fault/run.py build/parley 20
suite launch build idle python3 tests/mpi/test_launch.py build/parley
suite network build idle python3 tests/network/run.py build/parley
suite nth-call build idle python3 tests/fault/nth_call.py build/parley
suite browser build idle build/venv/bin/python -B tests/report/test_browser.py build/parley
suite report build idle python3 -B tests/report/test_report.py build/parley
suite outputs build idle python3 tests/fault/test_outputs.py build/parley
suite mpi build busy python3 tests/mpi/test_ranks.py build/parley
suite stops build busy python3 tests/fault/stops.py build/parley
suite sklearn python busy build/python/current/bin/python -B tests/sklearn/run.py
suite first-hour python busy build/python/current/bin/python tests/first_hour/run.py build/parley
suite combinations build busy python3 tests/fault/combinations.py build/parley
suite limits build busy python3 tests/fault/memory_limits.py build/parley
suite problem build busy build/venv/bin/python tests/problem/test_cluster.py build/parley-kmeans
suite allocations build busy python3 tests/fault/allocations.py build/parley-failing
suite compatibility build busy python3 tests/compatibility/run.py build/parley
suite replay build busy bash -c 'unit build replay'
suite install build busy tests/install/run.sh build
suite asan-replay asan busy bash -c 'unit build/asan replay'
# A program without one of the problems, which every other part must do without. -O1, because it is only tested.
if grep -q PARLEY_WITHOUT CMakeLists.txt; then
    suite without none busy bash -c 'build build/without "parley parley_library" -DPARLEY_WITHOUT=topics -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-O1 -Wno-maybe-uninitialized" &&
        tests/cli/run.sh build/without/parley'
fi
suite documents build busy python3 tests/documents.py build/parley
suite golden build busy build/venv/bin/python tests/golden/test_optima.py build/parley
suite asan-cli asan busy tests/cli/run.sh build/asan/parley
suite tsan-cli tsan busy bash -c 'fixed tests/cli/run.sh build/tsan/parley'

run_queue
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
