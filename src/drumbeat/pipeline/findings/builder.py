"""Builds `findings` from the other tables of a log partition, as they come from their builders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.kinds import ADVICE, Finding
from drumbeat.pipeline.findings.rule import Limits, Now, Rule
from drumbeat.pipeline.findings.rules_commits import BadMetadata, CommitHog, WentBack
from drumbeat.pipeline.findings.rules_groups import Flapping, Lives, Rebalances
from drumbeat.pipeline.findings.rules_lag import (
    AheadOfEnd,
    LosesRecords,
    StandsStill,
    TopicRecreated,
)
from drumbeat.pipeline.findings.rules_log import DecodeErrors, HangingTransactions
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.schemas import FINDINGS
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, batch_of_rows

_RULES: Final = (
    StandsStill,
    LosesRecords,
    AheadOfEnd,
    TopicRecreated,
    WentBack,
    CommitHog,
    BadMetadata,
    Rebalances,
    Flapping,
    Lives,
    HangingTransactions,
    DecodeErrors,
)
_LIMITS: Final = Limits()
_CLOCKS: Final = {"log_records": "append_ts", "offset_commits": "append_ts"}


class Findings:
    """Fed with the batches of every table in `tables`, in the order of the log."""

    tables: Final = frozenset().union(*(rule.tables for rule in _RULES))

    def __init__(
        self, source: LogPartition, watermarks: Watermarks, limits: Limits = _LIMITS
    ) -> None:
        self._source, self._watermarks, self._limits = source, watermarks, limits
        self._rules: list[Rule] = [rule(limits) for rule in _RULES]
        self._newest_ms = 0

    def feed(self, table: str, batch: pa.RecordBatch) -> None:
        if table in _CLOCKS and len(batch):
            newest_ms = pc.max(batch.column(_CLOCKS[table])).as_py()
            self._newest_ms = max(self._newest_ms, newest_ms)
        for rule in self._rules:
            if table in rule.tables:
                rule.feed(table, batch)

    def finish(self) -> Iterator[TableBatch]:
        """All findings so far; more may be fed afterwards."""
        now = Now(self._newest_ms, self._limits, self._watermarks)
        found = (finding for rule in self._rules for finding in rule.findings(now))
        yield from batch_of_rows(FINDINGS, self._source, map(_row, found))


def _row(finding: Finding) -> dict[str, Any]:
    advice = ADVICE[finding.kind]
    return finding._asdict() | {
        "kind": finding.kind.value,
        "severity": advice.severity.value,
        "evidence": json.dumps(finding.evidence, separators=(",", ":")),
        "suggested_action": advice.action,
    }
