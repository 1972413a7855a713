"""The example program runs and prints what it should."""
import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "spark_reviews.py"
CONF = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}


def test_example(tmp_path):
    words = " ".join(f"--conf {name}={value}" for name, value in CONF.items())
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--master local[2] {words} pyspark-shell", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    gap = re.search(r"gap (\S+) after \d+ rounds", done.stdout)
    assert gap and float(gap.group(1)) <= 1e-6
    assert "best regParam 0.001" in done.stdout and "400 of 400 right, 1 rank(s)" in done.stdout
