"""The directory of the tables, and how it goes from one state to the next.

    _lock              held by the one job that writes
    _staging/<run id>  what a run is writing; worth nothing
    _manifest/NNNNNN.json
    _follow/<cluster>  how far Spark has come with a stream; the manifest alone decides what counts
    <table>/log_partition=N/<first offset>-<last offset>.<cluster>.<run id>.<serial>.parquet
    <table>/<first ms>-<last ms>.<cluster>.<run id>.<serial>.parquet   about a whole cluster

A file counts once a manifest names it, and a manifest appears whole or not at all, by a rename. So
a run that dies anywhere leaves the state before it, and its files, which the next run removes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Final
from urllib.parse import quote

from drumbeat.log.files import sync_directory
from drumbeat.pipeline.errors import WarehouseError, WarehouseHeld
from drumbeat.pipeline.manifest import (
    NO_PARTITION,
    DataFile,
    Manifest,
    from_json,
    manifest_name,
    parse_manifest_name,
    to_json,
)

LOCK: Final = "_lock"
STAGING: Final = "_staging"
MANIFESTS: Final = "_manifest"
FOLLOW: Final = "_follow"
# With their files: time for readers to finish with an older state.
MANIFESTS_KEPT: Final = 3
KEPT_MS: Final = 5 * 60_000
_DATA_FILE = re.compile(r"[0-9]{20}-[0-9]{20}\.[^/]+\.[0-9a-z-]+\.[0-9]+\.(parquet|pickle)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A finished file in the staging directory, and what it will be in its table."""

    table: str
    name: str  # in the run's staging directory
    file: DataFile


class Warehouse:
    """For reading; `writer` is for the one who writes."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)

    def manifest(self) -> Manifest:
        """The newest; one without files if nothing was published yet."""
        numbers = self._manifest_numbers()
        return self._read_manifest(numbers[-1]) if numbers else Manifest()

    def paths(self, files: Iterable[DataFile]) -> list[str]:
        return [os.path.join(self.path, file.path) for file in files]

    @contextmanager
    def writer(self, run_id: str) -> Iterator[WarehouseWriter]:
        """Holds the warehouse, which is made if absent; removes what dead runs left, and our own
        unpublished files at the end."""
        self._check_is_ours()
        os.makedirs(self.path, exist_ok=True)
        with self._held():
            self._remove_leftovers()
            writer = WarehouseWriter(self, run_id)
            os.makedirs(writer.staging)
            try:
                yield writer
            finally:
                shutil.rmtree(writer.staging, ignore_errors=True)

    def _check_is_ours(self) -> None:
        """Refuse a directory with other things in it: leftovers are going to be removed."""
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise WarehouseError(f"{self.path} is not a directory; choose another") from None
        if names and not names & {LOCK, MANIFESTS}:
            raise WarehouseError(
                f"{self.path} is no warehouse and not empty; choose a new or empty directory"
            )

    @contextmanager
    def _held(self) -> Iterator[None]:
        fd = os.open(os.path.join(self.path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(fd, 20, 0).decode(errors="replace").strip()
                raise WarehouseHeld(
                    f"another job{f' (process {holder})' if holder else ''} is writing to "
                    f"{self.path}; wait for its end, or choose another directory"
                ) from None
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(fd)

    def _manifest_numbers(self) -> list[int]:
        try:
            names = os.listdir(os.path.join(self.path, MANIFESTS))
        except FileNotFoundError:
            return []
        return sorted(n for n in map(parse_manifest_name, names) if n is not None)

    def _manifest_path(self, number: int) -> str:
        return os.path.join(self.path, MANIFESTS, manifest_name(number))

    def _read_manifest(self, number: int) -> Manifest:
        path = self._manifest_path(number)
        with open(path, encoding="utf-8") as file:
            return from_json(path, file.read())

    def _remove_leftovers(self) -> None:
        """Of runs that died, and of states that nobody reads any more."""
        numbers = self._manifest_numbers()
        kept = [self._read_manifest(number) for number in numbers[-MANIFESTS_KEPT:]]
        named = {file.path for manifest in kept for file in manifest.all_files()}
        for number in numbers[:-MANIFESTS_KEPT]:
            os.unlink(self._manifest_path(number))
        shutil.rmtree(os.path.join(self.path, STAGING), ignore_errors=True)
        for path in self._data_files():
            if path not in named:
                os.unlink(os.path.join(self.path, path))

    def _data_files(self) -> Iterator[str]:
        """Files that only a run can have made, whether they count or not."""
        for folder, _, names in os.walk(self.path):
            for name in names:
                if _DATA_FILE.fullmatch(name):
                    yield os.path.relpath(os.path.join(folder, name), self.path)


class WarehouseWriter:
    """Publishes new states of the warehouse. Only the holder has one."""

    def __init__(self, warehouse: Warehouse, run_id: str) -> None:
        self.path = warehouse.path
        self.run_id = run_id
        self.staging = os.path.join(warehouse.path, STAGING, run_id)
        self.manifest = warehouse.manifest()  # the newest
        self._before: list[Manifest] = []  # states of this run that are not the newest
        self._serials = count()

    def move_in(self, staged: Sequence[StagedFile]) -> list[DataFile]:
        """Move finished files to their tables. They count once they are published."""
        moved = [self._placed(one) for one in staged]
        folders = {os.path.dirname(file.path) for file in moved}
        for folder in folders:
            os.makedirs(os.path.join(self.path, folder), exist_ok=True)
        for one, file in zip(staged, moved, strict=True):
            target = os.path.join(self.path, file.path)
            os.rename(os.path.join(self.staging, one.name), target)
        for changed in folders | {os.path.dirname(folder) for folder in folders} | {""}:
            sync_directory(os.path.join(self.path, changed))
        return moved

    def publish(self, manifest: Manifest, now_ms: int) -> Manifest:
        """Make this the newest state, with the next number."""
        folder = os.path.join(self.path, MANIFESTS)
        os.makedirs(folder, exist_ok=True)
        number = self.manifest.number + 1
        published = replace(manifest, number=number, run_id=self.run_id, created_ms=now_ms)
        _write_whole(os.path.join(folder, manifest_name(number)), to_json(published))
        sync_directory(self.path)
        self._before.append(self.manifest)
        self.manifest = published
        self._forget(now_ms)
        return published

    def _forget(self, now_ms: int) -> None:
        """Remove states that nobody reads any more: a run that follows a log has no end at which
        the next one could."""
        while len(self._before) >= MANIFESTS_KEPT and now_ms - self._before[1].created_ms > KEPT_MS:
            old = self._before.pop(0)
            kept = (*self._before, self.manifest)
            named = {file.path for manifest in kept for file in manifest.all_files()}
            if old.number:
                _unlink(os.path.join(self.path, MANIFESTS, manifest_name(old.number)))
            for file in old.all_files():
                if file.path not in named:
                    _unlink(os.path.join(self.path, file.path))

    def _placed(self, staged: StagedFile) -> DataFile:
        file = staged.file
        offsets = f"{file.first_offset:020d}-{file.last_offset:020d}"
        origin = f"{quote(file.cluster_id, safe='')}.{self.run_id}.{next(self._serials)}"
        name = f"{offsets}.{origin}{os.path.splitext(staged.name)[1]}"
        folder = "" if file.log_partition == NO_PARTITION else f"log_partition={file.log_partition}"
        return replace(file, path=os.path.join(staged.table, folder, name))


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _write_whole(path: str, text: str) -> None:
    """All of it or nothing, durably, and as readable for others as the user's files are."""
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    sync_directory(os.path.dirname(path))
