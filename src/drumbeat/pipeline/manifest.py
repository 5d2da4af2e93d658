"""What a warehouse holds: the files of each table, and which offsets of which log they came from.

A manifest is a whole statement, not a change to an earlier one. Readers take the newest; the
others remain for a while, for readers that still work with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.offset_ranges import merged

FORMAT_VERSION: Final = 2
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
    """A file of a table, or of what builders know. The path is relative to the warehouse."""

    path: str
    cluster_id: str
    log_partition: int  # or NO_PARTITION, and times in ms for offsets
    first_offset: int  # of the log records in it, or of those its rows were derived from
    last_offset: int
    rows: int
    bytes: int
    is_open: bool = False  # the log may go on with these rows: the next run makes them anew

    @property
    def source(self) -> LogPartition:
        return LogPartition(self.cluster_id, self.log_partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What the derived tables of a log partition were made from, and where to go on."""

    inputs: str  # a digest
    state: DataFile | None = None  # what the builders knew behind all rows that are not open


@dataclass(frozen=True, kw_only=True)
class Manifest:
    number: int = 0  # 0: nothing was ever published
    run_id: str = ""
    created_ms: int = 0
    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    covered: Mapping[LogPartition, tuple[OffsetRange, ...]] = field(default_factory=dict)
    derived: Mapping[LogPartition, Derived] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)  # of the log, by cluster
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # with commits, by cluster

    def files(self, table: str, source: LogPartition | None = None) -> tuple[DataFile, ...]:
        """A table's files, or those of one log partition; in order of offsets within each."""
        files = self.tables.get(table, ())
        return files if source is None else tuple(file for file in files if file.source == source)

    def all_files(self) -> Iterator[DataFile]:
        for files in self.tables.values():
            yield from files
        for derived in self.derived.values():
            if derived.state is not None:
                yield derived.state

    def rows(self, table: str) -> int:
        return sum(file.rows for file in self.files(table))

    def with_files(
        self, table: str, added: Iterable[DataFile], removed: Collection[DataFile] = ()
    ) -> Manifest:
        gone = {file.path for file in removed}
        files = [*(file for file in self.files(table) if file.path not in gone), *added]
        files.sort(key=lambda file: (file.source, file.first_offset))
        return replace(self, tables={**self.tables, table: tuple(files)})

    def with_derived(
        self,
        derived: Mapping[LogPartition, Derived],
        files: Mapping[str, list[DataFile]],
        anew: Collection[LogPartition],
    ) -> Manifest:
        """With files of each table in the place of the open ones of these partitions, and of all
        that there were of the partitions that are derived anew."""
        manifest = replace(self, derived={**self.derived, **derived})
        for table, added in files.items():
            removed = [
                file
                for file in self.files(table)
                if file.source in anew or (file.is_open and file.source in derived)
            ]
            manifest = manifest.with_files(table, added, removed)
        return manifest

    def with_covered(self, read: Iterable[tuple[LogPartition, OffsetRange]]) -> Manifest:
        """With these offsets counted as read."""
        covered = {source: list(ranges) for source, ranges in self.covered.items()}
        for source, offsets in read:
            covered.setdefault(source, []).append(offsets)
        return replace(self, covered={source: merged(ranges) for source, ranges in covered.items()})

    def with_cluster(self, cluster_id: str, partitions: int, topics: Iterable[str]) -> Manifest:
        """With what is known of the cluster; topics are never forgotten."""
        known = {*self.topics.get(cluster_id, ()), *topics}
        return replace(
            self,
            partitions={**self.partitions, cluster_id: partitions},
            topics={**self.topics, cluster_id: tuple(sorted(known))},
        )


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
            "clusters": [
                {"cluster_id": each, "partitions": count, "topics": manifest.topics[each]}
                for each, count in sorted(manifest.partitions.items())
            ],
            "tables": {
                table: [asdict(file) for file in files] for table, files in manifest.tables.items()
            },
            "covered": [
                {**source._asdict(), "offsets": ranges}
                for source, ranges in sorted(manifest.covered.items())
            ],
            "derived": [
                {**source._asdict(), **asdict(derived)}
                for source, derived in sorted(manifest.derived.items())
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
            _source(entry): tuple(OffsetRange(start, end) for start, end in entry["offsets"])
            for entry in told["covered"]
        },
        derived={_source(entry): _derived(entry) for entry in told["derived"]},
        partitions={entry["cluster_id"]: entry["partitions"] for entry in told["clusters"]},
        topics={entry["cluster_id"]: tuple(entry["topics"]) for entry in told["clusters"]},
    )


def _source(entry: dict[str, Any]) -> LogPartition:
    return LogPartition(entry["cluster_id"], entry["log_partition"])


def _derived(entry: dict[str, Any]) -> Derived:
    state = entry["state"]
    return Derived(inputs=entry["inputs"], state=None if state is None else DataFile(**state))
