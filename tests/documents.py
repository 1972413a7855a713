#!/usr/bin/env python3
"""documents.py PARLEY: the pages of docs/ that `parley document` makes, or parts of, are what it prints."""
import pathlib
import subprocess
import sys

PAGES = {"settings": "settings.md", "auto": "auto.md"}
DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"

stale = 0
for form, page in PAGES.items():
    made = subprocess.run([sys.argv[1], "document", form], capture_output=True, text=True, check=True).stdout
    if made not in (DOCS / page).read_text():
        print(f"docs/{page} is not what `parley document {form}` prints")
        stale += 1
print(f"{len(PAGES) - stale} passed, {stale} failed")
sys.exit(stale > 0)
