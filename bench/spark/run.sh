#!/usr/bin/env bash
# run.sh [--quick] [TABLE ...]: parley.spark against spark.ml, with the wheel and the current PySpark in build/python/spark4.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 SPARK_LOCAL_IP=127.0.0.1
tools/wheel.sh build/dist
[ -x build/python/spark4/bin/python ] || { python3 -m venv build/python/spark4; }
build/python/spark4/bin/pip install -q "pyspark==4.*" "pandas<3" pyarrow scipy
build/python/spark4/bin/pip install -q --force-reinstall --no-deps build/dist/parley-*.whl
build/python/spark4/bin/pip install -q build/dist/parley-*.whl
exec build/python/spark4/bin/python bench/spark/run.py "$@"
