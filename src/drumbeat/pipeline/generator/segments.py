"""Segment files of one partition, rolled at a size, without indexes: a broker rebuilds those."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Self

from drumbeat.log.names import LOG_SUFFIX, segment_stem


class SegmentWriter:
    """Appends whole batches; a context manager that leaves no file open."""

    def __init__(self, directory: str, segment_bytes: int) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._file: BinaryIO | None = None
        self._size = 0
        self.bytes_written = 0

    def __enter__(self) -> Self:
        os.makedirs(self._directory)
        self._roll(0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, batches: Sequence[bytes | memoryview], base_offsets: Sequence[int]) -> None:
        """Batches in their order in the log, with the base offset of each."""
        size = sum(map(len, batches))
        if self._size + size <= self._segment_bytes:
            self._write(batches)
            self._size += size
        else:
            self._append_and_roll(batches, base_offsets)

    def _append_and_roll(
        self, batches: Sequence[bytes | memoryview], base_offsets: Sequence[int]
    ) -> None:
        pending: list[bytes | memoryview] = []
        for batch, base_offset in zip(batches, base_offsets, strict=True):
            if self._size and self._size + len(batch) > self._segment_bytes:
                self._write(pending)
                pending = []
                self._roll(base_offset)
            pending.append(batch)
            self._size += len(batch)
        self._write(pending)

    def _write(self, batches: Sequence[bytes | memoryview]) -> None:
        assert self._file is not None
        self.bytes_written += self._file.write(b"".join(batches))

    def _roll(self, base_offset: int) -> None:
        if self._file is not None:
            self._file.close()
        path = os.path.join(self._directory, segment_stem(base_offset) + LOG_SUFFIX)
        self._file = open(path, "xb", buffering=0)  # noqa: SIM115 - closed by __exit__ or _roll
        self._size = 0
