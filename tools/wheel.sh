#!/usr/bin/env bash
# wheel.sh FOLDER: builds the wheel of the Python package in FOLDER, including libraries that not every Linux has.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?usage: $0 FOLDER}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PATH=$PWD/build/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1

python -m pip wheel -q --no-deps --no-build-isolation -w "$scratch" .
mkdir -p "$folder"
rm -f "$folder"/parley-*.whl
auditwheel -v repair -w "$folder" "$scratch"/parley-*.whl > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
ls "$folder"/parley-*.whl
