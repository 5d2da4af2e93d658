"""Pieces of work as Spark tasks: one task each, no shuffle, counted while they go on."""

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
    spark: SparkSession, tasks: Sequence[T], directory: str, work: Work[T, R], show: Show
) -> list[R]:
    """All results; the files of tasks that failed or ran twice stay in `directory`."""
    if not tasks:
        return []
    context = spark.sparkContext
    rows, read = context.accumulator(0), context.accumulator(0)
    largest_first = sorted(tasks, key=lambda task: -task.bytes)
    working = context.parallelize(largest_first, len(tasks)).map(
        _Attempt(work, directory, rows, read)
    )
    total_bytes = sum(task.bytes for task in tasks)
    try:
        return watched(working.collect, lambda: Counts(rows.value, read.value), total_bytes, show)
    except SPARK_ERRORS as problem:
        raise PipelineError(f"the job failed: {_where(problem)}") from problem


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T, R]):
    """What is sent to the executors."""

    work: Work[T, R]
    directory: str
    rows: Accumulator[int]
    read: Accumulator[int]

    def __call__(self, task: T) -> R:
        keep_modules()
        context = TaskContext.get()
        assert context is not None
        result = self.work(task, self.directory, f"{context.taskAttemptId()}.parquet")
        self.rows.add(result.rows)
        self.read.add(task.bytes)
        return result


def _where(problem: Exception) -> str:
    """What happened, in its last line, and where; without the JVM's own stack."""
    text = cause(problem)[-_CAUSE_CHARACTERS_MAX:]
    return f"{text.splitlines()[-1]}\n{text}"
