#!/usr/bin/env python3
"""run.py PARLEY: measures what an exchange sends between four hosts with links of 100 Mbit/s, made of network namespaces,
and compares it with the formula in docs/exchange.md. Skipped with a message if namespaces are not permitted.

The model must be that of one process. The bytes of a round on the links of the hosts must match those that Parley counted,
up to TCP headers and the scalars of a round. For gradient descent, whose tables are dense, the count must equal the
formula to the byte. Times are printed but not judged."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOSTS = 4
RATE = "100mbit"
COLUMNS = 20000
SLACK = 1.12  # headers, acknowledgements and scalars over payload
PREFIX = f"parley{os.getpid() % 10000}"


def call(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=120, **more)


def host(number):
    return f"{PREFIX}-{number}"


def inside(name, *words):
    return call("ip", "netns", "exec", name, *words).stdout


def make_network():
    """Makes a bridge in its own namespace, and a link to it from each host with limited outgoing bandwidth."""
    hub = f"{PREFIX}-hub"
    call("ip", "netns", "add", hub)
    call("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
    call("ip", "-n", hub, "link", "set", "bridge", "up")
    for number in range(HOSTS):
        name = host(number)
        call("ip", "netns", "add", name)
        call("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}", "netns", hub)
        call("ip", "-n", hub, "link", "set", f"port{number}", "master", "bridge", "up")
        call("ip", "-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
        call("ip", "-n", name, "link", "set", "eth0", "up")
        call("ip", "-n", name, "link", "set", "lo", "up")
        shape = ["root", "tbf", "rate", RATE, "burst", "64kb", "latency", "100ms"]
        call("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)


def remove_network():
    for name in [f"{PREFIX}-hub", *map(host, range(HOSTS))]:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60)


class Network:
    def __init__(self, parley, folder):
        self.parley, self.folder = parley, folder
        self.hosts = folder / "hosts"
        self.hosts.write_text("".join(f"{host(number)}\n" for number in range(HOSTS)))
        self.shell = folder / "shell"
        words = "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0"
        self.shell.write_text(f'#!/bin/sh\nexec ip netns exec "$1" env {words} sh -c "$2"\n')
        self.shell.chmod(0o755)

    def sent(self):
        """Bytes that all hosts have sent so far."""
        counter = "/sys/class/net/eth0/statistics/tx_bytes"
        return sum(int(inside(host(number), "cat", counter)) for number in range(HOSTS))

    def train(self, data, *flags):
        """Summary, lines of the log, bytes on the links."""
        log = self.folder / "run.jsonl"
        model = self.folder / "network.safetensors"
        before = self.sent()
        launch = ["launch", "--hosts", self.hosts, "--shell", self.shell, "--address", "10.77.0.1", "--"]
        # The hosts are one machine, on which ranks would use shared memory.
        train = ["train", data, "--workers", HOSTS, "--lanes", 1, "--threads", 1, "--model", model, "--log", log]
        train += ["--between-ranks", "messages"]
        run = subprocess.run(
            [str(w) for w in ["ip", "netns", "exec", host(0), self.parley, *launch, *train, *flags, "--json", "--quiet"]],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if run.returncode not in (0, 3):
            sys.exit(f"FAILED {flags}: exit code {run.returncode}\n{run.stderr}")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return json.loads(run.stdout), lines, self.sent() - before

    def rounds(self, data, few, many, *flags):
        """Returns the bytes of a round as counted and on the links, its seconds, and the model."""
        first, _, sent_first = self.train(data, "--rounds", few, "--gap", 0, *flags)
        last, lines, sent_last = self.train(data, "--rounds", many, "--gap", 0, *flags)
        rounds = [line for line in lines if line["event"] == "round"]
        seconds = (rounds[-1]["seconds"] - rounds[0]["seconds"]) / (len(rounds) - 1)
        counted = (last["rank_bytes_sent"] - first["rank_bytes_sent"]) / (many - few)
        model = (self.folder / "network.safetensors").read_bytes()
        return counted, (sent_last - sent_first) / (many - few), seconds, model


def same_model(network, data, model, *flags):
    alone = network.folder / "alone.safetensors"
    words = ["train", data, "--workers", HOSTS, "--lanes", 1, "--gap", 0, "--model", alone, "--quiet", *flags]
    subprocess.run([network.parley, *map(str, words)], capture_output=True, timeout=120)
    return alone.read_bytes() == model


def seconds_to(network, data, preset, objective):
    _, lines, _ = network.train(data, "--preset", preset, "--gap", 1e-9, "--rounds", 60, "--evaluate-every", 1)
    for line in lines:
        if line["event"] == "round" and line["objective"] is not None and line["objective"] <= objective:
            return line["seconds"], line["round"]
    return None


def main():
    parley = str(Path(sys.argv[1]).resolve())
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        print("skipped: network namespaces need root, ip and tc")
        return 0
    with tempfile.TemporaryDirectory(prefix="parley-network-") as name:
        folder = Path(name)
        try:
            make_network()
        except subprocess.CalledProcessError as error:
            remove_network()
            print(f"skipped: no network namespaces here: {error.stderr.strip()}")
            return 0
        try:
            return measure(parley, folder)
        finally:
            remove_network()


def measure(parley, folder):
    network = Network(parley, folder)
    data = folder / "data.svm"
    call(parley, "generate", "text", data, "--rows", 4000, "--columns", COLUMNS, "--nonzeros", 150, "--quiet")
    passed = failed = 0
    found = {}
    for preset in ("gd", "ma-sgd", "mllib-sgd"):
        for exchange in ("allreduce", "driver"):
            flags = ("--preset", preset, "--exchange", exchange)
            counted, sent, seconds, model = network.rounds(data, 5, 25, *flags)
            found[preset, exchange] = seconds
            faults = []
            if preset == "gd" and counted != 16 * (HOSTS - 1) * (COLUMNS + 1):
                faults.append(f"the formula says {16 * (HOSTS - 1) * (COLUMNS + 1):,}")
            if not counted <= sent <= SLACK * counted:
                faults.append("the links disagree")
            if not same_model(network, data, model, "--rounds", 25, *flags):
                faults.append("not the model of one process")
            passed += not faults
            failed += bool(faults)
            print(
                f"{preset:10} {exchange:10} {counted:12,.0f} bytes a round counted, {sent:12,.0f} on the links, "
                f"{1e3 * seconds:6.1f} ms" + "".join(f" FAILED: {fault}" for fault in faults)
            )
    for preset in ("ma-sgd", "mllib-sgd"):
        ratio = found[preset, "driver"] / found[preset, "allreduce"]
        print(f"{preset}: a round through the driver takes {ratio:.1f}x as long as by allreduce")
    best = min(line["objective"] for line in network.train(data, "--preset", "lbfgs")[1] if line.get("objective"))
    times = {preset: seconds_to(network, data, preset, best + 0.01) for preset in ("ma-sgd", "mllib-sgd")}
    for preset, time in times.items():
        print(f"{preset}: " + (f"{time[1]} rounds, {time[0]:.2f} s" if time else "not in 60 rounds") + " to 0.01 above the best")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
