#!/usr/bin/env bash
# run.sh PARLEY [CASE ...]: runs the command line and compares standard output, standard error and exit code, exactly.
#
# A case is a file cases/NAME: bash commands in a fresh folder with the files of data/, then what they must give:
#   --- exit 0
#   --- stdout
#   ...
#   --- stderr
#   ...
# Times and amounts of memory are masked as <time> and <size>. UPDATE=1 writes what came out into the case. With a program
# that was built without topic models, cases that mention them are left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: $0 PATH_TO_PARLEY [CASE ...]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -x "$binary" ] || { echo "$0: $1: no such program" >&2; exit 2; }
shift
scratch=$(mktemp -d) || exit 2 # with none, all below would be done at the root
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$binary" "$scratch/bin/parley"
PATH=$scratch/bin:$PATH
export LC_ALL=C

mask() {
    sed -E -e 's/[0-9]+\.[0-9]+ (s$|s left|seconds|in all|reading)/<time> \1/g' -e 's/[0-9.]+ [kMG]B/<size>/g' "$1"
}

# Prints what the case in $1 gives, in the form of its expectation; $2 is a folder of its own.
perform() {
    local code
    cp -r "$here/data" "$2/run"
    sed '/^--- exit/,$d' "$1" > "$2/commands"
    (cd "$2/run" && timeout 120 bash "$2/commands" > "$2/stdout" 2> "$2/stderr" < /dev/null)
    code=$?
    echo "--- exit $code"
    echo "--- stdout"
    mask "$2/stdout"
    echo "--- stderr"
    mask "$2/stderr"
}

# Runs the case in $1 and leaves what differs in $scratch/NAME/diff, or rewrites the case.
run_case() {
    local own
    own=$scratch/$(basename "$1")
    mkdir "$own"
    perform "$1" "$own" > "$own/actual"
    rm -rf "$own/run"
    sed -n '/^--- exit/,$p' "$1" > "$own/expected"
    if [ "${UPDATE:-}" = 1 ]; then
        cat "$own/commands" "$own/actual" > "$own/case" && cp "$own/case" "$1"
    else
        diff -u "$own/expected" "$own/actual" > "$own/diff"
    fi
    return 0
}
export here scratch
export -f mask perform run_case

# A pattern for the words of the problems that the program was built without.
absent=
"$binary" list problems | grep -qw lda || absent='\<(topics|lda|svi|gibbs)\>'

cases=() left_out=0
[ $# -gt 0 ] || set -- "$here"/cases/*
for case in "$@"; do
    [ -f "$case" ] || case=$here/cases/$case
    if [ "$absent" ] && grep -qE "$absent" "$case"; then
        left_out=$((left_out + 1))
    else
        cases+=("$case")
    fi
done
printf '%s\0' "${cases[@]}" | xargs -0 -n 1 -P "$(nproc 2> /dev/null || echo 2)" bash -c 'run_case "$1"' run_case
[ "${UPDATE:-}" = 1 ] && exit
passed=0 failed=0
for case in "${cases[@]}"; do
    diff=$scratch/$(basename "$case")/diff
    if [ -f "$diff" ] && [ ! -s "$diff" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $(basename "$case")"
        [ ! -f "$diff" ] || sed 's/^/    /' "$diff"
    fi
done
[ $left_out -eq 0 ] || left=", $left_out left out"
echo "$passed passed, $failed failed${left:-}"
[ "$failed" -eq 0 ]
