#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md: includes between layers, printing, allocation, compiler extensions, the length of
functions and files, and links of the documentation. Prints every fault as file:line and exits with 1 if there are any."""
import pathlib
import re
import sys

from slots import lone_slots

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder may include itself, the folders inside it and every folder of a lower level; folders of one level may not
# include each other. The name of a folder below a wing stands for that folder, any other one of a wing for the wing.
LEVELS = {
    "base": 0,
    "math": 1,
    "data": 2,
    "engine": 2,
    "trace": 2,
    "shard": 3,
    "method": 4,
    "linear": 5,
    "topics": 5,
    "network": 5,
    "train": 6,
    "linear/stream": 7,  # commands of the wing, which drive training and which nothing else in it includes
    "linear/path": 7,
    "advise": 8,
    "cli": 9,
    "members.c": 10,
}
WINGS = ("linear", "topics", "network")

# Patterns that src/ may not use, the reason, and the files that may use them.
BANNED = [
    (
        r"(?<![\w.>])(printf|vprintf|puts|putchar|perror)\s*\(|\bf(?:printf|puts|putc|write)\s*\([^;]*\bstd(?:out|err)\b",
        "prints; only cli/ does",
        [],
    ),
    (
        r"\bstd(?:out|err)\b",
        "names a standard stream; only cli/ does",
        ["src/trace/log.c"],  # `--log -`
    ),
    (r"(?<![\w.>])(_?exit|abort|quick_exit)\s*\(", "ends the process; a library returns a status", []),
    (r"\bgetenv\s*\(", "reads the environment; every setting is a row of the table", ["src/engine/launched.c"]),
    (
        r"(?<![\w.>])(malloc|calloc|realloc|free|strdup|strndup|aligned_alloc)\s*\(",
        "allocates past base/memory.h",
        ["src/base/memory.c"],
    ),
    (
        r"__builtin_|__attribute__|__asm|__typeof",
        "uses a compiler extension; only src/base, src/math and kernels do",
        ["src/base/", "src/math/", "src/topics/topic_kernel", "src/topics/topic_sampler", "src/network/net_kernel"],
    ),
]

# Interfaces whose width docs/architecture.md gives: header, struct.
INTERFACES = [
    ("src/method/problem.h", "pl_problem_type"),
    ("src/method/problem.h", "pl_problem_rules"),
    ("src/method/model.h", "pl_model_type"),
    ("src/method/local.h", "pl_local_type"),
    ("src/method/local.h", "pl_local_restart"),
    ("src/method/local.h", "pl_local_async"),
    ("src/method/combine.h", "pl_combine_type"),
    ("src/method/combine.h", "pl_combine_trial"),
    ("src/method/combine.h", "pl_combine_dialogue"),
    ("src/method/exchange.h", "pl_exchange_type"),
    ("src/method/exchange.h", "pl_exchange_async"),
    ("src/engine/engine.h", "pl_engine_type"),
    ("src/train/run.h", "pl_run"),
]

SOURCES = (".c", ".h", ".py", ".js", ".mjs", ".sh", ".md")

MOST_LONE_SLOTS = 14
MOST_LINES = {"function": (60, 100), "file": (600, 700)}

faults = []
long_ones = []


def fault(path, line, text):
    faults.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def without_comments(text):
    """Removes comments and strings but keeps the line numbers."""

    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] * 2
        return "\n" * found.count("\n")

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def folder_of(path):
    """The key of LEVELS for a file below src/, or for a name as it is included."""
    names = [path] + [path[: match.start()] for match in re.finditer("/", path)]
    return max((name for name in names if name in LEVELS), key=len, default=None)


def check_includes(path, text):
    parts = path.relative_to(ROOT).parts
    mine = folder_of("/".join(parts[1:])) if parts[0] == "src" else parts[0]
    if mine is None:
        fault(path, 1, "is in no layer")
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^">]+)[">]', line)
        if not match:
            continue
        name = match.group(2)
        if name == "mpi.h" and path.relative_to(ROOT).as_posix() != "src/engine/mpi_calls.c":
            fault(path, number, "includes <mpi.h>; only src/engine/mpi_calls.c does")
        if match.group(1) == "<" or name == "parley.h":
            continue
        theirs = folder_of(name) if "/" in name else mine
        if theirs is None:
            fault(path, number, f"includes {name}, which is in no layer")
        elif theirs != mine and LEVELS[theirs] >= LEVELS[mine]:
            fault(path, number, f"{mine} includes {name}; dependencies point down")
        elif theirs.split("/")[0] in WINGS and mine.split("/")[0] != theirs.split("/")[0] and mine not in ("cli", "members.c"):
            fault(path, number, f"{mine} includes {name}; only its wing, the command line and members.c know a wing")


def check_words(path, text):
    name = path.relative_to(ROOT).as_posix()
    for pattern, why, allowed in BANNED:
        if any(name.startswith(prefix) for prefix in allowed):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(pattern, line):
                fault(path, number, why)


def too_long(path, line, what, kind, lines):
    listed, most = MOST_LINES[kind]
    if lines > most:
        fault(path, line, f"{what} has {lines} lines; the most is {most}")
    elif lines > listed:
        long_ones.append(f"{path.relative_to(ROOT)}:{line}: {what} has {lines} lines")


def check_lengths(path, text):
    lines = text.split("\n")
    too_long(path, 1, "the file", "file", len(lines) - 1)
    start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z_]", line) and not line.startswith(("typedef", "struct", "enum", "union", "extern")):
            start = number
        if line == "}" and start:
            head = " ".join(lines[start - 1 : number]).split("{")[0]
            name = re.search(r"(\w+)\s*\(", head)
            if name and "=" not in head:
                too_long(path, start, name.group(1), "function", number - start + 1)
            start = None


def width_of(text, struct):
    """(functions, flags, members) of a struct."""
    body = re.search(r"struct %s \{(.*?)\n\}" % struct, text, flags=re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    statements = [one.strip() for one in body.split(";") if one.strip()]
    functions = sum("(*" in one for one in statements)
    flags = sum(len(one.split(",")) for one in statements if one.startswith("bool ") and "(" not in one)
    return functions, flags, sum(1 if "(*" in one else len(one.split(",")) for one in statements)


def check_widths():
    """The table of interfaces in the documentation is true."""
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text()
    for header, struct in INTERFACES:
        functions, flags, members = width_of((ROOT / header).read_text(), struct)
        now = f"{members} members" if struct == "pl_run" else f"{functions} + {flags}"
        row = re.search(r"^\| `%s` \|.*$" % struct, text, flags=re.M)
        if not row or row.group(0).split("|")[2].strip() != now:
            fault(page, 1, f"the table of interfaces must say {now} for {struct}")


def check_members():
    """The table of parts in the documentation names every member of the registry."""
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text()
    registry = (ROOT / "src" / "members.c").read_text()
    for kind in ("problem", "local", "combine", "exchange", "engine"):
        row = re.search(r"^\| %s \|.*$" % {"local": "local solver"}.get(kind, kind), text, flags=re.M)
        for name in sorted(set(re.findall(r"&pl_%s_(\w+)" % kind, registry))):
            if not row or f"`{name}`" not in row.group(0):
                fault(page, 1, f"the table of parts does not name {kind} {name}")


def headings(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_links():
    """Links between pages lead to a file and a heading that exist; pages name files and code names pages that exist."""
    pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").glob("*.md")])
    for page in pages:
        for number, line in enumerate(page.read_text().split("\n"), 1):
            for link in re.findall(r"\]\(([^)\s]+)\)", line):
                if re.match(r"\w+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = page.parent / name if name else page
                if not target.exists():
                    fault(page, number, f"links to {link}, which does not exist")
                elif anchor and anchor not in headings(target):
                    fault(page, number, f"links to {link}, but {target.name} has no such heading")
            for name in re.findall(r"`((?:src|cli|tests|tools|report|include|examples|bench)/[\w./*-]+)", line):
                if "NAME" not in name and not any(ROOT.glob(name.rstrip("/."))):
                    fault(page, number, f"names {name}, which does not exist")
    folders = ("src", "cli", "include", "python", "tests", "tools", "report", "bench", "examples")
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES):
        for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
            for name in re.findall(r"\bdocs/[\w-]+\.md", line):
                if not (ROOT / name).exists():
                    fault(path, number, f"names {name}, which does not exist")
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        if page.name != "README.md" and f"]({page.name})" not in index:
            fault(page, 1, "is not in the list of pages, docs/README.md")


def level_of(path):
    """The level of a file of src/ or cli/; None for others."""
    parts = path.split("/")
    folder = parts[0] if parts[0] == "cli" else folder_of("/".join(parts[1:])) if parts[0] == "src" else None
    return LEVELS.get(folder)


def check_walks():
    """Every step of the walks names functions of its file, and a walk turns from up to down, or back, only once."""
    page = ROOT / "docs" / "architecture.md"
    levels = []
    for number, line in enumerate(page.read_text().split("\n"), 1):
        row = re.match(r"\| (\d+) \| (`\w+`(?:, `\w+`)*) \| `(\S+)` \|", line)
        if not row:
            continue
        step, functions, name = row.groups()
        text = (ROOT / name).read_text() if (ROOT / name).exists() else ""
        for function in re.findall(r"\w+", functions):
            if not re.search(r"\b%s\b" % function, text):
                fault(page, number, f"{function} is not in {name}")
        levels = [] if step == "1" else levels
        levels += [level_of(name)] if level_of(name) is not None else []
        ups = [b > a for a, b in zip(levels, levels[1:]) if a != b]
        if sum(a != b for a, b in zip(ups, ups[1:])) > 1:
            fault(page, number, "the walk turns back a second time")


def check_slots():
    """The table of functions that one member implements is true, and short."""
    page = ROOT / "docs" / "architecture.md"
    section = page.read_text().partition("Slots with one implementer\n")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `([\w.]+)` \| `(\w+)` \| [^|]+ \|$", section, flags=re.M))
    lone = lone_slots()
    if len(lone) > MOST_LONE_SLOTS:
        fault(page, 1, f"{len(lone)} slots have one implementer; the most is {MOST_LONE_SLOTS}")
    for slot, member in lone.items():
        if listed.pop(slot, None) != member:
            fault(page, 1, f"the table of slots must give `{member}` and a reason for {slot}")
    for slot in listed:
        fault(page, 1, f"the table of slots lists {slot}, which has more than one implementer or is gone")


def check_names(paths):
    """File names must be unique in the tree, so that a name identifies a file."""
    seen = {}
    for path in paths:
        if path.name in seen:
            fault(path, 1, f"has the same name as {seen[path.name].relative_to(ROOT)}")
        seen[path.name] = path


def main():
    headers_and_sources = [
        path for folder in ("include", "src", "cli", "tests", "examples", "bench") for path in sorted((ROOT / folder).rglob("*.[ch]"))
    ]
    for path in headers_and_sources:
        raw = path.read_text()
        text = without_comments(raw)
        kind = path.relative_to(ROOT).parts[0]
        check_lengths(path, raw)
        if kind in ("src", "cli"):
            check_includes(path, re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), raw, flags=re.S))
        if kind == "src":
            check_words(path, text)
        for number, line in enumerate(raw.split("\n"), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                fault(path, number, "an unfinished note; finish or remove it")
    check_names(headers_and_sources)
    check_widths()
    check_members()
    check_slots()
    check_links()
    check_walks()
    for line in long_ones:
        print(f"long: {line}")
    for line in faults:
        print(line)
    print(f"{len(headers_and_sources)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
