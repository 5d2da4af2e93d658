"""drumbeat log verify: every batch, every record, every index entry. Reads, and changes nothing."""

import os

from drumbeat.cli.log.files import PartitionFiles, SegmentFile
from drumbeat.cli.log.findings import Finding, PartitionReport
from drumbeat.cli.log.indexes import BatchMap, check_indexes
from drumbeat.core.record_codec import decode
from drumbeat.core.records import RecordError
from drumbeat.log.batches import BadBatch, find_batch_after, read_batches
from drumbeat.log.checkpoint import read_epochs, read_start_offset
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import open_for_reading
from drumbeat.log.metadata import read_topic_id
from drumbeat.log.names import EPOCHS, START_OFFSET, parse_directory_name
from drumbeat.log.port import LogBatch
from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch
from drumbeat.protocol.records import decode_records


def verify_partition(partition: PartitionFiles) -> PartitionReport:
    report = PartitionReport(directory=partition.directory)
    next_offset = 0
    for segment in partition.segments:
        check = _SegmentCheck(
            segment, report, partition.has_offsets_records, 0 if segment.is_old else next_offset
        )
        try:
            check.run()
        except FileNotFoundError:
            continue  # a node that runs beside us has deleted it
        if not segment.is_old:
            next_offset = check.next_offset
    if partition.is_whole:
        _check_checkpoints(partition.directory, report)
    return report


class _SegmentCheck:
    def __init__(
        self, segment: SegmentFile, report: PartitionReport, is_offsets: bool, next_offset: int
    ) -> None:
        self.next_offset = max(next_offset, segment.base_offset)
        self._segment = segment
        self._report = report
        self._is_offsets = is_offsets
        self._end_before = next_offset
        self._leader_epoch = -1
        self._batches = BatchMap()

    def run(self) -> None:
        segment, report = self._segment, self._report
        if segment.base_offset < self._end_before:
            self._find(0, f"the segment before it ends at offset {self._end_before - 1}")
            self.next_offset = segment.base_offset
        known = len(report.findings)
        with open_for_reading(segment.path) as fd:
            size = os.fstat(fd).st_size
            position: int | None = 0
            while position is not None:
                position = self._read(fd, position, size)
        report.segments += 1
        report.bytes += size
        if len(report.findings) == known:  # else there is nothing to hold the indexes against
            report.findings += check_indexes(segment, self._batches)

    def _read(self, fd: int, position: int, size: int) -> int | None:
        """Batches from there to the end, or to damage: then where to go on, if anywhere."""
        try:
            for batch in read_batches(fd, position, size):
                self._check_batch(position, batch)
                position += batch.header.size
        except BadBatch as bad:
            following = find_batch_after(fd, bad.position, size, self.next_offset)
            self._find(bad.position, f"{bad.found}; {self._extent(bad.position, following, size)}")
            return following
        return None

    def _extent(self, position: int, following: int | None, size: int) -> str:
        if following is not None:
            return f"the next sound batch is at byte {following}"
        if self._segment.is_last:
            return f"a torn end of {size - position} bytes, which a node cuts off when it starts"
        return f"nothing in the last {size - position} bytes can be read"

    def _check_batch(self, position: int, batch: LogBatch) -> None:
        header = batch.header
        self._batches.add(position, header)
        self._check_order(position, header)
        try:
            records = decode_records(batch.data)
        except CorruptBatch as problem:
            self._find(position, f"batch from offset {header.base_offset}: {problem}")
            return
        self._count(header, len(records))
        if self._is_offsets and not header.is_control:
            for record in records:
                try:
                    decode(record.key, record.value)
                except RecordError as problem:
                    self._find(position, f"record at offset {record.offset}: {problem}")

    def _check_order(self, position: int, header: BatchHeader) -> None:
        if header.base_offset < self.next_offset:
            self._find(position, f"offset {header.base_offset} follows {self.next_offset - 1}")
        self.next_offset = max(self.next_offset, header.next_offset)
        epoch = header.partition_leader_epoch
        if epoch < self._leader_epoch:
            self._find(position, f"leader epoch {epoch} follows {self._leader_epoch}")
        self._leader_epoch = max(self._leader_epoch, epoch)

    def _count(self, header: BatchHeader, records: int) -> None:
        report = self._report
        report.batches += 1
        report.records += records
        if not self._segment.is_old:
            if report.first_offset is None:
                report.first_offset = header.base_offset
            report.next_offset = header.next_offset

    def _find(self, position: int, problem: str) -> None:
        self._report.findings.append(Finding(self._segment.path, position, problem))


def _check_checkpoints(directory: str, report: PartitionReport) -> None:
    """The small text files beside the segments."""
    end = report.next_offset or 0
    try:
        read_topic_id(directory)
        for epoch, start_offset in read_epochs(directory) or ():
            if report.next_offset is not None and start_offset > end:
                path = os.path.join(directory, EPOCHS)
                problem = f"epoch {epoch} begins at {start_offset}, but the log ends at {end}"
                report.findings.append(Finding(path, 0, problem))
        named = parse_directory_name(os.path.basename(directory))
        start = None if named is None else read_start_offset(directory, named)
        if start is not None and report.next_offset is not None and start > end:
            path = os.path.join(directory, START_OFFSET)
            report.findings.append(Finding(path, 0, f"{start} is beyond the end, {end}"))
    except CorruptLog as problem:
        words = str(problem).removeprefix(f"{problem.path}, byte {problem.position}: ")
        report.findings.append(Finding(problem.path, problem.position, words))
