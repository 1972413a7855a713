#!/usr/bin/env bash
# run.sh [SUITE ...]: what `make check` runs: every build and every test, one line each; all of them, or those whose name
# begins with one of the words given. What a suite printed is kept in build/check/NAME.log and shown if it failed.
# Two suites run at a time, so that one computes while the other waits; each line is printed when its suite ends.
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
slots=2
passed=0 failed=0
queue=() # names of suites, in the order in which they are considered
declare -A needs=() command=() began=() # by name
declare -A state=()                     # by name: waiting, running, passed, failed
declare -A running=()                   # names by process
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

# suite NAME NEEDS COMMAND...: puts one into the queue; NEEDS is the build it takes, or `none`.
suite() {
    local name=$1
    is_wanted "$name" || return 0
    queue+=("$name")
    needs[$name]=$2
    state[$name]=waiting
    shift 2
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
}

# Seconds that processors worked for a suite: the second line that `times` printed, as in 1m2.500s 0m0.750s.
worked() { awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$logs/$1.times"; }

finish() { # NAME EXIT_CODE
    local name=$1 code=$2 seconds=$((SECONDS - began[$1]))
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
        passed) [ ${#running[@]} -ge $slots ] || start "$name" ;;
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

# In this order: what is quick and often broken first, what mostly waits (fault, mpi, network) beside what computes.
suite build none bash -c 'build build all -DPARLEY_TESTS=ON'
suite layers none python3 tests/layers.py
suite format none bash -c check_format
suite unit build bash -c 'unit build unit'
suite cli build tests/cli/run.sh build/parley
suite compatibility build python3 tests/compatibility/run.py build/parley
suite replay build bash -c 'unit build replay'
suite install build tests/install/run.sh build
suite asan none bash -c 'build build/asan "parley unit test_kmeans replay" -DPARLEY_TESTS=ON -DCMAKE_C_COMPILER=clang -DPARLEY_SANITIZE=address,undefined'
suite fault build python3 tests/fault/run.py build/parley 20
suite outputs build python3 tests/fault/test_outputs.py build/parley
suite nth-call build python3 tests/fault/nth_call.py build/parley
suite stops build python3 tests/fault/stops.py build/parley
suite combinations build python3 tests/fault/combinations.py build/parley
suite limits build python3 tests/fault/memory_limits.py build/parley
suite allocations build python3 tests/fault/allocations.py build/parley-failing
suite golden build build/venv/bin/python tests/golden/test_optima.py build/parley
suite mpi build python3 tests/mpi/test_ranks.py build/parley
suite launch build python3 tests/mpi/test_launch.py build/parley
suite report build python3 -B tests/report/test_report.py build/parley
suite browser build build/venv/bin/python -B tests/report/test_browser.py build/parley
suite problem build build/venv/bin/python tests/problem/test_cluster.py build/parley-kmeans
suite asan-unit asan bash -c 'unit build/asan unit'
suite python none tests/python/run.sh
suite first-hour python build/python/current/bin/python tests/first_hour/run.py build/parley
suite spark python tests/spark/run.sh
suite network build python3 tests/network/run.py build/parley
suite tsan none bash -c 'fixed bash -c "build build/tsan \"parley unit test_kmeans\" -DPARLEY_TESTS=ON -DCMAKE_C_COMPILER=gcc -DPARLEY_SANITIZE=thread"'
suite asan-cli asan tests/cli/run.sh build/asan/parley
suite tsan-unit tsan bash -c 'fixed bash -c "unit build/tsan threads"'
suite asan-replay asan bash -c 'unit build/asan replay'
suite tsan-cli tsan bash -c 'fixed tests/cli/run.sh build/tsan/parley'

run_queue
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
