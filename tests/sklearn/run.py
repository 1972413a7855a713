#!/usr/bin/env python3
"""run.py [all] [--update] [--why] [FILE ...]: runs the tests that scikit-learn installs on the estimators of Parley.

In each file, the classes that it imports from scikit-learn are replaced by Parley's of the same name. Every test must pass,
but for two lists of this folder, with one test per line, `file::name` or one case, `file::name[parameters]`:

exceptions.txt   tests that cannot apply, each with its reason after ` # `. They are not run, except with `all`, where at least
                 one case of each must fail. At most 120 lines.
pending.txt      tests that do not pass yet. One that passes is an error, so that the list stays true. --update rewrites the
                 lines of the files that are run.
long.txt         tests that pass and take long: they are run only with `all`.

--why prints why each test failed, and which took a processor more than a second.

Run it with the Python of an environment that has parley, scikit-learn and pytest, such as build/python/current."""
import ast
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_EXCEPTIONS = 120
SECONDS = 700  # for one file
FILES = [
    *(f"linear_model/tests/test_{name}.py" for name in ("base", "ridge", "logistic", "coordinate_descent")),
    *(f"linear_model/tests/test_{name}.py" for name in ("sparse_coordinate_descent", "huber", "quantile", "sgd")),
    "linear_model/_glm/tests/test_glm.py", "svm/tests/test_svm.py", "decomposition/tests/test_online_lda.py",
    "neural_network/tests/test_mlp.py",
]  # fmt: skip

# What a rewritten file begins with, before its first import: how it names the modules that it takes classes from.
SWAPPED = """
class Swapped:
    def __init__(self, module):
        self.__dict__["module"] = module

    def __getattr__(self, name):
        return getattr(parley if name in NAMES else self.module, name)
"""


def replaced_names():
    import parley
    from sklearn.base import BaseEstimator

    return sorted(name for name in parley.__all__ if issubclass(type(getattr(parley, name)), type)
                  and issubclass(getattr(parley, name), BaseEstimator))


def rewritten(text, names):
    """The source, with an import from parley after each one from scikit-learn, on the same line."""
    lines, modules = text.splitlines(keepends=True), ("linear_model", "svm", "decomposition", "neural_network")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("sklearn"):
            continue
        more = [f"from parley import {one.name} as {one.asname or one.name}" for one in node.names if one.name in names]
        more += [f"from swapped import {one.name}" for one in node.names if node.module == "sklearn" and one.name in modules]
        if more:
            line = lines[node.end_lineno - 1]
            lines[node.end_lineno - 1] = "; ".join([line[: node.end_col_offset], *more]) + line[node.end_col_offset :]
    return "".join(lines)


def write_tests(folder, names):
    root = pathlib.Path(importlib.util.find_spec("sklearn").origin).parent
    for path in FILES:
        (folder / pathlib.Path(path).name).write_text(rewritten((root / path).read_text(), names))
    swapped = ["import parley", "from sklearn import decomposition, linear_model, neural_network, svm", f"NAMES = {names!r}"]
    swapped += [SWAPPED, *(f"{one} = Swapped({one})" for one in ("decomposition", "linear_model", "neural_network", "svm"))]
    (folder / "swapped.py").write_text("\n".join(swapped))


def listed(name):
    """The tests of a list, with the reasons."""
    lines = (HERE / name).read_text().splitlines() if (HERE / name).exists() else []
    lines = [line for line in lines if line and not line.startswith("#")]
    tests = dict((line.split(" # ", 1) + [""])[:2] for line in lines)
    if len(tests) != len(lines):
        sys.exit(f"{name} names a test twice")
    return tests


def run_file(folder, file, left_out):
    """{test: (how it ended, why, seconds of a processor)}, and a sentence if the file did not end as it should."""
    ended = folder / f"{file}.ended"
    ended.touch()
    environment = {
        **os.environ, "PARLEY_LEFT_OUT": json.dumps(sorted(left_out)), "PARLEY_ENDED": str(ended),
        "PYTHONPATH": os.pathsep.join([str(HERE), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "sklearn.conftest", "-p", "plugin", "--tb=short", "--no-header"]
    words += ["--no-summary", "--rootdir", str(folder), str(folder / file)]
    try:
        run = subprocess.run([sys.executable, *words], cwd=folder, env=environment, timeout=SECONDS, capture_output=True, text=True)
        code, said = run.returncode, run.stdout[-2000:] + run.stderr[-2000:]
    except subprocess.TimeoutExpired:
        code, said = 0, f"{file} took longer than {SECONDS} s"
        return read(ended), said
    return read(ended), "" if code in (0, 1, 5) else f"{file}: pytest ended with {code}: {said}"


def read(ended):
    return {test: tuple(rest) for test, *rest in map(json.loads, ended.read_text().splitlines())}


def compared(ended, exceptions, pending, everything):
    """What is wrong, one sentence each."""
    wrong, failed = [], {test for test, (how, *_) in ended.items() if how == "failed"}
    excused = {test for test in failed if {test, test.partition("[")[0]} & exceptions.keys()}
    for test in sorted(failed - excused - pending.keys()):
        wrong.append(f"FAILED {test}: {ended[test][1]}")
    for test in sorted(test for test in pending if test in ended and test not in failed):
        wrong.append(f"PASSES {test}: take it out of pending.txt")
    if everything:
        seen = {name for test in failed for name in (test, test.partition("[")[0])}
        wrong += [f"PASSES {test}: take it out of exceptions.txt" for test in sorted(exceptions.keys() - seen)]
    return wrong


def checked_lists(files):
    exceptions, pending, long = map(listed, ("exceptions.txt", "pending.txt", "long.txt"))
    if len(exceptions) > MOST_EXCEPTIONS:
        sys.exit(f"exceptions.txt has {len(exceptions)} lines; at most {MOST_EXCEPTIONS} tests may be left out")
    bare = [test for test, reason in exceptions.items() if not reason]
    if bare:
        sys.exit(f"exceptions.txt: no reason for {bare[0]}")
    for tests in (exceptions, pending, long):
        for test in [test for test in tests if test.partition("::")[0] not in files]:
            del tests[test]
    return exceptions, pending, long


def update(ended, files, exceptions):
    """Rewrites the lines of pending.txt that belong to the files."""
    kept = [test for test in listed("pending.txt") if test.partition("::")[0] not in files]
    failed = [test for test, (how, *_) in ended.items() if how == "failed"]
    failed = [test for test in failed if not {test, test.partition("[")[0]} & exceptions.keys()]
    order = [pathlib.Path(path).name for path in FILES]
    tests = sorted(kept + failed, key=lambda test: (order.index(test.partition("::")[0]), test))
    (HERE / "pending.txt").write_text("".join(f"{test}\n" for test in tests))


def main(words):
    everything, updates, tells = (word in words for word in ("all", "--update", "--why"))
    known = [pathlib.Path(path).name for path in FILES]
    files = [one for one in words if one not in ("all", "--update", "--why")] or known
    files = [one if one.endswith(".py") else f"test_{one}.py" for one in files]
    if set(files) - set(known):
        sys.exit(f"unknown: {sorted(set(files) - set(known))}; the files are {known}")
    exceptions, pending, long = checked_lists(files)
    left_out = set() if everything else {*exceptions, *long}
    wrong, ended = [], {}
    with tempfile.TemporaryDirectory(prefix="parley-sklearn-") as name:
        folder = pathlib.Path(name)
        write_tests(folder, replaced_names())
        for file in files:
            found, sentence = run_file(folder, file, left_out)
            counts = collections.Counter(how for how, *_ in found.values())
            numbers = [counts["passed"], counts["failed"], counts["skipped"]]
            print(f"{file:<35} {numbers[0]:5} passed, {numbers[1]:4} failed, {numbers[2]:3} skipped", flush=True)
            ended.update(found)
            wrong += [sentence] if sentence else []
    if updates:
        update(ended, files, exceptions)
        pending = {test: "" for test in listed("pending.txt") if test.partition("::")[0] in files}
    if tells:
        print("\n".join(f"{test}: {why}" for test, (how, why, _) in sorted(ended.items()) if how == "failed"))
        slow = sorted(((seconds, test) for test, (*_, seconds) in ended.items() if seconds > 1), reverse=True)
        print("\n".join(f"{seconds:5.1f} s {test}" for seconds, test in slow))
    wrong += compared(ended, exceptions, pending, everything)
    print("\n".join(wrong))
    passed = sum(how == "passed" for how, *_ in ended.values())
    print(f"{passed} passed, {len(pending)} pending, {len(exceptions)} lines of exceptions, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
