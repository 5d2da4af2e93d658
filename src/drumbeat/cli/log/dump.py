"""drumbeat log dump: rows of batches or records, a page at a time so that memory stays small."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from typing import Any

from drumbeat.cli.common import Output, show
from drumbeat.cli.log.files import PartitionFiles, SegmentFile
from drumbeat.cli.log.rows import batch_row, offsets_row, record_row
from drumbeat.log.batches import BadBatch, read_batches
from drumbeat.log.files import open_for_reading
from drumbeat.log.port import LogBatch
from drumbeat.pipeline.history.answer import Answer
from drumbeat.protocol.record_batch import CorruptBatch
from drumbeat.protocol.records import decode_records

_PAGE_ROWS = 1_000


class Contents(StrEnum):
    AUTO = "auto"
    BATCHES = "batches"
    RECORDS = "records"
    OFFSETS = "offsets"


class Dump:
    def __init__(self, contents: Contents, from_offset: int, output: Output, limit: int) -> None:
        self._contents = contents
        self._from_offset = from_offset
        self._output = output
        self._left = limit or None  # rows that a table may still show

    def write(self, partitions: Iterable[PartitionFiles]) -> str | None:
        """Everything up to the limit; returns the first damage, which ends the dump."""
        for partition in partitions:
            contents = self._contents
            if contents is Contents.AUTO:
                is_offsets = partition.has_offsets_records
                contents = Contents.OFFSETS if is_offsets else Contents.BATCHES
            for segment in partition.segments:
                found = self._write_segment(segment, contents)
                if found is not None:
                    return found
                if self._left == 0:
                    return None
        return None

    def _write_segment(self, segment: SegmentFile, contents: Contents) -> str | None:
        rows = self._rows(segment, contents)
        try:
            if self._output is Output.JSON:
                _write_lines(segment, rows)
            else:
                self._write_tables(segment, rows)
        except BadBatch as bad:
            return f"{segment.path}, byte {bad.position}: {bad.found}"
        return None

    def _write_tables(self, segment: SegmentFile, rows: Iterator[Any]) -> None:
        title = segment.path
        page, damage = self._page(rows)
        while page:
            cells = [row.table_row() for row in page]
            rows_of_page = [tuple(row.values()) for row in cells]
            show(Answer(tuple(cells[0]), rows_of_page, title=title), Output.TABLE)
            title = ""
            if self._left == 0 and next(rows, None) is not None:
                print("more; --limit 0 shows all")
                return
            if damage is not None:
                raise damage
            page, damage = self._page(rows)
        if damage is not None:
            raise damage

    def _page(self, rows: Iterator[Any]) -> tuple[list[Any], BadBatch | None]:
        """What can be shown now, and the damage behind it if that is why there is no more."""
        page: list[Any] = []
        size = _PAGE_ROWS if self._left is None else min(_PAGE_ROWS, self._left)
        try:
            page.extend(islice(rows, size))
        except BadBatch as bad:
            return page, bad
        finally:
            if self._left is not None:
                self._left -= len(page)
        return page, None

    def _rows(self, segment: SegmentFile, contents: Contents) -> Iterator[Any]:
        """None of a file that a node which runs beside us has deleted."""
        with suppress(FileNotFoundError), open_for_reading(segment.path) as fd:
            position = 0
            for batch in read_batches(fd, 0, os.fstat(fd).st_size):
                if batch.header.last_offset >= self._from_offset:
                    yield from self._of_batch(position, batch, contents)
                position += batch.header.size

    def _of_batch(self, position: int, batch: LogBatch, contents: Contents) -> Iterator[Any]:
        if contents is Contents.BATCHES:
            yield batch_row(position, batch.header)
            return
        row = offsets_row if contents is Contents.OFFSETS else record_row
        try:
            records = decode_records(batch.data)
        except CorruptBatch as problem:
            raise BadBatch(position, str(problem)) from None
        for record in records:
            if record.offset >= self._from_offset:
                yield row(record, is_control=batch.header.is_control)


def _write_lines(segment: SegmentFile, rows: Iterator[Any]) -> None:
    for row in rows:
        print(json.dumps({"file": segment.path, **row._asdict()}, ensure_ascii=False))
