"""Pages about runs and plots of their logs. What is in a page is tested in tests/report."""

import html
import json
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import parley
import pytest
from parley._library import ffi, lib

DATA = '<script type="application/json" id="data">'


def has_page(tmp_path):
    """Whether the library was built with the page."""
    error = ffi.new("parley_error *")
    lib.parley_report_page([ffi.new("char[]", b"nothing.jsonl")], 1, b"nothing.html", error)
    return "built without its page" not in ffi.string(error.sentence).decode()


@pytest.fixture(autouse=True)
def page(tmp_path):
    if not has_page(tmp_path):
        pytest.skip("the library was built without the page, which needs Node.js")


@pytest.fixture
def rows():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 5))
    return X, np.where(X @ [1, -2, 3, 0, 1] + draw.normal(size=300) > 0, 1, -1)


def runs(report):
    text = report.html
    begin = text.index(DATA) + len(DATA)
    return json.loads(text[begin : text.index("</script>", begin)])["runs"]


def test_a_log_becomes_a_page(rows, tmp_path):
    log = tmp_path / "run.jsonl"
    model = parley.train(*rows, log=str(log), workers=2)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (run,) = runs(parley.report(log))
    assert run["count"] == len(lines) - 2 and run["parts"][0]["stop"] == lines[-1]
    assert runs(model.report_())[0]["workers"]["members"] == 2
    assert [run["name"] for run in runs(parley.report(log, str(log)))] == [str(log)] * 2


def test_a_notebook_shows_it_in_a_frame(rows, tmp_path):
    report = parley.train(*rows).report_()
    shown = report._repr_html_()
    (page,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert html.unescape(page) == report.html and 'sandbox="allow-scripts"' in shown
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report.html


def test_models_and_estimators_report_what_they_keep(rows):
    model = parley.train(*rows)
    estimator = parley.LogisticRegression(C=0.1).fit(*rows)
    for fitted, table in ((model, model.run), (estimator, estimator.run_)):
        (run,) = runs(fitted.report_())
        assert run["count"] == np.sum(table["round"] > 0)
        assert run["verdict"][0]["text"].startswith("Converged; ")
        assert run["parts"][0]["start"]["rows"] == 300
    again = pickle.loads(pickle.dumps(estimator))
    assert runs(again.report_())[0]["count"] == runs(estimator.report_())[0]["count"]
    topics = parley.LatentDirichletAllocation(n_components=2, max_iter=3, random_state=0)
    counts = np.random.default_rng(1).poisson(1.0, size=(60, 30))
    assert runs(topics.fit(counts).report_())[0]["parts"][0]["start"]["problem"] == "lda"


def test_what_cannot_be_reported(rows, tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot open the log"):
        parley.report(tmp_path / "missing.jsonl")
    (tmp_path / "other.txt").write_text("hello\n")
    with pytest.raises(ValueError, match="not a Parley log"):
        parley.report(tmp_path / "other.txt")
    with pytest.raises(ValueError, match="at least one log"):
        parley.report()
    model = parley.train(*rows)
    parley.save(model, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="nothing is known of the rounds"):
        parley.load(tmp_path / "model.safetensors").report_()


def test_plots_have_the_logs_numbers(rows, tmp_path):
    log = tmp_path / "run.jsonl"
    parley.train(*rows, log=str(log))
    pytest.importorskip("matplotlib")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    seen = [line for line in lines if line["event"] == "round" and line["evaluated"]]
    (curve,) = parley.plot(log, x="rounds", y="objective").axes[0].lines
    assert list(curve.get_xdata()) == [line["round"] for line in seen]
    assert list(curve.get_ydata()) == [line["objective"] for line in seen]
    assert parley.plot(log, log).axes[0].get_yscale() == "log"
    with pytest.raises(ValueError, match="x is 'hours'"):
        parley.plot(log, x="hours")


def test_without_matplotlib_plots_say_what_is_missing(tmp_path):
    script = "import sys; sys.modules['matplotlib.figure'] = None; import parley; parley.plot('x')"
    folder = pathlib.Path(parley.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, timeout=60)
    assert "parley.plot needs matplotlib" in done.stderr
