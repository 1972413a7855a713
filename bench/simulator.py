"""Parameter servers, and the engine sim: against hosts in network namespaces, and on clusters that are not there."""

import json
import os
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from harness import markdown

PRESETS = ("cocoa+", "ma-sgd", "mllib-sgd", "petuum*")
RATES = ("100mbit", "1gbit")
HOSTS = (2, 4)
ROUNDS = 12
MOST_RUNS = 3  # of each preset, of which the median counts
PREFIX = f"parley{os.getpid() % 10000}"
SWEEP = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COLUMNS = 54_000_000
# Samples per second of logistic regression on 10,000 rows of 10,000 features, 3 workers (Zhang, Alqahtani and Demirbas 2017, Table 1).
PAPER_003 = {
    "Spark": 5883,
    "TensorFlow, batch 100": 403,
    "TensorFlow, batch 500": 443,
    "MXNet, batch 100": 19277,
    "MXNet, batch 500": 19283,
    "PMLS, SSP 3": 21132,
}


def call(*words, seconds=120):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds)
    if done.returncode not in (0, 3):  # 3: stopped before the target, which is 0 here
        raise RuntimeError(done.stderr)
    return done.stdout


def generate(bench, rows, columns, nonzeros):
    path = bench.folder / f"text-{rows}-{columns}-{nonzeros}.svm"
    if not path.exists():
        shape = ["--rows", rows, "--columns", columns, "--nonzeros", nonzeros]
        call(bench.parley, "generate", "text", path, *shape, "--quiet", seconds=300)
    return path


def rounds_of(log):
    return [line for line in map(json.loads, Path(log).read_text().splitlines()) if line["event"] == "round"]


def seconds_per_round(log):
    """The median time from one line of the log to the next, without evaluation."""
    rounds = rounds_of(log)
    times = []
    for before, line in zip(rounds[1:], rounds[2:]):
        evaluated = max(rank["evaluate"] for rank in line["ranks"])
        times.append(line["seconds"] - before["seconds"] - evaluated)
    return statistics.median(times)


class Namespaces:
    """Hosts with links of limited bandwidth to a bridge, all on this machine."""

    def __init__(self, count, rate, folder):
        self.count, self.folder = count, Path(folder)
        self.names = [f"{PREFIX}-{number}" for number in range(count)]
        self.hub = f"{PREFIX}-hub"
        try:
            self.make(rate)
        except BaseException:
            self.remove()
            raise
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("".join(f"{name}\n" for name in self.names))
        self.shell = self.folder / "shell"
        words = "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0"
        self.shell.write_text(f'#!/bin/sh\nexec ip netns exec "$1" env {words} sh -c "$2"\n')
        self.shell.chmod(0o755)

    def make(self, rate):
        call("ip", "netns", "add", self.hub)
        call("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", self.hub, "link", "set", "bridge", "up")
        # A burst passes without delay, so that it must be short, but not shorter than what a tick of the kernel sends.
        shape = ["root", "tbf", "rate", rate, "burst", "16kb" if rate == "100mbit" else "128kb", "latency", "200ms"]
        for number, name in enumerate(self.names):
            port = f"port{number}"
            call("ip", "netns", "add", name)
            call("ip", "-n", name, *f"link add eth0 type veth peer name {port} netns {self.hub}".split())
            call("ip", "-n", self.hub, "link", "set", port, "master", "bridge", "up")
            call("ip", "-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            call("ip", "-n", name, "link", "set", "eth0", "up")
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)
            call("tc", "-n", self.hub, "qdisc", "add", "dev", port, *shape)

    def remove(self):
        for name in [self.hub, *self.names]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60)

    def run(self, parley, *words):
        launch = ["launch", "--hosts", self.hosts, "--shell", self.shell, "--address", "10.77.0.1", "--", *words]
        return call("ip", "netns", "exec", self.names[0], parley, *launch, seconds=600)


def training(data, preset, workers, log):
    words = ["train", data, "--preset", preset, "--workers", workers, "--lanes", 1, "--threads", 1, "--rounds", ROUNDS]
    words += ["--gap", 0, "--quiet", "--model", f"{log}.model", "--log", log]
    return words + (["--clocks", 1] if preset == "petuum*" else [])


def compare(bench, data, hosts, rate):
    """Rows: preset, hosts, rate, real and predicted milliseconds per round."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        network = Namespaces(hosts, rate, folder)
        try:
            probe, log = Path(folder) / "network.json", Path(folder) / "log.jsonl"
            network.run(bench.parley, "probe", probe, "--between-ranks", "messages")
            sim = ["--engine", "sim", "--hosts", hosts, "--network", probe]
            for preset in PRESETS:
                words = training(data, preset, hosts, log)
                real, predicted = [], []
                for _ in range(min(bench.repetitions, MOST_RUNS)):
                    network.run(bench.parley, *words, "--between-ranks", "messages")
                    real.append(seconds_per_round(log))
                    call(bench.parley, *words, *sim, seconds=600)
                    predicted.append(seconds_per_round(log))
                rows.append([preset, hosts, rate, statistics.median(real), statistics.median(predicted)])
        finally:
            network.remove()
    return rows


def table_simulator(bench):
    """Seconds per round on hosts in network namespaces, and as predicted by the engine sim from `parley probe`"""
    data = generate(bench, 20000, 100000, 60)
    found = []
    for hosts in HOSTS:
        for rate in RATES:
            try:
                found += compare(bench, data, hosts, rate)
            except (RuntimeError, FileNotFoundError) as error:
                return f"Not run: network namespaces are not permitted here ({error}).\n"
    errors = [abs(predicted / real - 1) for *_, real, predicted in found]
    bench.aim("simulator, error of seconds per round, median", statistics.median(errors), 0.10, at_least=False)
    bench.aim("simulator, error of seconds per round, worst", max(errors), 0.25, at_least=False)
    rows = [
        [preset, hosts, rate, f"{1e3 * real:.1f}", f"{1e3 * predicted:.1f}", f"{100 * (predicted / real - 1):+.0f} %"]
        for preset, hosts, rate, real, predicted in found
    ]
    return markdown(["preset", "hosts", "links", "real, ms", "predicted, ms", "error"], rows)


def train(bench, *words):
    """Trains and returns the summary."""
    command = [bench.parley, "train", *words, "--gap", 0, "--quiet", "--json", "--model", bench.folder / "some.model"]
    return json.loads(call(*command, seconds=600))


def simulate(bench, *words):
    return train(bench, *words, "--engine", "sim", "--compute", "modelled")


def table_hosts(bench):
    """Virtual milliseconds of a round of sgd by hosts and exchange: 20,000 columns, 1 Gbit/s, 50 us"""
    data, log = generate(bench, 20000, 20000, 50), bench.folder / "hosts.jsonl"
    rows = []
    for hosts in SWEEP if bench.repetitions > 1 else SWEEP[:5]:
        row = [hosts]
        for exchange in ("allreduce", "driver", "server"):
            words = [data, "--local", "sgd", "--combine", "average", "--exchange", exchange, "--workers", hosts]
            words += ["--hosts", hosts, "--rounds", 3, "--log", log]
            words += ["--staleness", "async", "--clocks", 1] if exchange == "server" else []
            simulate(bench, *words)
            row.append(f"{1e3 * seconds_per_round(log):.3f}")
        rows.append(row)
    return markdown(["hosts", "allreduce", "driver", "server"], rows)


def table_rounds(bench):
    """Rounds in 300 virtual seconds on 8 hosts at 1 Gbit/s, 54 million columns, as in Table 4 of Guo et al. (2021)"""
    # Tables of 54 million columns on 8 hosts do not fit into the memory of a small machine. The time of a message is
    # its bytes over the bandwidth, so that a hundredth of the columns on links of a hundredth of the rate is the same.
    scale = 100
    data = generate(bench, 20000, COLUMNS // scale, 50)
    rows = []
    for preset in ("mllib-sgd", "mllib-ma", "ma-sgd"):
        words = [data, "--preset", preset, "--hosts", 8, "--workers", 8, "--seconds", 300, "--evaluate-every", 100000]
        done = simulate(bench, *words, "--network", f"{1000 / scale:g}Mbit", "--rounds", 100000)
        rows.append([preset, done["rounds"], f"{300 / done['rounds']:.2f}"])
    return markdown(["preset", "rounds", "seconds per round"], rows)


def others_finish(log, slow):
    """The median time in which all workers but the slow one have made the clocks of a round."""
    times = [max(w["finished"] for w in line["workers"] if w["worker"] != slow) for line in rounds_of(log)[1:]]
    return statistics.median(times)


def table_stragglers(bench):
    """Milliseconds in which seven workers of eight make 5 clocks, while the eighth takes four times as long"""
    # With a bound of 3 clocks, 5 of them take max(5, 4 (5 - 3)) = 8 instead of 20: 2.5 times less at best. Of 6 it would
    # be twice, which nothing can exceed. With few columns, the clocks are computing rather than copying the model.
    data, log, slow = generate(bench, 50000, 5000, 130), bench.folder / "stragglers.jsonl", 7
    modes = {
        "staleness 0": ["--staleness", 0],
        "staleness 3": ["--staleness", 3],
        "staleness async": ["--staleness", "async"],
        "1 backup worker": ["--staleness", 0, "--backups", 1],
    }
    engines = {"sim": ["--engine", "sim", "--compute", "modelled", "--hosts", 8, "--network", "10Gbit"], "threads": []}
    words = [data, "--local", "gradient", "--combine", "step", "--exchange", "server", "--workers", 8, "--clocks", 5]
    words += ["--straggler", f"@{slow}:4", "--evaluate-every", 100, "--log", log]
    times = {}
    for engine, more in engines.items():
        for mode, options in modes.items():
            train(bench, *words, *more, *options, "--rounds", 4 if engine == "sim" else 12)
            times[engine, mode] = others_finish(log, slow)
    rows = []
    for engine in engines:
        for mode in modes:
            gain = times[engine, "staleness 0"] / times[engine, mode]
            rows.append([engine, mode, f"{1e3 * times[engine, mode]:.1f}", f"{gain:.1f}x"])
            if mode != "staleness 0":
                bench.aim(f"{engine}, one slow worker, {mode}, sooner than staleness 0", gain, 2.0)
    return markdown(["engine", "mode", "others finish, ms", "sooner"], rows)


def table_steps(bench):
    """Steps per second of ps-async against lock-free hogwild: two threads, text of imdb's shape"""
    data, log = generate(bench, 25000, 90000, 130), bench.folder / "steps.jsonl"
    speeds = {}
    for preset in ("hogwild", "ps-async"):  # a round of either visits every row once
        train(bench, data, "--preset", preset, "--workers", 2, "--threads", 2, "--rounds", 12, "--log", log)
        speeds[preset] = 25000 / seconds_per_round(log)
    bench.aim("ps-async, steps per second, of hogwild's", speeds["ps-async"] / speeds["hogwild"], 0.8)
    return markdown(["preset", "steps per second"], [[preset, f"{speed:,.0f}"] for preset, speed in speeds.items()])


def write_dense(folder, rows, columns):
    """Two classes of dense rows, as IDX files of single-precision numbers."""
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, columns), dtype=np.float32)
    labels = (x @ random.standard_normal(columns).astype(np.float32) > 0).astype(np.uint8)
    data, targets = folder / "dense-images-idx2", folder / "dense-labels-idx1"
    data.write_bytes(struct.pack(">4BII", 0, 0, 0x0D, 2, rows, columns) + x.astype(">f4").tobytes())
    targets.write_bytes(struct.pack(">4BI", 0, 0, 0x08, 1, rows) + labels.tobytes())
    return [data, "--labels", targets]


def table_platforms(bench):
    """Logistic regression of Zhang, Alqahtani and Demirbas (2017): 10,000 x 10,000 dense, 3 workers, steps of one row, samples per second"""
    rows, columns, log = 10000 if bench.repetitions > 1 else 1000, 10000, bench.folder / "dense.jsonl"
    data = write_dense(bench.folder, rows, columns)
    words = [*data, "--loss", "logistic", "--preset", "petuum", "--workers", 3, "--local-steps", 1, "--rounds", 4]
    clocks = rows // 3
    train(bench, *words, "--staleness", 3, "--clocks", clocks, "--evaluate-every", 100, "--log", log)
    speed = 3 * clocks / seconds_per_round(log)
    found = {f"Parley, petuum, SSP 3, {os.cpu_count()} cores": speed}
    return markdown(["system", "samples per second"], [[name, f"{s:,.0f}"] for name, s in (PAPER_003 | found).items()])
