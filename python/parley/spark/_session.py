"""Runs ranks in a barrier stage over a frame, and says at once why that cannot work."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, NumericType, StructField, StructType

from . import _task
from ._driver import Driver, Facts, Failure

WAIT_SECONDS = 20.0  # for the first executor
#: Most rows and bytes of an Arrow batch. Spark fills, copies and sends a batch before it begins the next one, so small
#: ones stay in the processor's cache and are converted while the next is made: several times as fast as 10,000 rows.
BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": 2000, "spark.sql.execution.arrow.maxBytesPerBatch": 4 << 20}
NOTHING = StructType([StructField("nothing", IntegerType())])  # what tasks yield
_by_value = threading.Lock()
_registered = False


def _ship_by_value() -> None:
    """Makes PySpark send the module of the tasks with them."""
    global _registered
    from pyspark import cloudpickle

    with _by_value:
        if not _registered:
            cloudpickle.register_pickle_by_value(_task)
            _registered = True


def illegal(sentence: str) -> Exception:
    """The exception with which Spark refuses arguments and data."""
    from pyspark.errors import IllegalArgumentException

    return IllegalArgumentException(message=sentence)


def lost(sentence: str) -> Exception:
    """The exception with which Spark says that a job failed."""
    from pyspark.errors import SparkRuntimeException

    return SparkRuntimeException(message=sentence)


def context_of(df: Any) -> Any:
    """The context of a frame's session; refuses Spark Connect."""
    session = df.sparkSession
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise illegal(
            "parley.spark does not work through Spark Connect, because ranks connect to the driver of the session; run "
            "it in the driver, with spark-submit or SparkSession.builder.master(...)"
        )
    return session.sparkContext


def columns(df: Any, features: str, label: str | None, weight: str | None) -> Any:
    """The frame of features, and label and weight if they are given; refuses columns of other types."""
    from pyspark.ml.linalg import VectorUDT

    types = {field.name: field.dataType for field in df.schema.fields}
    for name, kinds, what in ((features, VectorUDT, "vectors: use VectorAssembler"),
                              (label, (NumericType, BooleanType), "numbers: use StringIndexer"),
                              (weight, NumericType, "numbers")):  # fmt: skip
        if name is not None and name not in types:
            raise illegal(f"there is no column {name}; the frame has {', '.join(types)}")
        if name is not None and not isinstance(types[name], kinds):
            raise illegal(f"the column {name} is of the type {types[name].simpleString()}; it must hold {what}")
    numbers = [f"double(`{name}`) as {alias}" for name, alias in ((label, "y"), (weight, "w")) if name]
    return df.selectExpr(f"`{features}` as x", *numbers)


class Cluster:
    """What Spark says about executors and slots."""

    def __init__(self, context: Any):
        self.context, self.scala = context, context._jsc.sc()
        self.conf = self.scala.conf()  # of the JVM: PySpark would copy all of it, entry by entry

    def _executors(self) -> list[Any]:
        found = self.scala.statusStore().executorList(True)
        return [found.apply(i) for i in range(found.size())]

    def slots(self) -> int:
        profile = self.scala.resourceProfileManager().defaultResourceProfile()
        return int(self.scala.maxNumConcurrentTasks(profile))

    def cores(self) -> list[int]:
        """Cores of each executor."""
        return [n for one in self._executors() if (n := int(one.totalCores())) > 0]

    def check(self) -> int:
        """Refuses what cannot work; returns the number of slots."""
        if self.conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
            raise illegal(
                "spark.dynamicAllocation.enabled is true, but ranks must all run at the same time; set it to false, "
                "and spark.executor.instances to the number of executors"
            )
        if self.conf.get("spark.executor.pyspark.memory", ""):
            raise illegal(
                "spark.executor.pyspark.memory limits the memory of native processes too; leave it unset, and set "
                "spark.executor.memoryOverhead instead"
            )
        end = time.monotonic() + WAIT_SECONDS
        while (slots := self.slots()) == 0 and time.monotonic() < end:
            time.sleep(0.2)
        if slots == 0:
            raise illegal(
                f"no executor has offered a slot in {WAIT_SECONDS:g} seconds; start executors, and set "
                "spark.executor.cores to at least spark.task.cpus"
            )
        return slots

    def addresses(self) -> tuple[str, str]:
        """The address by which executors reach the driver, and the one to listen on."""
        host = self.conf.get("spark.driver.host", "127.0.0.1")
        return host, self.conf.get("spark.driver.bindAddress", host)


def _partitions(frame: Any) -> int:
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def _body(plan: dict, packed: bool) -> Callable:
    function = _task.packed_task if packed else _task.task
    return lambda batches: function(batches, plan)


def _small_batches(session: Any) -> Any:
    """A copy of a session of the JVM that sends small batches to Python, and differs in nothing else."""
    copy = session._jsparkSession.cloneSession()
    for name, most in BATCH.items():
        with contextlib.suppress(Exception):  # of a version of Spark that does not know it
            given = int(re.sub("[bB]$", "", session.conf.get(name)))
            copy.conf().set(name, str(min(given, most) if given > 0 else most))
    return copy


def _as_stored(frame: Any) -> Any:
    """The same frame with its vectors as the bytes that Spark stores them in. Spark writes these to Arrow in one piece
    each, but the parts of a vector number by number, which takes several times as long."""
    from pyspark.sql import DataFrame

    schema = StructType([StructField("x", BinaryType()), *frame.schema.fields[1:]])
    session = frame.sparkSession
    try:
        types = session._jsparkSession.parseDataType(schema.json())
        stored = frame._jdf.queryExecution().toRdd()
        return DataFrame(_small_batches(session).internalCreateDataFrame(stored, types, False), session)
    except (Py4JError, TypeError):  # a version of Spark without this door
        return frame


def _spread(frame: Any, driver: Driver, slots: int) -> tuple[Any, int]:
    """The frame whose partitions are the tasks, and their number. Too many partitions are packed and moved first."""
    plan = driver.plan()
    frame = _as_stored(frame)
    tasks = frame.mapInArrow(_body(plan, False), NOTHING, barrier=True)
    count = _partitions(tasks)
    if count <= slots:
        return tasks, count
    pack = _task.packer(plan)
    packed = frame.mapInArrow(pack, "rows binary").repartition(slots)
    return packed.mapInArrow(_body(plan, True), NOTHING, barrier=True), slots


def _describe(context: Any, text: str) -> Callable[[], None]:
    """Sets the description of the next jobs on Spark's page; returns what restores it."""
    before = context.getLocalProperty("spark.job.description")
    context.setLocalProperty("spark.job.description", text)
    return lambda: context.setLocalProperty("spark.job.description", before)


class RunFailed(Exception):
    """A run that ended without all its results: the exception for the user, and what may be used for a restart."""

    def __init__(self, error: Exception, again: bool, driver: Driver, refused: bool = False):
        super().__init__(str(error))
        self.error, self.again, self.refused = error, again, refused  # refused: a sentence about settings
        self.facts, self.results = driver.facts, driver.complete()


_REASONS = (
    r"BadRows: (.*)",
    r"([Cc]ancelled[^\n]*)",
    r"(SparkContext was shut down)",
    r"(ExecutorLostFailure.*)",
    r"(Python worker exited unexpectedly[^\n]*)",
    r"\n(\w+(?:Error|Exception): .*)\n",
    r"(.+)",
)


def _reason(job: BaseException | None) -> str:
    """Why Spark says that the job failed, in one line."""
    said = str(getattr(job, "java_exception", None) or job or "")
    for pattern in _REASONS:
        if found := re.search(pattern, said):
            return found.group(1).strip()[:500]
    return said


def _failed(driver: Driver, job: BaseException | None) -> RunFailed:
    """What to raise: the first cause, and for a lost task also what Spark says about it."""
    failure, reason = driver.failure, _reason(job)
    ended = "ancelled" in reason or "shut down" in reason
    if failure is None and "BadRows: " in str(job):
        failure = Failure(reason, "data")
    if failure is None and isinstance(job, Py4JError):  # before the task had connected
        gone = re.search(
            r"ExecutorLost|Python worker exited|was lost", str(getattr(job, "java_exception", None) or job)
        )
        return RunFailed(lost(f"the job ended before its tasks had read their rows: {reason}"), bool(gone), driver)
    if failure is None:
        return RunFailed(job if isinstance(job, Exception) else lost("the run ended without a result"), False, driver)
    if failure.kind in ("data", "settings", "place"):
        return RunFailed(illegal(str(failure)), False, driver, failure.kind == "settings")
    sentence = f"{failure}; Spark says: {reason}" if failure.kind == "task" and reason else str(failure)
    return RunFailed(lost(sentence), not ended, driver)


def run(frame: Any, reading: dict, commands: Callable[[Facts], list[list[str]]],
        see: Callable[[int, str], None], description: str, name: str) -> Driver:  # fmt: skip
    """Hands the rows of `frame` (features, label, perhaps weight) to ranks and runs the commands in turn. `name` is
    that of the run and its attempt, for locks; `reading` is what tasks must know of the rows. The driver that is
    returned has ended."""
    _ship_by_value()
    context = context_of(frame)
    cluster = Cluster(context)
    slots = cluster.check()
    driver = Driver(*cluster.addresses(), reading, commands, see, name)
    restore = _describe(context, description)
    job: BaseException | None = None
    try:
        tasks, count = _spread(frame, driver, slots)
        driver.start(count)
        tasks._jdf.queryExecution().toRdd().count()  # as collect() does, but without a way back for rows
    except BaseException as cause:
        job = cause
    finally:
        driver.stop()
        with contextlib.suppress(Exception):  # of a context that was stopped
            restore()
    if job is not None and not isinstance(job, Exception):
        raise job
    if job is not None or driver.failure is not None or not driver.facts:
        raise _failed(driver, job) from job
    return driver
