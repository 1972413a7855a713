"""What runs in the tasks of the barrier stage. Executors get this module by value, so they need no other part of the
package than the `parley` command, and import nothing that PySpark does not need itself.

Each task copies its partition into a memory file in the layout of a cache. One task of each executor, its leader, then
starts a rank, which reads the memory files of all tasks of the executor. The driver tells the tasks what to do over a
TCP connection (`Line`), and what the rank prints goes back over it."""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
import time

HEAD = ">IQ"  # bytes of the JSON text, and of what follows it
MOST_TEXT = 1 << 26
MOST_STRANGER = 4096  # bytes that are read before the secret
CONNECT_SECONDS = 30.0
HEAD_BYTES = struct.calcsize(HEAD)
STATUS_BYTES = 4
SCALE = 1200  # exact sums are multiples of 2^-SCALE
MOST_ADDED = 1 << 25  # numbers of 27 bits whose sum a double holds


class Line:
    """A connection that carries JSON objects, each perhaps followed by bytes."""

    def __init__(self, connection: socket.socket):
        self.socket = connection
        self.lock = threading.Lock()
        self.held = bytearray()
        self.limit = MOST_STRANGER

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, message: dict, data: bytes = b"") -> None:
        text = json.dumps(message).encode()
        with self.lock:
            self.socket.sendall(struct.pack(HEAD, len(text), len(data)) + text + data)

    def _take(self) -> tuple[dict, bytes] | None:
        if len(self.held) < HEAD_BYTES:
            return None
        text, data = struct.unpack_from(HEAD, self.held)
        if text > self.limit or data > 0 and self.limit == MOST_STRANGER:
            raise ConnectionError("this is not a message")
        end = HEAD_BYTES + text + data
        if len(self.held) < end:
            return None
        message = json.loads(self.held[HEAD_BYTES : HEAD_BYTES + text]), bytes(self.held[HEAD_BYTES + text : end])
        del self.held[:end]
        return message

    def read(self) -> list[tuple[dict, bytes]]:
        """The messages that are complete after one read. Raises ConnectionError where the other end has closed."""
        got = self.socket.recv(1 << 20)
        if not got:
            raise ConnectionError("the connection was closed")
        self.held += got
        messages = []
        while message := self._take():
            messages.append(message)
        return messages

    def receive(self) -> tuple[dict, bytes]:
        """Waits for one message."""
        while not (message := self._take()):
            got = self.socket.recv(1 << 20)
            if not got:
                raise ConnectionError("the connection was closed")
            self.held += got
        return message

    def trust(self) -> None:
        self.limit = MOST_TEXT

    def close(self) -> None:
        self.socket.close()


def connect(address: tuple[str, int], secret: str) -> Line:
    try:
        connection = socket.create_connection(address, timeout=CONNECT_SECONDS)
    except OSError as cause:
        raise ConnectionError(
            f"the executor cannot connect to the driver at {address[0]}:{address[1]} ({cause}); "
            "set spark.driver.host to an address that executors reach, and let parley's ports through the firewall"
        ) from None
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = Line(connection)
    line.trust()
    line.send({"secret": secret})
    return line


def knows(message: dict, secret: str) -> bool:
    return hmac.compare_digest(str(message.get("secret", "")), secret)


def exact_sum(values) -> int:
    """The sum of doubles, without rounding: a whole number of 2^-SCALE. It does not depend on their order."""
    import numpy as np

    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    least, total = int(exponent.min(initial=0)), 0
    for at in range(0, len(whole), MOST_ADDED):
        part, powers = whole[at : at + MOST_ADDED], exponent[at : at + MOST_ADDED] - least
        high, low = (np.bincount(powers, half) for half in (part >> 27, part & ((1 << 27) - 1)))  # exact: below 2^53
        for power in np.flatnonzero(np.bincount(powers)).tolist():
            total += ((int(high[power]) << 27) + int(low[power])) << (SCALE + power + least - 53)
    return total


class BadRows(ValueError):
    """Rows that cannot be trained on."""


def _offsets(column):
    """Offsets of a list array, and the part of its values that they cover."""
    import numpy as np

    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets


def _columns(indices, sparse, lengths):
    """The columns of the entries of vectors, of which some are sparse."""
    import numpy as np

    if sparse.all():
        ends = _offsets(indices)
        return indices.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]].view(np.uint32)
    total = int(lengths.sum())
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns = (np.arange(total, dtype=np.int64) - starts).astype(np.uint32)
    if sparse.any():
        ends = _offsets(indices)
        of_sparse = indices.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]].view(np.uint32)
        columns[np.repeat(sparse, lengths)] = of_sparse
    return columns


def _struct_vectors(column):
    """Sizes and lengths of the vectors of a column, and the columns and values of their entries."""
    import numpy as np

    kind, size, indices, values = (column.field(name) for name in ("type", "size", "indices", "values"))
    sparse = kind.to_numpy(zero_copy_only=False) == 0
    ends = _offsets(values)
    lengths = np.diff(ends).astype(np.int64)
    sizes = np.where(sparse, np.asarray(size.fill_null(0)), lengths)
    value = values.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]]
    return sizes, lengths, _columns(indices, sparse, lengths), value


def _gather(array, first, lengths):
    """The elements array[first[i]], array[first[i] + 1], ... of each row i, one after the other."""
    import numpy as np

    places = np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    return array[places]


def _unsafe_vectors(column):
    """The same for vectors as Spark stores them in memory. A vector is a row of four fields: a word of null bits, then
    type, size, and two references (offset, length) to arrays. An array is its length, null bits and the elements; all
    of them begin at multiples of 8 bytes."""
    import numpy as np

    ends = _offsets(column).astype(np.int64)
    data = column.buffers()[2]
    words = np.frombuffer(data, np.int64, int(ends[-1]) // 8)
    row = ends[:-1] // 8
    sparse = (words[row + 1] & 255) == 0
    values = row + (words[row + 4] >> 35)
    lengths = words[values]
    nulls = (lengths + 63) // 64
    sizes = np.where(sparse, words[row + 2] & 0xFFFFFFFF, lengths)
    value = _gather(words.view(np.float64), values + 1 + nulls, lengths)
    indices = row + (words[row + 3] >> 35)
    halves = words.view(np.uint32)
    if sparse.all():
        return sizes, lengths, _gather(halves, 2 * (indices + 1 + nulls), lengths), value
    index = _gather(np.arange(int(lengths.max()), dtype=np.uint32), np.zeros(len(row), np.int64), lengths)
    if sparse.any():
        index[np.repeat(sparse, lengths)] = _gather(halves, 2 * (indices + 1 + nulls)[sparse], lengths[sparse])
    return sizes, lengths, index, value


def _of_32_bits(column):
    """Bytes with 64-bit offsets, which spark.sql.execution.arrow.useLargeVarTypes asks for, with offsets as usual."""
    import pyarrow as pa

    return column.cast(pa.binary()) if pa.types.is_large_binary(column.type) else column


def _vectors(column):
    import pyarrow as pa

    return _unsafe_vectors(column) if pa.types.is_binary(column.type) else _struct_vectors(column)


class _Converter:
    """libparley's conversion of vectors in one pass, called without the package."""

    def __init__(self, path: str):
        import ctypes

        self.convert = ctypes.CDLL(path).parley_spark_vectors
        words = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
        self.convert.argtypes = [*words, *[ctypes.c_void_p] * 5]
        self.error = ctypes.create_string_buffer(STATUS_BYTES + 1024)  # a parley_error: a status and a sentence

    def __call__(self, column, size: int, left_out: list, first: int):
        """Lengths, columns and values of vectors, without zeros and the columns left out."""
        import numpy as np

        ends = _offsets(column)
        rows, room = len(column), int(ends[-1] - ends[0]) // 8
        lengths, index, value = np.empty(rows, np.int64), np.empty(room, np.uint32), np.empty(room, np.float64)
        used = np.zeros(1, np.uint64)
        dropped = np.bincount(left_out, minlength=size).astype(np.uint8) if left_out else None
        outputs = [array.ctypes.data for array in (lengths, index, value, used)]
        if self.convert(column.buffers()[2].address, ends.ctypes.data, rows, size,
                        dropped.ctypes.data if left_out else None, first, *outputs, self.error):  # fmt: skip
            raise BadRows(self.error.raw[STATUS_BYTES:].split(b"\0", 1)[0].decode(errors="replace"))
        return lengths, index[: int(used[0])], value[: int(used[0])]


def _first_size(column) -> int:
    """The size of the first vector of a column, as Spark stores it."""
    import numpy as np

    words = np.frombuffer(column.buffers()[2], np.int64, 5, int(_offsets(column)[0]))
    at = int(_offsets(column)[0]) + (int(words[4]) >> 32)
    dense = np.frombuffer(column.buffers()[2], np.int64, 1, at)
    return int(words[2] & 0xFFFFFFFF) if int(words[1]) & 255 == 0 else int(dense[0])


def _converter():
    """The conversion of libparley, if the package is on this machine; None: numpy does it."""
    folder = package_folder()
    try:
        return _Converter(os.path.join(folder, "libparley.so")) if folder else None
    except (OSError, AttributeError):
        return None


class Rows:
    """Collects rows from Arrow batches and writes them as a cache."""

    def __init__(self, plan: dict):
        self.weighted, self.classes, self.left_out = plan["weighted"], plan["classes"], plan["left_out"]
        self.size = None
        self.rows = self.nonzeros = 0
        self.ones = True
        self.converter = _converter()
        self.lengths, self.labels, self.weights, self.index, self.value = [], [], [], [], []

    def read(self, batch) -> tuple:
        """The rows of a batch: size of the vectors, lengths, labels, weights, columns and values. Checks them."""
        labels = self._numbers(batch.column(1), "the label")
        weights = self._numbers(batch.column(2), "the weight") if self.weighted else None
        self._check(labels, weights)
        features = _of_32_bits(batch.column(0))
        if features.null_count:
            raise BadRows(f"row {self._row(features.is_null())}: the features are null; drop such rows, or impute them")
        lengths, index, value = self._entries(features)
        return self.size, lengths, labels, weights, index, value

    def keep(self, size: int, lengths, labels, weights, index, value) -> None:
        self.size = size if self.size is None else self.size
        if size != self.size:
            raise BadRows(f"some vectors have {size} features, others {self.size}; all must have the same size")
        self.lengths.append(lengths)
        self.labels.append(labels)
        if self.weighted:
            self.weights.append(weights)
        self.index.append(index)
        self.value.append(value)
        self.ones = self.ones and bool((value == 1).all())
        self.rows += len(labels)
        self.nonzeros += len(index)

    def _row(self, bad) -> str:
        import numpy as np

        bad = np.asarray(bad)
        return f"{self.rows + int(np.flatnonzero(bad)[0]) + 1} of the partition"

    def _numbers(self, column, name: str):
        import numpy as np

        if column.null_count:
            raise BadRows(f"row {self._row(column.is_null())}: {name} is null; drop such rows")
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
        good = np.isfinite(numbers)
        if not good.all():
            raise BadRows(f"row {self._row(~good)}: {name} is {numbers[~good][0]}; it must be a finite number")
        return numbers

    def _check(self, labels, weights) -> None:
        if weights is not None and (weights < 0).any():
            bad = weights < 0
            raise BadRows(f"row {self._row(bad)}: the weight is {weights[bad][0]:g}; weights must not be negative")
        if self.classes:
            bad = (labels < 0) | (labels != labels.astype("int64"))
            if bad.any():
                raise BadRows(
                    f"row {self._row(bad)}: the label is {labels[bad][0]:g}; labels of classes must be 0, 1, 2 and so "
                    "on: use StringIndexer"
                )

    def _entries(self, features):
        """Lengths, columns and values of the rows of a vector column. Zeros that are stored are dropped."""
        import numpy as np
        import pyarrow as pa

        if self.converter and pa.types.is_binary(features.type):
            self.size = _first_size(features) if self.size is None else self.size
            return self.converter(features, self.size, self.left_out, self.rows)
        sizes, lengths, index, value = _vectors(features)
        self._check_sizes(sizes)
        if not np.isfinite(value).all():
            wrong = np.repeat(np.arange(len(lengths)), lengths)[~np.isfinite(value)][0]
            raise BadRows(
                f"row {self.rows + int(wrong) + 1} of the partition: a feature is NaN or infinite; drop such rows, or "
                "impute them"
            )
        if len(value) and (self.left_out or np.count_nonzero(value) < len(value)):
            kept = value != 0
            if self.left_out:
                kept &= ~np.isin(index, self.left_out)
            rows = np.repeat(np.arange(len(lengths)), lengths)[kept]
            lengths = np.bincount(rows, minlength=len(lengths)).astype(np.int64)
            index, value = index[kept], value[kept]
        return lengths, index, value

    def _check_sizes(self, sizes) -> None:
        self.size = int(sizes[0]) if self.size is None else self.size
        other = sizes != self.size
        if other.any():
            raise BadRows(
                f"row {self._row(other)}: its vector has {int(sizes[other][0])} features, and others have {self.size}; "
                "all vectors must have the same size"
            )

    def facts(self) -> dict:
        """What the driver needs to know. Sums are exact, so that they do not depend on partitions."""
        import numpy as np

        y = np.concatenate(self.labels) if self.labels else np.zeros(0)
        w = np.concatenate(self.weights) if self.weights else np.ones(len(y))
        facts = {"rows": self.rows, "nonzeros": self.nonzeros, "size": self.size}
        with np.errstate(over="ignore"):
            parts = (w, w * w, w * y, w * y * y)
        if not all(np.isfinite(part).all() for part in parts):
            raise BadRows("labels or weights are so large that their squares overflow; scale them")
        ones = None if self.weighted else len(y) << SCALE
        facts["sums"] = [exact_sum(part) if ones is None or i > 1 else ones for i, part in enumerate(parts)]
        facts["extremes"] = [float(y.min()), float(y.max())] if len(y) else None
        if self.classes:
            labels = np.unique(y[w > 0]).astype(int).tolist()
            if len(labels) > 100_000:
                raise BadRows(f"there are {len(labels)} different labels; this is a regression, not a classification")
            facts["labels"] = labels
        return facts

    def write(self) -> int:
        """Writes the rows to a memory file and gives their own memory back meanwhile; returns its descriptor."""
        import numpy as np

        file = os.memfd_create("parley-rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        if self.rows == 0:
            return file
        starts = np.zeros(self.rows + 1, np.uint64)
        np.cumsum(np.concatenate(self.lengths), out=starts[1:])
        tensors = [("start", "U64", 8, [starts]), ("label", "F64", 8, self.labels)]
        if self.weighted:
            tensors.append(("weight", "F64", 8, self.weights))
        tensors.append(("index", "U32", 4, self.index))
        narrow = [] if self.ones else _as_floats(self.value)
        if narrow is None:  # the ranks judge whether they need doubles, which stand at multiples of 8 bytes
            tensors.insert(-1, ("value", "F64", 8, self.value))
        elif not self.ones:
            tensors.append(("value", "F32", 4, narrow))
        header = {"__metadata__": {"format": "parley-data-1", "rows": str(self.rows), "columns": str(self.size),
                                   "nonzeros": str(self.nonzeros)}}  # fmt: skip
        at = 0
        for name, kind, width, parts in tensors:
            count = sum(len(part) for part in parts)
            header[name] = {"dtype": kind, "shape": [count], "data_offsets": [at, at + width * count]}
            at += width * count
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(file, "wb", buffering=0, closefd=False) as out:
            _write(out, struct.pack("<Q", len(text)) + text)
            for _, _, _, parts in tensors:
                while parts:
                    _write(out, memoryview(np.ascontiguousarray(parts.pop(0))).cast("B"))
        # A rank need not copy what nobody can change.
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        return file


def _as_floats(parts: list):
    """The values as 32-bit floats, or None if that changes one. The parts are given up."""
    import numpy as np

    with np.errstate(over="ignore"):
        if not all((part.astype(np.float32) == part).all() for part in parts):
            return None
    narrow = []
    while parts:
        narrow.append(parts.pop(0).astype(np.float32))
    return narrow


def _write(out, data) -> None:
    data = memoryview(data)
    while len(data):
        data = data[out.write(data) :]


def package_folder() -> str | None:
    """The folder of the package on this machine, found without importing it."""
    import importlib.util

    spec = importlib.util.find_spec("parley")
    return list(spec.submodule_search_locations)[0] if spec and spec.submodule_search_locations else None


def program() -> str:
    """The `parley` command on this machine: PARLEY_PROGRAM, that of the package, of this Python, or of PATH."""
    given = os.environ.get("PARLEY_PROGRAM")
    folder, near = package_folder(), []
    if folder:  # as wheels have it, which saves the start of a Python, and as pip install --target does
        near += [os.path.join(os.path.dirname(folder), place, "parley") for place in ("parley.scripts", "bin")]
    near += [
        os.path.join(os.path.dirname(sys.executable), "parley"),
        os.path.join(sysconfig.get_path("scripts"), "parley"),
    ]
    for path in [given] if given else near:
        if os.access(path, os.X_OK):
            return path
    found = None if given else shutil.which("parley")
    if not found:
        raise FileNotFoundError(
            f"{given or 'the command parley'} is not on {socket.gethostname()}; "
            "install the package parley in the Python of every executor (docs/spark.md)"
        )
    return found


def _mpi_of_wheel() -> dict:
    """Variables with which ranks find the MPI library that came with the package, and nothing of another version."""
    folder = package_folder()
    if not folder or not os.path.exists(os.path.join(folder, "parley-mpich.so")):
        return {}
    libraries = os.path.join(os.path.dirname(folder), "parley.libs")
    return {"PARLEY_MODULES": folder, **({"UCX_MODULE_DIR": folder} if os.path.isdir(libraries) else {})}


def _tied() -> dict:
    """Variables of a rank without a guard, which ends with this process."""
    return {"PARLEY_PARENT": str(os.getpid())}


def _command(text: str) -> tuple[list[str], dict]:
    """Words and variables of a command of the launcher, without the program."""
    words = shlex.split(text)
    if words[:2] != ["exec", "env"]:
        raise ValueError("the driver sent an unknown command")
    at = next(i for i, word in enumerate(words[2:], 2) if "=" not in word)
    return words[at + 1 :], dict(word.split("=", 1) for word in words[2:at])


class Rank:
    """A native process, which ends when this process does."""

    def __init__(self, line: Line, order: dict, files: list[int]):
        self.line, self.number = line, order["run"]
        self.pipes = {name: os.pipe() for name in ("log", "model")}
        self.alone = "words" in order
        words, variables = (order["words"], _tied()) if self.alone else _command(order["command"])
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "OMPI_"))}
        environment = {**_mpi_of_wheel(), **outer, **variables, **order["environment"]}
        places = {"@rows": [f"/proc/self/fd/{file}" for file in files],
                  "@log": [f"/dev/fd/{self.pipes['log'][1]}"],
                  "@model": [f"/dev/fd/{self.pipes['model'][1]}"]}  # fmt: skip
        words = [program(), *(word for old in words for word in places.get(old, [old]))]
        kept = [*files, *(ends[1] for ends in self.pipes.values())]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            pass_fds=kept, close_fds=True,
        )  # fmt: skip
        for ends in self.pipes.values():
            os.close(ends[1])
        self.readers = [
            threading.Thread(target=self._forward, args=(name, file), daemon=True)
            for name, file in (
                ("out", self.process.stdout.fileno()), ("err", self.process.stderr.fileno()),
                ("log", self.pipes["log"][0]), ("model", self.pipes["model"][0]),
            )
        ]  # fmt: skip
        for reader in self.readers:
            reader.start()
        self.waiter = threading.Thread(target=self._wait, daemon=True)
        self.waiter.start()

    def _forward(self, name: str, file: int) -> None:
        whole = bytearray()
        while got := os.read(file, 1 << 20):
            whole += got
            if name == "log" and b"\n" in whole:
                at = whole.rindex(b"\n") + 1
                self.line.send({"run": self.number, "log": True}, bytes(whole[:at]))
                del whole[:at]
        if whole:
            self.line.send({"run": self.number, name: True}, bytes(whole))

    def _wait(self) -> None:
        try:
            for reader in self.readers:
                reader.join()
            self.line.send({"run": self.number, "code": self.process.wait()})
        except OSError:
            pass  # the driver is gone, which the task notices too

    def write(self, data: bytes) -> None:
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # the rank has ended

    def hang_up(self) -> None:
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def end(self) -> None:
        """The guard ends the rank when its standard input closes; it is killed if it is itself in the way, and so is a
        rank without a guard."""
        self.hang_up()
        if self.alone and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        try:
            self.process.wait(3.0)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.waiter.join(2.0)
        if not self.waiter.is_alive():  # Spark uses this process again
            for ends in self.pipes.values():
                os.close(ends[0])
            self.process.stdout.close()
            self.process.stderr.close()


class Aborted(RuntimeError):
    """The run has ended elsewhere; the driver knows why."""


def _open_files(places: list) -> list[int]:
    """Opens memory files of tasks of this executor."""
    return [os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY) for process, file in places]


def _obey(line: Line) -> None:
    """Does what the driver asks for, until it asks for nothing more."""
    rank = None
    files: list[int] = []
    try:
        while True:
            message, data = line.receive()
            if "start" in message:
                files = _open_files(message["files"])
                rank = Rank(line, message, files)
            elif "input" in message and rank:
                rank.write(data)
            elif "close" in message and rank:
                rank.hang_up()
            elif "done" in message and rank:
                rank.end()
                rank = None
                for file in files:
                    os.close(file)
                files = []
            elif "end" in message:
                return
            elif "abort" in message:
                raise Aborted(message["abort"])
    except ConnectionError:
        raise Aborted("the driver has closed the connection") from None
    finally:
        if rank:
            rank.end()


def _collect(chunks, plan: dict) -> Rows:
    rows = Rows(plan)
    for chunk in chunks(rows):
        rows.keep(*chunk)
    return rows


def _serve(chunks, plan: dict) -> None:
    """The body of a task. Its results go to the driver over its connection."""
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    number = context.partitionId()
    began = time.monotonic()
    line = connect(tuple(plan["address"]), plan["secret"])
    try:
        try:
            rows = _collect(chunks, plan)
            facts = rows.facts()
            file = rows.write()
            program()
        except (BadRows, FileNotFoundError) as cause:
            line.send({"bad": str(cause), "partition": number, "kind": type(cause).__name__})
            raise
        executor = context.getTaskInfos()[number].address
        line.send({"partition": number, "executor": executor, "host": socket.gethostname(), "process": os.getpid(),
                   "file": file, "bytes": os.fstat(file).st_size, "seconds": time.monotonic() - began,
                   **facts})  # fmt: skip
        _obey(line)
        os.close(file)
    finally:
        line.close()


def task(batches, plan: dict):
    """A task over batches of vectors. It yields nothing."""
    _serve(lambda rows: (rows.read(batch) for batch in batches if batch.num_rows), plan)
    yield from ()


def packed_task(batches, plan: dict):
    """A task over blobs of a `packer`."""
    import pickle

    blobs = (pickle.loads(blob) for batch in batches for blob in batch.column(0).to_pylist())
    _serve(lambda rows: blobs, plan)
    yield from ()


def packer(plan: dict):
    """A function for tasks that turn each batch of a partition into one blob, for a shuffle of few large rows."""

    def pack(batches):
        import pickle

        import pyarrow as pa

        rows = Rows(plan)
        for batch in batches:
            if batch.num_rows:
                blob = pickle.dumps(rows.read(batch), protocol=5)
                rows.rows += batch.num_rows
                yield pa.RecordBatch.from_arrays([pa.array([blob], pa.binary())], ["rows"])

    return pack


def _decisions(features, coef, intercept):
    """x.w + b for the rows of a vector column: rows x outputs."""
    import numpy as np

    rows = len(features)
    if features.null_count:
        raise BadRows("the features of a row are null; drop such rows")
    kind, indices, values = (features.field(name) for name in ("type", "indices", "values"))
    ends = _offsets(values)
    lengths = np.diff(ends)
    value = values.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]]
    sparse = kind.to_numpy(zero_copy_only=False) == 0
    columns = _columns(indices, sparse, lengths.astype(np.int64))
    if len(columns) and int(columns.max()) >= coef.shape[1]:
        raise BadRows(f"a vector has a feature {int(columns.max()) + 1}, and the model has {coef.shape[1]}")
    row = np.repeat(np.arange(rows), lengths)
    return np.column_stack([np.bincount(row, value * w[columns], rows) + b for w, b in zip(coef, intercept)])


def _vector_array(table):
    """A table of numbers as an Arrow array of Spark's dense vectors."""
    import numpy as np
    import pyarrow as pa

    rows, width = table.shape
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
    return pa.StructArray.from_arrays(
        [pa.array(np.ones(rows, np.int8)), pa.nulls(rows, pa.int32()), pa.nulls(rows, pa.list_(pa.int32())),
         pa.ListArray.from_arrays(ends, pa.array(table.ravel()))],
        ["type", "size", "indices", "values"],
    )  # fmt: skip


def _probabilities(decisions, together: bool):
    import numpy as np

    if decisions.shape[1] == 1:
        second = 1.0 / (1.0 + np.exp(-decisions[:, 0]))
        return np.column_stack([1.0 - second, second])
    if together:
        parts = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    else:
        parts = 1.0 / (1.0 + np.exp(-decisions))
    return parts / parts.sum(axis=1, keepdims=True)


def _predictions(decisions, labels, log_link: bool):
    import numpy as np

    if labels is not None:
        return labels[decisions.argmax(axis=1) if decisions.shape[1] > 1 else (decisions[:, 0] > 0).astype(int)]
    return np.exp(decisions[:, 0]) if log_link else decisions[:, 0]


def applier(shipped, column: int, drop: bool, wanted: tuple):
    """A function for tasks that add predictions of a model to batches."""

    def apply(batches):
        import numpy as np
        import pyarrow as pa

        coef, intercept, labels, log_link, together = shipped.value
        for batch in batches:
            decisions = _decisions(batch.column(column), coef, intercept)
            arrays = [array for i, array in enumerate(batch.columns) if not (drop and i == column)]
            names = [name for i, name in enumerate(batch.schema.names) if not (drop and i == column)]
            arrays.append(pa.array(_predictions(decisions, labels, log_link).astype(np.float64)))
            if wanted[0]:
                both = np.column_stack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions
                arrays.append(_vector_array(both if labels is not None else decisions))
            if wanted[1]:
                arrays.append(_vector_array(_probabilities(decisions, together)))
            names += [f"parley_{i}" for i in range(len(arrays) - len(names))]
            yield pa.RecordBatch.from_arrays(arrays, names)

    return apply
