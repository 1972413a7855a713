#!/usr/bin/env python3
"""Finds the functions in the interfaces of members that only one member implements, or none, and prints them. The check
of layers.py compares them with the table in docs/architecture.md."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("problem.h", "model.h", "local.h", "combine.h", "exchange.h")  # in src/method
TABLE = re.compile(r"const (pl_\w+) (\w+) = \{(.*?)\};", re.S)


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def interfaces():
    """{struct: the names of its functions, in order}"""
    found = {}
    for header in HEADERS:
        text = without_comments(ROOT / "src" / "method" / header)
        for name, body in re.findall(r"struct (pl_\w+) \{(.*?)\n\}", text, flags=re.S):
            found[name] = re.findall(r"\(\*(\w+)\)\(", body)
    return found


def lone_slots():
    """{"struct.function": the name of the one file that fills it in, or "none"}, of structs that files fill in as constant
    tables. An initialiser without names fills in every function."""
    slots = interfaces()
    filled = {}
    for path in sorted((ROOT / "src").rglob("*.c")) + sorted((ROOT / "cli").rglob("*.c")):
        for struct, table, body in TABLE.findall(without_comments(path)):
            if struct not in slots:
                continue
            named = set(re.findall(r"\.(\w+) = (?!NULL)", body))
            for slot in slots[struct]:
                members = filled.setdefault(f"{struct}.{slot}", set())
                if slot in named or not named:
                    members.add((path.stem, table))
    return {slot: "".join(stem for stem, _ in who) or "none" for slot, who in sorted(filled.items()) if len(who) < 2}


if __name__ == "__main__":
    for slot, member in lone_slots().items():
        print(f"slots: {slot}: {member}")
    sys.exit(0)
