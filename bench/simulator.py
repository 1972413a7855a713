"""The engine sim against hosts in network namespaces, and what it says of clusters that are not there."""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness import markdown

PRESETS = ("cocoa+", "ma-sgd", "mllib-sgd", "petuum*")
RATES = ("100mbit", "1gbit")
HOSTS = (2, 4)
ROUNDS = 12
PREFIX = f"parley{os.getpid() % 10000}"
SWEEP = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COLUMNS = 54_000_000


def call(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=120)


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
            call("ip", "netns", "add", name)
            call("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}", "netns", self.hub)
            call("ip", "-n", self.hub, "link", "set", f"port{number}", "master", "bridge", "up")
            call("ip", "-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            call("ip", "-n", name, "link", "set", "eth0", "up")
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)
            call("tc", "-n", self.hub, "qdisc", "add", "dev", f"port{number}", *shape)

    def remove(self):
        for name in [self.hub, *self.names]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60)

    def run(self, parley, *words):
        launch = ["launch", "--hosts", self.hosts, "--shell", self.shell, "--address", "10.77.0.1", "--", *words]
        command = ["ip", "netns", "exec", self.names[0], parley, *launch]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr)
        return done.stdout


def seconds_per_round(log):
    """The median time from one line of the log to the next, without evaluation."""
    rounds = [line for line in map(json.loads, Path(log).read_text().splitlines()) if line["event"] == "round"]
    times = []
    for before, line in zip(rounds[1:], rounds[2:]):
        evaluated = max(rank["evaluate"] for rank in line["ranks"])
        times.append(line["seconds"] - before["seconds"] - evaluated)
    return statistics.median(times)


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
            probe = Path(folder) / "network.json"
            network.run(bench.parley, "probe", probe, "--between-ranks", "messages")
            for preset in PRESETS:
                log = Path(folder) / "log.jsonl"
                network.run(bench.parley, *training(data, preset, hosts, log), "--between-ranks", "messages")
                real = seconds_per_round(log)
                speed = min(1.0, os.cpu_count() / hosts)  # the hosts share the cores of this machine
                simulated = training(data, preset, hosts, log)
                simulated += ["--engine", "sim", "--hosts", hosts, "--network", probe, "--host-speed", speed]
                done = subprocess.run([bench.parley, *map(str, simulated)], capture_output=True, text=True, timeout=600)
                if done.returncode not in (0, 3):
                    raise RuntimeError(done.stderr)
                rows.append([preset, hosts, rate, real, seconds_per_round(log)])
        finally:
            network.remove()
    return rows


def table_simulator(bench):
    """Seconds per round on hosts in network namespaces, and as predicted by the engine sim from `parley probe`"""
    data = bench.folder / "simulator.svm"
    subprocess.run(
        [bench.parley, "generate", "text", data, "--rows", "20000", "--columns", "100000", "--nonzeros", "60", "--quiet"],
        check=True,
        timeout=120,
    )
    found = []
    for hosts in HOSTS:
        for rate in RATES:
            try:
                found += compare(bench, data, hosts, rate)
            except (subprocess.CalledProcessError, FileNotFoundError) as error:
                return f"Not run: network namespaces are not permitted here ({error}).\n"
    errors = [abs(predicted / real - 1) for *_, real, predicted in found]
    bench.aim("simulator, error of seconds per round, median", statistics.median(errors), 0.10, at_least=False)
    bench.aim("simulator, error of seconds per round, worst", max(errors), 0.25, at_least=False)
    rows = [
        [preset, hosts, rate, f"{1e3 * real:.1f}", f"{1e3 * predicted:.1f}", f"{100 * (predicted / real - 1):+.0f} %"]
        for preset, hosts, rate, real, predicted in found
    ]
    return markdown(["preset", "hosts", "links", "real, ms", "predicted, ms", "error"], rows)


def simulate(bench, *words):
    command = [bench.parley, "train", *words, "--engine", "sim", "--compute", "modelled", "--gap", 0, "--quiet", "--json"]
    command += ["--model", bench.folder / "simulated.model"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1200)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def table_hosts(bench):
    """Virtual milliseconds of a round of sgd by hosts and exchange: 20,000 columns, 1 Gbit/s, 50 us"""
    data = bench.folder / "hosts.svm"
    subprocess.run(
        [bench.parley, "generate", "text", data, "--rows", "20000", "--columns", "20000", "--nonzeros", "50", "--quiet"],
        check=True,
        timeout=120,
    )
    rows = []
    for hosts in SWEEP if bench.repetitions > 1 else SWEEP[:5]:
        row = [hosts]
        for exchange in ("allreduce", "driver", "server"):
            log = bench.folder / "hosts.jsonl"
            words = [data, "--local", "sgd", "--combine", "average", "--exchange", exchange, "--workers", hosts]
            words += ["--hosts", hosts, "--rounds", 3, "--log", log]
            words += ["--staleness", "async", "--clocks", 1] if exchange == "server" else []
            simulate(bench, *words)
            row.append(f"{1e3 * seconds_per_round(log):.3f}")
        rows.append(row)
    return markdown(["hosts", "allreduce", "driver", "server"], rows)


def table_rounds(bench):
    """Rounds in 300 virtual seconds on 8 hosts at 1 Gbit/s with a model of 54 million columns, as in Table 4 of paper 001"""
    # Tables of 54 million columns on 8 hosts do not fit into the memory of a small machine. The time of a message is its
    # bytes over the bandwidth, so that a hundredth of the columns on links of a hundredth of the rate gives the same.
    scale = 100
    data = bench.folder / "rounds.svm"
    subprocess.run(
        [bench.parley, "generate", "text", data, "--rows", "20000", "--columns", COLUMNS // scale, "--nonzeros", "50", "--quiet"],
        check=True,
        timeout=300,
    )
    rows = []
    for preset in ("mllib-sgd", "mllib-ma", "ma-sgd"):
        words = [data, "--preset", preset, "--hosts", 8, "--workers", 8, "--seconds", 300, "--evaluate-every", 100000]
        done = simulate(bench, *words, "--network", f"{1000 / scale:g}Mbit", "--rounds", 100000)
        rows.append([preset, done["rounds"], f"{300 / done['rounds']:.2f}"])
    return markdown(["preset", "rounds", "seconds per round"], rows)
