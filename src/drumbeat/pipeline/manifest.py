"""What a warehouse holds: the files of each table, and which offsets of which log they came from.

A manifest is a whole statement, not a change to an earlier one. Readers take the newest; the
others remain for a while, for readers that still work with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.offset_ranges import merged

FORMAT_VERSION: Final = 1
NO_PARTITION: Final = -1  # of a file that is about a whole cluster
_NAME = re.compile(r"([0-9]{6,12})\.json")
_ADVICE: Final = (
    "use that version, or write to another directory: the tables can be made from the log again"
)


class LogPartition(NamedTuple):
    """One partition of one cluster's `__consumer_offsets`."""

    cluster_id: str
    log_partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of a table. The path is relative to the warehouse."""

    path: str
    cluster_id: str
    log_partition: int  # or NO_PARTITION, and times in ms for offsets
    first_offset: int  # of the log records in it, or of those its rows were derived from
    last_offset: int
    rows: int
    bytes: int

    @property
    def source(self) -> LogPartition:
        return LogPartition(self.cluster_id, self.log_partition)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    number: int = 0  # 0: nothing was ever published
    run_id: str = ""
    created_ms: int = 0
    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    covered: Mapping[LogPartition, tuple[OffsetRange, ...]] = field(default_factory=dict)
    derived: Mapping[LogPartition, str] = field(default_factory=dict)  # a digest of all inputs

    def files(self, table: str, source: LogPartition | None = None) -> tuple[DataFile, ...]:
        """A table's files, or those of one log partition; in order of offsets within each."""
        files = self.tables.get(table, ())
        return tuple(file for file in files if source in (None, file.source))

    def rows(self, table: str) -> int:
        return sum(file.rows for file in self.files(table))

    def with_files(
        self, table: str, added: Iterable[DataFile], *, is_replaced: bool = False
    ) -> Manifest:
        """With these files too, or with only these."""
        files = [*(() if is_replaced else self.files(table)), *added]
        files.sort(key=lambda file: (file.source, file.first_offset))
        return replace(self, tables={**self.tables, table: tuple(files)})

    def with_derived(
        self,
        tables: Iterable[str],
        inputs: Mapping[LogPartition, str],
        files: Mapping[str, list[DataFile]],
    ) -> Manifest:
        """With these files as all that the tables have of the partitions that `inputs` names."""
        manifest = replace(self, derived={**self.derived, **inputs})
        for table in tables:
            others = [file for file in self.files(table) if file.source not in inputs]
            manifest = manifest.with_files(
                table, [*others, *files.get(table, ())], is_replaced=True
            )
        return manifest

    def with_covered(self, read: Iterable[tuple[LogPartition, OffsetRange]]) -> Manifest:
        """With these offsets counted as read."""
        covered = {source: list(ranges) for source, ranges in self.covered.items()}
        for source, offsets in read:
            covered.setdefault(source, []).append(offsets)
        return replace(self, covered={source: merged(ranges) for source, ranges in covered.items()})


def manifest_name(number: int) -> str:
    return f"{number:06d}.json"


def parse_manifest_name(name: str) -> int | None:
    match = _NAME.fullmatch(name)
    return None if match is None else int(match[1])


def to_json(manifest: Manifest) -> str:
    return json.dumps(
        {
            "format_version": FORMAT_VERSION,
            "number": manifest.number,
            "run_id": manifest.run_id,
            "created_ms": manifest.created_ms,
            "tables": {
                table: [asdict(file) for file in files] for table, files in manifest.tables.items()
            },
            "covered": [
                {**source._asdict(), "offsets": ranges}
                for source, ranges in sorted(manifest.covered.items())
            ],
            "derived": [
                {**source._asdict(), "inputs": inputs}
                for source, inputs in sorted(manifest.derived.items())
            ],
        },
        indent=1,
    )


def from_json(path: str, text: str) -> Manifest:
    """The manifest that was read from `path`; WarehouseError if it is none that we know."""
    try:
        told = json.loads(text)
        version = told["format_version"]
        if version == FORMAT_VERSION:
            return _manifest(told)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise WarehouseError(
            f"{path} is damaged ({type(problem).__name__}: {problem}); restore it, or remove it to "
            "go on from the manifest before"
        ) from problem
    raise WarehouseError(
        f"{path}: the warehouse has format version {version}, and this version of drumbeat reads "
        f"and writes {FORMAT_VERSION}; {_ADVICE}"
    )


def _manifest(told: dict[str, Any]) -> Manifest:
    return Manifest(
        number=told["number"],
        run_id=told["run_id"],
        created_ms=told["created_ms"],
        tables={
            table: tuple(DataFile(**file) for file in files)
            for table, files in told["tables"].items()
        },
        covered={
            LogPartition(entry["cluster_id"], entry["log_partition"]): tuple(
                OffsetRange(start, end) for start, end in entry["offsets"]
            )
            for entry in told["covered"]
        },
        derived={
            LogPartition(entry["cluster_id"], entry["log_partition"]): entry["inputs"]
            for entry in told["derived"]
        },
    )
