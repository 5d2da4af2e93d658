"""What a check of log files found."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Finding(NamedTuple):
    """Something wrong in a file, and where in it."""

    file: str
    position: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, byte {self.position}: {self.problem}"


@dataclass(slots=True, kw_only=True)
class PartitionReport:
    """Grows while a partition is checked. Offsets are those of the segments in use."""

    directory: str
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    first_offset: int | None = None
    next_offset: int | None = None
    findings: list[Finding] = field(default_factory=list)
