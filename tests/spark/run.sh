#!/usr/bin/env bash
# run.sh [PIECE ...|all]: the tests of parley.spark with the wheel that tests/python/run.sh or tools/wheel.sh has built. Without a
# piece, the short tests with the current PySpark on local[2]. With `all`, every piece with a new wheel: spark4 and spark35 (the
# whole matrix on local[2]), each with -cluster (two executors of local-cluster) and -standalone (a cluster on loopback), and
# faults4 and faults35 (30 killed processes, and 6).
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
folder=$root/build/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 SPARK_LOCAL_IP=127.0.0.1
if ! command -v java > /dev/null; then
    echo "0 passed: skipped, because there is no java; tools/deps.sh spark installs it"
    exit 0
fi
pieces=${*:-short}
if [ "$pieces" = all ]; then
    rm -f build/dist/parley-*.whl
    pieces="spark4 spark35 spark4-cluster spark35-cluster spark4-standalone spark35-standalone faults4 faults35"
fi
if ! ls build/dist/parley-*.whl > /dev/null 2>&1; then tools/wheel.sh build/dist; fi
wheel=$(ls build/dist/parley-*.whl)
mkdir -p "$folder/empty"

. tests/python/environment.sh

# tests NAME MASTER FILES...: pytest in an environment, from a folder without sources.
tests() {
    local name=$1 master=$2
    shift 2
    (cd "$folder/empty" && env -u PARLEY_PROGRAM SPARK_TEST_MASTER="$master" "$folder/$name/bin/python" -m pytest -q ${SPARK_TEST_FLAGS:-} \
        -p no:cacheprovider -W "ignore::FutureWarning" --rootdir "$root/tests/spark" "${@/#/$root/tests/spark/}")
}

# The environment of PySpark 4 or 3.5, once.
ready() {
    [ -z "${made[$1]:-}" ] || return 0
    case $1 in
    4) environment spark4 "pyspark[connect]==4.*" "pandas<3" pyarrow pytest ;;
    35) environment spark35 "pyspark==3.5.*" "numpy<2" "pandas<2.3" "pyarrow<20" setuptools pytest ;;
    esac
    made[$1]=1
}

# Each of two executors has one core and its own rank.
cluster="local-cluster[2,1,1024]"
declare -A made
for piece in $pieces; do
    version=4
    [[ $piece != *35* ]] || version=35
    ready $version
    echo "$piece:"
    case $piece in
    short) tests spark4 "local[2]" test_agreement.py test_use.py test_topics.py test_faults.py test_example.py ;;
    spark4 | spark35)
        SPARK_TEST_ALL=1 tests spark$version "local[2]" test_agreement.py test_use.py test_topics.py test_example.py
        ;;
    spark*-cluster) tests spark$version "$cluster" test_agreement.py test_use.py test_topics.py ;;
    spark*-standalone) tests spark$version standalone test_agreement.py test_use.py ;;
    faults4) SPARK_TEST_FAULTS=30 tests spark4 "$cluster" test_faults.py ;;
    faults35) SPARK_TEST_FAULTS=6 tests spark35 "$cluster" test_faults.py ;;
    *)
        echo "run.sh: there is no piece $piece" >&2
        exit 2
        ;;
    esac
done
