"""The driver's side of a run: it waits for the tasks of the barrier stage, starts `parley launch`, which serves PMI-1
to the ranks, and connects the launcher with the tasks. It runs in a thread beside Spark's job."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from . import _task

EARLY, DONE = 3, 0
COMMAND = struct.Struct(">I")
END_SECONDS = 5.0


class Part:
    """A task of the stage, with the facts of its rows."""

    def __init__(self, line: _task.Line):
        self.line, self.facts, self.rank = line, None, None


class Facts:
    """What is known of the data when all tasks have read their rows."""

    def __init__(self, parts: list[dict]):
        self.parts, self.ranks = parts, 1
        self.rows = sum(part["rows"] for part in parts)
        self.nonzeros = sum(part["nonzeros"] for part in parts)
        self.bytes = sum(part["bytes"] for part in parts)
        self.seconds = max(part["seconds"] for part in parts)
        self.sums = [sum(part["sums"][i] for part in parts) for i in range(4)]
        self.labels = sorted({label for part in parts for label in part.get("labels", [])})
        self.extremes = [part["extremes"] for part in parts if part["extremes"]]
        sizes = {part["size"] for part in parts if part["rows"]}
        self.size = sizes.pop() if sizes else 0
        self.other_size = sizes.pop() if sizes else None

    def check(self) -> str | None:
        """What is wrong with the data as a whole."""
        if self.rows == 0:
            return "the frame has no rows"
        if self.other_size is not None:
            return f"some vectors have {self.size} features, others {self.other_size}; all must have the same size"
        if self.sums[0] == 0:
            return "all weights are 0"
        return None


class Result:
    """What one run of the ranks has produced."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.model = b""
        self.out = b""
        self.log: list[str] = []
        self.errors: list[str] = []
        self.ended: str | None = None  # how the first process of a rank ended that did not end well
        self.began = time.monotonic()
        self.seconds = 0.0

    def cause(self) -> str:
        """The first message of a rank or the launcher, in one line."""
        for text in self.errors:
            for line in text.splitlines():
                if line.startswith("parley: "):
                    return line[len("parley: ") :]
        last = [line for text in self.errors for line in text.splitlines() if line.strip()]
        return last[-1] if last else self.ended or f"the ranks ended with exit code {self.code} and without a message"


class Failure(Exception):
    """A run that failed. `kind` says whether the data, the settings or the machines are the reason."""

    def __init__(self, cause: str, kind: str):
        super().__init__(cause)
        self.kind = kind


class Driver:
    """Serves the tasks of one barrier stage. `commands(facts)` returns the arguments of `parley train` for each run."""

    def __init__(self, host: str, bind: str, reading: dict,
                 commands: Callable[[Facts], list[list[str]]], see: Callable[[int, str], None], name: str):  # fmt: skip
        self.tasks, self.commands, self.see, self.name = 0, commands, see, name
        self.host, self.secret = host, secrets.token_hex(16)
        self.reading = reading
        self.listener = socket.create_server((bind, 0), backlog=1024)
        self.folder = tempfile.mkdtemp(prefix=f"parley-{os.getpid()}-")
        self.bridge = socket.socket(socket.AF_UNIX)
        self.bridge.bind(os.path.join(self.folder, "bridge"))
        self.bridge.listen(1024)
        self.selector = selectors.DefaultSelector()
        self.waker, self.woken = socket.socketpair()
        self.parts: dict[int, Part] = {}
        self.lines: dict[_task.Line, Part] = {}
        self.leaders: list[Part] = []
        self.bridges: dict[int, socket.socket] = {}
        self.hung_up: set[int] = set()
        self.queue: list[list[str]] = []
        self.results: list[Result] = []
        self.launcher: subprocess.Popen | None = None
        self.launcher_end: int | None = None  # readable when it has ended
        self.facts: Facts | None = None
        self.failure: Failure | None = None
        self.ending = False
        self.asked = False
        self.ready_at = 0.0
        self.thread = threading.Thread(target=self._run, daemon=True, name="parley-driver")

    def plan(self) -> dict:
        """What tasks need to know."""
        port = self.listener.getsockname()[1]
        return {"address": [self.host, port], "secret": self.secret, **self.reading}

    def start(self, tasks: int) -> None:
        self.tasks = tasks
        for source, what in (
            (self.listener, self._accept),
            (self.bridge, self._accept_bridge),
            (self.woken, self._wake),
        ):
            source.setblocking(False)
            self.selector.register(source, selectors.EVENT_READ, what)
        self.thread.start()

    def stop(self) -> None:
        """Ends the thread. Runs that have not ended are aborted."""
        self.asked = True
        if not self.thread.ident:
            self._close()
            return
        with contextlib.suppress(OSError):
            self.waker.send(b"x")
        self.thread.join()

    def complete(self) -> list[Result]:
        """The runs that have ended with a model."""
        return [result for result in self.results if result.code in (DONE, EARLY) and result.model]

    def _run(self) -> None:
        try:
            while not self.ending or self.lines:
                if self.ending and time.monotonic() > self.ready_at + END_SECONDS:
                    break
                for key, _ in self.selector.select(0.05 if self.launcher or self.ending else 0.5):
                    key.data(key.fileobj)
                self._look_at_launcher()
                if self.asked:
                    self._end({"abort": "the job has ended"})
                    break
        except Exception as cause:  # a fault of ours must not leave the job waiting
            self._fail(f"{type(cause).__name__}: {cause}", "fault")
        finally:
            self._close()

    def _wake(self, source: socket.socket) -> None:
        source.recv(64)

    def _accept(self, source: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = source.accept()
            connection.setblocking(True)
            connection.settimeout(30.0)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = _task.Line(connection)
            self.selector.register(line, selectors.EVENT_READ, self._meet)

    def _meet(self, line: _task.Line) -> None:
        """The first message of a connection must be the secret."""
        try:
            messages = line.read()
            if not messages:
                return
            if not _task.knows(messages[0][0], self.secret):
                raise ConnectionError("a stranger")
        except (OSError, ValueError):
            self.selector.unregister(line)
            line.close()
            return
        line.trust()
        self.lines[line] = Part(line)
        self.selector.modify(line, selectors.EVENT_READ, self._hear)
        for message, data in messages[1:]:
            self._obey(self.lines[line], message, data)

    def _hear(self, line: _task.Line) -> None:
        part = self.lines[line]
        try:
            messages = line.read()
        except (OSError, ValueError):
            self.selector.unregister(line)
            line.close()
            del self.lines[line]
            if not self.ending:
                self._lose(part)
            return
        for message, data in messages:
            self._obey(part, message, data)

    def _lose(self, part: Part) -> None:
        where = f" of partition {part.facts['partition']} on {part.facts['host']}" if part.facts else ""
        self._fail(f"the task{where} was lost: its executor, its Python worker or its job was ended", "task")

    def _obey(self, part: Part, message: dict, data: bytes) -> None:
        if "bad" in message:
            where = f"partition {message['partition']}"
            kind = "data" if message["kind"] == "BadRows" else "place"
            self._fail(f"{where}: {message['bad']}" if kind == "data" else message["bad"], kind)
        elif "partition" in message:
            part.facts = message
            self.parts[message["partition"]] = part
            if len(self.parts) == self.tasks:
                self._place()
        elif message.get("run") == len(self.results) - 1 and self.results:
            self._note(part, message, data)

    def _note(self, part: Part, message: dict, data: bytes) -> None:
        result = self.results[-1]
        if "log" in message:
            lines = data.decode(errors="replace").splitlines()
            result.log += lines
            for line in lines:
                self.see(len(self.results) - 1, line)
        elif "model" in message:
            result.model = data
        elif "out" in message:
            result.out += data
        elif "err" in message:
            result.errors.append(data.decode(errors="replace"))
        elif "code" in message and result.code is None:
            if message["code"] and not result.ended:
                result.ended = (
                    f"rank {part.rank} on {part.facts['host']} was lost: its process ended with {message['code']}"
                )
            if len(self.leaders) == 1:
                self._conclude(message["code"])
            elif part.rank in self.bridges:
                self._end_bridge(part.rank, message["code"])

    def _end_bridge(self, rank: int, code: int) -> None:
        """Tells the launcher how a rank has ended."""
        bridge = self.bridges.pop(rank)
        if rank not in self.hung_up:
            self.selector.unregister(bridge)
        with contextlib.suppress(OSError):
            bridge.sendall(bytes([code & 255]))
        bridge.close()

    def _place(self) -> None:
        """All tasks have read their rows: chooses a leader for each executor, and starts the first run."""
        self.facts = Facts([self.parts[i].facts for i in range(self.tasks)])
        if fault := self.facts.check():
            self._fail(fault, "data")
            return
        executors: dict[tuple, list[Part]] = {}
        for i in range(self.tasks):
            part = self.parts[i]
            executors.setdefault((part.facts["host"], part.facts["executor"]), []).append(part)
        hosts: dict[str, list[list[Part]]] = {}
        for (host, _), group in executors.items():
            hosts.setdefault(host, []).append(group)
        self.hosts = hosts
        self.leaders, self.groups = [], []
        for groups in hosts.values():
            for group in groups:
                group[0].rank = len(self.leaders)
                self.leaders.append(group[0])
                self.groups.append(group)
        self.facts.ranks = len(self.leaders)
        try:
            self.queue = self.commands(self.facts)
        except ValueError as cause:
            self._fail(str(cause), "settings")
            return
        self._start()

    def _write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _start(self) -> None:
        """Starts the ranks for the next run. A single rank has nobody to find, so its task starts it directly."""
        words = self.queue[len(self.results)]
        self.results.append(Result())
        if len(self.leaders) == 1:
            self._order(0, {"words": words})
        else:
            self._launch(words)

    def _launch(self, words: list[str]) -> None:
        hosts = self._write("hosts", "".join(f"executors-{i} slots={len(groups)}\n"
                                             for i, groups in enumerate(self.hosts.values())))  # fmt: skip
        shell = self._write("shell", '#!/bin/sh\nexec "$PARLEY_PYTHON" -I -S "$PARLEY_BRIDGE_PROGRAM" "$@"\n')
        os.chmod(shell, 0o700)
        bridge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bridge.py")
        environment = {**os.environ, "PARLEY_PYTHON": sys.executable, "PARLEY_BRIDGE_PROGRAM": bridge,
                       "PARLEY_BRIDGE": os.path.join(self.folder, "bridge")}  # fmt: skip
        self.hung_up = set()
        self.launcher = subprocess.Popen(
            [_task.program(), "launch", "--hosts", hosts, "--shell", shell, "--address", self.host, "--", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.set_blocking(self.launcher.stderr.fileno(), False)
        with contextlib.suppress(OSError):  # of a kernel before 5.3, on which the launcher is only looked at
            self.launcher_end = os.pidfd_open(self.launcher.pid)
            self.selector.register(self.launcher_end, selectors.EVENT_READ, lambda _: None)

    def _forget_launcher(self) -> None:
        """Closes what belongs to a launcher that has ended."""
        if self.launcher_end is not None:
            self.selector.unregister(self.launcher_end)
            os.close(self.launcher_end)
        self.launcher.stderr.close()
        self.launcher, self.launcher_end = None, None

    def _order(self, rank: int, order: dict) -> None:
        """Has a leader start its rank."""
        files = [(part.facts["process"], part.facts["file"]) for part in self.groups[rank] if part.facts["rows"]]
        files = files or [(self.leaders[rank].facts["process"], self.leaders[rank].facts["file"])]
        self._tell(self.leaders[rank], {"start": True, "run": len(self.results) - 1, "files": files,
                                        "environment": {"PARLEY_LAUNCH": self.name}, **order})  # fmt: skip

    def _accept_bridge(self, source: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            bridge, _ = source.accept()
            bridge.settimeout(10.0)
            size = COMMAND.unpack(self._exactly(bridge, COMMAND.size))[0]
            command = self._exactly(bridge, size).decode()
            rank = int(command.split("'PMI_RANK=", 1)[1].split("'", 1)[0])
            self.bridges[rank] = bridge
            self.selector.register(bridge, selectors.EVENT_READ, lambda _, rank=rank: self._forward(rank))
            self._order(rank, {"command": command})

    @staticmethod
    def _exactly(source: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            got = source.recv(size - len(data))
            if not got:
                raise ConnectionError("the bridge of a rank has ended")
            data += got
        return data

    def _forward(self, rank: int) -> None:
        bridge = self.bridges[rank]
        data = bridge.recv(65536)
        if data:
            self._tell(self.leaders[rank], {"input": True}, data)
            return
        self.selector.unregister(bridge)  # the launcher has hung up, and waits for the code
        self.hung_up.add(rank)
        self._tell(self.leaders[rank], {"close": True})

    def _tell(self, part: Part, message: dict, data: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # a lost task is noticed where it is read
            part.line.send(message, data)

    def _look_at_launcher(self) -> None:
        if not self.launcher:
            return
        running = self.launcher.poll() is None  # before the read, or its last words would be lost
        said = self.launcher.stderr.read()
        if said:
            self.results[-1].errors.append(said.decode(errors="replace"))
        if running:
            return
        code = self.launcher.returncode
        self._forget_launcher()
        self._conclude(code)

    def _conclude(self, code: int) -> None:
        """The ranks have ended: goes on with the next run, or ends."""
        result = self.results[-1]
        result.code, result.seconds = code, time.monotonic() - result.began
        for leader in self.leaders:
            self._tell(leader, {"done": True})
        if code not in (DONE, EARLY) or not result.model:
            self._fail(result.cause(), "lost" if code in (4, 130) or code < 0 else "settings")
        elif len(self.results) < len(self.queue):
            self._start()
        else:
            self._end({"end": True})

    def _end(self, message: dict) -> None:
        self.ending, self.ready_at = True, time.monotonic()
        for line in list(self.lines):
            self._tell(self.lines[line], message)

    def _fail(self, cause: str, kind: str) -> None:
        """Keeps the first cause, and lets all tasks end."""
        if self.ending:
            return
        self.failure = self.failure or Failure(cause, kind)
        if self.launcher:
            with contextlib.suppress(OSError):
                self.launcher.send_signal(signal.SIGKILL)
        self._end({"abort": cause})

    def _close(self) -> None:
        if self.launcher:
            with contextlib.suppress(OSError):
                self.launcher.kill()
            self.launcher.wait()
            self._forget_launcher()
        for line in self.lines:
            line.close()
        for bridge in self.bridges.values():
            bridge.close()
        self.selector.close()
        for source in (self.listener, self.bridge, self.waker, self.woken):
            source.close()
        shutil.rmtree(self.folder, ignore_errors=True)
