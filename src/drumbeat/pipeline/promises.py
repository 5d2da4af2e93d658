"""What `verification` says about a cluster, summed up."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from drumbeat.pipeline.findings.invariants import VIOLATION
from drumbeat.pipeline.schemas import VERIFICATION
from drumbeat.pipeline.staged_records import read_columns
from drumbeat.pipeline.warehouse import Warehouse

_COLUMNS = ("invariant", "certainty")


class Broken(NamedTuple):
    """An invariant, and how often the log breaks it, or only seems to."""

    invariant: str
    certainty: str
    times: int

    @property
    def is_violation(self) -> bool:
        return self.certainty == VIOLATION


def broken_promises(warehouse: Warehouse, cluster_id: str) -> list[Broken]:
    """All that the newest state knows of the cluster; violations first."""
    files = [
        file
        for file in warehouse.manifest().files(VERIFICATION.name)
        if file.cluster_id == cluster_id
    ]
    counts = Counter[tuple[str, str]]()
    for batch in read_columns(VERIFICATION, warehouse.paths(files), _COLUMNS):
        counts.update(zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True))
    found = (Broken(*place, count) for place, count in counts.items())
    return sorted(found, key=lambda broken: (not broken.is_violation, broken.invariant))
