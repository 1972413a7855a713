#!/usr/bin/env python3
"""test_report.py PARLEY [NAME ...]: the data in pages of `parley report --html` are those of the log, whatever the log;
pages that follow a run; and files of --trace. tests/report/test_browser.py looks at the pages in a browser."""

import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from logs import PHASES, make_log, page_data, raw_data, read_log, rounds_of

LONGEST = 60
parley = None
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>'\"&\u2028"


def run(*words, code=0, **options):
    done = subprocess.run(
        [parley, *map(str, words)], capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL, **options
    )
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr[-600:]}"
    return done


def data_file(folder, rows=600):
    path = folder / "data.svm"
    run("generate", "text", path, "--rows", rows, "--columns", 300, "--nonzeros", 20)
    return path


def train(folder, *words, log="run.jsonl"):
    path = folder / log
    data = folder / "data.svm"
    data = data if data.exists() else data_file(folder)
    command = [parley, "train", data, "--log", path, "--model", folder / "model.safetensors", "--quiet", *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode in (0, 3), done.stderr
    return path


def page_of(folder, *logs):
    page = folder / "page.html"
    run("report", *logs, "--html", page)
    return page


def number(value):
    return None if value is None else float(value)


def compare(run_data, log):
    """Every number of the page is the log's, to the last bit."""
    lines = rounds_of(log)
    assert run_data["count"] == len(lines)
    for name, (column,) in run_data["rounds"].items():
        if name in ("sent", "received"):
            wanted = [float(sum(worker[f"bytes_{name}"] for worker in line["workers"])) for line in lines]
        else:
            wanted = [number(line.get(name)) for line in lines]
        assert column == wanted, f"rounds: {name}"
    for part in ("workers", "ranks"):
        for name, columns in run_data[part].items():
            for m, column in enumerate(columns):
                wanted = [number(line[part][m].get(name)) if m < len(line[part]) else None for line in lines]
                assert column == wanted, f"{part}: {name} of {m}"


def columns_are_those_of_the_log(folder):
    run_data = page_data(
        page_of(folder, train(folder, "--workers", 3, "--preset", "cocoa+", "--validation-fraction", 0.2))
    )["runs"][0]
    compare(run_data, folder / "run.jsonl")
    assert {
        "round",
        "seconds",
        "epochs",
        "objective",
        "dual",
        "relative_gap",
        "evaluated",
        "validation",
        "sent",
    } <= run_data["rounds"].keys()
    assert {*PHASES, "bytes_sent"} <= run_data["workers"].keys() and len(run_data["workers"]["compute"]) == 3
    lines = read_log(folder / "run.jsonl")
    assert run_data["parts"] == [{"first": 0, "start": lines[0], "stop": lines[-1], "model": None}]


def logs_of_all_engines_and_ways(folder):
    ways = {
        "launch.jsonl": ["launch", "-n", "2", "--"],
        "sim.jsonl": [],
        "async.jsonl": [],
    }
    more = {
        "launch.jsonl": ["--workers", 4],
        "sim.jsonl": ["--engine", "sim", "--hosts", 4, "--workers", 4],
        "async.jsonl": ["--preset", "ps-async", "--workers", 3, "--rounds", 20],
    }
    data = data_file(folder)
    logs = []
    for name, starter in ways.items():
        log = folder / name
        if starter and not os.path.exists(os.path.join(os.path.dirname(parley), "parley-mpich.so")):
            print("  skipped: no module for MPI in this build")
            continue
        words = [
            parley,
            *starter,
            "train",
            data,
            "--log",
            log,
            "--model",
            folder / "m.safetensors",
            "--quiet",
            *more[name],
        ]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode in (0, 3), done.stderr
        logs.append(log)
    runs = page_data(page_of(folder, *logs))["runs"]
    for one, log in zip(runs, logs):
        compare(one, log)
    assert "staleness" in runs[-1]["workers"]
    assert runs[-2]["parts"][0]["start"]["hosts"] == [0, 1, 2, 3], "simulated ranks have hosts of their own"


def paths_have_parts(folder):
    data, log = data_file(folder), folder / "path.jsonl"
    run("path", data, "--log", log, "--model", folder / "p.safetensors", "--quiet")
    run_data = page_data(page_of(folder, log))["runs"][0]
    compare(run_data, log)
    starts = [i for i, line in enumerate(read_log(log)) if line["event"] == "start"]
    assert len(run_data["parts"]) == len(starts) > 10


def seconds_above_four_and_missing_numbers(folder):
    log = folder / "long.jsonl"
    make_log(log, 5, 2)
    lines = read_log(log)
    lines[2]["workers"][1]["compute"] = 17.123456789
    lines[3]["workers"][0]["wait"] = None
    del lines[3]["workers"][1]["wait"]
    lines[4]["relative_gap"] = None
    lines[4]["seconds"] = 1e5 + 1e-9
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    compare(page_data(page_of(folder, log))["runs"][0], log)


def rounds_that_were_not_evaluated_have_no_values(folder):
    """Also in logs of version 0.1.0, which repeated the latest ones."""
    log = train(folder, "--workers", 4, "--preset", "cocoa+")
    lines = rounds_of(log)
    rarely = [line for line in lines if not line["evaluated"]]
    assert rarely and all(line[key] is None for line in rarely for key in ("objective", "dual", "gap", "relative_gap"))
    assert all(0 < line["estimate"] < 2 for line in rarely) and "estimate" not in lines[-1]
    compare(page_data(page_of(folder, log))["runs"][0], log)
    old = folder / "old.jsonl"
    make_log(old, 6, 2)
    every = [json.loads(line) for line in old.read_text().splitlines()]
    for line in every[2:4]:
        line["evaluated"] = False
    old.write_text("".join(json.dumps(line) + "\n" for line in every))
    assert page_data(page_of(folder, old))["runs"][0]["rounds"]["gap"][0][1:3] == [None, None]


def texts_are_never_markup(folder):
    log = folder / (HOSTILE.replace("/", "") + ".jsonl")
    make_log(log, 3, 2, settings={"label_column": HOSTILE, HOSTILE: HOSTILE}, name=HOSTILE)
    lines = read_log(log)
    lines[0] |= {"problem": HOSTILE, "engine": HOSTILE, "extra": {HOSTILE: [HOSTILE]}}
    lines[-1] |= {"status": HOSTILE, "validation": {"metric": HOSTILE, "value": 1, "round": 1}}
    scores = {"classes": [{"label": HOSTILE}], "confusion": [[1]]}
    lines.append({"event": "model", "topics": [{"words": [HOSTILE]}], "validation": scores})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = page_of(folder, log)
    assert "<" not in raw_data(page), "a < in the data could begin a tag"
    data = page_data(page)["runs"][0]
    assert data["parts"][0]["start"]["settings"]["label_column"] == HOSTILE
    assert data["name"].endswith(".jsonl") and "onerror" in data["name"]


def broken_and_cut_logs(folder):
    log, whole = folder / "broken.jsonl", folder / "whole.jsonl"
    make_log(whole, 6, 2)
    lines = whole.read_text().splitlines()
    bad = [
        "not json",
        "[1, 2]",
        '{"event": "round", "round": 9}',
        lines[2].replace('"workers":[', '"workers":[{},'),
        "\x00\xff",
        '{"event": 7}',
    ]
    log.write_text("\n".join([*lines[:3], *bad, *lines[3:]]) + "\n", encoding="latin-1")
    done = run("report", log, "--html", folder / "page.html")
    assert f"{log}: 5 lines could not be used, the first is line 4" in done.stderr, done.stderr
    data = page_data(folder / "page.html")["runs"][0]
    assert data["count"] == 6 and data["skipped"]["count"] == 5
    assert [one["line"] for one in data["skipped"]["lines"]] == [4, 5, 6, 7, 8]
    # Wherever a log is cut, the rounds before are there.
    text = whole.read_bytes()
    for cut in range(text.index(b"\n") + 1, len(text), 197):
        log.write_bytes(text[:cut])
        compare(page_data(page_of(folder, log))["runs"][0], log)
    for nothing in (b"", b"\n\n", b"null\n", text[:40], b'{"event":"round"}\n'):
        log.write_bytes(nothing)
        assert "not a Parley log" in run("report", log, "--html", folder / "page.html", code=1).stderr


def numbers_of_the_split_are_those_of_the_report(folder):
    log = train(folder, "--workers", 3)
    split = page_data(page_of(folder, log))["runs"][0]["split"]
    told = json.loads(run("report", log, "--json").stdout)["seconds"]
    assert all(split[name] == told[name] for name in split), (split, told)


def pages_are_small(folder):
    log = folder / "small.jsonl"
    make_log(log, 2, 1)
    page = page_of(folder, log)
    assert page.stat().st_size < 1_000_000, page.stat().st_size
    text = page.read_text()
    assert "://" not in text.replace("http://www.w3.org/", ""), "the page names an address"
    print(f"  a page without rounds has {page.stat().st_size} bytes")


def models_without_a_certificate_are_shown(folder):
    rows, data, log = 400, folder / "classes.svm", folder / "net.jsonl"
    draw = random.Random(5)
    with open(data, "w") as file:
        for i in range(rows):
            file.write(f"{i % 3} 1:{draw.gauss(i % 3, 0.5):.4f} 2:{draw.gauss(-(i % 3), 0.5):.4f}\n")
    validation = folder / "validation.svm"
    validation.write_text("".join(data.read_text().splitlines(keepends=True)[:60]))
    words = ["--validation", validation, "--passes", 3, "--model", folder / "net.safetensors", "--log", log, "--quiet"]
    run("network", data, *words)
    told = page_data(page_of(folder, log))["runs"][0]["parts"][0]["model"]["validation"]
    wanted = json.loads(run("eval", folder / "net.safetensors", validation, "--json").stdout)
    assert told["confusion"] == wanted["confusion"] and sum(map(sum, told["confusion"])) == 60
    text, log = folder / "text.txt", folder / "topics.jsonl"
    text.write_text("apple pear plum\nengine wheel road\n" * 40)
    words = ["--format", "text", "--topics", 2, "--passes", 5, "--min-documents", 1, "--max-documents", 1.0]
    run("topics", text, *words, "--model", folder / "t.safetensors", "--log", log, "--quiet")
    topics = page_data(page_of(folder, log))["runs"][0]["parts"][0]["model"]["topics"]
    assert topics == json.loads(run("dump", folder / "t.safetensors", "--top", 12, "--json").stdout)["topics"]


def verdicts_have_the_numbers(folder):
    def verdict(*words):
        log = train(folder, *words)
        found = page_data(page_of(folder, log))["runs"][0]["verdict"]
        return found, read_log(log)

    found, lines = verdict("--workers", 2, "--gap", "1e-4")
    assert found[0]["kind"] == "good" and found[0]["text"].startswith("Converged; the relative gap is ")
    assert f"after {lines[-1]['rounds']} round" in found[0]["text"] and "(target 0.0001)" in found[0]["text"]
    found, lines = verdict(
        "--workers", 2, "--preset", "mllib-sgd", "--rounds", 12, "--gap", "1e-9", "--exchange-delay", 0.01
    )
    assert found[0]["kind"] == "poor" and "limit of rounds" in found[0]["text"]
    texts = " ".join(one["text"] for one in found if one["kind"] == "advice")
    assert "--exchange allreduce" in texts and "such as cocoa+ or ma-sgd" in texts, found
    log = folder / "killed.jsonl"
    make_log(log, 40, 2, stop=False)
    found = page_data(page_of(folder, log))["runs"][0]["verdict"]
    assert "killed or is still running" in found[0]["text"] and found[1]["text"].startswith("At its recent pace")


def make_slow(log, share):
    """In this share of the rounds, worker 1 computes ten times as long as the others."""
    lines = read_log(log)
    rounds = [line for line in lines if line["event"] == "round"]
    for line in rounds[: int(share * len(rounds))]:
        line["workers"][1]["compute"] = 10 * max(one["compute"] for one in line["workers"])
        line["workers"][1]["wait"] = 0
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return sum(line["workers"][1]["compute"] for line in rounds)


def slow_workers_are_named(folder):
    """A worker is slow if it is so in most rounds; one bad moment, however long, is none."""
    log = folder / "slow.jsonl"
    for share, exchange, words in (
        (0.9, "allreduce", "such as petuum"),
        (0.9, "server", "--clocks"),
        (0.3, "allreduce", None),
    ):
        make_log(log, 40, 4, ranks=2, settings={"staleness": "3" if exchange == "server" else "0"})
        log.write_text(log.read_text().replace('"allreduce"', f'"{exchange}"'))
        own = make_slow(log, share)
        found = [one["text"] for one in page_data(page_of(folder, log))["runs"][0]["verdict"]]
        named = [text for text in found if text.startswith("Worker 1 (rank 0 on host 0) is slow")]
        if words:
            assert len(named) == 1 and f"{1e3 * own:.3g} ms" in named[0] and "Waiting for it cost" in named[0], found
            assert any(words in text for text in found), found
            assert not any("more cores would help" in text for text in found), found
        else:
            assert not named, found


def staleness_is_that_of_what_was_computed_from(folder):
    for words, largest in (
        (["--preset", "petuum", "--staleness", 1], 1),
        (["--preset", "ps-sync", "--staleness", 2, "--clocks", 6], 2),
        (["--preset", "ps-sync", "--staleness", 3, "--clocks", 1], 0),  # workers meet after each clock
    ):
        log = train(folder, *words, "--workers", 3, "--rounds", 4, "--straggler", "@1:4:10ms")
        workers = [worker for line in rounds_of(log) for worker in line["workers"]]
        assert max(worker["largest_staleness"] for worker in workers) == largest, words
        assert all(0 <= worker["staleness"] <= worker["largest_staleness"] for worker in workers), words


def advice_can_be_followed(folder):
    """Options and presets that a verdict names are accepted in the place where it names them."""
    data, text = data_file(folder), folder / "text.txt"
    text.write_text("apple pear plum\nengine wheel road\n" * 40)
    runs = [["train", data, "--preset", name] for name in "gd minibatch-sgd lbfgs mllib-sgd cocoa+ ma-sgd petuum".split()]
    runs += [["network", data, "--preset", name] for name in ("minibatch-sgd", "ma-sgd", "ps-sync")]
    runs += [["topics", text, "--format", "text", "--topics", 2, "--min-documents", 1, "--max-documents", 1.0,
              "--preset", name] for name in ("mllib-lda", "ma-lda", "angel-lda")]  # fmt: skip
    followed = 0

    def accepted(*command):
        done = subprocess.run([parley, *map(str, command)], capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode in (0, 3), (command, done.stderr)

    for words in runs:
        log, model = folder / "advice.jsonl", folder / "m.safetensors"
        more = ["--workers", 4, "--rounds", 3, "--model", model, "--quiet"]
        accepted(*words, *more, "--log", log, "--exchange-delay", 0.02)
        found = [one["text"] for one in page_data(page_of(folder, log))["runs"][0]["verdict"] if one["kind"] == "advice"]
        assert found, words
        for advice in found:
            presets = re.search(r"such as ([^.;]*)", advice)
            for preset in presets.group(1).split(" or ") if presets else ():
                named = [preset if one == words[words.index("--preset") + 1] else one for one in words]
                accepted(*named, *more)
                followed += 1
            for option in re.findall(r"--(?:local-epochs|local-steps|exchange) [a-z0-9.]*[a-z0-9]", advice):
                accepted(*words, *more, *option.split())
                followed += 1
    assert followed > 10, followed


def wait_for(fact, what):
    until = time.monotonic() + LONGEST
    while not fact():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def pages_follow_a_run(folder):
    log, page, whole = folder / "run.jsonl", folder / "page.html", folder / "whole.jsonl"
    make_log(whole, 8, 2)
    lines = whole.read_text().splitlines(keepends=True)
    follower = subprocess.Popen([parley, "report", "--follow", log, "--html", page], stderr=subprocess.PIPE, text=True)

    def count():
        return page_data(page)["runs"][0]["count"] if page.exists() else -1

    try:
        time.sleep(0.5)  # it waits for the log
        with open(log, "w") as file:
            file.write("".join(lines[:4]) + lines[4][:50])
            file.flush()
            wait_for(lambda: count() == 3, "the first rounds")
            assert page_data(page)["reload"] > 0 and follower.poll() is None
            file.write(lines[4][50:] + lines[5])
            file.flush()
            wait_for(lambda: count() == 5, "a line in two pieces")
            # A resumed run cuts its log.
            file.truncate(len("".join(lines[:3])))
        wait_for(lambda: count() == 2, "a log that was cut")
        with open(log, "a") as file:
            file.write("".join(lines[3:]))
        assert follower.wait(LONGEST) == 0
    finally:
        follower.kill()
    assert "waiting for" in follower.communicate()[1]
    compare(page_data(page)["runs"][0], whole)
    assert page_data(page)["reload"] == 0


def pages_follow_a_pipe_and_end_by_a_signal(folder):
    page, whole = folder / "page.html", folder / "whole.jsonl"
    make_log(whole, 8, 2)
    lines = whole.read_text().splitlines(keepends=True)
    follower = subprocess.Popen([parley, "report", "--follow", "-", "--html", page], stdin=subprocess.PIPE, text=True)
    try:
        follower.stdin.write("".join(lines[:3]) + lines[3][:60])
        follower.stdin.flush()
        wait_for(lambda: page.exists() and page_data(page)["runs"][0]["count"] == 2, "rounds from a pipe")
        follower.stdin.write(lines[3][60:])
        follower.stdin.flush()
        wait_for(lambda: page_data(page)["runs"][0]["count"] == 3, "the rest of a line")
        follower.send_signal(signal.SIGINT)
        assert follower.wait(LONGEST) == 0 and page_data(page)["reload"] == 0
    finally:
        follower.kill()
        follower.stdin.close()


# The documented fields of the Trace Event Format, by phase: what each must have.
SCHEMA = {
    "X": {"name": str, "ph": str, "pid": int, "tid": int, "ts": (int, float), "dur": (int, float)},
    "M": {"name": str, "ph": str, "pid": int, "args": dict},
    "C": {"name": str, "ph": str, "pid": int, "ts": (int, float), "args": dict},
}


def validate(events):
    """Checks what viewers rely on: fields and types; names of threads; spans of a thread do not overlap."""
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    ends = {}
    for event in events:
        for field, kind in SCHEMA[event["ph"]].items():
            assert isinstance(event.get(field), kind), (field, event)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
        elif event["ph"] == "C":
            assert all(isinstance(value, (int, float)) and math.isfinite(value) for value in event["args"].values())
        else:
            thread = event["pid"], event["tid"]
            assert thread in named and event["dur"] >= 0 and event["ts"] >= ends.get(thread, 0) - 0.0015, event
            ends[thread] = event["ts"] + event["dur"]


def check_trace(trace, log):
    text = trace.read_text()
    events = json.loads(text)
    validate(events)
    lines = rounds_of(log)
    spans = [event for event in events if event["ph"] == "X"]
    for k in range(len(lines[0]["workers"])):
        for phase in PHASES:
            told = sum(e["dur"] for e in spans if e["tid"] == k + 1 and e["name"] == phase) / 1e6
            wanted = sum(line["workers"][k][phase] for line in lines)
            assert abs(told - wanted) <= 0.01 * wanted + 1e-8, (k, phase, told, wanted)
    last = max(e["ts"] + e["dur"] for e in spans) / 1e6
    assert abs(last - lines[-1]["seconds"]) <= 0.01 * lines[-1]["seconds"]
    return events


def traces_have_the_documented_form(folder):
    trace = folder / "run.trace.json"
    for words in (
        ["--workers", 3],
        ["--engine", "sim", "--hosts", 4, "--workers", 8],
        ["--preset", "ps-async", "--workers", 3, "--rounds", 20],
    ):
        log = train(folder, *words, "--trace", trace)
        events = check_trace(trace, log)
        if "sim" in words:
            assert {e["pid"] for e in events} == {0, 1, 2, 3}
            assert {e["pid"] for e in events if e["tid"] in (3, 4)} == {1}, "workers 2 and 3 are on rank 1"
    done = run("train", folder / "data.svm", "--trace", folder / "none" / "x", code=1)
    assert "none" in done.stderr
    done = run("train", folder / "data.svm", "--trace", folder / "m", "--model", folder / "m", code=2)
    assert "twice" in done.stderr


TESTS = [
    columns_are_those_of_the_log,
    logs_of_all_engines_and_ways,
    paths_have_parts,
    rounds_that_were_not_evaluated_have_no_values,
    seconds_above_four_and_missing_numbers,
    texts_are_never_markup,
    broken_and_cut_logs,
    numbers_of_the_split_are_those_of_the_report,
    pages_are_small,
    models_without_a_certificate_are_shown,
    verdicts_have_the_numbers,
    slow_workers_are_named,
    staleness_is_that_of_what_was_computed_from,
    advice_can_be_followed,
    pages_follow_a_run,
    pages_follow_a_pipe_and_end_by_a_signal,
    traces_have_the_documented_form,
]


def main():
    global parley
    parley = os.path.abspath(sys.argv[1])
    wanted, failed = sys.argv[2:], 0
    tests = [test for test in TESTS if not wanted or test.__name__ in wanted]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
                print(f"ok    {test.__name__}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL  {test.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
