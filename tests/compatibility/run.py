#!/usr/bin/env python3
"""run.py PARLEY [VERSION]: reads the files of every release, or of one: caches convert, models predict, logs report and
replay, and checkpoints resume to the same models as on the day of the release."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cases import CASES, LATER

HERE = pathlib.Path(__file__).resolve().parent


def run(parley, command, folder):
    return subprocess.run([parley, *command.split()], cwd=folder, capture_output=True, text=True, timeout=120)


def numbers(texts):
    return [float(text) for text in texts]


def weights(text):
    """What `dump` says of a model: as JSON, or as 0.1.0 printed it, separated by tabs and with all digits."""
    if text.startswith("{"):
        model = json.loads(text)
        rows = [("(intercept)", model["intercept"])] + [(row["name"], row["weight"]) for row in model["weights"]]
        rows = [(name, weight if isinstance(weight, list) else [weight]) for name, weight in rows]
        return model.get("labels", []), rows
    lines = [line.split("\t") for line in text.splitlines()]
    labels = lines.pop(0)[1:] if lines[0][0] == "(labels)" else []
    return labels, [(name, numbers(values)) for name, *values in lines]


def check_case(parley, folder, case, commands):
    for command in commands:
        done = run(parley, command, folder)
        if done.returncode != 0:
            return f"{command}: {done.stderr}"
    expected = (folder / f"{case}.expected").read_text()
    same = weights if commands[-1].startswith("dump") else str
    return "" if same(done.stdout) == same(expected) else f"{commands[-1]} printed\n{done.stdout[:500]}\ninstead of\n{expected[:500]}"


def check_later(parley, folder, name, now, command, later):
    path = folder / name
    content = path.read_bytes()
    if content.count(now.encode()) != 1:
        return f"{name} does not have the format {now} once"
    path.write_bytes(content.replace(now.encode(), later.encode()))
    done = run(parley, command, folder)
    path.write_bytes(content)
    refused = done.returncode == 1 and done.stderr.startswith(f"parley: {name}: ")
    return "" if refused else f"{command} of {later}: exit code {done.returncode}: {done.stderr}"


def main():
    parley = str(pathlib.Path(sys.argv[1]).resolve())
    versions = sys.argv[2:] or sorted(path.name for path in HERE.iterdir() if path.name[0].isdigit())
    passed, failures = 0, []
    for version in versions:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / version
            shutil.copytree(HERE / version, folder)
            found = [(case, check_case(parley, folder, case, commands)) for case, commands in CASES.items()]
            found += [(one[3], check_later(parley, folder, *one)) for one in LATER]
        passed += sum(not why for _, why in found)
        failures += [f"{version} {case}: {why}" for case, why in found if why]
    for failure in failures:
        print(failure)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
