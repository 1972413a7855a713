#!/usr/bin/env bash
# run.sh PARLEY [CASE ...]: runs the command line and compares standard output, standard error and exit code, exactly.
#
# A case is a file cases/NAME: bash commands in a fresh folder with the files of data/, then what they must give:
#   --- exit 0
#   --- stdout
#   ...
#   --- stderr
#   ...
# Times and amounts of memory are masked as <time> and <size>. UPDATE=1 writes what came out into the case.
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

# Prints what the case in $1 gives, in the form of its expectation.
perform() {
    local folder=$scratch/run code
    rm -rf "$folder"
    cp -r "$here/data" "$folder"
    sed '/^--- exit/,$d' "$1" > "$scratch/commands"
    (cd "$folder" && timeout 120 bash "$scratch/commands" > "$scratch/stdout" 2> "$scratch/stderr" < /dev/null)
    code=$?
    echo "--- exit $code"
    echo "--- stdout"
    mask "$scratch/stdout"
    echo "--- stderr"
    mask "$scratch/stderr"
}

passed=0 failed=0
[ $# -gt 0 ] || set -- "$here"/cases/*
for case in "$@"; do
    [ -f "$case" ] || case=$here/cases/$case
    perform "$case" > "$scratch/actual"
    sed -n '/^--- exit/,$p' "$case" > "$scratch/expected"
    if [ "${UPDATE:-}" = 1 ]; then
        cat "$scratch/commands" "$scratch/actual" > "$scratch/case" && cp "$scratch/case" "$case"
    elif diff -u "$scratch/expected" "$scratch/actual" > "$scratch/diff"; then
        passed=$((passed + 1))
        continue
    else
        failed=$((failed + 1))
        echo "FAILED $(basename "$case")"
        sed 's/^/    /' "$scratch/diff"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
