"""One pass over a log: stage what is new, derive from it, put small files together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import SparkSession

from drumbeat.pipeline.derive import LAG_INTERVAL_MS, DeriveJob, DeriveReport
from drumbeat.pipeline.history.live_check import check_answers
from drumbeat.pipeline.job import StageJob, StageReport
from drumbeat.pipeline.manifest import Manifest
from drumbeat.pipeline.merge import MergeJob
from drumbeat.pipeline.progress import Show, show_nothing
from drumbeat.pipeline.promises import Broken, broken_promises
from drumbeat.pipeline.warehouse import Warehouse

Reporter: TypeAlias = Callable[[str], AbstractContextManager[Show]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    staged: StageReport
    derived: DeriveReport | None  # None: only staging was asked for
    broken: tuple[Broken, ...] = ()

    @property
    def manifest(self) -> Manifest:
        return self.staged.manifest if self.derived is None else self.derived.manifest

    @property
    def is_news(self) -> bool:
        return bool(self.staged.rows or (self.derived and self.derived.partitions))


def _silent(_step: str) -> AbstractContextManager[Show]:
    return nullcontext(show_nothing)


def run_pass(
    job: StageJob,
    spark: SparkSession,
    reporter: Reporter = _silent,
    *,
    stage_only: bool = False,
    asks_coordinators: bool = False,
    lag_interval_ms: int = LAG_INTERVAL_MS,
) -> PassReport:
    """Bring the tables up to date with the log as it is now.

    Coordinators that can be asked are asked before: what they answer has to be in the log.
    """
    answers = job.log.answers() if asks_coordinators and not stage_only else None
    with reporter("staging") as show:
        staged = job.run(spark, show)
    if stage_only:
        MergeJob(job.writer).run(spark)
        return PassReport(staged=staged, derived=None)
    with reporter("deriving") as show:
        derived = DeriveJob(job.log, job.writer, lag_interval_ms).run(spark, show)
    MergeJob(job.writer).run(spark)
    if answers is not None:
        check_answers(job.writer, job.log.cluster_id, answers)
    broken = broken_promises(Warehouse(job.writer.path), job.log.cluster_id)
    return PassReport(staged=staged, derived=derived, broken=tuple(broken))
