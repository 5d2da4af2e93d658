"""Pieces of work as Spark tasks: no shuffle, counted while they go on.

A large piece is a task of its own. Small ones share a task: each task costs Spark some ten
milliseconds, which is more than such a piece may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from pyspark import TaskContext
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from drumbeat.pipeline.errors import PipelineError
from drumbeat.pipeline.progress import Counts, Show, watched
from drumbeat.pipeline.session import SPARK_ERRORS, cause
from drumbeat.pipeline.worker_memory import keep_modules

SHARED_BYTES_MAX: Final = 1 << 20
_TASKS_PER_CORE_MIN: Final = 2  # so that one that takes longer does not leave the others idle
_CAUSE_CHARACTERS_MAX: Final = 2_000


class Task(Protocol):
    @property
    def bytes(self) -> int:
        """How much there is to read: what progress is measured by."""


class TaskResult(Protocol):
    @property
    def rows(self) -> int:
        """How many records were read."""


T = TypeVar("T", bound=Task)
R = TypeVar("R", bound=TaskResult)
_T_contra = TypeVar("_T_contra", bound=Task, contravariant=True)
_R_co = TypeVar("_R_co", bound=TaskResult, covariant=True)


class Work(Protocol[_T_contra, _R_co]):
    def __call__(self, task: _T_contra, directory: str, name: str, /) -> _R_co:
        """Do it, and leave files in `directory` whose names end in `name`."""


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[T],
    directory: str,
    work: Work[T, R],
    show: Show,
    shared_bytes_max: int = SHARED_BYTES_MAX,
) -> list[R]:
    """All results; the files of tasks that failed or ran twice stay in `directory`."""
    if not tasks:
        return []
    context = spark.sparkContext
    rows, read = context.accumulator(0), context.accumulator(0)
    total_bytes = sum(task.bytes for task in tasks)
    fair_bytes = total_bytes // (_TASKS_PER_CORE_MIN * context.defaultParallelism)
    shares = _shares(tasks, min(shared_bytes_max, fair_bytes))
    working = context.parallelize(shares, len(shares)).flatMap(
        _Attempt(work, directory, rows, read)
    )
    try:
        return watched(working.collect, lambda: Counts(rows.value, read.value), total_bytes, show)
    except SPARK_ERRORS as problem:
        raise PipelineError(f"the job failed: {_where(problem)}") from problem


def _shares(tasks: Sequence[T], bytes_max: int) -> list[list[T]]:
    """All tasks, the largest first; those in a share have so many bytes, or it is only one."""
    shares: list[list[T]] = []
    room = 0
    for task in sorted(tasks, key=lambda task: -task.bytes):
        if not shares or task.bytes > room:
            shares.append([])
            room = bytes_max
        shares[-1].append(task)
        room -= task.bytes
    return shares


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T, R]):
    """What is sent to the executors."""

    work: Work[T, R]
    directory: str
    rows: Accumulator[int]
    read: Accumulator[int]

    def __call__(self, share: Sequence[T]) -> list[R]:
        keep_modules()
        context = TaskContext.get()
        assert context is not None
        attempt = context.taskAttemptId()
        return [self._do(task, f"{attempt}-{n}.parquet") for n, task in enumerate(share)]

    def _do(self, task: T, name: str) -> R:
        result = self.work(task, self.directory, name)
        self.rows.add(result.rows)
        self.read.add(task.bytes)
        return result


def _where(problem: Exception) -> str:
    """What happened, in its last line, and where; without the JVM's own stack."""
    text = cause(problem)[-_CAUSE_CHARACTERS_MAX:]
    return f"{text.splitlines()[-1]}\n{text}"
