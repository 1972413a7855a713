"""The examples of a page of docs/: indented lines, of which those that begin with `$ ` are commands and the others what
they print. `$ cat FILE` shows a file that the example begins with."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def example(page, heading):
    """Files and commands of the first example under a heading: {name: text}, [(command, output), ...]. The output is
    empty if the page does not show it."""
    section = (DOCS / page).read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1]
    lines = re.match(r"(?:(?!    ).*\n)*((?:    .*\n)+)", section)[1].splitlines()
    files, commands = {}, []
    for line in (line[4:] for line in lines):
        if line.startswith("$ "):
            commands.append([line[2:], ""])
        else:
            commands[-1][1] += line + "\n"
    while commands and commands[0][0].startswith("cat "):
        command, text = commands.pop(0)
        files[command.split()[1]] = text
    return files, commands
