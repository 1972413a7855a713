#!/usr/bin/env bash
# run.sh [all]: the tests of parley.spark with the wheel that tests/python/run.sh or tools/wheel.sh has built, and the current
# PySpark on local[2]. With `all`, also PySpark 3.5, local-cluster, a standalone cluster on loopback, and 30 killed processes.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
folder=$root/build/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 SPARK_LOCAL_IP=127.0.0.1
if ! command -v java > /dev/null; then
    echo "0 passed: skipped, because there is no java; tools/deps.sh spark installs it"
    exit 0
fi
if [ "${1:-}" = all ] || ! ls build/dist/parley-*.whl > /dev/null 2>&1; then tools/wheel.sh build/dist; fi
wheel=$(ls build/dist/parley-*.whl)
mkdir -p "$folder/empty"

# Environment NAME with the wheel and the packages given, made anew when its packages are others than last time.
environment() {
    local name=$1 made=$folder/$1.made
    shift
    if [ ! -e "$made" ] || [ "$(cat "$made")" != "$*" ]; then
        rm -rf "${folder:?}/$name"
        python3 -m venv "$folder/$name"
        "$folder/$name/bin/pip" install -q "$@"
        echo "$*" > "$made"
    fi
    "$folder/$name/bin/pip" install -q --no-compile --force-reinstall --no-deps "$root/$wheel"
    "$folder/$name/bin/pip" install -q --no-compile "$root/$wheel"
}

# tests NAME MASTER FILES...: pytest in an environment, from a folder without sources.
tests() {
    local name=$1 master=$2
    shift 2
    (cd "$folder/empty" && env -u PARLEY_PROGRAM SPARK_TEST_MASTER="$master" "$folder/$name/bin/python" -m pytest -q \
        -p no:cacheprovider -W "ignore::FutureWarning" --rootdir "$root/tests/spark" "${@/#/$root/tests/spark/}")
}

environment spark4 "pyspark==4.*" "pandas<3" pyarrow pytest
if [ "${1:-}" != all ]; then
    tests spark4 "local[2]" test_agreement.py test_use.py test_topics.py test_faults.py test_example.py
    exit 0
fi
export SPARK_TEST_ALL=1
environment spark35 "pyspark==3.5.*" "numpy<2" "pandas<2.3" "pyarrow<20" setuptools pytest
for name in spark4 spark35; do
    tests $name "local[2]" test_agreement.py test_use.py test_topics.py test_example.py
    SPARK_TEST_ALL=0 tests $name "local-cluster[2,1,512]" test_agreement.py test_use.py test_topics.py
    SPARK_TEST_ALL=0 tests $name standalone test_agreement.py test_use.py
done
tests spark4 "local-cluster[2,1,512]" test_faults.py
SPARK_TEST_FAULTS=6 tests spark35 "local[2]" test_faults.py
