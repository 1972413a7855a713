#!/usr/bin/env python3
"""test_browser.py PARLEY [NAME ...]: pages of `parley report --html` in Debian's Chromium, without a window: every
chart draws, values under the cursor are the log's, zoom and keys work, both themes, narrow and wide screens, no message
on the console, no request to anywhere. `test_browser.py PARLEY figures` measures a large page, which is no test."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse

from logs import PHASES, make_log, rounds_of
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from test_report import HOSTILE

LONGEST = 60
FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --window-size=1280,900""".split()
parley = browser = None


def open_browser(profile):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    found.set_page_load_timeout(LONGEST)
    found.set_script_timeout(LONGEST)
    return found


def write_page(folder, *logs):
    page = folder / "page.html"
    done = subprocess.run(
        [parley, "report", *map(str, logs), "--html", str(page)], capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    return page


def wait_for(script, what):
    until = time.monotonic() + LONGEST
    while not (found := browser.execute_script(script)):
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.05)
    return found


def media(theme="light", width=1280, height=900):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def show(page):
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    wait_for("return window.parleyReport && window.parleyReport.milliseconds", "the page")
    # Every chart has been laid out.
    wait_for("return Object.values(parleyReport.charts).every((chart) => chart.view())", "the charts")
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")


def requests():
    """Addresses that the page asked for."""
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found


def silent(page):
    told = browser.get_log("browser")
    assert told == [], told
    others = [
        url
        for url in requests()
        if not url.startswith(("data:", "blob:")) and urllib.parse.unquote(url) != urllib.parse.unquote(page.as_uri())
    ]
    assert others == [], others


def key(chart, *keys):
    browser.execute_script("document.querySelector(arguments[0]).focus()", f"#{chart} .plot")
    ActionChains(browser).send_keys(*keys).perform()


def readout(chart):
    """What stands below a chart: a dictionary of data- attributes for each value."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map((span) => ({...span.dataset, text: span.textContent}))"
    )
    return browser.execute_script(script, f"#{chart} .readout span")


def painted(chart):
    """Pixels of a chart's canvas that are not its background, and the number of colours."""
    return browser.execute_script(
        """const canvas = document.querySelector(arguments[0]), context = canvas.getContext("2d");
        const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        const colours = new Map();
        for (const pixel of pixels) colours.set(pixel, (colours.get(pixel) ?? 0) + 1);
        const most = Math.max(...colours.values());
        return [pixels.length - most, colours.size]""",
        f"#{chart} canvas",
    )


def pixels_of(chart, name):
    """Pixels of a chart's canvas that have the colour of this name."""
    return browser.execute_script(
        """const canvas = document.querySelector(arguments[0]), context = canvas.getContext("2d");
        const wanted = new OffscreenCanvas(1, 1).getContext("2d");
        wanted.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(arguments[1]).trim();
        wanted.fillRect(0, 0, 1, 1);
        const [one] = new Uint32Array(wanted.getImageData(0, 0, 1, 1).data.buffer);
        const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return pixels.filter((pixel) => pixel === one).length""",
        f"#{chart} canvas",
        name,
    )


def view(chart):
    return browser.execute_script("return parleyReport.charts[arguments[0]].view()", chart)


def every_chart_draws(folder):
    one, two = folder / "one.jsonl", folder / "two.jsonl"
    make_log(one, 300, 4, ranks=2)
    make_log(two, 200, 8, ranks=4, seed=2, name="cocoa")
    page = write_page(folder, one, two)
    media()
    show(page)
    for chart in ("convergence", "gantt", "pace", "steps", "cpu", "memory", "network", "wire"):
        pixels, colours = painted(chart)
        assert pixels > 300 and colours > 3, (chart, pixels, colours)
    for bars in ("comparison", "split", "shares"):
        widths = browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((bar) => bar.getBoundingClientRect().width)",
            f"#{bars} .bar i",
        )
        assert sum(widths) > 100, (bars, widths)
    # The settings that differ come first.
    first = browser.execute_script(
        """return [...document.querySelectorAll('#settings tbody tr')].slice(0, 2)
        .map((row) => [...row.children].map((cell) => cell.textContent))"""
    )
    assert ["preset", "cocoa+", "cocoa"] in first, first
    # A table behind each chart, with the log's numbers.
    tables = browser.execute_script(
        """return [...document.querySelectorAll('figure')]
        .map((figure) => [figure.id, Boolean(figure.querySelector('details'))])"""
    )
    assert all(has for name, has in tables if name != "shares"), tables
    browser.execute_script("document.querySelector('#convergence details').open = true")
    wait_for("return document.querySelector('#convergence table')", "the table")
    row = browser.execute_script("return [...document.querySelectorAll('#convergence tbody tr')][3].textContent")  # after w = 0
    line = rounds_of(one)[2]
    assert row == f"one{line['seconds']!r}{line['relative_gap']!r}", row
    silent(page)


def values_under_the_cursor_are_the_logs(folder):
    log = folder / "run.jsonl"
    make_log(log, 400, 4)
    lines = rounds_of(log)
    media()
    show(write_page(folder, log))
    chart = browser.find_element("css selector", "#convergence .u-over")
    for share in (-0.4, 0.1, 0.45):
        ActionChains(browser).move_to_element_with_offset(chart, int(share * chart.size["width"]), 0).perform()
        (value,) = readout("convergence")
        nearest = min(lines, key=lambda line: abs(line["seconds"] - float(value["x"])))
        assert float(value["x"]) == nearest["seconds"] and float(value["y"]) == nearest["relative_gap"], value
        # The value is the one at the pointer, within the width of a point.
        at = lines[0]["seconds"] + (share + 0.5) * (lines[-1]["seconds"] - lines[0]["seconds"])
        assert abs(nearest["seconds"] - at) < 0.01 * lines[-1]["seconds"], (nearest["seconds"], at)
    plot = browser.find_element("css selector", "#gantt .u-over")
    ActionChains(browser).move_to_element_with_offset(plot, 100, int(-0.3 * plot.size["height"])).perform()
    (value,) = readout("gantt")
    worker = lines[int(value["round"]) - 1]["workers"][int(value["row"])]
    assert int(value["row"]) == 0 and all(float(value[phase]) == worker[phase] for phase in PHASES), value


def zoom_and_keys(folder):
    log = folder / "run.jsonl"
    make_log(log, 400, 4)
    lines = rounds_of(log)
    media()
    page = write_page(folder, log)
    show(page)
    for chart in ("convergence", "gantt"):
        whole = view(chart)
        key(chart, "+")
        inner = view(chart)
        assert abs((inner[1] - inner[0]) / (whole[1] - whole[0]) - 0.5) < 1e-6, (whole, inner)
        ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
        moved = view(chart)
        assert moved[0] > inner[0] and abs((moved[1] - moved[0]) - (inner[1] - inner[0])) < 1e-9
        key(chart, "-", "-")
        assert view(chart) == whole or max(abs(a - b) for a, b in zip(view(chart), whole)) < 1e-9
        key(chart, "+", "0")
        assert view(chart) == whole
    key("convergence", *4 * [Keys.ARROW_RIGHT])  # the first point is that of w = 0
    (value,) = readout("convergence")
    assert float(value["x"]) == lines[2]["seconds"] and float(value["y"]) == lines[2]["relative_gap"], value
    key("gantt", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert int(readout("gantt")[0]["round"]) == 2
    # Dragging zooms in; a button shows everything again.
    plot = browser.find_element("css selector", "#convergence .u-over")
    whole = view("convergence")
    ActionChains(browser).move_to_element_with_offset(plot, -100, 0).click_and_hold().move_by_offset(
        150, 5
    ).release().perform()
    zoomed = view("convergence")
    assert 0 < zoomed[1] - zoomed[0] < 0.3 * (whole[1] - whole[0]), (whole, zoomed)
    browser.find_element("css selector", "#convergence .zoom button:last-child").click()
    assert view("convergence") == whole
    # One round fills the chart.
    browser.execute_script("parleyReport.charts.gantt.zoomTo(200)")
    begin, end = view("gantt")
    assert begin < lines[199]["seconds"] <= end and end - begin < 0.01, (begin, end)
    # Every control is reached by the Tab key.
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    seen = set()
    for _ in range(120):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        seen.add(
            browser.execute_script(
                """const at = document.activeElement, place = at.closest('figure, section, main, body');
                return place?.id + ' ' + at.tagName + ' ' + at.className"""
            )
        )
    assert {"convergence DIV plot", "gantt DIV plot", "convergence SUMMARY ", "gantt BUTTON "} <= seen, seen
    silent(page)


def axes_follow_the_choices(folder):
    log = folder / "run.jsonl"
    make_log(log, 50, 2)
    lines = rounds_of(log)
    media()
    show(write_page(folder, log))
    ends = {
        "rounds": (0, 50),
        "seconds": (0.01, lines[-1]["seconds"]),
        "epochs": (0, 50),
        "bytes": (0, 80000),
    }
    for axis, wanted in ends.items():
        browser.execute_script("document.querySelector(arguments[0]).click()", f"#convergence input[value={axis}]")
        assert max(abs(a - b) for a, b in zip(view("convergence"), wanted)) < 1e-8, (axis, view("convergence"))
    vertical = "document.querySelectorAll('#convergence fieldset')[2].querySelector('input[value=linear]').click()"
    browser.execute_script(vertical)  # the dual of the first rounds is negative
    for name in ("objective", "gap", "dual"):
        browser.execute_script("document.querySelector(arguments[0]).click()", f"#convergence input[value={name}]")
        key("convergence", Keys.ARROW_RIGHT)
        assert float(readout("convergence")[0]["y"]) == {"objective": 1, "gap": 1, "dual": 0}[name]
        key("convergence", Keys.ARROW_RIGHT)
        assert float(readout("convergence")[0]["y"]) == lines[0][name]


def both_themes(folder):
    log = folder / "run.jsonl"
    make_log(log, 50, 2)
    page = write_page(folder, log)
    grounds = {}
    for theme in ("light", "dark"):
        media(theme)
        show(page)
        grounds[theme] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert painted("convergence")[0] > 300
    assert grounds["light"] == "rgb(255, 255, 255)" and grounds["dark"] != grounds["light"], grounds
    browser.execute_script("document.querySelector('.top input[value=light]').click()")
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == grounds["light"]
    browser.execute_script("document.querySelector('.top input[value=auto]').click()")
    silent(page)


def narrow_and_wide_screens(folder):
    one, two = folder / ("a-long-name-" * 8 + "one.jsonl"), folder / "two.jsonl"
    make_log(one, 60, 16, ranks=4)
    make_log(two, 60, 2, seed=3)
    page = write_page(folder, one, two)
    for width in (320, 390, 768, 1280, 1920):
        media(width=width)
        show(page)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"the page is {wide} wide on a screen of {width}"
        canvas = browser.execute_script(
            "return document.querySelector('#convergence canvas').getBoundingClientRect().width"
        )
        assert 0.6 * min(width, 1180) < canvas <= width, (width, canvas)
    silent(page)


def touch(kind, *places):
    points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def fingers_zoom_and_move(folder):
    log = folder / "run.jsonl"
    make_log(log, 400, 4)
    page = write_page(folder, log)
    media(width=390, height=844)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    show(page)
    for chart in ("convergence", "gantt"):
        over = f"#{chart} .u-over"
        browser.execute_script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", over)
        left, top, width = browser.execute_script(
            """const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [box.left, box.top + 40, box.width]""",
            over,
        )
        low, high = view(chart)

        def at(*shares, left=left, top=top, width=width):
            return [(left + share * width, top) for share in shares]

        # Two fingers move apart: what was under them, at 0.4 and 0.6 of the width, is now at 0.2 and 0.8.
        touch("touchStart", *at(0.4, 0.6))
        for i in range(1, 5):
            touch("touchMove", *at(0.4 - 0.05 * i, 0.6 + 0.05 * i))
        touch("touchEnd")
        begin, end = view(chart)
        third = (end - begin) * 3 / (high - low)
        assert abs(third - 1) < 0.02 and abs((begin + end) - (low + high)) < 0.02 * (high - low), (
            low,
            high,
            begin,
            end,
        )
        # One finger moves what is zoomed.
        touch("touchStart", *at(0.5))
        for i in range(1, 5):
            touch("touchMove", *at(0.5 + 0.05 * i))
        touch("touchEnd")
        moved = view(chart)
        assert abs((begin - moved[0]) - 0.2 * (end - begin)) < 0.02 * (end - begin), (begin, end, moved)
        # Two fingers move together, as far as there is something.
        touch("touchStart", *at(0.1, 0.9))
        touch("touchMove", *at(0.48, 0.52))
        touch("touchEnd")
        assert max(abs(a - b) for a, b in zip(view(chart), (low, high))) < 1e-6 * (high - low), view(chart)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    silent(page)


def texts_are_never_markup(folder):
    log = folder / (HOSTILE.replace("/", "") + ".jsonl")
    make_log(log, 3, 2, settings={"label_column": HOSTILE, HOSTILE: HOSTILE}, name=HOSTILE)
    lines = log.read_text().splitlines()
    start, stop = json.loads(lines[0]), json.loads(lines[-1])
    start |= {"problem": HOSTILE, "engine": HOSTILE, HOSTILE: HOSTILE}
    stop |= {"status": HOSTILE, "validation": {"metric": HOSTILE, "value": 1, "round": 1}}
    more = {
        "event": "model",
        "topics": [{"words": [HOSTILE], "probabilities": [0.5]}],
        "validation": {"classes": [{"label": HOSTILE}], "confusion": [[1]]},
    }
    log.write_text(
        "\n".join([json.dumps(start), *lines[1:-1], "{" + HOSTILE, json.dumps(stop), json.dumps(more)]) + "\n"
    )
    media()
    page = write_page(folder, log)
    show(page)
    assert browser.execute_script(
        "return window.pwned === undefined && document.images.length === 0 && document.scripts.length === 2"
    )
    text = browser.execute_script("return document.body.textContent")
    assert HOSTILE in text and "could not be used" in text
    silent(page)


def empty_and_short_logs(folder):
    log = folder / "begun.jsonl"
    media()
    for rounds in (0, 1, 2):
        make_log(log, rounds, 2, stop=False)
        page = write_page(folder, log)
        show(page)
        assert "No end in the log" in browser.execute_script("return document.body.textContent")
        silent(page)


def charts_have_ticks():
    """Every chart of curves has at least two ticks on each axis, which are in view."""
    faults = browser.execute_script(
        """return Object.entries(parleyReport.charts).filter(([, chart]) => chart.ticks).flatMap(([id, chart]) =>
          chart.ticks().map((ticks, i) => [id, i, ticks, chart.scales()[i]])
            .filter(([,, ticks, { low, high }]) => ticks.length < 2 || !ticks.every((tick) => tick >= low && tick <= high)))"""
    )
    assert faults == [], faults


def presets():
    told = subprocess.run([parley, "list", "presets"], check=True, capture_output=True, text=True, timeout=LONGEST).stdout
    return [(command, line.split()[0]) for command in ("train", "topics", "network") for line in told.splitlines()]


def runs_as_users_make_them(folder):
    """Default settings of every preset of every problem: no message, ticks, and a curve where there is one to draw."""
    data, text, draw = folder / "data.svm", folder / "text.svm", random.Random(1)
    words = ["generate", "text", data, "--rows", 1000, "--columns", 300, "--nonzeros", 20, "--seed", 1]
    subprocess.run([parley, *map(str, words)], check=True, capture_output=True, timeout=LONGEST)
    documents = [sorted(draw.sample(range(1, 101), 8)) for _ in range(300)]
    text.write_text("".join(" ".join(["0", *(f"{word}:{draw.randint(1, 5)}" for word in one)]) + "\n" for one in documents))
    media()
    drawn = 0
    for command, preset in presets():
        log = folder / f"{command}.jsonl"
        words = [command, text if command == "topics" else data, "--preset", preset, "--workers", 4, "--seconds", 2]
        words += ["--log", log, "--model", folder / "m.safetensors", "--quiet"]
        done = subprocess.run([parley, *map(str, words)], capture_output=True, text=True, timeout=LONGEST)
        if done.returncode == 2:  # such as a preset that takes no workers
            words[words.index("--workers") : words.index("--workers") + 2] = []
            done = subprocess.run([parley, *map(str, words)], capture_output=True, text=True, timeout=LONGEST)
        if done.returncode == 2:  # a preset of another problem, or a stream, which has no log
            continue
        assert done.returncode in (0, 3), (command, preset, done.stderr)
        page = write_page(folder, log)
        show(page)
        charts_have_ticks()
        pixels, colours = painted("convergence")
        assert pixels > 300 and colours > 2, (command, preset, pixels, colours)
        silent(page)
        log.unlink()
        drawn += 1
    assert drawn > 30, drawn


def odd_runs(folder):
    """Few evaluations, equal values, a narrow range, gaps that are 0, negative or infinite, runs that ended badly."""
    log = folder / "run.jsonl"
    media()
    values = {
        "none": [], "one": [0.5], "two in a decade": [2.4e-4, 9.9e-5], "three": [0.1, 0.01, 0.001], "equal": [0.3] * 5,
        "narrow": [1e-4, 0.99e-4, 0.98e-4], "zero": [0.1, 0.0], "negative": [0.1, -1e-17], "infinite": [0.5, 1e999, 1e999],
        "tiny": [5e-324, 1e-323], "huge": [1e308, 1.7e308], "not finite": [float("nan")] * 3, "neighbours": [1.0, 1.0 - 2**-53],
    }  # fmt: skip
    for name, gaps in values.items():
        for every in (1, 4):
            for end in (None, "converged", "interrupted", "seconds"):
                make_log(log, max(1, len(gaps) * every), 1 if every == 1 else 3, stop=end is not None)
                lines = [json.loads(line) for line in log.read_text().splitlines()]
                for i, line in enumerate(lines[1 : len(lines) - (end is not None)]):
                    seen = (i + 1) % every == 0 and i // every < len(gaps)
                    gap = gaps[i // every] if seen else None
                    gap = gap if seen and abs(gap) < 1e999 else None  # as the log writes it
                    line |= {"evaluated": seen, "objective": gap, "dual": gap and -gap, "gap": gap, "relative_gap": gap}
                    if not seen:
                        line["estimate"] = 0.5 / (i + 1)
                if end:
                    lines[-1] |= {"status": end} | ({} if gaps else {"relative_gap": None, "gap": None, "objective": None})
                log.write_text("".join(json.dumps(line) + "\n" for line in lines))
                page = write_page(folder, log)
                show(page)
                try:
                    charts_have_ticks()
                    silent(page)
                    if every == 4:  # there are estimates, also where nothing was evaluated
                        assert painted("convergence")[0] > 300
                except AssertionError as error:
                    raise AssertionError(f"{name}, every {every}, {end}: {error}") from error


def resumed_runs(folder):
    """A run that goes on from a checkpoint, in the same log and in one of its own."""
    data, log, points = folder / "data.svm", folder / "run.jsonl", folder / "points"
    words = [parley, "generate", "text", data, "--rows", "1000", "--columns", "300", "--nonzeros", "20", "--seed", "1"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=LONGEST)
    words = [parley, "train", data, "--preset", "cocoa+", "--workers", "4", "--gap", "1e-9", "--quiet"]
    words += ["--model", folder / "m.safetensors", "--checkpoint-every", "0s"]
    media()
    for rounds, more in ((6, ["--log", log, "--checkpoint", points]), (12, ["--log", log, "--resume", points]),
                         (18, ["--log", folder / "own.jsonl", "--resume", points])):  # fmt: skip
        more = [*more, "--checkpoint", points] if "--checkpoint" not in more else more
        done = subprocess.run(list(map(str, [*words, *more, "--rounds", rounds])), capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode in (0, 3), done.stderr
        page = write_page(folder, more[1])
        show(page)
        charts_have_ticks()
        assert painted("convergence")[0] > 300
        assert pixels_of("gantt", "--setup") > 20
        silent(page)


def every_problem_of_a_path_has_its_setup(folder):
    """The second problem is set up for much longer than all rounds take."""
    log = folder / "path.jsonl"
    media()
    for rounds in (5, 3000):  # drawn span by span, and by pixels
        make_log(log, rounds, 2)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        later = [line | ({"seconds": line["seconds"] + 20 * rounds / 100} if "seconds" in line else {}) for line in lines]
        log.write_text("".join(json.dumps(line) + "\n" for line in lines + later))
        show(write_page(folder, log))
        assert pixels_of("gantt", "--setup") > 5 * pixels_of("gantt", "--between"), rounds
        assert pixels_of("gantt", "--setup") > 0.3 * painted("gantt")[0], rounds


def axes_of_random_series(folder):
    """Axes of 10,000 random ranges: two ticks or more, in order, in the range, and labels that differ."""
    log = folder / "run.jsonl"
    make_log(log, 5, 2)
    media()
    show(write_page(folder, log))
    faults = browser.execute_script(
        """const { scale, widen, ticks, labels } = parleyReport.scale, { number } = parleyReport.format, faults = [];
        let state = 1;
        const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
        const value = (kind) => {
          const sign = random() < 0.5 ? -1 : 1, size = 10 ** (kind < 0.3 ? random() * 600 - 320 : random() * 12 - 6);
          return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sign * size * (1 + random())));
        };
        for (let i = 0; i < 10000; i++) {
          const kind = random(), log = random() < 0.5, one = value(kind);
          const other = random() < 0.1 ? one : random() < 0.3 ? one * (1 + random() * 10 ** (-16 * random())) : value(kind);
          const fit = (x) => (log ? Math.max(Number.MIN_VALUE, Math.abs(x)) : x);
          const [least, most] = [fit(one), fit(other)].sort((a, b) => a - b);
          try {
            const [low, high] = widen(least, most, log), axis = scale(low, high, log), found = ticks(axis, 2 + 10 * random());
            const places = [least, most, ...found].map(axis.place), texts = labels(found, number);
            if (!(low < high) || !(low <= least && most <= high)) throw Error("the range");
            if (found.length < 2 || found.length > 60) throw Error(`${found.length} ticks`);
            if (!found.every((tick, k) => tick >= low && tick <= high && !(k && tick <= found[k - 1]))) throw Error("a tick outside");
            if (!places.every((place) => place >= -1e-6 && place <= 1 + 1e-6)) throw Error(`places ${places}`);
            if (new Set(texts).size < texts.length) throw Error(`labels ${texts}`);
          } catch (error) { faults.push([least, most, log, String(error)]); }
        }
        return [faults.length, faults.slice(0, 5)]"""
    )
    assert faults[0] == 0, faults


def figures(folder):
    """Script time of a page of 10,000 rounds x 64 workers, and the time of a frame while its Gantt chart pans."""
    log = folder / "large.jsonl"
    make_log(log, 10_000, 64, ranks=8)
    page = write_page(folder, log)
    media()
    show(page)
    opened = browser.execute_script("return parleyReport.milliseconds")
    metrics = {m["name"]: m["value"] for m in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    frames = browser.execute_async_script(
        """const done = arguments[0], chart = parleyReport.charts.gantt, times = [], [low, high] = chart.whole();
        chart.setView([low, low + 0.9 * (high - low)]);
        let left = 60;
        const step = async () => {
          const began = performance.now();
          chart.act.pan(0.001);
          await null; // the chart is drawn in a microtask
          await null;
          times.push(performance.now() - began);
          if (--left) requestAnimationFrame(step);
          else done(times.sort((a, b) => a - b));
        };
        requestAnimationFrame(step)"""
    )
    print(f"page of {page.stat().st_size / 1e6:.1f} MB from a log of {log.stat().st_size / 1e6:.1f} MB")
    print(f"opened in {opened:.0f} ms; script {metrics.get('ScriptDuration', float('nan')):.2f} s")
    print(f"a frame of panning: median {frames[30]:.1f} ms, slowest {frames[-1]:.1f} ms")


TESTS = [
    every_chart_draws,
    values_under_the_cursor_are_the_logs,
    zoom_and_keys,
    axes_follow_the_choices,
    both_themes,
    narrow_and_wide_screens,
    fingers_zoom_and_move,
    texts_are_never_markup,
    empty_and_short_logs,
    runs_as_users_make_them,
    odd_runs,
    resumed_runs,
    every_problem_of_a_path_has_its_setup,
    axes_of_random_series,
]


def main():
    global parley, browser
    parley = os.path.abspath(sys.argv[1])
    wanted, failed = sys.argv[2:], 0
    tests = [test for test in [*TESTS, figures] if (test.__name__ in wanted if wanted else test is not figures)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = open_browser(profile)
        try:
            browser.execute_cdp_cmd("Performance.enable", {})
            for test in tests:
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        test(pathlib.Path(folder))
                        print(f"ok    {test.__name__}", flush=True)
                    except Exception as error:
                        failed += 1
                        print(f"FAIL  {test.__name__}: {type(error).__name__}: {str(error)[:800]}", flush=True)
        finally:
            browser.quit()
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
