"""The code in the documentation runs and prints the documented output."""

import doctest
import re
import runpy
from pathlib import Path

import pytest
from conftest import LINEAR

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/python.md", "docs/tour.md", "docs/tables.md"]


def blocks(page):
    """The Python blocks of a page, each with the number of its first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, found.start(1)), found[1]


@pytest.mark.parametrize("page", PAGES)
def test_code_on_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, count = {"__name__": "page"}, 0
    for line, code in blocks(page):
        count += 1
        if "parley.spark" in code:
            continue  # tests/spark runs an example of this
        if ">>>" not in code:
            exec(compile("\n" * line + code, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, f"{page}:{line + 1}", page, line)
        runner, told = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
        assert runner.run(test, out=told.append, clear_globs=False).failed == 0, "".join(told)
        names.update(test.globs)
    assert count > 0


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    assert capsys.readouterr().out


def test_every_refused_parameter_is_on_the_page():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("Refused with", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    told = {(p, e) for row in rows for p in re.findall(r"`(\w+)`", row[0]) for e in re.findall(r"`(\w+)`", row[1])}
    assert told == {(parameter, name) for name, kind in LINEAR.items() for parameter in kind._only}
