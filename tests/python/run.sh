#!/usr/bin/env bash
# run.sh: builds the wheel, installs it into an empty environment where no compiler is to be found, and runs the tests of
# python/tests there with the current scikit-learn, and beside it scikit-learn's checks with 1.4, the oldest that is served.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
folder=$root/build/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
tools/wheel.sh build/dist
wheel=$(ls build/dist/parley-*.whl)
mkdir -p "$folder/empty"

. tests/python/environment.sh

tests() { # NAME FILES...: pytest in an environment, from a folder without sources
    local name=$1
    shift
    (cd "$folder/empty" && "$folder/$name/bin/pytest" -q -p no:cacheprovider --rootdir "$root/python/tests" "${@/#/$root/python/tests/}")
}

environment wheel
(cd "$folder/empty" && PATH=$folder/wheel/bin python - << 'PYTHON')
import shutil, sys
import parley
assert not any(map(shutil.which, ("cc", "gcc", "clang", "cmake"))), "there is a compiler"
model = parley.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
assert list(model.predict([[0.0], [3.0]])) == [0, 1]
maps = open("/proc/self/maps").read()
for library in ("libparley", "libjansson", "libzstd"):
    places = {line.split()[-1] for line in maps.splitlines() if library in line}
    assert places and all(place.startswith(sys.prefix) for place in places), f"{library} is that of the system: {places}"
PYTHON
PATH=$folder/wheel/bin parley --version | grep -q "^parley"
echo "the wheel runs in an empty environment"

environment old "scikit-learn==1.4.*" "numpy<2" pandas pytest
tests old test_checks.py > "$folder/old.log" 2>&1 &
old=$!
environment current scikit-learn pandas pytest tqdm ruff pyarrow onnx onnxruntime statsmodels gensim vega_datasets palmerpenguins
"$folder/current/bin/ruff" check -q python
"$folder/current/bin/ruff" format -q --check python
code=0
tests current . || code=$?
wait $old || code=$?
cat "$folder/old.log"
exit $code
