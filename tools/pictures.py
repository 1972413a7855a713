#!/usr/bin/env python3
"""pictures.py [PAGE]: makes the pictures of the README in docs/images from the page that `make demo` wrote, with
Chromium (tools/deps.sh check installs it). Look at them before you commit them."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=4000""".split()
SIZE = "1100,1440"  # of the window, in pixels: the verdicts, the comparison and the convergence
MOST = 300_000  # bytes of all pictures together


def main():
    page = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/demo/report.html").resolve()
    if not page.exists():
        sys.exit(f"pictures: there is no {page}; `make demo` writes it")
    folder = ROOT / "docs/images"
    folder.mkdir(exist_ok=True)
    picture = folder / "report.png"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = ["chromium", *FLAGS, f"--user-data-dir={profile}", f"--window-size={SIZE}", f"--screenshot={picture}"]
        done = subprocess.run([*words, page.as_uri()], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or not picture.exists():
        sys.exit(f"pictures: chromium failed: {done.stderr[-400:]}")
    total = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes, {total} in all")
    if total > MOST:
        sys.exit(f"pictures: they may have {MOST} bytes in all")


if __name__ == "__main__":
    main()
