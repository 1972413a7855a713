#!/usr/bin/env python3
"""generate.py PARLEY: writes the files of the release that PARLEY is to tests/compatibility/VERSION, and what its commands
print from them. It is run once for each release; the files are then never changed."""
import pathlib
import subprocess
import sys

from cases import CASES, FILES, TEXTS


def run(parley, command, folder):
    return subprocess.run([parley, *command.split()], cwd=folder, capture_output=True, text=True, check=True).stdout


def main():
    parley = str(pathlib.Path(sys.argv[1]).resolve())
    version = subprocess.run([parley, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = pathlib.Path(__file__).resolve().parent / version
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for command in FILES:
        run(parley, command, folder)
    for case, commands in CASES.items():
        for command in commands:
            printed = run(parley, command, folder)
        (folder / f"{case}.expected").write_text(printed)
    for name in ("out.csv", "out.safetensors"):
        (folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
