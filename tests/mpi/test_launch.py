#!/usr/bin/env python3
"""test_launch.py PARLEY [all] [WORD ...]: `parley launch`, here and through a stand-in for ssh: how ranks end, restarts,
signals, ports, and strangers who connect to them. With words, only the tests whose names contain one of them. `all` also
starts 64 ranks and ranks of which one hangs, and lets strangers visit ten runs."""
import contextlib
import glob
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PARLEY = os.path.abspath(sys.argv[1])
ALL = "all" in sys.argv[2:]
SHELL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "remote_shell.py")
LONG = ["--preset", "cocoa", "--lambda", "1e-6", "--gap", "0", "--rounds", "1000000"]
SHORT = ["--preset", "cocoa", "--lambda", "1e-6", "--gap", "0", "--rounds", "60"]
passed = failed = 0


def check(good, name, said=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", name, "\n", said, flush=True)


def until(condition, seconds):
    """Waits for a condition, and returns its last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def read(path):
    with open(path, "rb") as file:
        return file.read()


def ranks_alive(rank=None):
    """Identifiers of the processes of ranks and their guards, by the folder of the test and the rank in their environment."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = read(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()[0]
            words, variables = read(f"/proc/{pid}/cmdline"), read(f"/proc/{pid}/environ")
        except OSError:
            continue
        number = [word[9:] for word in variables.split(b"\0") if word.startswith(b"PMI_RANK=")]
        if number and state != b"Z" and words.startswith(PARLEY.encode()) and os.getcwd().encode() in words:
            if rank is None or int(number[0]) == rank:
                found[int(pid)] = read(f"/proc/{pid}/comm").strip().decode()
    return found


def runs_alive():
    """The launcher's ports that are in the environments of ranks, of which every start has another."""
    found = set()
    for pid in ranks_alive():
        with contextlib.suppress(OSError):
            found |= {word for word in read(f"/proc/{pid}/environ").split(b"\0") if word.startswith((b"PARLEY_FROM", b"PMI_PORT"))}
    return found


def workers(rank=None):
    return [pid for pid, name in ranks_alive(rank).items() if name == "parley"]


def trains(count):
    """Have this many ranks with a guard begun to train?"""
    alive = ranks_alive()
    guards = [pid for pid, name in alive.items() if name == "parley-guard"]
    return len(guards) == count and os.path.exists("log") and b'"round"' in read("log")


class Launched:
    """A started `parley launch` with its standard error in a file."""

    def __init__(self, *words, hosts=None, launch=(), **variables):
        for name in ("model", "log", "shell.log", "said"):
            with contextlib.suppress(OSError):
                os.unlink(name)
        self.folder = os.getcwd()
        start = [PARLEY, "launch"]
        if hosts:
            with open("hosts", "w", encoding="ascii") as file:
                file.write("\n".join(hosts) + "\n")
            start += ["--hosts", "hosts", "--shell", SHELL, "--address", "127.0.0.1"]
        train = ["train", os.path.join(self.folder, "all.svm"), "--workers", "6", "--lanes", "1", "--threads", "1"]
        train += ["--model", os.path.join(self.folder, "model"), "--log", os.path.join(self.folder, "log"), "--quiet"]
        with open("said", "wb") as said:
            self.process = subprocess.Popen(
                start + list(launch) + ["--"] + train + list(words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**os.environ, "SHELL_LOG": os.path.join(self.folder, "shell.log"), **variables},
            )

    def said(self):
        return read("said").decode(errors="replace")

    def end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Whatever happened, no process stays."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in [*ranks_alive(), *(shell[1] for shell in shells()), *(shell[2] for shell in shells())]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def shells():
    """Host, identifier of the stand-in and of the remote process, and command, of everything the stand-in has started."""
    if not os.path.exists("shell.log"):
        return []
    with open("shell.log", encoding="utf-8") as file:
        split = [line.split(" ", 3) for line in file]
    return [(host, int(shell), int(remote), command) for host, shell, remote, command in split]


def starts(rank):
    """The stand-ins that were started for a rank."""
    return [shell for shell in shells() if f"PMI_RANK={rank}'" in shell[3]]


def expected():
    """The model of one process with the words SHORT."""
    words = ["train", "all.svm", "--workers", "6", "--lanes", "1", "--model", "one.model", "--quiet"]
    subprocess.run([PARLEY, *words, *SHORT], check=False, stdout=subprocess.DEVNULL, timeout=60)
    return read("one.model")


def gone(seconds):
    """Do all processes of ranks end within this time?"""
    until(lambda: not ranks_alive(), seconds)
    return not ranks_alive()


HOSTS = ["alpha:2", "beta", "gamma"]


def test_remote_model():
    """Ranks on other machines give the model of one process. No secret is in a command line."""
    with Launched(*SHORT, hosts=HOSTS) as run:
        code = run.end(30)
        check(code in (0, 3) and read("model") == expected(), f"remote ranks end with {code}", run.said())
        check(len(shells()) == 4 and gone(5), "every remote rank was started once and ended")
        secrets = [word for shell in shells() for word in shell[3].split() if re.fullmatch("[0-9a-f]{32}", word.strip("'").split("=")[-1])]
        check(not secrets, f"secrets in a command line: {secrets}")
    with Launched(*SHORT, hosts=["alpha"]) as run:
        code = run.end(30)
        check(code in (0, 3) and gone(5), f"one remote rank ends with {code}", run.said())


def test_remote_starter_killed():
    """Remote ranks end when the launcher is killed."""
    with Launched(*LONG, hosts=HOSTS) as run:
        check(until(lambda: trains(4), 20), "remote ranks train", run.said())
        run.process.kill()
        check(gone(5), f"ranks are left over without a launcher: {ranks_alive()}")


def test_remote_starter_silent():
    """Remote ranks end by themselves when nothing has been heard of the launcher for the deadline."""
    with Launched(*LONG, "--deadline", "2", hosts=HOSTS) as run:
        check(until(lambda: trains(4), 20), "remote ranks train", run.said())
        run.process.send_signal(signal.SIGSTOP)
        check(gone(7), f"ranks are left over with a silent launcher: {ranks_alive()}")


def test_interrupted():
    """The first Ctrl-C leaves the best model, here and on other machines."""
    for hosts, launch in ((HOSTS, ()), (None, ("-n", "3"))):
        with Launched(*LONG, hosts=hosts, launch=launch) as run:
            until(lambda: trains(4 if hosts else 3), 20)
            run.process.send_signal(signal.SIGINT)
            code = run.end(10)
            check(code == 130 and os.path.exists("model"), f"Ctrl-C with hosts {hosts} ends with {code}", run.said())
            check(gone(5), f"ranks are left over after Ctrl-C: {ranks_alive()}")


def test_interrupted_twice():
    """The second Ctrl-C ends everything at once, also ranks that do not react."""
    for hosts, launch in ((HOSTS, ()), (None, ("-n", "3"))):
        with Launched(*LONG, hosts=hosts, launch=launch) as run:
            until(lambda: trains(4 if hosts else 3), 20)
            for pid in workers():
                os.kill(pid, signal.SIGSTOP)
            run.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            check(run.process.poll() is None, "the first Ctrl-C asks and waits", run.said())
            run.process.send_signal(signal.SIGINT)
            code = run.end(5)
            check(code == 130 and gone(5), f"a second Ctrl-C with hosts {hosts} ends with {code}: {ranks_alive()}", run.said())


def test_dropped_shell():
    """When ssh is lost, its rank ends, and the message names it. A restart begins after all ranks have ended."""
    with Launched(*LONG, hosts=HOSTS) as run:
        until(lambda: trains(4), 20)
        os.kill(starts(2)[0][1], signal.SIGKILL)
        check(until(lambda: not ranks_alive(2), 5) in (None, True), f"rank 2 is left over: {ranks_alive(2)}")
        code = run.end(15)
        check(code == 4 and "rank 2" in run.said() and gone(5), f"a lost ssh ends with {code}: {ranks_alive()}", run.said())
    state = os.path.join(os.getcwd(), "state")
    with Launched(*SHORT, "--exchange-delay", "0.03", "--checkpoint", state, "--checkpoint-every", "0.2s", hosts=HOSTS,
                  launch=("--restarts", "1")) as run:
        until(lambda: trains(4) and glob.glob("state/round-?.safetensors"), 20)
        os.kill(starts(2)[0][1], signal.SIGKILL)
        together = 0
        while run.process.poll() is None:
            together = max(together, len(runs_alive()))
            time.sleep(0.005)
        check(together == 1, f"ranks of {together} runs at the same time")
        code = run.end(30)
        check(code in (0, 3) and "restarting from the last checkpoint" in run.said() and read("model") == expected(),
              f"a restart ends with {code}", run.said())
        check([len(starts(r)) for r in range(4)] == [2, 2, 2, 2], f"starts of each rank: {[len(starts(r)) for r in range(4)]}")


def test_failed_shell():
    """A shell that does not run its command is named in one sentence, whatever its exit code is, and for every rank."""
    for hosts in (["localhost", "beta"], ["alpha", "localhost"], ["alpha"]):
        with open("hosts", "w", encoding="ascii") as file:
            file.write("\n".join(hosts) + "\n")
        rank = next(r for r, host in enumerate(hosts) if host != "localhost")
        for shell, ended in (("false", 1), ("true", 0)):
            words = [PARLEY, "launch", "--hosts", "hosts", "--shell", shell, "--address", "127.0.0.1", "--", "train", "all.svm", "--quiet"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            sentence = f"parley: rank {rank} was lost: {shell} to host {hosts[rank]} ended with exit code {ended} before the rank had started"
            check(done.returncode == 4 and done.stderr.startswith(sentence) and done.stderr.count("\n") == 1,
                  f"shell {shell} with hosts {hosts} ends with {done.returncode}", done.stderr)
        done = subprocess.run([*words[:5], "missing", *words[6:]], capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 4 and done.stderr == f"parley: cannot start rank {rank}: missing: No such file or directory\n",
              f"a missing shell ends with {done.returncode}", done.stderr)


def test_lone_rank():
    """One rank on another machine waits for nobody, so it may run for longer than the start of several may take."""
    run = Launched(*LONG[:-1], "150", "--deadline", "2", "--exchange-delay", "0.06", "--engine", "threads", hosts=["alpha"])
    code = run.process.wait(60)
    check(code in (0, 3), f"a lone rank ends with {code}", read("said").decode(errors="replace"))


def test_terminal():
    """On a terminal, the rank on another machine that tells the progress rewrites its line there."""
    words = "train all.svm --model model --gap 1e-9 --preset gd --rounds 200"
    launch = f"{PARLEY} launch --hosts hosts --shell {SHELL} --address 127.0.0.1 -- {words}"
    with open("hosts", "w", encoding="ascii") as file:
        file.write("alpha:2\n")
    variables = {**os.environ, "SHELL_LOG": os.path.join(os.getcwd(), "shell.log")}
    script = ["script", "-qec", launch, "/dev/null"]
    seen = subprocess.run(script, stdin=subprocess.DEVNULL, capture_output=True, env=variables, timeout=60).stdout
    check(re.search(rb"\r\x1b\[K\[[#.]{12}\] +\d+ %  round", seen), "a bar of remote ranks", seen.decode(errors="replace"))
    check(gone(5), "the ranks of a terminal ended")


def test_stuck_rank():
    """There is no restart while a remote rank may still run."""
    with Launched(*LONG, "--deadline", "1", hosts=HOSTS, launch=("--restarts", "1")) as run:
        until(lambda: trains(4), 20)
        for pid in ranks_alive(2):
            os.kill(pid, signal.SIGSTOP)
        os.kill(starts(2)[0][1], signal.SIGKILL)
        code = run.end(20)
        check(code == 4 and "rank 2 on beta may still be running" in run.said(), f"a stuck rank ends with {code}", run.said())
        check(len(starts(2)) == 1, f"rank 2 was started {len(starts(2))} times")
        for pid in ranks_alive(2):
            with contextlib.suppress(ProcessLookupError):  # one may end with the one before
                os.kill(pid, signal.SIGCONT)
        check(gone(5), f"a rank that was stuck stays: {ranks_alive()}")


def test_stopped_shell():
    """A process that is stopped is named and continued, or killed if it is stopped again."""
    with Launched(*SHORT, "--exchange-delay", "0.03", hosts=HOSTS) as run:
        until(lambda: trains(4), 20)
        os.kill(starts(1)[0][1], signal.SIGSTOP)
        code = run.end(20)
        check(code in (0, 3) and "rank 1 was stopped" in run.said(), f"a stopped ssh ends with {code}", run.said())
    with Launched(*SHORT, "--deadline", "2", hosts=HOSTS, SHELL_STOPS="gamma") as run:
        code = run.end(15)
        check(code == 4 and "rank 3 was stopped again" in run.said() and gone(5), f"a stopping ssh ends with {code}", run.said())


def listening():
    """Addresses on which processes of ranks and launchers of this test listen."""
    owned = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if not read(f"/proc/{pid}/cmdline").startswith(PARLEY.encode()):
                continue
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:["):
                        owned.add(target[8:-1])
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue
        for line in read(table).decode().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in owned:
                address, port = words[1].split(":")
                found.add((address, int(port, 16)))
    return found


def test_ports_here():
    """If all ranks are on this machine, nothing listens to others: neither the launcher, nor the ranks, nor MPI."""
    with Launched(*LONG, launch=("-n", "3")) as run:
        found = set()
        while not trains(3) and run.process.poll() is None:
            found |= listening()
        found |= listening()
        outside = [place for place in found if not place[0].endswith("7F")]
        check(trains(3) and not outside, f"ports for others: {outside}", run.said())


class Strangers(threading.Thread):
    """Connects to every port of the launcher and the ranks, again and again, and misbehaves in every way."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.ports, self.over, self.met, self.sockets, self.turn, self.answers = ports, False, set(), [], 0, b""

    def visit(self, port):
        words = [b"", b"garbage\n", b"parley 1" + bytes(24), b"cmd=initack pmiid=1\n", b"cmd=barrier_in\n", b"x" * 100000]
        with contextlib.suppress(OSError):
            stranger = socket.create_connection(("127.0.0.1", port), 1)
            self.sockets.append(stranger)
            stranger.setblocking(False)
            stranger.send(words[self.turn % len(words)])
            self.met.add(port)
        self.turn += 1

    def run(self):
        while not self.over and len(self.sockets) < 600:
            for port in self.ports():
                self.visit(port)
            time.sleep(0.002)

    def end(self):
        self.over = True
        self.join(10)
        for stranger in self.sockets:
            with contextlib.suppress(OSError):
                self.answers += stranger.recv(1000)
            stranger.close()


def launcher_port():
    """The port of the launcher, from the command of a remote rank."""
    for shell in shells():
        return int(shell[3].split("PARLEY_FROM=127.0.0.1:")[1].split("'")[0])
    return None


def flood(port, most):
    """Sends up to so many bytes without a newline; returns how many were taken before the connection was closed."""
    sent, chunk = 0, b"x" * 65536
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as stranger:
        stranger.settimeout(2)
        while sent < most:
            sent += stranger.send(chunk)
    return sent


def test_strangers():
    """Strangers on the ports of the launcher and of the watch neither stop nor delay a run, and get no answer."""
    wanted = expected()
    met = 0
    for _ in range(10):
        if met >= 2 and not ALL:
            break  # otherwise the run was over before they had found the ports of its ranks
        with Launched(*SHORT, hosts=HOSTS, SHELL_WAIT="0.5") as run:
            strangers = Strangers(lambda: sorted({port for _, port in listening()}))
            strangers.start()
            taken = flood(until(launcher_port, 10), 100 << 20)
            check(taken < 10 << 20, f"the launcher took {taken} bytes of a stranger")
            code = run.end(30)
            strangers.end()
            check(code in (0, 3) and read("model") == wanted, f"a run among strangers ends with {code}", run.said())
            met = max(met, len(strangers.met))
            check(not strangers.answers, f"strangers got answers: {strangers.answers[:100]}")
    check(met >= 2, f"strangers met only {met} ports")


def hello(secret, rank):
    return b"parley 1" + bytes.fromhex(secret) + rank.to_bytes(4, "little") + bytes(4)


ROGUE = """#!/usr/bin/env python3
import os, sys, time
command = " ".join(sys.argv[2:])
secret = sys.stdin.readline().strip()
with open(os.environ["SHELL_LOG"] + ".tmp", "w") as file:
    file.write(secret + " " + command)
os.rename(os.environ["SHELL_LOG"] + ".tmp", os.environ["SHELL_LOG"])
while sys.stdin.read(1):
    pass
"""


def test_rogue_rank():
    """A rank that knows its secret cannot stop the launcher: it is accepted once, and its requests are bounded."""
    with open("rogue.py", "w", encoding="ascii") as file:
        file.write(ROGUE)
    os.chmod("rogue.py", 0o755)
    rogue = ("--shell", os.path.join(os.getcwd(), "rogue.py"), "--hosts", "hosts", "--address", "127.0.0.1")
    with open("hosts", "w", encoding="ascii") as file:
        file.write("alpha\n")
    with Launched(*LONG, launch=rogue) as run:
        until(lambda: os.path.exists("shell.log"), 10)
        secret, command = read("shell.log").decode().split(" ", 1)
        port = int(command.split("PARLEY_FROM=127.0.0.1:")[1].split("'")[0])
        os.unlink("shell.log")
        with socket.create_connection(("127.0.0.1", port), 5) as rank, socket.create_connection(("127.0.0.1", port), 5) as twin:
            rank.settimeout(5)
            twin.settimeout(5)
            rank.sendall(hello(secret, 0))
            check(rank.recv(1) == b"y", "a rank with its secret is accepted")
            twin.sendall(hello(secret, 0))
            with contextlib.suppress(ConnectionResetError):
                check(twin.recv(1) == b"", "a rank is accepted once")
            rank.sendall(b"x" * (1 << 20) + b"\n" + b"cmd=put kvsname=parley key=a value=" + b"v" * 1024 + b"\n")
            check(rank.recv(100).startswith(b"cmd=put_result rc=0"), "a line that is too long is skipped")
            for words in (b"cmd=put kvsname=parley key=a value=2\n", b"cmd=put kvsname=parley key=b value=" + b"v" * 1025 + b"\n"):
                rank.sendall(words)
                check(rank.recv(100).startswith(b"cmd=put_result rc=-1"), f"{words[:40]} is refused")
            keys = 0
            for n in range(2000):
                rank.sendall(b"cmd=put kvsname=parley key=k%d value=1\n" % n)
                keys += rank.recv(100).startswith(b"cmd=put_result rc=0")
            check(keys < 1500, f"a rank put {keys} keys")
            rank.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    rank.send(b"cmd=get kvsname=parley key=a\n" * 1000)  # and never reads
            time.sleep(0.5)
            peak = int(read(f"/proc/{run.process.pid}/statm").split()[1]) * resource.getpagesize()
            check(peak < 100 << 20, f"the launcher takes {peak} bytes")
            run.process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            run.process.send_signal(signal.SIGINT)
            code = run.end(5)
            check(code == 130, f"a launcher with a rank that does not read ends with {code}", run.said())


def test_start_that_hangs():
    """If one rank never starts, one sentence says so."""
    if not ALL:
        return
    with open("hangs.sh", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexec sleep 60\n")
    os.chmod("hangs.sh", 0o755)
    with open("hosts", "w", encoding="ascii") as file:
        file.write("localhost:4\nalpha\n")
    hangs = ("--shell", os.path.join(os.getcwd(), "hangs.sh"), "--hosts", "hosts", "--address", "127.0.0.1")
    with Launched(*LONG, "--deadline", "0.1", launch=hangs) as run:
        code = run.end(20)
        said = run.said().splitlines()
        check(code == 4 and len(said) == 1 and "timed out before all ranks" in said[0], f"a hanging start ends with {code}: {said}")
        check(gone(5), f"left over of a start that hangs: {ranks_alive()}")


def test_many_ranks():
    """64 ranks on one machine with a short deadline: the model of one process; one message and a restart if one is killed."""
    if not ALL:
        return
    wanted = expected()
    with Launched(*SHORT, "--deadline", "3", launch=("-n", "64")) as run:
        code = run.end(60)
        check(code in (0, 3) and read("model") == wanted and gone(5), f"64 ranks end with {code}", run.said())
    with Launched(*LONG, launch=("-n", "64", "--restarts", "1")) as run:
        check(until(lambda: trains(64), 60), "64 ranks train", run.said())
        os.unlink("log")
        os.kill(workers(40)[0], signal.SIGKILL)
        check(until(lambda: "restarting" in run.said() and trains(64), 60), "64 ranks train again", run.said())
        said = [line for line in run.said().splitlines() if line.startswith("parley: ")]
        check(len(said) == 2 and "rank 40 on " in said[0], f"a lost rank of 64: {said}")
        run.process.send_signal(signal.SIGINT)
        code = run.end(20)
        check(code == 130 and gone(5), f"64 ranks that are interrupted end with {code}: {ranks_alive()}", run.said())


def main():
    if not shutil.which("mpiexec.mpich"):
        print("0 passed: skipped, because MPICH is not installed")
        return 0
    tests = [function for name, function in globals().items() if name.startswith("test_")]
    wanted = [word for word in sys.argv[2:] if word != "all"]
    with tempfile.TemporaryDirectory(prefix="parley-launch-") as folder:
        os.chdir(folder)
        words = ["--rows", "3000", "--columns", "300", "--nonzeros", "12", "--quiet"]
        subprocess.run([PARLEY, "generate", "text", "all.svm", *words], check=True, timeout=60)
        for test in tests:
            if not wanted or any(word in test.__name__ for word in wanted):
                began = time.monotonic()
                test()
                print(f"{test.__name__[5:]}: {time.monotonic() - began:.1f} s", flush=True)
        os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
